// The call graph: exact counts and times of hand-made streams, and what incomplete streams mean.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>

#include "profile/reading.hpp"
#include "profile/run_folder.hpp"

namespace corewise::profile {
namespace {

using namespace corewise::testing;
using trace::Role;

constexpr std::uint64_t kMain = 0x1000, kStep = 0x1010, kWork = 0x1020, kTalk = 0x1030;

/// Puts function records at explicit times.
struct Script {
  trace::ThreadRecorder& recorder;
  void enter(std::uint64_t at, std::uint64_t function) const {
    trace::put_function(recorder, at, Role::function_enter, reinterpret_cast<const void*>(function));
  }
  void leave(std::uint64_t at, std::uint64_t function) const {
    trace::put_function(recorder, at, Role::function_exit, reinterpret_cast<const void*>(function));
  }
  void note(std::uint64_t at, Role role, std::uint32_t name) const {
    trace::put_short(recorder, at, role, name, 0);
  }
};

Result<RunAnswer> read_calls(const std::string& directory, int rank, const CallGraphLimits& limits = {}) {
  RunQuestion question;
  question.calls = true;
  question.calls_rank = rank;
  question.limits = limits;
  return read_run(directory, question);
}

CallGraph graph_of(const MadeUpRun& run, int rank = 0, const CallGraphLimits& limits = {}) {
  return std::move(read_calls(run.path(), rank, limits)).value().calls;
}

std::string label(const CallGraph& graph, const CallNode& node) {
  char text[64];
  const auto what = static_cast<std::size_t>(node.what);
  switch (node.kind) {
    case CallKind::function:
      std::snprintf(text, sizeof text, "%s%llx", graph.places[what].object.c_str(),
                    static_cast<unsigned long long>(graph.places[what].offset));
      return text;
    case CallKind::region:
    case CallKind::procedure:
      return graph.names[what];
    case CallKind::message:
      std::snprintf(text, sizeof text, "%s(%d,%d,%llu)", graph.names[what].c_str(), node.source, node.destination,
                    static_cast<unsigned long long>(node.bytes));
      return text;
    default:
      return node.kind == CallKind::root ? "" : "other";
  }
}

struct Figures {
  std::uint64_t count;
  double inclusive;
  double exclusive;
  friend bool operator==(const Figures&, const Figures&) = default;
};

void PrintTo(const Figures& figures, std::ostream* out) {
  *out << figures.count << " x, " << figures.inclusive << " / " << figures.exclusive;
}

/// Path of labels to figures; every path may occur once.
std::map<std::string, Figures> table(const CallGraph& graph) {
  std::map<std::string, Figures> rows;
  std::vector<std::string> paths;
  for (const CallNode& node : graph.nodes) {
    const bool top = node.parent <= 0;
    paths.push_back((top ? "" : paths[static_cast<std::size_t>(node.parent)] + "/") + label(graph, node));
    if (node.parent < 0) continue;
    EXPECT_LT(node.parent, static_cast<int>(paths.size()) - 1);
    EXPECT_TRUE(rows.emplace(paths.back(), Figures{node.count, node.inclusive_ns, node.exclusive_ns}).second)
        << paths.back() << " twice";
  }
  return rows;
}

using Table = std::map<std::string, Figures>;

TEST(CallGraph, CountsAndTimesOfFunctionsAndMessages) {
  MadeUpRun run(1);
  const Script script{run[0].recorder()};
  script.enter(2'000, kMain);
  for (std::uint64_t step = 0; step < 3; ++step) {
    const std::uint64_t at = 3'000 + 1'000 * step;
    script.enter(at, kWork);
    script.leave(at + 100, kWork);
    script.enter(at + 200, kTalk);
    run[0].put_at(at + 210, Role::send, kSend, 56, 132, 0, 20);
    run[0].put_at(at + 240, Role::send, kSend, 56, 132, 0, 20);
    run[0].put_at(at + 270, Role::send, kSend, 7, 8, 0, 5);
    run[0].put_at(at + 280, Role::receive, kRecv, 7, 64, 0, 50);
    run[0].put_at(at + 340, Role::collective, kAllreduce, trace::kNoPeer, 8, 0, 30);
    run[0].put_at(at + 380, Role::plain, kBarrier, trace::kNoPeer, 0, 0, 10);
    script.leave(at + 400, kTalk);
  }
  script.leave(7'000, kMain);
  const CallGraph graph = graph_of(run);
  const Table expected{{"1000", {1, 5'000, 5'000 - 3 * 300}},
                       {"1000/1020", {3, 300, 300}},
                       {"1000/1030", {3, 600, 600 - 3 * 135}},
                       {"1000/1030/MPI_Send", {9, 135, 0}},
                       {"1000/1030/MPI_Send/MPI_Send(0,56,132)", {6, 120, 120}},
                       {"1000/1030/MPI_Send/MPI_Send(0,7,8)", {3, 15, 15}},
                       {"1000/1030/MPI_Recv", {3, 150, 0}},
                       {"1000/1030/MPI_Recv/MPI_Recv(7,0,64)", {3, 150, 150}},
                       {"1000/1030/MPI_Allreduce", {3, 90, 90}},
                       {"1000/1030/MPI_Barrier", {3, 30, 30}}};
  EXPECT_EQ(table(graph), expected);
  EXPECT_EQ(graph.functions, 14U);
  EXPECT_EQ(graph.closed_at_end + graph.unmatched_exits + graph.without_room, 0U);
  EXPECT_DOUBLE_EQ(graph.nodes[0].inclusive_ns, 5'000);
}

TEST(CallGraph, AnArrivalHangsWhereItsReceiveWasPosted) {
  MadeUpRun run(1);
  const Script script{run[0].recorder()};
  script.enter(2'000, kMain);
  script.enter(2'100, kTalk);
  run[0].put_at(2'110, Role::post_receive, kIrecv, trace::kAnySource, 1'024, 0, 5);
  run[0].put_at(2'120, Role::post_receive, kIrecv, trace::kAnySource, 1'024, 0, 5);
  run[0].put_at(2'130, Role::send, kIsend, trace::kProcNull, 99, 0, 5);
  script.leave(2'200, kTalk);
  script.enter(2'300, kWork);
  run[0].put_at(2'110, Role::arrival, kIrecv, 3, 100, 0, 300);
  run[0].put_at(2'120, Role::arrival, kIrecv, 4, 200, 0, 300);
  run[0].put_at(2'310, Role::plain, kWait, trace::kNoPeer, 0, 0, 80);
  run[0].put_at(1'900, Role::arrival, kIrecv, 5, 7, 0, 300);  // its post is not in this stream
  script.leave(2'400, kWork);
  script.leave(2'500, kMain);
  const Table expected{{"1000", {1, 500, 300}},
                       {"1000/1030", {1, 100, 85}},
                       {"1000/1030/MPI_Irecv", {2, 10, 10}},
                       {"1000/1030/MPI_Irecv/MPI_Irecv(3,0,100)", {1, 0, 0}},
                       {"1000/1030/MPI_Irecv/MPI_Irecv(4,0,200)", {1, 0, 0}},
                       {"1000/1030/MPI_Isend", {1, 5, 5}},
                       {"1000/1020", {1, 100, 20}},
                       {"1000/1020/MPI_Wait", {1, 80, 80}},
                       {"1000/1020/MPI_Irecv", {0, 0, 0}},
                       {"1000/1020/MPI_Irecv/MPI_Irecv(5,0,7)", {1, 0, 0}}};
  EXPECT_EQ(table(graph_of(run)), expected);
}

TEST(CallGraph, OneCallThatStartsSeveralIsOneCall) {
  MadeUpRun run(1);
  run[0].put_at(2'000, Role::send, kStartall, 1, 10, 0, 30);
  run[0].put_at(2'000, Role::send, kStartall, 2, 20, 0, 0);
  run[0].put_at(2'000, Role::collective, kAllreduce, trace::kNoPeer, 8, 0, 0);
  run[0].put_at(2'100, Role::miss, kIprobe, trace::kNoPeer, 17, 0, 40);
  const Table expected{{"MPI_Startall", {1, 30, 0}},
                       {"MPI_Startall/MPI_Startall(0,1,10)", {1, 30, 30}},
                       {"MPI_Startall/MPI_Startall(0,2,20)", {1, 0, 0}},
                       {"MPI_Iprobe", {17, 40, 40}}};
  EXPECT_EQ(table(graph_of(run)), expected);
}

TEST(CallGraph, LeavingAnOuterFunctionLeavesTheInnerOnes) {
  MadeUpRun run(1);
  const Script script{run[0].recorder()};
  script.enter(2'000, kMain);
  script.enter(2'010, kStep);
  script.enter(2'020, kWork);
  script.enter(2'030, kTalk);
  script.leave(2'100, kStep);  // longjmp
  script.leave(2'110, kWork);  // lost its entry
  script.enter(2'120, kStep);
  script.leave(2'130, kStep);
  script.leave(2'200, kMain);
  const CallGraph graph = graph_of(run);
  const Table expected{{"1000", {1, 200, 100}},
                       {"1000/1010", {2, 100, 20}},
                       {"1000/1010/1020", {1, 80, 10}},
                       {"1000/1010/1020/1030", {1, 70, 70}}};
  EXPECT_EQ(table(graph), expected);
  EXPECT_EQ(graph.unmatched_exits, 1U);
}

TEST(CallGraph, WhatIsOpenAtAKillEndsWithTheLastRecord) {
  MadeUpRun run(1);
  const Script script{run[0].recorder()};
  script.enter(2'000, kMain);
  script.enter(2'100, kTalk);
  run[0].put_at(2'150, Role::send, kSend, 1, 1, 0, 50);
  const CallGraph graph = graph_of(run);
  const Table expected{{"1000", {1, 200, 100}},
                       {"1000/1030", {1, 100, 50}},
                       {"1000/1030/MPI_Send", {1, 50, 0}},
                       {"1000/1030/MPI_Send/MPI_Send(0,1,1)", {1, 50, 50}}};
  EXPECT_EQ(table(graph), expected);
  EXPECT_EQ(graph.closed_at_end, 2U);
}

TEST(CallGraph, AnExitWithoutEntryWasOpenFromTheBeginning) {
  MadeUpRun run(1);
  const Script script{run[0].recorder()};
  run[0].put_at(2'000, Role::send, kSend, 1, 1, 0, 50);
  script.leave(2'100, kTalk);
  script.enter(2'200, kTalk);
  script.leave(2'250, kTalk);
  script.leave(2'300, kMain);
  const Table expected{{"1000", {1, 300, 150}},
                       {"1000/1030", {2, 150, 100}},
                       {"1000/1030/MPI_Send", {1, 50, 0}},
                       {"1000/1030/MPI_Send/MPI_Send(0,1,1)", {1, 50, 50}}};
  EXPECT_EQ(table(graph_of(run)), expected);
}

TEST(CallGraph, AFlightRecorderBeginsInTheMiddle) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank-00000.cwt", 0, 1, 256, trace::Mode::flight_recorder);
  trace::ThreadRecorder& recorder = file.add_thread(0);
  const Script script{recorder};
  script.enter(1'100, kMain);
  for (std::uint64_t at = 2'000; at < 4'000; at += 100) {
    script.enter(at, kStep);
    script.enter(at + 10, kWork);
    script.leave(at + 40, kWork);
    script.leave(at + 50, kStep);
  }
  script.enter(4'000, kTalk);
  script.leave(5'000, kMain);
  const CallGraph graph = std::move(read_calls(folder.path(), kEveryRank)).value().calls;
  const Table rows = table(graph);
  ASSERT_EQ(rows.count("1000"), 1U);
  EXPECT_EQ(rows.at("1000").count, 1U);
  EXPECT_GT(rows.at("1000/1010").count, 3U);
  EXPECT_EQ(rows.at("1000/1030"), (Figures{1, 1'000, 1'000}));
  EXPECT_EQ(graph.nodes[1].parent, 0);
  for (const CallNode& node : graph.nodes) EXPECT_TRUE(node.parent != 0 || &node == &graph.nodes[1]);
  EXPECT_EQ(graph.unmatched_exits, 0U);
}

TEST(CallGraph, NoTimePassesWhileRecordingIsSwitchedOff) {
  MadeUpRun run(1);
  const Script script{run[0].recorder()};
  script.enter(2'000, kMain);
  script.enter(2'100, kStep);
  script.note(2'200, Role::recording, 0);
  script.note(9'200, Role::recording, 1);
  script.leave(9'250, kStep);
  script.note(9'260, Role::recording, 2);  // it was on already
  script.leave(9'300, kMain);
  const Table expected{{"1000", {1, 300, 150}}, {"1000/1010", {1, 150, 150}}};
  EXPECT_EQ(table(graph_of(run)), expected);
}

TEST(CallGraph, WhatIsEnteredOrLeftMeanwhileTakesNoTime) {
  MadeUpRun run(1);
  const Script script{run[0].recorder()};
  script.enter(2'000, kMain);
  script.enter(2'100, kStep);
  script.note(2'200, Role::recording, 0);
  script.leave(5'000, kStep);
  script.note(9'200, Role::recording, 1);
  script.enter(6'000, kTalk);  // told when recording resumes
  script.leave(9'250, kTalk);
  script.leave(9'300, kMain);
  const Table expected{{"1000", {1, 300, 150}}, {"1000/1010", {1, 100, 100}}, {"1000/1030", {1, 50, 50}}};
  EXPECT_EQ(table(graph_of(run)), expected);
}

TEST(CallGraph, WhatIsOpenWhenRecordingEndsSwitchedOffEndsThere) {
  MadeUpRun run(1);
  const Script script{run[0].recorder()};
  script.enter(2'000, kMain);
  script.note(2'200, Role::recording, 0);
  const Table expected{{"1000", {1, 200, 200}}};
  EXPECT_EQ(table(graph_of(run)), expected);
}

TEST(CallGraph, RegionsAreNodesAndMayOverlapFunctions) {
  MadeUpRun run(1);
  run[0].file().add_text(trace::BlockKind::region, "solve");
  const Script script{run[0].recorder()};
  script.enter(2'000, kMain);
  script.note(2'010, Role::region_enter, 0);
  script.enter(2'020, kWork);
  script.leave(2'050, kWork);
  script.note(2'060, Role::phase, 0);
  script.note(2'070, Role::region_exit, 0);
  script.enter(2'080, kTalk);
  script.note(2'090, Role::region_enter, 0);
  script.leave(2'100, kTalk);
  script.note(2'110, Role::region_exit, 0);
  script.leave(2'200, kMain);
  const CallGraph graph = graph_of(run);
  const Table expected{{"1000", {1, 200, 120}},
                       {"1000/solve", {1, 60, 30}},
                       {"1000/solve/1020", {1, 30, 30}},
                       {"1000/1030", {1, 20, 10}},
                       {"1000/1030/solve", {1, 10, 10}}};
  EXPECT_EQ(table(graph), expected);
  EXPECT_EQ(graph.unmatched_exits, 1U);
}

TEST(CallGraph, DeepRecursionIsFolded) {
  for (const int limit : {1, 3}) {
    MadeUpRun run(1);
    const Script script{run[0].recorder()};
    constexpr std::uint64_t kDepth = 11;
    for (std::uint64_t depth = 0; depth < kDepth; ++depth) script.enter(2'000 + 10 * depth, kWork);
    for (std::uint64_t depth = kDepth; depth-- > 0;) script.leave(3'000 - 10 * depth, kWork);
    CallGraphLimits limits;
    limits.recursion = limit;
    const CallGraph graph = graph_of(run, 0, limits);
    ASSERT_EQ(graph.nodes.size(), static_cast<std::size_t>(limit) + 1);
    const CallNode& last = graph.nodes.back();
    EXPECT_EQ(last.count, kDepth - static_cast<std::uint64_t>(limit) + 1);
    EXPECT_EQ(last.recursive, last.count - 1);
    EXPECT_DOUBLE_EQ(graph.nodes[1].inclusive_ns, 1'000);
    EXPECT_DOUBLE_EQ(last.inclusive_ns, 1'000 - 20.0 * (limit - 1));
    EXPECT_DOUBLE_EQ(last.exclusive_ns, last.inclusive_ns);
  }
}

TEST(CallGraph, MutualRecursionIsFolded) {
  MadeUpRun run(1);
  const Script script{run[0].recorder()};
  for (std::uint64_t depth = 0; depth < 10; ++depth) script.enter(2'000 + depth, depth % 2 == 0 ? kWork : kTalk);
  for (std::uint64_t depth = 10; depth-- > 0;) script.leave(2'100 - depth, depth % 2 == 0 ? kWork : kTalk);
  CallGraphLimits limits;
  limits.recursion = 1;
  const CallGraph graph = graph_of(run, 0, limits);
  const Table expected{{"1020", {5, 100, 50 + 0.0}}, {"1020/1030", {5, 98, 50 - 0.0}}};
  const Table rows = table(graph);
  EXPECT_EQ(rows.at("1020").count, 5U);
  EXPECT_EQ(rows.at("1020/1030").count, 5U);
  EXPECT_DOUBLE_EQ(rows.at("1020").inclusive, 100);
  EXPECT_DOUBLE_EQ(rows.at("1020/1030").inclusive, 98);
  EXPECT_DOUBLE_EQ(rows.at("1020").exclusive + rows.at("1020/1030").exclusive, 100);
  EXPECT_EQ(rows.size(), expected.size());
}

TEST(CallGraph, MemoryIsBounded) {
  MadeUpRun run(1);
  const Script script{run[0].recorder()};
  std::uint64_t at = 2'000;
  script.enter(at, kMain);
  for (int peer = 0; peer < 40; ++peer) run[0].put_at(++at, Role::send, kSend, peer, 8, 0, 1);
  for (std::uint64_t function = 0; function < 500; ++function) {
    script.enter(++at, 0x5000 + function);
    script.enter(++at, 0x9000 + function);
    run[0].put_at(++at, Role::send, kSend, 1, 8, 0, 1);
    script.leave(++at, 0x9000 + function);
    script.leave(++at, 0x5000 + function);
  }
  script.leave(++at, kMain);
  CallGraphLimits limits;
  limits.messages = 5;
  limits.nodes = 100;
  const CallGraph graph = graph_of(run, 0, limits);
  EXPECT_LE(graph.nodes.size(), 200U);
  const Table rows = table(graph);
  EXPECT_EQ(rows.at("1000/MPI_Send").count, 40U);
  EXPECT_EQ(rows.at("1000/MPI_Send/other").count, 35U);
  EXPECT_GT(graph.without_room, 0U);
  double exclusive = 0;
  for (const CallNode& node : graph.nodes) exclusive += node.exclusive_ns;
  EXPECT_DOUBLE_EQ(exclusive, rows.at("1000").inclusive);  // nothing is lost, whatever is merged
}

TEST(CallGraph, DeepStacksAreCutAndStayBalanced) {
  MadeUpRun run(1);
  const Script script{run[0].recorder()};
  for (std::uint64_t depth = 0; depth < 1'000; ++depth) script.enter(2'000 + depth, 0x100 + depth);
  for (std::uint64_t depth = 1'000; depth-- > 0;) script.leave(5'000 - depth, 0x100 + depth);
  CallGraphLimits limits;
  limits.open_functions = 10;
  const CallGraph graph = graph_of(run, 0, limits);
  EXPECT_EQ(graph.nodes.size(), 11U);
  EXPECT_DOUBLE_EQ(graph.nodes[1].inclusive_ns, 3'000);
  EXPECT_EQ(graph.unmatched_exits + graph.closed_at_end, 0U);
}

TEST(CallGraph, RanksAndThreadsAreSummedByPlace) {
  MadeUpRun run(3);
  for (int rank = 0; rank < 3; ++rank) {
    MadeUpRank& each = run[static_cast<std::size_t>(rank)];
    const std::uint64_t base = 0x1000'0000ULL * static_cast<std::uint64_t>(rank + 1);
    char maps[128];
    std::snprintf(maps, sizeof maps, "%llx-%llx r-xp 00001000 08:01 7 /bin/prog\n",
                  static_cast<unsigned long long>(base), static_cast<unsigned long long>(base + 0x1000));
    each.file().add_text(trace::BlockKind::maps, maps);
    const Script script{each.recorder()};
    script.enter(2'000, base + 0x40);
    each.put_at(2'010, Role::send, kSend, (rank + 1) % 3, 8, 0, 10);
    script.leave(2'100, base + 0x40);
    const Script second{each.file().add_thread(1)};
    second.enter(2'000, base + 0x80);
    second.leave(2'050, base + 0x80);
  }
  const CallGraph graph = graph_of(run, kEveryRank);
  const Table expected{{"/bin/prog1040", {3, 300, 270}},
                       {"/bin/prog1040/MPI_Send", {3, 30, 0}},
                       {"/bin/prog1040/MPI_Send/MPI_Send(0,1,8)", {1, 10, 10}},
                       {"/bin/prog1040/MPI_Send/MPI_Send(1,2,8)", {1, 10, 10}},
                       {"/bin/prog1040/MPI_Send/MPI_Send(2,0,8)", {1, 10, 10}},
                       {"/bin/prog1080", {3, 150, 150}}};
  EXPECT_EQ(table(graph), expected);
  EXPECT_EQ(graph.ranks, (std::vector<int>{0, 1, 2}));
}

TEST(CallGraph, FunctionsToldAfterTheCallThatBeganRecordingAreItsCallers) {
  MadeUpRun run(1);
  const Script script{run[0].recorder()};
  run[0].put_at(2'000, Role::plain, kBarrier, trace::kNoPeer, 0, 0, 100);
  script.enter(1'500, kMain);
  script.enter(1'800, kStep);
  script.leave(2'200, kStep);
  script.leave(2'500, kMain);
  const Table expected{
      {"1000", {1, 1'000, 600}}, {"1000/1010", {1, 400, 300}}, {"1000/1010/MPI_Barrier", {1, 100, 100}}};
  EXPECT_EQ(table(graph_of(run)), expected);
}

TEST(CallGraph, BalancedStreamsAddUp) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    MadeUpRun run(1);
    const Script script{run[0].recorder()};
    std::vector<std::uint64_t> open;
    std::uint64_t at = 2'000;
    std::map<std::uint64_t, std::uint64_t> entered;
    for (int n = 0; n < 400; ++n) {
      at += 1 + random() % 50;
      const bool down = open.empty() || (open.size() < 12 && random() % 2 == 0);
      if (down) {
        open.push_back(0x100 * open.size() + random() % 3);  // no recursion
        ++entered[open.back()];
        script.enter(at, open.back());
      } else if (random() % 4 == 0) {
        run[0].put_at(at, Role::send, kSend, 0, random() % 3, 0, 10);
        at += 10;
      } else {
        script.leave(at, open.back());
        open.pop_back();
      }
    }
    const CallGraph graph = graph_of(run);
    std::vector<double> below(graph.nodes.size());
    std::map<std::uint64_t, std::uint64_t> counted;
    for (std::size_t i = graph.nodes.size(); i-- > 1;) {
      const CallNode& node = graph.nodes[i];
      ASSERT_DOUBLE_EQ(node.inclusive_ns, node.exclusive_ns + below[i]) << label(graph, node);
      below[static_cast<std::size_t>(node.parent)] += node.inclusive_ns;
      if (node.kind == CallKind::function)
        counted[graph.places[static_cast<std::size_t>(node.what)].offset] += node.count;
    }
    EXPECT_EQ(counted, entered);
    EXPECT_EQ(graph.closed_at_end, open.size());
  }
}

TEST(CallGraph, DamagedRecordsNeverBringItDown) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    MadeUpRun run(1);
    const Script script{run[0].recorder()};
    for (std::uint64_t n = 0; n < 60; ++n) {
      script.enter(2'000 + 10 * n, 0x100 + n % 5);
      run[0].put_at(2'001 + 10 * n, static_cast<Role>(n % 12), static_cast<Procedure>(n % 21), 0, 64);
      script.leave(2'005 + 10 * n, 0x100 + n % 5);
    }
    auto* bytes = reinterpret_cast<unsigned char*>(run[0].recorder().header + 1);
    for (int flip = 0; flip < 30; ++flip) bytes[random() % 2'000] = static_cast<unsigned char>(random());
    const CallGraph graph = graph_of(run);
    for (std::size_t i = 1; i < graph.nodes.size(); ++i) ASSERT_LT(graph.nodes[i].parent, static_cast<int>(i));
  }
}

TEST(CallGraph, UnreadableFilesAreNamed) {
  TemporaryFolder empty;
  EXPECT_FALSE(read_calls(empty.path(), kEveryRank).ok());
  MadeUpRun run(1);
  std::ofstream(run.path() + "/rank-00001.cwt") << "no trace";
  const RunAnswer read = std::move(read_calls(run.path(), kEveryRank)).value();
  EXPECT_EQ(read.calls.ranks, std::vector<int>{0});
  ASSERT_EQ(read.problems.size(), 1U);
  EXPECT_NE(read.problems[0].find("rank-00001.cwt"), std::string::npos);
}

TEST(CallGraph, ARankThatLeftNoFileHasNoGraph) {
  MadeUpRun run(1);
  EXPECT_TRUE(graph_of(run, 3).ranks.empty());
}

/// Totals, waits and calls of one pass are those of three.
TEST(Reading, OnePassAnswersAsManyDo) {
  MadeUpRun run(3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    run[rank].put(Role::send, kSend, static_cast<std::int32_t>((rank + 1) % 3), 100 + rank, 0, 10 + 7 * rank);
    run[rank].put(Role::receive, kRecv, static_cast<std::int32_t>((rank + 2) % 3), 100 + (rank + 2) % 3, 0, 30);
    run[rank].put(Role::collective, kBarrier, trace::kNoPeer, 0, 0, 40 - 5 * rank);
  }
  RunQuestion everything;
  everything.totals = everything.waits = everything.calls = true;
  const RunAnswer together = std::move(read_run(run.path(), everything)).value();
  const World totals = std::move(read_directory(run.path())).value().worlds.at(0);
  const CallGraph calls = graph_of(run, kEveryRank);
  RunQuestion only_waits;
  only_waits.waits = true;
  const RunAnswer waits = std::move(read_run(run.path(), only_waits)).value();
  const World& world = together.totals.worlds.at(0);
  ASSERT_EQ(world.totals.size(), totals.totals.size());
  for (std::size_t i = 0; i < totals.totals.size(); ++i) {
    EXPECT_EQ(world.totals[i].calls, totals.totals[i].calls);
    EXPECT_EQ(world.totals[i].time_ns, totals.totals[i].time_ns);
  }
  EXPECT_EQ(matrix(world, Traffic::sent).dense_bytes(), matrix(totals, Traffic::sent).dense_bytes());
  EXPECT_EQ(table(together.calls), table(calls));
  ASSERT_EQ(together.waits.at(0).waits.size(), waits.waits.at(0).waits.size());
  EXPECT_FALSE(together.waits.at(0).waits.empty());
  EXPECT_EQ(together.waits.at(0).matched, 3U);
}

}  // namespace
}  // namespace corewise::profile
