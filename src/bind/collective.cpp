// Collectives on simulated SPEs for Python: the tables of algorithms and of their settings, runs one by one and in
// lists, and paper 001's figure 2. Every run releases the GIL. SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "lab/collectives/dma_study.hpp"
#include "lab/collectives/memory_stream.hpp"
#include "lab/collectives/run.hpp"
#include "machine/machine.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using lab::Algorithm;
using lab::CollectiveJob;
using lab::CollectiveTimes;
using machine::Machine;

template <class Enum>
struct Named {
  const char* name;
  Enum value;
};

template <class Enum, std::size_t count>
Enum chosen(const char* field, const std::string& text, const Named<Enum> (&all)[count]) {
  std::string allowed;
  for (const Named<Enum>& each : all) {
    if (text == each.name) return each.value;
    allowed.append(allowed.empty() ? "" : ", ").append(each.name);
  }
  raise(bad_field("", field, std::string(1, '\'').append(text).append("'"), allowed));
}

constexpr Named<lab::UserMemory> kMemories[] = {{"first", lab::UserMemory::first},
                                                {"second", lab::UserMemory::second},
                                                {"own", lab::UserMemory::own},
                                                {"local_store", lab::UserMemory::local_store}};
constexpr Named<lab::DmaWay> kWays[] = {{"put", lab::DmaWay::put}, {"get", lab::DmaWay::get}};
constexpr Named<lab::DmaTarget> kTargets[] = {{"local_store", lab::DmaTarget::local_store},
                                              {"other_local_store", lab::DmaTarget::other_local_store},
                                              {"memory", lab::DmaTarget::memory},
                                              {"other_memory", lab::DmaTarget::other_memory}};

const char* name_of(lab::SettingKind kind) {
  switch (kind) {
    case lab::SettingKind::number:
      return "number";
    case lab::SettingKind::bytes:
      return "bytes";
    case lab::SettingKind::flag:
      return "flag";
    case lab::SettingKind::closing:
      return "closing";
  }
  return "";
}

using NamedValues = std::vector<std::pair<std::string, std::int64_t>>;

NamedValues values_of(const Algorithm& algorithm, const lab::Configuration& configuration) {
  NamedValues values;
  for (const lab::SettingRow& row : lab::setting_rows()) {
    if (lab::takes(algorithm, row)) values.emplace_back(row.name, lab::value_of(row, configuration));
  }
  return values;
}

/// (name, what, commutative operators only, settings with their defaults).
using AlgorithmOut = std::tuple<std::string, std::string, bool, NamedValues>;

std::vector<AlgorithmOut> algorithms(const std::string& collective) {
  std::vector<AlgorithmOut> all;
  for (const Algorithm& each : lab::algorithms_of(unwrap(lab::collective_named(collective)))) {
    all.emplace_back(each.name, each.what, (each.needs & coll::kCommutative) != 0,
                     values_of(each, lab::default_configuration(each, 1)));
  }
  return all;
}

/// (name, has a root, combines operands, has blocks of different sizes).
std::vector<std::tuple<std::string, bool, bool, bool>> collectives() {
  std::vector<std::tuple<std::string, bool, bool, bool>> all;
  for (const coll::Collective each : lab::all_collectives()) {
    all.emplace_back(lab::name_of(each), lab::has_root(each), lab::combines(each), lab::has_uneven_blocks(each));
  }
  return all;
}

/// (name, kind, least, most, step, meaning).
std::vector<std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t, std::string>>
settings() {
  std::vector<std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t, std::string>> all;
  for (const lab::SettingRow& row : lab::setting_rows()) {
    all.emplace_back(row.name, name_of(row.kind), row.least, row.most, row.step, row.meaning);
  }
  return all;
}

void make_job(CollectiveJob* self, const std::string& collective, const std::string& algorithm, int ranks,
              std::uint64_t bytes, int root, NamedValues settings, const std::string& memory, std::vector<int> spes,
              const std::string& operation, const std::string& element, std::uint32_t block_bytes,
              std::uint32_t stride_bytes, bool in_place, bool uneven, bool unaligned, std::int64_t delay_ns,
              int warm_up, int calls, std::uint64_t seed) {
  const coll::Collective which = unwrap(lab::collective_named(collective));
  const lab::UserMemory where = chosen("memory", memory, kMemories);
  new (self) CollectiveJob{};
  self->task.collective = which;
  self->task.ranks = ranks;
  self->task.bytes = bytes;
  self->task.root = root;
  self->task.operation = operation;
  self->task.element = element;
  self->task.stride = {block_bytes, stride_bytes};
  self->task.in_place = in_place;
  self->task.uneven = uneven;
  self->task.unaligned = unaligned;
  self->task.seed = seed;
  self->algorithm = algorithm;
  self->settings = std::move(settings);
  self->memory = where;
  self->spes = std::move(spes);
  self->most_delay_ns = delay_ns;
  self->warm_up = warm_up;
  self->calls = calls;
}

