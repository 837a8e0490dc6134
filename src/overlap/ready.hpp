// Blocks of work whose needs are met, by thread or for all, and transfers that may start. Guarded by the run's
// gate. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "overlap/graph.hpp"
#include "overlap/knobs.hpp"

namespace corewise::overlap::detail {

class Ready {
 public:
  Ready(const Graph& graph, Shares shares, int threads)
      : graph_(graph),
        shares_(shares),
        threads_(threads),
        work_(shares == Shares::fixed ? static_cast<std::size_t>(threads) : 1,
              std::vector<std::deque<int>>(graph.stages().size())),
        next_start_(graph.stages().size(), 0) {}

  void add(int node) {
    if (graph_.plan_of(node).kind == Kind::transfer) {
      starts_.push_back(node);
      return;
    }
    work_[lane_of(node)][static_cast<std::size_t>(graph_.stage_of(node))].push_back(node);
  }

  /// A block for a thread. Later stages come first: their data are the ones still in a cache.
  std::optional<int> work_for(int thread) {
    auto* const queue = queue_for(thread);
    if (queue == nullptr) return std::nullopt;
    const int node = queue->front();
    queue->pop_front();
    return node;
  }

  bool has_work_for(int thread) { return queue_for(thread) != nullptr; }

  std::optional<int> start() {
    const auto found = startable();
    if (found == starts_.end()) return std::nullopt;
    const int node = *found;
    starts_.erase(found);
    ++next_start_[static_cast<std::size_t>(graph_.stage_of(node))];
    return node;
  }

  bool has_start() { return startable() != starts_.end(); }

 private:
  /// With fixed shares a stage's blocks are dealt in runs of neighbours.
  std::size_t lane_of(int node) const {
    if (shares_ == Shares::dynamic) return 0;
    const auto blocks = static_cast<std::size_t>(graph_.plan_of(node).blocks);
    return static_cast<std::size_t>(graph_.block_of(node)) * static_cast<std::size_t>(threads_) / blocks;
  }

  std::deque<int>* queue_for(int thread) {
    auto& stages = work_[shares_ == Shares::dynamic ? 0 : static_cast<std::size_t>(thread)];
    const auto found =
        std::find_if(stages.rbegin(), stages.rend(), [](const auto& queue) { return !queue.empty(); });
    return found == stages.rend() ? nullptr : &*found;
  }

  std::deque<int>::iterator startable() {
    return std::find_if(starts_.begin(), starts_.end(), [this](int node) {
      return !graph_.plan_of(node).transfer.in_order ||
             graph_.block_of(node) == next_start_[static_cast<std::size_t>(graph_.stage_of(node))];
    });
  }

  const Graph& graph_;
  Shares shares_;
  int threads_;
  std::vector<std::vector<std::deque<int>>> work_;  ///< by lane and stage
  std::deque<int> starts_;
  std::vector<int> next_start_;  ///< by stage: transfers started
};

}  // namespace corewise::overlap::detail
