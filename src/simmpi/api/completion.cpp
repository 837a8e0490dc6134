// Waits and tests (MPI-3.1, sections 3.7 and 3.9), cancelling, and requests of the program's own (section 12.2).
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <vector>

#include "simmpi/api/entry.hpp"

namespace corewise::simmpi {
namespace {

Request* request_of(MPI_Request handle) {
  return reinterpret_cast<Request*>(handle);
}

/// What a call may wait for: null for no request and for a persistent one that is not started.
Request* live(MPI_Request handle) {
  Request* request = request_of(handle);
  return request != nullptr && request->active ? request : nullptr;
}

std::vector<Request*> live_ones(int count, const MPI_Request* handles) {
  std::vector<Request*> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all.push_back(live(handles[i]));
  return all;
}

void write_empty(MPI_Status* status) {
  write_status(status, {});
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
}

void forget(Request& request) {
  if (request.type != nullptr && request.owned) release(*request.type);
  request.type = nullptr;
  World::dispose(request);
}

int query(Request& request, MPI_Status* status) {
  Background& own = *request.background;
  MPI_Status unseen;
  MPI_Status* to = status != MPI_STATUS_IGNORE ? status : &unseen;
  return own.query != nullptr ? own.query(own.extra, to) : MPI_SUCCESS;
}

/// A done request ends: its status is written, its handle null or inactive. Its error.
int end(Entry& entry, MPI_Request* handle, MPI_Status* status) {
  Request& request = *request_of(*handle);
  entry.record().completed(request);
  int error = request.outcome.error;
  if (request.kind == Request::Kind::generalized) {
    error = query(request, status);
    Background& own = *request.background;
    if (own.free != nullptr) own.free(own.extra);
  } else {
    write_status(status, request.outcome);
  }
  if (request.persistent) {
    request.active = false;
    return error;
  }
  *handle = MPI_REQUEST_NULL;
  forget(request);
  return error;
}

/// The actor has seen the end of the request.
void pay(Actor& actor, const Request& request) {
  actor.clock = std::max(actor.clock, request.done_at) + request.cost;
}

int problem_of(int count, const MPI_Request* requests) {
  return Demands().that(count >= 0, MPI_ERR_COUNT).that(count == 0 || requests != nullptr, MPI_ERR_REQUEST).code();
}

/// Ends all requests, which are done; with an error every status says its own.
int end_all(Entry& entry, int count, MPI_Request* requests, MPI_Status* statuses) {
  bool failed = false;
  Comm* owner = nullptr;
  for (int i = 0; i < count; ++i) {
    const Request* request = live(requests[i]);
    if (request == nullptr || request->outcome.error == MPI_SUCCESS) continue;
    failed = true;
    owner = owner != nullptr ? owner : request->comm;
  }
  for (int i = 0; i < count; ++i) {
    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    if (live(requests[i]) == nullptr) {
      write_empty(status);
      continue;
    }
    const int error = end(entry, &requests[i], status);
    if (failed && status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
  }
  return failed ? entry.raise(owner, MPI_ERR_IN_STATUS) : MPI_SUCCESS;
}

/// Index of a done request; -1 where none is, -2 where there is none to wait for.
int first_done(const std::vector<Request*>& requests) {
  int found = -2;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i] == nullptr) continue;
    if (requests[i]->done) return static_cast<int>(i);
    found = -1;
  }
  return found;
}

int end_one(Entry& entry, MPI_Request* handle, MPI_Status* status) {
  Request& request = *request_of(*handle);
  Comm* comm = request.comm;
  pay(entry.actor(), request);
  entry.about(request.outcome.source, request.outcome.bytes);
  return entry.result(comm, end(entry, handle, status));
}

