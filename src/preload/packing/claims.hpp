// Entries of requests that a call is about, while it is under way; see requests.hpp. None needs memory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/packing/requests.hpp"

namespace corewise::preload::packing {

/// The request is complete, whether or not the call that says so ends it: its data are unpacked, once.
void arrive(Pending& pending, const MPI_Status& status);

/// Whether a call has returned an error of a class.
bool has_class(int code, int wanted);

/// Entries in the order of their requests.
class Entries {
 public:
  Entries(const Entries&) = delete;
  Entries& operator=(const Entries&) = delete;
  bool any() const { return first_ != nullptr; }
  Pending* first() const { return first_; }
  /// The one of request `i`, null where it has none. Fast where `i` grows from call to call.
  Pending* of(int i) {
    Pending* at = last_found_ != nullptr && last_found_->index <= i ? last_found_ : first_;
    while (at != nullptr && at->index < i) at = at->also;
    if (at == nullptr || at->index != i) return nullptr;
    return last_found_ = at;
  }

 protected:
  Entries() = default;
  ~Entries() = default;
  void append(Pending* pending, int index) {
    pending->index = index;
    pending->also = nullptr;
    (last_ == nullptr ? first_ : last_->also) = pending;
    last_ = pending;
  }

 private:
  Pending* first_ = nullptr;
  Pending* last_ = nullptr;
  Pending* last_found_ = nullptr;
};

/// Claimed for a call that starts or ends requests: as soon as MPI has ended one it may give another thread the
/// same handle again. What is not ended lives on, under the handle that it has then; not what MPI has taken away
/// without saying that it is complete.
class Claimed : public Entries {
 public:
  Claimed(int count, const MPI_Request* requests);
  ~Claimed();
  /// Request `i`, in a call that returned `code`, of which the request's status may have the particulars.
  void complete(int i, int code, bool in_status, const MPI_Status& status) {
    if (Pending* pending = of(i)) complete(*pending, code, in_status, status);
  }
  void complete(Pending& pending, int code, bool in_status, const MPI_Status& status);

 private:
  const MPI_Request* requests_;
};

/// Looked at by MPI_Request_get_status and its kin; calls that end them wait meanwhile.
class Looked : public Entries {
 public:
  Looked(int count, const MPI_Request* requests);
  ~Looked();
  /// Whether another thread is at one of them: nothing is said to be complete yet.
  bool busy() const { return busy_; }
  /// As of all entries; a request may be named several times, and has one entry.
  Pending* of(int i);

 private:
  bool has(const Pending* pending) const;

  const MPI_Request* requests_;
  bool busy_ = false, repeated_ = false;
};

}  // namespace corewise::preload::packing
