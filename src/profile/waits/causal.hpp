// Cause before effect: what is left of the clocks' errors after comparing them, taken out where it shows. A
// controlled logical clock (Becker, Rabenseifner, Wolf, Linford 2009) over nodes: ranks of a node share a clock, so
// they share its correction and stay in line with each other.
//
// Contract: a correction is never negative, and time on a node never stands still or turns around. Where no message
// arrives before it was sent nothing is changed. Memory grows with the number of corrections.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace corewise::profile {

/// Something on one node that cannot have been later than something on another.
struct Cause {
  int from_node = 0;
  double from_ns = 0;
  int to_node = 0;
  double to_ns = 0;
};

struct CausalOptions {
  double pace = 0.99;       ///< behind a jump the node's time runs this much slower until the correction is gone
  double window_ns = 1e6;   ///< before a jump the way to it is made up within this time
  std::size_t rounds = 64;  ///< through all causes; what is violated after that is left
};

/// The correction of one node's times.
class NodeCorrection {
 public:
  [[nodiscard]] double corrected(double ns) const { return ns + jumped(ns) + approached(ns); }
  [[nodiscard]] bool empty() const { return jumps_.empty(); }
  [[nodiscard]] std::size_t jumps() const { return jumps_.size(); }

 private:
  friend class CausalMaker;
  struct Jump {
    double ns;
    double height_ns;  ///< of the correction from here on, falling by 1 - pace
  };
  /// A straight way up to the jump at `ns`, 0 from there on.
  struct Approach {
    double ns;
    double window_ns;
    double height_ns;
  };
  [[nodiscard]] double jumped(double ns) const;
  [[nodiscard]] double before(double ns) const;
  [[nodiscard]] double approached(double ns) const;
  void raise(double ns, double height_ns);

  double fall_ = 0;
  double widest_ns_ = 0;
  std::vector<Jump> jumps_;           ///< sorted by time; none is below what an earlier one leaves of itself
  std::vector<Approach> approaches_;  ///< sorted by time
};

struct Causality {
  std::vector<NodeCorrection> nodes;
  std::uint64_t violated = 0;  ///< causes that were violated
  double largest_ns = 0;       ///< by how much
  std::uint64_t left = 0;      ///< still violated: their ends contradict each other in a circle
};

/// Makes every cause come before its effect. Causes on one node have no meaning here and are ignored.
Causality make_causal(int nodes, std::vector<Cause> causes, const CausalOptions& options = {});

}  // namespace corewise::profile
