// Flows that succeed: every block once, after all it needs, by the thread that the knobs say.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "overlap/flows.hpp"

namespace corewise::overlap {
namespace {

/// The order in which blocks were done, by names.
class Journal {
 public:
  void write(std::string what, int block) {
    const std::lock_guard lock(mutex_);
    const bool first = place_.emplace(std::pair(std::move(what), block), static_cast<int>(place_.size())).second;
    EXPECT_TRUE(first) << "block " << block << " twice";
  }
  /// -1 where it was not done.
  int place(const std::string& what, int block) const {
    const auto found = place_.find({what, block});
    return found == place_.end() ? -1 : found->second;
  }
  std::size_t entries() const { return place_.size(); }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, int>, int> place_;
};

Transfer journaled(Journal& journal, int polls) {
  Transfer transfer;
  transfer.pack = [&journal](int block, int) { journal.write("pack", block); };
  transfer.start = [&journal, polls](int block) {
    journal.write("start", block);
    return after_polls(1 + (block * 7) % polls);
  };
  transfer.unpack = [&journal](int block, int) { journal.write("unpack", block); };
  return transfer;
}

TEST(Flow, DoesEveryBlockOnceAfterWhatItNeedsWithEverySetting) {
  constexpr int blocks = 11, last = 5;
  for (const Knobs& knobs : every_setting()) {
    SCOPED_TRACE(text(knobs));
    Journal journal;
    Flow flow(knobs);
    const Stage rows = flow.work("rows", blocks, [&](int block, int) { journal.write("rows", block); });
    const Stage moved = flow.transfer("exchange", blocks, journaled(journal, 5));
    const Stage columns = flow.work("columns", last, [&](int block, int) { journal.write("columns", block); });
    flow.each_after(moved, rows);
    flow.all_after(columns, moved);
    flow.run();
    ASSERT_EQ(journal.entries(), 4u * blocks + last);
    for (int block = 0; block < blocks; ++block) {
      EXPECT_LT(journal.place("rows", block), journal.place("pack", block));
      EXPECT_LT(journal.place("pack", block), journal.place("start", block));
      EXPECT_LT(journal.place("start", block), journal.place("unpack", block));
      for (int each = 0; each < last; ++each)
        EXPECT_LT(journal.place("unpack", block), journal.place("columns", each));
    }
  }
}

TEST(Flow, KeepsRandomDependencies) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 30; ++turn) {
    const std::vector<Knobs> settings = every_setting();
    const int blocks = 40;
    std::vector<std::pair<int, int>> edges;
    for (int later = 1; later < blocks; ++later)
      for (int i = 0; i < 3; ++i)
        edges.emplace_back(later, static_cast<int>(random() % static_cast<unsigned>(later)));
    Journal journal;
    Flow flow(settings[random() % settings.size()]);
    const Stage stage = flow.work("all", blocks, [&](int block, int) { journal.write("all", block); });
    for (const auto& [later, earlier] : edges) flow.after(stage, later, stage, earlier);
    flow.run();
    for (const auto& [later, earlier] : edges)
      EXPECT_LT(journal.place("all", earlier), journal.place("all", later));
  }
}

TEST(Flow, FixedSharesAreRunsOfNeighbours) {
  Knobs knobs;
  knobs.workers = 2;
  knobs.role = Role::mixed;
  knobs.shares = Shares::fixed;
  std::vector<int> owner(9, -1);
  Flow flow(knobs);
  flow.work("all", 9, [&](int block, int thread) { owner[static_cast<std::size_t>(block)] = thread; });
  flow.run();
  EXPECT_EQ(owner, (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2, 2}));
}

TEST(Flow, WithDynamicSharesASlowThreadHoldsUpOneBlock) {
  Knobs knobs;
  knobs.workers = 2;
  std::atomic<int> others_done{0};
  std::atomic<bool> taken{false};
  Flow flow(knobs);
  flow.work("all", 20, [&](int, int) {
    if (!taken.exchange(true))
      while (others_done < 19) std::this_thread::yield();  // ends only because the other thread does the rest
    else
      ++others_done;
  });
  flow.run();
  EXPECT_EQ(others_done, 19);
}

TEST(Flow, PackingIsDoneByWhomTheKnobSays) {
  for (const Packer packer : {Packer::worker, Packer::communicator}) {
    Knobs knobs;
    knobs.workers = 2;
    knobs.packer = packer;
    std::mutex mutex;
    std::set<bool> by_communicator;
    const auto note = [&](int, int thread) {
      const std::lock_guard lock(mutex);
      by_communicator.insert(thread == 2);
    };
    Flow flow(knobs);
    flow.transfer("exchange", 6, {note, [](int) { return after_polls(2); }, note});
    flow.run();
    EXPECT_EQ(by_communicator, std::set<bool>{packer == Packer::communicator});
  }
}

TEST(Flow, OnlyTheCallingThreadStartsAndPolls) {
  for (const Knobs& knobs : every_setting()) {
    const auto caller = std::this_thread::get_id();
    std::atomic<int> elsewhere{0};
    const auto look = [&] { elsewhere += std::this_thread::get_id() != caller ? 1 : 0; };
    Flow flow(knobs);
    Transfer transfer;
    transfer.start = [&](int) {
      look();
      return [&look, poll = after_polls(3)] {
        look();
        return poll();
      };
    };
    const Stage rows = flow.work("rows", 5, [](int, int) {});
    flow.each_after(flow.transfer("exchange", 5, std::move(transfer)), rows);
    flow.run();
    EXPECT_EQ(elsewhere, 0) << text(knobs);
  }
}

TEST(Flow, TransfersInOrderStartByTheirNumbers) {
  Knobs knobs;
  knobs.workers = 3;
  std::vector<int> started;
  Flow flow(knobs);
  const Stage rows = flow.work("rows", 8, [](int block, int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(8 - block));  // later blocks are done first
  });
  Transfer transfer;
  transfer.in_order = true;
  transfer.start = [&](int block) {
    started.push_back(block);
    return after_polls(1);
  };
  flow.each_after(flow.transfer("exchange", 8, std::move(transfer)), rows);
  flow.run();
  EXPECT_EQ(started, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Flow, AMixedCommunicatorAloneWorksWhileTransfersAreUnderWay) {
  Knobs knobs;
  knobs.workers = 0;
  knobs.role = Role::mixed;
  int worked = 0;
  Flow flow(knobs);
  Transfer transfer;
  transfer.start = [&](int) { return [&] { return worked == 10; }; };  // arrives when all the work has been done
  flow.transfer("exchange", 1, std::move(transfer));
  flow.work("rows", 10, [&](int, int) { ++worked; });
  flow.run();
  EXPECT_EQ(worked, 10);
}

TEST(Flow, RunsAgain) {
  Knobs knobs;
  knobs.workers = 2;
  std::atomic<int> done{0};
  Flow flow(knobs);
  const Stage rows = flow.work("rows", 4, [&](int, int) { ++done; });
  flow.all_after(flow.work("columns", 3, [&](int, int) { ++done; }), rows);
  for (int turn = 1; turn <= 50; ++turn) {
    flow.run();
    ASSERT_EQ(done, turn * 7);
  }
}

TEST(Flow, OfNothingEnds) {
  for (const Knobs& knobs : every_setting()) {
    Flow flow(knobs);
    const Stage none = flow.work("none", 0, [](int, int) { FAIL(); });
    flow.all_after(flow.work("some", 0, [](int, int) { FAIL(); }), none);
    flow.run();
  }
}

}  // namespace
}  // namespace corewise::overlap
