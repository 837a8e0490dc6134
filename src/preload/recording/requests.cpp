// The bounded request table: an index of chains over a pool with a free list; see requests.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/requests.hpp"

#include <sched.h>

#include <cstdlib>

namespace corewise::preload {
namespace {

/// A lock that is taken only when several threads may call MPI; waits yield, cores are shared.
class TableLock {
 public:
  explicit TableLock(bool& flag) : flag_(process.multiple ? &flag : nullptr) {
    while (flag_ != nullptr && __atomic_test_and_set(flag_, __ATOMIC_ACQUIRE)) sched_yield();
  }
  ~TableLock() {
    if (flag_ != nullptr) __atomic_clear(flag_, __ATOMIC_RELEASE);
  }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;

 private:
  bool* flag_;
};

/// Chained hash over a pool of fixed size. The pool is untouched zero pages until it is used, and the free list
/// hands out the most recently used entry first.
template <class Value, std::uint32_t kCapacity, std::uint32_t kChains>
class Table {
 public:
  bool put(std::uint64_t key, const Value& value) {
    const TableLock lock(locked_);
    const std::uint32_t entry = claim();
    if (entry == 0) return false;
    std::uint32_t& chain = chains_[chain_of(key)];
    pool_[entry] = {key, chain, value};
    chain = entry;
    return true;
  }

  bool peek(std::uint64_t key, Value& value) {
    const TableLock lock(locked_);
    std::uint32_t entry = chains_[chain_of(key)];
    while (entry != 0 && pool_[entry].key != key) entry = pool_[entry].next;
    if (entry != 0) value = pool_[entry].value;
    return entry != 0;
  }

  bool take(std::uint64_t key, Value& value) {
    const TableLock lock(locked_);
    for (std::uint32_t* link = &chains_[chain_of(key)]; *link != 0; link = &pool_[*link].next) {
      const std::uint32_t entry = *link;
      if (pool_[entry].key != key) continue;
      *link = pool_[entry].next;
      value = pool_[entry].value;
      pool_[entry].next = free_;
      free_ = entry;
      return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kPage = 4096;

  struct Entry {
    std::uint64_t key;
    std::uint32_t next;
    Value value;
  };

  static std::uint32_t chain_of(std::uint64_t key) {
    return static_cast<std::uint32_t>((key * 0x9e3779b97f4a7c15ULL) >> 40) % kChains;
  }

  /// Index of a free entry, 0 when none is left.
  std::uint32_t claim() {
    if (free_ != 0) {
      const std::uint32_t entry = free_;
      free_ = pool_[entry].next;
      return entry;
    }
    if (pool_ == nullptr) pool_ = static_cast<Entry*>(std::calloc(kCapacity + 1, sizeof(Entry)));
    if (pool_ == nullptr || used_ == kCapacity) return 0;
    ++used_;
    if (used_ * sizeof(Entry) % kPage < sizeof(Entry)) note_memory(kPage);
    return used_;
  }

  bool locked_ = false;
  std::uint32_t free_ = 0;
  std::uint32_t used_ = 0;
  Entry* pool_ = nullptr;
  std::uint32_t chains_[kChains] = {};
};

constinit Table<Operation, 65536, 1024> operations;
constinit Table<Communicator*, 1024, 64> messages;

}  // namespace

void count_lost_request() {
  __atomic_fetch_add(&process.file->lost_requests, 1, __ATOMIC_RELAXED);
}

void put_operation(std::uint64_t handle, const Operation& operation) {
  if (operations.put(handle, operation)) return;
  count_lost_request();
  Operation lost = operation;
  drop_operation(lost);
}

Operation take_operation(std::uint64_t handle) {
  Operation operation;
  operations.take(handle, operation);
  return operation;
}

Operation peek_operation(std::uint64_t handle) {
  Operation operation;
  operations.peek(handle, operation);
  return operation;
}

void drop_operation(Operation& operation) {
  if (operation.comm != nullptr) release(operation.comm);
  std::free(operation.parts);
  operation = Operation{};
}

void put_message_comm(std::uint64_t message, Communicator* comm) {
  retain(comm);
  if (messages.put(message, comm)) return;
  count_lost_request();
  release(comm);
}

Communicator* take_message_comm(std::uint64_t message) {
  Communicator* comm = nullptr;
  messages.take(message, comm);
  return comm;
}

}  // namespace corewise::preload
