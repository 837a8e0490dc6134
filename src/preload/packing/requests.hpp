// Requests of packed messages, and what their completion means: memory that becomes free, bytes that are unpacked.
// The program holds MPI's own handles; a table has what belongs to them, from the call that made the request to the
// call that ends it. Where no request of ours is pending, every call costs one test.
//
// Different requests may have one handle: MPICH gives all sends that are complete at once the same. Only sends that
// are not complete when they return are kept, so an entry found under a handle is the request's own. A call that
// may end a request claims its entry meanwhile, which then is not found under the handle: MPI may give another
// thread the handle before it returns. MPI_Request_get_status holds an entry for as long as it looks; a claim waits
// for it, and it says of a claimed request that it is not complete: the data may not be there yet. A request that
// was freed while it is active lives on here: later calls test it.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include "preload/packing/buffers.hpp"
#include "preload/packing/types.hpp"

namespace corewise::preload::packing {

struct Pending {
  enum class Kind : std::uint8_t { send, receive };

  Pending(Kind what, Type& held, Buffer&& taken, void* at, std::int64_t how_many)
      : kind(what), type(&held), packed(std::move(taken)), items(at), count(how_many) {
    hold(held);
  }
  ~Pending() { release(type); }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  Kind kind;
  bool persistent = false;
  bool active = true;     ///< a persistent one: started, and not found complete since
  bool unpacked = false;  ///< a test that does not end the request has found it complete
  Type* type;
  Buffer packed;
  void* items;
  std::int64_t count;
  MPI_Request request = MPI_REQUEST_NULL;
  bool claimed = false;     ///< by a call that may end it
  bool looked_at = false;   ///< by MPI_Request_get_status
  bool ended = false;       ///< by the call that has claimed it
  int index = 0;            ///< of its request in that call, or in the one that looks at it
  Pending* also = nullptr;  ///< the next one in that call
  Pending* next = nullptr;  ///< in the table
};

extern std::atomic<std::int64_t> pending_requests;

/// Whether a call about requests is none of ours: there is none, or MPI has a null pointer to refuse.
template <class... Pointers>
bool passes(const Pointers*... pointers) {
  return pending_requests.load(std::memory_order_relaxed) == 0 || ((pointers == nullptr) || ...);
}

/// Freed by the program while they were active: whatever it calls next tests them.
void test_all_freed();

/// From here on the table's.
void remember(Pending* pending, MPI_Request request);

/// At the end of MPI: what was freed by the program and is not complete is left to MPI, with its memory.
void end_requests();

// In what follows no call `passes`.
int start(MPI_Request* request);
int start_all(int count, MPI_Request* requests);
int wait(MPI_Request* request, MPI_Status* status);
int test(MPI_Request* request, int* flag, MPI_Status* status);
int wait_any(int count, MPI_Request* requests, int* index, MPI_Status* status);
int test_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int wait_all(int count, MPI_Request* requests, MPI_Status* statuses);
int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int wait_some(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses);
int test_some(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses);
int request_free(MPI_Request* request);
int get_status(MPI_Request request, int* flag, MPI_Status* status);
int get_status_any(int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses);
int get_status_some(int count, const MPI_Request* requests, int* done, int* indices, MPI_Status* statuses);

/// Bytes that a status says were received; 0 for a cancelled receive.
std::size_t received_bytes(const MPI_Status& status);

}  // namespace corewise::preload::packing
