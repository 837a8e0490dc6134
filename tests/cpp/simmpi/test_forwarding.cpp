// The queues at the PPEs against schedules made by hand, and against a reference that steps through every
// nanosecond. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "simmpi/messages/forwarding.hpp"

namespace corewise::simmpi {
namespace {

using machine::UnitId;
using sim::Time;

/// Two nodes of two blades of one Cell of four SPEs: a Cell is four units. Links are so fast that a message takes
/// its hops alone: 2 x (10 + 90 + 400) ns between nodes, 2 x (10 + 90) between the blades of one.
machine::Machine cluster(const std::string& bandwidth = "1000000 GB/s") {
  const auto level = [&](const char* name, int count, const char* hop) {
    return R"({"name": ")" + std::string(name) + R"(", "count": )" + std::to_string(count) +
           R"(, "up_bandwidth": ")" + bandwidth + R"(", "down_bandwidth": ")" + bandwidth +
           R"(", "hop_latency": ")" + hop + R"("})";
  };
  const auto made = machine::from_json(
      R"({"format": "corewise-machine", "version": 1, "name": "cluster", "interconnect": {"kind": "tree", "level": [)" +
          level("node", 2, "400 ns") + ", " + level("blade", 2, "90 ns") + ", " + level("spe", 4, "10 ns") + "]}}",
      "");
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.value();
}

constexpr int kCellUnits = 4;

Settings forwarded(double level = 2, double forward_ns = 100, double gb_per_s = 1) {
  Settings settings;
  settings.forward_level = level;
  settings.forward_ns = forward_ns;
  settings.forward_gb_per_s = gb_per_s;
  return settings;
}

struct Sent {
  Time at_ns = 0;
  UnitId from = 0;
  UnitId to = 0;
  std::uint64_t bytes = 0;
  Time delivered_ns = -1;
};

/// Sends all of them, listed by their times, and notes when they come.
class Load {
 public:
  Load(const machine::Machine& machine, const Settings& settings, std::vector<Sent> all)
      : sent(std::move(all)), network_(sim::make_network(engine_, machine, sim::Granularity::flow).value()) {
    forwarding.emplace(engine_, *network_, machine, settings);
    for (std::size_t i = 0; i < sent.size(); ++i) engine_.at(sent[i].at_ns * sim::kTicksPerNs, {&send, this, i});
    EXPECT_TRUE(engine_.run(sim::kForever).ok());
  }

  std::vector<Sent> sent;
  std::optional<Forwarding> forwarding;

 private:
  static void send(void* self, std::uint64_t index) {
    auto& load = *static_cast<Load*>(self);
    const Sent& message = load.sent[index];
    load.forwarding->send(message.from, message.to, message.bytes, {&come, self, index});
  }
  static void come(void* self, std::uint64_t index) {
    auto& load = *static_cast<Load*>(self);
    load.sent[index].delivered_ns = load.engine_.now() / sim::kTicksPerNs;
  }

  sim::Engine engine_{sim::kPicosecondInNs};
  std::unique_ptr<sim::Network> network_;
};

std::vector<Time> deliveries(const Load& load) {
  std::vector<Time> all;
  for (const Sent& message : load.sent) all.push_back(message.delivered_ns);
  return all;
}

TEST(Forwarding, SpesOfACellWaitForEachOther) {
  // A PPE takes 100 ns for each; the next one leaves when the one before has left.
  const Load load(cluster(), forwarded(), {{0, 0, 8, 0}, {0, 1, 9, 0}, {0, 2, 12, 0}, {0, 3, 13, 0}});
  EXPECT_EQ(deliveries(load), (std::vector<Time>{1000, 1100, 1200, 1300}));
  const Ppe& own = load.forwarding->ppes()[0];
  EXPECT_EQ(own.cell, "node0/blade0");
  EXPECT_EQ(own.left, 4U);
  EXPECT_EQ(own.busy, 400 * sim::kTicksPerNs);
  EXPECT_EQ(own.waiting, (100 + 200 + 300) * sim::kTicksPerNs);
}

