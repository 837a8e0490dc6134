// Reading a table, and the built-in ones. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/selection.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <span>

#include "coll/allgather/table.hpp"
#include "coll/allgatherv/table.hpp"
#include "coll/allreduce/table.hpp"
#include "coll/alltoall/table.hpp"
#include "coll/alltoallv/table.hpp"
#include "coll/barrier/table.hpp"
#include "coll/broadcast/table.hpp"
#include "coll/exscan/table.hpp"
#include "coll/gather/table.hpp"
#include "coll/gatherv/table.hpp"
#include "coll/reduce/table.hpp"
#include "coll/reduce_scatter/table.hpp"
#include "coll/reduce_scatter_block/table.hpp"
#include "coll/scan/table.hpp"
#include "coll/scatter/table.hpp"
#include "coll/scatterv/table.hpp"
#include "preload/accelerating/accelerating.hpp"

namespace corewise::preload::accelerating {
namespace {

/// Without a table. Two ranks with a core each: what won on every processor measured (bench collectives), and what
/// makers differ in by maker. More ranks with a core each were not measured: what differs from the MPI's own least
/// in kind, and most in its steps. Ranks that share cores: what won by far.
constexpr std::string_view kOfTwo =
    "2>barrier=-:dissemination;"
    "reduce=48:eager_tree,16384:peer_stages/piece=4096,-:peer_stages;"
    "scan=48:eager_recursive_doubling,16384:chain/piece=4096,-:chain;"
    "reduce_scatter=136:eager,16384:pairwise/piece=4096,-:pairwise;"
    "reduce_scatter_block=136:eager,16384:pairwise/piece=4096,-:pairwise;"
#ifdef OPEN_MPI  // which copies from the other process's memory sooner
    "allgather=136:eager,16384:ring/piece=4096,-:one_copy;"
    "allgatherv=136:eager,16384:ring/piece=4096,-:one_copy;"
    "alltoall=136:eager,4096:pairwise/piece=4096,-:one_copy;alltoallv=-:one_copy/min_piece=8192;"
    "exscan=48:eager_recursive_doubling,4096:chain/piece=4096;";
#else
    "allgather=136:eager,2047:ring/piece=4096,8192:mpi,16384:ring/piece=4096,65535:ring,-:one_copy,262144:ring;"
    "allgatherv=136:eager,16384:ring/piece=4096,-:ring;"
    "alltoall=136:eager,16384:pairwise/piece=4096,-:one_copy;alltoallv=-:pairwise;"
    "gatherv=-:linear;scatterv=-:linear;"
    "exscan=48:eager_recursive_doubling,16384:chain/piece=4096,-:chain;";
#endif

/// AMD's processors, and those that nobody measured: between a root and another rank stages. Pieces from 8 KB on go
/// past the caches, which pays between cores that share none, and costs those that do (decision 0012).
constexpr std::string_view kByStages =
    "gather=48:eager,16384:linear/piece=4096,-:linear;"
#ifdef OPEN_MPI
    "allreduce=136:recursive_doubling,4096:one_shot,16384:one_shot/piece=4096,-:peer_stages;"
    "broadcast=48:eager_tree,16384:root_stage/piece=4096,-:root_stage/piece=16384;"
    "gatherv=-:linear;scatterv=-:linear;"
    "scatter=48:eager,16384:linear/piece=4096,131071:one_copy,131071:mpi,-:linear";
#else
    "allreduce=136:recursive_doubling,4096:one_shot,131071:one_shot/piece=4096,-:peer_stages;"
    "broadcast=48:eager_tree,-:root_stage/piece=4096;"
    "scatter=48:eager,16384:linear/piece=4096,-:linear";
#endif
/// Intel's: between a root and another rank one copy.
constexpr std::string_view kByOneCopy =
    "allreduce=136:recursive_doubling,16384:one_shot,-:peer_stages;"
    "broadcast=48:eager_tree,16383:root_stage/piece=4096,-:one_copy,-:root_stage/piece=16384;"
#ifdef OPEN_MPI
    "gatherv=-:one_copy/min_piece=8192;"
    "gather=48:eager,16383:linear/piece=4096,-:one_copy,-:linear;"
    "scatter=48:eager,16383:linear/piece=4096,-:one_copy,131071:mpi,-:linear";
#else
    "gather=48:eager,2047:linear/piece=4096,4095:mpi,16383:linear/piece=4096,-:one_copy,-:linear;"
    "scatter=48:eager,2047:linear/piece=4096,4095:mpi,16383:linear/piece=4096,-:one_copy,-:linear";
#endif

constexpr std::string_view kOfMore =
    "|6>barrier=-:dissemination;"
    "broadcast=136:eager_tree,65535:mpi,-:root_stage/piece=16384;"
    "allreduce=136:recursive_doubling,65535:mpi,-:peer_stages"
    "|24>barrier=-:dissemination;allreduce=136:recursive_doubling"
    "|4c>barrier=-:atomic_increment;"
    "allreduce=1024:eager,65535:mpi,-:peer_stages;allgather=1024:eager;allgatherv=1024:eager;alltoall=1024:eager;"
    "gather=1024:eager;scan=1024:eager;"
    "reduce_scatter=1024:eager;reduce_scatter_block=1024:eager,65535:mpi,-:pairwise;"
#ifdef OPEN_MPI
    "broadcast=65535:mpi,131072:root_stage/piece=16384,-:one_copy"
#else
    "broadcast=1024:eager_tree,65535:mpi,131072:root_stage/piece=16384,-:one_copy;"
    "reduce=1024:eager_tree;scatter=1024:eager;exscan=1024:eager"
#endif
    "|16c>barrier=-:atomic_increment";

std::string built_in() {
  bool intel = false;
#if defined(__x86_64__)
  intel = __builtin_cpu_is("intel") != 0;
#endif
  std::string text(kOfTwo);
  text += intel ? kByOneCopy : kByStages;
  return text += kOfMore;
}

/// What the knob says for the built-in table, and before parts that go before it.
constexpr std::string_view kOn = "on", kOnAnd = "on|";

/// All that can be taken over, for tests.
constexpr std::string_view kAlways =
    "barrier=-:dissemination;"
    "broadcast=136:eager_tree,32768:root_stage/piece=4096,-:root_stage/piece=16384,-:local_store_tree;"
    "reduce=136:eager_tree,-:peer_stages,-:tree;"
    "allreduce=136:recursive_doubling,8192:one_shot,-:peer_stages,-:reduce_broadcast;"
    "gather=136:eager,-:linear,-:tree;gatherv=-:linear;"
    "scatter=136:eager,-:linear,-:tree;scatterv=-:linear;"
    "allgather=136:eager,-:ring;allgatherv=136:eager,-:ring;"
    "alltoall=136:eager,-:pairwise,-:bruck;alltoallv=-:pairwise;"
    "scan=136:eager_recursive_doubling,-:chain;exscan=136:eager_recursive_doubling,-:chain;"
    "reduce_scatter=136:eager,-:pairwise,-:recursive_halving;"
    "reduce_scatter_block=136:eager,-:pairwise,-:recursive_halving";

std::array<std::span<const Row>, kCollectiveWords.size()> all_rows() {
  return {coll::barrier::kRows<Port>,        coll::broadcast::kRows<Port>,
          coll::reduce::kRows<Port>,         coll::allreduce::kRows<Port>,
          coll::gather::kRows<Port>,         coll::gatherv::kRows<Port>,
          coll::scatter::kRows<Port>,        coll::scatterv::kRows<Port>,
          coll::allgather::kRows<Port>,      coll::allgatherv::kRows<Port>,
          coll::alltoall::kRows<Port>,       coll::alltoallv::kRows<Port>,
          coll::scan::kRows<Port>,           coll::exscan::kRows<Port>,
          coll::reduce_scatter::kRows<Port>, coll::reduce_scatter_block::kRows<Port>};
}

/// The part of `text` before `mark`, which goes with it.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t end = text.find(mark);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

template <class Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// NAME=VALUE.
bool set(coll::Parameters& parameters, std::string_view text) {
  const std::string_view name = cut(text, '=');
  if (name == "degree") return read(text, parameters.degree) && parameters.degree >= 1;
  if (name == "min_piece") return read(text, parameters.min_piece);
  if (name == "piece") return read(text, parameters.piece_bytes);
  if (name == "buffering") return read(text, parameters.buffering);
  return false;
}

/// LIMIT:ALGORITHM/NAME=VALUE/...
std::optional<Choice> parse_choice(std::string_view text, std::span<const Row> rows) {
  Choice choice;
  choice.parameters.closing = coll::Closing::counters;
  const std::string_view limit = cut(text, ':');
  if (limit == "-") {
    choice.limit = UINT64_MAX;
  } else if (!read(limit, choice.limit)) {
    return std::nullopt;
  }
  const std::string_view algorithm = cut(text, '/');
  while (!text.empty()) {
    if (!set(choice.parameters, cut(text, '/'))) return std::nullopt;
  }
  if (algorithm == "mpi") return choice;
  const auto row = std::ranges::find(rows, algorithm, &Row::name);
  if (row == rows.end() || row->run == nullptr) return std::nullopt;
  choice.row = &*row;
  return choice;
}

std::optional<Selection> parse_part(std::string_view text) {
  const auto rows = all_rows();
  Selection part;
  if (text.find('>') != std::string_view::npos) {
    std::string_view key = cut(text, '>');
    part.crowded = key.ends_with('c');
    if (part.crowded) key.remove_suffix(1);
    if (!read(key, part.ranks) || part.ranks < 2) return std::nullopt;
  }
  while (!text.empty()) {
    std::string_view list = cut(text, ';');
    const auto word = std::ranges::find(kCollectiveWords, cut(list, '='));
    if (word == kCollectiveWords.end()) return std::nullopt;
    const auto index = static_cast<std::size_t>(word - kCollectiveWords.begin());
    while (!list.empty()) {
      const std::optional<Choice> choice = parse_choice(cut(list, ','), rows[index]);
      if (!choice) return std::nullopt;
      part.choices[index].push_back(*choice);
    }
  }
  return part;
}

/// How far a part's ranks are from `ranks`, in powers of two; a part for any number is the furthest.
double distance(const Selection& part, int ranks) {
  return part.ranks == 0 ? HUGE_VAL : std::abs(std::log2(static_cast<double>(part.ranks) / ranks));
}

std::vector<Selection> read_table() {
  if (wanted() == "always") return *parse_table(kAlways);
  if (wanted() == kOn) return *parse_table(built_in());
  std::string_view text = wanted();
  const bool and_built_in = text.starts_with(kOnAnd);
  if (and_built_in) text.remove_prefix(kOnAnd.size());
  std::optional<std::vector<Selection>> parts = parse_table(text);
  if (!parts) return {};
  // Behind: of parts that are equally near the first is taken.
  if (and_built_in) std::ranges::move(*parse_table(built_in()), std::back_inserter(*parts));
  return std::move(*parts);
}

const std::vector<Selection>& table() {
  static const auto& chosen = *new std::vector<Selection>(read_table());
  return chosen;
}

}  // namespace

std::optional<std::vector<Selection>> parse_table(std::string_view text) {
  std::vector<Selection> parts;
  while (!text.empty()) {
    std::optional<Selection> part = parse_part(cut(text, '|'));
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  return parts;
}

bool meets_all_pairs(const Selection& part) {
  const auto meets = [](const Choice& choice) {
    return choice.row != nullptr && (choice.row->needs & (coll::kAllPairs | coll::kAllPairsInOrder)) != 0;
  };
  return std::ranges::any_of(part.choices,
                             [meets](const auto& choices) { return std::ranges::any_of(choices, meets); });
}

Offers offers_of(const Selection& part, const coll::Shape& shape, bool peer_memory) {
  coll::Facts facts;
  facts.peer_memory = peer_memory;
  Offers offers;
  for (std::size_t collective = 0; collective < offers.size(); ++collective) {
    for (const Choice& choice : part.choices[collective]) {
      Offer offer;
      offer.limit = choice.limit;
      if (choice.row != nullptr) {
        facts.commutative = true;
        if (!coll::usable(*choice.row, shape, facts)) continue;
        facts.commutative = false;
        offer.needs_commutative = !coll::usable(*choice.row, shape, facts);
        const bool eager = (choice.row->needs & coll::kFitsEager) != 0;
        if (eager) offer.limit = std::min<std::uint64_t>(offer.limit, shape.eager_bytes());
        if (!eager) offer.most_element_bytes = shape.most_element_bytes();
        offer.choice = &choice;
      }
      offers[collective].push_back(offer);
    }
  }
  return offers;
}

const Selection& selection_for(int ranks, bool crowded) {
  static const Selection& nothing = *new Selection;
  const Selection* best = nullptr;
  for (const Selection& part : table()) {
    if (part.ranks != 0 && part.crowded != crowded) continue;
    if (best == nullptr || distance(part, ranks) < distance(*best, ranks)) best = &part;
  }
  return best != nullptr ? *best : nothing;
}

}  // namespace corewise::preload::accelerating
