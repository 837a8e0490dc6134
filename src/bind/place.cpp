// Room place for Python: a Searcher holds a machine made ready, and answers what placements cost and which is best.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "bind/arrays.hpp"
#include "bind/distances.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "bind/whole_cell.hpp"
#include "lab/placement/cost.hpp"
#include "place/limits.hpp"
#include "place/links/objective.hpp"
#include "place/references.hpp"
#include "place/search.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using machine::Machine;
using machine::Placement;
using machine::UnitId;
using pattern::Pattern;
using place::Bottleneck;
using place::Evaluation;
using place::Limits;
using place::Searcher;
using place::SearchOptions;
using place::SearchResult;

/// The machine stays beside its searcher: placements are checked against it.
struct Ready {
  Machine machine;
  Searcher searcher;
};

void make_ready(Ready* self, const Machine& node) {
  const nb::gil_scoped_release release;
  auto searcher = Searcher::of(node);
  const nb::gil_scoped_acquire acquire;
  new (self) Ready{node, unwrap(std::move(searcher))};
}

Evaluation evaluate(const Ready& ready, const Pattern& pattern, std::vector<UnitId> unit_of_rank) {
  const Placement placement{std::move(unit_of_rank)};
  require(machine::check(placement, ready.machine));
  const auto work = unwrap(place::workload(pattern));
  if (static_cast<std::size_t>(work.ranks) != placement.unit_of_rank.size()) {
    raise(bad_field(pattern.name, "unit_of_rank", std::to_string(placement.unit_of_rank.size()) + " entries",
                    "one per rank (" + std::to_string(work.ranks) + ")"));
  }
  require(place::check_fits(ready.searcher.shares(), work));
  return place::evaluate(ready.searcher.shares(), work, placement.unit_of_rank);
}

/// A callback of Python's, asked from code that has released the GIL. What it raises ends the search and is raised
/// again when the search has returned.
class StopRequest {
 public:
  explicit StopRequest(nb::object callback) : callback_(std::move(callback)) {}

  std::function<bool()> asked() {
    if (callback_.is_none()) return {};
    return [this] {
      if (error_) return true;
      const nb::gil_scoped_acquire acquire;
      try {
        const int truth = PyObject_IsTrue(nb::object(callback_()).ptr());
        if (truth < 0) throw nb::python_error();
        return truth != 0;
      } catch (...) {
        error_ = std::current_exception();
        return true;
      }
    };
  }
  void raise_error() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  nb::object callback_;
  std::exception_ptr error_;
};

/// A cost that Python computes, asked from code that has released the GIL. What it raises ends the search.
class PythonCost {
 public:
  explicit PythonCost(nb::object callback) : callback_(std::move(callback)) {}

  place::GivenCost named(const std::string& name, std::uint64_t evaluations) {
    place::GivenCost cost;
    cost.name = name;
    cost.evaluations = evaluations;
    cost.of = [this](place::Assignment unit_of_rank) { return of(unit_of_rank); };
    return cost;
  }
  [[nodiscard]] bool given() const { return !callback_.is_none(); }
  void raise_error() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  Result<double> of(place::Assignment unit_of_rank) {
    const nb::gil_scoped_acquire acquire;
    try {
      return nb::cast<double>(callback_(std::vector<UnitId>(unit_of_rank.begin(), unit_of_rank.end())));
    } catch (...) {
      error_ = std::current_exception();
      return Status(Code::unsupported, "the cost cannot be computed");
    }
  }

  nb::object callback_;
  std::exception_ptr error_;
};

std::vector<Pattern> to_patterns(const nb::object& source) {
  if (nb::isinstance<Pattern>(source)) return {nb::cast<Pattern>(source)};
  std::vector<Pattern> patterns;
  for (const nb::handle each : source) patterns.push_back(nb::cast<Pattern>(each));
  return patterns;
}

