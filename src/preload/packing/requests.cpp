// The table, and the calls that start, test and end requests; contract in requests.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/requests.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "packing_available.hpp"

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
void put_in(Pending* pending) {
  Pending*& head = bucket_of(pending->request);
  pending->next = head;
  head = pending;
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
  // Only where several threads call MPI, which then hold the lock.
  while (found != nullptr && found->looked_at && many_threads.load(std::memory_order_relaxed)) {
    lock.unlock();
    sched_yield();  // whoever looks does not wait
    lock.lock();
    found = look_up(request);
  }
  if (found != nullptr) found->claimed = true;
  return found;
}

Pending* claimed(MPI_Request request) {
  const Guard guard(lock);
  return claim(request);
}

/// A claimed entry lives on, under a handle that may be another one.
void unclaim(Pending* pending, MPI_Request request) {
  const Guard guard(lock);
  take_out(pending);
  pending->request = request;
  pending->claimed = false;
  put_in(pending);
}

/// A claimed entry ends.
void end_entry(Pending* pending) {
  {
    const Guard guard(lock);
    take_out(pending);
  }
  delete pending;
  pending_requests.fetch_sub(1, std::memory_order_relaxed);
}

/// Ended by somebody else, the program's error handler perhaps, while MPI may still use the memory.
void lose(Pending* pending) {
  pending->packed.abandon();
  end_entry(pending);
}

// ---- completion ----

bool is_active_receive(const Pending& pending) {
  return pending.kind == Pending::Kind::receive && pending.active && !pending.unpacked;
}

/// Complete, whether or not the call that says so ends the request.
void arrive(Pending& pending, const MPI_Status& status) {
  if (!is_active_receive(pending)) return;
  const std::size_t bytes = std::min(received_bytes(status), pending.packed.bytes());
  pending.type->plan().unpack(pending.items, pending.count, 0, pending.packed.get(), bytes,
                              kernels::PackedBuffer::shared);
  pending.unpacked = true;
}

/// What a call has done that ends requests, and found this one complete; false where the request lives on. An error
/// leaves no data that the standard speaks of, and a persistent request that it concerns may still be active;
/// waiting for one that is not gives an empty status, of which nothing is unpacked.
bool ends(Pending& pending, int code, MPI_Request after, const MPI_Status& status) {
  // MPICH 5 says success, too, where an error handler of the program has returned.
  if (after != MPI_REQUEST_NULL && !pending.persistent) return false;
  if (code == MPI_SUCCESS) arrive(pending, status);
  if (after == MPI_REQUEST_NULL) return true;
  if (pending.persistent && code == MPI_SUCCESS) pending.active = pending.unpacked = false;
  return false;
}

#ifdef COREWISE_PACKING_NO_MEMORY
constexpr std::size_t kFew = 2;  // for tests
#else
constexpr std::size_t kFew = 64;
#endif

/// `n` values; null where there is no memory.
template <class Value>
std::unique_ptr<Value[]> many_of([[maybe_unused]] std::size_t n) {
#ifdef COREWISE_PACKING_NO_MEMORY
  return nullptr;
#else
  return std::unique_ptr<Value[]>(new (std::nothrow) Value[n]);
#endif
}

/// The entries of some requests, claimed for a call that ends requests: as soon as MPI has ended one it may give
/// another thread the same handle again. What is not ended lives on; not what MPI has taken away without saying
/// that it is complete.
class Claimed {
 public:
  Claimed(int count, const MPI_Request* requests)
      : requests_(requests), count_(static_cast<std::size_t>(std::max(count, 0))) {
    if (count_ > few_.size()) many_ = many_of<Pending*>(count_);
    found_ = count_ > few_.size() ? many_.get() : few_.data();
    if (found_ == nullptr) return;
    const Guard guard(lock);
    for (std::size_t i = 0; i < count_; ++i) {
      found_[i] = claim(requests[i]);
      any_ = any_ || found_[i] != nullptr;
    }
  }
  ~Claimed() {
    for (std::size_t i = 0; any_ && i < count_; ++i) {
      if (found_[i] == nullptr) continue;
      if (requests_[i] != MPI_REQUEST_NULL)
        unclaim(found_[i], found_[i]->request);
      else
        lose(found_[i]);
    }
  }
  Claimed(const Claimed&) = delete;
  Claimed& operator=(const Claimed&) = delete;
  bool any() const { return any_; }
  bool no_memory() const { return found_ == nullptr; }
  /// Request `i`, in a call that returned `code`, of which the request's status may have the particulars.
  void complete(int i, int code, bool in_status, MPI_Request after, const MPI_Status& status);

