// Looks at the loaded libraries, at what MPI_Pack makes, and at envelopes; see data.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/data.hpp"

#include <link.h>

#include <atomic>
#include <cstring>
#include <string_view>

namespace corewise::preload {
namespace {

constexpr std::string_view kGpuLibraries[] = {"libcuda.so", "libamdhip64.so", "libhsa-runtime64.so",
                                              "libze_loader.so"};

}  // namespace

bool gpu_present() {
  static std::atomic<unsigned long long> seen_added{0};
  static std::atomic<bool> seen_gpu{false};
  unsigned long long added = 0;
  // The first object says how many were ever loaded; all of them are looked at where that has changed.
  const auto count = [](dl_phdr_info* info, std::size_t, void* state) {
    *static_cast<unsigned long long*>(state) = info->dlpi_adds;
    return 1;
  };
  const auto look = [](dl_phdr_info* info, std::size_t, void* state) {
    const std::string_view path = info->dlpi_name;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    for (const std::string_view library : kGpuLibraries)
      if (name.substr(0, library.size()) == library) *static_cast<bool*>(state) = true;
    return 0;
  };
  if (seen_gpu.load(std::memory_order_relaxed)) return true;
  dl_iterate_phdr(count, &added);
  if (added == seen_added.load(std::memory_order_relaxed)) return false;
  bool gpu = false;
  dl_iterate_phdr(look, &gpu);
  seen_gpu.store(gpu, std::memory_order_relaxed);
  seen_added.store(added, std::memory_order_relaxed);
  return gpu;
}

bool packs_plain_bytes(MPI_Comm comm) {
  const int items[4] = {0x01020304, 0, 0x05060708, 0};
  const int wanted[2] = {items[0], items[2]};
  char packed[64] = {};
  int position = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CW_NEXT(MPI_Type_vector)(2, 1, 2, MPI_INT, &type);
  CW_NEXT(MPI_Type_commit)(&type);
  CW_NEXT(MPI_Pack)(items, 1, type, packed, sizeof packed, &position, comm);
  CW_NEXT(MPI_Type_free)(&type);
  return position == sizeof wanted && std::memcmp(packed, wanted, sizeof wanted) == 0;
}

bool read_envelope(MPI_Datatype type, Envelope& found) {
#ifdef CW_HAVE_MPI_Type_get_envelope_c
  return CW_NEXT(MPI_Type_get_envelope_c)(type, &found.integers, &found.addresses, &found.counts, &found.types,
                                          &found.combiner) == MPI_SUCCESS;
#else
  return CW_NEXT(MPI_Type_get_envelope)(type, &found.integers, &found.addresses, &found.types, &found.combiner) ==
         MPI_SUCCESS;
#endif
}

bool read_bounds(MPI_Datatype type, Bounds& bounds) {
  return CW_NEXT(MPI_Type_size_x)(type, &bounds.size) == MPI_SUCCESS &&
         CW_NEXT(MPI_Type_get_extent_x)(type, &bounds.lb, &bounds.extent) == MPI_SUCCESS &&
         CW_NEXT(MPI_Type_get_true_extent_x)(type, &bounds.true_lb, &bounds.true_extent) == MPI_SUCCESS;
}

bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

bool is_named(MPI_Datatype datatype) {
  Envelope envelope;
  read_envelope(datatype, envelope);
  return is_predefined(envelope.combiner);
}

}  // namespace corewise::preload
