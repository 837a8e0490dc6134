// The calls that wait for requests, test them and look at them; contract in requests.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "available.hpp"
#include "preload/packing/claims.hpp"

namespace corewise::preload::packing {
namespace {

#ifdef COREWISE_PACKING_NO_MEMORY  // for tests
constexpr int kFew = 2;
constexpr bool kHaveMemory = false;
#else
constexpr int kFew = 64;
constexpr bool kHaveMemory = true;
#endif

/// The program's statuses, or ours where it ignores them; null where there is no memory for those.
class Statuses {
 public:
  Statuses(int count, MPI_Status* given, MPI_Status* ignored) : given_(given) {
    if (given != ignored) return;
    const auto n = static_cast<std::size_t>(std::max(count, 1));
    if (count > kFew && kHaveMemory) many_.reset(new (std::nothrow) MPI_Status[n]);
    given_ = count > kFew ? many_.get() : few_.data();
    if (given_ != nullptr) std::memset(static_cast<void*>(given_), 0, n * sizeof(MPI_Status));
  }
  MPI_Status* get() const { return given_; }
  const MPI_Status& operator[](int i) const { return given_[i]; }

 private:
  MPI_Status* given_;
  std::array<MPI_Status, kFew> few_;
  std::unique_ptr<MPI_Status[]> many_;
};

// ---- calls that end requests ----

/// Those that end one request at most: of several, the one that `index` says; where there is a flag, if it says so.
template <class Next>
int end_one(Next next, int count, MPI_Request* requests, const int* index, const int* flag, MPI_Status* status) {
  test_all_freed();
  Claimed entries(count, requests);
  const Statuses own(1, status, MPI_STATUS_IGNORE);
  const int code = next(own.get());
  const int which = index != nullptr ? *index : 0;
  const bool ended = flag == nullptr || code != MPI_SUCCESS || *flag != 0;
  if (ended && which >= 0 && which < count) entries.complete(which, code, false, own[0]);
  return code;
}

// Without memory for the statuses of many requests, which the program ignores then, they are ended by parts: that
// may be slower, no more.

template <class Part>
void by_parts(int count, MPI_Request* requests, Part&& part) {
  for (int at = 0; at < count; at += kFew) part(at, std::min(kFew, count - at), requests + at);
}

/// MPI_Testall, and MPI_Waitall where there is no flag.
int end_all_by_parts(int count, MPI_Request* requests, int* flag) {
  int code = MPI_SUCCESS;
  for (int i = 0; flag != nullptr && i < count; ++i) {
    const int one = get_status(requests[i], flag, MPI_STATUS_IGNORE);
    if (one == MPI_SUCCESS && *flag == 0) return MPI_SUCCESS;
  }
  by_parts(count, requests, [&](int, int n, MPI_Request* some) {
    const int one = wait_all(n, some, MPI_STATUSES_IGNORE);
    if (one != MPI_SUCCESS) code = one;
  });
  return code;
}

/// MPI_Testsome, and MPI_Waitsome where it `waits`.
int end_some_by_parts(bool waits, int count, MPI_Request* requests, int* done, int* indices) {
  bool any = false;
  int code = MPI_SUCCESS, sum = 0;
  do {
    by_parts(count, requests, [&](int at, int n, MPI_Request* some) {
      int found = 0;
      const int one = test_some(n, some, &found, indices + sum, MPI_STATUSES_IGNORE);
      if (one != MPI_SUCCESS) code = one;
      if (found == MPI_UNDEFINED) return;
      any = true;
      for (const int end = sum + found; sum < end; ++sum) indices[sum] += at;
    });
  } while (waits && any && sum == 0 && code == MPI_SUCCESS);
  *done = any ? sum : MPI_UNDEFINED;
  return code;
}

template <class Next>
int end_all(Next next, int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  test_all_freed();
  const Statuses own(count, statuses, MPI_STATUSES_IGNORE);
  if (own.get() == nullptr) return end_all_by_parts(count, requests, flag);
  Claimed entries(count, requests);
  const int code = next(own.get());
  if (code == MPI_SUCCESS && flag != nullptr && *flag == 0) return code;
  const bool in_status = has_class(code, MPI_ERR_IN_STATUS);
  for (Pending* each = entries.first(); each != nullptr; each = each->also)
    entries.complete(*each, code, in_status, own[each->index]);
  return code;
}

template <class Next>
int end_some(Next next, bool waits, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses) {
  test_all_freed();
  const Statuses own(count, statuses, MPI_STATUSES_IGNORE);
  if (own.get() == nullptr) return end_some_by_parts(waits, count, requests, done, indices);
  Claimed entries(count, requests);
  *done = 0;
  const int code = next(count, requests, done, indices, own.get());
  const bool in_status = has_class(code, MPI_ERR_IN_STATUS);
  if (code != MPI_SUCCESS && !in_status) return code;
  for (int k = 0; *done != MPI_UNDEFINED && k < *done; ++k) entries.complete(indices[k], code, in_status, own[k]);
  return code;
}

}  // namespace

int wait(MPI_Request* request, MPI_Status* status) {
  return end_one([&](MPI_Status* own) { return CW_NEXT(MPI_Wait)(request, own); }, 1, request, nullptr, nullptr,
                 status);
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  return end_one([&](MPI_Status* own) { return CW_NEXT(MPI_Test)(request, flag, own); }, 1, request, nullptr, flag,
                 status);
}

int wait_any(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  return end_one([&](MPI_Status* own) { return CW_NEXT(MPI_Waitany)(count, requests, index, own); }, count,
                 requests, index, nullptr, status);
}

int test_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  return end_one([&](MPI_Status* own) { return CW_NEXT(MPI_Testany)(count, requests, index, flag, own); }, count,
                 requests, index, flag, status);
}

