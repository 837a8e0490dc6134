// Neighbourhood collectives (MPI-3.1, section 7.6). SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "simmpi/api/plans.hpp"

namespace corewise::simmpi {
namespace {

/// Blocks with places as addresses: MPI_Neighbor_alltoallw.
struct Wide {
  const void* at;
  const int* counts;
  const MPI_Aint* byte_places;
  const MPI_Datatype* datatypes;
};

Blocks blocks_of(const Wide& wide, std::size_t number) {
  Blocks blocks{wide.at, {}, {}, {}};
  for (std::size_t i = 0; i < number; ++i) {
    blocks.counts.push_back(wide.counts[i]);
    blocks.byte_offsets.push_back(wide.byte_places[i]);
    blocks.types.push_back(type_of(wide.datatypes[i]));
  }
  return blocks;
}

Blocks blocks_of(Buffer buffer, std::size_t number) {
  return simmpi::blocks_of(buffer, number, false);
}

bool has_types(const Buffer& buffer) {
  return usable(type_of(buffer.datatype));
}

bool has_types(const Blocked& buffer) {
  return usable(type_of(buffer.datatype));
}

bool has_types(const Wide&) {
  return true;
}

/// Neighbours; empty where the communicator has no topology.
Topology neighbours(MPI_Comm comm, int& error) {
  const Comm* found = comm_of(comm);
  if (found == nullptr) error = MPI_ERR_COMM;
  if (found == nullptr || !found->topology) {
    if (error == MPI_SUCCESS) error = MPI_ERR_TOPOLOGY;
    return {};
  }
  return *found->topology;
}

/// One block to all neighbours.
template <class In>
Plan gathered(Buffer out, In in, MPI_Comm comm) {
  int error = has_types(out) && has_types(in) ? MPI_SUCCESS : MPI_ERR_TYPE;
  const Topology around = neighbours(comm, error);
  if (error != MPI_SUCCESS) return plan_neighbours(comm, error, {}, {});
  return plan_neighbours(comm, error, simmpi::blocks_of(out, around.destinations.size(), true),
                         blocks_of(in, around.sources.size()));
}

/// A block to each.
template <class Side>
Plan exchanged(Side out, Side in, MPI_Comm comm) {
  int error = has_types(out) && has_types(in) ? MPI_SUCCESS : MPI_ERR_TYPE;
  const Topology around = neighbours(comm, error);
  if (error != MPI_SUCCESS) return plan_neighbours(comm, error, {}, {});
  return plan_neighbours(comm, error, blocks_of(out, around.destinations.size()),
                         blocks_of(in, around.sources.size()));
}

}  // namespace
}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                            MPI_Datatype recvtype, MPI_Comm comm) {
  return Entry("MPI_Neighbor_allgather")
      .now(gathered({sendbuf, sendcount, sendtype}, Buffer{recvbuf, recvcount, recvtype}, comm));
}

int PMPI_Ineighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                             int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Ineighbor_allgather")
      .later(gathered({sendbuf, sendcount, sendtype}, Buffer{recvbuf, recvcount, recvtype}, comm), request);
}

int PMPI_Neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                             const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm) {
  return Entry("MPI_Neighbor_allgatherv")
      .now(gathered({sendbuf, sendcount, sendtype}, Blocked{recvbuf, recvcounts, displs, recvtype}, comm));
}

int PMPI_Ineighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                              const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                              MPI_Request* request) {
  return Entry("MPI_Ineighbor_allgatherv")
      .later(gathered({sendbuf, sendcount, sendtype}, Blocked{recvbuf, recvcounts, displs, recvtype}, comm),
             request);
}

int PMPI_Neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                           MPI_Datatype recvtype, MPI_Comm comm) {
  return Entry("MPI_Neighbor_alltoall")
      .now(exchanged(Buffer{sendbuf, sendcount, sendtype}, Buffer{recvbuf, recvcount, recvtype}, comm));
}

int PMPI_Ineighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                            MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Ineighbor_alltoall")
      .later(exchanged(Buffer{sendbuf, sendcount, sendtype}, Buffer{recvbuf, recvcount, recvtype}, comm), request);
}

int PMPI_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                            void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                            MPI_Comm comm) {
  return Entry("MPI_Neighbor_alltoallv")
      .now(exchanged(Blocked{sendbuf, sendcounts, sdispls, sendtype},
                     Blocked{recvbuf, recvcounts, rdispls, recvtype}, comm));
}

int PMPI_Ineighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                             MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                             MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Ineighbor_alltoallv")
      .later(exchanged(Blocked{sendbuf, sendcounts, sdispls, sendtype},
                       Blocked{recvbuf, recvcounts, rdispls, recvtype}, comm),
             request);
}

int PMPI_Neighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return Entry("MPI_Neighbor_alltoallw")
      .now(exchanged(Wide{sendbuf, sendcounts, sdispls, sendtypes}, Wide{recvbuf, recvcounts, rdispls, recvtypes},
                     comm));
}

int PMPI_Ineighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                             const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                             const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                             MPI_Request* request) {
  return Entry("MPI_Ineighbor_alltoallw")
      .later(exchanged(Wide{sendbuf, sendcounts, sdispls, sendtypes}, Wide{recvbuf, recvcounts, rdispls, recvtypes},
                       comm),
             request);
}

}  // extern "C"

COREWISE_ALIAS(Neighbor_allgather);
COREWISE_ALIAS(Ineighbor_allgather);
COREWISE_ALIAS(Neighbor_allgatherv);
COREWISE_ALIAS(Ineighbor_allgatherv);
COREWISE_ALIAS(Neighbor_alltoall);
COREWISE_ALIAS(Ineighbor_alltoall);
COREWISE_ALIAS(Neighbor_alltoallv);
COREWISE_ALIAS(Ineighbor_alltoallv);
COREWISE_ALIAS(Neighbor_alltoallw);
COREWISE_ALIAS(Ineighbor_alltoallw);