TEST(Forwarding, MessagesForACellWaitForEachOther) {
  // From three Cells: the first is done as it comes, one that comes too soon after it its work of 120 ns later.
  const Load load(cluster(), forwarded(), {{0, 4, 0, 0}, {800, 8, 1, 30}, {801, 12, 2, 20}, {5000, 12, 3, 0}});
  EXPECT_EQ(deliveries(load), (std::vector<Time>{200, 1800, 1920, 6000}));
  EXPECT_EQ(load.forwarding->ppes()[0].came, 4U);
}

TEST(Forwarding, OnePpeDoesWhatLeavesAndWhatComesInTheirOrder) {
  // Between blades a message takes 200 ns. At 150 one of 50 bytes leaves Cell 0, whose PPE is busy to 300. At 200
  // one of no byte comes in: done at 400. At 310 one asks to leave: at 400. It comes to Cell 1 at 600, 250 after
  // the other.
  const Load load(cluster(), forwarded(), {{0, 4, 0, 0}, {150, 1, 5, 50}, {310, 2, 6, 0}});
  EXPECT_EQ(deliveries(load), (std::vector<Time>{400, 350, 600}));
}

TEST(Forwarding, InsideAPartOfTheLevelNobodyForwards) {
  const std::vector<Sent> sent = {{0, 0, 1, 0}, {0, 0, 4, 0}, {0, 1, 5, 0}, {0, 2, 8, 0}, {0, 3, 9, 0}};
  EXPECT_EQ(deliveries(Load(cluster(), forwarded(2), sent)), (std::vector<Time>{20, 200, 300, 1200, 1300}));
  EXPECT_EQ(deliveries(Load(cluster(), forwarded(1), sent)), (std::vector<Time>{20, 200, 200, 1000, 1100}));
}

// ---- by a reference ------------------------------------------------------------------------------------------

int cell_of(UnitId unit) {
  return unit / kCellUnits;
}

Time alone_ns(UnitId from, UnitId to) {
  if (cell_of(from) == cell_of(to)) return 20;
  return cell_of(from) / 2 == cell_of(to) / 2 ? 200 : 1000;
}

/// Nanosecond by nanosecond: at every PPE a line of messages, of which it works on the first. What comes in is done
/// the sooner the longer the PPE has been idle, since it came while it did.
class Reference {
 public:
  Reference(std::vector<Sent> all, Time forward_ns) : sent(std::move(all)), forward_ns_(forward_ns) {
    for (std::size_t open = sent.size(); open > 0; ++now_) {
      for (Line& line : lines_) open -= work_on(line);
      for (std::size_t i = 0; i < sent.size(); ++i) open -= events_of(i);
    }
  }

  std::vector<Sent> sent;
  bool tied = false;  ///< two messages reached a PPE at one time: their order is not said

 private:
  struct Job {
    std::size_t message;
    bool leaves;
    Time left;
  };
  struct Line {
    std::deque<Job> jobs;
    Time idle = 1000;
    Time last_arrival = -1;
  };

  /// Messages that are delivered.
  std::size_t work_on(Line& line) {
    if (line.jobs.empty()) {
      ++line.idle;
      return 0;
    }
    Job& first = line.jobs.front();
    --first.left;
    line.idle = 0;
    return pop_done(line);
  }
  std::size_t pop_done(Line& line) {
    std::size_t delivered = 0;
    while (!line.jobs.empty() && line.jobs.front().left == 0) {
      const Job done = line.jobs.front();
      line.jobs.pop_front();
      if (!done.leaves) {
        sent[done.message].delivered_ns = now_;
        ++delivered;
      }
      if (!line.jobs.empty()) begin(line);
    }
    return delivered;
  }
  void begin(Line& line) {
    const Job& first = line.jobs.front();
    const Sent& message = sent[first.message];
    if (first.leaves) arrival_ns_[first.message] = now_ + alone_ns(message.from, message.to);
  }
  std::size_t join(int cell, std::size_t message, bool leaves) {
    Line& line = lines_[static_cast<std::size_t>(cell)];
    tied = tied || line.last_arrival == now_;
    line.last_arrival = now_;
    const Time work = forward_ns_ + static_cast<Time>(sent[message].bytes);
    const bool first = line.jobs.empty();
    line.jobs.push_back({message, leaves, leaves || !first ? work : std::max<Time>(0, work - line.idle)});
    if (!first) return 0;
    begin(line);
    if (!leaves && line.jobs.front().left == 0) line.idle = 0;
    return pop_done(line);
  }
  std::size_t events_of(std::size_t i) {
    const Sent& message = sent[i];
    const bool forwarded = cell_of(message.from) != cell_of(message.to);
    std::size_t delivered = 0;
    if (message.at_ns == now_) {
      if (forwarded) {
        delivered += join(cell_of(message.from), i, true);
      } else {
        arrival_ns_[i] = now_ + alone_ns(message.from, message.to);
      }
    }
    if (arrival_ns_[i] != now_) return delivered;
    if (forwarded) return delivered + join(cell_of(message.to), i, false);
    sent[i].delivered_ns = now_;
    return delivered + 1;
  }

