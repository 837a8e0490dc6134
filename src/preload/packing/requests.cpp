// The table, claims, and the calls that start and free requests; contracts in requests.hpp and claims.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/requests.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "preload/packing/claims.hpp"

namespace corewise::preload::packing {

std::atomic<std::int64_t> pending_requests{0};
std::atomic<std::int64_t> freed_requests{0};

namespace {

// ---- the table ----

constexpr std::size_t kBuckets = 4096;
std::array<Pending*, kBuckets> table{};
Pending* freed = nullptr;  ///< by the program, while they were active: a list
std::mutex lock;           ///< of both; never held while MPI is called

Pending*& bucket_of(MPI_Request request) {
  return table[static_cast<std::size_t>((handle_key(request) * 0x9E3779B97F4A7C15ULL) >> 52)];
}

/// With the lock held: the first entry under a handle that is, or is not, claimed.
Pending* look_up(MPI_Request request, bool claimed = false) {
  if (request == MPI_REQUEST_NULL) return nullptr;
  Pending* found = bucket_of(request);
  while (found != nullptr && (found->request != request || found->claimed != claimed)) found = found->next;
  return found;
}

/// With the lock held.
void put_in(Pending* pending, MPI_Request request) {
  pending->request = request;
  pending->next = std::exchange(bucket_of(request), pending);
}

/// With the lock held.
void take_out(Pending* pending) {
  Pending** link = &bucket_of(pending->request);
  while (*link != pending) link = &(*link)->next;
  *link = pending->next;
}

/// With the lock held: for a call that may end it; null where nothing is known of the request.
Pending* claim(MPI_Request request) {
  Pending* found = look_up(request);
  while (found != nullptr && found->looked_at) {
    lock.unlock();
    sched_yield();  // whoever looks does not wait
    lock.lock();
    found = look_up(request);
  }
  if (found != nullptr) found->claimed = true;
  return found;
}

void end_entry(Pending* pending) {
  delete pending;
  pending_requests.fetch_sub(1, std::memory_order_relaxed);
}

// ---- completion ----

/// What a call has done that ends requests, and found this one complete; false where the request lives on. An error
/// leaves no data that the standard speaks of, and a persistent request that it concerns may still be active;
/// waiting for one that is not gives an empty status, of which nothing is unpacked.
bool ends(Pending& pending, int code, MPI_Request after, const MPI_Status& status) {
  // MPICH 5 says success, too, where an error handler of the program has returned.
  if (after != MPI_REQUEST_NULL && !pending.persistent) return false;
  if (code == MPI_SUCCESS) arrive(pending, status);
  if (after == MPI_REQUEST_NULL) return true;
  if (code == MPI_SUCCESS) pending.active = pending.unpacked = false;
  return false;
}

// ---- freed requests ----

void end_freed(Pending* pending) {
  freed_requests.fetch_sub(1, std::memory_order_relaxed);
  end_entry(pending);
}

/// True when it is complete.
bool test_freed(Pending& pending) {
  MPI_Status status;
  int flag = 0;
  std::memset(static_cast<void*>(&status), 0, sizeof status);
  const int code = CW_NEXT(MPI_Test)(&pending.request, &flag, &status);
  if (code == MPI_SUCCESS && flag == 0) return false;
  if (code == MPI_SUCCESS) arrive(pending, status);
  if (pending.persistent && pending.request != MPI_REQUEST_NULL) CW_NEXT(MPI_Request_free)(&pending.request);
  return true;
}

/// MPI_Start and MPI_Startall: packs what is to be sent. Claimed, because MPI may give a started request another
/// handle. Of several that failed to start, some may have started.
template <class Next>
int start_claimed(Next next, int count, MPI_Request* requests) {
  test_all_freed();
  const Claimed entries(count, requests);
  for (Pending* each = entries.first(); each != nullptr; each = each->also) {
    if (each->kind == Pending::Kind::send)
      each->type->plan().pack(each->items, each->count, 0, each->packed.get(), each->packed.bytes(),
                              kernels::PackedBuffer::shared);
    each->active = true;
    each->unpacked = false;
  }
  return next();
}

}  // namespace

bool has_class(int code, int wanted) {
  int found = MPI_SUCCESS;
  return code != MPI_SUCCESS && CW_NEXT(MPI_Error_class)(code, &found) == MPI_SUCCESS && found == wanted;
}

void arrive(Pending& pending, const MPI_Status& status) {
  if (pending.kind != Pending::Kind::receive || !pending.active || pending.unpacked) return;
  const std::size_t bytes = std::min(received_bytes(status), pending.packed.bytes());
  pending.type->plan().unpack(pending.items, pending.count, 0, pending.packed.get(), bytes);
  pending.unpacked = true;
}

Claimed::Claimed(int count, const MPI_Request* requests) : requests_(requests) {
  const std::lock_guard guard(lock);
  for (int i = 0; i < count; ++i)
    if (Pending* found = claim(requests[i])) append(found, i);
}

Claimed::~Claimed() {
  for (Pending *each = first(), *also = nullptr; each != nullptr; each = also) {
    also = each->also;
    const MPI_Request after = requests_[each->index];
    const bool lives = !each->ended && after != MPI_REQUEST_NULL;
    {
      const std::lock_guard guard(lock);
      take_out(each);
      each->claimed = false;
      if (lives) put_in(each, after);
    }
    if (lives) continue;
    // Ended by somebody else, the program's error handler perhaps: MPI may still use the memory.
    if (!each->ended) each->packed.abandon();
    end_entry(each);
  }
}

void Claimed::complete(Pending& pending, int code, bool in_status, const MPI_Status& status) {
  if (pending.ended || (in_status && has_class(status.MPI_ERROR, MPI_ERR_PENDING))) return;
  pending.ended = ends(pending, in_status ? status.MPI_ERROR : code, requests_[pending.index], status);
}

Looked::Looked(int count, const MPI_Request* requests) : requests_(requests) {
  const std::lock_guard guard(lock);
  for (int i = 0; i < count; ++i) {
    Pending* found = look_up(requests[i]);
    if (found != nullptr && !std::exchange(found->looked_at, true))
      append(found, i);
    else if (has(found))
      repeated_ = true;
    else
      busy_ = busy_ || found != nullptr || look_up(requests[i], true) != nullptr;
  }
}

bool Looked::has(const Pending* pending) const {
  const Pending* each = pending != nullptr ? first() : nullptr;
  while (each != nullptr && each != pending) each = each->also;
  return each != nullptr;
}

Pending* Looked::of(int i) {
  Pending* found = Entries::of(i);
  if (found != nullptr || !repeated_) return found;
  for (found = first(); found != nullptr && found->request != requests_[i];) found = found->also;
  return found;
}

Looked::~Looked() {
  const std::lock_guard guard(lock);
  for (Pending* each = first(); each != nullptr; each = each->also) each->looked_at = false;
}

void test_all_freed() {
  Pending* mine = nullptr;
  {
    const std::lock_guard guard(lock);
    mine = std::exchange(freed, nullptr);
  }
  while (mine != nullptr) {
    Pending* const each = std::exchange(mine, mine->next);
    if (test_freed(*each)) {
      end_freed(each);
      continue;
    }
    const std::lock_guard guard(lock);
    each->next = std::exchange(freed, each);
  }
}

std::size_t received_bytes(const MPI_Status& status) {
  int cancelled = 0, bytes = 0;
  CW_NEXT(MPI_Test_cancelled)(&status, &cancelled);
  if (cancelled != 0) return 0;
  const int code = CW_NEXT(MPI_Get_count)(&status, MPI_BYTE, &bytes);
  return code == MPI_SUCCESS && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

void remember(Pending* pending, MPI_Request request) {
  pending_requests.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard guard(lock);
  put_in(pending, request);
}

void end_requests() {
  test_all_freed();
  const std::lock_guard guard(lock);
  while (freed != nullptr) {
    Pending* const pending = std::exchange(freed, freed->next);
    // MPI may still use the memory.
    pending->packed.abandon();
    CW_NEXT(MPI_Request_free)(&pending->request);
    end_freed(pending);
  }
}

int start(MPI_Request* request) {
  return start_claimed([&] { return CW_NEXT(MPI_Start)(request); }, 1, request);
}

int start_all(int count, MPI_Request* requests) {
  return start_claimed([&] { return CW_NEXT(MPI_Startall)(count, requests); }, count, requests);
}

int request_free(MPI_Request* request) {
  test_all_freed();
  {
    const std::lock_guard guard(lock);
    Pending* pending = claim(*request);
    if (pending != nullptr && pending->active) {
      *request = MPI_REQUEST_NULL;
      take_out(pending);
      pending->next = std::exchange(freed, pending);
      freed_requests.fetch_add(1, std::memory_order_relaxed);
      return MPI_SUCCESS;
    }
    if (pending != nullptr) pending->claimed = false;
  }
  Claimed entry(1, request);
  const int code = CW_NEXT(MPI_Request_free)(request);
  if (entry.any()) entry.first()->ended = code == MPI_SUCCESS;
  return code;
}

}  // namespace corewise::preload::packing
