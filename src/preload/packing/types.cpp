// The attribute, the cache and the decision to compile; see types.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/types.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>

#include "preload/attributes.hpp"
#include "preload/data.hpp"
#include "preload/described.hpp"
#include "preload/packing/openmpi/engine.hpp"

namespace corewise::preload::packing {

constinit thread_local KnownHandles<Type, kSlots> known __attribute__((tls_model("initial-exec"))){};
constinit Generations<kSlots> generations;

namespace {

constexpr std::uint32_t kWorthwhile = 8;  ///< messages that a compiled type should live to see
constexpr std::uint32_t kMostPatience = 8;
/// MPICH moves a struct whose parts lie side by side piece by piece; Open MPI sees that it is one run.
constexpr bool kPlainPays = !kEngine;

constinit Attribute<OnTypes, Type> attribute;
/// Uses of a handle before it is compiled: grows where types were freed soon after.
constinit std::array<std::atomic<std::uint32_t>, kSlots> patience{};
/// Held while types are looked up or made; a callback of the program may come back here.
std::recursive_mutex making;

/// The attribute's delete callback: MPI frees the type.
int type_freed(MPI_Datatype, int, void* value, void*) {
  auto* type = static_cast<Type*>(value);
  if (type->handle != 0) {
    engine::leave(type->handle);
    if (type->state == Type::State::packed) {
      auto& wait = patience[slot_of<kSlots>(type->handle)];
      const bool wasted = type->messages.load(std::memory_order_relaxed) < kWorthwhile;
      wait.store(wasted ? std::min(kMostPatience, 2 * wait.load() + 1) : 0);
    }
    forget(type->handle);
  }
  release(type);
  return MPI_SUCCESS;
}

/// The copy callback, in MPI_Type_dup: a duplicate of a committed type is committed, and read for itself.
int type_copied(MPI_Datatype, int, void*, void*, void* copy, int* flag) {
  auto* fresh = new (std::nothrow) Type;
  *static_cast<void**>(copy) = fresh;
  *flag = fresh != nullptr ? 1 : 0;
  return MPI_SUCCESS;
}

/// False where the type is to be passed through.
bool compile(Type& type, MPI_Datatype datatype) {
  const std::optional<Described> described = describe(datatype);
  if (!described || described->type.size <= 0) return false;
  const kernels::Datatype* const read = &described->type;
  kernels::PackPlan plan = kernels::PackPlan::compile(*read);
  type.plain = plan.contiguous();
  if (plan.size() != read->size || (type.plain && !kPlainPays)) return false;
  type.size = read->size;
  type.true_lb = read->true_lb;
  type.element = described->element;
  type.plan_.emplace(std::move(plan));
  return true;
}

/// Whether it has been used often enough to be worth reading.
bool is_due(Type& type) {
  const std::uint32_t messages = 1 + patience[slot_of<kSlots>(type.handle)].load(std::memory_order_relaxed);
  return mode() == Mode::always || ++type.uses > messages;
}

/// Reads an unread type, where it is time to.
void decide(Type& type, MPI_Datatype datatype) {
  if (!is_due(type)) return;
  bool packed = false;
  try {
    packed = !gpu_present() && compile(type, datatype);
  } catch (const std::exception&) {
    packed = false;
  }
  type.state = packed ? Type::State::packed : Type::State::passed;
  type.ready.store(packed, std::memory_order_release);
}

/// From here on its messages are met inside the MPI.
void enter_engine(Type& type, MPI_Datatype datatype) {
  type.handle = handle_key(datatype);
  try {
    engine::enter(type.handle, type);
  } catch (const std::bad_alloc&) {  // then they are the MPI's
  }
}

}  // namespace

void release(Type* type) {
  if (type->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete type;
}

void committed(MPI_Datatype datatype) {
  if (!active.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(making);
  if (!attribute.make(type_copied, type_freed) || is_named(datatype) || attribute.of(datatype) != nullptr) return;
  forget(handle_key(datatype));  // a thread may know the handle from a use before the type was committed
  auto* type = new (std::nothrow) Type;
  if (type == nullptr) return;
  if (!attribute.attach(datatype, type)) {
    release(type);
    return;
  }
  enter_engine(*type, datatype);
}

void duplicated(MPI_Datatype datatype) {
  if (!engine::is_on() || !active.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(making);
  Type* type = attribute.of(datatype);
  if (type != nullptr) enter_engine(*type, datatype);
}

bool try_to_read(Type& type, MPI_Datatype datatype) {
  const std::unique_lock lock(making, std::try_to_lock);
  if (!lock.owns_lock() || !active.load(std::memory_order_acquire)) return false;
  if (type.state == Type::State::unread) decide(type, datatype);
  return type.state == Type::State::packed;
}

Type* find_type(MPI_Datatype datatype, std::uint64_t handle) {
  if (!active.load(std::memory_order_acquire) || datatype == MPI_DATATYPE_NULL) return nullptr;
  const std::lock_guard lock(making);
  const std::uint32_t generation = generations.of(handle);
  const bool named = is_named(datatype);
  Type* type = named ? nullptr : attribute.of(datatype);
  if (type != nullptr) {
    type->handle = handle;
    if (type->state == Type::State::unread) decide(*type, datatype);
    if (type->state == Type::State::unread) return nullptr;
    if (type->state == Type::State::passed) type = nullptr;
  }
  known.remember(handle, type, generation);
  return type;
}

void end_types() {
  const std::lock_guard lock(making);
  attribute.end();
  generations.end_all();
}

}  // namespace corewise::preload::packing
