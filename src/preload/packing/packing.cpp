// Mode, calibration, and what is not ours to touch; see packing.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/packing.hpp"

#include <link.h>
#include <time.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/knobs.hpp"
#include "preload/packing/calls.hpp"
#include "preload/packing/openmpi/engine.hpp"

namespace corewise::preload::packing {

std::atomic<bool> active{false};
std::atomic<bool> many_threads{true};

namespace {

constexpr Knob kPacking{
    "packing", KnobType::text, "auto",
    "off, always, always;rotate=BYTES:FROM, engine, auto, or a tuning file's rows (send=BYTES:RUNS,...;...)",
    "which non-contiguous messages are packed by corewise; auto: found by timing, once"};

// ---- calibration ----

[[maybe_unused]] constexpr double kGain = 1.15;  ///< a packed message is copied once more than the MPI's own pieces
constexpr int kTries = 3;
constexpr std::int64_t kSizes[] = {1 << 10, 1 << 15, 1 << 18};           ///< bytes of a message
constexpr std::int64_t kRuns[] = {8, 16, 32, 64, 128, 512, 2048, 8192};  ///< bytes

double now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// The shortest of some tries, after one that warms up.
template <class Work>
double time_of(Work&& work) {
  double best = 0;
  for (int i = 0; i <= kTries; ++i) {
    const double begin = now_ns();
    work();
    const double took = now_ns() - begin;
    if (i == 1 || (i > 1 && took < best)) best = took;
  }
  return best;
}

/// Half-dense vectors of one size and run, both ways.
struct Trial {
  Trial(std::int64_t bytes, std::int64_t run)
      : plan(kernels::PackPlan::compile(kernels::hvector(bytes / run, run, 2 * run, kernels::basic(1)))),
        sample_bytes(bytes),
        sample_run(run) {
    CW_NEXT(MPI_Type_vector)
    (static_cast<int>(bytes / run), static_cast<int>(run), static_cast<int>(2 * run), MPI_BYTE, &type);
    CW_NEXT(MPI_Type_commit)(&type);
  }
  ~Trial() { CW_NEXT(MPI_Type_free)(&type); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  kernels::PackingSample packing(void* items, void* packed) {
    const auto size = static_cast<int>(sample_bytes);
    const double theirs = time_of([&] {
      int position = 0;
      CW_NEXT(MPI_Pack)(items, 1, type, packed, size, &position, MPI_COMM_SELF);
    });
    const double ours = time_of([&] { plan.pack(items, 1, 0, packed, static_cast<std::size_t>(size)); });
    return {sample_bytes, sample_run, theirs, ours};
  }
  kernels::PackingSample unpacking(void* items, void* packed) {
    const auto size = static_cast<int>(sample_bytes);
    const double theirs = time_of([&] {
      int position = 0;
      CW_NEXT(MPI_Unpack)(packed, size, &position, items, 1, type, MPI_COMM_SELF);
    });
    const double ours = time_of([&] { plan.unpack(items, 1, 0, packed, static_cast<std::size_t>(size)); });
    return {sample_bytes, sample_run, theirs, ours};
  }

  kernels::PackPlan plan;
  std::int64_t sample_bytes;
  std::int64_t sample_run;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

kernels::PackingCosts calibrated() {
  std::vector<kernels::PackingSample> packs, unpacks;
  std::vector<char> items(2 * static_cast<std::size_t>(std::end(kSizes)[-1]), 1);
  std::vector<char> packed(items.size() / 2, 1);
  for (const std::int64_t bytes : kSizes)
    for (const std::int64_t run : kRuns) {
      if (2 * run > bytes) continue;
      Trial trial(bytes, run);
      packs.push_back(trial.packing(items.data(), packed.data()));
      unpacks.push_back(trial.unpacking(items.data(), packed.data()));
    }
  kernels::PackingCosts found;
  const auto set = [&found](PackingUse use, const std::vector<kernels::PackingSample>& samples, double gain) {
    found.rows[static_cast<std::size_t>(use)][0] = kernels::packing_rows(samples, gain, kMostBytes);
  };
#ifndef OPEN_MPI
  // Open MPI packs into the memory that its ranks share, and saves the copy that a packed message has more: what
  // its engine takes says nothing of its messages, so without a tuning row they are its own.
  set(PackingUse::send, packs, kGain);
  set(PackingUse::receive, unpacks, kGain);
  std::vector<kernels::PackingSample> sums(packs);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i].theirs += unpacks[i].theirs;
    sums[i].ours += unpacks[i].ours;
  }
  set(PackingUse::both, sums, kGain);
#endif
  set(PackingUse::pack, packs, 1.0);
  set(PackingUse::unpack, unpacks, 1.0);
  return found;
}

struct Choice {
  Mode mode = Mode::costs;
  std::optional<kernels::PackingCosts> given;
};

constexpr std::string_view kAlwaysAnd = "always;";  ///< and "rotate=BYTES:FROM"

const Choice& choice() {
  static const Choice& chosen = *new Choice([] {
    const std::string_view text = knob_text(kPacking);
    if (text == "off") return Choice{Mode::off, {}};
    if (text == "always") return Choice{Mode::always, kernels::PackingCosts{}};
    if (text.starts_with(kAlwaysAnd))
      if (const auto turns = kernels::parse_packing_costs(text.substr(kAlwaysAnd.size())))
        return Choice{Mode::always, turns};
    if (text == "engine") return Choice{Mode::engine, {}};
    return Choice{Mode::costs, kernels::parse_packing_costs(text)};
  }());
  return chosen;
}

/// Whether a side's choice may be another one with another partner.
bool sides_are_chosen() {
  if (choice().mode != Mode::costs) return false;
#ifdef OPEN_MPI
  if (!choice().given) return false;
#endif
  if (!choice().given) return true;
  const auto has_runs = [](PackingUse use) {
    const auto& both = choice().given->rows[static_cast<std::size_t>(use)];
    return std::any_of(both.begin(), both.end(), [](const kernels::PackingCosts::Rows& rows) {
      return std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row.runs.empty(); });
    });
  };
  return has_runs(PackingUse::send) || has_runs(PackingUse::receive) || has_runs(PackingUse::both);
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

const kernels::PackingCosts& costs() {
  static const kernels::PackingCosts& found = *new kernels::PackingCosts([] {
    if (choice().given) return *choice().given;
    try {
      return calibrated();
    } catch (...) {
      return kernels::PackingCosts{};  // no memory to find out: everything is the MPI's
    }
  }());
  return found;
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
  int level = MPI_THREAD_MULTIPLE;
  CW_NEXT(MPI_Query_thread)(&level);
  if (level == MPI_THREAD_MULTIPLE) many_threads.store(true, std::memory_order_relaxed);
  const bool plain = packs_plain_bytes();
  if (plain && !gpu_present()) engine::begin();
  hints::begin(plain && sides_are_chosen());
  active.store(plain, std::memory_order_release);
}

void end() {
  hints::end();
  active.store(false, std::memory_order_release);
}

}  // namespace corewise::preload::packing
