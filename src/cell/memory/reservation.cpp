// Reservations and copies: small tables that are searched, since sixteen SPEs hold four lines each and a system
// without atomics holds none. SPDX-License-Identifier: BSD-3-Clause
#include "cell/memory/reservation.hpp"

#include <algorithm>

namespace corewise::cell {

CoherentLines::CoherentLines(int copies_per_unit) : copies_per_unit_(copies_per_unit) {}

void CoherentLines::reserve(int unit, EffectiveAddress line) {
  EffectiveAddress& held = reservation_[static_cast<std::size_t>(unit)];
  if (held == 0) ++reservations_;
  held = line;
}

bool CoherentLines::reserved(int unit, EffectiveAddress line) const {
  return reservation_[static_cast<std::size_t>(unit)] == line;
}

void CoherentLines::drop_reservation(int unit) {
  EffectiveAddress& held = reservation_[static_cast<std::size_t>(unit)];
  if (held != 0) --reservations_;
  held = 0;
}

void CoherentLines::lose_reservations(EffectiveAddress line) {
  if (reservations_ == 0) return;
  for (EffectiveAddress& held : reservation_) {
    if (held != line) continue;
    held = 0;
    --reservations_;
  }
}

const CoherentLines::Held* CoherentLines::find(int unit, EffectiveAddress line) const {
  for (const Held& held : held_[static_cast<std::size_t>(unit)]) {
    if (held.line == line) return &held;
  }
  return nullptr;
}

CoherentLines::Copy CoherentLines::copy(int unit, EffectiveAddress line) const {
  const Held* const held = find(unit, line);
  if (held == nullptr) return Copy::none;
  return held->modified ? Copy::modified : Copy::shared;
}

int CoherentLines::owner(EffectiveAddress line) const {
  if (copies_ == 0) return -1;
  for (int unit = 0; unit < kCoherentUnits; ++unit) {
    if (copy(unit, line) == Copy::modified) return unit;
  }
  return -1;
}

void CoherentLines::drop_copies(EffectiveAddress line, int but) {
  if (copies_ == 0) return;
  for (int unit = 0; unit < kCoherentUnits; ++unit) {
    if (unit == but) continue;
    copies_ -= static_cast<int>(std::erase_if(held_[static_cast<std::size_t>(unit)],
                                              [line](const Held& held) { return held.line == line; }));
  }
}

void CoherentLines::copied(int unit, EffectiveAddress line) {
  bool alone = true;
  for (std::size_t other = 0; other < held_.size(); ++other) {
    if (other == static_cast<std::size_t>(unit)) continue;
    for (Held& held : held_[other]) {
      if (held.line != line) continue;
      held.modified = false;
      alone = false;
    }
  }
  std::vector<Held>& own = held_[static_cast<std::size_t>(unit)];
  const auto kept = std::find_if(own.begin(), own.end(), [line](const Held& held) { return held.line == line; });
  if (kept != own.end()) {
    kept->modified = kept->modified && alone;
    std::rotate(own.begin(), kept, kept + 1);
    return;
  }
  if (static_cast<int>(own.size()) == copies_per_unit_) {
    own.pop_back();
    --copies_;
  }
  own.insert(own.begin(), Held{line, alone});
  ++copies_;
}

void CoherentLines::owned(int unit, EffectiveAddress line) {
  lose_reservations(line);
  drop_copies(line, unit);
  copied(unit, line);
  held_[static_cast<std::size_t>(unit)].front().modified = true;
  for (LineObserver* const observer : observers_) observer->line_written(line);
}

void CoherentLines::written(EffectiveAddress line) {
  lose_reservations(line);
  drop_copies(line, -1);
  for (LineObserver* const observer : observers_) observer->line_written(line);
}

}  // namespace corewise::cell
