// The protocol's two halves. SPDX-License-Identifier: BSD-3-Clause
#include "lab/profiling/messages.hpp"

#include <algorithm>
#include <string>

#include "base/status.hpp"

namespace corewise::lab {

using cell::LsAddress;

/// Lines that come in: requests first, then what is done; behind them the slots that lines are sent from.
LsAddress SpeMessages::line(Kind kind, int peer) const {
  const auto ranks = static_cast<LsAddress>(spes_.size());
  return at_ + 16 * ((kind == Kind::request ? 0 : ranks) + static_cast<LsAddress>(peer));
}
LsAddress SpeMessages::slot(Kind kind, int peer) const {
  return line(kind, peer) + 2 * 16 * static_cast<LsAddress>(spes_.size());
}

void SpeMessages::wait_tag(std::uint32_t tag, const Where& where) {
  spu_.mfc_write_tag_mask(1U << tag);
  spu_.mfc_read_tag_status_all(where);
}

void SpeMessages::put_line(Kind kind, int peer, const Line& value, bool fenced, std::uint32_t tag,
                           const Where& where) {
  const LsAddress from = slot(kind, peer);
  spu_.store(from, value, where);
  const cell::EffectiveAddress to = cell::ls_address(spes_[static_cast<std::size_t>(peer)]) + line(kind, rank_);
  fenced ? spu_.mfc_putf(from, to, sizeof value, tag, 0, 0, where)
         : spu_.mfc_put(from, to, sizeof value, tag, 0, 0, where);
}

SpeMessages::Line SpeMessages::wait_for(Kind kind, int peer, std::uint32_t sequence, const Where& where) {
  const LsAddress at = line(kind, peer);
  spu_.poll(
      at, sizeof(Line), [&](std::span<const std::byte>) { return spu_.load<Line>(at).sequence == sequence; },
      "a line of the messages' protocol", where);
  return spu_.load<Line>(at);
}

void SpeMessages::send(int peer, LsAddress from, std::uint32_t bytes, const Where& where) {
  spu_.spu_cycles(call_cycles_);
  const std::uint32_t sequence = ++peers_[static_cast<std::size_t>(peer)].sent;
  const Line request = wait_for(Kind::request, peer, sequence, where);
  if (bytes > request.bytes) {
    spu_.engine().fail(bad_field("message", "bytes", std::to_string(bytes),
                                 "at most the receiver's " + std::to_string(request.bytes)));
  }
  const cell::EffectiveAddress to = cell::ls_address(spes_[static_cast<std::size_t>(peer)]) + request.buffer;
  for (std::uint32_t at = 0; at < bytes; at += cell::kMaxDmaBytes) {
    spu_.mfc_put(from + at, to + at, std::min(bytes - at, cell::kMaxDmaBytes), kDataTag, 0, 0, where);
  }
  put_line(Kind::done, peer, {sequence, 0, bytes, 0}, true, kDataTag, where);
  wait_tag(kDataTag, where);
}

void SpeMessages::receive(int peer, LsAddress to, std::uint32_t capacity, const Where& where) {
  spu_.spu_cycles(call_cycles_);
  const std::uint32_t sequence = ++peers_[static_cast<std::size_t>(peer)].received;
  wait_tag(kLineTag, where);
  put_line(Kind::request, peer, {sequence, to, capacity, 0}, false, kLineTag, where);
  static_cast<void>(wait_for(Kind::done, peer, sequence, where));
}

}  // namespace corewise::lab
