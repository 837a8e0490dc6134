// The calls that pack: what the generated wrappers are made of. Each is handed the program's arguments that may
// change, with counts of int or of MPI_Count, and a function that calls the procedure that stands behind it with
// others in their place. A contiguous type costs one look at a small table; what is not taken over is handed on as
// it came. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>
#include <memory>
#include <new>

#include "preload/packing/requests.hpp"

namespace corewise::preload::packing {

using Kind = Pending::Kind;

/// Whether a message is ours: not empty, not too large, its memory the CPU's, and worth it.
bool taken(Type& type, const void* items, std::int64_t count, PackingUse use, int peer);

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

/// The type of a message that we may pack. Null where it is handed on: as it came, or as the bytes that it is.
template <class Pointer, class Count>
Type* type_to_pack(Pointer*& buf, Count& count, MPI_Datatype& datatype) {
  Type* type = packed_type(datatype);
  return type == nullptr || made_plain(*type, buf, count, datatype) ? nullptr : type;
}

/// A message that may be ours, and room for its bytes where it is.
class Message {
 public:
  Message(PackingUse use, Type& type, const void* items, std::int64_t count, int peer)
      : type_(type), items_(const_cast<void*>(items)), count_(count) {
    hold(type);
    if (taken(type, items, count, use, peer)) buffer_ = Buffer(static_cast<std::size_t>(type.size * count));
  }
  ~Message() { release(&type_); }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  bool ours() const { return buffer_.get() != nullptr; }
  const Buffer& buffer() const { return buffer_; }
  void pack() const {
    type_.plan().pack(items_, count_, 0, buffer_.get(), buffer_.bytes(), kernels::PackedBuffer::shared);
  }
  void unpack(const MPI_Status& status) const {
    const std::size_t bytes = std::min(received_bytes(status), buffer_.bytes());
    type_.plan().unpack(items_, count_, 0, buffer_.get(), bytes);
  }
  /// What a request keeps of it; null where there is no memory.
  std::unique_ptr<Pending> kept(Kind kind) {
    return std::unique_ptr<Pending>(new (std::nothrow) Pending(kind, type_, std::move(buffer_), items_, count_));
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

/// The source of a message of MPI_Mprobe, as far as it matters: one from nobody has no data.
inline int source_of(const MPI_Message* message) {
  return message == nullptr || *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : 0;
}

// ---- one message ----

/// `call` has other places for buf, count, datatype.
template <class Count, class Call>
int send(const void* buf, Count count, MPI_Datatype datatype, int dest, Call call) {
  Type* type = type_to_pack(buf, count, datatype);
  if (type == nullptr) [[likely]]
    return call(buf, count, datatype);
  const Message message(PackingUse::send, *type, buf, count, dest);
  if (!message.ours()) return call(buf, count, datatype);
  message.pack();
  return call(message.buffer().get(), static_cast<Count>(message.buffer().bytes()), MPI_PACKED);
}

/// `call` has other places for buf, count, datatype, status.
template <class Count, class Call>
int receive(void* buf, Count count, MPI_Datatype datatype, int source, MPI_Status* status, Call call) {
  Type* type = type_to_pack(buf, count, datatype);
  if (type == nullptr) [[likely]]
    return call(buf, count, datatype, status);
  const Message message(PackingUse::receive, *type, buf, count, source);
  if (!message.ours()) return call(buf, count, datatype, status);
  const SeenStatus seen(status);
  const auto bytes = static_cast<Count>(message.buffer().bytes());
  const int code = call(message.buffer().get(), bytes, MPI_PACKED, seen.get());
  if (code == MPI_SUCCESS) message.unpack(*seen.get());
  return code;
}

/// A request has been made, unless it is still null (MPICH 5 says success, too, where an error handler of the
/// program has returned): what its completion means is kept, unless it is a send that is complete.
int posted(int code, std::unique_ptr<Pending> pending, bool persistent, MPI_Request request);

/// A send or a receive with a request. `call` has other places for buf, count, datatype.
template <Kind kind, bool persistent = false, class Pointer, class Count, class Call>
int post(Pointer* buf, Count count, MPI_Datatype datatype, int peer, MPI_Request* request, Call call) {
  Type* type = request != nullptr ? type_to_pack(buf, count, datatype) : nullptr;
  if (type == nullptr) [[likely]]
    return call(buf, count, datatype);
  constexpr PackingUse use = kind == Kind::send ? PackingUse::send : PackingUse::receive;
  Message message(use, *type, buf, count, peer);
  if (!message.ours()) return call(buf, count, datatype);
  if (kind == Kind::send && !persistent) message.pack();
  auto pending = message.kept(kind);
  if (pending == nullptr) return call(buf, count, datatype);
  void* const packed = pending->packed.get();
  *request = MPI_REQUEST_NULL;  // where it fails: see posted
  const int code = call(packed, static_cast<Count>(pending->packed.bytes()), MPI_PACKED);
  return posted(code, std::move(pending), persistent, *request);
}

// ---- two ----

/// `call` has other places for sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, status.
template <class Count, class Call>
int send_receive(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, void* recvbuf,
                 Count recvcount, MPI_Datatype recvtype, int source, MPI_Status* status, Call call) {
  return send(sendbuf, sendcount, sendtype, dest, [&](auto* out, Count out_count, MPI_Datatype out_type) {
    return receive(recvbuf, recvcount, recvtype, source, status,
                   [&](void* in, Count in_count, MPI_Datatype in_type, MPI_Status* seen) {
                     return call(out, out_count, out_type, in, in_count, in_type, seen);
                   });
  });
}

/// `call` has other places for buf, count, datatype, status. Both messages are packed where the received one is.
template <class Count, class Call>
int send_receive_replace(void* buf, Count count, MPI_Datatype datatype, int dest, int source, MPI_Status* status,
                         Call call) {
  Type* type = type_to_pack(buf, count, datatype);
  const bool from_nobody = dest == MPI_PROC_NULL || source == MPI_PROC_NULL;
  if (type == nullptr || from_nobody) [[likely]]
    return call(buf, count, datatype, status);
  return receive(
      buf, count, datatype, source, status, [&](void* bytes, Count size, MPI_Datatype as, MPI_Status* seen) {
        if (as == MPI_PACKED)
          type->plan().pack(buf, count, 0, bytes, static_cast<std::size_t>(size), kernels::PackedBuffer::shared);
        return call(bytes, size, as, seen);
      });
}

// ---- MPI_Pack and MPI_Unpack ----

/// Items out of or into a stream of `size` bytes, from `position` on. `call` has everything; it is asked, too,
/// where they do not fit: MPI says so.
template <PackingUse use, class Items, class Stream, class Count, class Call>
int convert(Items* items, Count count, MPI_Datatype datatype, Stream* stream, Count size, Count* position,
            MPI_Comm comm, Call call) {
  Type* type = packed_type(datatype);
  if (type == nullptr) [[likely]]
    return call();
  if (position == nullptr || comm == MPI_COMM_NULL || stream == nullptr || !taken(*type, items, count, use, 0))
    return call();
  const std::int64_t bytes = type->size * count;
  if (*position < 0 || *position > size || bytes > size - *position) return call();
  if constexpr (use == PackingUse::pack)
    type->plan().pack(items, count, 0, static_cast<char*>(stream) + *position, static_cast<std::size_t>(bytes));
  else
    type->plan().unpack(items, count, 0, static_cast<const char*>(stream) + *position,
                        static_cast<std::size_t>(bytes));
  *position += static_cast<Count>(bytes);
  return MPI_SUCCESS;
}

}  // namespace corewise::preload::packing
