// Parameters: every number of the simulated Cell, in one struct and one table of rows. A machine file's
// [simulation] table sets any of them by name.
//
// Contract. Each row has a physical meaning and says where its default comes from. Delays are in core cycles (the
// tick of this room) unless the name says bus cycles; a bus cycle is two core cycles. Delays are fitted to the
// calibration set; what else was looked at when the bus's rules were chosen is in docs/decisions/0006.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "base/status.hpp"
#include "cell/address.hpp"
#include "machine/machine.hpp"

namespace corewise::cell {

/// Core cycles per bus cycle.
inline constexpr std::int64_t kBusCycle = 2;

/// Stops of the element interconnect bus in physical order.
inline constexpr int kStops = 12;
inline constexpr int kStopPpe = 0;
inline constexpr int kStopIoif1 = 5;
inline constexpr int kStopIoif0 = 6;  ///< carries the coherent interface to the other chip of a blade
inline constexpr int kStopMic = 11;
/// Where the SPEs 0 .. 7 of a chip sit.
inline constexpr std::array<int, kSpesPerChip> kSpeStop = {10, 1, 9, 2, 8, 3, 7, 4};
inline constexpr std::array<std::string_view, kStops> kStopNames = {
    "PPE", "SPE1", "SPE3", "SPE5", "SPE7", "IOIF1", "IOIF0", "SPE6", "SPE4", "SPE2", "SPE0", "MIC"};

struct Parameters {
  // What is there; from the machine's stops and units, not from [simulation].
  int chips = 1;
  std::array<bool, kSpesPerChip * kMaxChips> usable = all_usable();

  // Clocks.
  double core_clock_ghz = 3.2;
  double decrementer_hz = 14318000;

  // Data rings (sim::RingBus).
  std::int64_t rings_per_direction = 2;
  std::int64_t packet_beats = 8;
  std::int64_t ring_start_period = 4;
  std::int64_t transfers_per_ring = 3;
  std::int64_t ring_age_step_bus_cycles = 4;
  std::int64_t rest_after_packets = 16;
  std::int64_t rest_bus_cycles = 2;
  std::int64_t rest_spread_bus_cycles = 1;

  // Command phase (Eib).
  std::int64_t command_interval_cycles = 2;
  std::int64_t command_send_cycles = 20;
  std::int64_t command_snoop_cycles = 130;
  std::int64_t command_hop_cycles = 0;
  std::int64_t global_command_cycles = 10;
  std::int64_t global_crossing_cycles = 120;
  std::int64_t retry_cycles = 100;

  // MFC.
  std::int64_t mfc_queue_entries = 16;
  std::int64_t mfc_proxy_queue_entries = 8;
  std::int64_t mfc_outstanding_requests = 16;
  std::int64_t mfc_command_cycles = 30;
  std::int64_t mfc_command_interval_cycles = 32;
  std::int64_t mfc_request_interval_cycles = 2;
  std::int64_t mfc_list_element_cycles = 40;
  std::int64_t mfc_credit_cycles = 48;
  std::int64_t mfc_tag_update_cycles = 8;
  std::int64_t local_store_read_cycles = 30;

  // SPU.
  std::int64_t spu_channel_write_cycles = 2;
  std::int64_t spu_channel_read_cycles = 6;
  std::int64_t spu_poll_cycles = 9;

  // Retry of refused commands (BackoffRetry).
  std::int64_t retry_growth_percent = 100;
  std::int64_t retry_max_cycles = 1600;

  // Memory controller (MemoryController, MemoryTarget).
  std::int64_t memory_bytes = 512LL << 20;
  std::int64_t memory_channels = 2;
  std::int64_t memory_banks = 16;
  std::int64_t memory_bytes_per_cycle = 8;
  std::int64_t memory_burst_bytes = 64;
  std::int64_t memory_access_cycles = 160;
  std::int64_t memory_read_row_cycles = 128;
  std::int64_t memory_write_row_cycles = 160;
  std::int64_t memory_read_to_write_cycles = 48;
  std::int64_t memory_write_to_read_cycles = 80;
  std::int64_t memory_refresh_interval_cycles = 0;
  std::int64_t memory_refresh_cycles = 224;
  std::int64_t memory_read_queue = 32;
  std::int64_t memory_write_queue = 32;
  std::int64_t memory_write_high_mark = 16;
  std::int64_t memory_write_low_mark = 4;
  std::int64_t memory_scheduler_sight = 8;
  std::int64_t memory_masked_write_bytes = 16;
  std::int64_t memory_unit_slots = 4;
  std::int64_t memory_link_slots = 16;
  std::int64_t memory_slot_cycles = 234;
  std::int64_t line_conflicts = 1;

  // Blade (Bif).
  std::int64_t bif_latency_cycles = 235;
  std::int64_t bif_bytes_per_bus_cycle = 16;
  std::int64_t bif_requests = 64;

  // Atomic unit of an SPE (AtomicUnit).
  std::int64_t atomic_cache_lines = 4;
  std::int64_t atomic_hit_cycles = 40;
  std::int64_t atomic_intervention_cycles = 50;

  // PPE.
  std::int64_t ppe_l1_hit_cycles = 4;
  std::int64_t ppe_l2_hit_cycles = 36;
  std::int64_t ppe_l2_bytes = 512 * 1024;
  std::int64_t ppe_l2_ways = 8;
  std::int64_t ppe_misses_in_flight = 2;
  std::int64_t ppe_miss_overhead_cycles = 80;
  std::int64_t ppe_copy_cycles_per_line = 48;
  std::int64_t ppe_mmio_read_cycles = 480;
  std::int64_t ppe_mmio_write_cycles = 160;
  std::int64_t ppe_mailbox_syscall_cycles = 8000;
  std::int64_t ppe_context_start_cycles = 160000;
  std::int64_t ppe_proxy_wake_cycles = 16000;
  std::int64_t ppe_proxy_service_cycles = 3200;
  std::int64_t affinity_seed = 0;

  // Seeds; 0: everything deterministic and in the same order.
  std::int64_t jitter_seed = 0;
  std::int64_t mfc_shuffle_seed = 0;

  /// The ring of one Cell (machines/cell-be.toml, ps3.toml) or the two of a blade (cell-blade.toml). Errors: a
  /// machine that is no Cell, an unknown name in [simulation] (the allowed ones are listed), a value out of range,
  /// what check() finds.
  static Result<Parameters> from(const machine::Machine& machine);
  /// Sets one row by its name; `source` names the file in errors.
  Status set(std::string_view name, double value, std::string_view source = {});
  /// Whether rows that are each in range also fit each other; for who has set some. Errors name both rows.
  [[nodiscard]] Status check(std::string_view source = {}) const;

  static constexpr std::array<bool, kSpesPerChip * kMaxChips> all_usable() {
    std::array<bool, kSpesPerChip * kMaxChips> all{};
    all.fill(true);
    return all;
  }
};

struct ParameterRow {
  std::string_view name;
  std::string_view unit;
  std::variant<std::int64_t Parameters::*, double Parameters::*> field;
  double min;
  double max;
  std::string_view meaning;
  std::string_view source;

  [[nodiscard]] double value(const Parameters& parameters) const;
};

/// All rows, in the order of the struct.
std::span<const ParameterRow> parameter_rows();

}  // namespace corewise::cell
