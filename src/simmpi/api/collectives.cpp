// The collectives under the names of the standard, at once and in the background (MPI-3.1, chapter 5): each hands
// its plan on. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/api/plans.hpp"

using namespace corewise::simmpi;

extern "C" {

int PMPI_Barrier(MPI_Comm comm) {
  return Entry("MPI_Barrier").now(plan_barrier(comm));
}

int PMPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Ibarrier").later(plan_barrier(comm), request);
}

int PMPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return Entry("MPI_Bcast").now(plan_broadcast({buffer, count, datatype}, root, comm));
}

int PMPI_Ibcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Ibcast").later(plan_broadcast({buffer, count, datatype}, root, comm), request);
}

int PMPI_Gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return Entry("MPI_Gather")
      .now(plan_gather(Buffer{sendbuf, sendcount, sendtype}, Buffer{recvbuf, recvcount, recvtype}, root, comm));
}

int PMPI_Igather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Igather")
      .later(plan_gather(Buffer{sendbuf, sendcount, sendtype}, Buffer{recvbuf, recvcount, recvtype}, root, comm),
             request);
}

int PMPI_Gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                 const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return Entry("MPI_Gatherv")
      .now(plan_gather(Buffer{sendbuf, sendcount, sendtype}, Blocked{recvbuf, recvcounts, displs, recvtype}, root,
                       comm));
}

int PMPI_Igatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                  const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Igatherv")
      .later(plan_gather(Buffer{sendbuf, sendcount, sendtype}, Blocked{recvbuf, recvcounts, displs, recvtype}, root,
                         comm),
             request);
}

int PMPI_Scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return Entry("MPI_Scatter")
      .now(plan_scatter(Buffer{sendbuf, sendcount, sendtype}, Buffer{recvbuf, recvcount, recvtype}, root, comm));
}

int PMPI_Iscatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                  MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Iscatter")
      .later(plan_scatter(Buffer{sendbuf, sendcount, sendtype}, Buffer{recvbuf, recvcount, recvtype}, root, comm),
             request);
}

int PMPI_Scatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                  void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return Entry("MPI_Scatterv")
      .now(plan_scatter(Blocked{sendbuf, sendcounts, displs, sendtype}, Buffer{recvbuf, recvcount, recvtype}, root,
                        comm));
}

int PMPI_Iscatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                   void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                   MPI_Request* request) {
  return Entry("MPI_Iscatterv")
      .later(plan_scatter(Blocked{sendbuf, sendcounts, displs, sendtype}, Buffer{recvbuf, recvcount, recvtype},
                          root, comm),
             request);
}

int PMPI_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm) {
  return Entry("MPI_Allgather")
      .now(plan_all_gather(Buffer{sendbuf, sendcount, sendtype}, Buffer{recvbuf, recvcount, recvtype}, comm));
}

int PMPI_Iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Iallgather")
      .later(plan_all_gather(Buffer{sendbuf, sendcount, sendtype}, Buffer{recvbuf, recvcount, recvtype}, comm),
             request);
}

int PMPI_Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm) {
  return Entry("MPI_Allgatherv")
      .now(plan_all_gather(Buffer{sendbuf, sendcount, sendtype}, Blocked{recvbuf, recvcounts, displs, recvtype},
                           comm));
}

int PMPI_Iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                     const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                     MPI_Request* request) {
  return Entry("MPI_Iallgatherv")
      .later(plan_all_gather(Buffer{sendbuf, sendcount, sendtype}, Blocked{recvbuf, recvcounts, displs, recvtype},
                             comm),
             request);
}

int PMPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm) {
  return Entry("MPI_Alltoall")
      .now(plan_all_to_all(Buffer{sendbuf, sendcount, sendtype}, Buffer{recvbuf, recvcount, recvtype}, comm));
}

int PMPI_Ialltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Ialltoall")
      .later(plan_all_to_all(Buffer{sendbuf, sendcount, sendtype}, Buffer{recvbuf, recvcount, recvtype}, comm),
             request);
}

int PMPI_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                   void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                   MPI_Comm comm) {
  return Entry("MPI_Alltoallv")
      .now(plan_all_to_all(Blocked{sendbuf, sendcounts, sdispls, sendtype},
                           Blocked{recvbuf, recvcounts, rdispls, recvtype}, comm));
}

int PMPI_Ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                    void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                    MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Ialltoallv")
      .later(plan_all_to_all(Blocked{sendbuf, sendcounts, sdispls, sendtype},
                             Blocked{recvbuf, recvcounts, rdispls, recvtype}, comm),
             request);
}