 private:
  const MPI_Request* requests_;
  std::size_t count_;
  std::array<Pending*, kFew> few_;
  std::unique_ptr<Pending*[]> many_;
  Pending** found_ = nullptr;
  bool any_ = false;
};

/// The program's statuses, or ours where it ignores them; null where there is no memory for those.
class Statuses {
 public:
  Statuses(int count, MPI_Status* given) : given_(given) {
    if (given != MPI_STATUSES_IGNORE) return;
    const auto n = static_cast<std::size_t>(std::max(count, 1));
    if (n > few_.size()) many_ = many_of<MPI_Status>(n);
    given_ = n > few_.size() ? many_.get() : few_.data();
    if (given_ != nullptr) std::memset(static_cast<void*>(given_), 0, n * sizeof(MPI_Status));
  }
  MPI_Status* get() const { return given_; }
  const MPI_Status& operator[](int i) const { return given_[i]; }

 private:
  MPI_Status* given_;
  std::array<MPI_Status, kFew> few_;
  std::unique_ptr<MPI_Status[]> many_;
};

class OwnStatus {
 public:
  explicit OwnStatus(MPI_Status* given) : given_(given == MPI_STATUS_IGNORE ? &own_ : given) {
    std::memset(static_cast<void*>(&own_), 0, sizeof own_);
  }
  MPI_Status* get() const { return given_; }

 private:
  MPI_Status own_;
  MPI_Status* given_;
};

bool is_in_status(int code) {
  int error_class = MPI_SUCCESS;
  return code != MPI_SUCCESS && CW_NEXT(MPI_Error_class)(code, &error_class) == MPI_SUCCESS &&
         error_class == MPI_ERR_IN_STATUS;
}

bool is_pending(int code) {
  int error_class = MPI_SUCCESS;
  return code != MPI_SUCCESS && CW_NEXT(MPI_Error_class)(code, &error_class) == MPI_SUCCESS &&
         error_class == MPI_ERR_PENDING;
}

void Claimed::complete(int i, int code, bool in_status, MPI_Request after, const MPI_Status& status) {
  Pending*& pending = found_[i];
  if (pending == nullptr || (in_status && is_pending(status.MPI_ERROR))) return;
  if (!ends(*pending, in_status ? status.MPI_ERROR : code, after, status)) return;
  end_entry(std::exchange(pending, nullptr));
}

// ---- freed requests ----

void delete_freed(Pending* pending) {
  delete pending;
  freed_requests.fetch_sub(1, std::memory_order_relaxed);
  pending_requests.fetch_sub(1, std::memory_order_relaxed);
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

}  // namespace

void test_all_freed() {
  Pending* mine = nullptr;
  {
    const Guard guard(lock);
    mine = std::exchange(freed, nullptr);
  }
  while (mine != nullptr) {
    Pending* const each = std::exchange(mine, mine->next);
    if (test_freed(*each)) {
      delete_freed(each);
      continue;
    }
    const Guard guard(lock);
    each->next = std::exchange(freed, each);
  }
}

namespace {

/// Packs what is to be sent. Claimed, because MPI may give a started request another handle.
Pending* before_start(MPI_Request request) {
  Pending* pending = claimed(request);
  if (pending == nullptr) return nullptr;
  if (pending->kind == Pending::Kind::send)
    pending->type->plan().pack(pending->items, pending->count, 0, pending->packed.get(), pending->packed.bytes(),
                               kernels::PackedBuffer::shared);
  pending->active = true;
  pending->unpacked = false;
  return pending;
}

/// Of several that failed to start, some may have started.
void after_start(Pending* pending, MPI_Request request) {
  if (pending == nullptr) return;
  if (request != MPI_REQUEST_NULL)
    unclaim(pending, request);
  else
    lose(pending);
}

}  // namespace

