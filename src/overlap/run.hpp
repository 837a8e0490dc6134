// One run of a flow: the threads, what is left to do, and how it ends.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "overlap/binding.hpp"
#include "overlap/failure.hpp"
#include "overlap/gate.hpp"
#include "overlap/graph.hpp"
#include "overlap/knobs.hpp"
#include "overlap/ready.hpp"
#include "overlap/timeline.hpp"

namespace corewise::overlap::detail {

inline int working_threads(const Knobs& knobs) {
  return knobs.workers + (knobs.role == Role::mixed ? 1 : 0);
}

class Run {
 public:
  Run(const Graph& graph, const Knobs& knobs)
      : graph_(graph),
        knobs_(knobs),
        gate_(knobs.lock),
        ready_(graph, knobs.shares, working_threads(knobs)),
        needs_(graph.needs()),
        left_(graph.nodes()),
        spans_(static_cast<std::size_t>(knobs.workers) + 1) {}

  /// Does all blocks, or throws `Failure`.
  void all() {
    begin();
    std::vector<std::thread> workers = started();
    communicate();
    for (std::thread& worker : workers) worker.join();
    if (failure_) throw *failure_;
  }

  std::vector<Span> take_spans() {
    std::vector<Span> all;
    for (const auto& each : spans_) all.insert(all.end(), each.begin(), each.end());
    return all;
  }

 private:
  using Held = std::unique_lock<Gate>;

  std::vector<std::thread> started() {
    const Bound everywhere(knobs_.processors);
    std::vector<std::thread> workers;
    for (int worker = 0; worker < knobs_.workers; ++worker)
      workers.emplace_back([this, worker] { work_until_end(worker); });
    return workers;
  }

  struct Flying {
    int node;
    Poll poll;
    std::int64_t begin_ns;
  };

  // ---- what is left; all with the gate held
  // -----------------------------------------------------------------------

  bool ended() const { return left_ == 0 || failure_.has_value(); }

  void begin() {
    const Held held(gate_);
    std::vector<int> joins;
    for (int node = 0; node < graph_.nodes(); ++node)
      if (needs_[static_cast<std::size_t>(node)] == 0) make_ready(node, joins);
    finish(std::move(joins));
  }

  /// Its needs are met. A join has nothing to do and is finished at once.
  void make_ready(int node, std::vector<int>& finished) {
    ++active_;
    if (graph_.plan_of(node).kind == Kind::join)
      finished.push_back(node);
    else
      ready_.add(node);
  }

  void finish(std::vector<int> finished) {
    while (!finished.empty()) {
      const int node = finished.back();
      finished.pop_back();
      --active_;
      --left_;
      for (const int next : graph_.next(node))
        if (--needs_[static_cast<std::size_t>(next)] == 0) make_ready(next, finished);
    }
    if (left_ > 0 && active_ == 0) fail(Failure("blocks wait for each other: " + first_waiting()));
    gate_.notify_all();
  }

  std::string first_waiting() const {
    for (int node = 0; node < graph_.nodes(); ++node)
      if (needs_[static_cast<std::size_t>(node)] > 0)
        return "stage '" + graph_.plan_of(node).name + "', block " + std::to_string(graph_.block_of(node));
    return "";
  }

  /// The first failure is the one that is told.
  void fail(Failure failure) {
    if (!failure_) failure_ = std::move(failure);
    gate_.notify_all();
  }

  // ---- work
  // -------------------------------------------------------------------------------------------------------

  void work_until_end(int worker) {
    const Bound bound(knobs_.processors, worker);
    for (;;) {
      Held held(gate_);
      gate_.wait(held, [&] { return ended() || ready_.has_work_for(worker); });
      if (ended()) return;
      const int node = *ready_.work_for(worker);
      held.unlock();
      do_work(node, worker);
    }
  }

  void do_work(int node, int thread) {
    guarded(node, [&] {
      timed(node, thread, [&] { graph_.plan_of(node).work(graph_.block_of(node), thread); });
      const Held held(gate_);
      finish({node});
    });
  }

  /// Does something for a node; what it throws ends the flow.
  template <class Do>
  void guarded(int node, Do&& act) {
    try {
      act();
    } catch (...) {
      const Failure failure = failure_of(graph_.plan_of(node).name, graph_.block_of(node));
      const Held held(gate_);
      fail(failure);
    }
  }

