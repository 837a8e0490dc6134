// The families' rows, one function per family, and the few pieces they share. Private to this room: users go
// through generate.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "pattern/generators/generate.hpp"
#include "pattern/grid.hpp"
#include "pattern/schedule.hpp"

namespace corewise::pattern::generators {

Family ring();
Family halo_1d();
Family halo_2d();
Family halo_3d();
Family wavefront();
Family binomial_tree();
Family k_ary_tree();
Family manager_worker();
Family recursive_doubling();
Family hypercube();
Family dissemination();
Family bruck();
Family pairwise_exchange();
Family ring_all_gather();
Family all_to_all();
Family transpose();
Family matrix_transpose();
Family random();
Family file();

/// Limits that keep a generated pattern within some millions of messages: of a family whose ranks have few peers,
/// of one in which every rank has all others, and of one whose parameters say how many peers a rank has.
inline constexpr std::int64_t most_sparse_ranks = 1 << 17;
inline constexpr std::int64_t most_dense_ranks = 1 << 11;
inline constexpr ParameterInfo ranks_parameter{"ranks", ParameterKind::integer, "8", "number of ranks", {},
                                               1,       most_sparse_ranks};
inline constexpr ParameterInfo dense_ranks_parameter{"ranks", ParameterKind::integer, "8", "number of ranks", {},
                                                     1,       most_dense_ranks};

inline constexpr std::int64_t most_messages = 1 << 23;

/// Refuses `ranks` of `peers` each where that is more than `most_messages`.
inline Status within_messages(std::string_view family, std::int64_t ranks, std::int64_t peers) {
  if (ranks * peers <= most_messages) return {};
  return bad_field("pattern " + std::string(family), "ranks",
                   std::to_string(ranks) + " of " + std::to_string(peers) + " peers",
                   "at most " + std::to_string(most_messages) + " messages");
}

/// The grid of a family: `dims` filled in for `ranks`, with exactly `axes` axes.
Result<Grid> grid_of(const Values& values, std::size_t axes, std::string_view family);

/// Appends a message unless it would be a self message or the peer is nobody.
inline void add(Phase& phase, int from, int to, std::uint64_t bytes, std::uint64_t count = 1) {
  if (from != to && to != schedule::nobody) phase.messages.push_back({from, to, bytes, count});
}

/// "NAME K", e.g. "step 3".
inline std::string numbered(std::string_view name, int number) {
  return std::string(name) + " " + std::to_string(number);
}

}  // namespace corewise::pattern::generators
