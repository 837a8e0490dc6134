// What a library knows of a handle, as an attribute of MPI's on it: so it ends with the object, whoever frees that.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include "preload/next.hpp"

namespace corewise::preload {

/// MPI's procedures for attributes of communicators, and those of datatypes.
struct OnCommunicators {
  using Handle = MPI_Comm;
  static auto* make_key() { return CW_NEXT(MPI_Comm_create_keyval); }
  static auto* free_key() { return CW_NEXT(MPI_Comm_free_keyval); }
  static auto* get() { return CW_NEXT(MPI_Comm_get_attr); }
  static auto* set() { return CW_NEXT(MPI_Comm_set_attr); }
};
struct OnTypes {
  using Handle = MPI_Datatype;
  static auto* make_key() { return CW_NEXT(MPI_Type_create_keyval); }
  static auto* free_key() { return CW_NEXT(MPI_Type_free_keyval); }
  static auto* get() { return CW_NEXT(MPI_Type_get_attr); }
  static auto* set() { return CW_NEXT(MPI_Type_set_attr); }
};

/// An attribute whose value is an object. Its key is made at first use and ends with MPI: both under a lock of the
/// caller's. Nothing is attached while there is no key.
template <class Kind, class Object>
class Attribute {
 public:
  using Handle = typename Kind::Handle;

  /// Whether there is a key, which is made if there was none.
  bool make(auto* copied, auto* freed) {
    if (key_ != MPI_KEYVAL_INVALID) return true;
    int made = MPI_KEYVAL_INVALID;
    if (Kind::make_key()(copied, freed, &made, nullptr) != MPI_SUCCESS) return false;
    key_ = made;
    return true;
  }
  /// What is attached to a handle, or null.
  Object* of(Handle handle) const {
    void* value = nullptr;
    int found = 0;
    if (key_ == MPI_KEYVAL_INVALID) return nullptr;
    if (Kind::get()(handle, key_, static_cast<void*>(&value), &found) != MPI_SUCCESS) return nullptr;
    return found != 0 ? static_cast<Object*>(value) : nullptr;
  }
  /// False where MPI refuses.
  bool attach(Handle handle, Object* object) { return Kind::set()(handle, key_, object) == MPI_SUCCESS; }
  void end() {
    int made = key_.exchange(MPI_KEYVAL_INVALID);
    if (made != MPI_KEYVAL_INVALID) Kind::free_key()(&made);
  }

 private:
  std::atomic<int> key_{MPI_KEYVAL_INVALID};
};

}  // namespace corewise::preload
