// From the tallies of single ranks to worlds: which files belong together, one list of procedures, call sites that
// are the same place in the same file, communicators that are the same on all their members, and one clock unit.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "profile/tally.hpp"

namespace corewise::profile {

/// Which launch a file belongs to: "world" or "spawn4711" by its name, and how large that world is.
struct Member {
  std::string world;
  RankTally tally;
};

/// Groups and sums. A rank that occurs twice in a group belongs to a second launch of the same kind, in order of
/// start. The largest world that was not spawned comes first.
std::vector<World> assemble(std::vector<Member> members);

}  // namespace corewise::profile
