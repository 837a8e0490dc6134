// Room profile for Python: a folder of rank files as Profile, World and plain summaries. Sparse traffic comes as
// coordinate arrays, totals as one matrix per quantity, rows in the order of World.ranks.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/profile.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "profile/reading.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using profile::CallSite;
using profile::CollectiveMade;
using profile::CollectivesMade;
using profile::Communicator;
using profile::Crash;
using profile::DatatypeTotals;
using profile::LastCall;
using profile::Losses;
using profile::OpenCall;
using profile::OpenOperation;
using profile::PairDifference;
using profile::ProcedureTotals;
using profile::Rank;
using profile::RankEnd;
using profile::Section;
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

profile::RunAnswer read_run(const std::string& directory, bool totals, bool waits, std::optional<int> calls,
                            std::int64_t ended_ns) {
  profile::RunQuestion question;
  question.totals = totals;
  question.waits = waits;
  question.calls = calls.has_value();
  question.calls_rank = calls.value_or(profile::kEveryRank);
  question.ended_realtime_ns = ended_ns;
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return profile::read_run(directory, question);
  }());
}

template <class T, class Field>
MatrixOut<T> totals_matrix(const World& world, Field field) {
  std::vector<T> values;
  values.reserve(world.totals.size());
  for (const ProcedureTotals& each : world.totals) values.push_back(static_cast<T>(each.*field));
  return to_matrix(std::move(values), world.ranks.size(), world.procedures.size());
}

/// A communicator or phase by index, -1 for all.
int index_in(int index, std::size_t size, const char* field) {
  if (index >= -1 && index < static_cast<int>(size)) return index;
  raise(bad_field("", field, std::to_string(index), "-1.." + std::to_string(static_cast<int>(size) - 1)));
}

std::vector<profile::PairTraffic> pairs_of(const World& world, const std::string& kind, int comm, int phase) {
  return profile::pairs(world, traffic_of(kind), index_in(comm, world.communicators.size(), "comm"),
                        index_in(phase, world.phases.size(), "phase"));
}

template <class T, class Field>
ArrayOut<T> column(const std::vector<profile::PairTraffic>& pairs, Field field) {
  std::vector<T> values;
  values.reserve(pairs.size());
  for (const profile::PairTraffic& pair : pairs) values.push_back(pair.*field);
  return to_array(std::move(values));
}

using profile::PairTraffic;

CoordinatesOut coordinates(const World& world, const std::string& kind, int comm, int phase) {
  const std::vector<PairTraffic> pairs = pairs_of(world, kind, comm, phase);
  return nb::make_tuple(
      column<std::int32_t>(pairs, &PairTraffic::from), column<std::int32_t>(pairs, &PairTraffic::to),
      column<std::uint64_t>(pairs, &PairTraffic::bytes), column<std::uint64_t>(pairs, &PairTraffic::count));
}

using TrafficOut = nb::typed<nb::tuple, ArrayOut<std::int32_t>, ArrayOut<std::int32_t>, ArrayOut<std::uint64_t>,
                             ArrayOut<std::uint64_t>, ArrayOut<double>>;

TrafficOut traffic(const World& world, const std::string& kind, int comm, int phase) {
  const std::vector<PairTraffic> pairs = pairs_of(world, kind, comm, phase);
  return nb::make_tuple(
      column<std::int32_t>(pairs, &PairTraffic::from), column<std::int32_t>(pairs, &PairTraffic::to),
      column<std::uint64_t>(pairs, &PairTraffic::bytes), column<std::uint64_t>(pairs, &PairTraffic::count),
      column<double>(pairs, &PairTraffic::time_ns));
}

MatrixOut<std::uint64_t> dense(const World& world, const std::string& kind, int comm, int phase) {
  const auto size = static_cast<std::size_t>(world.size);
  const pattern::Matrix matrix =
      profile::matrix(world, traffic_of(kind), index_in(comm, world.communicators.size(), "comm"),
                      index_in(phase, world.phases.size(), "phase"));
  return to_matrix(matrix.dense_bytes(), size, size);
}

pattern::Pattern pattern_of(const World& world, std::string name, bool by_phase) {
  return by_phase ? profile::to_phases(world, std::move(name)) : profile::to_pattern(world, std::move(name));
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
      .def_ro("bad_peers", &Losses::bad_peers)
      .def_ro("names", &Losses::names)
      .def_ro("functions", &Losses::functions)
      .def_ro("types", &Losses::types, "Datatypes beyond the table.");
}