std::size_t received_bytes(const MPI_Status& status) {
  int cancelled = 0, bytes = 0;
  CW_NEXT(MPI_Test_cancelled)(&status, &cancelled);
  if (cancelled != 0) return 0;
  const int code = CW_NEXT(MPI_Get_count)(&status, MPI_BYTE, &bytes);
  return code == MPI_SUCCESS && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

void remember(Pending* pending, MPI_Request request) {
  pending_requests.fetch_add(1, std::memory_order_relaxed);
  pending->request = request;
  const Guard guard(lock);
  put_in(pending);
}

void end_requests() {
  test_all_freed();
  const Guard guard(lock);
  while (freed != nullptr) {
    Pending* const pending = std::exchange(freed, freed->next);
    // MPI may still use the memory.
    pending->packed.abandon();
    CW_NEXT(MPI_Request_free)(&pending->request);
    delete_freed(pending);
  }
}

int start(MPI_Request* request) {
  if (none_pending() || request == nullptr) return CW_NEXT(MPI_Start)(request);
  test_all_freed();
  Pending* pending = before_start(*request);
  const int code = CW_NEXT(MPI_Start)(request);
  after_start(pending, *request);
  return code;
}

int start_all(int count, MPI_Request* requests) {
  if (none_pending() || count <= 0 || requests == nullptr) return CW_NEXT(MPI_Startall)(count, requests);
  test_all_freed();
  const auto started = many_of<Pending*>(static_cast<std::size_t>(count));
  if (started == nullptr) {
    int one = MPI_SUCCESS;
    for (int i = 0; i < count && one == MPI_SUCCESS; ++i) one = start(requests + i);
    return one;
  }
  std::transform(requests, requests + count, started.get(), before_start);
  const int code = CW_NEXT(MPI_Startall)(count, requests);
  for (int i = 0; i < count; ++i) after_start(started[static_cast<std::size_t>(i)], requests[i]);
  return code;
}

int wait(MPI_Request* request, MPI_Status* status) {
  if (none_pending() || request == nullptr) return CW_NEXT(MPI_Wait)(request, status);
  test_all_freed();
  Claimed entry(1, request);
  if (!entry.any()) return CW_NEXT(MPI_Wait)(request, status);
  const OwnStatus own(status);
  const int code = CW_NEXT(MPI_Wait)(request, own.get());
  entry.complete(0, code, false, *request, *own.get());
  return code;
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (none_pending() || request == nullptr || flag == nullptr) return CW_NEXT(MPI_Test)(request, flag, status);
  test_all_freed();
  Claimed entry(1, request);
  if (!entry.any()) return CW_NEXT(MPI_Test)(request, flag, status);
  const OwnStatus own(status);
  const int code = CW_NEXT(MPI_Test)(request, flag, own.get());
  if (code != MPI_SUCCESS || *flag != 0) entry.complete(0, code, false, *request, *own.get());
  return code;
}

namespace {

// Without memory for the entries of many requests they are completed one by one, which may be slower, no more.

/// MPI_Testall, and MPI_Waitall where there is no flag.
int complete_each(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  int all = MPI_SUCCESS;
  for (int i = 0; flag != nullptr && i < count; ++i) {
    const int code = get_status(requests[i], flag, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && *flag == 0) return MPI_SUCCESS;
  }
  for (int i = 0; i < count; ++i) {
    MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
    const int code = wait(requests + i, status);
    if (statuses != MPI_STATUSES_IGNORE) status->MPI_ERROR = code;
    if (code != MPI_SUCCESS) all = MPI_ERR_IN_STATUS;
  }
  return all;
}

/// Whether a request may still have something to say: no null one, no persistent one that is not active.
bool may_be_active(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return false;
  const Guard guard(lock);
  const Pending* const known = look_up(request);
  return known == nullptr || known->active;
}

/// MPI_Testany, and MPI_Waitany where there is no flag.
int complete_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  int own = 0;
  int* const found = flag != nullptr ? flag : &own;
  *index = MPI_UNDEFINED;
  if (std::none_of(requests, requests + count, may_be_active))
    return CW_NEXT(MPI_Testany)(0, requests, index, found, status);  // says what there is to say of none
  do {
    for (int i = 0; i < count; ++i) {
      if (!may_be_active(requests[i])) continue;
      const int code = test(requests + i, found, status);
      if (code == MPI_SUCCESS && *found == 0) continue;
      *index = i;
      return code;
    }
  } while (flag == nullptr);
  return MPI_SUCCESS;
}

/// MPI_Testsome, and MPI_Waitsome where it `waits`.
int complete_some(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses, bool waits) {
  bool any = false;
  int all = MPI_SUCCESS;
  *done = 0;
  do {
    for (int i = 0; i < count; ++i) {
      int flag = 0;
      if (!may_be_active(requests[i])) continue;
      any = true;
      MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + *done;
      const int code = test(requests + i, &flag, status);
      if (code == MPI_SUCCESS && flag == 0) continue;
      if (code != MPI_SUCCESS) all = MPI_ERR_IN_STATUS;
      if (statuses != MPI_STATUSES_IGNORE) status->MPI_ERROR = code;
      indices[(*done)++] = i;
    }
  } while (waits && any && *done == 0);
  if (!any) *done = MPI_UNDEFINED;
  return all;
}

}  // namespace

