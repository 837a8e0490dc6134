// The table, and the calls that start, test and end requests; see packing_requests.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/requests.hpp"

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
constinit Lasting<std::vector<Pending*>> lasting_freed;
std::vector<Pending*>& freed = lasting_freed.value;  ///< by the program, while they were active
std::mutex lock;                                     ///< of both; never held while MPI is called

Pending*& bucket_of(MPI_Request request) {
  return table[static_cast<std::size_t>((handle_key(request) * 0x9E3779B97F4A7C15ULL) >> 52)];
}

/// With the lock held.
Pending* look_up(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return nullptr;
  Pending* found = bucket_of(request);
  while (found != nullptr && found->request != request) found = found->next;
  return found;
}

/// With the lock held.
void put_back(Pending* pending) {
  Pending*& head = bucket_of(pending->request);
  pending->next = head;
  head = pending;
}

/// With the lock held: taken out of the table; null where nothing is known of the request.
Pending* claim(MPI_Request request) {
  Pending* const found = look_up(request);
  if (found == nullptr) return nullptr;
  Pending** link = &bucket_of(request);
  while (*link != found) link = &(*link)->next;
  *link = found->next;
  return found;
}

Pending* find(MPI_Request request) {
  const Guard guard(lock);
  return look_up(request);
}

Pending* claimed(MPI_Request request) {
  const Guard guard(lock);
  return claim(request);
}

void put_in(Pending* pending, MPI_Request request) {
  pending->request = request;
  const Guard guard(lock);
  put_back(pending);
}

void end_entry(Pending* pending) {
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

/// The entries of requests that a call looks at.
class Entries {
 public:
  Entries(int count, const MPI_Request* requests, Pending* (*take)(MPI_Request) = look_up)
      : count_(static_cast<std::size_t>(std::max(count, 0))) {
    if (count_ > few_.size()) many_.reset(new Pending*[count_]);
    found_ = count_ > few_.size() ? many_.get() : few_.data();
    const Guard guard(lock);
    for (std::size_t i = 0; i < count_; ++i) {
      found_[i] = take(requests[i]);
      any_ = any_ || found_[i] != nullptr;
    }
  }
  Entries(const Entries&) = delete;
  Entries& operator=(const Entries&) = delete;
  bool any() const { return any_; }
  std::size_t size() const { return count_; }
  Pending*& operator[](int i) { return found_[i]; }

 private:
  std::array<Pending*, 64> few_;
  std::unique_ptr<Pending*[]> many_;
  Pending** found_ = nullptr;
  std::size_t count_;
  bool any_ = false;
};

/// Those of a call that ends requests: out of the table while MPI is called, because as soon as MPI has ended one
/// it may give another thread the same handle again. What is not ended goes back; not what MPI has taken away
/// without saying that it is complete, as Open MPI does with every failed request when one of them is waited for.
class Claimed {
 public:
  Claimed(int count, const MPI_Request* requests) : entries_(count, requests, claim), requests_(requests) {}
  ~Claimed() {
    if (!any()) return;
    const Guard guard(lock);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Pending* const pending = entries_[static_cast<int>(i)];
      if (pending == nullptr) continue;
      if (requests_[i] != MPI_REQUEST_NULL)
        put_back(pending);
      else
        lose(pending);
    }
  }
  Claimed(const Claimed&) = delete;
  Claimed& operator=(const Claimed&) = delete;
  bool any() const { return entries_.any(); }
  /// Request `i`, in a call that returned `code`, of which the request's status may have the particulars.
  void complete(int i, int code, bool in_status, MPI_Request after, const MPI_Status& status);

 private:
  Entries entries_;
  const MPI_Request* requests_;
};

/// The program's statuses, or ours where it ignores them.
class Statuses {
 public:
  Statuses(int count, MPI_Status* given) : given_(given) {
    if (given != MPI_STATUSES_IGNORE) return;
    const auto n = static_cast<std::size_t>(std::max(count, 1));
    if (n > few_.size()) many_.reset(new MPI_Status[n]);
    given_ = n > few_.size() ? many_.get() : few_.data();
    std::memset(static_cast<void*>(given_), 0, n * sizeof(MPI_Status));
  }
  MPI_Status* get() const { return given_; }
  const MPI_Status& operator[](int i) const { return given_[i]; }

 private:
  MPI_Status* given_;
  std::array<MPI_Status, 16> few_;
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
  Pending*& pending = entries_[i];
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
  std::vector<Pending*> mine;
  {
    const Guard guard(lock);
    if (freed.empty()) return;
    mine.swap(freed);
  }
  const auto still = std::partition(mine.begin(), mine.end(), [](Pending* each) { return !test_freed(*each); });
  std::for_each(still, mine.end(), delete_freed);
  const Guard guard(lock);
  freed.insert(freed.end(), mine.begin(), still);
}

