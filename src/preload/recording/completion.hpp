// Completion of requests in any language: what MPI_Wait*, MPI_Test*, MPI_Request_free, MPI_Cancel and MPI_Start*
// mean to the table of requests. A language says what a request and a status are in it (`CLanguage` here, two more
// in fortran.hpp); the forwarding call is handed in. Contract: the requests are known by the C handles they had
// before the call; statuses are the program's own, or ours where it ignores them. Null pointers are the MPI's to
// refuse: nothing is looked up behind them, before the call or after.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/recording/events.hpp"
#include "procedures.hpp"

namespace corewise::preload {

/// How C hands over requests and statuses.
struct CLanguage {
  using Request = MPI_Request;
  using Status = MPI_Status;
  static constexpr int kFirstIndex = 0;
  static std::uint64_t key(const Request& request) { return handle_key(request); }
  static bool ignored(const Status* status) { return status == MPI_STATUS_IGNORE; }
  static bool all_ignored(const Status* statuses) { return statuses == MPI_STATUSES_IGNORE; }
  /// The status as C has it; `room` is there for languages that must convert.
  static const MPI_Status& read(const Status& status, MPI_Status& /*room*/) { return status; }
};

/// A status of ours where the program ignores its own.
template <class Language>
class StandIn {
 public:
  using Status = typename Language::Status;
  explicit StandIn(Status* given) : given_(Language::ignored(given) ? &own_ : given) {}
  Status* get() { return given_; }
  const MPI_Status& value() { return Language::read(*given_, room_); }

 private:
  Status* given_;
  Status own_;
  MPI_Status room_;
};

/// Whether a call ends the requests that it finds complete, or looks at them: then they stay, and what they stood
/// for has come. A program may free them; and a wait for them may not say again what came (a persistent one of
/// MPICH).
enum class Requests : bool { end, stay };

/// The requests of a completion call on many, known by the handle values they had before it. With several threads
/// they are taken out of the table before the call, because a value may come back as another thread's request
/// (requests.hpp). Statuses are the program's own, or ours where it ignores them. Lives in the thread's scratch
/// memory: a call with many requests allocates once in the thread's life.
template <class Language>
class Batch {
 public:
  using Request = typename Language::Request;
  using Status = typename Language::Status;

  /// `own_statuses`: how many are needed when `given` is MPI_STATUSES_IGNORE.
  Batch(Thread& thread, int count, const Request* requests, Status* given, int own_statuses,
        Requests after = Requests::end)
      : after_(after),
        count_(count > 0 && requests != nullptr ? static_cast<std::size_t>(count) : 0),
        requests_(requests),
        statuses_(given) {
    const std::size_t key_bytes = count_ * sizeof(std::uint64_t);
    // Another thread may end meanwhile what this one only looks at.
    const bool takes = process.multiple && after == Requests::end;
    const std::size_t taken_bytes = takes ? count_ * sizeof(Operation) : 0;
    const bool own = Language::all_ignored(given) && own_statuses > 0;
    const std::size_t status_bytes = own ? static_cast<std::size_t>(own_statuses) * sizeof(Status) : 0;
    auto* memory = static_cast<std::byte*>(scratch(thread, key_bytes + taken_bytes + status_bytes));
    if (memory == nullptr) count_ = 0;
    keys_ = reinterpret_cast<std::uint64_t*>(memory);
    for (std::size_t i = 0; i < count_; ++i) keys_[i] = Language::key(requests[i]);
    if (taken_bytes > 0) take_all(reinterpret_cast<Operation*>(memory + key_bytes));
    if (own && memory != nullptr) statuses_ = reinterpret_cast<Status*>(memory + key_bytes + taken_bytes);
  }

  Status* statuses() { return statuses_; }
  const MPI_Status& status(int i) { return Language::read(statuses_[i], room_); }
  /// Whether statuses() holds statuses after the call.
  [[nodiscard]] bool informed() const { return !Language::all_ignored(statuses_); }

