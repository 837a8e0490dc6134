// Mode, and what is not ours to touch; see packing.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/packing.hpp"

#include <link.h>

#include <string_view>

#include "base/knobs.hpp"
#include "preload/packing/calls.hpp"
#include "preload/packing/openmpi/engine.hpp"

namespace corewise::preload::packing {

std::atomic<bool> active{false};

namespace {

constexpr Knob kPacking{"packing", KnobType::text, "off",
                        "off, always, or a tuning's rows (message=BYTES:RUNS,...;...)",
                        "which non-contiguous messages are packed by corewise"};

struct Choice {
  Mode mode = Mode::off;
  kernels::PackingTable table;
};

const Choice& choice() {
  static const Choice& chosen = *new Choice([] {
    const std::string_view text = knob_text(kPacking);
    if (text == "always") return Choice{Mode::always, {}};
    if (const auto found = kernels::parse_packing_table(text)) return Choice{Mode::table, *found};
    return Choice{};
  }());
  return chosen;
}

// ---- what is not ours ----

constexpr std::string_view kGpuLibraries[] = {"libcuda.so", "libamdhip64.so", "libhsa-runtime64.so",
                                              "libze_loader.so"};

/// Whether the packed form is the bytes themselves, as it is where all processes have one kind of data.
bool packs_plain_bytes() {
  const int items[4] = {0x01020304, 0, 0x05060708, 0};
  const int wanted[2] = {items[0], items[2]};
  char packed[64] = {};
  int position = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CW_NEXT(MPI_Type_vector)(2, 1, 2, MPI_INT, &type);
  CW_NEXT(MPI_Type_commit)(&type);
  CW_NEXT(MPI_Pack)(items, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF);
  CW_NEXT(MPI_Type_free)(&type);
  return position == sizeof wanted && std::memcmp(packed, wanted, sizeof wanted) == 0;
}

}  // namespace

Mode mode() {
  return choice().mode;
}

const kernels::PackingTable& table() {
  return choice().table;
}

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

void begin() {
  if (mode() == Mode::off || active.load(std::memory_order_relaxed)) return;
  const bool plain = packs_plain_bytes();
  if (plain && !gpu_present()) engine::begin();
  active.store(plain, std::memory_order_release);
}

void end() {
  active.store(false, std::memory_order_release);
}

}  // namespace corewise::preload::packing
