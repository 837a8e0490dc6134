// Words and entries of Fortran; see fortran.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/reordering/fortran.hpp"

#include <string>

namespace corewise::preload::reorder {

void* fortran_entry(const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  for (const char* const* library = kLibraries; *library != nullptr; ++library) {
    void* opened = dlopen(*library, RTLD_LAZY | RTLD_NOLOAD);
    if (opened == nullptr) continue;
    void* found = dlsym(opened, name);
    dlclose(opened);
    if (found != nullptr) return found;
  }
  return nullptr;
}

void* actual_word(void* word) {
  static MPI_Fint own = 0;  // every thread writes the same
  if (!active || word == nullptr) return word;
  const MPI_Comm comm = PMPI_Comm_f2c(*static_cast<const MPI_Fint*>(word));
  if (comm != MPI_COMM_WORLD) return word;
  __atomic_store_n(&own, PMPI_Comm_c2f(stand_in), __ATOMIC_RELAXED);
  return &own;
}

void arrange_fortran_group(const void* set, const void* length, void* group) {
  const std::string all(static_cast<const char*>(set), reinterpret_cast<std::size_t>(length));
  auto* integer = static_cast<MPI_Fint*>(group);
  MPI_Group arranged = PMPI_Group_f2c(*integer);
  arrange_group(all.substr(0, all.find_last_not_of(' ') + 1).c_str(), &arranged);
  *integer = PMPI_Group_c2f(arranged);
}

}  // namespace corewise::preload::reorder
