// Sends and receives of all modes, at once, started, and persistent (MPI-3.1, sections 3.2 to 3.9).
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include "simmpi/api/entry.hpp"

namespace corewise::simmpi {
namespace {

/// What a call says of a message.
struct Envelope {
  const void* buffer;
  int count;
  MPI_Datatype datatype;
  int peer;
  int tag;
  MPI_Comm comm;
};

constexpr int kMostTag = 0x7fffffff;

int problem_of(const Envelope& message, const Comm* comm, bool receive) {
  if (comm == nullptr) return MPI_ERR_COMM;
  const bool nobody = message.peer == MPI_PROC_NULL || (receive && message.peer == MPI_ANY_SOURCE);
  const bool any_tag = receive && message.tag == MPI_ANY_TAG;
  return Demands()
      .that(message.count >= 0, MPI_ERR_COUNT)
      .that(usable(type_of(message.datatype)), MPI_ERR_TYPE)
      .that(nobody || (message.peer >= 0 && message.peer < comm->size()), MPI_ERR_RANK)
      .that(any_tag || (message.tag >= 0 && message.tag <= kMostTag), MPI_ERR_TAG)
      .code();
}

void fill(Request& request, const Envelope& message, Request::Kind kind, Mode mode) {
  request.kind = kind;
  request.mode = mode;
  request.buffer = const_cast<void*>(message.buffer);
  request.count = message.count;
  request.type = type_of(message.datatype);
  request.peer = message.peer;
  request.tag = message.tag;
  request.comm = comm_of(message.comm);
}

/// A send or a receive is under way from here on.
void record_start(Entry& entry, Request& request) {
  if (request.kind == Request::Kind::send) {
    entry.record().sent(request);
  } else {
    entry.record().posted(request);
  }
}

/// Takes room in the attached buffer; false where there is none.
bool reserve(Rank& rank, const Request& request) {
  if (request.peer == MPI_PROC_NULL) return true;
  const std::int64_t wanted = request.type->bytes(request.count) + MPI_BSEND_OVERHEAD;
  if (rank.attached.used + wanted > rank.attached.bytes) return false;
  rank.attached.used += wanted;
  return true;
}

int send_now(const char* name, const Envelope& message, Mode mode) {
  Entry entry(name);
  Comm* comm = comm_of(message.comm);
  if (const int code = problem_of(message, comm, false)) return entry.raise(comm, code);
  Request request;
  fill(request, message, Request::Kind::send, mode);
  if (mode == Mode::buffered && !reserve(entry.rank(), request)) return entry.raise(comm, MPI_ERR_BUFFER);
  entry.about(message.peer, request.type->bytes(request.count));
  entry.transport().send(entry.actor(), request);
  Request* const waits[] = {&request};
  entry.transport().wait_all(entry.actor(), waits);
  entry.record().sent(request);
  return MPI_SUCCESS;
}

Request& new_request(const Envelope& message, Request::Kind kind, Mode mode) {
  auto& request = *new Request;
  fill(request, message, kind, mode);
  request.owned = true;
  retain(*request.type);
  return request;
}

int start(const char* name, const Envelope& message, Request::Kind kind, Mode mode, MPI_Request* handle) {
  Entry entry(name);
  Comm* comm = comm_of(message.comm);
  if (const int code = problem_of(message, comm, kind == Request::Kind::receive)) return entry.raise(comm, code);
  if (handle == nullptr) return entry.raise(comm, MPI_ERR_ARG);
  Request& request = new_request(message, kind, mode);
  if (mode == Mode::buffered && !reserve(entry.rank(), request)) {
    release(*request.type);
    World::dispose(request);
    return entry.raise(comm, MPI_ERR_BUFFER);
  }
  entry.about(message.peer, request.type->bytes(request.count));
  *handle = reinterpret_cast<MPI_Request>(&request);
  record_start(entry, request);
  entry.transport().start(entry.actor(), request);
  return MPI_SUCCESS;
}

int prepare(const char* name, const Envelope& message, Request::Kind kind, Mode mode, MPI_Request* handle) {
  Entry entry(name);
  Comm* comm = comm_of(message.comm);
  if (const int code = problem_of(message, comm, kind == Request::Kind::receive)) return entry.raise(comm, code);
  if (handle == nullptr) return entry.raise(comm, MPI_ERR_ARG);
  Request& request = new_request(message, kind, mode);
  request.persistent = true;
  request.done = true;
  *handle = reinterpret_cast<MPI_Request>(&request);
  return MPI_SUCCESS;
}

int restart(Entry& entry, MPI_Request handle) {
  auto* request = reinterpret_cast<Request*>(handle);
  if (request == nullptr || !request->persistent || request->active) return entry.raise(nullptr, MPI_ERR_REQUEST);
  if (request->kind == Request::Kind::send && request->mode == Mode::buffered && !reserve(entry.rank(), *request)) {
    return entry.raise(request->comm, MPI_ERR_BUFFER);
  }
  record_start(entry, *request);
  entry.transport().start(entry.actor(), *request);
  return MPI_SUCCESS;
}

constexpr auto kSend = Request::Kind::send;
constexpr auto kReceive = Request::Kind::receive;

int receive_into(Entry& entry, const Envelope& message, Comm* comm, MPI_Status* status) {
  Request request;
  fill(request, message, kReceive, Mode::standard);
  entry.transport().receive(entry.actor(), request);
  Request* const waits[] = {&request};
  entry.transport().wait_all(entry.actor(), waits);
  entry.about(request.outcome.source, request.outcome.bytes);
  entry.record().received(request);
  write_status(status, request.outcome);
  return entry.result(comm, request.outcome.error);
}

int exchange(Entry& entry, const Envelope& out, const Envelope& in, MPI_Status* status) {
  Comm* comm = comm_of(out.comm);
  if (const int code = problem_of(out, comm, false)) return entry.raise(comm, code);
  if (const int code = problem_of(in, comm, true)) return entry.raise(comm, code);
  Request receiving;
  Request sending;
  fill(receiving, in, kReceive, Mode::standard);
  fill(sending, out, kSend, Mode::standard);
  entry.transport().receive(entry.actor(), receiving);
  entry.transport().send(entry.actor(), sending);
  Request* const waits[] = {&receiving, &sending};
  entry.transport().wait_all(entry.actor(), waits);
  entry.about(out.peer, sending.type->bytes(sending.count));
  entry.record().sent(sending);
  entry.record().arrived(receiving);
  write_status(status, receiving.outcome);
  return entry.result(comm, receiving.outcome.error);
}

}  // namespace
}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_now("MPI_Send", {buf, count, datatype, dest, tag, comm}, Mode::standard);
}

