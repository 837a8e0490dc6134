// Collectives as messages that have sizes and no content: what one rank does of a call, by an algorithm of the
// table.
//
// A rank knows what its own record says (docs/formats/trace.md, "What `bytes` means"). What it passes on for others
// has the size that it received; where it must send before it has heard anything (a root's blocks, blocks of a
// reduction) all ranks are taken to be like itself. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "simmpi/collectives/context.hpp"

namespace corewise::replay {

/// A receive takes whatever comes.
inline constexpr std::int64_t kAnySize = std::int64_t{1} << 60;

/// One peer's share of a collective with a size per peer.
struct Share {
  int peer;  ///< rank in the communicator
  std::int64_t bytes;
};

/// One rank's part of a call.
struct Job {
  std::int64_t bytes = 0;
  int root = 0;               ///< rank in the communicator
  std::vector<Share> shares;  ///< by peer; of those with a size per peer
};

using Expand = void (*)(simmpi::Context& call, const Job& job);

struct AlgorithmRow {
  std::string_view collective;  ///< as room profile's table calls it
  std::string_view name;        ///< the first of a collective is the one where none is chosen
  Expand expand;
  std::string_view meaning;
};

std::span<const AlgorithmRow> algorithm_rows();

/// Which algorithm each collective takes.
class Selection {
 public:
  Selection();
  /// Refuses a collective without a row and an algorithm that it does not have, naming those there are.
  Status choose(const std::string& collective, const std::string& algorithm);
  /// Null for a collective without a row.
  [[nodiscard]] Expand of(std::string_view collective) const;

 private:
  std::map<std::string, Expand, std::less<>> chosen_;
};

}  // namespace corewise::replay
