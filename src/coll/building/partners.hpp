// Partners: the ranks with which a rank of a large communicator has control lines, where it has none with all the
// others. They are those that are a power of two further on or before, round the end (trees of degree 2 from any
// root, dissemination, rings, Bruck's algorithms, scans), and those that recursive doubling and halving meet on any
// number of ranks (reduce/fold.hpp). A rank's partners have the rank for a partner.
//
// So lines grow with the ranks times their logarithm. An algorithm that needs more says so in its row
// (coll/table.hpp: kAllPairs). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "coll/building/shape.hpp"
#include "coll/reduce/fold.hpp"

namespace corewise::coll {

/// The partners of `rank` in the order of its entries for them; at most partner_entries(ranks).
inline std::vector<int> partners_of(int ranks, int rank) {
  std::vector<int> partners;
  const auto add = [&](int peer) {
    if (peer != rank && std::ranges::find(partners, peer) == partners.end()) partners.push_back(peer);
  };
  for (int distance = 1; distance < ranks; distance *= 2) {
    add((rank + distance) % ranks);
    add((rank + ranks - distance) % ranks);
  }
  const reduce::Fold fold(ranks);
  const int number = fold.number(rank);
  for (int step = 0; number >= 0 && step < fold.steps(); ++step) add(fold.rank(number ^ (1 << step)));
  return partners;
}

/// Which entry of an array of lines stands for whom: what a rank looks up instead of a peer's number.
class Partners {
 public:
  static constexpr std::uint32_t kNone = 1U << 24;  ///< beyond any line

  Partners(int ranks, int rank)
      : here_(static_cast<std::size_t>(ranks), kNone), there_(static_cast<std::size_t>(ranks), kNone) {
    const std::vector<int> partners = partners_of(ranks, rank);
    for (std::uint32_t entry = 0; entry < partners.size(); ++entry) {
      const int peer = partners[entry];
      const std::vector<int> theirs = partners_of(ranks, peer);
      here_[static_cast<std::size_t>(peer)] = entry;
      there_[static_cast<std::size_t>(peer)] =
          static_cast<std::uint32_t>(std::ranges::find(theirs, rank) - theirs.begin());
    }
  }

  /// The entry of `peer` at this rank, and of this rank at `peer`; kNone where they are no partners.
  [[nodiscard]] std::uint32_t here(int peer) const { return here_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] std::uint32_t there(int peer) const { return there_[static_cast<std::size_t>(peer)]; }

 private:
  std::vector<std::uint32_t> here_, there_;
};

/// Entries by the peer's number, or, where a shape has lines for partners alone, by theirs.
class Entries {
 public:
  /// `partners` is null for lines between all ranks, and must outlive this.
  Entries(int rank, const Partners* partners, std::uint32_t step = 1)
      : own_(static_cast<std::uint32_t>(rank)), step_(step), partners_(partners) {}

  /// How far behind an array's first line that for `peer`'s messages is at this rank, and that for this rank's
  /// at `peer`.
  [[nodiscard]] std::uint32_t here(int peer) const {
    return step_ * (partners_ == nullptr ? static_cast<std::uint32_t>(peer) : partners_->here(peer));
  }
  [[nodiscard]] std::uint32_t there(int peer) const {
    return step_ * (partners_ == nullptr ? own_ : partners_->there(peer));
  }

 private:
  std::uint32_t own_, step_;
  const Partners* partners_;
};

}  // namespace corewise::coll
