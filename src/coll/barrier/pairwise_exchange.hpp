// The pairwise-exchange barrier of paper 001 (PE, section 5.1) on any port and any number of ranks.
//
// Each step has a control line of its own, written by that step's peer; what is written is the number of the
// barrier. A waiting rank accepts that number or a later one and nothing is ever set back, so barriers follow one
// another without a word between them. That is right because a peer can be one barrier ahead and no further: it
// cannot leave barrier n + 1 before this rank has entered it. It may overwrite number n by n + 1 before this rank
// has looked, which is why "or a later one" is needed (tests/cpp/coll checks every interleaving, and that without
// it ranks hang).
//
// Contract: every rank of the port makes one with the same arguments and calls it equally often. It owns
// lines_needed() lines of 16 bytes from `first` on and as many tags from `first_tag` on; under those tags it leaves
// operations that nobody has to wait for. One tag per step: the fence of put_line then waits for nothing else.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "coll/barrier/pairwise_exchange_schedule.hpp"
#include "port/port.hpp"
#include "port/wait.hpp"

namespace corewise::coll::barrier {

/// What a rank does after it has started the write of a flag.
enum class AfterPut {
  goes_on,   ///< straight to its own flag: the port keeps the bytes that are under way
  waits_too  ///< waits until the write is complete, as a program must that keeps one copy of the flag's bytes
};

template <port::Port P>
class PairwiseExchange {
 public:
  /// Lines of 16 bytes, and tags, for this many ranks.
  static constexpr std::uint32_t lines_needed(int ranks) {
    return static_cast<std::uint32_t>(pairwise_exchange_schedule::steps(ranks));
  }

  /// `last` is the sequence number that the lines hold: 0 unless somebody has used them before.
  explicit PairwiseExchange(P& port, port::Line16 first = {}, port::Tag first_tag = 0, port::Sequence last = 0,
                            AfterPut after_put = AfterPut::goes_on)
      : port_(port),
        steps_(lines_needed(port.size())),
        first_(first),
        first_tag_(first_tag),
        number_(last),
        after_put_(after_put) {
    assert(steps_ <= kMostSteps);
    assert(first.index + steps_ <= port.layout().lines16 && first_tag + steps_ <= port::kTags);
    for (std::uint32_t step = 0; step < steps_; ++step) {
      peers_[step] = pairwise_exchange_schedule::peers(port.size(), port.rank(), static_cast<int>(step));
    }
  }

  /// Returns when every rank has called.
  void operator()() {
    ++number_;
    port_.compute(kCallCycles);
    for (std::uint32_t step = 0; step < steps_; ++step) exchange(step);
  }

 private:
  /// What an SPU spends beside the port's operations, counted in its instructions (a load from the local store 6
  /// cycles, a shuffle or rotation 4, a branch without a hint 18). A call: the frame, the number read and written
  /// back. A step: the peer's word out of its quadword 10, the number into the flag's quadword 14, the address of
  /// the line 6, one of its branches without a hint 18, the loop 4.
  static constexpr std::int64_t kCallCycles = 40;
  static constexpr std::int64_t kStepCycles = 52;

  void exchange(std::uint32_t step) {
    const pairwise_exchange_schedule::Peers peers = peers_[step];
    port_.compute(kStepCycles);
    if (peers.to != pairwise_exchange_schedule::nobody) {
      port_.put_line(peers.to, first_ + step, number_, {}, first_tag_ + step);
      if (after_put_ == AfterPut::waits_too) port_.wait(port::mask_of(first_tag_ + step));
    }
    if (peers.from != pairwise_exchange_schedule::nobody) port::wait_line(port_, first_ + step, number_);
  }

  static constexpr std::uint32_t kMostSteps = 16;  ///< of up to 16384 ranks

  P& port_;
  std::uint32_t steps_;
  port::Line16 first_;
  port::Tag first_tag_;
  port::Sequence number_;
  AfterPut after_put_;
  std::array<pairwise_exchange_schedule::Peers, kMostSteps> peers_{};
};

}  // namespace corewise::coll::barrier