CollectiveTimes run_collective(const Machine& machine, const CollectiveJob& job) {
  const cell::Parameters parameters = unwrap(cell::Parameters::from(machine));
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return lab::run_collective_on_cell(parameters, job);
  }());
}

std::vector<CollectiveTimes> run_collectives(const Machine& machine, const std::vector<CollectiveJob>& jobs) {
  const cell::Parameters parameters = unwrap(cell::Parameters::from(machine));
  return unwrap([&]() -> Result<std::vector<CollectiveTimes>> {
    const nb::gil_scoped_release release;
    std::vector<CollectiveTimes> all;
    for (const CollectiveJob& job : jobs) {
      Result<CollectiveTimes> times = lab::run_collective_on_cell(parameters, job);
      if (!times.ok()) return times.status();
      all.push_back(std::move(times).value());
    }
    return all;
  }());
}

void check_collective(const CollectiveJob& job, std::uint64_t port_seed) {
  const Status status = [&] {
    const nb::gil_scoped_release release;
    return lab::run_collective_on_ideal(job, port_seed);
  }();
  require(status);
}

void bind_runs(nb::module_& module) {
  nb::class_<CollectiveJob>(module, "CollectiveJob", "One collective by one algorithm, and how often.")
      .def("__init__", &make_job, "collective"_a, "algorithm"_a, "ranks"_a, "bytes"_a = 0, "root"_a = 0,
           "settings"_a = NamedValues{}, "memory"_a = "first", "spes"_a = std::vector<int>{}, "operation"_a = "sum",
           "element"_a = "int32", "block_bytes"_a = 0, "stride_bytes"_a = 0, "in_place"_a = false,
           "uneven"_a = false, "unaligned"_a = false, "delay_ns"_a = 0, "warm_up"_a = 1, "calls"_a = 3,
           "seed"_a = 1);
  nb::class_<CollectiveTimes>(module, "CollectiveTimes", "What a collective took; times in ns.")
      .def_ro("latency_ns", &CollectiveTimes::latency_ns, "Of each call, common start to last rank done.")
      .def_prop_ro("mean_latency_ns", &CollectiveTimes::mean_latency_ns)
      .def_ro("rank_end_ns", &CollectiveTimes::rank_end_ns, "Of the last of them, from the common start.")
      .def_ro("throughput_ns", &CollectiveTimes::throughput_ns, "Per call, back to back.")
      .def_prop_ro(
          "memories",
          [](const CollectiveTimes& self) {
            std::vector<std::tuple<double, double, double>> all;
            for (const lab::MemoryTraffic& each : self.memories) {
              all.emplace_back(each.read_bytes, each.written_bytes, each.gb_per_s);
            }
            return all;
          },
          "(bytes read, bytes written, GB/s) per call of each chip's memory controller.")
      .def_ro("dma_commands", &CollectiveTimes::dma_commands, "Of all SPEs, per call.")
      .def_ro("local_store_bytes", &CollectiveTimes::local_store_bytes, "Of a rank, beside code and user data.")
      .def_ro("spes", &CollectiveTimes::spes, "Of the ranks.")
      .def_ro("events", &CollectiveTimes::events);
  module.def("collectives", &collectives,
             "(name, has a root, combines operands, has blocks of different sizes) of every collective.");
  module.def("collective_algorithms", &algorithms, "collective"_a,
             "(name, how it works, commutative operators only, [(setting, default)]) of every algorithm.");
  module.def("collective_settings", &settings, "(name, kind, least, most, step, meaning) of every setting.");
  module.def("run_collective", &run_collective, "machine"_a, "job"_a,
             "Runs a collective on a simulated Cell and checks every rank's data.");
  module.def("run_collectives", &run_collectives, "machine"_a, "jobs"_a, "Many, each on a machine of its own.");
  module.def("check_collective", &check_collective, "job"_a, "port_seed"_a = 0,
             "Runs the calls on ideal ranks, where they take no time, and checks every rank's data; with a "
             "port_seed, whatever the port's contract leaves open is used against the algorithm.");
}