/// Contended time by flow, which chooses among placements of one bottleneck; none where the patterns cannot be run.
place::GivenCost judge(const Ready& ready, const std::vector<Pattern>& patterns, const std::vector<double>& weights,
                       std::uint64_t evaluations) {
  lab::TimeOptions time;
  time.model = lab::TimeModel::flow;
  auto weighted = lab::weighted(patterns, weights);
  if (!weighted.ok()) return {};
  auto contended = lab::ContendedTime::of(ready.machine, std::move(weighted).value(), time);
  return contended.ok() ? unwrap(lab::given_cost(std::move(contended).value(), evaluations)) : place::GivenCost{};
}

/// The objective by its name; by a contended time the cost that is minimised.
void set_objective(const Ready& ready, const std::string& name, const std::vector<Pattern>& patterns,
                   const std::vector<double>& weights, std::uint64_t evaluations, PythonCost& cost,
                   SearchOptions& options) {
  if ((name == "replay") != cost.given()) {
    raise(bad_field("", "cost", cost.given() ? "one with objective '" + name + "'" : "none with objective 'replay'",
                    "a callable with objective 'replay' alone"));
  }
  if (cost.given()) {
    options.objective = place::Objective::given;
    options.given = cost.named(name, evaluations);
    return;
  }
  for (const lab::TimeModel model : {lab::TimeModel::flow, lab::TimeModel::simulated}) {
    if (name != lab::name_of(model)) continue;
    lab::TimeOptions time;
    time.model = model;
    time.cell = cell_run(ready.machine, model);
    auto contended = unwrap(lab::ContendedTime::of(ready.machine, unwrap(lab::weighted(patterns, weights)), time));
    options.objective = place::Objective::given;
    options.given = unwrap(lab::given_cost(std::move(contended), evaluations));
    return;
  }
  if (name == "bottleneck") {
    options.objective = place::Objective::bottleneck;
    const int ranks = patterns.empty() ? 0 : patterns.front().ranks;
    if (!place::proof_is_certain(ranks, ready.searcher.shares().units())) {
      options.given = judge(ready, patterns, weights, evaluations);
    }
  } else if (name == "hop-bytes") {
    options.objective = place::Objective::hop_bytes;
  } else if (name == "distance") {
    options.objective = place::Objective::distance;
  } else {
    raise(bad_field("", "objective", "'" + name + "'", "bottleneck, hop-bytes, distance, flow, simulated, replay"));
  }
}

SearchResult search(Ready& ready, const nb::object& pattern, const std::string& objective, std::uint64_t seed,
                    int exhaustive_ranks, std::uint64_t local_evaluations, bool find_worst,
                    const std::optional<std::vector<double>>& weights, const std::string& method,
                    const std::vector<std::pair<std::string, std::vector<UnitId>>>& starts, std::uint64_t nodes,
                    nb::object should_stop, bool certify, const std::optional<MatrixIn<double>>& distances,
                    int effort, std::uint64_t evaluations, std::uint64_t proposals,
                    const std::optional<Limits>& limits, std::size_t leaders, int workers, nb::object cost) {
  if (effort < 1) raise(bad_field("", "effort", std::to_string(effort), "1 or more"));
  if (workers < 1) raise(bad_field("", "workers", std::to_string(workers), "1 or more"));
  const std::vector<Pattern> patterns = to_patterns(pattern);
  const std::vector<double> weight_of = weights.value_or(std::vector<double>{});
  SearchOptions options;
  PythonCost python_cost(std::move(cost));
  set_objective(ready, objective, patterns, weight_of, evaluations, python_cost, options);
  options.seed = seed;
  options.exhaustive_ranks = exhaustive_ranks;
  options.local_evaluations = local_evaluations;
  options.find_worst = find_worst;
  options.method = unwrap(place::method_of(method));
  for (const auto& [name, units] : starts) options.starts.push_back({name, {units}});
  options.proposals = proposals;
  if (limits) options.limits = *limits;
  options.leaders = leaders;
  options.workers = workers;
  options.nodes = nodes;
  options.certify = certify;
  options.effort = effort;
  if (distances) options.distances = to_distances(*distances);
  StopRequest stop(std::move(should_stop));
  options.should_stop = stop.asked();
  Result<SearchResult> found = [&] {
    const nb::gil_scoped_release release;
    return ready.searcher.search(patterns, weight_of, options);
  }();
  stop.raise_error();
  python_cost.raise_error();
  return unwrap(std::move(found));
}