  Time forward_ns_;
  Time now_ = 0;
  std::array<Line, 4> lines_;
  std::vector<Time> arrival_ns_ = std::vector<Time>(sent.size(), -1);
};

std::vector<Sent> random_messages(Rng& rng, int ranks) {
  const auto unit = [&] { return static_cast<UnitId>(7 * rng.below(static_cast<std::uint64_t>(ranks)) % 16); };
  std::vector<Sent> all(30);
  for (Sent& message : all) {
    message = {static_cast<Time>(rng.below(1500)), unit(), unit(), 10 * rng.below(4)};
    if (message.from == message.to) message.to = (message.to + 1) % 16;
  }
  std::sort(all.begin(), all.end(), [](const Sent& a, const Sent& b) { return a.at_ns < b.at_ns; });
  return all;
}

TEST(Forwarding, RandomMessagesAreThoseOfAReference) {
  Rng rng(7);
  for (const int ranks : {1, 2, 3, 5, 8, 11, 16}) {
    int compared = 0;
    for (int draw = 0; draw < 12; ++draw) {
      const std::vector<Sent> all = random_messages(rng, ranks);
      const Reference expected(all, 60);
      if (expected.tied) continue;
      const Load load(cluster(), forwarded(2, 60), all);
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(load.sent[i].delivered_ns, expected.sent[i].delivered_ns) << ranks << " ranks, message " << i;
      }
      ++compared;
    }
    EXPECT_GE(compared, 3) << ranks;
  }
}

TEST(Forwarding, AMessageAloneTakesWhatItTakesWithoutPpes) {
  const machine::Machine machine = cluster("2 GB/s");
  sim::Engine engine(sim::kPicosecondInNs);
  const auto network = sim::make_network(engine, machine, sim::Granularity::flow).value();
  for (const UnitId to : {1, 5, 8, 15}) {
    for (const std::uint64_t bytes : {0, 1, 1000, 1 << 20}) {
      const Load load(machine, forwarded(2, 100, 2), {{0, 0, to, bytes}});
      EXPECT_EQ(load.sent[0].delivered_ns, network->alone(0, to, bytes) / sim::kTicksPerNs) << to << " " << bytes;
    }
  }
}

TEST(Forwarding, WorkThatAMessageAloneHasNoTimeForIsRefused) {
  const machine::Machine machine = cluster("2 GB/s");
  sim::Engine engine(sim::kPicosecondInNs);
  const auto network = sim::make_network(engine, machine, sim::Granularity::flow).value();
  const auto said = [&](const Settings& settings) {
    return Forwarding::check(settings, machine, *network).message();
  };
  EXPECT_EQ(said(forwarded(2, 100, 2)), "");
  EXPECT_EQ(said(forwarded(1, 500, 2)), "");
  EXPECT_NE(said(forwarded(2, 101, 2)).find("forward_ns': found 101, allowed: 0 to 100, "), std::string::npos);
  EXPECT_NE(said(forwarded(1, 501, 2)).find("forward_ns': found 501, allowed: 0 to 500, "), std::string::npos);
  EXPECT_NE(said(forwarded(2, 100, 1.9)).find("forward_gb_per_s': found 1.9, allowed: 2 or more, "),
            std::string::npos);
}

}  // namespace
}  // namespace corewise::simmpi
