// Calls: MPI's arguments become coll::Call. The generated wrappers call the functions with a `pass`, which is the
// call of the MPI's own procedure. Counts are int or MPI_Count, displacements int or MPI_Aint.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/call.hpp"
#include "preload/accelerating/communicators.hpp"
#include "preload/accelerating/counts.hpp"
#include "preload/accelerating/spawning.hpp"

namespace corewise::preload::accelerating {

/// What a function made of a call: taken over, with MPI's error code; or why it is the MPI's.
struct Outcome {
  Fate fate = Fate::taken;
  int code = MPI_SUCCESS;
};

/// A rank's data: `count` items at `at`; the buffer may be MPI_IN_PLACE where MPI allows it.
struct Items {
  const void* at = nullptr;
  std::int64_t count = 0;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
};

/// A list of counts or of displacements, of 4 or of 8 bytes each.
class Numbers {
 public:
  template <class Number>
  explicit Numbers(const Number* at) : at_(at), wide_(sizeof(Number) == sizeof(std::int64_t)) {
    static_assert(sizeof(Number) == sizeof(std::int64_t) || sizeof(Number) == sizeof(std::int32_t));
  }
  [[nodiscard]] std::int64_t operator[](int index) const {
    return wide_ ? static_cast<const std::int64_t*>(at_)[index] : static_cast<const std::int32_t*>(at_)[index];
  }
  [[nodiscard]] bool given() const { return at_ != nullptr; }