/// Ends all that are done, in the order of their places.
int end_some(Entry& entry, const std::vector<Request*>& all, MPI_Request* requests, int* outcount, int* indices,
             MPI_Status* statuses) {
  int found = 0;
  bool failed = false;
  Comm* owner = nullptr;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == nullptr || !all[i]->done) continue;
    pay(entry.actor(), *all[i]);
    Comm* comm = all[i]->comm;
    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[found];
    const int error = end(entry, &requests[i], status);
    if (status != MPI_STATUS_IGNORE && error != MPI_SUCCESS) status->MPI_ERROR = error;
    if (error != MPI_SUCCESS) owner = comm;
    failed = failed || error != MPI_SUCCESS;
    indices[found++] = static_cast<int>(i);
  }
  if (found == 0) entry.missed();
  *outcount = found;
  return failed ? entry.raise(owner, MPI_ERR_IN_STATUS) : MPI_SUCCESS;
}

}  // namespace
}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Wait(MPI_Request* request, MPI_Status* status) {
  Entry entry("MPI_Wait");
  if (request == nullptr) return entry.raise(nullptr, MPI_ERR_REQUEST);
  Request* one = live(*request);
  if (one == nullptr) {
    write_empty(status);
    return MPI_SUCCESS;
  }
  Request* const waits[] = {one};
  entry.transport().wait_all(entry.actor(), waits);
  entry.about(one->outcome.source, one->outcome.bytes);
  Comm* comm = one->comm;
  return entry.result(comm, end(entry, request, status));
}

int PMPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  Entry entry("MPI_Waitall");
  if (const int code = problem_of(count, array_of_requests)) return entry.raise(nullptr, code);
  const std::vector<Request*> all = live_ones(count, array_of_requests);
  entry.transport().wait_all(entry.actor(), all);
  return end_all(entry, count, array_of_requests, array_of_statuses);
}

int PMPI_Waitany(int count, MPI_Request array_of_requests[], int* index, MPI_Status* status) {
  Entry entry("MPI_Waitany");
  if (const int code = problem_of(count, array_of_requests)) return entry.raise(nullptr, code);
  if (index == nullptr) return entry.raise(nullptr, MPI_ERR_ARG);
  const std::vector<Request*> all = live_ones(count, array_of_requests);
  int found = first_done(all);
  if (found == -1) {
    entry.transport().wait_any(entry.actor(), all);
    found = first_done(all);
  }
  *index = found < 0 ? MPI_UNDEFINED : found;
  if (found < 0) {
    write_empty(status);
    return MPI_SUCCESS;
  }
  return end_one(entry, &array_of_requests[found], status);
}

int PMPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                  MPI_Status array_of_statuses[]) {
  Entry entry("MPI_Waitsome");
  if (const int code = problem_of(incount, array_of_requests)) return entry.raise(nullptr, code);
  if (outcount == nullptr) return entry.raise(nullptr, MPI_ERR_ARG);
  const std::vector<Request*> all = live_ones(incount, array_of_requests);
  const int found = first_done(all);
  if (found == -2) {
    *outcount = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  if (found == -1) entry.transport().wait_any(entry.actor(), all);
  return end_some(entry, all, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Entry entry("MPI_Test");
  if (request == nullptr) return entry.raise(nullptr, MPI_ERR_REQUEST);
  if (flag == nullptr) return entry.raise(nullptr, MPI_ERR_ARG);
  entry.look();
  const Request* one = live(*request);
  *flag = one == nullptr || one->done ? 1 : 0;
  if (*flag == 0) entry.missed();
  if (one == nullptr) write_empty(status);
  return one != nullptr && one->done ? end_one(entry, request, status) : MPI_SUCCESS;
}

int PMPI_Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  Entry entry("MPI_Testall");
  if (const int code = problem_of(count, array_of_requests)) return entry.raise(nullptr, code);
  if (flag == nullptr) return entry.raise(nullptr, MPI_ERR_ARG);
  entry.look();
  const std::vector<Request*> all = live_ones(count, array_of_requests);
  *flag = std::all_of(all.begin(), all.end(), [](const Request* each) { return each == nullptr || each->done; });
  if (*flag == 0) {
    entry.missed();
    return MPI_SUCCESS;
  }
  for (const Request* each : all) {
    if (each != nullptr) pay(entry.actor(), *each);
  }
  return end_all(entry, count, array_of_requests, array_of_statuses);
}

int PMPI_Testany(int count, MPI_Request array_of_requests[], int* index, int* flag, MPI_Status* status) {
  Entry entry("MPI_Testany");
  if (const int code = problem_of(count, array_of_requests)) return entry.raise(nullptr, code);
  if (flag == nullptr || index == nullptr) return entry.raise(nullptr, MPI_ERR_ARG);
  entry.look();
  const int found = first_done(live_ones(count, array_of_requests));
  *flag = found != -1 ? 1 : 0;
  if (*flag == 0) entry.missed();
  *index = found < 0 ? MPI_UNDEFINED : found;
  if (found == -2) write_empty(status);
  return found >= 0 ? end_one(entry, &array_of_requests[found], status) : MPI_SUCCESS;
}

int PMPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                  MPI_Status array_of_statuses[]) {
  Entry entry("MPI_Testsome");
  if (const int code = problem_of(incount, array_of_requests)) return entry.raise(nullptr, code);
  if (outcount == nullptr) return entry.raise(nullptr, MPI_ERR_ARG);
  entry.look();
  const std::vector<Request*> all = live_ones(incount, array_of_requests);
  if (first_done(all) == -2) {
    *outcount = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  return end_some(entry, all, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

int PMPI_Request_free(MPI_Request* request) {
  Entry entry("MPI_Request_free");
  if (request == nullptr || *request == MPI_REQUEST_NULL) return entry.raise(nullptr, MPI_ERR_REQUEST);
  Request& freed = *request_of(*request);
  *request = MPI_REQUEST_NULL;
  if (freed.kind == Request::Kind::generalized && freed.done && freed.background->free != nullptr) {
    freed.background->free(freed.background->extra);
  }
  if (freed.done) {
    forget(freed);
  } else {
    freed.orphan = true;
  }
  return MPI_SUCCESS;
}

int PMPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  Entry entry("MPI_Request_get_status");
  if (flag == nullptr) return entry.raise(nullptr, MPI_ERR_ARG);
  entry.look();
  Request* one = live(request);
  *flag = one == nullptr || one->done ? 1 : 0;
  if (*flag == 0) entry.missed();
  if (one == nullptr) {
    write_empty(status);
  } else if (one->done && one->kind == Request::Kind::generalized) {
    return query(*one, status);
  } else if (one->done) {
    write_status(status, one->outcome);
  }
  return MPI_SUCCESS;
}

int PMPI_Cancel(MPI_Request* request) {
  Entry entry("MPI_Cancel");
  if (request == nullptr || *request == MPI_REQUEST_NULL) return entry.raise(nullptr, MPI_ERR_REQUEST);
  Request& one = *request_of(*request);
  if (one.kind == Request::Kind::generalized) {
    const Background& own = *one.background;
    return own.cancel != nullptr ? own.cancel(own.extra, one.done ? 1 : 0) : MPI_SUCCESS;
  }
  entry.look();
  entry.transport().cancel(one);
  return MPI_SUCCESS;
}

int PMPI_Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                        MPI_Grequest_cancel_function* cancel_fn, void* extra_state, MPI_Request* request) {
  auto* made = new Request;
  made->kind = Request::Kind::generalized;
  made->active = true;
  made->background = std::make_unique<Background>();
  made->background->query = query_fn;
  made->background->free = free_fn;
  made->background->cancel = cancel_fn;
  made->background->extra = extra_state;
  *request = reinterpret_cast<MPI_Request>(made);
  return MPI_SUCCESS;
}

int PMPI_Grequest_complete(MPI_Request request) {
  Entry entry("MPI_Grequest_complete");
  Request* one = request_of(request);
  if (one == nullptr || one->kind != Request::Kind::generalized) return entry.raise(nullptr, MPI_ERR_REQUEST);
  if (one->orphan && one->background->free != nullptr) one->background->free(one->background->extra);
  entry.transport().complete(*one, entry.actor().clock);
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Wait);
COREWISE_ALIAS(Waitall);
COREWISE_ALIAS(Waitany);
COREWISE_ALIAS(Waitsome);
COREWISE_ALIAS(Test);
COREWISE_ALIAS(Testall);
COREWISE_ALIAS(Testany);
COREWISE_ALIAS(Testsome);
COREWISE_ALIAS(Request_free);
COREWISE_ALIAS(Request_get_status);
COREWISE_ALIAS(Cancel);
COREWISE_ALIAS(Grequest_start);
COREWISE_ALIAS(Grequest_complete);
