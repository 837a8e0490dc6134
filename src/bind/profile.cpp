// Room profile for Python: a folder of rank files as Profile, World and plain summaries. Sparse traffic comes as
// coordinate arrays, totals as one matrix per quantity, rows in the order of World.ranks.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/profile.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using profile::CallSite;
using profile::Communicator;
using profile::Losses;
using profile::PairDifference;
using profile::ProcedureTotals;
using profile::Profile;
using profile::Rank;
using profile::Traffic;
using profile::World;

constexpr std::pair<const char*, Traffic> kKinds[] = {{"sent", Traffic::sent},
                                                      {"received", Traffic::received},
                                                      {"collective", Traffic::collective},
                                                      {"put", Traffic::put},
                                                      {"get", Traffic::get}};

Traffic traffic_of(const std::string& kind) {
  for (const auto& [name, traffic] : kKinds)
    if (kind == name) return traffic;
  raise(bad_field("", "kind", "'" + kind + "'", "sent, received, collective, put, get"));
}

const char* ending_text(const Rank& rank) {
  switch (rank.ending) {
    case profile::Ending::finalized:
      return "finalized";
    case profile::Ending::aborted:
      return "aborted";
    default:
      return "running";
  }
}

Profile read_profile(const std::string& directory) {
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return profile::read_directory(directory);
  }());
}

template <class T, class Field>
MatrixOut<T> totals_matrix(const World& world, Field field) {
  std::vector<T> values;
  values.reserve(world.totals.size());
  for (const ProcedureTotals& each : world.totals) values.push_back(static_cast<T>(each.*field));
  return to_matrix(std::move(values), world.ranks.size(), world.procedures.size());
}

/// (senders int32, receivers int32, bytes uint64, messages uint64)
nb::tuple coordinates(const World& world, const std::string& kind, int comm) {
  const pattern::Matrix matrix = profile::matrix(world, traffic_of(kind), comm);
  std::vector<std::int32_t> senders;
  std::vector<std::int32_t> receivers;
  std::vector<std::uint64_t> bytes;
  std::vector<std::uint64_t> messages;
  for (const pattern::Message& entry : matrix.entries) {
    senders.push_back(entry.from);
    receivers.push_back(entry.to);
    bytes.push_back(entry.bytes);
    messages.push_back(entry.count);
  }
  return nb::make_tuple(to_array(std::move(senders)), to_array(std::move(receivers)), to_array(std::move(bytes)),
                        to_array(std::move(messages)));
}

MatrixOut<std::uint64_t> dense(const World& world, const std::string& kind, int comm) {
  const auto size = static_cast<std::size_t>(world.size);
  return to_matrix(profile::matrix(world, traffic_of(kind), comm).dense_bytes(), size, size);
}

nb::tuple histogram(const World& world, const std::string& kind) {
  const Traffic traffic = traffic_of(kind);
  if (traffic == Traffic::put || traffic == Traffic::get)
    raise(bad_field("", "kind", "'" + kind + "'", "sent, received, collective"));
  const profile::Histogram& found = traffic == Traffic::sent       ? world.sent_sizes
                                    : traffic == Traffic::received ? world.received_sizes
                                                                   : world.collective_sizes;
  return nb::make_tuple(to_array(std::vector<std::uint64_t>(found.count.begin(), found.count.end())),
                        to_array(std::vector<std::uint64_t>(found.bytes.begin(), found.bytes.end())));
}

void bind_losses(nb::module_& module) {
  nb::class_<Losses>(module, "Losses", "What a rank's trace could not keep or no longer has.")
      .def_ro("record_bytes", &Losses::record_bytes)
      .def_ro("sites", &Losses::sites)
      .def_ro("requests", &Losses::requests)
      .def_ro("communicators", &Losses::communicators)
      .def_ro("nested", &Losses::nested)
      .def_ro("overwritten_bytes", &Losses::overwritten_bytes)
      .def_ro("missing_bytes", &Losses::missing_bytes)
      .def_ro("damaged_blocks", &Losses::damaged_blocks)
      .def_ro("bad_peers", &Losses::bad_peers);
}

void bind_rank(nb::module_& module) {
  nb::class_<Rank>(module, "RankSummary", "One rank's totals; times in nanoseconds.")
      .def_ro("rank", &Rank::rank)
      .def_ro("file", &Rank::file)
      .def_ro("host", &Rank::host)
      .def_ro("pid", &Rank::pid)
      .def_prop_ro("ending", &ending_text, "'finalized', 'aborted', or 'running': it never finished")
      .def_ro("abort_code", &Rank::abort_code)
      .def_ro("thread_level", &Rank::thread_level)
      .def_ro("threads", &Rank::threads)
      .def_ro("flight_recorder", &Rank::flight_recorder)
      .def_ro("started_realtime_ns", &Rank::started_realtime_ns)
      .def_ro("wall_ns", &Rank::wall_ns)
      .def_ro("mpi_ns", &Rank::mpi_ns)
      .def_ro("polling_ns", &Rank::polling_ns)
      .def_ro("records", &Rank::records)
      .def_ro("calls", &Rank::calls)
      .def_ro("misses", &Rank::misses)
      .def_ro("probes", &Rank::probes)
      .def_ro("cancelled", &Rank::cancelled)
      .def_ro("outside_sent_bytes", &Rank::outside_sent_bytes)
      .def_ro("outside_received_bytes", &Rank::outside_received_bytes)
      .def_ro("unmodelled_bytes", &Rank::unmodelled_bytes)
      .def_ro("clock_known", &Rank::clock_known)
      .def_ro("clock_precise", &Rank::clock_precise)
      .def_ro("cpus_start", &Rank::cpus_start)
      .def_ro("cpus_end", &Rank::cpus_end)
      .def_ro("losses", &Rank::losses);
}

