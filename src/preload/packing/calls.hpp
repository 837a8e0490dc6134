// The calls that pack: what the generated wrappers are made of. Each is handed the procedure that stands behind it
// and the program's arguments, in both forms, with counts of int and of MPI_Count. A contiguous type costs one look
// at a small table; anything that is not taken over is handed on as it came.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>
#include <memory>
#include <new>

#include "preload/packing/requests.hpp"

namespace corewise::preload::packing {

using kernels::PackingUse;

/// Whether a message is ours: not empty, not too large, its memory the CPU's, and worth it.
bool taken(Type& type, const void* items, std::int64_t count, PackingUse use, int peer);

inline std::size_t bytes_of(const Type& type, std::int64_t count) {
  return static_cast<std::size_t>(type.size * count);
}

/// The address of a message that is handed on as bytes where it lies, and how many; null where it is not: its type
/// is another, or MPI has something to say about it.
char* plain_bytes(const Type& type, const void* items, std::int64_t count, std::int64_t most, std::int64_t& bytes);

/// Makes the arguments of a message those of its bytes, where they lie in one run.
template <class Pointer, class Count>
bool made_plain(const Type& type, Pointer*& buf, Count& count, MPI_Datatype& datatype) {
  std::int64_t bytes = 0;
  if (!type.plain) [[likely]]
    return false;
  char* at = plain_bytes(type, buf, count, std::numeric_limits<Count>::max(), bytes);
  if (at == nullptr) return false;
  buf = at;
  count = static_cast<Count>(bytes);
  datatype = MPI_PACKED;
  return true;
}

/// What a request keeps of a message; null where there is no memory.
inline std::unique_ptr<Pending> kept_of(Pending::Kind kind, Type& type, Buffer& buffer, void* items,
                                        std::int64_t count) {
  return std::unique_ptr<Pending>(new (std::nothrow) Pending(kind, type, std::move(buffer), items, count));
}

/// A message on its way out: packed, where it is ours.
class Outgoing {
 public:
  Outgoing(Type& type, const void* items, std::int64_t count, int peer, bool packed_now = true) : type_(type) {
    hold(type);
    if (!taken(type, items, count, PackingUse::message, peer)) return;
    const std::size_t bytes = bytes_of(type, count);
    buffer_ = Buffer(bytes);
    if (buffer_.get() != nullptr && packed_now)
      type.plan().pack(items, count, 0, buffer_.get(), bytes, kernels::PackedBuffer::shared);
  }
  ~Outgoing() { release(&type_); }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;
  bool ours() const { return buffer_.get() != nullptr; }
  Buffer& buffer() { return buffer_; }
  /// For a request; null where there is no memory.
  std::unique_ptr<Pending> kept(void* items, std::int64_t count) {
    return kept_of(Pending::Kind::send, type_, buffer_, items, count);
  }

 private:
  Type& type_;
  Buffer buffer_;
};

/// Room for a message that comes in.
class Incoming {
 public:
  Incoming(Type& type, void* items, std::int64_t count, int peer) : type_(type), items_(items), count_(count) {
    hold(type);
    if (taken(type, items, count, PackingUse::message, peer)) buffer_ = Buffer(bytes_of(type, count));
  }
  ~Incoming() { release(&type_); }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  bool ours() const { return buffer_.get() != nullptr; }
  Buffer& buffer() { return buffer_; }
  /// For a request; null where there is no memory.
  std::unique_ptr<Pending> kept() { return kept_of(Pending::Kind::receive, type_, buffer_, items_, count_); }
  void unpack(const MPI_Status& status) {
    const std::size_t bytes = std::min(received_bytes(status), buffer_.bytes());
    type_.plan().unpack(items_, count_, 0, buffer_.get(), bytes, kernels::PackedBuffer::shared);
  }

