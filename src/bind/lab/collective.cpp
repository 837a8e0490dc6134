// Collectives on simulated SPEs for Python: the tables of algorithms, runs one by one and in lists, and paper 001's
// figure 2. Every run releases the GIL. SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "lab/collectives/dma_study.hpp"
#include "lab/collectives/kinds.hpp"
#include "lab/collectives/memory_stream.hpp"
#include "lab/collectives/run.hpp"
#include "machine/machine.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using lab::Algorithm;
using lab::CollectiveRequest;
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
                                                {"interleaved", lab::UserMemory::interleaved},
                                                {"first_touch", lab::UserMemory::first_touch},
                                                {"local_store", lab::UserMemory::local_store}};
constexpr Named<lab::DmaWay> kWays[] = {{"put", lab::DmaWay::put}, {"get", lab::DmaWay::get}};
constexpr Named<lab::DmaTarget> kTargets[] = {{"local_store", lab::DmaTarget::local_store},
                                              {"other_local_store", lab::DmaTarget::other_local_store},
                                              {"memory", lab::DmaTarget::memory},
                                              {"other_memory", lab::DmaTarget::other_memory}};

// ---- settings: names and values as Python has them ----

nb::object value_out(const lab::SettingRow& row, std::int64_t number) {
  if (row.kind == lab::SettingKind::flag) return nb::bool_(number != 0);
  if (row.kind == lab::SettingKind::closing)
    return nb::cast(lab::closing_names()[static_cast<std::size_t>(number)]);
  return nb::int_(number);
}

/// A whole number; one that does not fit is out of range, wherever the range ends.
std::int64_t number_in(const char* name, nb::handle value, const std::string& allowed) {
  int overflow = 0;
  if (PyLong_Check(value.ptr()) && !PyBool_Check(value.ptr())) {
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow == 0) return number;
  }
  raise(bad_field("", name, nb::repr(value).c_str(), allowed));
}

std::int64_t value_in(const lab::SettingRow& row, nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return unwrap(lab::parse_value(row, nb::cast<std::string>(value)));
  const bool flag = row.kind == lab::SettingKind::flag;
  if (flag && PyBool_Check(value.ptr())) return value.is(nb::handle(Py_True)) ? 1 : 0;
  if (flag || row.kind == lab::SettingKind::closing) {
    raise(bad_field("", row.name, nb::repr(value).c_str(), lab::allowed_text(row)));
  }
  return number_in(std::string(row.name).c_str(), value, lab::allowed_text(row));
}

using SettingsOut = nb::typed<nb::dict, nb::str, std::variant<bool, std::int64_t, std::string>>;

SettingsOut settings_out(const lab::Settings& settings) {
  SettingsOut values;
  for (const auto& [name, number] : settings) {
    values[name.c_str()] = value_out(unwrap(lab::setting_named(name)), number);
  }
  return values;
}

lab::Settings settings_in(nb::handle values) {
  lab::Settings settings;
  for (const nb::handle item : values.attr("items")()) {
    const std::string name = nb::cast<std::string>(item[0]);
    settings.emplace_back(name, value_in(unwrap(lab::setting_named(name)), item[1]));
  }
  return settings;
}

/// (name, what, commutative operators only, settings with their defaults).
using AlgorithmOut = std::tuple<std::string, std::string, bool, SettingsOut>;

std::vector<AlgorithmOut> algorithms(const std::string& collective) {
  std::vector<AlgorithmOut> all;
  for (const Algorithm& each : lab::algorithms_of(unwrap(lab::collective_named(collective)))) {
    all.emplace_back(each.name, each.what, (each.needs & coll::kCommutative) != 0,
                     settings_out(lab::settings_of(each, lab::default_configuration(each, 1))));
  }
  return all;
}

// ---- requests ----

constexpr std::pair<const char*, bool CollectiveRequest::*> kFlags[] = {
    {"in_place", &CollectiveRequest::in_place},
    {"uneven", &CollectiveRequest::uneven},
    {"unaligned", &CollectiveRequest::unaligned},
    {"back_to_back", &CollectiveRequest::back_to_back}};
constexpr std::pair<const char*, std::string CollectiveRequest::*> kTexts[] = {
    {"operation", &CollectiveRequest::operation}, {"element", &CollectiveRequest::element}};

