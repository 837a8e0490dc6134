// What decides the future of a Cell: the states of its parts (sim/state.hpp), one after the other.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "cell/eib.hpp"
#include "cell/memory/memory.hpp"
#include "cell/memory/target.hpp"
#include "cell/spe/mfc.hpp"
#include "cell/spe/spe.hpp"
#include "cell/system.hpp"

namespace corewise::cell {

using sim::State;

void CommandSlots::append_state(State& state, sim::Time now) const {
  state.push_back(now % interval_);
  const sim::Time slot = now / interval_, words = horizon_ + static_cast<sim::Time>(kWords);
  const int shift = static_cast<int>(slot % 64);
  const auto word = [&](sim::Time index) -> std::uint64_t {
    return index < words ? taken_[static_cast<std::size_t>(index) % kWords] : 0;
  };
  const std::size_t start = state.size();
  for (sim::Time at = slot / 64; at < words; ++at) {
    const std::uint64_t high = shift == 0 ? 0 : word(at + 1) << (64 - shift);
    state.push_back(static_cast<std::int64_t>(word(at) >> shift | high));
  }
  while (state.size() > start && state.back() == 0) state.pop_back();
  state.push_back(static_cast<std::int64_t>(state.size() - start));
  state.push_back(static_cast<std::int64_t>(far_.size()));
  for (const sim::Time far : far_) state.push_back(far - slot);
}

void Eib::append_state(State& state, const sim::HandlerNames& names) const {
  ac1_.append_state(state, engine_.now());
  for (const sim::Time free : own_port_free_) state.push_back(sim::until(free, engine_.now()));
  rings_.append_state(state, names);
}

/// A set of entries as a set of their ranks: 0 for the oldest live one.
std::int64_t Mfc::ranks_of(std::uint64_t entries) const {
  std::int64_t ranks = 0;
  for (std::uint64_t left = entries & live_; left != 0; left &= left - 1) {
    const std::uint64_t order = entries_[static_cast<std::size_t>(std::countr_zero(left))].order;
    int rank = 0;
    for (std::uint64_t others = live_; others != 0; others &= others - 1) {
      rank += entries_[static_cast<std::size_t>(std::countr_zero(others))].order < order;
    }
    ranks |= std::int64_t{1} << rank;
  }
  return ranks;
}

void Mfc::append_entry(const Entry& entry, int index, State& state) const {
  const Command& command = entry.command;
  state.push_back((static_cast<std::int64_t>(command.opcode) << 16) |
                  (static_cast<std::int64_t>(command.order) << 8) | command.tag);
  const std::int64_t own_index = command.size == 0 ? index : 0;  // commands without data end in order of place
  for (const auto value : {static_cast<std::int64_t>(command.ls), static_cast<std::int64_t>(command.ea),
                           static_cast<std::int64_t>(command.size), static_cast<std::int64_t>(command.list),
                           static_cast<std::int64_t>(entry.ea), static_cast<std::int64_t>(entry.ls),
                           static_cast<std::int64_t>(entry.left), static_cast<std::int64_t>(entry.element),
                           ranks_of(entry.waits_for), sim::until(entry.ready, engine_.now()), own_index}) {
    state.push_back(value);
  }
  const std::uint64_t bit = std::uint64_t{1} << index;
  state.push_back(entry.on_bus * 64 + entry.stall_after * 32 + entry.stalled * 16 + entry.unrolled * 8 +
                  ((startable_ & bit) != 0) * 4 + (current_ == index) * 2 + (entry.queue == &proxy_));
}

void Mfc::append_state(State& state) const {
  const sim::Time now = engine_.now();
  // A shuffled run draws: it never repeats.
  if (parameters_.mfc_shuffle_seed != 0) state.push_back(static_cast<std::int64_t>(statistics_.requests));
  std::vector<int> live;
  for (std::uint64_t left = live_; left != 0; left &= left - 1) live.push_back(std::countr_zero(left));
  std::sort(live.begin(), live.end(), [this](int a, int b) {
    return entries_[static_cast<std::size_t>(a)].order < entries_[static_cast<std::size_t>(b)].order;
  });
  state.push_back(static_cast<std::int64_t>(live.size()));
  for (const int index : live) append_entry(entries_[static_cast<std::size_t>(index)], index, state);
  state.push_back(sim::until(next_request_, now));
  state.push_back(sim::until(next_command_, now));
  translation_.append_state(state);
  state.push_back(static_cast<std::int64_t>(free_count_));
  for (std::size_t i = 0; i < free_count_; ++i) {
    state.push_back(sim::until(free_at_[free_[(free_head_ + i) % kMaxRequests]], now));
  }
}

bool Mfc::name_event(const sim::Handler& handler, State& state) const {
  if (handler.self == this) {
    state.push_back(ranks_of(std::uint64_t{1} << handler.argument));
    return true;
  }
  const auto first = reinterpret_cast<std::uintptr_t>(requests_.data());
  const auto at = static_cast<std::uintptr_t>(handler.argument);
  if (at < first || at >= first + sizeof requests_) return false;
  const BusRequest& request = requests_[(at - first) / sizeof(BusRequest)];
  for (const auto value :
       {static_cast<std::int64_t>(request.kind), static_cast<std::int64_t>(request.flavour),
        static_cast<std::int64_t>(request.stop), static_cast<std::int64_t>(request.bytes),
        static_cast<std::int64_t>(request.ea), static_cast<std::int64_t>(request.data - local_store_.data()),
        ranks_of(std::uint64_t{1} << request.cookie), static_cast<std::int64_t>(request.retries),
        static_cast<std::int64_t>(request.target_cookie)}) {
    state.push_back(value);
  }
  return true;
}

void MemoryController::append_state(State& state, const sim::HandlerNames& names) const {
  const sim::Time now = engine_.now();
  // Refreshes come by the clock: what is left of their round is part of the state.
  if (p_.memory_refresh_interval_cycles > 0) {
    state.push_back(now % (p_.memory_refresh_interval_cycles * p_.memory_banks));
    const std::int64_t rounds = now / (p_.memory_refresh_interval_cycles * p_.memory_banks);
    for (const std::int64_t done : refreshed_) state.push_back(done - rounds);
  }
  for (const Channel& channel : channels_) {
    for (const auto* queue : {&channel.reads, &channel.writes}) {
      state.push_back(static_cast<std::int64_t>(queue->size()));
      for (const Request& request : *queue) {
        state.push_back(static_cast<std::int64_t>(request.offset));
        state.push_back(request.bytes);
        names.append(request.done, state);
      }
    }
    state.push_back(channel.reads_held);
    state.push_back(channel.writes_held);
    state.push_back(channel.writing);
    state.push_back(sim::until(channel.free_at, now));
    state.push_back(channel.attempt_at < 0 ? -1 : channel.attempt_at - now);
  }
  for (const sim::Time free : bank_free_) state.push_back(sim::until(free, now));
}

void LinesInFlight::append_state(State& state) const {
  state.push_back(static_cast<std::int64_t>(readers_.size()));
  std::vector<std::pair<EffectiveAddress, std::int32_t>> sorted(readers_.begin(), readers_.end());
  std::ranges::sort(sorted);
  for (const auto& [line, readers] : sorted) {
    state.push_back(static_cast<std::int64_t>(line));
    state.push_back(readers);
  }
}

void MemoryTarget::append_state(State& state, const sim::HandlerNames& names) const {
  in_flight_.append_state(state);
  const sim::Time now = eib_.engine().now();
  for (std::size_t unit = 0; unit < slots_.size(); ++unit) {
    // From the slot that is next: where in the circle it lies does not matter while their number stays the same.
    const std::int64_t wanted =
        static_cast<int>(unit) % kStops == kStopIoif0 ? p_.memory_link_slots : p_.memory_unit_slots;
    const auto count =
        static_cast<std::size_t>(std::min<std::int64_t>(wanted, static_cast<std::int64_t>(kMaxSlots)));
    for (std::size_t i = 0; i < count; ++i) {
      state.push_back(sim::until(slots_[unit][(next_slot_[unit] + i) % count], now));
    }
  }
  controller_.append_state(state, names);
}

namespace {

/// Who made a handler knows its name; what nobody claims is named by its owner and its argument.
class CellNames final : public sim::HandlerNames {
 public:
  explicit CellNames(System& system) : system_(system) {}
  void append(const sim::Handler& handler, State& state) const override {
    if (handler.call == nullptr) return state.push_back(-1);
    if (system_.eib(0).rings().name_event(handler, state)) return;
    for (int spe = 0; spe < system_.spes(); ++spe) {
      if (system_.spe(spe).mfc().name_event(handler, state)) return state.push_back(spe);
    }
    state.push_back(std::bit_cast<std::int64_t>(handler.self));
    state.push_back(static_cast<std::int64_t>(handler.argument));
  }

 private:
  System& system_;
};

}  // namespace

void System::append_state(State& state) {
  const CellNames names(*this);
  sim::append_engine_state(engine(), state, names);
  eib(0).append_state(state, names);
  memory(0).append_state(state, names);
  for (int index = 0; index < spes(); ++index) {
    spe(index).mfc().append_state(state);
    state.push_back(spe(index).tag_mask());
  }
}

}  // namespace corewise::cell