  /// What the call waits for: the first few requests that are under way. Before the call.
  void describe(Opening& open) const {
    open.wait(static_cast<int>(count_));
    for (std::size_t i = 0; i < count_ && !open.listed_all(); ++i)
      open.wait_for(taken_ != nullptr ? taken_[i] : peek_operation(keys_[i]));
  }

  /// Request `i` is complete, its status at statuses()[status].
  void complete(Event& event, int i, int status, bool delivered) {
    if (i < 0 || static_cast<std::size_t>(i) >= count_) return;
    Operation operation = take(static_cast<std::size_t>(i));
    if (operation.kind == OperationKind::none) return;
    if (operation.active && delivered) event.completed(operation, this->status(status));
    operation.active = false;
    const bool stays = operation.persistent || after_ == Requests::stay;
    stays ? put_operation(keys_[i], operation) : drop_operation(operation);
  }

  /// All have been started. From here on they are known by the handles that the call left.
  void start(Event& event) {
    for (std::size_t i = 0; i < count_; ++i) {
      Operation operation = take(i);
      if (operation.kind == OperationKind::none) continue;
      operation.cancelled = false;
      event.started(operation);
      put_operation(Language::key(requests_[i]), operation);
    }
    if (!event.counted) event.plain();
  }

  /// What the language counts indices from. MPICH 4.0 counts from 0 in mpi_f08: the requests that are gone tell;
  /// where they stay (persistent ones), what was learnt before holds.
  int first_index(const int* indices, int count) {
    if constexpr (Language::kFirstIndex == 0) return 0;
    static int learnt = Language::kFirstIndex;  // atomic
    for (const int first : {Language::kFirstIndex, 0})
      if (all_gone(indices, count, first)) __atomic_store_n(&learnt, first, __ATOMIC_RELAXED);
    return __atomic_load_n(&learnt, __ATOMIC_RELAXED);
  }

  /// Everything that complete() was not called for is still under way, unless the call failed and ended it: its
  /// handle is gone then, and may come back as any other request.
  void put_rest_back(int code) {
    if (taken_ == nullptr && code == MPI_SUCCESS) return;
    for (std::size_t i = 0; i < count_; ++i) {
      const bool ended = code != MPI_SUCCESS && Language::key(requests_[i]) != keys_[i];
      if (taken_ == nullptr && !ended) continue;
      Operation operation = take(i);
      if (operation.kind == OperationKind::none) continue;
      ended ? drop_operation(operation) : put_operation(keys_[i], operation);
    }
  }

 private:
  bool all_gone(const int* indices, int count, int first) {
    for (int k = 0; k < count; ++k) {
      const int i = indices[k] - first;
      if (i < 0 || static_cast<std::size_t>(i) >= count_ || Language::key(requests_[i]) == keys_[i]) return false;
    }
    return count > 0;
  }

  void take_all(Operation* room) {
    taken_ = room;
    for (std::size_t i = 0; i < count_; ++i) taken_[i] = take_operation(keys_[i]);
  }

  Operation take(std::size_t i) {
    if (taken_ == nullptr) return take_operation(keys_[i]);
    const Operation operation = taken_[i];
    taken_[i].kind = OperationKind::none;
    return operation;
  }