void set_field(CollectiveRequest& request, const std::string& name, nb::handle value) {
  for (const lab::NumberRow& row : lab::number_rows()) {
    if (name != row.name) continue;
    const std::int64_t number = number_in(row.name, value, lab::range_text(row));
    // Out of range it might not fit into the field.
    if (number < row.least || number > row.most) {
      raise(bad_field("", row.name, std::to_string(number), lab::range_text(row)));
    }
    return row.set(request, number);
  }
  for (const auto& [field, member] : kFlags) {
    if (name == field) return void(request.*member = nb::cast<bool>(value));
  }
  for (const auto& [field, member] : kTexts) {
    if (name == field) return void(request.*member = nb::cast<std::string>(value));
  }
  if (name == "memory") return void(request.memory = chosen("memory", nb::cast<std::string>(value), kMemories));
  if (name == "settings") return void(request.settings = settings_in(value));
  throw nb::type_error(("CollectiveRequest has no field " + name).c_str());
}

void make_request(CollectiveRequest* self, const std::string& collective, const std::string& algorithm,
                  nb::handle ranks, nb::handle bytes, const nb::kwargs& more) {
  CollectiveRequest request;
  request.collective = unwrap(lab::collective_named(collective));
  request.algorithm = algorithm;
  set_field(request, "ranks", ranks);
  set_field(request, "bytes", bytes);
  for (const auto [name, value] : more) set_field(request, nb::cast<std::string>(name), value);
  require(lab::check(request));
  new (self) CollectiveRequest(std::move(request));
}

std::string memory_of(const CollectiveRequest& request) {
  return std::ranges::find(kMemories, request.memory, &Named<lab::UserMemory>::value)->name;
}

void bind_request(nb::module_& module) {
  nb::class_<CollectiveRequest> request(
      module, "CollectiveRequest",
      "One collective by one algorithm: what is moved, where it is, how often. It does not change.\n\n"
      "Besides the four that stand first: root, settings (a mapping of names to values), memory (first, second, "
      "own, interleaved, first_touch, local_store), operation and element (of collectives that combine), "
      "block_bytes, stride_bytes, "
      "cache_line_bytes, cache_sets, cache_ways (of a software cache before main memory), "
      "receive_block_bytes and receive_stride_bytes (of those with a root), in_place, uneven, unaligned, delay_ns, "
      "warm_up, calls, back_to_back (false: no throughput), seed. Numbers out of range, and what the "
      "collective does not have, are an InputError.");
  request
      .def(
          "__init__", &make_request, "collective"_a, "algorithm"_a, "ranks"_a, "bytes"_a = 0, "more"_a,
          nb::sig("def __init__(self, collective: str, algorithm: str, ranks: int, bytes: int = 0, **more: object) "
                  "-> None"))
      .def_prop_ro("collective", [](const CollectiveRequest& self) { return lab::name_of(self.collective); })
      .def_ro("algorithm", &CollectiveRequest::algorithm)
      .def_prop_ro(
          "settings", [](const CollectiveRequest& self) { return settings_out(self.settings); },
          "Those that were given.")
      .def_prop_ro("memory", &memory_of)
      .def_prop_ro("operation", &CollectiveRequest::operation_name, "Of collectives that combine.")
      .def_prop_ro("element", &CollectiveRequest::element_name)
      .def_ro("in_place", &CollectiveRequest::in_place, "Results replace operands.")
      .def_ro("uneven", &CollectiveRequest::uneven, "The vector versions' blocks differ, with gaps between.")
      .def_ro("unaligned", &CollectiveRequest::unaligned, "Buffers begin at odd places.");
  for (const lab::NumberRow& row : lab::number_rows()) {
    request.def_prop_ro(row.name, row.get, row.meaning);
  }
}

// ---- runs ----

CollectiveTimes run_collective(const Machine& machine, const CollectiveRequest& request,
                               std::vector<machine::UnitId> unit_of_rank) {
  return without_gil([&] { return lab::run_collective(machine, request, {std::move(unit_of_rank)}); });
}

void check_collective(const CollectiveRequest& request, std::uint64_t port_seed) {
  const Status status = [&] {
    const nb::gil_scoped_release release;
    return lab::run_collective_on_ideal(request, port_seed);
  }();
  require(status);
}

