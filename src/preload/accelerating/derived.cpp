// The attribute and the cache; see derived.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/derived.hpp"

#include <cstdint>
#include <exception>
#include <mutex>
#include <new>

#include "preload/attributes.hpp"
#include "preload/described.hpp"
#include "preload/handles.hpp"

namespace corewise::preload::accelerating {
namespace {

/// Uses before a type is compiled: one that is made for a single call may never pay for it.
constexpr int kPatience = 2;
/// Numbers in its envelopes with which it is compiled sooner than many bytes are packed.
constexpr std::int64_t kFewNumbers = 64;
constexpr std::size_t kSlots = 64;

constinit thread_local KnownHandles<Derived, kSlots> known __attribute__((tls_model("initial-exec"))){};
constinit Generations<kSlots> generations;

/// Held while a type is looked up or read; a callback of the program may come back here.
std::recursive_mutex making;

/// What is attached: with the handle under which threads may know it.
struct Attached {
  Derived* derived;
  std::uint64_t handle;
};
constinit Attribute<OnTypes, Attached> attribute;

/// The attribute's delete callback: MPI frees the type.
int type_freed(MPI_Datatype, int, void* value, void*) {
  const auto* attached = static_cast<Attached*>(value);
  generations.end(attached->handle);
  attached->derived->release();
  delete attached;
  return MPI_SUCCESS;
}

Derived* attach(MPI_Datatype datatype, std::uint64_t handle, const Type& type) {
  if (!attribute.make(MPI_TYPE_NULL_COPY_FN, type_freed)) return nullptr;
  if (const Attached* const found = attribute.of(datatype)) return found->derived;
  auto* const fresh = new (std::nothrow) Attached{new (std::nothrow) Derived(type), handle};
  if (fresh == nullptr || fresh->derived == nullptr) return nullptr;
  if (attribute.attach(datatype, fresh)) return fresh->derived;
  fresh->derived->release();
  delete fresh;
  return nullptr;
}

}  // namespace

void Derived::use(MPI_Datatype datatype) {
  if (is_read() || uses_.fetch_add(1, std::memory_order_relaxed) != kPatience) return;
  read(datatype, kMostNumbers);
}

const kernels::PackPlan* Derived::plan_for_many(MPI_Datatype datatype) {
  if (!is_read() && !is_long_.exchange(true, std::memory_order_relaxed)) read(datatype, kFewNumbers);
  return is_read() ? read_.plan : nullptr;
}

const kernels::PackPlan* Derived::plan_at_once(MPI_Datatype datatype) {
  if (!is_read()) read(datatype, kMostNumbers);
  return is_read() ? read_.plan : nullptr;
}

void Derived::read(MPI_Datatype datatype, std::int64_t most) {
  const std::lock_guard lock(making);
  if (is_read()) return;
  try {
    const std::optional<Described> described = describe(datatype, most);
    if (!described || described->type.size != unread_.size || unread_.size <= 0) return;
    plan_.emplace(kernels::PackPlan::compile(described->type));
  } catch (const std::exception&) {  // no memory: the MPI packs
    return;
  }
  if (plan_->size() != unread_.size) return;
  read_ = unread_;
  read_.plain = plan_->contiguous() && unread_.true_lb == 0 && unread_.extent == unread_.size;
  read_.plan = &*plan_;
  ready_.store(true, std::memory_order_release);
}

Derived* known_derived(MPI_Datatype datatype, std::uint64_t handle) {
  const auto* const entry = known.find(handle, generations);
  if (entry == nullptr || entry->object == nullptr) return nullptr;
  entry->object->use(datatype);
  return entry->object;
}

Derived* meet_derived(MPI_Datatype datatype, std::uint64_t handle, const Type& type) {
  const std::lock_guard lock(making);
  const std::uint32_t generation = generations.of(handle);
  Derived* const found = attach(datatype, handle, type);
  if (found == nullptr) return nullptr;
  known.remember(handle, found, generation);
  found->use(datatype);
  return found;
}

void end_derived() {
  const std::lock_guard lock(making);
  attribute.end();
  generations.end_all();
}

}  // namespace corewise::preload::accelerating
