// The barriers of paper 001 through every interleaving of their ranks and of what they write: nobody leaves before
// the last has entered, nobody waits for ever, whichever barrier came before. And what each rests on: with a rule
// of the port taken away, or a line of its text changed, the search finds the failure.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "coll/barrier/table.hpp"
#include "model.hpp"

namespace corewise::coll::barrier {
namespace {

using testing::Found;
using testing::ModelPort;
using testing::Rules;
using testing::Search;

constexpr const char* kEarly = "a rank left before another had entered";
constexpr const char* kHang = "ranks wait for ever";

Shape shape_of(int ranks) {
  Shape shape;
  shape.ranks = ranks;
  shape.buffers = 0;
  shape.atomic_words = 2;
  return shape;
}

/// `rounds` barriers, one after the other; entering each may be late. barrier(me, round)
template <class Barrier>
Found search(int ranks, int rounds, const Rules& rules, Barrier barrier) {
  const Shape shape = shape_of(ranks);
  const auto text = [&](ModelPort& port) -> std::string {
    Rank<ModelPort> me(port, shape);
    for (int round = 1; round <= rounds; ++round) {
      port.pause();
      std::vector<int>& entered = port.state().entered;
      int& own = entered[static_cast<std::size_t>(port.rank())];
      own = std::max(own, round);
      barrier(me, round);
      if (*std::min_element(entered.begin(), entered.end()) < round) return kEarly;
    }
    return {};
  };
  return Search(ranks, shape.layout(), 0, rules, text).run();
}

Run<ModelPort> run_of(std::string_view name) {
  const auto& rows = kRows<ModelPort>;
  return std::find_if(rows.begin(), rows.end(), [name](const Row<ModelPort>& row) { return row.name == name; })
      ->run;
}

/// Does a rank wait for the writes of its flags?
enum class Waits : std::uint8_t { no, yes };

Found search(std::string_view name, int ranks, int rounds, int degree = 2, const Rules& rules = {},
             Waits waits = Waits::no) {
  Parameters parameters;
  parameters.degree = degree;
  parameters.waits = waits == Waits::yes;
  const Run<ModelPort> run = run_of(name);
  return search(ranks, rounds, rules, [&](Rank<ModelPort>& me, int /*round*/) { run(me, {}, parameters); });
}

/// Where a rank waits for nobody.
Rules deaf(int ranks) {
  Rules rules;
  rules.ignored_begin = Shape{}.barrier_lines();
  rules.ignored_end = shape_of(ranks).announcements();
  return rules;
}

struct Size {
  int ranks, rounds;
};

void all_right(std::string_view name, std::initializer_list<Size> sizes, int degree = 2) {
  for (const Size& size : sizes) {
    SCOPED_TRACE(std::string(name) + " on " + std::to_string(size.ranks) + " ranks, degree " +
                 std::to_string(degree));
    for (const Waits waits : {Waits::no, Waits::yes}) {
      const Found found = search(name, size.ranks, size.rounds, degree, {}, waits);
      EXPECT_EQ(found.wrong, "");
      EXPECT_GT(found.states, static_cast<std::size_t>(size.ranks * size.rounds));
    }
  }
}

TEST(BarrierInterleavings, OneToAllIsRight) {
  all_right("one_to_all", {{1, 3}, {2, 6}, {3, 4}, {4, 2}, {5, 1}});
}

TEST(BarrierInterleavings, SignalRegisterIsRight) {
  all_right("signal_register", {{1, 3}, {2, 5}, {3, 2}, {4, 1}});
}

TEST(BarrierInterleavings, TreesAreRight) {
  for (const int degree : {1, 2, 3}) all_right("tree", {{1, 3}, {2, 6}, {3, 3}, {4, 2}, {5, 1}}, degree);
  all_right("tree", {{6, 1}}, 3);
}

TEST(BarrierInterleavings, PairwiseExchangeIsRight) {
  all_right("pairwise_exchange", {{1, 3}, {2, 6}, {3, 3}, {4, 2}, {5, 1}});
}

TEST(BarrierInterleavings, DisseminationIsRight) {
  all_right("dissemination", {{1, 3}, {2, 6}, {3, 3}, {4, 2}});
}

TEST(BarrierInterleavings, AtomicIncrementIsRight) {
  all_right("atomic_increment", {{1, 3}, {2, 3}, {3, 1}});
}

TEST(BarrierInterleavings, OneMayFollowAnother) {
  const std::vector<coll::Run<ModelPort>> runs = {run_of("dissemination"), run_of("one_to_all"), run_of("tree"),
                                                  run_of("pairwise_exchange"), run_of("signal_register")};
  for (std::size_t first = 0; first < runs.size(); ++first) {
    for (std::size_t second = 0; second < runs.size(); ++second) {
      const Found found = search(
          3, 3, {}, [&](Rank<ModelPort>& me, int round) { runs[round % 2 == 1 ? first : second](me, {}, {}); });
      EXPECT_EQ(found.wrong, "") << first << " then " << second;
    }
  }
}

TEST(BarrierInterleavings, EveryFlagIsNeeded) {
  for (const std::string_view name : {"one_to_all", "tree", "pairwise_exchange", "dissemination"}) {
    EXPECT_EQ(search(name, 3, 1, 2, deaf(3)).wrong, kEarly) << name;
  }
  EXPECT_EQ(search("signal_register", 3, 1, 2, deaf(3)).wrong, kEarly);
}

/// A rank of an exchange may leave, and set its next flag, while the last one is still on its way. Where rank 0
/// stands between, it has read the one flag before the next is set.
TEST(BarrierInterleavings, OnlyExchangesNeedTheFence) {
  const Rules none{.fence = false};
  for (const std::string_view name : {"pairwise_exchange", "dissemination"}) {
    EXPECT_EQ(search(name, 2, 3, 2, none).wrong, kHang) << name;
    EXPECT_EQ(search(name, 2, 3, 2, none, Waits::yes).wrong, "") << name;
  }
  for (const std::string_view name : {"one_to_all", "tree", "signal_register"}) {
    EXPECT_EQ(search(name, 3, 3, 2, none).wrong, "") << name;
  }
}

/// Else a flag that is still on its way says more than it was sent for. Who has one copy of the flag must wait.
TEST(BarrierInterleavings, ExchangesNeedTheNumberTakenAtTheCallOrTheWait) {
  const Rules later{.taken_at_call = false};
  EXPECT_EQ(search("pairwise_exchange", 4, 2, 2, later).wrong, kEarly);
  EXPECT_EQ(search("dissemination", 4, 2, 2, later).wrong, kEarly);
  EXPECT_EQ(search("pairwise_exchange", 4, 2, 2, later, Waits::yes).wrong, "");
  EXPECT_EQ(search("dissemination", 4, 2, 2, later, Waits::yes).wrong, "");
}

/// Signals that come together are one: who counts them waits for ever.
TEST(BarrierInterleavings, SignalsAreBitsAndCannotBeCounted) {
  const auto counts = [](Rank<ModelPort>& me, int /*round*/) {
    if (me.rank() == 0) {
      for (int peer = 1; peer < me.size(); ++peer) me.port.wait_signal();
    } else {
      me.port.send_signal(0, 1U << me.rank(), 0);
    }
    release(me, Parameters{});
  };
  EXPECT_EQ(search(2, 3, {}, counts).wrong, "");
  EXPECT_EQ(search(3, 1, {}, counts).wrong, kHang);
}

/// The paper's words: increment, wait for the value P. A slow rank may find a later one.
TEST(BarrierInterleavings, AnExactCountIsMissed) {
  const auto exact = [](Rank<ModelPort>& me, int round) {
    me.port.fetch_add(0, 1);
    while (me.port.load_word(0) != static_cast<std::uint32_t>(me.size() * round)) {
    }
  };
  EXPECT_EQ(search(2, 1, {}, exact).wrong, "");
  EXPECT_EQ(search(2, 2, {}, exact).wrong, kHang);
}

/// Who lets the others go before the count is set back, may count them twice.
TEST(BarrierInterleavings, TheCountMustBeSetBackWithTheRelease) {
  const auto late = [](Rank<ModelPort>& me, int round) {
    const auto ranks = static_cast<std::uint32_t>(me.size());
    if (me.port.fetch_add(0, 1) % 256 >= ranks - 1) {
      me.port.fetch_add(0, 256);
      me.port.fetch_add(0, 0 - ranks);
      return;
    }
    while (me.port.load_word(0) / 256 < static_cast<std::uint32_t>(round)) {
    }
  };
  EXPECT_EQ(search(3, 1, {}, late).wrong, "");
  EXPECT_EQ(search(3, 2, {}, late).wrong, kEarly);
}

}  // namespace
}  // namespace corewise::coll::barrier