int PMPI_Bsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_now("MPI_Bsend", {buf, count, datatype, dest, tag, comm}, Mode::buffered);
}

int PMPI_Ssend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_now("MPI_Ssend", {buf, count, datatype, dest, tag, comm}, Mode::synchronous);
}

int PMPI_Rsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_now("MPI_Rsend", {buf, count, datatype, dest, tag, comm}, Mode::ready);
}

int PMPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  Entry entry("MPI_Recv");
  Comm* found = comm_of(comm);
  const Envelope message{buf, count, datatype, source, tag, comm};
  if (const int code = problem_of(message, found, true)) return entry.raise(found, code);
  return receive_into(entry, message, found, status);
}

int PMPI_Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return start("MPI_Isend", {buf, count, datatype, dest, tag, comm}, kSend, Mode::standard, request);
}

int PMPI_Ibsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request* request) {
  return start("MPI_Ibsend", {buf, count, datatype, dest, tag, comm}, kSend, Mode::buffered, request);
}

int PMPI_Issend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request* request) {
  return start("MPI_Issend", {buf, count, datatype, dest, tag, comm}, kSend, Mode::synchronous, request);
}

int PMPI_Irsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request* request) {
  return start("MPI_Irsend", {buf, count, datatype, dest, tag, comm}, kSend, Mode::ready, request);
}

int PMPI_Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return start("MPI_Irecv", {buf, count, datatype, source, tag, comm}, kReceive, Mode::standard, request);
}

int PMPI_Send_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return prepare("MPI_Send_init", {buf, count, datatype, dest, tag, comm}, kSend, Mode::standard, request);
}

