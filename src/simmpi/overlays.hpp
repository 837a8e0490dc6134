// Overlays: code of a simulated rank that comes into its SPE's local store as it is needed (paper 001, section 3:
// "large code size can be dealt with by bringing in the code as needed through code overlaying"). The program says
// which code it is about to run and how large that is. What it costs to bring it is declared by the settings, and
// what was used longest ago gives way. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <list>

#include "base/status.hpp"
#include "sim/event_queue.hpp"
#include "simmpi/settings.hpp"

namespace corewise::simmpi {

class Overlays {
 public:
  /// An area of overlay_bytes, with nothing in it.
  explicit Overlays(const Settings& settings);

  /// The time until `bytes` of code, known by their address, are there: 0 where they are. Refuses more than the
  /// area holds, and another size than the one that the code had before.
  Result<sim::Time> use(const void* code, std::uint64_t bytes);

  /// How often code was brought, and how much.
  [[nodiscard]] std::uint64_t loads() const { return loads_; }
  [[nodiscard]] std::uint64_t loaded_bytes() const { return loaded_bytes_; }
  /// Of all loads.
  [[nodiscard]] sim::Time spent() const { return spent_; }

 private:
  struct Code {
    const void* address;
    std::uint64_t bytes;
  };

  std::uint64_t area_bytes_;
  double load_ns_;
  double bytes_per_ns_;
  std::list<Code> there_;  ///< the one used last at the front
  std::uint64_t used_bytes_ = 0;
  std::uint64_t loads_ = 0;
  std::uint64_t loaded_bytes_ = 0;
  sim::Time spent_ = 0;
};

}  // namespace corewise::simmpi