namespace {

/// Packs what is to be sent. Taken out of the table, because MPI may give a started request another handle.
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
    put_in(pending, request);
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
  put_in(pending, request);
}

void end_requests() {
  test_all_freed();
  const Guard guard(lock);
  for (Pending* pending : freed) {
    // MPI may still use the memory.
    pending->packed.abandon();
    CW_NEXT(MPI_Request_free)(&pending->request);
    delete_freed(pending);
  }
  freed.clear();
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
  std::vector<Pending*> started(static_cast<std::size_t>(count));
  std::transform(requests, requests + count, started.begin(), before_start);
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

int wait_any(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  if (none_pending() || requests == nullptr || index == nullptr)
    return CW_NEXT(MPI_Waitany)(count, requests, index, status);
  test_all_freed();
  Claimed entries(count, requests);
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
  Claimed entries(count, requests);
  if (!entries.any()) return CW_NEXT(MPI_Waitall)(count, requests, statuses);
  const Statuses own(count, statuses);
  const int code = CW_NEXT(MPI_Waitall)(count, requests, own.get());
  const bool in_status = is_in_status(code);
  for (int i = 0; i < count; ++i) entries.complete(i, code, in_status, requests[i], own[i]);
  return code;
}

int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (none_pending() || requests == nullptr || flag == nullptr)
    return CW_NEXT(MPI_Testall)(count, requests, flag, statuses);
  test_all_freed();
  Claimed entries(count, requests);
  if (!entries.any()) return CW_NEXT(MPI_Testall)(count, requests, flag, statuses);
  const Statuses own(count, statuses);
  const int code = CW_NEXT(MPI_Testall)(count, requests, flag, own.get());
  if (code == MPI_SUCCESS && *flag == 0) return code;
  const bool in_status = is_in_status(code);
  for (int i = 0; i < count; ++i) entries.complete(i, code, in_status, requests[i], own[i]);
  return code;
}

namespace {

/// MPI_Waitsome and MPI_Testsome.
template <class Next>
int some(Next next, int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  if (none_pending() || requests == nullptr || done == nullptr || indices == nullptr)
    return next(count, requests, done, indices, statuses);
  test_all_freed();
  Claimed entries(count, requests);
  if (!entries.any()) return next(count, requests, done, indices, statuses);
  const Statuses own(count, statuses);
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
  return some(CW_NEXT(MPI_Waitsome), count, requests, done, indices, statuses);
}

int test_some(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return some(CW_NEXT(MPI_Testsome), count, requests, done, indices, statuses);
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
      put_in(pending, pending->request);
    return code;
  }
  *request = MPI_REQUEST_NULL;
  freed_requests.fetch_add(1, std::memory_order_relaxed);
  const Guard guard(lock);
  freed.push_back(pending);
  return MPI_SUCCESS;
}

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  Pending* pending = none_pending() || flag == nullptr ? nullptr : find(request);
  if (pending == nullptr) return CW_NEXT(MPI_Request_get_status)(request, flag, status);
  const OwnStatus own(status);
  *flag = 0;
  const int code = CW_NEXT(MPI_Request_get_status)(request, flag, own.get());
  if (code == MPI_SUCCESS && *flag != 0) arrive(*pending, *own.get());
  return code;
}

#ifdef CW_HAVE_MPI_Request_get_status_all
int get_status_any(int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (none_pending()) return CW_NEXT(MPI_Request_get_status_any)(count, requests, index, flag, status);
  Entries entries(count, requests);
  const OwnStatus own(status);
  const int code = CW_NEXT(MPI_Request_get_status_any)(count, requests, index, flag, own.get());
  const bool found = code == MPI_SUCCESS && *flag != 0 && *index >= 0 && *index < count;
  if (found && entries[*index] != nullptr) arrive(*entries[*index], *own.get());
  return code;
}

int get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (none_pending()) return CW_NEXT(MPI_Request_get_status_all)(count, requests, flag, statuses);
  Entries entries(count, requests);
  const Statuses own(count, statuses);
  const int code = CW_NEXT(MPI_Request_get_status_all)(count, requests, flag, own.get());
  for (int i = 0; code == MPI_SUCCESS && *flag != 0 && i < count; ++i)
    if (entries[i] != nullptr) arrive(*entries[i], own[i]);
  return code;
}

int get_status_some(int count, const MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  if (none_pending()) return CW_NEXT(MPI_Request_get_status_some)(count, requests, done, indices, statuses);
  Entries entries(count, requests);
  const Statuses own(count, statuses);
  const int code = CW_NEXT(MPI_Request_get_status_some)(count, requests, done, indices, own.get());
  for (int k = 0; code == MPI_SUCCESS && *done != MPI_UNDEFINED && k < *done; ++k)
    if (Pending* pending = entries[indices[k]]) arrive(*pending, own[k]);
  return code;
}
#endif

}  // namespace corewise::preload::packing
