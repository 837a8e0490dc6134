// Reading a table, and the built-in ones. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/selection.hpp"

#include <algorithm>
#include <charconv>
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

/// Without a table: what won on every processor measured (bench/collectives).
constexpr std::string_view kBuiltIn =
    "barrier=-:dissemination;"
    "broadcast=136:eager_tree;"
    "reduce=136:eager_tree;"
    "allreduce=136:recursive_doubling";

/// All that can be taken over, for tests.
constexpr std::string_view kAlways =
    "barrier=-:dissemination;"
    "broadcast=136:eager_tree,-:root_stage;"
    "reduce=136:eager_tree,-:tree;"
    "allreduce=136:recursive_doubling,-:peer_stages,-:reduce_broadcast;"
    "gather=136:eager,-:linear;gatherv=-:linear;"
    "scatter=136:eager,-:linear;scatterv=-:linear;"
    "allgather=136:eager,-:ring;allgatherv=136:eager,-:ring;"
    "alltoall=136:eager,-:pairwise;alltoallv=-:pairwise;"
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
  if (name == "piece_bytes") return read(text, parameters.piece_bytes);
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

Selection built_in(std::string_view text) {
  std::optional<Selection> parsed = parse_selection(text);
  return parsed ? std::move(*parsed) : Selection{};
}

}  // namespace

std::optional<Selection> parse_selection(std::string_view text) {
  const auto rows = all_rows();
  Selection parsed;
  while (!text.empty()) {
    std::string_view list = cut(text, ';');
    const auto word = std::ranges::find(kCollectiveWords, cut(list, '='));
    if (word == kCollectiveWords.end()) return std::nullopt;
    const auto index = static_cast<std::size_t>(word - kCollectiveWords.begin());
    while (!list.empty()) {
      const std::optional<Choice> choice = parse_choice(cut(list, ','), rows[index]);
      if (!choice) return std::nullopt;
      parsed.choices[index].push_back(*choice);
    }
  }
  return parsed;
}

const Selection& selection() {
  static const Selection& chosen = *new Selection([] {
    if (wanted() == "always") return built_in(kAlways);
    if (wanted() == "on") return built_in(kBuiltIn);
    return built_in(wanted());
  }());
  return chosen;
}

std::uint64_t selection_key() {
  std::uint64_t key = 0xCBF29CE484222325ULL;
  for (const char each : wanted()) key = (key ^ static_cast<unsigned char>(each)) * 0x100000001B3ULL;
  return key;
}

}  // namespace corewise::preload::accelerating