 private:
  Type& type_;
  void* items_;
  std::int64_t count_;
  Buffer buffer_;
};

/// A status to look at, whether or not the program wants one.
class SeenStatus {
 public:
  explicit SeenStatus(MPI_Status* given) : given_(given == MPI_STATUS_IGNORE ? &own_ : given) {
    // MPICH 5 says success, too, where an error handler of the program has returned: then nothing has come.
    if (given_ == &own_) return;
    CW_NEXT(MPI_Status_set_elements)(given_, MPI_BYTE, 0);
    CW_NEXT(MPI_Status_set_cancelled)(given_, 0);
  }
  MPI_Status* get() const { return given_; }

 private:
  MPI_Status own_{};
  MPI_Status* given_;
};

/// A call of another kind, in which MPI may make progress.
template <class Next, class... Arguments>
int progress(Next next, Arguments... arguments) {
  const int code = next(arguments...);
  if (freed_requests.load(std::memory_order_relaxed) != 0) [[unlikely]]
    test_all_freed();
  return code;
}

// ---- sends ----

template <class Next, class Count>
int send(Next next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  Type* type = packed_type(datatype);
  if (type == nullptr || made_plain(*type, buf, count, datatype)) [[likely]]
    return next(buf, count, datatype, dest, tag, comm);
  Outgoing message(*type, buf, count, dest);
  if (!message.ours()) return next(buf, count, datatype, dest, tag, comm);
  const Buffer& packed = message.buffer();
  return next(packed.get(), static_cast<Count>(packed.bytes()), MPI_PACKED, dest, tag, comm);
}

/// A send has been posted: what its completion means is kept, unless it is complete.
int posted_send(int code, std::unique_ptr<Pending> pending, MPI_Request request);

template <class Next, class Count>
int post_send(Next next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Type* type = packed_type(datatype);
  if (type == nullptr || request == nullptr || made_plain(*type, buf, count, datatype)) [[likely]]
    return next(buf, count, datatype, dest, tag, comm, request);
  Outgoing message(*type, buf, count, dest);
  if (!message.ours()) return next(buf, count, datatype, dest, tag, comm, request);
  auto pending = message.kept(const_cast<void*>(buf), count);
  if (pending == nullptr) return next(buf, count, datatype, dest, tag, comm, request);
  const Buffer& packed = pending->packed;
  *request = MPI_REQUEST_NULL;  // where it fails: see posted
  const int code = next(packed.get(), static_cast<Count>(packed.bytes()), MPI_PACKED, dest, tag, comm, request);
  return posted_send(code, std::move(pending), *request);
}

/// A request has been made, unless it is still null (MPICH 5 says success, too, where an error handler of the
/// program has returned), that lives until it is completed or, if persistent, freed.
int posted(int code, std::unique_ptr<Pending> pending, bool persistent, MPI_Request request);

template <class Next, class Count>
int init_send(Next next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Type* type = packed_type(datatype);
  if (type == nullptr || request == nullptr || made_plain(*type, buf, count, datatype)) [[likely]]
    return next(buf, count, datatype, dest, tag, comm, request);
  Outgoing message(*type, buf, count, dest, false);
  if (!message.ours()) return next(buf, count, datatype, dest, tag, comm, request);
  auto pending = message.kept(const_cast<void*>(buf), count);
  if (pending == nullptr) return next(buf, count, datatype, dest, tag, comm, request);
  const Buffer& packed = pending->packed;
  *request = MPI_REQUEST_NULL;  // where it fails: see posted
  const int code = next(packed.get(), static_cast<Count>(packed.bytes()), MPI_PACKED, dest, tag, comm, request);
  return posted(code, std::move(pending), true, *request);
}

// ---- receives ----

template <class Next, class Count>
int receive(Next next, void* buf, Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
            MPI_Status* status) {
  Type* type = packed_type(datatype);
  if (type == nullptr || made_plain(*type, buf, count, datatype)) [[likely]]
    return next(buf, count, datatype, source, tag, comm, status);
  Incoming message(*type, buf, count, source);
  if (!message.ours()) return next(buf, count, datatype, source, tag, comm, status);
  const SeenStatus seen(status);
  const Buffer& packed = message.buffer();
  const int code =
      next(packed.get(), static_cast<Count>(packed.bytes()), MPI_PACKED, source, tag, comm, seen.get());
  if (code == MPI_SUCCESS) message.unpack(*seen.get());
  return code;
}

template <class Next, class Count>
int post_receive(Next next, bool persistent, void* buf, Count count, MPI_Datatype datatype, int source, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  Type* type = packed_type(datatype);
  if (type == nullptr || request == nullptr || made_plain(*type, buf, count, datatype)) [[likely]]
    return next(buf, count, datatype, source, tag, comm, request);
  Incoming message(*type, buf, count, source);
  if (!message.ours()) return next(buf, count, datatype, source, tag, comm, request);
  auto pending = message.kept();
  if (pending == nullptr) return next(buf, count, datatype, source, tag, comm, request);
  const Buffer& packed = pending->packed;
  *request = MPI_REQUEST_NULL;  // where it fails: see posted
  const int code = next(packed.get(), static_cast<Count>(packed.bytes()), MPI_PACKED, source, tag, comm, request);
  return posted(code, std::move(pending), persistent, *request);
}

/// The message of MPI_Mprobe. One from MPI_PROC_NULL has no data and leaves the buffer alone.
template <class Next, class Count>
int receive_message(Next next, void* buf, Count count, MPI_Datatype datatype, MPI_Message* message,
                    MPI_Status* status) {
  Type* type = packed_type(datatype);
  if (type == nullptr || message == nullptr || made_plain(*type, buf, count, datatype)) [[likely]]
    return next(buf, count, datatype, message, status);
  Incoming incoming(*type, buf, count, *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : 0);
  if (!incoming.ours()) return next(buf, count, datatype, message, status);
  const SeenStatus seen(status);
  const Buffer& packed = incoming.buffer();
  const int code = next(packed.get(), static_cast<Count>(packed.bytes()), MPI_PACKED, message, seen.get());
  if (code == MPI_SUCCESS) incoming.unpack(*seen.get());
  return code;
}

template <class Next, class Count>
int post_receive_message(Next next, void* buf, Count count, MPI_Datatype datatype, MPI_Message* message,
                         MPI_Request* request) {
  Type* type = packed_type(datatype);
  if (type == nullptr || request == nullptr || message == nullptr || made_plain(*type, buf, count, datatype))
      [[likely]]
    return next(buf, count, datatype, message, request);
  Incoming incoming(*type, buf, count, *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : 0);
  if (!incoming.ours()) return next(buf, count, datatype, message, request);
  auto pending = incoming.kept();
  if (pending == nullptr) return next(buf, count, datatype, message, request);
  const Buffer& packed = pending->packed;
  *request = MPI_REQUEST_NULL;  // where it fails: see posted
  const int code = next(packed.get(), static_cast<Count>(packed.bytes()), MPI_PACKED, message, request);
  return posted(code, std::move(pending), false, *request);
}

// ---- both ----

template <class Next, class Count>
int send_receive(Next next, const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void* recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                 MPI_Status* status) {
  Type* out = packed_type(sendtype);
  Type* in = packed_type(recvtype);
  if (out == nullptr && in == nullptr) [[likely]]
    return next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                status);
  if (out != nullptr && made_plain(*out, sendbuf, sendcount, sendtype)) out = nullptr;
  if (in != nullptr && made_plain(*in, recvbuf, recvcount, recvtype)) in = nullptr;
  std::optional<Outgoing> outgoing;
  std::optional<Incoming> incoming;
  if (out != nullptr) outgoing.emplace(*out, sendbuf, sendcount, dest);
  if (in != nullptr) incoming.emplace(*in, recvbuf, recvcount, source);
  if (outgoing && outgoing->ours()) {
    sendbuf = outgoing->buffer().get();
    sendcount = static_cast<Count>(outgoing->buffer().bytes());
    sendtype = MPI_PACKED;
  }
  if (!incoming || !incoming->ours())
    return next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                status);
  const SeenStatus seen(status);
  const Buffer& packed = incoming->buffer();
  const int code = next(sendbuf, sendcount, sendtype, dest, sendtag, packed.get(),
                        static_cast<Count>(packed.bytes()), MPI_PACKED, source, recvtag, comm, seen.get());
  if (code == MPI_SUCCESS) incoming->unpack(*seen.get());
  return code;
}