std::vector<UnitId> greedy(const Ready& ready, const nb::object& pattern) {
  const auto work = unwrap(place::workload(to_patterns(pattern), {}));
  require(place::check_fits(ready.searcher.shares(), work));
  return place::greedy_placement(ready.searcher.shares(), work, place::GreedyBegin::middle).unit_of_rank;
}

MatrixOut<std::int32_t> random_placements(const Ready& ready, int ranks, int samples, std::uint64_t seed) {
  const int units = ready.searcher.shares().units();
  if (ranks < 1 || ranks > units) {
    raise(bad_field(ready.machine.name, "ranks", std::to_string(ranks), "1.." + std::to_string(units)));
  }
  if (samples < 1) raise(bad_field("", "samples", std::to_string(samples), "1 or more"));
  Rng rng(seed);
  std::vector<std::int32_t> table;
  for (int sample = 0; sample < samples; ++sample) {
    const Placement placement = place::random_placement(ranks, units, rng);
    table.insert(table.end(), placement.unit_of_rank.begin(), placement.unit_of_rank.end());
  }
  return to_matrix(std::move(table), static_cast<std::size_t>(samples), static_cast<std::size_t>(ranks));
}

ArrayOut<double> load_bytes(const Evaluation& evaluation) {
  std::vector<double> loads;
  for (std::size_t link = 0; link < evaluation.load_parts.size(); ++link) {
    loads.push_back(evaluation.load_bytes(static_cast<machine::LinkId>(link)));
  }
  return to_array(std::move(loads));
}

void bind_evaluation(nb::module_& module) {
  nb::class_<Bottleneck>(module, "Bottleneck", "The busiest link of one phase.")
      .def_ro("time_ns", &Bottleneck::time_ns, "Its load over its bandwidth, in ns.")
      .def_ro("link", &Bottleneck::link, "Index into ``Machine.links``; -1 where no link carries anything.")
      .def_ro("bytes", &Bottleneck::bytes, "Its load in bytes.");
  nb::class_<Evaluation>(module, "Evaluation", "What a placement of a pattern costs on a machine's links.")
      .def_ro("bottleneck_ns", &Evaluation::bottleneck_ns, "Sum over the phases of their bottlenecks, in ns.")
      .def_ro("hop_bytes", &Evaluation::hop_bytes, "Sum over all messages of bytes times hops.")
      .def_ro("phases", &Evaluation::phases, "The bottleneck of every phase, in order.")
      .def("load_bytes", &load_bytes,
           "Bytes that cross every link, phases summed: ndarray of float64, shape (links,).");
}

void make_limits(Limits* self, const Machine& machine, int ranks, std::vector<std::pair<int, UnitId>> fixed,
                 std::vector<UnitId> kept_free, bool share_cores) {
  new (self) Limits(unwrap(Limits::of(machine, ranks, {std::move(fixed), std::move(kept_free), share_cores})));
}

Placement of_its_ranks(const Limits& limits, std::vector<UnitId> unit_of_rank) {
  if (static_cast<int>(unit_of_rank.size()) != limits.ranks()) {
    raise(bad_field("", "unit_of_rank", std::to_string(unit_of_rank.size()) + " entries",
                    "one per rank (" + std::to_string(limits.ranks()) + ")"));
  }
  for (const UnitId unit : unit_of_rank) {
    if (unit >= 0 && unit < limits.units()) continue;
    raise(bad_field("", "unit_of_rank", std::to_string(unit), "0.." + std::to_string(limits.units() - 1)));
  }
  return {std::move(unit_of_rank)};
}