 private:
  const void* at_;
  bool wide_;
};

/// A rank's blocks of different lengths: block i has counts[i] items from displacements[i] on, in items or in
/// bytes.
struct ItemLists {
  const void* at = nullptr;
  Numbers counts;
  Numbers displacements;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  const MPI_Datatype* datatypes = nullptr;  ///< one for each block; displacements are in bytes then
};

// Of a communicator whose ranks are on several nodes (levels.hpp).
Outcome spread_barrier(Communicator& on);
Outcome spread_broadcast(Communicator& on, Items data, int root);
Outcome spread_reduce(Communicator& on, const void* send, void* receive, Items operand, MPI_Op op, int root);
Outcome spread_allreduce(Communicator& on, const void* send, void* receive, Items operand, MPI_Op op);

Outcome do_barrier(Communicator& on);
Outcome do_broadcast(Communicator& on, Items data, int root);
Outcome do_reduce(Communicator& on, const void* send, void* receive, Items operand, MPI_Op op, int root);
Outcome do_allreduce(Communicator& on, const void* send, void* receive, Items operand, MPI_Op op);
Outcome do_scan(Communicator& on, const void* send, void* receive, Items operand, MPI_Op op, bool inclusive);
Outcome do_reduce_scatter_block(Communicator& on, const void* send, void* receive, Items block, MPI_Op op);
Outcome do_reduce_scatter(Communicator& on, const void* send, void* receive, Numbers counts, MPI_Datatype datatype,
                          MPI_Op op);
Outcome do_gather(Communicator& on, Items send, Items receive, int root);
Outcome do_gatherv(Communicator& on, Items send, const ItemLists& receive, int root);
Outcome do_scatter(Communicator& on, Items send, Items receive, int root);
Outcome do_scatterv(Communicator& on, const ItemLists& send, Items receive, int root);
Outcome do_allgather(Communicator& on, Items send, Items receive);
Outcome do_allgatherv(Communicator& on, Items send, const ItemLists& receive);
Outcome do_alltoall(Communicator& on, Items send, Items receive);
Outcome do_alltoallv(Communicator& on, const ItemLists& send, const ItemLists& receive);

/// An error of a call that was taken over goes to the communicator's handler, which may free it: the last thing in
/// a call.
[[gnu::cold]] int told(const Communicator& on, int code);

/// Of a collective that is the MPI's where ranks are on several nodes.
struct NotSpread {
  Outcome operator()(Communicator&) const { return {Fate::several_nodes}; }
};

/// Takes a call over, or passes it on, and counts it. `spread` does it for ranks on several nodes.
template <class Pass, class Take, class Spread = NotSpread>
inline int taken_or_passed(std::size_t procedure, MPI_Comm comm, Pass pass, Take take, Spread spread = {}) {
  Communicator* const on = communicator_of(comm);
  if (on == nullptr) return pass();
  if (on->fate != Fate::taken) [[unlikely]] {
    arrive(*on);
    if (on->fate != Fate::taken) {
      Outcome outcome = on->fate == Fate::several_nodes ? spread(*on) : Outcome{on->fate};
      // Groups inside one node: what they do not do, all ranks do together.
      if (outcome.fate != Fate::taken && on->fate == Fate::several_nodes && on->team != nullptr)
        outcome = take(*on);
      count(procedure, outcome.fate);
      if (outcome.fate == Fate::taken) return outcome.code == MPI_SUCCESS ? MPI_SUCCESS : told(*on, outcome.code);
      if (on->fate != Fate::early) return pass();
      const std::uint64_t freed = freed_here;
      const int code = pass();
      count_early(comm, on, freed, code);
      return code;
    }
  }
  const std::uint64_t before = on->team->done_in_mapped_memory();
  const Outcome outcome = take(*on);
  count(procedure, on->team->done_in_mapped_memory() == before ? outcome.fate : Fate::mapped);
  if (outcome.fate != Fate::taken) return pass();
  if (outcome.code != MPI_SUCCESS) [[unlikely]]
    return told(*on, outcome.code);
  return MPI_SUCCESS;
}
template <class Pass, class Take, class Spread = NotSpread>
inline int taken_or_passed(coll::Collective collective, MPI_Comm comm, Pass pass, Take take, Spread spread = {}) {
  return taken_or_passed(static_cast<std::size_t>(collective), comm, pass, take, spread);
}

// ---- one for each procedure, with its arguments in MPI's order ----

using coll::Collective;

template <class Pass>
int barrier(MPI_Comm comm, Pass pass) {
  return taken_or_passed(Collective::barrier, comm, pass, do_barrier, spread_barrier);
}
template <class Count, class Pass>
int broadcast(void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm comm, Pass pass) {
  const Items data{buffer, count, datatype};
  return taken_or_passed(
      Collective::broadcast, comm, pass, [&](Communicator& on) { return do_broadcast(on, data, root); },
      [&](Communicator& on) { return spread_broadcast(on, data, root); });
}
template <class Count, class Pass>
int reduce(const void* send, void* receive, Count count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
           Pass pass) {
  const Items operand{nullptr, count, datatype};
  return taken_or_passed(
      Collective::reduce, comm, pass,
      [&](Communicator& on) { return do_reduce(on, send, receive, operand, op, root); },
      [&](Communicator& on) { return spread_reduce(on, send, receive, operand, op, root); });
}
template <class Count, class Pass>
int allreduce(const void* send, void* receive, Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
              Pass pass) {
  const Items operand{nullptr, count, datatype};
  return taken_or_passed(
      Collective::allreduce, comm, pass,
      [&](Communicator& on) { return do_allreduce(on, send, receive, operand, op); },
      [&](Communicator& on) { return spread_allreduce(on, send, receive, operand, op); });
}
template <class Count, class Pass>
int scan(const void* send, void* receive, Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, Pass pass) {
  return taken_or_passed(Collective::scan, comm, pass, [&](Communicator& on) {
    return do_scan(on, send, receive, {nullptr, count, datatype}, op, true);
  });
}
template <class Count, class Pass>
int exscan(const void* send, void* receive, Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
           Pass pass) {
  return taken_or_passed(Collective::exscan, comm, pass, [&](Communicator& on) {
    return do_scan(on, send, receive, {nullptr, count, datatype}, op, false);
  });
}
template <class Count, class Pass>
int reduce_scatter_block(const void* send, void* receive, Count count, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, Pass pass) {
  return taken_or_passed(Collective::reduce_scatter_block, comm, pass, [&](Communicator& on) {
    return do_reduce_scatter_block(on, send, receive, {nullptr, count, datatype}, op);
  });
}
template <class Count, class Pass>
int reduce_scatter(const void* send, void* receive, const Count* counts, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm, Pass pass) {
  return taken_or_passed(Collective::reduce_scatter, comm, pass, [&](Communicator& on) {
    return do_reduce_scatter(on, send, receive, Numbers(counts), datatype, op);
  });
}
template <class Count, class Pass>
int gather(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
           MPI_Datatype receive_type, int root, MPI_Comm comm, Pass pass) {
  return taken_or_passed(Collective::gather, comm, pass, [&](Communicator& on) {
    return do_gather(on, {send, send_count, send_type}, {receive, receive_count, receive_type}, root);
  });
}
template <class Count, class Displacement, class Pass>
int gatherv(const void* send, Count send_count, MPI_Datatype send_type, void* receive, const Count* receive_counts,
            const Displacement* displacements, MPI_Datatype receive_type, int root, MPI_Comm comm, Pass pass) {
  return taken_or_passed(Collective::gatherv, comm, pass, [&](Communicator& on) {
    return do_gatherv(on, {send, send_count, send_type},
                      {receive, Numbers(receive_counts), Numbers(displacements), receive_type}, root);
  });
}
template <class Count, class Pass>
int scatter(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
            MPI_Datatype receive_type, int root, MPI_Comm comm, Pass pass) {
  return taken_or_passed(Collective::scatter, comm, pass, [&](Communicator& on) {
    return do_scatter(on, {send, send_count, send_type}, {receive, receive_count, receive_type}, root);
  });
}
template <class Count, class Displacement, class Pass>
int scatterv(const void* send, const Count* send_counts, const Displacement* displacements, MPI_Datatype send_type,
             void* receive, Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, Pass pass) {
  return taken_or_passed(Collective::scatterv, comm, pass, [&](Communicator& on) {
    return do_scatterv(on, {send, Numbers(send_counts), Numbers(displacements), send_type},
                       {receive, receive_count, receive_type}, root);
  });
}
template <class Count, class Pass>
int allgather(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
              MPI_Datatype receive_type, MPI_Comm comm, Pass pass) {
  return taken_or_passed(Collective::allgather, comm, pass, [&](Communicator& on) {
    return do_allgather(on, {send, send_count, send_type}, {receive, receive_count, receive_type});
  });
}
template <class Count, class Displacement, class Pass>
int allgatherv(const void* send, Count send_count, MPI_Datatype send_type, void* receive,
               const Count* receive_counts, const Displacement* displacements, MPI_Datatype receive_type,
               MPI_Comm comm, Pass pass) {
  return taken_or_passed(Collective::allgatherv, comm, pass, [&](Communicator& on) {
    return do_allgatherv(on, {send, send_count, send_type},
                         {receive, Numbers(receive_counts), Numbers(displacements), receive_type});
  });
}
template <class Count, class Pass>
int alltoall(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
             MPI_Datatype receive_type, MPI_Comm comm, Pass pass) {
  return taken_or_passed(Collective::alltoall, comm, pass, [&](Communicator& on) {
    return do_alltoall(on, {send, send_count, send_type}, {receive, receive_count, receive_type});
  });
}
template <class Count, class Displacement, class Pass>
int alltoallv(const void* send, const Count* send_counts, const Displacement* send_displacements,
              MPI_Datatype send_type, void* receive, const Count* receive_counts,
              const Displacement* receive_displacements, MPI_Datatype receive_type, MPI_Comm comm, Pass pass) {
  return taken_or_passed(Collective::alltoallv, comm, pass, [&](Communicator& on) {
    return do_alltoallv(on, {send, Numbers(send_counts), Numbers(send_displacements), send_type},
                        {receive, Numbers(receive_counts), Numbers(receive_displacements), receive_type});
  });
}
template <class Count, class Displacement, class Pass>
int alltoallw(const void* send, const Count* send_counts, const Displacement* send_displacements,
              const MPI_Datatype* send_types, void* receive, const Count* receive_counts,
              const Displacement* receive_displacements, const MPI_Datatype* receive_types, MPI_Comm comm,
              Pass pass) {
  return taken_or_passed(kAlltoallw, comm, pass, [&](Communicator& on) {
    return do_alltoallv(
        on, {send, Numbers(send_counts), Numbers(send_displacements), MPI_DATATYPE_NULL, send_types},
        {receive, Numbers(receive_counts), Numbers(receive_displacements), MPI_DATATYPE_NULL, receive_types});
  });
}

}  // namespace corewise::preload::accelerating