int wait_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  return end_all([&](MPI_Status* own) { return CW_NEXT(MPI_Waitall)(count, requests, own); }, count, requests,
                 nullptr, statuses);
}

int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  return end_all([&](MPI_Status* own) { return CW_NEXT(MPI_Testall)(count, requests, flag, own); }, count, requests,
                 flag, statuses);
}

int wait_some(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return end_some(CW_NEXT(MPI_Waitsome), true, count, requests, done, indices, statuses);
}

int test_some(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return end_some(CW_NEXT(MPI_Testsome), false, count, requests, done, indices, statuses);
}

// ---- calls that look at them ----

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const Looked entry(1, &request);
  *flag = 0;
  if (entry.busy()) return MPI_SUCCESS;
  const Statuses own(1, status, MPI_STATUS_IGNORE);
  const int code = CW_NEXT(MPI_Request_get_status)(request, flag, own.get());
  if (code == MPI_SUCCESS && *flag != 0 && entry.any()) arrive(*entry.first(), own[0]);
  return code;
}

#ifdef CW_HAVE_MPI_Request_get_status_all
int get_status_any(int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  Looked entries(count, requests);
  *flag = 0;
  *index = MPI_UNDEFINED;
  if (entries.busy()) return MPI_SUCCESS;
  const Statuses own(1, status, MPI_STATUS_IGNORE);
  const int code = CW_NEXT(MPI_Request_get_status_any)(count, requests, index, flag, own.get());
  Pending* const found = code == MPI_SUCCESS && *flag != 0 ? entries.of(*index) : nullptr;
  if (found != nullptr) arrive(*found, own[0]);
  return code;
}

int get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  const Looked entries(count, requests);
  const Statuses own(count, statuses, MPI_STATUSES_IGNORE);
  *flag = 0;
  if (entries.busy() || own.get() == nullptr) return MPI_SUCCESS;
  const int code = CW_NEXT(MPI_Request_get_status_all)(count, requests, flag, own.get());
  if (code != MPI_SUCCESS || *flag == 0) return code;
  for (Pending* each = entries.first(); each != nullptr; each = each->also) arrive(*each, own[each->index]);
  return code;
}

int get_status_some(int count, const MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  Looked entries(count, requests);
  const Statuses own(count, statuses, MPI_STATUSES_IGNORE);
  *done = 0;
  if (entries.busy() || own.get() == nullptr) return MPI_SUCCESS;
  const int code = CW_NEXT(MPI_Request_get_status_some)(count, requests, done, indices, own.get());
  for (int k = 0; code == MPI_SUCCESS && *done != MPI_UNDEFINED && k < *done; ++k)
    if (Pending* found = entries.of(indices[k])) arrive(*found, own[k]);
  return code;
}
#endif

}  // namespace corewise::preload::packing
