// Copies: the cores that copy long messages. A rank copies one message at a time, in the order in which they met
// their receives. Two ranks that copy from one another have a pace of their own: slower where they share what they
// copy through, quicker where a rank that waits is more in the way than one that copies.
//
// Contract: `done` is called in the event of a copy's end. One engine, one thread.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/engine.hpp"

namespace corewise::simmpi {

struct Copy {
  int from = 0;
  double alone = 0;  ///< ticks
  double both = 0;   ///< ticks while `from` copies from this rank
  std::uint64_t argument = 0;
};

class Copies {
 public:
  /// Told the argument of each copy.
  Copies(sim::Engine& engine, std::size_t ranks, sim::Handler::Call done, void* self);
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  /// Rank `to` copies, as soon as it has done what it was given before.
  void add(int to, const Copy& copy);

 private:
  struct Lane {
    std::deque<Copy> queue;
    double left = 0;  ///< ticks that the first one would still take alone
    double pace = 1;  ///< of that, per tick
    sim::Time since = 0;
    std::uint32_t generation = 0;  ///< only the newest end counts
  };

  static void end(void* self, std::uint64_t argument);
  Lane& lane(int rank) { return lanes_[static_cast<std::size_t>(rank)]; }
  /// Whether both copy from one another.
  [[nodiscard]] bool crossed(int rank, const Copy& copy);
  void begin(int rank);
  /// The first copy goes on at the pace of now.
  void go_on(int rank);

  sim::Engine& engine_;
  std::vector<Lane> lanes_;
  sim::Handler::Call done_;
  void* self_;
};

}  // namespace corewise::simmpi
