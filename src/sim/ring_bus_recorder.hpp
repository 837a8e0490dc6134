// RingBusRecorder: every packet of a ring bus as a slice on its ring's track in a timeline. One track per ring;
// packets that follow each other like trains overlap there. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "sim/ring_bus.hpp"
#include "sim/timeline.hpp"

namespace corewise::sim {

class RingBusRecorder final : public RingBusObserver {
 public:
  /// `stops` are the names of the bus's stops; `prefix` opens the tracks' names where there are several buses. The
  /// timeline outlives the recorder.
  RingBusRecorder(Timeline& timeline, const RingBusSpec& spec, std::vector<std::string> stops,
                  const std::string& prefix = {});

  void on_start(int ring, const Packet& packet, Time start, Time end) override;

 private:
  static constexpr Timeline::Kind kUnknown = -1;

  Timeline& timeline_;
  std::vector<std::string> stops_;
  std::vector<Timeline::Track> tracks_;  ///< per ring
  std::vector<Timeline::Kind> kinds_;    ///< per source and destination, once met
};

}  // namespace corewise::sim
