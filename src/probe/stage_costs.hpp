// Strided data between two cores over memory that both see, in two ways, and what they cost on this host: the
// reader copies from where the data lie, or the owner packs them into a stage, chunk by chunk, and the reader
// unpacks.
//
// Contract: an exchange is symmetric. Two threads, or two processes with shared memory, call the same function with
// sides exchanged and steps that rise by one from 1; each ends when both have what the other had. Who waits looks
// again at once for a while and then gives the processor away. Nothing allocates but `measure_stage_costs`.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "kernels/packing/plans/pack.hpp"

namespace corewise::probe {

/// Counters that never go back, on lines of their own: some processors fetch two lines at once. Zero at first.
struct ExchangeFlags {
  struct alignas(128) Flag {
    std::atomic<std::uint64_t> value{0};
    void set(std::uint64_t to) { value.store(to, std::memory_order_release); }
    void await(std::uint64_t least) const;
  };
  Flag met, ready, packed, done;
  std::atomic<std::uint64_t> meetings{0};  ///< of this side alone
  kernels::StageCosts costs;               ///< what this side has measured
};

/// What a side shows to the other one. `stage` has room for a message.
struct ExchangeSide {
  ExchangeFlags* flags = nullptr;
  std::byte* items = nullptr;
  std::byte* stage = nullptr;
};

/// Both sides have come here.
void meet(const ExchangeSide& mine, const ExchangeSide& peer);

/// One item of `plan` from the peer's memory to `target`, from stride to stride.
void exchange_direct(const kernels::PackPlan& plan, const ExchangeSide& mine, const ExchangeSide& peer,
                     std::byte* target, std::uint64_t step);

/// The same through the stages.
void exchange_staged(const kernels::PackPlan& plan, const ExchangeSide& mine, const ExchangeSide& peer,
                     std::byte* target, std::uint64_t step);

/// Bytes that `stage_costs` uses of items and target, and of a stage.
inline constexpr std::size_t kStageCostsItems = std::size_t{1024} * 4160, kStageCostsStage = 16384;

/// Called by both sides; the same numbers on both (ns, the slower side's). Steps begin behind `step`, which is what
/// they have reached afterwards. Dense blocks, and blocks in lines and in pages of their own, both ways in turn,
/// medians of `rounds`; about 0.1 ms a round.
kernels::StageCosts stage_costs(const ExchangeSide& mine, const ExchangeSide& peer, std::byte* target,
                                std::uint64_t& step, int rounds = 15);

/// The same with two threads of this process, each bound to a processor. An error for a processor that this process
/// may not use.
Result<kernels::StageCosts> measure_stage_costs(int first, int second, int rounds = 15);

}  // namespace corewise::probe