int wait_any(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  if (none_pending() || requests == nullptr || index == nullptr)
    return CW_NEXT(MPI_Waitany)(count, requests, index, status);
  test_all_freed();
  Claimed entries(count, requests);
  if (entries.no_memory()) return complete_any(count, requests, index, nullptr, status);
  if (!entries.any()) return CW_NEXT(MPI_Waitany)(count, requests, index, status);
  const OwnStatus own(status);
  const int code = CW_NEXT(MPI_Waitany)(count, requests, index, own.get());
  if (*index >= 0 && *index < count) entries.complete(*index, code, false, requests[*index], *own.get());
  return code;
}

int test_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (none_pending() || requests == nullptr || index == nullptr || flag == nullptr)
    return CW_NEXT(MPI_Testany)(count, requests, index, flag, status);
  test_all_freed();
  Claimed entries(count, requests);
  if (entries.no_memory()) return complete_any(count, requests, index, flag, status);
  if (!entries.any()) return CW_NEXT(MPI_Testany)(count, requests, index, flag, status);
  const OwnStatus own(status);
  const int code = CW_NEXT(MPI_Testany)(count, requests, index, flag, own.get());
  const bool found = (code != MPI_SUCCESS || *flag != 0) && *index >= 0 && *index < count;
  if (found) entries.complete(*index, code, false, requests[*index], *own.get());
  return code;
}

int wait_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (none_pending() || requests == nullptr) return CW_NEXT(MPI_Waitall)(count, requests, statuses);
  test_all_freed();
  const Statuses own(count, statuses);
  if (own.get() == nullptr) return complete_each(count, requests, nullptr, statuses);
  Claimed entries(count, requests);
  if (entries.no_memory()) return complete_each(count, requests, nullptr, statuses);
  if (!entries.any()) return CW_NEXT(MPI_Waitall)(count, requests, statuses);
  const int code = CW_NEXT(MPI_Waitall)(count, requests, own.get());
  const bool in_status = is_in_status(code);
  for (int i = 0; i < count; ++i) entries.complete(i, code, in_status, requests[i], own[i]);
  return code;
}

int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (none_pending() || requests == nullptr || flag == nullptr)
    return CW_NEXT(MPI_Testall)(count, requests, flag, statuses);
  test_all_freed();
  const Statuses own(count, statuses);
  if (own.get() == nullptr) return complete_each(count, requests, flag, statuses);
  Claimed entries(count, requests);
  if (entries.no_memory()) return complete_each(count, requests, flag, statuses);
  if (!entries.any()) return CW_NEXT(MPI_Testall)(count, requests, flag, statuses);
  const int code = CW_NEXT(MPI_Testall)(count, requests, flag, own.get());
  if (code == MPI_SUCCESS && *flag == 0) return code;
  const bool in_status = is_in_status(code);
  for (int i = 0; i < count; ++i) entries.complete(i, code, in_status, requests[i], own[i]);
  return code;
}

namespace {

/// MPI_Waitsome and MPI_Testsome.
template <class Next>
int some(Next next, bool waits, int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  if (none_pending() || requests == nullptr || done == nullptr || indices == nullptr)
    return next(count, requests, done, indices, statuses);
  test_all_freed();
  const Statuses own(count, statuses);
  if (own.get() == nullptr) return complete_some(count, requests, done, indices, statuses, waits);
  Claimed entries(count, requests);
  if (entries.no_memory()) return complete_some(count, requests, done, indices, statuses, waits);
  if (!entries.any()) return next(count, requests, done, indices, statuses);
  *done = 0;
  const int code = next(count, requests, done, indices, own.get());
  const bool in_status = is_in_status(code);
  if (code != MPI_SUCCESS && !in_status) return code;
  for (int k = 0; *done != MPI_UNDEFINED && k < *done; ++k)
    entries.complete(indices[k], code, in_status, requests[indices[k]], own[k]);
  return code;
}

}  // namespace

int wait_some(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return some(CW_NEXT(MPI_Waitsome), true, count, requests, done, indices, statuses);
}

int test_some(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return some(CW_NEXT(MPI_Testsome), false, count, requests, done, indices, statuses);
}

