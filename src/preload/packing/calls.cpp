// What the calls share; contract in calls.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/calls.hpp"

#include "preload/data.hpp"

namespace corewise::preload::packing {
namespace {

/// Types with absolute addresses have MPI_BOTTOM for a buffer; below this no data of a program lie.
constexpr std::int64_t kLeastAddress = 1 << 16;

}  // namespace

bool taken(Type& type, const void* items, std::int64_t count, PackingUse use, int peer) {
  if (peer == MPI_PROC_NULL) return false;
  if (count <= 0 || count > kMostBytes / type.size) return false;
  if (items == nullptr && type.true_lb < kLeastAddress) return false;  // MPI says what is wrong with it
  if (type.in_one_run(count) || !type.pays(use, type.size * count)) return false;
  type.messages.fetch_add(1, std::memory_order_relaxed);
  return !gpu_present();
}

char* plain_bytes(const Type& type, const void* items, std::int64_t count, std::int64_t most, std::int64_t& bytes) {
  if (count <= 0 || count > most / type.size) return nullptr;
  if (items == nullptr && type.true_lb < kLeastAddress) return nullptr;
  bytes = type.size * count;
  return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(items) +
                                 static_cast<std::uintptr_t>(type.true_lb));
}

int posted(int code, std::unique_ptr<Pending> pending, bool persistent, MPI_Request request) {
  if (code != MPI_SUCCESS || request == MPI_REQUEST_NULL) return code;
  int complete = 0;
  if (pending->kind == Kind::send && !persistent)
    CW_NEXT(MPI_Request_get_status)(request, &complete, MPI_STATUS_IGNORE);
  if (complete != 0) return code;
  pending->persistent = persistent;
  pending->active = !persistent;
  remember(pending.release(), request);
  return code;
}

}  // namespace corewise::preload::packing