void bind_runs(nb::module_& module) {
  nb::class_<CollectiveTimes>(module, "CollectiveTimes", "What a collective took; times in ns.")
      .def_ro("latency_ns", &CollectiveTimes::latency_ns, "Of each call, common start to last rank done.")
      .def_prop_ro("mean_latency_ns", &CollectiveTimes::mean_latency_ns)
      .def_ro("rank_end_ns", &CollectiveTimes::rank_end_ns, "Of the last of them, from the common start.")
      .def_ro("throughput_ns", &CollectiveTimes::throughput_ns, "Per call, back to back; 0 without such calls.")
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
      .def_prop_ro(
          "settings", [](const CollectiveTimes& self) { return settings_out(self.settings); },
          "All that the algorithm had, defaults too.")
      .def_ro("dma_commands", &CollectiveTimes::dma_commands, "Of all SPEs, per call.")
      .def_ro("local_store_bytes", &CollectiveTimes::local_store_bytes,
              "Of a rank, beside code and user data; with its software cache.")
      .def_prop_ro(
          "cache",
          [](const CollectiveTimes& self) {
            const lab::CacheUse& use = self.cache;
            return std::tuple(use.hits, use.misses, use.write_backs, use.bytes);
          },
          "(hits, misses, write-backs) of all ranks' software caches per call, (bytes) of each; zeros without one.")
      .def_ro("spes", &CollectiveTimes::spes, "Of the ranks.")
      .def_ro("events", &CollectiveTimes::events);
  module.def("collective_algorithms", &algorithms, "collective"_a,
             "(name, how it works, commutative operators only, {setting: default}) of every algorithm.");
  module.def("run_collective", &run_collective, "machine"_a, "request"_a,
             "unit_of_rank"_a = std::vector<machine::UnitId>{},
             "Runs a collective on a simulated Cell and checks every rank's data. Without a placement rank r is on "
             "unit r.");
  module.def("check_collective", &check_collective, "request"_a, "port_seed"_a = 0,
             "Runs the calls on ideal ranks, where they take no time, and checks every rank's data; with a "
             "port_seed, whatever the port's contract leaves open is used against the algorithm.");
}

// ---- paper 001's figure 2 ----

/// What `run` gives on a Cell, without the GIL.
template <class Run>
auto on_cell(const Machine& machine, Run run) {
  const cell::Parameters parameters = unwrap(cell::Parameters::from(machine));
  return without_gil([&] { return run(parameters); });
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
        const lab::DmaTimes times =
            on_cell(machine, [&](const cell::Parameters& cell) { return lab::time_dma(cell, asked); });
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
        const lab::StridedTimes times =
            on_cell(machine, [&](const cell::Parameters& cell) { return lab::time_strided(cell, asked); });
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
        return on_cell(machine, [&](const cell::Parameters& cell) { return lab::time_copy_ns(cell, asked); });
      },
      "machine"_a, "bytes"_a, "buffer_bytes"_a = 16384, "buffers"_a = 2, "from_memory"_a = 0, "to_memory"_a = 0,
      "A copy from memory to memory through an SPE, ns.");
  module.def(
      "time_ppe_copy",
      [](const Machine& machine, std::uint64_t bytes, int from_memory, int to_memory) {
        const lab::CopyCase asked{bytes, 16384, 1, from_memory, to_memory};
        return on_cell(machine, [&](const cell::Parameters& cell) { return lab::time_ppe_copy_ns(cell, asked); });
      },
      "machine"_a, "bytes"_a, "from_memory"_a = 0, "to_memory"_a = 0, "The same by memcpy on the PPE, ns.");
  module.def(
      "stream_memory",
      [](const Machine& machine, std::vector<int> spes, int memory, std::uint64_t reads, std::uint64_t writes) {
        const lab::MemoryStream asked{std::move(spes), memory, reads, writes};
        return on_cell(machine,
                       [&](const cell::Parameters& cell) { return lab::stream_memory_gb_per_s(cell, asked); });
      },
      "machine"_a, "spes"_a, "memory"_a = 0, "reads"_a = 0, "writes"_a = 0,
      "What a memory controller moves at best, in GB/s: SPEs that do nothing but stream commands of 16 KB.");
}

}  // namespace

void bind_collective(nb::module_& module) {
  bind_request(module);
  bind_runs(module);
  bind_dma(module);
  bind_copies(module);
}

}  // namespace corewise::bind
