// Probes, and receives of messages that a probe took out (MPI-3.1, section 3.8).
// SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/api/entry.hpp"

namespace corewise::simmpi {
namespace {

int problem_of(const Comm* comm, int source, int tag) {
  if (comm == nullptr) return MPI_ERR_COMM;
  const bool known = source == MPI_PROC_NULL || source == MPI_ANY_SOURCE || (source >= 0 && source < comm->size());
  return Demands().that(known, MPI_ERR_RANK).that(tag >= 0 || tag == MPI_ANY_TAG, MPI_ERR_TAG).code();
}

Outcome outcome_of(const Message& message) {
  return {message.source, message.tag, MPI_SUCCESS, message.bytes, false};
}

constexpr Outcome kNobody{MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0, false};

void take(Comm& comm, Message& message) {
  comm.shared->user[static_cast<std::size_t>(comm.rank)].remove(message);
}

MPI_Message handle_of(Message& message) {
  return reinterpret_cast<MPI_Message>(&message);
}

/// A receive for the message behind a handle; null fields where the handle names no message.
void prepare(Request& request, void* buf, int count, MPI_Datatype datatype) {
  request.kind = Request::Kind::receive;
  request.buffer = buf;
  request.count = count;
  request.type = type_of(datatype);
  request.comm = &World::actor().rank->world_comm;
}

int problem_of(const MPI_Message* message, int count, MPI_Datatype datatype) {
  return Demands()
      .that(message != nullptr && *message != MPI_MESSAGE_NULL, MPI_ERR_REQUEST)
      .that(count >= 0, MPI_ERR_COUNT)
      .that(usable(type_of(datatype)), MPI_ERR_TYPE)
      .code();
}

void receive(Entry& entry, Request& request, MPI_Message* message) {
  if (*message == MPI_MESSAGE_NO_PROC) {
    request.peer = MPI_PROC_NULL;
    entry.transport().receive(entry.actor(), request);
  } else {
    auto& found = *reinterpret_cast<Message*>(*message);
    request.peer = found.source;
    request.tag = found.tag;
    entry.transport().receive_matched(entry.actor(), request, found);
  }
  *message = MPI_MESSAGE_NULL;
}

}  // namespace
}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  Entry entry("MPI_Probe");
  Comm* found = comm_of(comm);
  if (const int code = problem_of(found, source, tag)) return entry.raise(found, code);
  if (source == MPI_PROC_NULL) {
    write_status(status, kNobody);
    return MPI_SUCCESS;
  }
  const Outcome there = outcome_of(entry.transport().wait_for_message(entry.actor(), *found, source, tag));
  entry.record().probed(*found, there);
  write_status(status, there);
  return MPI_SUCCESS;
}

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  Entry entry("MPI_Iprobe");
  Comm* found = comm_of(comm);
  if (const int code = problem_of(found, source, tag)) return entry.raise(found, code);
  if (flag == nullptr) return entry.raise(found, MPI_ERR_ARG);
  entry.look();
  *flag = 1;
  if (source == MPI_PROC_NULL) {
    write_status(status, kNobody);
    return MPI_SUCCESS;
  }
  const Message* message = entry.transport().probe(entry.actor(), *found, source, tag);
  *flag = message != nullptr ? 1 : 0;
  if (message == nullptr) {
    entry.missed();
    return MPI_SUCCESS;
  }
  entry.record().probed(*found, outcome_of(*message));
  write_status(status, outcome_of(*message));
  return MPI_SUCCESS;
}

int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  Entry entry("MPI_Mprobe");
  Comm* found = comm_of(comm);
  if (const int code = problem_of(found, source, tag)) return entry.raise(found, code);
  if (message == nullptr) return entry.raise(found, MPI_ERR_ARG);
  if (source == MPI_PROC_NULL) {
    *message = MPI_MESSAGE_NO_PROC;
    write_status(status, kNobody);
    return MPI_SUCCESS;
  }
  Message& taken = entry.transport().wait_for_message(entry.actor(), *found, source, tag);
  take(*found, taken);
  entry.record().probed(*found, outcome_of(taken));
  *message = handle_of(taken);
  write_status(status, outcome_of(taken));
  return MPI_SUCCESS;
}

int PMPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  Entry entry("MPI_Improbe");
  Comm* found = comm_of(comm);
  if (const int code = problem_of(found, source, tag)) return entry.raise(found, code);
  if (flag == nullptr || message == nullptr) return entry.raise(found, MPI_ERR_ARG);
  entry.look();
  *flag = 1;
  if (source == MPI_PROC_NULL) {
    *message = MPI_MESSAGE_NO_PROC;
    write_status(status, kNobody);
    return MPI_SUCCESS;
  }
  Message* taken = entry.transport().probe(entry.actor(), *found, source, tag);
  *flag = taken != nullptr ? 1 : 0;
  *message = MPI_MESSAGE_NULL;
  if (taken == nullptr) {
    entry.missed();
    return MPI_SUCCESS;
  }
  take(*found, *taken);
  entry.record().probed(*found, outcome_of(*taken));
  *message = handle_of(*taken);
  write_status(status, outcome_of(*taken));
  return MPI_SUCCESS;
}

int PMPI_Mrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status) {
  Entry entry("MPI_Mrecv");
  if (const int code = problem_of(message, count, datatype)) return entry.raise(nullptr, code);
  Request request;
  prepare(request, buf, count, datatype);
  receive(entry, request, message);
  Request* const waits[] = {&request};
  entry.transport().wait_all(entry.actor(), waits);
  entry.about(request.outcome.source, request.outcome.bytes);
  entry.record().received(request);
  write_status(status, request.outcome);
  return entry.result(nullptr, request.outcome.error);
}

int PMPI_Imrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message, MPI_Request* request) {
  Entry entry("MPI_Imrecv");
  if (const int code = problem_of(message, count, datatype)) return entry.raise(nullptr, code);
  if (request == nullptr) return entry.raise(nullptr, MPI_ERR_ARG);
  auto& made = *new Request;
  prepare(made, buf, count, datatype);
  made.owned = true;
  made.active = true;
  retain(*made.type);
  receive(entry, made, message);
  entry.record().posted(made);
  *request = reinterpret_cast<MPI_Request>(&made);
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Probe);
COREWISE_ALIAS(Iprobe);
COREWISE_ALIAS(Mprobe);
COREWISE_ALIAS(Improbe);
COREWISE_ALIAS(Mrecv);
COREWISE_ALIAS(Imrecv);
