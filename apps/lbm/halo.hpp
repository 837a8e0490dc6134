// The halo exchange: every population that leaves this rank's cells goes straight to the one of the 18 neighbours
// whose cell it enters, and nothing else is sent. A population of velocity (1,1,0) at the +x face goes through
// that face, unless it stands at the +y end too: then it crosses the edge and goes to the edge neighbour.
//
// Messages are told apart by the offset they travel along (the tag), since two ranks on a periodic axis are each
// other's neighbour on both sides. A neighbour that is this rank itself is served by copying, without MPI.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <vector>

#include "decomposition.hpp"
#include "populations.hpp"

class Traffic;  // of common/

namespace lbm {

class Halo {
 public:
  /// `layout` has the extent of all populations that will be exchanged. `traffic` must outlive the halo.
  Halo(const Decomposition& decomposition, const Populations& layout, Traffic& traffic);

  /// Sends what leaves `populations`; its ghosts are undefined until finish().
  void start(Populations& populations);
  /// Waits for all messages and fills the ghosts of the populations given to start().
  void finish(Populations& populations);

 private:
  struct Link {
    int send_rank = 0;
    int receive_rank = 0;  ///< the neighbour on the opposite side, whose message has the same offset
    int send_world_rank = 0;
    int tag = 0;
    std::vector<std::ptrdiff_t> send_from;   ///< own populations that cross
    std::vector<std::ptrdiff_t> receive_to;  ///< ghosts they have on the far side, in the same order
    std::vector<double> outgoing;
    std::vector<double> incoming;
  };

  void add_link(const Decomposition& decomposition, const Populations& layout, const Vector& offset);
  void translate_to_world();

  MPI_Comm communicator_;
  Traffic& traffic_;
  std::vector<Link> remote_;
  std::vector<Link> own_;  ///< links from this rank to itself
  std::vector<MPI_Request> requests_;
};

}  // namespace lbm