template <class Next, class Count>
int send_receive_replace(Next next, void* buf, Count count, MPI_Datatype datatype, int dest, int sendtag,
                         int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  Type* type = packed_type(datatype);
  if (type == nullptr || made_plain(*type, buf, count, datatype)) [[likely]]
    return next(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
  Incoming message(*type, buf, count, source);
  if (!message.ours() || !taken(*type, buf, count, PackingUse::message, dest))
    return next(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
  const Buffer& packed = message.buffer();
  type->plan().pack(buf, count, 0, packed.get(), packed.bytes(), kernels::PackedBuffer::shared);
  const SeenStatus seen(status);
  const int code = next(packed.get(), static_cast<Count>(packed.bytes()), MPI_PACKED, dest, sendtag, source,
                        recvtag, comm, seen.get());
  if (code == MPI_SUCCESS) message.unpack(*seen.get());
  return code;
}

// ---- MPI_Pack and MPI_Unpack ----

/// Whether `bytes` more fit behind `position` in a packed buffer; where not, MPI says so.
inline bool fits(std::int64_t position, std::int64_t size, std::size_t bytes) {
  return position >= 0 && position <= size && static_cast<std::int64_t>(bytes) <= size - position;
}

template <class Next, class Count>
int pack(Next next, const void* inbuf, Count incount, MPI_Datatype datatype, void* outbuf, Count outsize,
         Count* position, MPI_Comm comm) {
  Type* type = packed_type(datatype);
  if (type == nullptr || position == nullptr) [[likely]]
    return next(inbuf, incount, datatype, outbuf, outsize, position, comm);
  if (comm == MPI_COMM_NULL || outbuf == nullptr || !taken(*type, inbuf, incount, PackingUse::pack, 0) ||
      !fits(*position, outsize, bytes_of(*type, incount)))
    return next(inbuf, incount, datatype, outbuf, outsize, position, comm);
  const std::size_t bytes = bytes_of(*type, incount);
  type->plan().pack(inbuf, incount, 0, static_cast<char*>(outbuf) + *position, bytes);
  *position += static_cast<Count>(bytes);
  return MPI_SUCCESS;
}

template <class Next, class Count>
int unpack(Next next, const void* inbuf, Count insize, Count* position, void* outbuf, Count outcount,
           MPI_Datatype datatype, MPI_Comm comm) {
  Type* type = packed_type(datatype);
  if (type == nullptr || position == nullptr) [[likely]]
    return next(inbuf, insize, position, outbuf, outcount, datatype, comm);
  if (comm == MPI_COMM_NULL || inbuf == nullptr || !taken(*type, outbuf, outcount, PackingUse::unpack, 0) ||
      !fits(*position, insize, bytes_of(*type, outcount)))
    return next(inbuf, insize, position, outbuf, outcount, datatype, comm);
  const std::size_t bytes = bytes_of(*type, outcount);
  type->plan().unpack(outbuf, outcount, 0, static_cast<const char*>(inbuf) + *position, bytes);
  *position += static_cast<Count>(bytes);
  return MPI_SUCCESS;
}

template <class Next>
int commit_type(Next next, MPI_Datatype* datatype) {
  const int code = next(datatype);
  if (code == MPI_SUCCESS) committed(*datatype);
  return code;
}

template <class Next>
int dup_type(Next next, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  const int code = next(oldtype, newtype);
  if (code == MPI_SUCCESS) duplicated(*newtype);
  return code;
}

/// MPI_Session_init, whose info may ask for any level of threads, whatever the world's is.
template <class Next, class... Arguments>
int init_session(Next next, Arguments... arguments) {
  many_threads.store(true, std::memory_order_relaxed);
  return next(arguments...);
}

/// MPI_Type_free: what was decided about the handle ends with it.
template <class Next>
int free_type(Next next, MPI_Datatype* datatype) {
  if (datatype != nullptr) forget(handle_key(*datatype));
  return next(datatype);
}

}  // namespace corewise::preload::packing
