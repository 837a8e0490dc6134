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
  /// Every field has its row's usual value: changing one recompiles one file.
  Parameters();

  // What is there; from the machine's stops and units, not from [simulation].
  int chips = 1;
  std::array<bool, kSpesPerChip * kMaxChips> usable = all_usable();

  // Clocks.
  double core_clock_ghz = 0;
  double decrementer_hz = 0;

  // Data rings (sim::RingBus).
  std::int64_t rings_per_direction = 0;
  std::int64_t packet_beats = 0;
  std::int64_t ring_start_period = 0;
  std::int64_t transfers_per_ring = 0;
  std::int64_t ring_age_step_bus_cycles = 0;
  std::int64_t ring_port_to_oldest = 0;
  std::int64_t half_way_packets = 0;
  std::int64_t half_way_wait_bus_cycles = 0;
  std::int64_t rest_after_packets = 0;
  std::int64_t rest_bus_cycles = 0;
  std::int64_t rest_spread_bus_cycles = 0;

  // Command phase (Eib).
  std::int64_t command_interval_cycles = 0;
  std::int64_t command_send_cycles = 0;
  std::int64_t command_snoop_cycles = 0;
  std::int64_t command_hop_cycles = 0;
  std::int64_t global_command_cycles = 0;
  std::int64_t global_crossing_cycles = 0;
  std::int64_t retry_cycles = 0;

  // MFC.
  std::int64_t mfc_queue_entries = 0;
  std::int64_t mfc_proxy_queue_entries = 0;
  std::int64_t mfc_outstanding_requests = 0;
  std::int64_t mfc_command_cycles = 0;
  std::int64_t mfc_command_interval_cycles = 0;
  std::int64_t mfc_request_interval_cycles = 0;
  std::int64_t mfc_list_element_cycles = 0;
  std::int64_t mfc_credit_cycles = 0;
  std::int64_t mfc_tag_update_cycles = 0;
  std::int64_t local_store_read_cycles = 0;
  std::int64_t mfc_tlb_entries = 0;
  std::int64_t mfc_tlb_miss_cycles = 0;
  std::int64_t mfc_page_bytes = 0;
  std::int64_t mfc_page_fault_cycles = 0;
  std::int64_t mfc_hits_under_fault = 0;

  // SPU.
  std::int64_t spu_channel_write_cycles = 0;
  std::int64_t spu_channel_read_cycles = 0;
  std::int64_t spu_poll_cycles = 0;
  std::int64_t signal_write_cycles = 0;

  // Compiled code of an SPU's program, beside what it declares (CellPort, lab/collectives).
  std::int64_t spu_code_percent = 0;
  std::int64_t spu_library_call_cycles = 0;
  std::int64_t spu_flag_waits = 0;
  std::int64_t spu_operator_set_up_cycles = 0;
  std::int64_t spu_operator_line_cycles = 0;

  // Retry of refused commands (BackoffRetry).
  std::int64_t retry_growth_percent = 0;
  std::int64_t retry_max_cycles = 0;

  // Memory controller (MemoryController, MemoryTarget).
  std::int64_t memory_bytes = 0;
  std::int64_t memory_channels = 0;
  std::int64_t memory_banks = 0;
  std::int64_t memory_bytes_per_cycle = 0;
  std::int64_t memory_burst_bytes = 0;
  std::int64_t memory_access_cycles = 0;
  std::int64_t memory_read_row_cycles = 0;
  std::int64_t memory_write_row_cycles = 0;
  std::int64_t memory_read_to_write_cycles = 0;
  std::int64_t memory_write_to_read_cycles = 0;
  std::int64_t memory_refresh_interval_cycles = 0;
  std::int64_t memory_refresh_cycles = 0;
  std::int64_t memory_read_queue = 0;
  std::int64_t memory_write_queue = 0;
  std::int64_t memory_write_high_mark = 0;
  std::int64_t memory_write_low_mark = 0;
  std::int64_t memory_scheduler_sight = 0;
  std::int64_t memory_masked_write_bytes = 0;
  std::int64_t memory_unit_slots = 0;
  std::int64_t memory_link_slots = 0;
  std::int64_t memory_write_credits = 0;
  std::int64_t memory_slot_cycles = 0;
  std::int64_t line_conflicts = 0;

  // Blade (Bif).
  std::int64_t bif_latency_cycles = 0;
  std::int64_t bif_bytes_per_bus_cycle = 0;
  std::int64_t bif_requests = 0;

  // Atomic unit of an SPE (AtomicUnit).
  std::int64_t atomic_cache_lines = 0;
  std::int64_t atomic_hit_cycles = 0;
  std::int64_t atomic_intervention_cycles = 0;

  // PPE.
  std::int64_t ppe_l1_hit_cycles = 0;
  std::int64_t ppe_l2_hit_cycles = 0;
  std::int64_t ppe_l2_bytes = 0;
  std::int64_t ppe_l2_ways = 0;
  std::int64_t ppe_misses_in_flight = 0;
  std::int64_t ppe_miss_overhead_cycles = 0;
  std::int64_t ppe_copy_cycles_per_line = 0;
  std::int64_t ppe_mmio_read_cycles = 0;
  std::int64_t ppe_mmio_write_cycles = 0;
  std::int64_t ppe_mailbox_syscall_cycles = 0;
  std::int64_t ppe_context_start_cycles = 0;
  std::int64_t ppe_proxy_wake_cycles = 0;
  std::int64_t ppe_proxy_service_cycles = 0;
  std::int64_t hypervisor_interval_cycles = 0;
  std::int64_t hypervisor_bytes = 0;
  std::int64_t hypervisor_fault_cycles = 0;
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
  double usual;  ///< of a 3.2 GHz blade
  double min;
  double max;
  std::string_view meaning;
  std::string_view source;

  [[nodiscard]] double value(const Parameters& parameters) const;
  /// In range and, for a whole number, whole.
  void set(Parameters& parameters, double value) const;
};

/// All rows, in the order of the struct.
std::span<const ParameterRow> parameter_rows();

}  // namespace corewise::cell