void bind_limits(nb::module_& module) {
  nb::class_<Limits>(module, "Limits", "Which placements of so many ranks on a machine a search may choose from.")
      .def("__init__", &make_limits, "machine"_a, "ranks"_a, "fixed"_a = std::vector<std::pair<int, UnitId>>{},
           "kept_free"_a = std::vector<UnitId>{}, "share_cores"_a = false,
           nb::sig("def __init__(self, machine: Machine, ranks: int, fixed: Sequence[tuple[int, int]] = [], "
                   "kept_free: Sequence[int] = [], share_cores: bool = False) -> None"),
           "`fixed`: rank and unit of ranks that run there. `kept_free`: units without a rank. Two ranks get\n"
           "hardware threads of one core only where no core is left idle, unless `share_cores`.")
      .def_prop_ro("any", &Limits::any, "Whether they forbid any placement.")
      .def_prop_ro("cores", &Limits::cores, "Cores of several units on which ranks are spread evenly.")
      .def(
          "hold",
          [](const Limits& limits, std::vector<UnitId> units) {
            return limits.hold(of_its_ranks(limits, std::move(units)).unit_of_rank);
          },
          "unit_of_rank"_a, "Whether the placement is allowed.")
      .def(
          "repaired",
          [](const Limits& limits, std::vector<UnitId> units) {
            return limits.repaired(of_its_ranks(limits, std::move(units))).unit_of_rank;
          },
          "unit_of_rank"_a, "The placement itself where it is allowed, else an allowed one near it.")
      .def(
          "in_order", [](const Limits& limits) { return limits.in_order().unit_of_rank; },
          "Ranks in ascending order on the lowest units that they may have.");
}

void bind_result(nb::module_& module) {
  nb::class_<SearchResult>(module, "SearchResult", "The best placement that a search found, and how it knows.")
      .def_prop_ro("unit_of_rank", [](const SearchResult& result) { return result.placement.unit_of_rank; })
      .def_ro("evaluation", &SearchResult::evaluation)
      .def_prop_ro(
          "method", [](const SearchResult& result) { return std::string(place::name_of(result.method)); },
          "``exhaustive``, ``branch-and-bound``, ``multilevel``, ``local`` or ``portfolio``.")
      .def_prop_ro(
          "leaders",
          [](const SearchResult& result) {
            std::vector<std::vector<UnitId>> all;
            for (const Placement& placement : result.leaders) all.push_back(placement.unit_of_rank);
            return all;
          },
          "Of a portfolio: the best and others that cost at most 5 % more; as many as were asked for.")
      .def_ro("origin", &SearchResult::origin, "Of a portfolio: where the placement came from.")
      .def_ro("proven_optimal", &SearchResult::proven_optimal)
      .def_ro("statement", &SearchResult::statement, "One line: the proof, or what was tried.")
      .def_ro("evaluated", &SearchResult::evaluated,
              "How many placements were evaluated; of branch and bound the nodes of the tree.")
      .def_ro("cost", &SearchResult::cost, "By the objective: ns, hop-bytes, or weighted distance J.")
      .def_ro("bound", &SearchResult::bound, "No placement costs less; 0: nothing known.")
      .def_prop_ro(
          "gap", [](const SearchResult& result) { return result.gap(result.evaluation.bottleneck_ns); },
          "Bottleneck found over `bound`, less 1: 0 where proven optimal, inf where nothing is known.")
      .def_prop_ro(
          "optimal",
          [](const SearchResult& result) {
            std::vector<std::vector<UnitId>> all;
            for (const Placement& placement : result.optimal) all.push_back(placement.unit_of_rank);
            return all;
          },
          "Where placements were enumerated: up to 16 optimal ones, one of every set that symmetry makes equal.")
      .def_ro("certificate", &SearchResult::certificate,
              "JSON text that corewise.analysis.placement.certificate checks; None where none was asked for or "
              "possible.")
      .def_prop_ro(
          "worst",
          [](const SearchResult& result) -> std::optional<std::vector<UnitId>> {
            if (!result.worst) return std::nullopt;
            return result.worst->placement.unit_of_rank;
          },
          "The worst placement known, None where none was asked for.")
      .def_prop_ro("worst_proven", [](const SearchResult& result) { return result.worst && result.worst->proven; });
}

}  // namespace