int request_free(MPI_Request* request) {
  if (none_pending() || request == nullptr) return CW_NEXT(MPI_Request_free)(request);
  test_all_freed();
  Pending* pending = claimed(*request);
  if (pending == nullptr) return CW_NEXT(MPI_Request_free)(request);
  if (!pending->active) {
    const int code = CW_NEXT(MPI_Request_free)(request);
    if (code == MPI_SUCCESS)
      end_entry(pending);
    else
      unclaim(pending, pending->request);
    return code;
  }
  *request = MPI_REQUEST_NULL;
  freed_requests.fetch_add(1, std::memory_order_relaxed);
  const Guard guard(lock);
  take_out(pending);
  pending->next = freed;
  freed = pending;
  return MPI_SUCCESS;
}

namespace {

/// Entries of requests that MPI_Request_get_status and its kin look at; those of calls that end them wait
/// meanwhile.
class Looked {
 public:
  Looked(int count, const MPI_Request* requests) : count_(static_cast<std::size_t>(std::max(count, 0))) {
    if (count_ > few_.size()) many_ = many_of<Pending*>(count_);
    found_ = count_ > few_.size() ? many_.get() : few_.data();
    busy_ = found_ == nullptr;
    if (busy_) return;
    const Guard guard(lock);
    for (std::size_t i = 0; i < count_; ++i) {
      found_[i] = look_up(requests[i]);
      if (found_[i] == nullptr) {
        busy_ = busy_ || look_up(requests[i], true) != nullptr;
      } else if (std::exchange(found_[i]->looked_at, true)) {
        found_[i] = nullptr;
        busy_ = true;
      }
    }
  }
  ~Looked() {
    if (found_ == nullptr) return;
    const Guard guard(lock);
    for (std::size_t i = 0; i < count_; ++i)
      if (found_[i] != nullptr) found_[i]->looked_at = false;
  }
  Looked(const Looked&) = delete;
  Looked& operator=(const Looked&) = delete;
  /// Whether another thread is at one of them, or there is no memory: nothing is said to be complete yet.
  bool busy() const { return busy_; }
  void arrived(int i, const MPI_Status& status) {
    if (found_[i] != nullptr) arrive(*found_[i], status);
  }

 private:
  std::size_t count_;
  std::array<Pending*, kFew> few_;
  std::unique_ptr<Pending*[]> many_;
  Pending** found_ = nullptr;
  bool busy_ = false;
};

}  // namespace

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (none_pending() || flag == nullptr) return CW_NEXT(MPI_Request_get_status)(request, flag, status);
  Looked entry(1, &request);
  *flag = 0;
  if (entry.busy()) return MPI_SUCCESS;
  const OwnStatus own(status);
  const int code = CW_NEXT(MPI_Request_get_status)(request, flag, own.get());
  if (code == MPI_SUCCESS && *flag != 0) entry.arrived(0, *own.get());
  return code;
}

#ifdef CW_HAVE_MPI_Request_get_status_all
int get_status_any(int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (none_pending()) return CW_NEXT(MPI_Request_get_status_any)(count, requests, index, flag, status);
  Looked entries(count, requests);
  *flag = 0;
  *index = MPI_UNDEFINED;
  if (entries.busy()) return MPI_SUCCESS;
  const OwnStatus own(status);
  const int code = CW_NEXT(MPI_Request_get_status_any)(count, requests, index, flag, own.get());
  const bool found = code == MPI_SUCCESS && *flag != 0 && *index >= 0 && *index < count;
  if (found) entries.arrived(*index, *own.get());
  return code;
}

int get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (none_pending()) return CW_NEXT(MPI_Request_get_status_all)(count, requests, flag, statuses);
  Looked entries(count, requests);
  const Statuses own(count, statuses);
  *flag = 0;
  if (entries.busy() || own.get() == nullptr) return MPI_SUCCESS;
  const int code = CW_NEXT(MPI_Request_get_status_all)(count, requests, flag, own.get());
  for (int i = 0; code == MPI_SUCCESS && *flag != 0 && i < count; ++i) entries.arrived(i, own[i]);
  return code;
}

int get_status_some(int count, const MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  if (none_pending()) return CW_NEXT(MPI_Request_get_status_some)(count, requests, done, indices, statuses);
  Looked entries(count, requests);
  const Statuses own(count, statuses);
  *done = 0;
  if (entries.busy() || own.get() == nullptr) return MPI_SUCCESS;
  const int code = CW_NEXT(MPI_Request_get_status_some)(count, requests, done, indices, own.get());
  for (int k = 0; code == MPI_SUCCESS && *done != MPI_UNDEFINED && k < *done; ++k)
    entries.arrived(indices[k], own[k]);
  return code;
}
#endif

}  // namespace corewise::preload::packing
