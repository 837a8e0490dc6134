// Derived: datatypes that the program made, as collectives know them. One that is used again and again is read
// through its envelopes and compiled (kernels/packing); what is known of a type is an attribute on it and goes with
// it. A small cache of each thread answers for handles that it has met. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/packing/plans/pack.hpp"
#include "preload/data.hpp"
#include "preload/next.hpp"

namespace corewise::preload::accelerating {

class Derived;

/// How a datatype lies in memory.
struct Type : Bounds {
  bool plain = false;                       ///< any number of items is one run of bytes, in the order of the data
  bool named = false;                       ///< it is predefined
  const kernels::PackPlan* plan = nullptr;  ///< null: the MPI packs
  Derived* derived = nullptr;               ///< of one that the program made, as long as it is held
};

class Derived {
 public:
  explicit Derived(const Type& type) : unread_(type) { unread_.derived = this; }
  Derived(const Derived&) = delete;
  Derived& operator=(const Derived&) = delete;

  /// As it is known now; that stays as long as it is held.
  [[nodiscard]] const Type& type() const { return is_read() ? read_ : unread_; }
  [[nodiscard]] bool is_read() const { return ready_.load(std::memory_order_acquire); }
  /// It is used once more: reads it where that is due.
  void use(MPI_Datatype datatype);
  /// Its plan, which is made if it has none: for many bytes if that takes no time, and for data that an MPI may not
  /// pack in any case. Null where there can be none.
  const kernels::PackPlan* plan_for_many(MPI_Datatype datatype);
  const kernels::PackPlan* plan_at_once(MPI_Datatype datatype);

  void hold() { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~Derived() = default;
  void read(MPI_Datatype datatype, std::int64_t most);

  Type unread_, read_;
  std::optional<kernels::PackPlan> plan_;
  std::atomic<int> holders_{1}, uses_{0};
  std::atomic<bool> ready_{false}, is_long_{false};
};

/// Holds one for the time of a call.
class Held {
 public:
  Held() = default;
  explicit Held(Derived* derived) : derived_(derived) {
    if (derived_ != nullptr) derived_->hold();
  }
  Held(const Held& other) : Held(other.derived_) {}
  Held& operator=(Held other) noexcept {
    std::swap(derived_, other.derived_);
    return *this;
  }
  ~Held() {
    if (derived_ != nullptr) [[unlikely]]
      derived_->release();
  }

 private:
  Derived* derived_ = nullptr;
};

/// What is known of a type with this handle, which is used now; null for one that a thread has not met, or that
/// cannot be known.
Derived* known_derived(MPI_Datatype datatype, std::uint64_t handle);
/// The same of a derived type that it has not met.
Derived* meet_derived(MPI_Datatype datatype, std::uint64_t handle, const Type& type);

/// The key of the attribute ends with MPI.
void end_derived();

}  // namespace corewise::preload::accelerating
