// The library's life and its knobs; see accelerating.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/accelerating.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/knobs.hpp"
#include "kernels/copy/copy.hpp"
#include "preload/accelerating/communicators.hpp"
#include "preload/accelerating/counts.hpp"
#include "preload/data.hpp"
#include "preload/environment.hpp"

namespace corewise::preload::accelerating {

std::atomic<bool> active{false};

namespace {

constexpr Knob kAccelerate{"accelerate", KnobType::text, "on",
                           "off, on, always, or a table's rows (allreduce=BYTES:ALGORITHM,...;...)",
                           "which collectives are corewise's own"};
constexpr Knob kAfter{"accelerate_after", KnobType::text, "4", "a number",
                      "collectives that a communicator leaves to the MPI before it is set up"};
constexpr Knob kCopy{"accelerate_copy", KnobType::text, "", "a copy tuning in one line (kernels/copy/copy.hpp)",
                     "which loops copy between user memory and stages; empty: those that fit every processor"};

constexpr Knob kDirect{"accelerate_direct", KnobType::choice, "on", "on|off",
                       "whether ranks copy to and from each other's memory, where the system lets them"};

/// A piece of so many bytes or more goes past the caches, on processors of the maker whose were measured
/// (docs/decisions/0012-collectives-past-the-caches.md).
constexpr std::size_t kPastCaches = 8192;

kernels::CopyTuning built_in_copies() {
  kernels::CopyTuning tuning = kernels::CopyTuning::untuned();
#if defined(__x86_64__)
  const kernels::CopyKernel* const kernel = kernels::find_copy_kernel("avx2_nt");
  if (__builtin_cpu_is("amd") == 0 || kernel == nullptr || !kernel->available()) return tuning;
  for (auto& row : tuning.rows[static_cast<std::size_t>(kernels::Audience::other_core_soon)])
    std::fill(row.begin() + std::bit_width(kPastCaches), row.end(), kernel);
#endif
  return tuning;
}

void choose_copies() {
  const std::string_view text = knob_text(kCopy);
  const auto told = text.empty() ? std::nullopt : kernels::parse_copy_tuning(text);
  kernels::set_copy_tuning(told ? *told : built_in_copies());
}

}  // namespace

std::string_view wanted() {
  return knob_text(kAccelerate);
}

int calls_before() {
  static const int number = [] {
    const std::string_view text = knob_text(kAfter);
    int read = 4;
    std::from_chars(text.data(), text.data() + text.size(), read);
    return std::clamp(read, 0, 1 << 20);
  }();
  return number;
}

bool copies_between_processes() {
  return knob_text(kDirect) != "off";
}

void begin() {
  if (wanted() == "off" || active.load(std::memory_order_relaxed)) return;
  choose_copies();
  active.store(packs_plain_bytes(), std::memory_order_release);
}

void finish() {
  if (!active.exchange(false, std::memory_order_acq_rel)) return;
  int rank = 0;
  MPI_Comm parent = MPI_COMM_NULL;
  CW_NEXT(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
  CW_NEXT(MPI_Comm_get_parent)(&parent);
  // Spawned ranks have numbers of their own: the counts are of those that were launched.
  if (parent == MPI_COMM_NULL && !trace_directory().empty()) write_counts(trace_directory(), rank);
  end_communicators();
}

}  // namespace corewise::preload::accelerating
