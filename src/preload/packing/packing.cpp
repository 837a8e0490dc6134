// Mode, and what is not ours to touch; see packing.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/packing.hpp"

#include <string_view>

#include "base/knobs.hpp"
#include "preload/data.hpp"
#include "preload/packing/calls.hpp"
#include "preload/packing/openmpi/engine.hpp"

namespace corewise::preload::packing {

std::atomic<bool> active{false};

namespace {

constexpr Knob kPacking{"packing", KnobType::text, "off",
                        "off, always, or a tuning's rows (send=BYTES:RUNS,...;...)",
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

}  // namespace

Mode mode() {
  return choice().mode;
}

const kernels::PackingTable& table() {
  return choice().table;
}

void begin() {
  if (mode() == Mode::off || active.load(std::memory_order_relaxed)) return;
  const bool plain = packs_plain_bytes(MPI_COMM_SELF);
  if (plain && !gpu_present()) engine::begin();
  active.store(plain, std::memory_order_release);
}

void end() {
  active.store(false, std::memory_order_release);
}

}  // namespace corewise::preload::packing
