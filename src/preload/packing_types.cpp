// The attribute, the cache and the decision to compile; see packing_types.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing_types.hpp"

#include <algorithm>
#include <mutex>

namespace corewise::preload::packing {

constinit thread_local std::array<Known, kSlots> known __attribute__((tls_model("initial-exec"))) = {};
constinit std::array<std::atomic<std::uint32_t>, kSlots> generations{};

namespace {

constexpr std::uint32_t kWorthwhile = 8;  ///< messages that a compiled type should live to see
constexpr std::uint32_t kMostPatience = 64;

int keyval = MPI_KEYVAL_INVALID;
/// Uses of a handle before it is compiled: grows where types were freed soon after.
constinit std::array<std::atomic<std::uint32_t>, kSlots> patience{};
/// Held while types are looked up or made; a callback of the program may come back here.
std::recursive_mutex making;

/// The attribute's delete callback: MPI frees the type.
int type_freed(MPI_Datatype, int, void* value, void*) {
  auto* type = static_cast<Type*>(value);
  auto& wait = patience[slot_of(type->handle)];
  const bool wasted = type->messages.load(std::memory_order_relaxed) < kWorthwhile;
  wait.store(wasted ? std::min(kMostPatience, 2 * wait.load() + 1) : 0);
  forget(type->handle);
  release(type);
  return MPI_SUCCESS;
}

bool have_key() {
  if (keyval != MPI_KEYVAL_INVALID) return true;
  // A duplicate has no attribute of ours: it is read for itself.
  return CW_NEXT(MPI_Type_create_keyval)(MPI_TYPE_NULL_COPY_FN, type_freed, &keyval, nullptr) == MPI_SUCCESS;
}

Type* attached(MPI_Datatype datatype) {
  void* value = nullptr;
  int found = 0;
  if (CW_NEXT(MPI_Type_get_attr)(datatype, keyval, &value, &found) != MPI_SUCCESS) return nullptr;
  return found != 0 ? static_cast<Type*>(value) : nullptr;
}

bool is_named(MPI_Datatype datatype) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  CW_NEXT(MPI_Type_get_envelope)(datatype, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

/// By MPI's own word: one run, and items without a gap between them. (The order within may be another.)
bool is_dense(MPI_Datatype datatype) {
  MPI_Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  CW_NEXT(MPI_Type_size_x)(datatype, &size);
  CW_NEXT(MPI_Type_get_extent_x)(datatype, &lb, &extent);
  CW_NEXT(MPI_Type_get_true_extent_x)(datatype, &true_lb, &true_extent);
  return size <= 0 || (size == extent && size == true_extent);
}

Type* compiled(MPI_Datatype datatype) {
  const std::optional<kernels::Datatype> read = read_type(datatype);
  if (!read || read->size <= 0) return nullptr;
  kernels::PackPlan plan = kernels::PackPlan::compile(*read);
  if (plan.contiguous() || plan.size() != read->size) return nullptr;
  const double run = plan.mean_run();
  return new Type{std::move(plan), read->size, read->extent, read->true_lb, run, handle_key(datatype)};
}

/// Compiled and attached; null where the type is to be passed through.
Type* made(MPI_Datatype datatype) {
  Type* type = nullptr;
  try {
    type = compiled(datatype);
  } catch (...) {
    return nullptr;
  }
  if (type == nullptr) return nullptr;
  if (CW_NEXT(MPI_Type_set_attr)(datatype, keyval, type) == MPI_SUCCESS) return type;
  release(type);
  return nullptr;
}

/// Whether the handle has been used often enough to be worth reading.
bool is_due(Known& entry, std::uint64_t handle) {
  if (mode() == Mode::always) return true;
  if (entry.candidate != handle) {
    entry.candidate = handle;
    entry.uses = 0;
  }
  return ++entry.uses > 1 + patience[slot_of(handle)].load(std::memory_order_relaxed);
}

}  // namespace

void release(Type* type) {
  if (type->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete type;
}

void forget(std::uint64_t handle) {
  generations[slot_of(handle)].fetch_add(1, std::memory_order_relaxed);
}

Type* find_type(MPI_Datatype datatype, std::uint64_t handle) {
  if (!active.load(std::memory_order_acquire) || datatype == MPI_DATATYPE_NULL) return nullptr;
  const std::size_t slot = slot_of(handle);
  Known& entry = known[slot];
  const std::lock_guard lock(making);
  const std::uint32_t generation = generations[slot].load(std::memory_order_relaxed);
  Type* type = nullptr;
  if (!is_named(datatype)) {
    if (!have_key()) return nullptr;
    type = attached(datatype);
    if (type == nullptr && !(mode() != Mode::always && is_dense(datatype))) {
      if (!is_due(entry, handle)) return nullptr;
      type = made(datatype);
    }
  }
  entry = {handle, type, generation, 0, 0};
  return type;
}

void end_types() {
  const std::lock_guard lock(making);
  if (keyval != MPI_KEYVAL_INVALID) CW_NEXT(MPI_Type_free_keyval)(&keyval);
  keyval = MPI_KEYVAL_INVALID;
  for (auto& generation : generations) generation.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace corewise::preload::packing