int PMPI_Bsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request* request) {
  return prepare("MPI_Bsend_init", {buf, count, datatype, dest, tag, comm}, kSend, Mode::buffered, request);
}

int PMPI_Ssend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request* request) {
  return prepare("MPI_Ssend_init", {buf, count, datatype, dest, tag, comm}, kSend, Mode::synchronous, request);
}

int PMPI_Rsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request* request) {
  return prepare("MPI_Rsend_init", {buf, count, datatype, dest, tag, comm}, kSend, Mode::ready, request);
}

int PMPI_Recv_init(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return prepare("MPI_Recv_init", {buf, count, datatype, source, tag, comm}, kReceive, Mode::standard, request);
}

int PMPI_Start(MPI_Request* request) {
  Entry entry("MPI_Start");
  if (request == nullptr) return entry.raise(nullptr, MPI_ERR_REQUEST);
  return restart(entry, *request);
}

int PMPI_Startall(int count, MPI_Request array_of_requests[]) {
  Entry entry("MPI_Startall");
  if (count < 0) return entry.raise(nullptr, MPI_ERR_COUNT);
  if (count > 0 && array_of_requests == nullptr) return entry.raise(nullptr, MPI_ERR_REQUEST);
  for (int i = 0; i < count; ++i) {
    if (const int code = restart(entry, array_of_requests[i])) return code;
  }
  return MPI_SUCCESS;
}

int PMPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                  MPI_Status* status) {
  Entry entry("MPI_Sendrecv");
  return exchange(entry, {sendbuf, sendcount, sendtype, dest, sendtag, comm},
                  {recvbuf, recvcount, recvtype, source, recvtag, comm}, status);
}

int PMPI_Sendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                          int recvtag, MPI_Comm comm, MPI_Status* status) {
  Entry entry("MPI_Sendrecv_replace");
  const Envelope in{buf, count, datatype, source, recvtag, comm};
  if (const int code = problem_of(in, comm_of(comm), true)) return entry.raise(comm_of(comm), code);
  Type& type = *type_of(datatype);
  const std::int64_t bytes = type.bytes(count);
  std::vector<std::byte> copy(static_cast<std::size_t>(bytes));
  pack(buf, count, type, copy.data(), bytes);
  return exchange(entry, {copy.data(), static_cast<int>(bytes), MPI_PACKED, dest, sendtag, comm}, in, status);
}

int PMPI_Buffer_attach(void* buffer, int size) {
  Entry entry("MPI_Buffer_attach");
  AttachedBuffer& attached = entry.rank().attached;
  if (attached.start != nullptr || size < 0) return entry.raise(nullptr, MPI_ERR_BUFFER);
  attached.start = buffer;
  attached.bytes = size;
  return MPI_SUCCESS;
}

int PMPI_Buffer_detach(void* buffer_addr, int* size) {
  Entry entry("MPI_Buffer_detach");
  AttachedBuffer& attached = entry.rank().attached;
  attached.detaching = &entry.actor();
  const auto empty = [&] { return attached.used <= 0; };
  if (!empty()) entry.world().block(entry.actor(), empty);
  *static_cast<void**>(buffer_addr) = attached.start;
  *size = static_cast<int>(attached.bytes);
  attached = {};
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Send);
COREWISE_ALIAS(Bsend);
COREWISE_ALIAS(Ssend);
COREWISE_ALIAS(Rsend);
COREWISE_ALIAS(Recv);
COREWISE_ALIAS(Isend);
COREWISE_ALIAS(Ibsend);
COREWISE_ALIAS(Issend);
COREWISE_ALIAS(Irsend);
COREWISE_ALIAS(Irecv);
COREWISE_ALIAS(Send_init);
COREWISE_ALIAS(Bsend_init);
COREWISE_ALIAS(Ssend_init);
COREWISE_ALIAS(Rsend_init);
COREWISE_ALIAS(Recv_init);
COREWISE_ALIAS(Start);
COREWISE_ALIAS(Startall);
COREWISE_ALIAS(Sendrecv);
COREWISE_ALIAS(Sendrecv_replace);
COREWISE_ALIAS(Buffer_attach);
COREWISE_ALIAS(Buffer_detach);