/// A word for what an operation that is not over does.
const char* kind_text(const OpenOperation& operation) {
  switch (operation.kind) {
    case trace::Role::send:
      return "send";
    case trace::Role::receive:
    case trace::Role::post_receive:
      return "receive";
    case trace::Role::probe:
      return "probe";
    case trace::Role::collective:
      return "collective";
    default:
      return "call";
  }
}

void bind_end(nb::module_& module) {
  nb::class_<OpenOperation>(module, "OpenOperation", "A call or an operation that was not over.")
      .def_ro("procedure", &OpenOperation::procedure)
      .def_prop_ro("kind", &kind_text,
                   "'send', 'receive', 'probe', 'collective', or 'call': nothing more is known.")
      .def_ro("peer", &OpenOperation::peer,
              "World rank; the root of a collective; -1 none, -2 MPI_PROC_NULL, -3 any.")
      .def_ro("tag", &OpenOperation::tag)
      .def_ro("bytes", &OpenOperation::bytes, "Of a receive the room for it.")
      .def_ro("comm", &OpenOperation::comm, "Index into World.communicators, -1 unknown.")
      .def_ro("datatype", &OpenOperation::datatype, "Index into World.datatypes, -1 unknown.")
      .def_ro("called_from", &OpenOperation::from)
      .def_ro("since_ns", &OpenOperation::since_ns, "When it began, as RankSummary.wall_ns counts.");
  nb::class_<OpenCall>(module, "OpenCall", "The call that a thread was in.")
      .def_ro("thread", &OpenCall::thread)
      .def_ro("call", &OpenCall::call)
      .def_ro("requests", &OpenCall::requests, "Given to MPI_Wait and its kin.")
      .def_ro("pending", &OpenCall::pending, "Operations that it waited for, the first few.");
  nb::class_<Crash>(module, "Crash", "The signal that ended a rank.")
      .def_ro("signal", &Crash::signal)
      .def_ro("code", &Crash::code)
      .def_ro("at_ns", &Crash::at_ns)
      .def_ro("address", &Crash::address, "What it touched; 0 where somebody sent the signal.")
      .def_ro("at", &Crash::at, "The instruction.")
      .def_ro("stack", &Crash::stack, "Return addresses on the stack, or words that look like one, inner first.");
  nb::class_<CollectiveMade>(module, "CollectiveMade", "One collective of a rank on a communicator.")
      .def_ro("ordinal", &CollectiveMade::ordinal)
      .def_ro("procedure", &CollectiveMade::procedure)
      .def_ro("root", &CollectiveMade::root);
  nb::class_<CollectivesMade>(module, "CollectivesMade", "A rank's collectives on one communicator that are over.")
      .def_ro("comm", &CollectivesMade::comm)
      .def_ro("count", &CollectivesMade::count)
      .def_ro("newest", &CollectivesMade::newest);
  nb::class_<LastCall>(module, "LastCall", "What a rank did last; procedure is empty where it recorded nothing.")
      .def_ro("procedure", &LastCall::procedure)
      .def_ro("called_from", &LastCall::from)
      .def_ro("end_ns", &LastCall::end_ns);
  nb::class_<RankEnd>(module, "RankEnd", "Where a rank was when its file ends.")
      .def_ro("open", &RankEnd::open)
      .def_ro("crash", &RankEnd::crash, "At most one.")
      .def_ro("exit_ns", &RankEnd::exit_ns, "When the process ran its exit handlers; negative: it did not.")
      .def_ro("last", &RankEnd::last)
      .def_ro("collectives", &RankEnd::collectives);
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
      .def_ro("node", &Rank::node, "Ranks with equal text share a node.")
      .def_ro("kinds", &Rank::kinds, "What was recorded: bits of docs/formats/trace.md.")
      .def_ro("memory_bytes", &Rank::memory_bytes,
              "Private memory of the recorder; 0 where the trace does not say.")
      .def_ro("functions", &Rank::functions, "Records of functions entered and left.")
      .def_ro("file_read_bytes", &Rank::file_read_bytes)
      .def_ro("file_written_bytes", &Rank::file_written_bytes)
      .def_ro("stops", &Rank::stops, "Times that the program stopped recording.")
      .def_ro("stopped_ns", &Rank::stopped_ns)
      .def_ro("cpus_start", &Rank::cpus_start)
      .def_ro("cpus_end", &Rank::cpus_end)
      .def_ro("end", &Rank::end)
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
  nb::class_<Section>(module, "Section", "What one rank did in a phase, or in all visits of a region.")
      .def_ro("name", &Section::name, "index into World.phases or World.regions")
      .def_ro("rank", &Section::rank)
      .def_ro("entered", &Section::entered)
      .def_ro("unclosed", &Section::unclosed)
      .def_ro("wall_ns", &Section::wall_ns)
      .def_ro("mpi_ns", &Section::mpi_ns)
      .def_ro("calls", &Section::calls)
      .def_ro("sent_bytes", &Section::sent_bytes)
      .def_ro("received_bytes", &Section::received_bytes)
      .def_ro("collective_bytes", &Section::collective_bytes)
      .def_ro("one_sided_bytes", &Section::one_sided_bytes)
      .def_ro("file_bytes", &Section::file_bytes);
  nb::class_<Communicator>(module, "Communicator", "A communicator as all its members see it.")
      .def_ro("name", &Communicator::name)
      .def_ro("created_by", &Communicator::created_by)
      .def_ro("size", &Communicator::size)
      .def_ro("remote_size", &Communicator::remote_size)
      .def_ro("identity", &Communicator::identity)
      .def_ro("ranks", &Communicator::ranks)
      .def_ro("remote_ranks", &Communicator::remote_ranks);
  nb::class_<DatatypeTotals>(module, "DatatypeTotals", "A datatype, and what was sent and contributed of it.")
      .def_ro("name", &DatatypeTotals::name, "Empty for all beyond a rank's table.")
      .def_ro("size_bytes", &DatatypeTotals::size_bytes)
      .def_ro("extent_bytes", &DatatypeTotals::extent_bytes)
      .def_ro("derived", &DatatypeTotals::derived)
      .def_ro("messages", &DatatypeTotals::messages)
      .def_ro("bytes", &DatatypeTotals::bytes)
      .def_ro("collective_calls", &DatatypeTotals::collective_calls)
      .def_ro("collective_bytes", &DatatypeTotals::collective_bytes);
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
      .def_ro("datatypes", &World::datatypes)
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
      .def_ro("phases", &World::phases, "Names; the unnamed one, before any other began, is the first and \"\".")
      .def_ro("regions", &World::regions)
      .def_ro("phase_totals", &World::phase_totals, "Section of every phase and rank that was in it.")
      .def_ro("region_totals", &World::region_totals)
      .def("coordinates", &coordinates, "kind"_a, "comm"_a = profile::kNoComm, "phase"_a = profile::kAnyPhase,
           "One kind of traffic ('sent', 'received', 'collective', 'put', 'get'), of one communicator and phase or "
           "(-1) of all:\n\n"
           "senders, receivers : ndarray of int32, shape (n,)\nbytes, messages : ndarray of uint64, shape (n,)")
      .def(
          "traffic", &traffic, "kind"_a, "comm"_a = profile::kNoComm, "phase"_a = profile::kAnyPhase,
          "The same and, as a fifth array of float64, nanoseconds: of the calls that sent, put or got; of blocking "
          "receives, and from post to completion of the others; 0 for collectives.")
      .def("matrix", &dense, "kind"_a, "comm"_a = profile::kNoComm, "phase"_a = profile::kAnyPhase,
           "The same bytes from row to column: ndarray of uint64, shape (size, size).")
      .def("histogram", &histogram, "kind"_a,
           "(count, bytes) by size, two arrays of uint64: bin 0 empty messages, bin b from 2**(b-1) to 2**b - 1 "
           "bytes.")
      .def("differences", &profile::compare_sent_and_received,
           "Pairs whose sender and receiver do not say the same.")
      .def("pattern", &pattern_of, "name"_a, "by_phase"_a = false,
           "The point-to-point messages as sent: a Pattern of one phase, or of the program's own phases.");
}

}  // namespace

void bind_profile(nb::module_& module) {
  bind_losses(module);
  bind_end(module);
  bind_rank(module);
  bind_details(module);
  bind_world(module);
  nb::class_<profile::RunAnswer>(module, "RunAnswer", "What was asked of a run; the rest is empty.")
      .def_prop_ro(
          "worlds",
          [](const profile::RunAnswer& answer) -> const std::vector<World>& { return answer.totals.worlds; },
          "the main one first")
      .def_ro("waits", &profile::RunAnswer::waits, "of the worlds, in their order")
      .def_ro("calls", &profile::RunAnswer::calls)
      .def_ro("problems", &profile::RunAnswer::problems, "what is wrong with single files, one sentence each");
  module.def(
      "read_run", &read_run, "directory"_a, "totals"_a = true, "waits"_a = false, "calls"_a = nb::none(),
      "ended_ns"_a = 0,
      "Reads the rank files of a profile's folder in one pass: totals, waits, and the call graph of a rank of the "
      "main world, of all its ranks for -1. `ended_ns`: when the launcher saw the run end, in ns since 1970; ranks "
      "that did not finish lived until then.");
}

}  // namespace corewise::bind