void bind_place(nb::module_& module) {
  module.def("proof_is_certain", &place::proof_is_certain, "ranks"_a, "units"_a,
             "Whether so many ranks on so many units are few enough for a proof by bottleneck; beyond, the method\n"
             "``auto`` is a portfolio.");
  bind_evaluation(module);
  bind_limits(module);
  bind_result(module);
  nb::class_<Ready>(module, "Searcher", "A machine made ready for placing patterns on it.")
      .def("__init__", &make_ready, "machine"_a)
      .def("evaluate", &evaluate, "pattern"_a, "unit_of_rank"_a,
           "Costs of a placement. Traffic is split evenly over tied routes; phases run one after another.")
      .def(
          "search", &search, "pattern"_a, "objective"_a = "bottleneck", "seed"_a = 1, "exhaustive_ranks"_a = 8,
          "local_evaluations"_a = 200'000, "find_worst"_a = false, "weights"_a = nb::none(), "method"_a = "auto",
          "starts"_a = std::vector<std::pair<std::string, std::vector<UnitId>>>{}, "nodes"_a = 5'000'000,
          "should_stop"_a = nb::none(), "certify"_a = false, "distances"_a = nb::none(), "effort"_a = 4,
          "evaluations"_a = 50'000, "proposals"_a = 2'000'000, "limits"_a = nb::none(), "leaders"_a = 0,
          "workers"_a = 1, "cost"_a = nb::none(),
          nb::sig(
              "def search(self, pattern: Pattern | Sequence[Pattern], objective: str = 'bottleneck', seed: "
              "int = 1, "
              "exhaustive_ranks: int = 8, local_evaluations: int = 200000, find_worst: bool = False, "
              "weights: Sequence[float] | None = None, method: str = 'auto', starts: Sequence[tuple[str, "
              "Sequence[int]]] = [], "
              "nodes: int = 5000000, should_stop: collections.abc.Callable[[], bool] | None = None, certify: bool "
              "= False, "
              "distances: NDArray[numpy.float64] | None = None, effort: int = 4, evaluations: int = 50000, "
              "proposals: int = 2000000, limits: Limits | None = None, leaders: int = 0, workers: int = 1, "
              "cost: collections.abc.Callable[[list[int]], float] | None = None) -> SearchResult"),
          "The placement that costs least by the objective: ``bottleneck`` or ``hop-bytes`` (the other one "
          "chooses\n"
          "among equals), weighted ``distance`` J, contended time by ``flow`` or ``simulated``, or ``replay``, "
          "what\n"
          "`cost` says of a placement.\n\n"
          "Several patterns share one placement: the objective is the sum of `weights` times their bottlenecks.\n"
          "`method`: ``exhaustive`` (proof, few ranks), ``branch-and-bound`` (proof, or a bound when `nodes` are\n"
          "spent), ``multilevel`` (distance on trees, `effort` 1 is one fast run), ``local``, or ``auto``: the\n"
          "first that is within reach. By distance a symmetric array of shape (units, units) may stand for the\n"
          "machine's latencies; J knows no links. By time at most `evaluations` placements are timed; by flow one\n"
          "stands for its orbit of the unmerged symmetry group. `starts` are tried and improved. `limits` hold "
          "for\n"
          "everything that is found. A portfolio has so many `workers`, threads with seeds of their own.\n"
          "`should_stop` is called now and then; true ends the search with what is "
          "known. The same "
          "input\n"
          "gives the same result, unless `should_stop` ends it.")
      .def("greedy", &greedy, "pattern"_a,
           nb::sig("def greedy(self, pattern: Pattern | Sequence[Pattern]) -> list[int]"),
           "Ranks by their traffic with those already placed, each on the free unit with least hop-bytes to them,\n"
           "from the middle of the machine on.")
      .def("random_placements", &random_placements, "ranks"_a, "samples"_a, "seed"_a = 1,
           "Placements drawn uniformly: ndarray of int32, shape (samples, ranks).")
      .def_prop_ro(
          "symmetry_order", [](Ready& ready) { return ready.searcher.symmetry().order(); },
          "Order of the group of units that can trade places without any link noticing.")
      .def_prop_ro(
          "unmerged_symmetry_order", [](Ready& ready) { return ready.searcher.unmerged_symmetry().order(); },
          "The same on all stops and links, none merged: of the group that simulated time allows.");
}

}  // namespace corewise::bind
