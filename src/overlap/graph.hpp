// What is to be done: stages of equal blocks, and which block needs which others done before.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace corewise::overlap {

/// A block of work: its number in the stage, and the thread that does it (0 to threads - 1).
using Work = std::function<void(int block, int thread)>;
/// Looks whether what was started is done, and helps it along. Called by the communicator alone, until it says
/// true.
using Poll = std::function<bool()>;
/// Starts a block's transfer without waiting for it. Called by the communicator alone.
using Start = std::function<Poll(int block)>;

/// What a block's transfer is made of. Packing and unpacking are optional, and are done by whom the knob says.
struct Transfer {
  Work pack;    ///< before the start
  Start start;  ///< posts the operations
  Work unpack;  ///< once they are done
  /// Blocks start in the order of their numbers: needed where all processes must start the same one, as with
  /// non-blocking collectives.
  bool in_order = false;
};

/// A stage of a flow; for `Flow` alone to look into.
struct Stage {
  int first = -1;  ///< what a block waits for others with
  int last = -1;   ///< what others wait for a block with
};

namespace detail {

enum class Kind : unsigned char { work, transfer, join };

struct StagePlan {
  std::string name;
  Kind kind = Kind::work;
  int blocks = 0;
  Work work;
  Transfer transfer;   ///< of a transfer; what the communicator packs and unpacks itself is still in it
  int first_node = 0;  ///< of block 0
};

/// Nodes are blocks of all stages, numbered stage by stage.
class Graph {
 public:
  int add(StagePlan stage) {
    if (stage.blocks < 0) throw std::invalid_argument("stage '" + stage.name + "': blocks below 0");
    stage.first_node = nodes();
    needs_.resize(needs_.size() + static_cast<std::size_t>(stage.blocks), 0);
    next_.resize(needs_.size());
    stage_of_.resize(needs_.size(), static_cast<int>(stages_.size()));
    stages_.push_back(std::move(stage));
    return static_cast<int>(stages_.size()) - 1;
  }

  void after(int later, int block, int earlier, int earlier_block) {
    const int to = node(later, block);
    next_[static_cast<std::size_t>(node(earlier, earlier_block))].push_back(to);
    ++needs_[static_cast<std::size_t>(to)];
  }

  int nodes() const { return static_cast<int>(needs_.size()); }
  const std::vector<int>& needs() const { return needs_; }
  const std::vector<int>& next(int node) const { return next_[static_cast<std::size_t>(node)]; }
  const std::vector<StagePlan>& stages() const { return stages_; }
  int stage_of(int node) const { return stage_of_[static_cast<std::size_t>(node)]; }
  const StagePlan& plan_of(int node) const { return stages_[static_cast<std::size_t>(stage_of(node))]; }
  int block_of(int node) const { return node - plan_of(node).first_node; }

 private:
  int node(int stage, int block) const {
    const StagePlan& plan = stages_.at(static_cast<std::size_t>(stage));
    if (block < 0 || block >= plan.blocks)
      throw std::out_of_range("stage '" + plan.name + "' has no block " + std::to_string(block));
    return plan.first_node + block;
  }

  std::vector<StagePlan> stages_;
  std::vector<int> needs_;
  std::vector<std::vector<int>> next_;
  std::vector<int> stage_of_;
};

}  // namespace detail
}  // namespace corewise::overlap
