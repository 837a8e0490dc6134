// Annealing on smooth link loads: swaps of ranks, moves towards peers and to neighbours, and exchanges of what
// whole blocks of units hold. Where many units are alike, clusters of ranks trade places, too. Owns which moves are
// tried and how the temperature falls. Also the descent that every search ends with.
//
// Contract: the placement left in the loads is the best met, by the smooth number or (descent) by all loads sorted
// from the worst link down. Effort is counted in proposals; the same random state gives the same placement.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/rng.hpp"
#include "machine/placement.hpp"
#include "place/portfolio/neighbourhood.hpp"
#include "place/portfolio/smooth_loads.hpp"

namespace corewise::place {

struct Cooling {
  std::uint64_t proposals = 100'000;
  double hot = 0.03;  ///< first temperature, as a part of the smooth number
  double cold = 0.0003;
  bool at_the_worst = false;  ///< one move of ranks in four is of one whose messages load the slowest link
  /// Of exchanges whose messages travel so much farther, in a rank's messages, all but one in e are dropped unseen.
  double usual_detour = 0.3;
};

class Annealing {
 public:
  /// `should_stop` is asked now and then; true ends the present search with the best it has.
  Annealing(SmoothLoads& loads, const Neighbourhood& near, Rng& rng, std::function<bool()> should_stop);

  /// From the placement in the loads. Ends early when hardly anything is accepted any more.
  void cool(const Cooling& how);
  /// Single moves that make the loads flatter, until none does or `most` were tried.
  void descend(std::uint64_t most);
  /// A random move, whatever it does.
  void step();
  /// Proposes a random move of one or two ranks, which may change no load; false where there is none. What the
  /// loads would be then:
  bool draw_single();
  /// Proposes that the rank goes to the unit, and who is there to its own; false where that is not allowed, or
  /// where it would change no load.
  bool propose_swap(int rank, machine::UnitId unit);
  [[nodiscard]] double proposed() const { return proposed_; }
  [[nodiscard]] machine::Placement placement() const;
  /// Proposals so far.
  [[nodiscard]] std::uint64_t proposals() const { return proposals_; }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  bool draw();
  bool draw_ranks(bool alike_too);
  void look_at_the_worst();
  void draw_swap(int rank, machine::UnitId unit, bool alike_too);
  void draw_groups(machine::UnitId one, machine::UnitId other);
  void collect_group(machine::UnitId unit, std::size_t size, std::vector<machine::UnitId>& group);
  bool draw_blocks();
  void exchange(machine::UnitId one, machine::UnitId other);
  [[nodiscard]] bool is_hopeless(double usual_detour);
  bool count_proposal();

  SmoothLoads& loads_;
  const Neighbourhood& near_;
  Rng& rng_;
  std::function<bool()> should_stop_;
  std::vector<Relocation> moves_;
  std::vector<machine::UnitId> group_, other_group_;
  std::vector<int> at_the_worst_;  ///< ranks that load the slowest link, as of the last look; empty: all alike
  bool looked_for_ = false;        ///< the move drawn last is of such a rank or of blocks
  std::uint64_t proposals_ = 0;
  double proposed_ = 0;
  bool stopped_ = false;
};

}  // namespace corewise::place
