// The table of all parameters, and how a machine file becomes Parameters. Sources: P000, P001, P003 are the papers;
// "public" is published elsewhere; "inferred" and "assumed" are said as such, with the reason in
// docs/simulating/cell.md. SPDX-License-Identifier: BSD-3-Clause
#include "cell/parameters.hpp"

#include <cmath>
#include <cstddef>
#include <string>

namespace corewise::cell {
namespace {

using P = Parameters;

constexpr double kMany = 1e6;
// A second's core cycles times the decrementer's rate must fit 64 bits: 1e10 * 5e8 does (Decrementer::ticks).

constexpr ParameterRow kRows[] = {
    {"core_clock_ghz", "GHz", &P::core_clock_ghz, 3.2, 0.1, 10, "clock of the SPUs and the PPE", "P000, P001"},
    {"decrementer_hz", "Hz", &P::decrementer_hz, 14318000, 1e3, 5e8, "rate at which decrementers count down",
     "P000"},

    {"rings_per_direction", "rings", &P::rings_per_direction, 2, 1, 4, "data rings each way round", "P000"},
    {"packet_beats", "bus cycles", &P::packet_beats, 8, 8, 64, "for which a packet holds a stop: 128 bytes at 16",
     "public"},
    {"ring_start_period", "bus cycles", &P::ring_start_period, 4, 1, 64,
     "a ring may start a packet once in so many: with four rings, one grant per bus cycle on the chip",
     "inferred: 204.8 GB/s is the published maximum"},
    {"transfers_per_ring", "transfers", &P::transfers_per_ring, 3, 0, 64,
     "sources whose packets are on one ring at a time; 0: as many as fit", "P000"},
    {"ring_age_step_bus_cycles", "bus cycles", &P::ring_age_step_bus_cycles, 32, 0, kMany,
     "in steps of which the ages of waiting packets are compared; within one the longest silent unit goes first",
     "chosen by P000, Table 1 with row 10, and Table 2"},
    {"ring_port_to_oldest", "0 or 1", &P::ring_port_to_oldest, 0, 0, 1,
     "a unit's port is kept for the ready packet to it that goes first", "assumed: kept for nobody"},
    {"half_way_packets", "packets", &P::half_way_packets, 24, 1, kMany,
     "a unit decides once in so many which way round those go that travel half-way",
     "chosen by P000, Table 1 with row 10, and what it says of Overlap"},
    {"half_way_wait_bus_cycles", "bus cycles", &P::half_way_wait_bus_cycles, 20, 0, kMany,
     "for which a packet is first in line before it leaves the way of those before it, if the unit may decide",
     "chosen as above"},
    {"rest_after_packets", "packets", &P::rest_after_packets, 16, 0, kMany, "after which a stop pauses; 0: never",
     "inferred from P000, Table 1"},
    {"rest_bus_cycles", "bus cycles", &P::rest_bus_cycles, 2, 0, 1000, "length of that pause",
     "inferred, as above"},
    {"rest_spread_bus_cycles", "bus cycles", &P::rest_spread_bus_cycles, 1, 0, 1000,
     "with a jitter_seed, pauses are drawn from so much below to so much above", "assumed"},

    {"command_interval_cycles", "core cycles", &P::command_interval_cycles, 2, 1, 1000,
     "between commands through an address concentrator", "public: one per bus cycle"},
    {"command_send_cycles", "core cycles", &P::command_send_cycles, 20, 0, kMany,
     "from a unit's request to its address concentrator", "calibrated, P000 Table 1"},
    {"command_snoop_cycles", "core cycles", &P::command_snoop_cycles, 130, 0, kMany,
     "from the concentrator's slot to the combined response of all snoopers", "calibrated, P000 Table 1"},
    {"command_hop_cycles", "core cycles", &P::command_hop_cycles, 0, 0, 1000,
     "each way per stop between a unit and the MIC's end of the bus, for commands: 0, every unit's take equally "
     "long",
     "hypothesis of the mapping study; no measurement shows it"},
    {"global_command_cycles", "core cycles", &P::global_command_cycles, 10, 0, kMany,
     "each way between AC1 and AC0 of one chip, for commands that go to the whole blade", "assumed"},
    {"global_crossing_cycles", "core cycles", &P::global_crossing_cycles, 120, 0, kMany,
     "each way between the second chip's AC1 and the first chip's AC0", "assumed"},
    {"retry_cycles", "core cycles", &P::retry_cycles, 100, 1, kMany, "before a refused command is sent again",
     "assumed"},

    {"mfc_queue_entries", "entries", &P::mfc_queue_entries, 16, 1, 32, "of an MFC's SPU command queue",
     "P000, P001"},
    {"mfc_proxy_queue_entries", "entries", &P::mfc_proxy_queue_entries, 8, 1, 32, "of an MFC's proxy queue",
     "public"},
    {"mfc_outstanding_requests", "requests", &P::mfc_outstanding_requests, 16, 1, 64,
     "of an MFC on the bus at one time", "inferred: P001's 7 GB/s to memory and P003's 4.28 GB/s across the blade"},
    {"mfc_command_cycles", "core cycles", &P::mfc_command_cycles, 30, 0, kMany,
     "from enqueue to a command's first request: decoding, translation", "calibrated, P000 Table 1"},
    {"mfc_command_interval_cycles", "core cycles", &P::mfc_command_interval_cycles, 64, 0, kMany,
     "between the starts of two commands",
     "inferred: published elsewhere, commands of 1 KB and more nearly reach the peak (decision 0016)"},
    {"mfc_request_interval_cycles", "core cycles", &P::mfc_request_interval_cycles, 2, 0, kMany,
     "between two requests that an MFC sends", "assumed"},
    {"mfc_list_element_cycles", "core cycles", &P::mfc_list_element_cycles, 64, 0, kMany,
     "to fetch a list element and start it", "assumed, as a command; P001: a list is slower than single puts"},
    {"mfc_credit_cycles", "core cycles", &P::mfc_credit_cycles, 48, 0, kMany,
     "from the last beat of a request to its place being free", "calibrated, P000 Table 1"},
    {"mfc_tag_update_cycles", "core cycles", &P::mfc_tag_update_cycles, 8, 0, kMany,
     "from a command's last credit to its tag group's status", "calibrated, P000 Table 1"},
    {"local_store_read_cycles", "core cycles", &P::local_store_read_cycles, 30, 0, kMany,
     "from a granted request to data at the ring's ramp", "calibrated, P000 Table 1"},

    {"mfc_tlb_entries", "entries", &P::mfc_tlb_entries, 0, 0, 4096,
     "pages whose translation an MFC keeps; 0: translations take no time",
     "not modelled unless set: no measurement"},
    {"mfc_tlb_miss_cycles", "core cycles", &P::mfc_tlb_miss_cycles, 1000, 0, kMany,
     "for which an MFC waits for another page's translation, a walk of the page table", "assumed"},
    {"mfc_page_bytes", "bytes", &P::mfc_page_bytes, 4096, 4096, 1 << 24, "of a page", "public: Linux, 4 or 64 KB"},
    {"mfc_page_fault_cycles", "core cycles", &P::mfc_page_fault_cycles, 0, 0, 1e9,
     "of the PPE and its system software to serve an MFC's first use of a page; 0: all are there",
     "not modelled unless set; fitted to P003 figure 5 (a page takes 0.18 ms) by corewise paper overhead"},
    {"mfc_hits_under_fault", "", &P::mfc_hits_under_fault, 0, 0, 1,
     "1: while a command waits for a page fault, the others go on; 0: the whole MFC waits",
     "assumed; P003 section 4.1.1: dumps overlap with messages, which only 1 gives"},
    {"spu_channel_write_cycles", "core cycles", &P::spu_channel_write_cycles, 2, 0, kMany, "of one channel write",
     "public: an issue of six takes under 4 ns"},
    {"spu_channel_read_cycles", "core cycles", &P::spu_channel_read_cycles, 6, 0, kMany, "of one channel read",
     "P001"},
    {"spu_poll_cycles", "core cycles", &P::spu_poll_cycles, 9, 1, kMany, "of one turn of a polling loop",
     "P001: a load takes 6"},

    {"signal_write_cycles", "core cycles", &P::signal_write_cycles, 300, 0, kMany,
     "from the arrival of a word for a signal register to its bits there",
     "chosen by P001 section 5: signals gain nothing over flags (decision 0016)"},
    {"spu_code_percent", "%", &P::spu_code_percent, 159, 10, 1000,
     "of the cycles that a collective declares, which are counted instructions: what compiled code takes",
     "fitted, P001 table 1: the barrier on 8"},
    {"spu_library_call_cycles", "core cycles", &P::spu_library_call_cycles, 1031, 0, kMany,
     "of a call with data before its algorithm begins, and of a send or receive of tree_main_memory's reduction",
     "fitted, P001 table 2: a broadcast of 128 B on 8"},
    {"spu_flag_waits", "0 or 1", &P::spu_flag_waits, 0, 0, 1,
     "a rank waits until the put of its flag is complete; 0: it goes on to its next step",
     "P001 does not say; chosen by its tables (decision 0016)"},
    {"spu_operator_set_up_cycles", "core cycles", &P::spu_operator_set_up_cycles, 183, 0, kMany,
     "of a call of an operator", "fitted, P001 table 3: a reduce of 128 B on 8"},
    {"spu_operator_line_cycles", "core cycles", &P::spu_operator_line_cycles, 69, 0, 8000,
     "to combine 128 bytes with 128 others", "fitted, P001 table 3: a reduce of 1 MB on 8"},
    {"retry_growth_percent", "%", &P::retry_growth_percent, 100, 100, 1000,
     "of its last delay that a further retry waits", "assumed: 100 is a fixed delay"},
    {"retry_max_cycles", "core cycles", &P::retry_max_cycles, 1600, 1, kMany, "longest delay of a retry",
     "assumed"},

    {"memory_bytes", "bytes", &P::memory_bytes, 512LL << 20, 1 << 20, 1LL << 32, "of each chip's main memory",
     "P000: 512 MB"},
    {"memory_channels", "channels", &P::memory_channels, 2, 1, 2, "XIO channels of a controller", "public"},
    {"memory_banks", "banks", &P::memory_banks, 16, 1, 16, "of both channels together, interleaved by lines",
     "public"},
    {"memory_bytes_per_cycle", "bytes per core cycle", &P::memory_bytes_per_cycle, 8, 1, 64,
     "of both channels together: 25.6 GB/s", "P000, P001"},
    {"memory_burst_bytes", "bytes", &P::memory_burst_bytes, 64, 1, 128, "least that a DRAM access moves",
     "assumed"},
    {"memory_access_cycles", "core cycles", &P::memory_access_cycles, 160, 0, kMany,
     "from the start of a DRAM read to its data", "calibrated, P001"},
    {"memory_read_row_cycles", "core cycles", &P::memory_read_row_cycles, 128, 0, kMany,
     "for which a read holds its bank", "assumed: DRAM row cycle"},
    {"memory_write_row_cycles", "core cycles", &P::memory_write_row_cycles, 160, 0, kMany,
     "for which a write holds its bank", "assumed: DRAM row cycle"},
    {"memory_read_to_write_cycles", "core cycles", &P::memory_read_to_write_cycles, 96, 0, kMany,
     "a channel loses when it turns to writes", "calibrated, P001 table 2: a broadcast of 1 MB on 8"},
    {"memory_write_to_read_cycles", "core cycles", &P::memory_write_to_read_cycles, 160, 0, kMany,
     "a channel loses when it turns to reads", "calibrated, P001 table 2: a broadcast of 1 MB on 8"},
    {"memory_refresh_interval_cycles", "core cycles", &P::memory_refresh_interval_cycles, 0, 0, 1e9,
     "between refreshes of one bank and the next; 0: none (their share is under 1 %)", "assumed"},
    {"memory_refresh_cycles", "core cycles", &P::memory_refresh_cycles, 224, 0, kMany, "a refresh takes a bank",
     "assumed"},
    {"memory_read_queue", "requests", &P::memory_read_queue, 32, 1, 1024, "reads that a channel holds", "assumed"},
    {"memory_write_queue", "requests", &P::memory_write_queue, 32, 1, 1024, "writes that a channel holds",
     "assumed"},
    {"memory_write_high_mark", "requests", &P::memory_write_high_mark, 16, 1, 1024,
     "waiting writes that make a channel turn to them", "assumed"},
    {"memory_write_low_mark", "requests", &P::memory_write_low_mark, 4, 0, 1024,
     "waiting writes at which it turns back to reads", "assumed"},
    {"memory_scheduler_sight", "requests", &P::memory_scheduler_sight, 8, 1, 1024,
     "of a queue that a channel looks at for a free bank", "assumed"},
    {"memory_masked_write_bytes", "bytes", &P::memory_masked_write_bytes, 16, 0, 128,
     "smaller writes read their line first", "public"},
    {"memory_unit_slots", "commands", &P::memory_unit_slots, 4, 0, 64,
     "coherent commands that a unit has credit for at a memory at one time; 0: no limit",
     "public: units have credits; inferred: P001's 7 GB/s beside a latency of 200 ns"},
    {"memory_link_slots", "commands", &P::memory_link_slots, 16, 0, 64, "the same for the other chip of a blade",
     "assumed"},
    {"memory_write_credits", "0 or 1", &P::memory_write_credits, 0, 0, 1,
     "a unit's writes have credits of their own, as many as its reads", "assumed: shared"},
    {"memory_slot_cycles", "core cycles", &P::memory_slot_cycles, 234, 0, kMany,
     "for which a coherent command holds its unit's credit: decoding, coherence", "calibrated, P001"},
    {"line_conflicts", "0 or 1", &P::line_conflicts, 1, 0, 1, "commands on a line that is in use are refused",
     "public"},

    {"bif_latency_cycles", "core cycles", &P::bif_latency_cycles, 235, 0, kMany,
     "one way between the chips of a blade", "calibrated, P003: 0.825 us and a line's round trip of 480 ns"},
    {"bif_bytes_per_bus_cycle", "bytes per bus cycle", &P::bif_bytes_per_bus_cycle, 16, 1, 64,
     "each way between the chips", "P001: 25.6 GB/s"},
    {"bif_requests", "requests", &P::bif_requests, 64, 1, 1024, "under way over the link at one time", "assumed"},

    {"atomic_cache_lines", "lines", &P::atomic_cache_lines, 4, 1, 64, "of an SPE's atomic unit", "public"},
    {"atomic_hit_cycles", "core cycles", &P::atomic_hit_cycles, 40, 0, kMany, "of an atomic command that hits",
     "calibrated with the next row"},
    {"atomic_intervention_cycles", "core cycles", &P::atomic_intervention_cycles, 50, 0, kMany,
     "until another SPE's atomic unit sends a line", "calibrated, public: 150 ns hand-over"},

    {"ppe_l1_hit_cycles", "core cycles", &P::ppe_l1_hit_cycles, 4, 0, kMany, "of a load that hits in L1", "public"},
    {"ppe_l2_hit_cycles", "core cycles", &P::ppe_l2_hit_cycles, 36, 0, kMany, "of a load that hits in L2",
     "public"},
    {"ppe_l2_bytes", "bytes", &P::ppe_l2_bytes, 512 * 1024, 1024, 1 << 26, "of the L2 cache", "public"},
    {"ppe_l2_ways", "ways", &P::ppe_l2_ways, 8, 1, 64, "of the L2 cache", "public"},
    {"ppe_misses_in_flight", "lines", &P::ppe_misses_in_flight, 2, 1, 64,
     "that a memcpy of the PPE has under way: an in-order core's load and the store behind it", "assumed"},
    {"ppe_miss_overhead_cycles", "core cycles", &P::ppe_miss_overhead_cycles, 80, 0, kMany,
     "of a miss besides the bus and the memory", "assumed"},
    {"ppe_copy_cycles_per_line", "core cycles", &P::ppe_copy_cycles_per_line, 48, 0, kMany,
     "of the PPE's memcpy per line that hits", "assumed"},
    {"ppe_mmio_read_cycles", "core cycles", &P::ppe_mmio_read_cycles, 480, 1, kMany,
     "of a load from a local store or register, besides the bus",
     "public estimate: 0.3 to 0.8 us per mailbox trip"},
    {"ppe_mmio_write_cycles", "core cycles", &P::ppe_mmio_write_cycles, 160, 0, kMany,
     "of a store to a local store or register, besides the bus", "public estimate, as above"},
    {"ppe_mailbox_syscall_cycles", "core cycles", &P::ppe_mailbox_syscall_cycles, 8000, 0, 1e9,
     "of the system software per mailbox call of a context whose registers are not mapped",
     "public: 11.6 us for four calls on the PS3"},
    {"ppe_context_start_cycles", "core cycles", &P::ppe_context_start_cycles, 160000, 0, 1e9,
     "of the PPE to start a program on an SPE", "assumed; public: up to 0.9 ms on the PS3"},
    {"ppe_proxy_wake_cycles", "core cycles", &P::ppe_proxy_wake_cycles, 16000, 0, 1e9,
     "from an SPE's interrupt to the PPE thread that waits for it", "assumed"},
    {"ppe_proxy_service_cycles", "core cycles", &P::ppe_proxy_service_cycles, 3200, 0, 1e9,
     "of a request to a proxy thread", "assumed"},
    {"hypervisor_interval_cycles", "core cycles", &P::hypervisor_interval_cycles, 32000, 1, 1e9,
     "between two reads of the hypervisor on a hidden SPE (PS3)", "assumed: 10 us"},
    {"hypervisor_bytes", "bytes", &P::hypervisor_bytes, 0, 0, 16384,
     "of main memory that the hypervisor reads at a time, whole lines, where an SPE is hidden (PS3); 0: none",
     "P002 section 3: its traffic had no notable influence"},
    {"hypervisor_fault_cycles", "core cycles", &P::hypervisor_fault_cycles, 0, 0, 1e9,
     "that a hypervisor beneath the operating system adds to a page fault of an MFC",
     "no measurement of it alone; fitted to P003 figure 2 (0.11 ms) by corewise paper overhead"},
    {"affinity_seed", "", &P::affinity_seed, 0, 0, 9007199254740992.0,
     "of the SPEs that contexts get without asking; 0: in the order of their numbers", ""},

    {"jitter_seed", "", &P::jitter_seed, 0, 0, 9007199254740992.0, "of drawn pauses and delays; 0: none are drawn",
     ""},
    {"mfc_shuffle_seed", "", &P::mfc_shuffle_seed, 0, 0, 9007199254740992.0,
     "of a random order among commands that nothing orders; 0: oldest first", ""},
};

// Every 8-byte field after the machine's own has a row: who adds a field adds its row.
static_assert(std::size(kRows) * 8 == sizeof(Parameters) - offsetof(Parameters, core_clock_ghz));

std::string allowed_names() {
  std::string text;
  for (const ParameterRow& row : kRows) text.append(text.empty() ? "" : ", ").append(row.name);
  return text;
}

std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

/// "cell0.SPE3" and "SPE3" end in the same stop.
std::string_view stop_name(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

Status check_stops(const machine::Machine& machine) {
  const std::size_t count = machine.stops.size();
  bool right = count == kStops || count == kStops * kMaxChips;
  for (std::size_t i = 0; right && i < count; ++i) right = stop_name(machine.stops[i]) == kStopNames[i % kStops];
  if (right) return {};
  std::string allowed;
  for (const std::string_view name : kStopNames) allowed.append(allowed.empty() ? "" : ", ").append(name);
  return bad_field(
      machine.source, "interconnect.stops", count == 0 ? "none" : "'" + machine.stops.front() + "' and others",
      allowed + " in this order, once or (two chips) twice: the machine named '" + machine.name + "' is no Cell");
}

Result<int> spe_of(const machine::Machine& machine, const machine::Unit& unit) {
  for (int spe = 0; spe < kSpesPerChip; ++spe) {
    if (unit.stop % kStops == kSpeStop[static_cast<std::size_t>(spe)])
      return unit.stop / kStops * kSpesPerChip + spe;
  }
  return bad_field(machine.source, "interconnect.units", "'" + unit.name + "'", "SPE0 to SPE7");
}

}  // namespace

double ParameterRow::value(const Parameters& parameters) const {
  if (const auto* whole = std::get_if<std::int64_t P::*>(&field)) return static_cast<double>(parameters.*(*whole));
  return parameters.*std::get<double P::*>(field);
}

void ParameterRow::set(Parameters& parameters, double value) const {
  if (const auto* whole = std::get_if<std::int64_t P::*>(&field)) {
    parameters.*(*whole) = static_cast<std::int64_t>(value);
  } else {
    parameters.*std::get<double P::*>(field) = value;
  }
}

Parameters::Parameters() {
  for (const ParameterRow& row : kRows) row.set(*this, row.usual);
}

std::span<const ParameterRow> parameter_rows() {
  return kRows;
}

Status Parameters::set(std::string_view name, double value, std::string_view source) {
  const std::string where = "simulation." + std::string(name);
  for (const ParameterRow& row : kRows) {
    if (row.name != name) continue;
    const auto* whole = std::get_if<std::int64_t P::*>(&row.field);
    if (!(value >= row.min && value <= row.max) || (whole != nullptr && value != std::floor(value))) {
      return bad_field(
          source, where, number(value),
          (whole != nullptr ? "a whole number from " : "") + number(row.min) + " to " + number(row.max));
    }
    row.set(*this, value);
    return {};
  }
  return bad_field(source, where, "an unknown name", allowed_names());
}

Status Parameters::check(std::string_view source) const {
  if (memory_write_low_mark >= memory_write_high_mark) {
    return bad_field(source, "simulation.memory_write_low_mark", std::to_string(memory_write_low_mark),
                     "less than memory_write_high_mark, " + std::to_string(memory_write_high_mark));
  }
  if (memory_refresh_interval_cycles != 0 && memory_refresh_interval_cycles <= memory_refresh_cycles) {
    return bad_field(source, "simulation.memory_refresh_interval_cycles",
                     std::to_string(memory_refresh_interval_cycles),
                     "0, or more than memory_refresh_cycles, " + std::to_string(memory_refresh_cycles));
  }
  if (hypervisor_bytes % static_cast<std::int64_t>(kLineBytes) != 0) {
    return bad_field(source, "simulation.hypervisor_bytes", std::to_string(hypervisor_bytes), "multiples of 128");
  }
  return {};
}

Result<Parameters> Parameters::from(const machine::Machine& machine) {
  if (const Status status = check_stops(machine); !status.ok()) return status;
  Parameters parameters;
  parameters.chips = static_cast<int>(machine.stops.size()) / kStops;
  parameters.usable.fill(false);
  for (const machine::Unit& unit : machine.units) {
    const Result<int> spe = spe_of(machine, unit);
    if (!spe.ok()) return spe.status();
    parameters.usable[static_cast<std::size_t>(spe.value())] = true;
  }
  for (const machine::Parameter& parameter : machine.parameters) {
    const Status status = parameters.set(parameter.name, parameter.value, machine.source);
    if (!status.ok()) return status;
  }
  if (const Status status = parameters.check(machine.source); !status.ok()) return status;
  return parameters;
}

}  // namespace corewise::cell
