// Bif: the coherent link that makes two Cells one blade (Broadband Engine Interface; on the bus, stop IOIF0 of both
// chips). Each end answers on its own chip for every local store, register and memory of the other, and issues
// there what was asked here.
//
// Mechanism. The command phase of a blade-wide command needs the other chip's snoopers: over the link and back. A
// write's data then go to the link's stop over the rings, over the link (which passes `bif_bytes_per_bus_cycle`
// each way, one packet after the other), and over the other chip's rings to their target; the requester is told
// when the acknowledgement is back. A read's command goes over once more with its data coming back. Every crossing
// takes `bif_latency_cycles`. `bif_requests` of each chip may be under way, more are refused.
//
// Contract: a request's data are copied when they reach the link. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cell/eib.hpp"
#include "cell/parameters.hpp"

namespace corewise::cell {

struct BifStatistics {
  std::uint64_t reads = 0, writes = 0, commands = 0;  ///< asked by this end's chip
  std::uint64_t refused = 0;
  std::uint64_t bytes_out = 0;  ///< data that left this end's chip
  sim::Time busy_ticks = 0;     ///< of the outgoing direction
};

/// One end, on the bus of its chip.
class BifEnd final : public BusTarget, public BusRequester {
 public:
  explicit BifEnd(Eib& eib);
  ~BifEnd() override;

  Answer command(BusRequest& request) override;
  void fill(BusRequest& request) override;
  void arrived(BusRequest& request) override;
  void delivered(BusRequest& request) override;

  [[nodiscard]] const BifStatistics& statistics() const { return statistics_; }

 private:
  friend class Bif;
  struct Job;

  static void issue_there(void* job, std::uint64_t unused);
  static void back_home(void* job, std::uint64_t unused);
  void prepare(Job& job);
  /// When `bytes` that are ready now have passed the link.
  sim::Time cross(std::uint32_t bytes);
  void finish(Job& job);

  Eib& eib_;
  const Parameters& p_;
  BifEnd* other_ = nullptr;
  sim::Time free_at_ = 0;  ///< the outgoing direction
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<Job*> idle_;
  BifStatistics statistics_;
};

/// The link: both ends, attached to their buses.
class Bif {
 public:
  Bif(Eib& first, Eib& second);
  [[nodiscard]] BifEnd& end(int chip) { return chip == 0 ? first_ : second_; }

 private:
  static void attach(BifEnd& end);
  BifEnd first_, second_;
};

}  // namespace corewise::cell
