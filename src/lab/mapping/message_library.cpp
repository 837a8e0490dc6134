// The protocol, and where its buffers lie in the local store.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/mapping/message_library.hpp"

#include <algorithm>
#include <cstring>

namespace corewise::lab {
namespace {

using cell::EffectiveAddress;
using cell::LsAddress;

// The program's text and stack are below; everything here is aligned to a line.
constexpr LsAddress kRow = 0x10000;
constexpr LsAddress kAcknowledgementRow = 0x10800;
constexpr LsAddress kStaging = 0x11000;  ///< what is put into the peers' rows: a line per peer and matrix
constexpr LsAddress kAcknowledgementStaging = 0x11800;
constexpr LsAddress kSendBuffers = 0x20000;
constexpr LsAddress kReceiveBuffers = 0x28000;
constexpr LsAddress kUserBuffers = 0x30000;
constexpr LsAddress kBufferBytes = 2048;
constexpr std::uint32_t kQuadword = 16;

constexpr std::uint32_t kRowTag = 0;
constexpr std::uint32_t kPacketTag = 1;
constexpr std::uint32_t kEntryTag = 16;  ///< plus the peer: a fence orders the puts into one entry

// Where a task is, for the fingerprint.
enum Place : int { kScanning, kFetching, kStarting, kTransferring, kPublishing, kCopying, kPausing };

LsAddress buffer(LsAddress base, int peer) {
  return base + static_cast<LsAddress>(peer) * kBufferBytes;
}

/// An entry's put: whole entries, in one of the sizes that a DMA may have.
std::uint32_t put_bytes(const MatrixLayout& layout) {
  return std::min(layout.entry_bytes, kQuadword);
}

}  // namespace

std::uint32_t matrix_bytes(const MatrixLayout& layout, int threads) {
  return layout.row_bytes * static_cast<std::uint32_t>(threads);
}

LsAddress MessageLibrary::user_buffer(int index) {
  return buffer(kUserBuffers, index);
}

void MessageLibrary::here(int place, int peer) {
  place_ = place * 2 * kMostTasks + peer;
  place_waits_ = program_.waits();
}

void MessageLibrary::send(int peer, LsAddress from) {
  here(kCopying, peer);
  copy(from, buffer(kSendBuffers, peer));
  at(peer).sent ^= 1;
  publish(peer, false);
}

void MessageLibrary::receive(int peer, LsAddress to) {
  here(kCopying, peer + kMostTasks);
  copy(buffer(kReceiveBuffers, peer), to);
  at(peer).full = false;
}

void MessageLibrary::poll() {
  ++polls_;
  fetch_row();
  here(kScanning);
  spu_.spu_cycles(plan_.costs.scan_cycles);
  scan();
  finish_transfers();
  if (plan_.costs.pause_cycles == 0) return;
  here(kPausing);
  spu_.spu_cycles(plan_.costs.pause_cycles);
}

void MessageLibrary::fetch_row() {
  const MatrixLayout& layout = plan_.layout;
  if (layout.notify_local_store) return;
  const std::uint32_t used = layout.entry_bytes * static_cast<std::uint32_t>(threads());
  const std::uint32_t bytes = (used + kQuadword - 1) / kQuadword * kQuadword;
  const EffectiveAddress row = static_cast<EffectiveAddress>(self_) * layout.row_bytes;
  here(kFetching);
  spu_.mfc_get(kRow, plan_.matrix + row, bytes, kRowTag);
  if (layout.separate_acknowledgements) {
    here(kFetching, 1);
    spu_.mfc_get(kAcknowledgementRow, plan_.acknowledgements + row, bytes, kRowTag);
  }
  here(kFetching, 2);
  spu_.mfc_write_tag_mask(1U << kRowTag);
  spu_.mfc_read_tag_status_all();
}

MessageLibrary::Entry MessageLibrary::entry_of(int peer) {
  const LsAddress offset = plan_.layout.entry_bytes * static_cast<LsAddress>(peer);
  auto entry = spu_.load<Entry>(kRow + offset);
  if (plan_.layout.separate_acknowledgements) {
    entry.acknowledged = spu_.load<Entry>(kAcknowledgementRow + offset).acknowledged;
  }
  return entry;
}

/// In the order of the row, whoever the neighbours are.
void MessageLibrary::scan() {
  for (int peer = 0; peer < threads(); ++peer) {
    if (peer != self_) take(peer, entry_of(peer));
  }
}

void MessageLibrary::take(int peer, const Entry& entry) {
  Channel& channel = at(peer);
  channel.acknowledged = entry.acknowledged;
  if (entry.notified == channel.received || channel.full) return;
  if (plan_.layout.one_packet_per_poll && arriving()) return;
  channel.arriving = true;
  here(kStarting, peer);
  const int spe = plan_.spe_of_thread[static_cast<std::size_t>(peer)];
  spu_.mfc_get(buffer(kReceiveBuffers, peer), cell::ls_address(spe) + buffer(kSendBuffers, self_),
               plan_.packet_bytes, kPacketTag);
}

bool MessageLibrary::arriving() const {
  return std::any_of(channels_.begin(), channels_.end(), [](const Channel& each) { return each.arriving; });
}

void MessageLibrary::finish_transfers() {
  if (!arriving()) return;
  here(kTransferring);
  spu_.mfc_write_tag_mask(1U << kPacketTag);
  spu_.mfc_read_tag_status_all();
  for (int peer = 0; peer < threads(); ++peer) {
    Channel& channel = at(peer);
    if (!channel.arriving) continue;
    channel.arriving = false;
    channel.full = true;
    channel.received ^= 1;
    publish(peer, true);
  }
}

/// Writes the own entry of the peer's row; both bits, unless the acknowledgements have a matrix of their own.
void MessageLibrary::publish(int peer, bool acknowledgement) {
  const MatrixLayout& layout = plan_.layout;
  const bool second = acknowledgement && layout.separate_acknowledgements;
  const Entry entry{static_cast<std::uint16_t>(at(peer).sent), static_cast<std::uint16_t>(at(peer).received)};
  const std::uint32_t offset = layout.entry_bytes * static_cast<std::uint32_t>(self_);
  const LsAddress staging = (second ? kAcknowledgementStaging : kStaging) +
                            static_cast<LsAddress>(peer) * cell::kLineBytes + offset % cell::kLineBytes;
  spu_.store(staging, entry);
  EffectiveAddress target = second ? plan_.acknowledgements : plan_.matrix;
  target += static_cast<EffectiveAddress>(peer) * layout.row_bytes;
  if (layout.notify_local_store) {
    const int spe = plan_.spe_of_thread[static_cast<std::size_t>(peer)];
    target = cell::ls_address(spe) + (second ? kAcknowledgementRow : kRow);
  }
  here(kPublishing, peer + (acknowledgement ? kMostTasks : 0));
  spu_.mfc_putf(staging, target + offset, put_bytes(layout), kEntryTag + static_cast<std::uint32_t>(peer));
}

void MessageLibrary::copy(LsAddress from, LsAddress to) {
  const std::uint32_t bytes = plan_.packet_bytes;
  spu_.spu_cycles(plan_.costs.call_cycles + bytes / kQuadword * plan_.costs.copy_cycles_per_quadword);
  std::memcpy(spu_.ls(to, bytes).data(), spu_.ls(from, bytes).data(), bytes);
}

std::vector<std::int64_t> MessageLibrary::full_buffers() const {
  std::vector<std::int64_t> full;
  for (int peer = 0; peer < threads(); ++peer) {
    if (at(peer).full) full.push_back(buffer(kReceiveBuffers, peer));
  }
  return full;
}

void MessageLibrary::append_state(std::vector<std::int64_t>& state) {
  state.push_back(place_);
  state.push_back(static_cast<std::int64_t>(program_.waits() - place_waits_));
  for (int peer = 0; peer < threads(); ++peer) {
    const Channel& channel = at(peer);
    const Entry row = entry_of(peer);
    const LsAddress staging = static_cast<LsAddress>(peer) * cell::kLineBytes +
                              plan_.layout.entry_bytes * static_cast<LsAddress>(self_) % cell::kLineBytes;
    const auto first = spu_.load<Entry>(kStaging + staging);
    const auto second = spu_.load<Entry>(kAcknowledgementStaging + staging);
    const std::uint32_t bits[] = {channel.sent,       channel.acknowledged, channel.received,   channel.full,
                                  channel.arriving,   row.notified,         row.acknowledged,   first.notified,
                                  first.acknowledged, second.notified,      second.acknowledged};
    std::int64_t packed = 0;
    for (const std::uint32_t bit : bits) packed = packed * 2 + bit;
    state.push_back(packed);
  }
}

}  // namespace corewise::lab
