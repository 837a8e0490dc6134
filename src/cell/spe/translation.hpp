// Translation: how long an MFC waits for the translation of an effective address: nothing for a page among those it
// has used last, a walk of the page table for another one, and for a page that it has never used a fault that the
// PPE serves. Off by default (no entries, no fault): no paper measures it on its own.
//
// Invariant: the pages it holds are in the order of their last use. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cell/address.hpp"
#include "cell/parameters.hpp"
#include "sim/state.hpp"

namespace corewise::cell {

struct TranslationStatistics {
  std::uint64_t misses = 0;  ///< walks of the page table
  std::uint64_t faults = 0;
};

class Translation {
 public:
  explicit Translation(const Parameters& parameters) : p_(parameters) {}

  /// Core cycles until the address is known; the page is then the last one used.
  sim::Time delay(EffectiveAddress ea) {
    if (p_.mfc_tlb_entries == 0 && p_.mfc_page_fault_cycles == 0) return 0;
    const std::uint64_t page = ea / static_cast<std::uint64_t>(p_.mfc_page_bytes);
    return looked_up(page) + faulted(page);
  }
  /// Where a fault holds back its command alone: core cycles until the page of `ea` is there, which from then on is
  /// known; 0 where it is there already, or where the whole MFC waits (in delay()).
  sim::Time fault_of_one(EffectiveAddress ea) {
    if (p_.mfc_hits_under_fault == 0 || p_.mfc_page_fault_cycles == 0) return 0;
    return faulted(ea / static_cast<std::uint64_t>(p_.mfc_page_bytes));
  }
  [[nodiscard]] const TranslationStatistics& statistics() const { return statistics_; }
  /// See sim/state.hpp.
  void append_state(sim::State& state) const {
    for (const std::uint64_t page : held_) state.push_back(static_cast<std::int64_t>(page));
    state.push_back(static_cast<std::int64_t>(known_.size()));
  }

 private:
  sim::Time looked_up(std::uint64_t page) {
    if (p_.mfc_tlb_entries == 0) return 0;
    const auto found = std::find(held_.begin(), held_.end(), page);
    const bool hit = found != held_.end();
    if (hit) held_.erase(found);
    held_.push_back(page);
    if (held_.size() > static_cast<std::size_t>(p_.mfc_tlb_entries)) held_.erase(held_.begin());
    if (hit) return 0;
    ++statistics_.misses;
    return p_.mfc_tlb_miss_cycles;
  }
  sim::Time faulted(std::uint64_t page) {
    if (p_.mfc_page_fault_cycles == 0) return 0;
    const auto place = std::lower_bound(known_.begin(), known_.end(), page);
    if (place != known_.end() && *place == page) return 0;
    known_.insert(place, page);
    ++statistics_.faults;
    return p_.mfc_page_fault_cycles + p_.hypervisor_fault_cycles;
  }

  const Parameters& p_;
  std::vector<std::uint64_t> held_;   ///< pages, last used last: few, searched
  std::vector<std::uint64_t> known_;  ///< pages that were ever used, sorted
  TranslationStatistics statistics_;
};

}  // namespace corewise::cell
