// Reconstruction of the grids on whose rows or columns everybody talks to everybody.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>

#include "base/index.hpp"
#include "pattern/recogniser/reconstruct.hpp"

namespace corewise::pattern {
namespace {

constexpr int unknown = -1;

/// Whether the two and their shared peers are most of what either talks to.
bool same_group(const Graph& graph, int a, int b) {
  const int shared = graph.common_peers(a, b) + 2;
  return 2 * shared > std::max(graph.degree(a), graph.degree(b)) + 1;
}

std::vector<std::vector<int>> groups_of(const Graph& graph) {
  std::vector<int> group(index(graph.ranks()), unknown);
  std::vector<std::vector<int>> groups;
  for (int rank = 0; rank < graph.ranks(); ++rank) {
    if (group[index(rank)] != unknown) continue;
    const int number = static_cast<int>(groups.size());
    std::vector<int> members{rank};
    group[index(rank)] = number;
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (const Graph::Arc& arc : graph.arcs(members[i])) {
        if (group[index(arc.to)] != unknown || !same_group(graph, members[i], arc.to)) continue;
        group[index(arc.to)] = number;
        members.push_back(arc.to);
      }
    }
    groups.push_back(std::move(members));
  }
  return groups;
}

/// A rank's peers in two parts: those that talk to its first peer (and that peer), and the others.
struct Cross {
  std::vector<int> row;
  std::vector<int> column;

  Cross(const Graph& graph, int centre) : row{centre}, column{centre} {
    const auto arcs = graph.arcs(centre);
    if (arcs.empty()) return;
    const int first = arcs.front().to;
    for (const Graph::Arc& arc : arcs) {
      (arc.to == first || graph.kind(first, arc.to) != 0 ? row : column).push_back(arc.to);
    }
  }
};

int usual_degree(const Graph& graph) {
  std::map<int, int> count;
  for (const int degree : graph.degrees()) ++count[degree];
  return std::max_element(count.begin(), count.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

/// Rows and columns of all ranks, from those of one rank and what everybody says about its peers.
class Lattice {
 public:
  Lattice(const Graph& graph, const Cross& cross)
      : graph_(graph),
        rows_(static_cast<int>(cross.column.size())),
        columns_(static_cast<int>(cross.row.size())),
        row_(index(graph.ranks()), unknown),
        column_(index(graph.ranks()), unknown) {
    for (std::size_t i = 0; i < cross.row.size(); ++i) {
      column_[index(cross.row[i])] = static_cast<int>(i);
      row_[index(cross.row[i])] = 0;
    }
    for (std::size_t i = 0; i < cross.column.size(); ++i) {
      row_[index(cross.column[i])] = static_cast<int>(i);
      column_[index(cross.column[i])] = 0;
    }
    propose(cross);
    vote();
  }

  /// Every rank to a cell of its own, its voted one where that is free.
  [[nodiscard]] Grouping settled() const {
    Grouping grid{rows_, columns_, Positions(row_.size(), unknown)};
    std::vector<bool> taken(row_.size());
    for (std::size_t rank = 0; rank < row_.size(); ++rank) {
      if (row_[rank] == unknown || column_[rank] == unknown) continue;
      const int cell = row_[rank] * columns_ + column_[rank];
      if (taken[index(cell)]) continue;
      taken[index(cell)] = true;
      grid.positions[rank] = cell;
    }
    int free = 0;
    for (int& position : grid.positions) {
      if (position != unknown) continue;
      while (taken[index(free)]) ++free;
      position = free;
      taken[index(free)] = true;
    }
    return grid;
  }

 private:
  /// A rank off the cross knows one rank of the row and one of the column: those of its column and its row.
  void propose(const Cross& cross) {
    std::vector<bool> on_cross(row_.size());
    for (const int rank : cross.row) on_cross[index(rank)] = true;
    for (const int rank : cross.column) on_cross[index(rank)] = true;
    for (std::size_t rank = 0; rank < row_.size(); ++rank) {
      if (on_cross[rank]) continue;
      for (const Graph::Arc& arc : graph_.arcs(static_cast<int>(rank))) {
        if (!on_cross[index(arc.to)]) continue;
        if (row_[index(arc.to)] == 0)
          column_[rank] = column_[index(arc.to)];
        else
          row_[rank] = row_[index(arc.to)];
      }
    }
  }

  /// Once everybody has a guess, the majority of the peers decides.
  void vote() {
    std::vector<int> rows(row_.size(), unknown);
    std::vector<int> columns(row_.size(), unknown);
    for (std::size_t rank = 0; rank < row_.size(); ++rank) {
      std::vector<int> for_row(index(rows_));
      std::vector<int> for_column(index(columns_));
      for (const Graph::Arc& arc : graph_.arcs(static_cast<int>(rank))) {
        if (row_[index(arc.to)] != unknown) ++for_row[index(row_[index(arc.to)])];
        if (column_[index(arc.to)] != unknown) ++for_column[index(column_[index(arc.to)])];
      }
      rows[rank] = static_cast<int>(std::max_element(for_row.begin(), for_row.end()) - for_row.begin());
      columns[rank] = static_cast<int>(std::max_element(for_column.begin(), for_column.end()) - for_column.begin());
      // Rows of two ranks are outvoted by what the column's peers say of theirs: the guess stays.
      if (columns_ <= 2 && row_[rank] != unknown) rows[rank] = row_[rank];
      if (rows_ <= 2 && column_[rank] != unknown) columns[rank] = column_[rank];
    }
    row_ = std::move(rows);
    column_ = std::move(columns);
  }

  const Graph& graph_;
  int rows_;
  int columns_;
  std::vector<int> row_;
  std::vector<int> column_;
};

}  // namespace

std::optional<Grouping> separate_groups(const Graph& seen) {
  auto groups = groups_of(seen);
  std::map<std::size_t, std::size_t> sizes;
  for (const auto& group : groups) ++sizes[group.size()];
  const auto usual = std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) {
                       return a.first * a.second < b.first * b.second;
                     })->first;
  const auto ranks = index(seen.ranks());
  if (usual < 2 || usual == ranks || ranks % usual != 0) return std::nullopt;
  // Whole groups first; what is left fills the remaining rows as it comes.
  std::stable_partition(groups.begin(), groups.end(), [&](const auto& group) { return group.size() == usual; });
  Grouping grid{static_cast<int>(ranks / usual), static_cast<int>(usual), Positions(ranks)};
  int next = 0;
  for (const auto& group : groups) {
    for (const int rank : group) grid.positions[index(rank)] = next++;
  }
  return grid;
}

std::optional<Grouping> rows_and_columns(const Graph& seen) {
  const int usual = usual_degree(seen);
  std::optional<Grouping> best;
  std::size_t best_kept = 0;
  int tries = 8;
  for (int rank = 0; rank < seen.ranks() && tries > 0; ++rank) {
    if (seen.degree(rank) != usual) continue;
    const Cross cross(seen, rank);
    if (cross.row.size() * cross.column.size() != index(seen.ranks())) continue;
    --tries;
    Grouping grid = Lattice(seen, cross).settled();
    std::size_t kept = 0;
    for (int from = 0; from < seen.ranks(); ++from) {
      for (const Graph::Arc& arc : seen.arcs(from)) {
        const int a = grid.positions[index(from)];
        const int b = grid.positions[index(arc.to)];
        kept += a / grid.columns == b / grid.columns || a % grid.columns == b % grid.columns;
      }
    }
    if (kept > best_kept) best = std::move(grid), best_kept = kept;
    if (best_kept * 10 >= 18 * seen.edges()) break;
  }
  return best;
}

}  // namespace corewise::pattern
