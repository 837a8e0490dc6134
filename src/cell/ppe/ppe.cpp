// The PPE's caches and its requests. Invariant: L1 holds only lines that L2 holds.
// SPDX-License-Identifier: BSD-3-Clause
#include "cell/ppe/ppe.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>

namespace corewise::cell {
namespace {

constexpr std::int64_t kL1Bytes = 32 * 1024, kL1Ways = 4;
/// A general register: the largest access to what is not cached.
constexpr std::uint64_t kUncachedBytes = 8;

bool in_memory(EffectiveAddress ea) {
  return locate(ea).kind == Location::Kind::memory;
}
/// Bytes from `ea` to the end of its line, or of its 8 bytes where it is not cached.
std::uint64_t piece_at(EffectiveAddress ea, std::uint64_t left) {
  const std::uint64_t unit = in_memory(ea) ? kLineBytes : kUncachedBytes;
  return std::min(left, unit - ea % unit);
}

}  // namespace

LineCache::LineCache(std::int64_t bytes, std::int64_t ways)
    : ways_(static_cast<std::size_t>(ways)),
      sets_(static_cast<std::size_t>(std::max<std::int64_t>(1, bytes / kLineBytes / ways))),
      lines_(ways_ * sets_) {}

std::span<LineCache::Way> LineCache::set_of(EffectiveAddress line) {
  return {lines_.data() + line / kLineBytes % sets_ * ways_, ways_};
}

bool LineCache::touch(EffectiveAddress line, bool write) {
  const std::span<Way> set = set_of(line);
  const auto found = std::find_if(set.begin(), set.end(), [line](const Way& way) { return way.line == line; });
  if (found == set.end()) return false;
  found->dirty |= write;
  std::rotate(set.begin(), found, found + 1);
  return true;
}

EffectiveAddress LineCache::insert(EffectiveAddress line, bool write) {
  const std::span<Way> set = set_of(line);
  const Way gone = set.back();
  std::rotate(set.begin(), set.end() - 1, set.end());
  set.front() = {line, write};
  return gone.dirty ? gone.line : 0;
}

EffectiveAddress LineCache::next_to_go(EffectiveAddress line) {
  return set_of(line).back().line;
}

void LineCache::drop(EffectiveAddress line) {
  const std::span<Way> set = set_of(line);
  const auto found = std::find_if(set.begin(), set.end(), [line](const Way& way) { return way.line == line; });
  if (found == set.end()) return;
  std::rotate(found, found + 1, set.end());
  set.back() = {};
}

Ppe::Ppe(Eib& eib, CoherentLines& lines, std::span<MemoryBytes* const> memories)
    : eib_(eib),
      p_(eib.parameters()),
      lines_(lines),
      memories_(memories.begin(), memories.end()),
      l1_(kL1Bytes, kL1Ways),
      l2_(p_.ppe_l2_bytes, p_.ppe_l2_ways) {
  lines.observe(this);
}

void Ppe::compute(std::int64_t cycles, const Where& where) {
  while (free_threads_ == 0) thread_waiters_.wait(engine(), {"a hardware thread of the PPE", 0, 0, where});
  --free_threads_;
  engine().sleep(std::max<std::int64_t>(0, cycles), where);
  ++free_threads_;
  thread_waiters_.wake_all(engine());
}

Ppe::Access& Ppe::take_access() {
  for (const std::unique_ptr<Access>& access : accesses_) {
    if (!access->busy) return *access;
  }
  accesses_.push_back(std::make_unique<Access>());
  return *accesses_.back();
}

Ppe::Access& Ppe::start(BusKind kind, EffectiveAddress ea, std::uint32_t bytes, const void* data,
                        std::uint8_t flavour) {
  Access& access = take_access();
  static_cast<BusRequest&>(access) = BusRequest{};
  access.kind = kind;
  access.flavour = flavour;
  access.stop = kStopPpe;
  access.bytes = static_cast<std::uint16_t>(bytes);
  access.ea = ea;
  access.data = access.line.data();
  access.requester = this;
  access.cookie = static_cast<std::uint64_t>(ppe_unit(chip()));
  access.busy = true;
  access.done = access.forget = false;
  access.waiter = nullptr;
  if (data != nullptr) std::memcpy(access.line.data(), data, bytes);
  eib_.issue(access);
  return access;
}

void Ppe::delivered(BusRequest& request) {
  Access& access = static_cast<Access&>(request);
  access.done = true;
  if (access.forget) access.busy = false;
  access.followers.wake_all(engine());
  if (access.waiter != nullptr) engine().wake(*access.waiter);
}

void Ppe::wait(Access& access, const char* what, const Where& where) {
  access.waiter = engine().current();
  while (!access.done) engine().block({what, 0, 0, where});
  access.waiter = nullptr;
  access.busy = false;
}

std::byte* Ppe::memory_at(EffectiveAddress ea, std::uint64_t bytes) {
  const Location at = locate(ea);
  return memories_[static_cast<std::size_t>(at.index)]->at(at.offset, bytes).data();
}

/// A hit under a miss has the line's tag, but not its bytes yet.
void Ppe::wait_for_line(EffectiveAddress line, const Where& where) {
  const auto coming = [line](const std::unique_ptr<Access>& access) {
    return access->busy && !access->done && access->kind == BusKind::read && access->ea == line;
  };
  for (;;) {
    const auto found = std::find_if(accesses_.begin(), accesses_.end(), coming);
    if (found == accesses_.end()) return;
    (*found)->followers.wait(engine(), {"a line of main memory", 0, 0, where});
  }
}

void Ppe::line_written(EffectiveAddress line) {
  std::erase_if(reservations_, [line](const Reservation& held) { return held.line == line; });
  if (own_store_) return;
  l1_.drop(line);
  l2_.drop(line);
}

void Ppe::memory_written(EffectiveAddress ea) {
  own_store_ = true;
  lines_.written(line_of(ea));
  own_store_ = false;
}

void Ppe::write_back(EffectiveAddress line) {
  ++statistics_.write_backs;
  l1_.drop(line);
  Access& access = start(BusKind::write, line, kLineBytes, nullptr, kWriteBack);
  access.forget = true;
}

Ppe::Access* Ppe::fetch(EffectiveAddress line, bool write) {
  if (l1_.touch(line, write)) {
    ++statistics_.l1_hits;
    l2_.touch(line, write);
    return nullptr;
  }
  const bool hit = l2_.touch(line, write);
  l1_.insert(line, write);
  if (hit) {
    ++statistics_.l2_hits;
    return nullptr;
  }
  ++statistics_.misses;
  l1_.drop(l2_.next_to_go(line));
  if (const EffectiveAddress gone = l2_.insert(line, write); gone != 0) write_back(gone);
  return &start(BusKind::read, line, kLineBytes, nullptr);
}

void Ppe::touch(EffectiveAddress ea, bool write, const Where& where) {
  const std::uint64_t l1_hits = statistics_.l1_hits;
  Access* const access = fetch(line_of(ea), write);
  if (access != nullptr) {
    wait(*access, "a line of main memory", where);
    engine().sleep(p_.ppe_miss_overhead_cycles + p_.ppe_l2_hit_cycles, where);
  } else {
    const bool in_l1 = statistics_.l1_hits > l1_hits;
    wait_for_line(line_of(ea), where);
    engine().sleep(in_l1 ? p_.ppe_l1_hit_cycles : p_.ppe_l2_hit_cycles, where);
  }
}

void Ppe::load(EffectiveAddress ea, std::span<std::byte> bytes, const Where& where) {
  while (!bytes.empty()) {
    const std::uint64_t piece = piece_at(ea, bytes.size());
    if (in_memory(ea)) {
      touch(ea, false, where);
      std::memcpy(bytes.data(), memory_at(ea, piece), piece);
    } else {
      ++statistics_.uncached_reads;
      Access& access = start(BusKind::read, ea, static_cast<std::uint32_t>(piece), nullptr);
      wait(access, "a load from a local store or register", where);
      std::memcpy(bytes.data(), access.line.data(), piece);
      engine().sleep(p_.ppe_mmio_read_cycles, where);
    }
    ea += piece;
    bytes = bytes.subspan(piece);
  }
}

void Ppe::store(EffectiveAddress ea, std::span<const std::byte> bytes, const Where& where) {
  while (!bytes.empty()) {
    const std::uint64_t piece = piece_at(ea, bytes.size());
    if (in_memory(ea)) {
      touch(ea, true, where);
      std::memcpy(memory_at(ea, piece), bytes.data(), piece);
      memory_written(ea);
    } else {
      ++statistics_.uncached_writes;
      engine().sleep(p_.ppe_mmio_write_cycles, where);
      Access& access = start(BusKind::write, ea, static_cast<std::uint32_t>(piece), bytes.data());
      wait(access, "a store to a local store or register", where);
    }
    ea += piece;
    bytes = bytes.subspan(piece);
  }
}

void Ppe::copy(EffectiveAddress to, EffectiveAddress from, std::uint64_t bytes, const Where& where) {
  if (in_memory(to) && in_memory(from)) return copy_cached(to, from, bytes, where);
  std::array<std::byte, kUncachedBytes> word{};
  while (bytes > 0) {
    const std::uint64_t piece = std::min(piece_at(to, bytes), piece_at(from, bytes));
    const std::span<std::byte> part(word.data(), std::min<std::uint64_t>(piece, word.size()));
    load(from, part, where);
    store(to, part, where);
    to += part.size();
    from += part.size();
    bytes -= part.size();
  }
}

void Ppe::copy_cached(EffectiveAddress to, EffectiveAddress from, std::uint64_t bytes, const Where& where) {
  const auto in_flight = static_cast<std::size_t>(p_.ppe_misses_in_flight);
  std::deque<Access*> under_way;
  const auto bring = [&](EffectiveAddress line, bool write) {
    if (Access* const access = fetch(line, write); access != nullptr) under_way.push_back(access);
    while (under_way.size() >= in_flight) {
      wait(*under_way.front(), "a line of main memory", where);
      under_way.pop_front();
      engine().sleep(p_.ppe_miss_overhead_cycles, where);
    }
  };
  while (bytes > 0) {
    const std::uint64_t piece = std::min(piece_at(to, bytes), piece_at(from, bytes));
    bring(line_of(to), true);
    bring(line_of(from), false);
    std::memcpy(memory_at(to, piece), memory_at(from, piece), piece);
    memory_written(to);
    engine().sleep(std::max<std::int64_t>(1, p_.ppe_copy_cycles_per_line * static_cast<std::int64_t>(piece) /
                                                 static_cast<std::int64_t>(kLineBytes)),
                   where);
    to += piece;
    from += piece;
    bytes -= piece;
  }
  for (Access* const access : under_way) wait(*access, "a line of main memory", where);
}

void Ppe::drop_reservation() {
  std::erase_if(reservations_, [this](const Reservation& held) { return held.owner == engine().current(); });
}

bool Ppe::reserved(EffectiveAddress line) {
  return std::any_of(reservations_.begin(), reservations_.end(), [&](const Reservation& held) {
    return held.owner == engine().current() && held.line == line;
  });
}

std::uint32_t Ppe::load_reserve(EffectiveAddress ea, const Where& where) {
  touch(ea, false, where);
  std::uint32_t value = 0;
  std::memcpy(&value, memory_at(ea, sizeof value), sizeof value);
  drop_reservation();
  reservations_.push_back({engine().current(), line_of(ea)});
  return value;
}

bool Ppe::store_conditional(EffectiveAddress ea, std::uint32_t value, const Where& where) {
  const EffectiveAddress line = line_of(ea);
  if (reserved(line)) touch(ea, true, where);
  // Getting the line may have taken long: the reservation must stand at the end.
  const bool stands = reserved(line);
  drop_reservation();
  if (!stands) return false;
  std::memcpy(memory_at(ea, sizeof value), &value, sizeof value);
  memory_written(ea);
  return true;
}

}  // namespace corewise::cell
