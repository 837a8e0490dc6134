// Opening: the call that a thread has entered and not left yet, in the thread's block of the file.
//
// Owns ThreadHeader::open while one lives. What a blocking call is about (peer, size, communicator, requests) is
// stored before the call's first time stamp, and `enter` makes it valid; when the call and its records are done it
// is taken back. A rank that never comes back has then said where it is. Contract: MPI has not looked at the
// arguments yet, so nothing is asked of MPI that an invalid handle could fail: communicators and datatypes are
// looked up in our own tables only, and what is not found there stays unknown.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/recording/requests.hpp"
#include "preload/recording/types.hpp"

namespace corewise::preload {

class Opening {
 public:
  Opening(Thread& thread, std::uint64_t procedure, std::uint64_t site)
      : thread_(thread), open_(thread.recorder.header->open), procedure_(procedure), site_(site) {
    constexpr std::uint64_t kNone = 0;
    std::memcpy(&open_.requests, &kNone, sizeof kNone);
  }
  ~Opening() { trace::leave_call(thread_.recorder); }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  /// `start` is the call's time stamp.
  [[gnu::always_inline]] inline void enter(std::uint64_t start) {
    if (!told_) {
      const std::uint64_t head = trace::head_word(procedure_, trace::Role::plain, site_);
      std::memcpy(reinterpret_cast<std::byte*>(&open_) + 8, &head, sizeof head);
    }
    trace::enter_call(thread_.recorder, start);
  }

  // ---- what the call is about; each at most once ----

  /// A blocking send. Its record will be the same, where everything is known.
  template <class Count>
  [[gnu::always_inline]] inline void send(int dest, int tag, Count count, MPI_Datatype type, MPI_Comm comm) {
    described_ = message(open_.call, trace::Role::send, dest, tag, count, type, comm);
  }
  template <class Count>
  [[gnu::always_inline]] inline void receive(int source, int tag, Count count, MPI_Datatype type, MPI_Comm comm) {
    message(open_.call, trace::Role::receive, source, tag, count, type, comm);
  }
  /// MPI_Sendrecv.
  template <class Count>
  void exchange(int dest, int sendtag, Count sendcount, MPI_Datatype sendtype, int source, int recvtag,
                Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
    send(dest, sendtag, sendcount, sendtype, comm);
    message(open_.pending[0], trace::Role::post_receive, source, recvtag, recvcount, recvtype, comm);
    open_.pending[0].head.start = 0;
    open_.listed = 1;
  }
  void probe(int source, int tag, MPI_Comm comm) {
    message(open_.call, trace::Role::probe, source, tag, 0, MPI_DATATYPE_NULL, comm);
  }
  /// Any call that all ranks of `comm` make; `root` is a rank of it, or negative.
  void collective(MPI_Comm comm, int root) {
    const Communicator* on = known_communicator(thread_, comm);
    put(open_.call, {0, 0, 0, on == nullptr ? trace::kNoPeer : world_root(*on, root), 0, procedure_, site_,
                     on == nullptr ? trace::kUnknownComm : on->index, trace::Role::collective});
    told_ = true;
  }
  /// MPI_Wait and its kin: how many requests, and those of them that are under way.
  void wait(int requests) { open_.requests = requests > 0 ? static_cast<std::uint32_t>(requests) : 0; }
  void wait_for(const Operation& operation) {
    if (operation.kind == OperationKind::none || !operation.active || open_.listed == trace::kListedRequests)
      return;
    const trace::Role role = operation.kind == OperationKind::send      ? trace::Role::send
                             : operation.kind == OperationKind::receive ? trace::Role::post_receive
                                                                        : trace::Role::collective;
    trace::MessageRecord& place = open_.pending[open_.listed++];
    place.head.start = operation.start;
    put(place, {0, 0, operation.bytes, operation.peer, operation.tag, operation.procedure, operation.site,
                operation.comm->index, role, operation.type});
  }
  [[nodiscard]] bool listed_all() const { return open_.listed == trace::kListedRequests; }

  /// The record of the call is what stands here.
  [[nodiscard]] bool described() const { return described_; }

 private:
  static void put(trace::MessageRecord& place, const trace::MessageFields& fields) {
    trace::store_words(place, trace::words_of(fields));
  }

  /// Whether nothing stayed unknown.
  template <class Count>
  [[gnu::always_inline]] inline bool message(trace::MessageRecord& place, trace::Role role, int rank, int tag,
                                             Count count, MPI_Datatype type, MPI_Comm comm) {
    const Communicator* on = known_communicator(thread_, comm);
    KnownType element;
    const bool known = find_type(type, element) && on != nullptr;
    put(place, {0, 0, count > 0 ? static_cast<std::uint64_t>(count) * element.size : 0,
                on == nullptr ? trace::kNoPeer : world_peer(*on, rank), recorded_tag(tag), procedure_, site_,
                on == nullptr ? trace::kUnknownComm : on->index, role, element.index});
    told_ = true;
    return known;
  }

  Thread& thread_;
  trace::OpenCall& open_;
  std::uint64_t procedure_;
  std::uint64_t site_;
  bool told_ = false;       ///< the first words of `open_.call` stand
  bool described_ = false;  ///< all of them, as its record will have them
};

}  // namespace corewise::preload
