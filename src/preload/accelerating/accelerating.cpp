// The library's life and its knobs; see accelerating.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/accelerating.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/knobs.hpp"
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

void begin() {
  if (wanted() == "off" || active.load(std::memory_order_relaxed)) return;
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

void end() {}

}  // namespace corewise::preload::accelerating
