// The fuzzer's target for texts of one line: quantities with units, machines in a line, hierarchies with their
// distances, and the tables that travel in the environment. What is written is read back the same.
// The first byte chooses the reader; a hierarchy and its distances are two lines.
// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.hpp"
#include "fuzz.hpp"
#include "kernels/copy/copy.hpp"
#include "kernels/packing/plans/cost.hpp"
#include "machine/machine.hpp"
#include "memory_file.hpp"
#include "place/distance/distance.hpp"
#include "preload/reordering/plan.hpp"

namespace corewise::fuzz {
namespace {

void read_quantities(const std::string& text) {
  const auto size = parse_size_bytes(text);
  if (size.ok()) {
    const auto again = parse_size_bytes(format_size(size.value()));
    require(again.ok() && again.value() == size.value(), "a size changes: " + format_size(size.value()));
  }
  const auto time = parse_time_ns(text);
  if (time.ok()) require(parse_time_ns(format_time(time.value())).ok(), "a time is refused that was written");
  (void)parse_bandwidth_gb_per_s(text);
}

void read_machine(const std::string& text) {
  const auto machine = machine::from_synthetic(text);
  if (!machine.ok()) return;
  const Status status = machine::check(machine.value());
  require(status.ok(), "a machine in a line does not pass its check: " + status.message());
}

void read_hierarchy(const std::string& text) {
  const auto [hierarchy, distances] = cut(text, '\n');
  const auto tree = place::Tree::from_text(std::string(hierarchy), std::string(distances));
  if (tree.ok() && tree.value().units() <= 512)
    require(place::Tree::from_distances(tree.value().matrix()).ok(), "a tree's distances are no tree's");
}

void read_copy_tuning(const std::string& text) {
  std::string why;
  const auto tuning = kernels::parse_copy_tuning(text, &why);
  require(tuning.has_value() || !why.empty(), "a tuning is refused without a reason");
  if (!tuning) return;
  const auto again = kernels::parse_copy_tuning(kernels::format_copy_tuning(*tuning));
  require(again && *again == *tuning, "a tuning changes");
}

/// Tables of packing, and plans for a new order of ranks.
void read_tables(const std::string& text) {
  const auto table = kernels::parse_packing_table(text);
  if (table) (void)kernels::packed_by_us(*table, {}, {4096, 64, {}});
  // A plan is a text, or else a file's path: the file then holds the bytes.
  const MemoryFile file(text);
  const preload::reorder::Plan plan =
      preload::reorder::read_plan(text.starts_with("order:") || text == "reverse" ? text : file.path());
  if (plan.kind == preload::reorder::Plan::Kind::none) return;
  const std::vector<preload::reorder::Seat> seats(4, {1, plan.hash, preload::reorder::Seat::kUnbound});
  const auto decision = preload::reorder::decide(plan, seats);
  require(decision.launch_ranks.empty() || decision.launch_ranks.size() == seats.size(), "an order of other ranks");
}

}  // namespace

void short_texts(Bytes bytes) {
  if (bytes.empty()) return;
  constexpr void (*readers[])(const std::string&) = {read_quantities, read_machine, read_hierarchy,
                                                     read_copy_tuning, read_tables};
  readers[bytes.front() % std::size(readers)](text_of(bytes.subspan(1)));
}

}  // namespace corewise::fuzz
