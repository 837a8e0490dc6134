// The layout in the local store and the DMA commands behind the port's operations.
// SPDX-License-Identifier: BSD-3-Clause
#include "cell/port.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "cell/system.hpp"

namespace corewise::cell {
namespace {

using Where = std::source_location;

constexpr std::uint32_t kQuadword = 16;

constexpr std::uint32_t round_up(std::uint32_t bytes, std::uint32_t to) {
  return (bytes + to - 1) / to * to;
}

void wait_for_tags(Spu& spu, port::TagMask mask, const Where& where) {
  if (mask == 0) return;
  spu.mfc_write_tag_mask(mask);
  spu.mfc_read_tag_status_all(where);
}

std::uint32_t high_half(EffectiveAddress ea) {
  return static_cast<std::uint32_t>(ea >> 32);
}

Status check_spes(const System& system, const std::vector<int>& spes) {
  if (spes.empty()) return bad_field("port job", "spes", "none", "1 or more");
  std::set<int> taken;
  for (const int spe : spes) {
    if (!system.usable(spe)) {
      return bad_field("port job", "spes", std::to_string(spe), "usable SPEs of this machine");
    }
    if (!taken.insert(spe).second) {
      return bad_field("port job", "spes", std::to_string(spe) + " twice", "one rank on an SPE");
    }
  }
  return {};
}

}  // namespace

// ---- where things lie ----

Result<PortLayout> PortLayout::make(const port::Layout& of, LsAddress begin, std::uint32_t most) {
  PortLayout made;
  made.of = of;
  // What needs 128 bytes of alignment first; 64 bits, so that a huge wish is refused and does not wrap.
  std::uint64_t at = begin;
  const auto place = [&at](LsAddress& where, std::uint64_t bytes) {
    where = static_cast<LsAddress>(at);
    at += bytes;
  };
  place(made.lines128, std::uint64_t{of.lines128} * port::Line128::kBytes);
  place(made.slots128, of.lines128 == 0 ? 0 : kSlots128 * port::Line128::kBytes);
  place(made.atomic_line, of.atomic_words == 0 ? 0 : kLineBytes);
  place(made.stage, round_up(std::min(of.stage_bytes, kLocalStoreBytes + 1), kQuadword));
  place(made.lines16, std::uint64_t{of.lines16} * port::Line16::kBytes);
  place(made.slots16, kSlots16 * port::Line16::kBytes);
  place(made.list, kListElements * sizeof(MfcListElement));
  const std::uint64_t bytes = at - begin;
  if (bytes > most) {
    return bad_field("port layout", "bytes", std::to_string(bytes), "at most " + std::to_string(most));
  }
  if (begin % kLineBytes != 0 || at > kLocalStoreBytes) {
    return bad_field(
        "port layout", "begin", std::to_string(begin),
        "multiples of 128 up to " + std::to_string((kLocalStoreBytes - bytes) / kLineBytes * kLineBytes));
  }
  made.end = static_cast<LsAddress>(at);
  made.bytes = static_cast<std::uint32_t>(bytes);
  return made;
}

Result<PortJob> PortJob::make(System& system, std::vector<int> spes, const port::Layout& layout,
                              std::uint32_t room) {
  if (Status status = check_spes(system, spes); !status.ok()) return status;
  Result<PortLayout> made = PortLayout::make(layout, kLocalStoreBytes - room, room);
  if (!made.ok()) return made.status();
  PortJob job;
  job.layout = made.value();
  if (layout.atomic_words > 0) job.words = system.allocate(std::size_t{layout.atomic_words} * kLineBytes);
  for (const int spe : spes) system.set_signal_mode(spe, 1, true);
  job.spes = std::move(spes);
  return job;
}

void run_ranks(System& system, const PortJob& job, const std::function<void(CellPort&)>& program) {
  for (int rank = 0; rank < job.size(); ++rank) {
    system.run_on_spe(job.spes[static_cast<std::size_t>(rank)], "rank " + std::to_string(rank),
                      [&job, rank, program](Spu& spu) {
                        CellPort port(spu, job, rank);
                        program(port);
                      });
  }
}

// ---- slots ----

LsAddress SlotRing::take(Spu& spu, port::Tag tag, const Where& where) {
  const std::uint32_t slot = next_;
  port::TagMask& tags = under_way_[slot / half_];
  if (slot % half_ == 0) wait_for_tags(spu, std::exchange(tags, 0), where);
  tags |= port::mask_of(tag);
  next_ = (slot + 1) % (2 * half_);
  return begin_ + slot * slot_bytes_;
}

LsAddress SlotRing::take_half(Spu& spu, port::Tag tag, const Where& where) {
  next_ = round_up(next_, half_) % (2 * half_);
  const LsAddress slots = take(spu, tag, where);
  next_ = (next_ + half_ - 1) % (2 * half_);
  return slots;
}

// ---- lines ----

CellPort::CellPort(Spu& spu, const PortJob& job, int rank)
    : spu_(spu),
      job_(job),
      rank_(rank),
      code_percent_(spu.parameters().spu_code_percent),
      slots16_(job.layout.slots16, port::Line16::kBytes, PortLayout::kSlots16),
      slots128_(job.layout.slots128, port::Line128::kBytes, PortLayout::kSlots128) {}

void CellPort::fill(LsAddress slot, port::Sequence sequence, std::span<const std::byte> payload) {
  spu_.store(slot, sequence);
  if (payload.empty()) return;
  const auto size = static_cast<std::uint32_t>(payload.size());
  std::memcpy(spu_.ls(slot + sizeof(sequence), size).data(), payload.data(), size);
}

void CellPort::put_line(int peer, port::Line16 line, port::Sequence sequence, std::span<const std::byte> payload,
                        port::Tag tag, const Where& where) {
  const LsAddress slot = slots16_.take(spu_, tag, where);
  fill(slot, sequence, payload);
  spu_.mfc_putf(slot, base_of(peer) + address_of(line), port::Line16::kBytes, tag, 0, 0, where);
}

void CellPort::put_line(int peer, port::Line128 line, port::Sequence sequence, std::span<const std::byte> payload,
                        port::Tag tag, const Where& where) {
  const LsAddress slot = slots128_.take(spu_, tag, where);
  fill(slot, sequence, payload);
  spu_.mfc_putf(slot, base_of(peer) + address_of(line), port::Line128::kBytes, tag, 0, 0, where);
}

void CellPort::put_line_list(std::span<const int> peers, port::Line16 line, port::Sequence sequence,
                             std::span<const std::byte> payload, port::Tag tag, const Where& where) {
  if (peers.empty()) return;
  const LsAddress slots = slots16_.take_half(spu_, tag, where);
  std::vector<UserPiece> pieces;
  for (const int peer : peers) {
    // A list takes its elements from consecutive addresses: one copy of the line each.
    fill(slots + static_cast<LsAddress>(pieces.size()) * port::Line16::kBytes, sequence, payload);
    pieces.push_back({base_of(peer) + address_of(line), port::Line16::kBytes});
  }
  const std::size_t filled = fill_list(pieces, tag, where);
  spu_.mfc_putlf(slots, pieces.front().at, job_.layout.list,
                 static_cast<std::uint32_t>(filled * sizeof(MfcListElement)), tag, 0, 0, where);
}

// ---- copies ----

std::uint32_t command_bytes(std::uint64_t at, std::uint32_t bytes) {
  if (at % kQuadword == 0 && bytes >= kQuadword) return std::min(bytes / kQuadword * kQuadword, kMaxDmaBytes);
  std::uint32_t size = kQuadword / 2;
  while (size > bytes || at % size != 0) size /= 2;
  return size;
}

void CellPort::transfer(Way way, LsAddress ls, EffectiveAddress ea, std::uint32_t bytes, port::Tag tag,
                        const Where& where) {
  while (bytes > 0) {
    const std::uint32_t size = command_bytes(ea, bytes);
    if (way == Way::in) {
      spu_.mfc_get(ls, ea, size, tag, 0, 0, where);
    } else {
      spu_.mfc_put(ls, ea, size, tag, 0, 0, where);
    }
    ls += size;
    ea += size;
    bytes -= size;
  }
}

void CellPort::get(port::Remote from, port::StageOffset to, std::uint32_t bytes, port::Tag tag,
                   const Where& where) {
  transfer(Way::in, job_.layout.stage + to, remote(from), bytes, tag, where);
}
void CellPort::put(port::StageOffset from, port::Remote to, std::uint32_t bytes, port::Tag tag,
                   const Where& where) {
  transfer(Way::out, job_.layout.stage + from, remote(to), bytes, tag, where);
}
void CellPort::copy_in(EffectiveAddress from, port::StageOffset to, std::uint32_t bytes, port::Tag tag,
                       const Where& where) {
  transfer(Way::in, job_.layout.stage + to, from, bytes, tag, where);
}
void CellPort::copy_out(port::StageOffset from, EffectiveAddress to, std::uint32_t bytes, port::Tag tag,
                        const Where& where) {
  transfer(Way::out, job_.layout.stage + from, to, bytes, tag, where);
}

std::optional<port::StageOffset> CellPort::in_place(EffectiveAddress user, std::uint32_t bytes) const {
  const EffectiveAddress begin = base_of(rank_);
  if (user < begin || user + bytes > begin + kLocalStoreBytes) return std::nullopt;
  return static_cast<LsAddress>(user - begin) - job_.layout.stage;
}

// ---- lists ----

std::size_t CellPort::fill_list(std::span<const UserPiece> pieces, port::Tag tag, const Where& where) {
  // The MFC reads the elements while it executes the command: the last list must be through.
  wait_for_tags(spu_, std::exchange(list_under_way_, port::mask_of(tag)), where);
  std::size_t filled = 0;
  while (filled < std::min<std::size_t>(pieces.size(), PortLayout::kListElements) &&
         high_half(pieces[filled].at) == high_half(pieces.front().at)) {
    const MfcListElement element{0, static_cast<std::uint16_t>(pieces[filled].bytes),
                                 static_cast<std::uint32_t>(pieces[filled].at)};
    spu_.store(job_.layout.list + static_cast<LsAddress>(filled * sizeof(MfcListElement)), element, where);
    ++filled;
  }
  return filled;
}

void CellPort::transfer_list(Way way, LsAddress ls, std::span<const UserPiece> pieces, port::Tag tag,
                             const Where& where) {
  while (!pieces.empty()) {
    const std::size_t filled = fill_list(pieces, tag, where);
    const auto list_bytes = static_cast<std::uint32_t>(filled * sizeof(MfcListElement));
    if (way == Way::in) {
      spu_.mfc_getl(ls, pieces.front().at, job_.layout.list, list_bytes, tag, 0, 0, where);
    } else {
      spu_.mfc_putl(ls, pieces.front().at, job_.layout.list, list_bytes, tag, 0, 0, where);
    }
    for (const UserPiece& piece : pieces.first(filled)) ls += piece.bytes;
    pieces = pieces.subspan(filled);
  }
}

void CellPort::copy_in_list(std::span<const UserPiece> pieces, port::StageOffset to, port::Tag tag,
                            const Where& where) {
  transfer_list(Way::in, job_.layout.stage + to, pieces, tag, where);
}
void CellPort::copy_out_list(port::StageOffset from, std::span<const UserPiece> pieces, port::Tag tag,
                             const Where& where) {
  transfer_list(Way::out, job_.layout.stage + from, pieces, tag, where);
}

// ---- tags ----

void CellPort::wait(port::TagMask mask, const Where& where) {
  wait_for_tags(spu_, mask, where);
  slots16_.completed(mask);
  slots128_.completed(mask);
  list_under_way_ &= ~mask;
}

port::TagMask CellPort::test(port::TagMask mask) {
  if (mask == 0) return 0;
  spu_.mfc_write_tag_mask(mask);
  return spu_.mfc_read_tag_status_immediate();
}

// ---- signals, atomic words ----

void CellPort::send_signal(int peer, std::uint32_t bits, port::Tag tag, const Where& where) {
  // The four bytes of a signal keep the low address bits of the register.
  const LsAddress slot = slots16_.take(spu_, tag, where) + kSignal1 % kQuadword;
  spu_.store(slot, bits, where);
  const EffectiveAddress target = register_address(job_.spes[static_cast<std::size_t>(peer)], kSignal1);
  spu_.mfc_sndsigf(slot, target, tag, 0, 0, where);
}

EffectiveAddress CellPort::read_word_line(std::uint32_t word, const Where& where) {
  const EffectiveAddress line = job_.words + std::uint64_t{word} * kLineBytes;
  spu_.mfc_getllar(job_.layout.atomic_line, line, 0, 0, where);
  spu_.mfc_read_atomic_status(where);
  return line;
}

std::uint32_t CellPort::load_word(std::uint32_t word, const Where& where) {
  read_word_line(word, where);
  return spu_.load<std::uint32_t>(job_.layout.atomic_line, where);
}

std::uint32_t CellPort::fetch_add(std::uint32_t word, std::uint32_t value, const Where& where) {
  while (true) {
    const EffectiveAddress line = read_word_line(word, where);
    const auto before = spu_.load<std::uint32_t>(job_.layout.atomic_line, where);
    spu_.store(job_.layout.atomic_line, before + value, where);
    spu_.mfc_putllc(job_.layout.atomic_line, line, 0, 0, where);
    if ((spu_.mfc_read_atomic_status(where) & MFC_PUTLLC_STATUS) == 0) return before;
  }
}

}  // namespace corewise::cell