void bind_dma(nb::module_& module) {
  module.def(
      "time_dma",
      [](const Machine& machine, const std::string& way, const std::string& target, std::uint32_t bytes,
         std::uint32_t command_bytes, int spes, int repetitions, std::uint64_t seed) {
        const lab::DmaCase asked{chosen("way", way, kWays),
                                 chosen("target", target, kTargets),
                                 bytes,
                                 command_bytes,
                                 spes,
                                 repetitions,
                                 seed};
        const cell::Parameters parameters = unwrap(cell::Parameters::from(machine));
        const lab::DmaTimes times = unwrap([&] {
          const nb::gil_scoped_release release;
          return lab::time_dma(parameters, asked);
        }());
        return std::tuple(times.mean_ns, times.deviation_ns, times.least_ns, times.most_ns);
      },
      "machine"_a, "way"_a, "target"_a, "bytes"_a, "command_bytes"_a = 16384, "spes"_a = 1, "repetitions"_a = 40,
      "seed"_a = 1,
      "What a DMA transfer takes, in ns: (mean, sample deviation, least, most) over all repetitions of all "
      "SPEs.\n\n"
      "way : put, get\n"
      "target : local_store, other_local_store, memory, other_memory (other: of the other chip)");
  module.def(
      "time_strided",
      [](const Machine& machine, const std::string& way, std::uint32_t bytes, std::uint32_t block_bytes,
         std::uint32_t stride_bytes, bool list) {
        const lab::StridedCase asked{chosen("way", way, kWays), bytes, block_bytes, stride_bytes, list};
        const cell::Parameters parameters = unwrap(cell::Parameters::from(machine));
        const lab::StridedTimes times = unwrap([&] {
          const nb::gil_scoped_release release;
          return lab::time_strided(parameters, asked);
        }());
        return std::pair(times.strided_ns, times.contiguous_ns);
      },
      "machine"_a, "way"_a, "bytes"_a, "block_bytes"_a, "stride_bytes"_a, "list"_a = true,
      "Between a strided buffer in memory and a local store, ns: (strided, the same bytes in one piece).");
}

void bind_copies(nb::module_& module) {
  module.def(
      "time_copy",
      [](const Machine& machine, std::uint64_t bytes, std::uint32_t buffer_bytes, int buffers, int from_memory,
         int to_memory) {
        const lab::CopyCase asked{bytes, buffer_bytes, buffers, from_memory, to_memory};
        const cell::Parameters parameters = unwrap(cell::Parameters::from(machine));
        return unwrap([&] {
          const nb::gil_scoped_release release;
          return lab::time_copy_ns(parameters, asked);
        }());
      },
      "machine"_a, "bytes"_a, "buffer_bytes"_a = 16384, "buffers"_a = 2, "from_memory"_a = 0, "to_memory"_a = 0,
      "A copy from memory to memory through an SPE, ns.");
  module.def(
      "time_ppe_copy",
      [](const Machine& machine, std::uint64_t bytes, int from_memory, int to_memory) {
        const lab::CopyCase asked{bytes, 16384, 1, from_memory, to_memory};
        const cell::Parameters parameters = unwrap(cell::Parameters::from(machine));
        return unwrap([&] {
          const nb::gil_scoped_release release;
          return lab::time_ppe_copy_ns(parameters, asked);
        }());
      },
      "machine"_a, "bytes"_a, "from_memory"_a = 0, "to_memory"_a = 0, "The same by memcpy on the PPE, ns.");
  module.def(
      "stream_memory",
      [](const Machine& machine, std::vector<int> spes, int memory, std::uint64_t reads, std::uint64_t writes) {
        const lab::MemoryStream asked{std::move(spes), memory, reads, writes};
        const cell::Parameters parameters = unwrap(cell::Parameters::from(machine));
        return unwrap([&] {
          const nb::gil_scoped_release release;
          return lab::stream_memory_gb_per_s(parameters, asked);
        }());
      },
      "machine"_a, "spes"_a, "memory"_a = 0, "reads"_a = 0, "writes"_a = 0,
      "What a memory controller moves at best, in GB/s: SPEs that do nothing but stream commands of 16 KB.");
}

}  // namespace

void bind_collective(nb::module_& module) {
  bind_runs(module);
  bind_dma(module);
  bind_copies(module);
}

}  // namespace corewise::bind
