// Looking up what belongs to an MPI's Fortran: entries by their PMPI names, and the objects whose addresses are the
// constants MPI_IN_PLACE, MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE; see fortran.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/fortran.hpp"

#include <dlfcn.h>

namespace corewise::preload::fortran {
namespace {

/// In the process at large, else in the Fortran libraries wherever they are loaded: a program may have opened them
/// for itself alone.
void* look_up(const char* name, void* where) {
  if (void* found = dlsym(where, name)) return found;
  for (const char* const* library = kLibraries; *library != nullptr; ++library) {
    void* opened = dlopen(*library, RTLD_LAZY | RTLD_NOLOAD);
    if (opened == nullptr) continue;
    void* found = dlsym(opened, name);
    dlclose(opened);
    if (found != nullptr) return found;
  }
  return nullptr;
}

/// The addresses that stand for one constant. Open MPI has an object per spelling, whose address is the constant;
/// MPICH has such objects for mpi_f08, and for mpif.h pointers that are set when Fortran is first used.
class Sentinel {
 public:
  constexpr Sentinel(const char* const (&objects)[5], const char* const (&pointers)[2])
      : object_names_(objects), pointer_names_(pointers) {}

  [[nodiscard]] bool is(const void* address) const {
    for (const void* object : objects_)
      if (address == object && object != nullptr) return true;
    for (const void* const* pointer : pointers_)
      if (pointer != nullptr && *pointer == address && address != nullptr) return true;
    return false;
  }

  void find() {
    for (std::size_t i = 0; i < std::size(objects_); ++i) objects_[i] = look_up(object_names_[i], RTLD_DEFAULT);
    for (std::size_t i = 0; i < std::size(pointers_); ++i)
      if (pointer_names_[i] != nullptr)
        pointers_[i] = static_cast<const void* const*>(look_up(pointer_names_[i], RTLD_DEFAULT));
  }

 private:
  const char* const (&object_names_)[5];
  const char* const (&pointer_names_)[2];
  const void* objects_[5] = {};
  const void* const* pointers_[2] = {};
};

constexpr const char* kInPlaceObjects[5] = {"mpi_fortran_in_place_", "mpi_fortran_in_place",
                                            "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE",
                                            "MPIR_F08_MPI_IN_PLACE"};
constexpr const char* kInPlacePointers[2] = {"MPIR_F_MPI_IN_PLACE", nullptr};
constexpr const char* kStatusObjects[5] = {"mpi_fortran_status_ignore_", "mpi_fortran_status_ignore",
                                           "mpi_fortran_status_ignore__", "MPI_FORTRAN_STATUS_IGNORE",
                                           "MPIR_F08_MPI_STATUS_IGNORE_OBJ"};
constexpr const char* kStatusPointers[2] = {"MPI_F_STATUS_IGNORE", "MPI_F08_STATUS_IGNORE"};
constexpr const char* kStatusesObjects[5] = {"mpi_fortran_statuses_ignore_", "mpi_fortran_statuses_ignore",
                                             "mpi_fortran_statuses_ignore__", "MPI_FORTRAN_STATUSES_IGNORE",
                                             "MPIR_F08_MPI_STATUSES_IGNORE_OBJ"};
constexpr const char* kStatusesPointers[2] = {"MPI_F_STATUSES_IGNORE", "MPI_F08_STATUSES_IGNORE"};

constinit Sentinel in_place(kInPlaceObjects, kInPlacePointers);
constinit Sentinel status_ignore(kStatusObjects, kStatusPointers);
constinit Sentinel statuses_ignore(kStatusesObjects, kStatusesPointers);
bool found_all = false;  ///< atomic

/// MPICH learns the addresses of its Fortran constants in the first Fortran call of the process, whatever it is:
/// let it be one that does nothing else.
void wake_up_fortran() {
  using Initialized = void (*)(MPI_Fint*, MPI_Fint*);
  const auto ask = reinterpret_cast<Initialized>(look_up("pmpi_initialized_", RTLD_DEFAULT));
  if (ask == nullptr || look_up("MPIR_F_NeedInit", RTLD_DEFAULT) == nullptr) return;
  const Shield shield;
  MPI_Fint flag = 0;
  MPI_Fint code = 0;
  ask(&flag, &code);
}

[[gnu::noinline]] void find_sentinels() {
  wake_up_fortran();
  // Threads that come here at one time write the same values.
  in_place.find();
  status_ignore.find();
  statuses_ignore.find();
  __atomic_store_n(&found_all, true, __ATOMIC_RELEASE);
}

inline bool is(const Sentinel& sentinel, const void* address) {
  if (!__atomic_load_n(&found_all, __ATOMIC_ACQUIRE)) [[unlikely]]
    find_sentinels();
  return sentinel.is(address);
}

}  // namespace

void* find_twin(Entry& entry) {
  void* found = look_up(entry.twin, RTLD_NEXT);
  __atomic_store_n(&entry.found, found, __ATOMIC_RELAXED);
  return found;
}

bool is_in_place(const void* address) {
  return is(in_place, address);
}

bool is_status_ignore(const void* address) {
  return is(status_ignore, address);
}

bool is_statuses_ignore(const void* address) {
  return is(statuses_ignore, address);
}

}  // namespace corewise::preload::fortran