  template <class Do>
  void timed(int node, int thread, Do&& act) {
    const std::int64_t begin_ns = knobs_.timeline ? now_ns() : 0;
    act();
    note(Activity::work, thread, node, begin_ns);
  }

  void note(Activity activity, int thread, int node, std::int64_t begin_ns) {
    if (knobs_.timeline)
      spans_[static_cast<std::size_t>(thread)].push_back(
          {activity, thread, graph_.stage_of(node), graph_.block_of(node), begin_ns, now_ns()});
  }

  // ---- the communicator
  // -------------------------------------------------------------------------------------------

  void communicate() {
    const Bound bound(knobs_.processors, knobs_.workers);
    last_progress_ns_ = now_ns();
    while (!over()) {
      const bool progressed = start_one() | poll_all();
      if (progressed)
        last_progress_ns_ = now_ns();
      else if (!work_one())
        rest();
    }
  }

  bool over() {
    const Held held(gate_);
    return ended();
  }

  bool start_one() {
    std::optional<int> node;
    {
      const Held held(gate_);
      if (!ended()) node = ready_.start();
    }
    if (!node) return false;
    guarded(*node, [&] {
      const Transfer& transfer = graph_.plan_of(*node).transfer;
      const int block = graph_.block_of(*node);
      if (transfer.pack) timed(*node, knobs_.workers, [&] { transfer.pack(block, knobs_.workers); });
      const std::int64_t begin_ns = now_ns();
      flying_.push_back({*node, transfer.start(block), begin_ns});
    });
    return true;
  }

  /// True where a transfer is done now that was not before.
  bool poll_all() {
    std::vector<int> done;
    std::erase_if(flying_, [&](const Flying& each) {
      bool landed = false;
      guarded(each.node, [&] { landed = each.poll(); });
      if (landed) land(each);
      if (landed) done.push_back(each.node);
      return landed;
    });
    if (done.empty()) return false;
    const Held held(gate_);
    finish(std::move(done));
    return true;
  }

  void land(const Flying& each) {
    note(Activity::transfer, knobs_.workers, each.node, each.begin_ns);
    const Transfer& transfer = graph_.plan_of(each.node).transfer;
    if (!transfer.unpack) return;
    guarded(each.node, [&] {
      timed(each.node, knobs_.workers, [&] { transfer.unpack(graph_.block_of(each.node), knobs_.workers); });
    });
  }

  bool work_one() {
    if (knobs_.role != Role::mixed) return false;
    std::optional<int> node;
    {
      const Held held(gate_);
      if (!ended()) node = ready_.work_for(knobs_.workers);
    }
    if (!node) return false;
    do_work(*node, knobs_.workers);
    last_progress_ns_ = now_ns();
    return true;
  }

  /// There is nothing to start or to do. What is under way wants to be polled; else somebody else is at work.
  void rest() {
    if (!flying_.empty()) {
      lose_patience();
      std::this_thread::yield();
      return;
    }
    Held held(gate_);
    gate_.wait(held, [&] {
      return ended() || ready_.has_start() || (knobs_.role == Role::mixed && ready_.has_work_for(knobs_.workers));
    });
  }

  void lose_patience() {
    if (knobs_.patience_s == 0) return;
    if (static_cast<double>(now_ns() - last_progress_ns_) < knobs_.patience_s * 1e9) return;
    const int node = flying_.front().node;
    const Held held(gate_);
    fail(Failure("stage '" + graph_.plan_of(node).name + "', block " + std::to_string(graph_.block_of(node)) +
                 ": not transferred, and nothing else done, for " + std::to_string(knobs_.patience_s) + " s"));
  }

  const Graph& graph_;
  const Knobs& knobs_;
  Gate gate_;
  Ready ready_;
  std::vector<int> needs_;  ///< by node: how many others it still waits for
  int left_;                ///< nodes that are not done
  int active_ = 0;          ///< nodes that are ready or in work
  std::optional<Failure> failure_;
  std::vector<Flying> flying_;  ///< the communicator's own
  std::int64_t last_progress_ns_ = 0;
  std::vector<std::vector<Span>> spans_;  ///< each thread's own
};

}  // namespace corewise::overlap::detail