int PMPI_Alltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
                   void* recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                   MPI_Comm comm) {
  return Entry("MPI_Alltoallw")
      .now(plan_all_to_all(Typed{sendbuf, sendcounts, sdispls, sendtypes},
                           Typed{recvbuf, recvcounts, rdispls, recvtypes}, comm));
}

int PMPI_Ialltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                    const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[], const int rdispls[],
                    const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Ialltoallw")
      .later(plan_all_to_all(Typed{sendbuf, sendcounts, sdispls, sendtypes},
                             Typed{recvbuf, recvcounts, rdispls, recvtypes}, comm),
             request);
}

int PMPI_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                MPI_Comm comm) {
  return Entry("MPI_Reduce").now(plan_reduce({sendbuf, recvbuf, count, datatype, op}, root, comm));
}

int PMPI_Ireduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                 MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Ireduce").later(plan_reduce({sendbuf, recvbuf, count, datatype, op}, root, comm), request);
}

int PMPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return Entry("MPI_Allreduce").now(plan_all_reduce({sendbuf, recvbuf, count, datatype, op}, comm));
}

int PMPI_Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    MPI_Request* request) {
  return Entry("MPI_Iallreduce").later(plan_all_reduce({sendbuf, recvbuf, count, datatype, op}, comm), request);
}

int PMPI_Reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                        MPI_Op op, MPI_Comm comm) {
  return Entry("MPI_Reduce_scatter")
      .now(plan_reduce_scatter({sendbuf, recvbuf, 0, datatype, op}, recvcounts, comm));
}

int PMPI_Ireduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                         MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Ireduce_scatter")
      .later(plan_reduce_scatter({sendbuf, recvbuf, 0, datatype, op}, recvcounts, comm), request);
}

int PMPI_Reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                              MPI_Comm comm) {
  return Entry("MPI_Reduce_scatter_block")
      .now(plan_reduce_scatter({sendbuf, recvbuf, recvcount, datatype, op}, nullptr, comm));
}

int PMPI_Ireduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                               MPI_Comm comm, MPI_Request* request) {
  return Entry("MPI_Ireduce_scatter_block")
      .later(plan_reduce_scatter({sendbuf, recvbuf, recvcount, datatype, op}, nullptr, comm), request);
}

int PMPI_Scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return Entry("MPI_Scan").now(plan_scan({sendbuf, recvbuf, count, datatype, op}, false, comm));
}

int PMPI_Iscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
               MPI_Request* request) {
  return Entry("MPI_Iscan").later(plan_scan({sendbuf, recvbuf, count, datatype, op}, false, comm), request);
}

int PMPI_Exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return Entry("MPI_Exscan").now(plan_scan({sendbuf, recvbuf, count, datatype, op}, true, comm));
}

int PMPI_Iexscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                 MPI_Request* request) {
  return Entry("MPI_Iexscan").later(plan_scan({sendbuf, recvbuf, count, datatype, op}, true, comm), request);
}

}  // extern "C"

COREWISE_ALIAS(Barrier);
COREWISE_ALIAS(Ibarrier);
COREWISE_ALIAS(Bcast);
COREWISE_ALIAS(Ibcast);
COREWISE_ALIAS(Gather);
COREWISE_ALIAS(Igather);
COREWISE_ALIAS(Gatherv);
COREWISE_ALIAS(Igatherv);
COREWISE_ALIAS(Scatter);
COREWISE_ALIAS(Iscatter);
COREWISE_ALIAS(Scatterv);
COREWISE_ALIAS(Iscatterv);
COREWISE_ALIAS(Allgather);
COREWISE_ALIAS(Iallgather);
COREWISE_ALIAS(Allgatherv);
COREWISE_ALIAS(Iallgatherv);
COREWISE_ALIAS(Alltoall);
COREWISE_ALIAS(Ialltoall);
COREWISE_ALIAS(Alltoallv);
COREWISE_ALIAS(Ialltoallv);
COREWISE_ALIAS(Alltoallw);
COREWISE_ALIAS(Ialltoallw);
COREWISE_ALIAS(Reduce);
COREWISE_ALIAS(Ireduce);
COREWISE_ALIAS(Allreduce);
COREWISE_ALIAS(Iallreduce);
COREWISE_ALIAS(Reduce_scatter);
COREWISE_ALIAS(Ireduce_scatter);
COREWISE_ALIAS(Reduce_scatter_block);
COREWISE_ALIAS(Ireduce_scatter_block);
COREWISE_ALIAS(Scan);
COREWISE_ALIAS(Iscan);
COREWISE_ALIAS(Exscan);
COREWISE_ALIAS(Iexscan);