  Requests after_;
  std::size_t count_;
  const Request* requests_;
  Status* statuses_;
  std::uint64_t* keys_ = nullptr;
  Operation* taken_ = nullptr;
  MPI_Status room_;
};

/// One completion call on one request.
template <class Language, class Invoke>
int complete_one(Procedure procedure, const void* caller, typename Language::Request* request,
                 typename Language::Status* status, const int* flag, Invoke invoke) {
  if (request == nullptr)
    return traced(procedure, caller, [&] { return invoke(status); }, [](Event& event) { event.plain(); });
  Thread* thread = recording_thread();
  if (thread == nullptr) return invoke(status);
  const DepthGuard guard(*thread);
  const std::uint64_t key = Language::key(*request);
  Operation operation = take_operation(key);
  StandIn<Language> own(status);
  const std::uint64_t site = site_index(caller);
  Opening open(*thread, procedure, site);
  open.wait(1);
  open.wait_for(operation);
  const std::uint64_t start = now();
  open.enter(start);
  const int code = invoke(own.get());
  Event event{*thread, start, now() - start, procedure, site};
  const bool failed = code != MPI_SUCCESS;  // a flag that was not set must not be read
  const bool done = flag == nullptr || (!failed && *flag != 0);
  done || failed ? event.plain() : event.miss();
  if (operation.kind == OperationKind::none) return code;
  const bool alive = Language::key(*request) == key;
  if (done && !failed && operation.active) event.completed(operation, own.value());
  if (done && operation.persistent) operation.active = false;
  alive ? put_operation(key, operation) : drop_operation(operation);
  return code;
}

/// One completion call that completes at most one of many.
template <class Language, class Invoke>
int complete_any(Procedure procedure, const void* caller, int count, const typename Language::Request* requests,
                 const int* index, const int* flag, typename Language::Status* status, Invoke invoke,
                 Requests after = Requests::end) {
  Thread* thread = recording_thread();
  if (thread == nullptr) return invoke(status);
  const DepthGuard guard(*thread);
  StandIn<Language> own(status);
  Batch<Language> batch(*thread, count, requests, own.get(), 0, after);
  const std::uint64_t site = site_index(caller);
  Opening open(*thread, procedure, site);
  if (flag == nullptr) batch.describe(open);
  const std::uint64_t start = now();
  open.enter(start);
  const int code = invoke(own.get());
  Event event{*thread, start, now() - start, procedure, site};
  if (code != MPI_SUCCESS) {  // which request it was, and whether it is gone, is not said
    event.plain();
  } else if (flag != nullptr && *flag == 0) {
    event.miss();
  } else {
    event.plain();
    if (index != nullptr && *index != MPI_UNDEFINED)
      batch.complete(event, *index - batch.first_index(index, 1), 0, true);
  }
  batch.put_rest_back(code);
  return code;
}

/// Whether the request behind `status` was completed without error by a call that returned `code`.
inline bool delivered(int code, const MPI_Status& status) {
  return code == MPI_SUCCESS || (code == MPI_ERR_IN_STATUS && status.MPI_ERROR == MPI_SUCCESS);
}

inline bool pending(int code, const MPI_Status& status) {
  return code == MPI_ERR_IN_STATUS && status.MPI_ERROR == MPI_ERR_PENDING;
}

/// MPI_Waitall, MPI_Testall, MPI_Request_get_status_all.
template <class Language, class Invoke>
int complete_all(Procedure procedure, const void* caller, int count, const typename Language::Request* requests,
                 const int* flag, typename Language::Status* statuses, Invoke invoke,
                 Requests after = Requests::end) {
  Thread* thread = recording_thread();
  if (thread == nullptr) return invoke(statuses);
  const DepthGuard guard(*thread);
  Batch<Language> batch(*thread, count, requests, statuses, count, after);
  const std::uint64_t site = site_index(caller);
  Opening open(*thread, procedure, site);
  if (flag == nullptr) batch.describe(open);
  const std::uint64_t start = now();
  open.enter(start);
  const int code = invoke(batch.statuses());
  Event event{*thread, start, now() - start, procedure, site};
  const bool settled = code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS;
  const bool done = flag == nullptr || code == MPI_ERR_IN_STATUS || (settled && *flag != 0);
  done || !settled ? event.plain() : event.miss();
  for (int i = 0; done && settled && batch.informed() && i < count; ++i)
    if (!pending(code, batch.status(i))) batch.complete(event, i, i, delivered(code, batch.status(i)));
  batch.put_rest_back(code);
  return code;
}

/// MPI_Waitsome, MPI_Testsome, MPI_Request_get_status_some.
template <class Language, class Invoke>
int complete_some(Procedure procedure, const void* caller, int count, const typename Language::Request* requests,
                  const int* outcount, const int* indices, typename Language::Status* statuses, bool polls,
                  Invoke invoke, Requests after = Requests::end) {
  Thread* thread = recording_thread();
  if (thread == nullptr) return invoke(statuses);
  const DepthGuard guard(*thread);
  Batch<Language> batch(*thread, count, requests, statuses, count, after);
  const std::uint64_t site = site_index(caller);
  Opening open(*thread, procedure, site);
  if (!polls) batch.describe(open);
  const std::uint64_t start = now();
  open.enter(start);
  const int code = invoke(batch.statuses());
  Event event{*thread, start, now() - start, procedure, site};
  const bool settled = code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS;
  const int ended = settled && indices != nullptr ? value_at(outcount, MPI_UNDEFINED) : MPI_UNDEFINED;
  polls&& code == MPI_SUCCESS&& ended == 0 ? event.miss() : event.plain();
  const int first = ended > 0 ? batch.first_index(indices, ended) : 0;
  for (int k = 0; batch.informed() && ended != MPI_UNDEFINED && k < ended; ++k)
    batch.complete(event, indices[k] - first, k, delivered(code, batch.status(k)));
  batch.put_rest_back(code);
  return code;
}

/// MPI_Request_get_status: as Requests::stay says.
template <class Language, class Invoke>
int look_at_request(const void* caller, const typename Language::Request& request, const int* flag,
                    typename Language::Status* status, Invoke invoke) {
  StandIn<Language> own(status);
  return traced(
      kMPI_Request_get_status, caller, [&] { return invoke(own.get()); },
      [&](Event& event) {
        if (value_at(flag, 0) == 0) return event.miss();
        event.plain();
        const std::uint64_t key = Language::key(request);
        Operation operation = take_operation(key);
        if (operation.kind == OperationKind::none) return;
        if (operation.active) event.completed(operation, own.value());
        operation.active = false;
        put_operation(key, operation);
      });
}

/// MPI_Start, MPI_Startall, which may leave other handles: Open MPI goes on under a new one where the last start of
/// a buffered send has not ended.
template <class Language, class Invoke>
int start_requests(Procedure procedure, const void* caller, int count, const typename Language::Request* requests,
                   Invoke invoke) {
  Thread* thread = recording_thread();
  if (thread == nullptr) return invoke();
  Batch<Language> batch(*thread, count, requests, nullptr, 0);
  const int code = traced(procedure, caller, invoke, [&](Event& event) { batch.start(event); });
  batch.put_rest_back(code);
  return code;
}

/// MPI_Request_free.
template <class Language, class Invoke>
int free_request(const void* caller, typename Language::Request* request, Invoke invoke) {
  Operation operation;
  if (request != nullptr && recording_thread() != nullptr) operation = take_operation(Language::key(*request));
  const int code = traced(kMPI_Request_free, caller, invoke, [](Event& event) { event.plain(); });
  if (operation.kind != OperationKind::none) drop_operation(operation);
  return code;
}

/// MPI_Cancel. What another thread waits for is not in the table: its status says whether it was cancelled.
template <class Language, class Invoke>
int cancel_request(const void* caller, typename Language::Request* request, Invoke invoke) {
  const std::uint64_t key = process.recording && request != nullptr ? Language::key(*request) : 0;
  if (process.multiple) __atomic_store_n(&process.cancels, true, __ATOMIC_RELAXED);
  return traced(kMPI_Cancel, caller, invoke, [&](Event& event) {
    event.plain();
    if (request == nullptr) return;
    Operation operation = take_operation(key);
    operation.cancelled = true;
    if (operation.kind != OperationKind::none) put_operation(key, operation);
  });
}

}  // namespace corewise::preload
