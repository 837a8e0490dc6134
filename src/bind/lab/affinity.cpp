// Paper 000's experiments for Python: its tables, and the runs that measure them on the simulated Cell. Every run
// releases the GIL. SPDX-License-Identifier: BSD-3-Clause
#include "lab/affinity/affinity.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "lab/affinity/runs.hpp"
#include "lab/affinity/transfers.hpp"
#include "machine/machine.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using Pairs = std::vector<std::pair<int, int>>;

/// The 3.2 GHz blade's chip where none is given.
cell::Parameters machine_of(const machine::Machine* machine, std::int64_t seed) {
  cell::Parameters parameters = machine == nullptr ? cell::Parameters{} : unwrap(cell::Parameters::from(*machine));
  parameters.jitter_seed = seed;
  return parameters;
}

lab::Timing timing_of(int repetitions, bool exact_clock) {
  return {repetitions, exact_clock ? lab::Clock::cycles : lab::Clock::decrementer};
}

std::vector<lab::Flow> to_flows(const Pairs& pairs) {
  std::vector<lab::Flow> flows;
  for (const auto& [to, from] : pairs) flows.push_back({to, from});
  return flows;
}

Pairs to_pairs(const std::vector<lab::Flow>& flows) {
  Pairs pairs;
  for (const lab::Flow& flow : flows) pairs.emplace_back(flow.to, flow.from);
  return pairs;
}

lab::Affinity to_affinity(const std::vector<int>& spe_of_rank) {
  lab::Affinity affinity{};
  if (spe_of_rank.size() != affinity.size()) {
    raise(bad_field("", "spe_of_rank", std::to_string(spe_of_rank.size()) + " entries", "8 entries"));
  }
  std::ranges::copy(spe_of_rank, affinity.begin());
  return affinity;
}

MatrixOut<std::int32_t> default_affinities(std::int64_t count, std::uint64_t seed) {
  if (count < 1) raise(bad_field("", "count", std::to_string(count), "1 or more"));
  lab::DefaultAffinities defaults(seed);
  std::vector<std::int32_t> table;
  for (std::int64_t trial = 0; trial < count; ++trial) {
    const lab::Affinity next = defaults.next();
    table.insert(table.end(), next.begin(), next.end());
  }
  return to_matrix(std::move(table), static_cast<std::size_t>(count), cell::kSpesPerChip);
}

ArrayOut<double> time_gets(const Pairs& flows, std::uint32_t size_bytes, int repetitions, std::int64_t seed,
                           bool exact_clock, const machine::Machine* machine) {
  const cell::Parameters on = machine_of(machine, seed);
  return to_array(without_gil(
      [&] { return lab::time_gets(on, to_flows(flows), size_bytes, timing_of(repetitions, exact_clock)); }));
}

double time_collective(const std::string& name, const std::vector<int>& spe_of_rank, int repetitions,
                       std::int64_t seed, const machine::Machine* machine) {
  const cell::Parameters on = machine_of(machine, seed);
  const lab::Collective* operation = lab::find_collective(name);
  if (operation == nullptr) {
    std::string allowed;
    for (const lab::Collective& each : lab::collectives()) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(each.name);
    }
    raise(bad_field("", "collective", "'" + name + "'", allowed));
  }
  const lab::Affinity affinity = to_affinity(spe_of_rank);
  return without_gil([&] { return lab::run_collective(on, *operation, affinity, timing_of(repetitions, false)); })
      .time_us;
}

double time_barrier(const std::vector<int>& spe_of_rank, int repetitions, std::int64_t seed,
                    const machine::Machine* machine) {
  const cell::Parameters on = machine_of(machine, seed);
  const lab::Affinity affinity = to_affinity(spe_of_rank);
  return without_gil([&] { return lab::time_barrier(on, affinity, timing_of(repetitions, false)); });
}

MatrixOut<double> permutation_minima(std::uint64_t seed, std::uint64_t first, std::uint64_t count,
                                     std::uint32_t size_bytes, int repetitions, const machine::Machine* machine) {
  const cell::Parameters on = machine_of(machine, static_cast<std::int64_t>(seed));
  auto minima = without_gil(
      [&] { return lab::permutation_minima(on, seed, first, count, size_bytes, timing_of(repetitions, true)); });
  return to_matrix(std::move(minima), count, lab::affinities().size() + 1);
}