void bind_details(nb::module_& module) {
  nb::class_<CallSite>(module, "CallSite", "Where MPI was called from, as an offset into the file of the code.")
      .def_ro("object", &CallSite::object)
      .def_ro("file_offset", &CallSite::file_offset)
      .def_ro("procedure", &CallSite::procedure, "index into World.procedures")
      .def_ro("ranks", &CallSite::ranks)
      .def_ro("calls", &CallSite::calls)
      .def_ro("bytes", &CallSite::bytes)
      .def_ro("time_ns", &CallSite::time_ns)
      .def_ro("polling_ns", &CallSite::polling_ns);
  nb::class_<Communicator>(module, "Communicator", "A communicator as all its members see it.")
      .def_ro("name", &Communicator::name)
      .def_ro("created_by", &Communicator::created_by)
      .def_ro("size", &Communicator::size)
      .def_ro("remote_size", &Communicator::remote_size)
      .def_ro("identity", &Communicator::identity)
      .def_ro("ranks", &Communicator::ranks)
      .def_ro("remote_ranks", &Communicator::remote_ranks);
  nb::class_<PairDifference>(module, "PairDifference", "A pair whose sender and receiver do not say the same.")
      .def_ro("sender", &PairDifference::from)
      .def_ro("receiver", &PairDifference::to)
      .def_ro("sent_bytes", &PairDifference::sent_bytes)
      .def_ro("sent_messages", &PairDifference::sent_count)
      .def_ro("received_bytes", &PairDifference::received_bytes)
      .def_ro("received_messages", &PairDifference::received_count);
}

void bind_world(nb::module_& module) {
  nb::class_<World>(module, "World", "The ranks that one launch started together.")
      .def_ro("name", &World::name)
      .def_ro("spawned", &World::spawned)
      .def_ro("size", &World::size)
      .def_ro("library", &World::library)
      .def_ro("ranks", &World::ranks, "Those that left a readable file, in order (a fresh list).")
      .def_ro("procedures", &World::procedures)
      .def_ro("sites", &World::sites)
      .def_ro("communicators", &World::communicators)
      .def_prop_ro(
          "calls", [](const World& world) { return totals_matrix<std::uint64_t>(world, &ProcedureTotals::calls); },
          nb::rv_policy::move, "ndarray of uint64, shape (len(ranks), len(procedures)); the following alike.")
      .def_prop_ro(
          "misses",
          [](const World& world) { return totals_matrix<std::uint64_t>(world, &ProcedureTotals::misses); },
          nb::rv_policy::move)
      .def_prop_ro(
          "bytes", [](const World& world) { return totals_matrix<std::uint64_t>(world, &ProcedureTotals::bytes); },
          nb::rv_policy::move)
      .def_prop_ro(
          "time_ns", [](const World& world) { return totals_matrix<double>(world, &ProcedureTotals::time_ns); },
          nb::rv_policy::move)
      .def_prop_ro(
          "polling_ns",
          [](const World& world) { return totals_matrix<double>(world, &ProcedureTotals::polling_ns); },
          nb::rv_policy::move)
      .def_prop_ro(
          "longest_ns",
          [](const World& world) { return totals_matrix<double>(world, &ProcedureTotals::longest_ns); },
          nb::rv_policy::move)
      .def("coordinates", &coordinates, "kind"_a, "comm"_a = profile::kNoComm,
           "One kind of traffic ('sent', 'received', 'collective', 'put', 'get'), of one communicator or (-1) of "
           "all:\n\n"
           "senders, receivers : ndarray of int32, shape (n,)\nbytes, messages : ndarray of uint64, shape (n,)")
      .def("matrix", &dense, "kind"_a, "comm"_a = profile::kNoComm,
           "The same bytes from row to column: ndarray of uint64, shape (size, size).")
      .def("histogram", &histogram, "kind"_a,
           "(count, bytes) by size, two arrays of uint64: bin 0 empty messages, bin b from 2**(b-1) to 2**b - 1 "
           "bytes.")
      .def("differences", &profile::compare_sent_and_received,
           "Pairs whose sender and receiver do not say the same.")
      .def("pattern", &profile::to_pattern, "name"_a,
           "The point-to-point messages as sent: a Pattern of one phase.");
}

}  // namespace

void bind_profile(nb::module_& module) {
  bind_losses(module);
  bind_rank(module);
  bind_details(module);
  bind_world(module);
  nb::class_<Profile>(module, "RunProfile", "All worlds of a run, the main one first.")
      .def_ro("worlds", &Profile::worlds)
      .def_ro("problems", &Profile::problems, "What is wrong with single files, one sentence each.");
  module.def("read_profile", &read_profile, "directory"_a, "Reads every rank file of a profile's folder.");
}

}  // namespace corewise::bind
