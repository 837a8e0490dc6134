// A dataflow over blocks, done by worker threads and a communicator: the library that paper 004 wishes for (section
// 9).
//
// A program names stages of blocks, work and transfers, says which block needs which others, and runs the flow. A
// block is done as soon as all that it needs is done and a thread is free; transfers go on meanwhile. The thread
// that calls `run` is the communicator and the only one that starts and polls transfers, so MPI_THREAD_FUNNELED is
// enough. Nothing here includes MPI: mpi.hpp makes polls of requests.
//
// Errors: a stage without such a block throws std::out_of_range where it is named, knobs that cannot be
// std::invalid_argument. A block that throws, blocks that need each other, and a transfer that outlasts the
// patience end the flow: every thread leaves, and `run` throws `Failure`. Transfers may still be under way then,
// into memory of the program: it must end, as `run_or_abort` (mpi.hpp) sees to.
//
// A flow can be run again; each run does every block once. Blocks of work run at the same time on several threads.
// What a block did is visible to those that need it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "overlap/graph.hpp"
#include "overlap/knobs.hpp"
#include "overlap/run.hpp"
#include "overlap/timeline.hpp"

namespace corewise::overlap {

class Flow {
 public:
  explicit Flow(Knobs knobs) : knobs_(std::move(knobs)) {
    if (knobs_.workers < (knobs_.role == Role::mixed ? 0 : 1))
      throw std::invalid_argument("workers: found " + std::to_string(knobs_.workers) +
                                  ", allowed: 1 or more, 0 where the communicator's role is mixed");
    if (!(knobs_.patience_s >= 0)) throw std::invalid_argument("patience_s: below 0");
  }

  /// A stage of work: `work(block, thread)` for every block.
  Stage work(std::string name, int blocks, Work work) {
    const int stage = graph_.add({std::move(name), detail::Kind::work, blocks, std::move(work), {}, 0});
    return {stage, stage};
  }

  /// A stage of transfers. What waits for one of its blocks waits for its unpacking.
  Stage transfer(const std::string& name, int blocks, Transfer transfer) {
    const bool by_workers = knobs_.packer == Packer::worker;
    Work pack = by_workers ? std::exchange(transfer.pack, nullptr) : nullptr;
    Work unpack = by_workers ? std::exchange(transfer.unpack, nullptr) : nullptr;
    const Stage before = pack ? work(name + ": pack", blocks, std::move(pack)) : Stage{};
    const int moved = graph_.add({name, detail::Kind::transfer, blocks, {}, std::move(transfer), 0});
    const Stage behind = unpack ? work(name + ": unpack", blocks, std::move(unpack)) : Stage{};
    for (int block = 0; block < blocks; ++block) {
      if (before.last >= 0) graph_.after(moved, block, before.last, block);
      if (behind.first >= 0) graph_.after(behind.first, block, moved, block);
    }
    return {before.first >= 0 ? before.first : moved, behind.last >= 0 ? behind.last : moved};
  }

  /// A block of `later` waits for one of `earlier`.
  void after(Stage later, int block, Stage earlier, int earlier_block) {
    graph_.after(later.first, block, earlier.last, earlier_block);
  }

  /// Each block waits for the one of the same number.
  void each_after(Stage later, Stage earlier) {
    for (int block = 0; block < blocks(later.first); ++block) after(later, block, earlier, block);
  }

  /// Every block of `later` waits for all of `earlier`.
  void all_after(Stage later, Stage earlier) {
    const int join = graph_.add({"join", detail::Kind::join, 1, {}, {}, 0});
    for (int block = 0; block < blocks(earlier.last); ++block) graph_.after(join, 0, earlier.last, block);
    for (int block = 0; block < blocks(later.first); ++block) graph_.after(later.first, block, join, 0);
  }

  /// Does every block. Throws `Failure`.
  void run() {
    detail::Run run(graph_, knobs_);
    run.all();
    spans_ = run.take_spans();
  }

  /// Threads that do work: the workers, and the communicator where its role is mixed.
  int threads() const { return detail::working_threads(knobs_); }

  const Knobs& knobs() const { return knobs_; }

  /// What the last run did when; empty unless the knob is on.
  const std::vector<Span>& timeline() const { return spans_; }

  /// The name of a span's stage.
  const std::string& stage_name(const Span& span) const {
    return graph_.stages().at(static_cast<std::size_t>(span.stage)).name;
  }

 private:
  int blocks(int stage) const { return graph_.stages().at(static_cast<std::size_t>(stage)).blocks; }

  Knobs knobs_;
  detail::Graph graph_;
  std::vector<Span> spans_;
};

}  // namespace corewise::overlap