void bind_tables(nb::module_& module) {
  nb::class_<lab::Experiment>(module, "Experiment000", "One experiment of paper 000's Table 1, on physical SPEs.")
      .def_prop_ro("id", [](const lab::Experiment& each) { return std::string(each.id); })
      .def_prop_ro("idea", [](const lab::Experiment& each) { return std::string(each.idea); })
      .def_prop_ro(
          "flows", [](const lab::Experiment& each) { return to_pairs(each.flows); },
          "(SPE that gets, SPE it gets from), in the paper's order.")
      .def_ro("trials", &lab::Experiment::trials);
  nb::class_<lab::StepPattern>(module, "Pattern000", "One pattern of paper 000's Table 2, on thread ranks.")
      .def_prop_ro("id", [](const lab::StepPattern& each) { return std::string(each.id); })
      .def_prop_ro("name", [](const lab::StepPattern& each) { return std::string(each.name); })
      .def_prop_ro("title", [](const lab::StepPattern& each) { return std::string(each.title); })
      .def_prop_ro(
          "flows", [](const lab::StepPattern& each) { return to_pairs(each.flows); },
          "(rank that gets, rank it gets from).");
  nb::class_<lab::Collective>(module, "Collective000", "One operation of several phases of paper 000, section 5.")
      .def_prop_ro("id", [](const lab::Collective& each) { return std::string(each.id); })
      .def_prop_ro("name", [](const lab::Collective& each) { return std::string(each.name); })
      .def_prop_ro("title", [](const lab::Collective& each) { return std::string(each.title); })
      .def_prop_ro(
          "total_bytes", [](const lab::Collective& each) { return lab::total_bytes(each); },
          "Bytes that all ranks get together in one operation.");
}

template <class T>
std::vector<T> list_of(std::span<const T> rows) {
  return {rows.begin(), rows.end()};
}

}  // namespace

void bind_affinity(nb::module_& module) {
  bind_tables(module);
  module.def("paper000_table1", [] { return list_of(lab::table1()); }, "The experiments of Table 1.");
  module.def("paper000_table2", [] { return list_of(lab::table2()); }, "The patterns of Table 2.");
  module.def(
      "paper000_collectives", [] { return list_of(lab::collectives()); }, "The operations of several phases.");
  module.def("default_affinities", &default_affinities, "count"_a, "seed"_a = 1,
             "What the operating system gives in `count` trials one after the other: ndarray of int32, shape "
             "(count, 8), the physical SPE of rank r in column r.");
  module.def("time_gets", &time_gets, "flows"_a, "size_bytes"_a, "repetitions"_a = 100, "seed"_a = 0,
             "exact_clock"_a = false, "machine"_a = nb::none(),
             "Runs programs that get at the same time on a simulated Cell, as paper 000 measured.\n\n"
             "flows : list of (SPE that gets, SPE it gets from)\n"
             "size_bytes : message size, a multiple of 16 up to 65536\n"
             "seed : of the machine's jitter; 0 is the machine without any\n"
             "exact_clock : time by simulated cycles instead of 70 ns ticks\n"
             "machine : a Cell; None: one chip of a 3.2 GHz blade\n\n"
             "Returns the bandwidth of every flow in GB/s: ndarray of float64, shape (flows,).");
  module.def("time_collective", &time_collective, "name"_a, "spe_of_rank"_a, "repetitions"_a = 100, "seed"_a = 0,
             "machine"_a = nb::none(), "Microseconds that one operation takes on rank 0.");
  module.def("time_barrier", &time_barrier, "spe_of_rank"_a, "repetitions"_a = 100, "seed"_a = 0,
             "machine"_a = nb::none(), "Microseconds that one pairwise-exchange barrier of the eight SPEs takes.");
  module.def(
      "permutation_minima", &permutation_minima, "seed"_a, "first"_a, "count"_a, "size_bytes"_a = 65536,
      "repetitions"_a = 2, "machine"_a = nb::none(),
      "Least bandwidth among the ranks, GB/s, for `count` seeded permutations of sources from number `first` "
      "on: ndarray of float64, shape (count, 6); columns identity, ring, overlap, even_odd, leap2, default.");
}

}  // namespace corewise::bind
