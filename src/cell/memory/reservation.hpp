// Reservations and copies of lines: who holds a lock-line reservation (CBEA, getllar; PowerPC, lwarx), and which
// atomic units hold a copy of a line of main memory, shared or modified. What the snoopers of a Cell know together
// is kept here in one place for all units of a system; asking and telling costs no simulated time, the commands
// that lead to it do.
//
// Invariants: a unit has at most one reservation; a line that one unit holds modified, no other holds at all. The
// bytes of a line are always the ones in MemoryBytes. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cell/address.hpp"

namespace corewise::cell {

/// Units that reserve and copy lines: SPEs 0 .. 15, then the PPEs.
inline constexpr int kCoherentUnits = kSpesPerChip * kMaxChips + kMaxChips;
constexpr int ppe_unit(int chip) {
  return kSpesPerChip * kMaxChips + chip;
}
constexpr EffectiveAddress line_of(EffectiveAddress ea) {
  return ea & ~static_cast<EffectiveAddress>(kLineBytes - 1);
}

/// BusRequest::flavour: what a command on a line of main memory is for. The unit is in the low byte of
/// BusRequest::cookie.
enum BusFlavour : std::uint8_t {
  kPlain = 0,
  kLockRead,          ///< getllar: a copy, and the reservation
  kConditionalClaim,  ///< putllc: the line alone, and 128 bytes from `data`, if the reservation still stands
  kClaim,             ///< putlluc: the same without condition
  kWriteBack,         ///< a cache gives a line back: time, but no new bytes (the memory has them already)
};

/// Who caches lines and must hear that one was written: a PPE's L2.
class LineObserver {
 public:
  virtual ~LineObserver() = default;
  virtual void line_written(EffectiveAddress line) = 0;
};

class CoherentLines {
 public:
  enum class Copy : std::uint8_t { none, shared, modified };

  /// Each atomic unit has room for `copies_per_unit` lines.
  explicit CoherentLines(int copies_per_unit);

  // Reservations.
  /// Replaces the unit's earlier reservation.
  void reserve(int unit, EffectiveAddress line);
  [[nodiscard]] bool reserved(int unit, EffectiveAddress line) const;
  void drop_reservation(int unit);

  // Copies.
  [[nodiscard]] Copy copy(int unit, EffectiveAddress line) const;
  /// The unit that holds the line modified, -1 when none does.
  [[nodiscard]] int owner(EffectiveAddress line) const;
  /// The unit gets a copy: modified-able (nobody else has one: counted as modified) or shared; an owner keeps a
  /// shared one. Its oldest copy gives way.
  void copied(int unit, EffectiveAddress line);

  /// `writer` wrote the whole line and holds it alone: all reservations and all other copies are gone.
  void owned(int unit, EffectiveAddress line);
  /// Somebody without a copy (DMA, a PPE's store) wrote into the line: all reservations and copies are gone.
  void written(EffectiveAddress line);

  void observe(LineObserver* observer) { observers_.push_back(observer); }

 private:
  struct Held {
    EffectiveAddress line = 0;  ///< 0: none
    bool modified = false;
  };

  [[nodiscard]] const Held* find(int unit, EffectiveAddress line) const;
  void lose_reservations(EffectiveAddress line);
  void drop_copies(EffectiveAddress line, int but);

  int copies_per_unit_;
  std::array<EffectiveAddress, kCoherentUnits> reservation_{};  ///< 0: none
  std::array<std::vector<Held>, kCoherentUnits> held_;          ///< latest first
  int reservations_ = 0;
  int copies_ = 0;
  std::vector<LineObserver*> observers_;
};

}  // namespace corewise::cell
