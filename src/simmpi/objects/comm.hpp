// Comm: a communicator as one of its members sees it, and what all members share. Also groups, error handlers and
// infos: the small objects behind handles. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simmpi/messages/mailbox.hpp"
#include "simmpi/objects/attributes.hpp"

namespace corewise::simmpi {

class Levels;

/// What the members of a communicator have in common; lives as long as the run.
struct Shared {
  explicit Shared(std::vector<int> members)
      : world(std::move(members)), user(world.size()), internal(world.size()) {}

  int number = 0;          ///< counts communicators, for what people read
  std::vector<int> world;  ///< rank in the world of each member
  std::vector<Mailbox> user;
  std::vector<Mailbox> internal;   ///< of collectives
  std::shared_ptr<Levels> levels;  ///< once a collective has asked (collectives/levels.hpp)
};

struct Errhandler {
  MPI_Comm_errhandler_function* function = nullptr;
  int references = 1;
};

/// Neighbours of a rank; a Cartesian grid also has its shape.
struct Topology {
  int kind = MPI_UNDEFINED;
  std::vector<int> dims, periods, coords;  ///< of a grid
  std::vector<int> index, edges;           ///< of a graph, of all ranks
  std::vector<int> sources, destinations;  ///< of this rank, in the order of neighbourhood collectives
  std::vector<int> source_weights, destination_weights;
  bool weighted = false;
};

using Info = std::map<std::string, std::string>;

struct Comm {
  Shared* shared = nullptr;
  int rank = 0;
  int collectives = 0;  ///< called so far: the tag of the next one's messages
  int references = 1;
  MPI_Comm handle = MPI_COMM_NULL;
  Errhandler* handler = nullptr;  ///< null: MPI_ERRORS_ARE_FATAL
  std::string name;
  Info info;
  Attributes attributes;
  std::unique_ptr<Topology> topology;

  [[nodiscard]] int size() const { return static_cast<int>(shared->world.size()); }
};

struct Group {
  std::vector<int> world;  ///< rank in the world of each member
};

}  // namespace corewise::simmpi
