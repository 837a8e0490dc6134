// The host's port: what is put arrives, whole and in order, between threads and between processes.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "port/wait.hpp"
#include "ranks.hpp"

namespace corewise::shm {
namespace {

using port::Line128;
using port::Line16;
using port::Sequence;

template <std::size_t kBytes>
std::array<std::byte, kBytes> pattern(std::uint32_t seed) {
  std::array<std::byte, kBytes> bytes;
  for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::byte>(seed * 31 + i * 7);
  return bytes;
}

template <std::size_t kBytes>
bool equal(std::span<const std::byte> seen, const std::array<std::byte, kBytes>& wanted) {
  return std::memcmp(seen.data(), wanted.data(), kBytes) == 0;
}

TEST(ShmPort, CopiesGoWhereTheySay) {
  const testing::Job job(2, {4096, 1, 1, 0});
  ShmPort zero(job.segment, 0);
  ShmPort one(job.segment, 1);
  auto user = pattern<100>(1);
  zero.copy_in(user.data(), 10, 100, 0);
  EXPECT_TRUE(equal(zero.stage().subspan(10), user));
  zero.put(10, {1, 33}, 100, 0);
  EXPECT_TRUE(equal(one.stage().subspan(33), user));
  zero.get({1, 33}, 1000, 100, 0);
  EXPECT_TRUE(equal(zero.stage().subspan(1000), user));
  std::array<std::byte, 100> back{};
  one.copy_out(33, back.data(), 100, 0);
  EXPECT_EQ(back, user);
  one.copy_out(33, nullptr, 0, 0);
  EXPECT_EQ(one.stage()[32], std::byte{0});
  EXPECT_EQ(one.stage()[133], std::byte{0});
  EXPECT_EQ(zero.test(0x12345678), 0x12345678U);
}

/// Every third byte of some memory, as a view has them.
struct EveryThird {
  std::vector<std::byte> memory;

  View view() {
    return {this,
            [](void* me, std::uint64_t from, std::byte* to, std::uint64_t bytes) {
              for (std::uint64_t i = 0; i < bytes; ++i)
                to[i] = static_cast<EveryThird*>(me)->memory[3 * (from + i)];
            },
            [](void* me, std::uint64_t from, const std::byte* data, std::uint64_t bytes) {
              for (std::uint64_t i = 0; i < bytes; ++i)
                static_cast<EveryThird*>(me)->memory[3 * (from + i)] = data[i];
            }};
  }
  [[nodiscard]] std::vector<std::byte> data() const {
    std::vector<std::byte> found;
    for (std::size_t i = 0; i < memory.size(); i += 3) found.push_back(memory[i]);
    return found;
  }
};

TEST(ShmPort, ViewsAreLaidOutOnTheWay) {
  constexpr std::uint32_t kBytes = 10'000;  // more than a copy between views takes at once
  const testing::Job job(2, {16384, 1, 1, 0});
  ShmPort zero(job.segment, 0);
  ShmPort one(job.segment, 1);
  EveryThird from{std::vector<std::byte>(3 * kBytes)};
  EveryThird to{std::vector<std::byte>(3 * kBytes, std::byte{0xEE})};
  for (std::size_t i = 0; i < from.memory.size(); ++i) from.memory[i] = static_cast<std::byte>(i * 7);
  std::byte* const source = zero.views().add(from.view());
  std::byte* const target = one.views().add(to.view());
  EXPECT_TRUE(Views::is(source) && Views::is(source + kBytes));
  EXPECT_FALSE(Views::is(from.memory.data()));

  zero.copy_in(source + 10, 0, kBytes - 10, 0);
  one.get_user({0, 0}, target + 10, kBytes - 10, 0);
  zero.copy_in(source, 0, 10, 0);
  one.get({0, 0}, 100, 10, 0);
  one.copy_out(100, target, 10, 0);
  EXPECT_EQ(to.data(), from.data());
  EXPECT_EQ(to.memory[1], std::byte{0xEE});

  std::byte* const again = one.views().add(from.view());
  std::ranges::fill(to.memory, std::byte{0});
  one.copy_user(again, target, kBytes, 0);
  EXPECT_EQ(to.data(), from.data());
  one.views().drop();
  one.copy_user(target + 1, target, 0, 0);
}

TEST(ShmPort, ViewsAreNotReachedByPeers) {
  const testing::Job job(1, {4096, 1, 1, 0});
  ShmPort port(job.segment, 0, WaitPolicy::alone(), Processes({getpid()}));
  EveryThird some{std::vector<std::byte>(300)};
  std::byte* const view = port.views().add(some.view());
  std::array<std::byte, 100> plain{};
  EXPECT_EQ(port.pull(0, view, plain.data(), 100), 0U);
  EXPECT_EQ(port.pull(0, plain.data(), view, 100), 0U);
  EXPECT_EQ(port.push(0, plain.data(), view, 100), 0U);
  EXPECT_EQ(port.push(0, view, plain.data(), 100), 0U);
  EXPECT_EQ(port.offer(view, 100), 0U);
  for (std::size_t i = 1; i < Views::kMost; ++i) EXPECT_NE(port.views().add(some.view()), nullptr);
  EXPECT_EQ(port.views().add(some.view()), nullptr);
}

TEST(ShmPort, UserMemoryIsCopiedBetweenProcesses) {
  constexpr std::size_t kBytes = 100'000;
  const testing::Job job(2, {4096, 1, 1, 0});
  std::vector<std::byte> theirs(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) theirs[i] = static_cast<std::byte>(i * 7 + i / 251);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();  // with a copy of its own of `theirs`
  if (child == 0) {
    std::byte last{};
    while (read(ends[0], &last, 1) == 0) {
    }
    _exit(std::all_of(theirs.begin(), theirs.end(), [](std::byte b) { return b == std::byte{9}; }) ? 0 : 1);
  }
  ShmPort zero(job.segment, 0, WaitPolicy::alone(), Processes({getpid(), child}));
  std::vector<std::byte> own(kBytes);
  EXPECT_EQ(zero.pull(1, theirs.data() + 1, own.data() + 3, kBytes - 3), kBytes - 3);
  EXPECT_EQ(std::memcmp(own.data() + 3, theirs.data() + 1, kBytes - 3), 0);
  std::fill(own.begin(), own.end(), std::byte{9});
  EXPECT_EQ(zero.push(1, own.data(), theirs.data(), kBytes), kBytes);
  EXPECT_EQ(theirs[1], std::byte{7});  // the own one is as it was
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  // The child is no more.
  EXPECT_EQ(zero.pull(1, theirs.data(), own.data(), 8), 0U);
  close(ends[0]);
  close(ends[1]);
}

TEST(ShmPort, UserMemoryThatCannotBeReadIsSaidToBeShort) {
  const testing::Job job(1, {4096, 1, 1, 0});
  constexpr std::size_t kPages = 2 * 4096;
  void* const block = mmap(nullptr, kPages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<std::byte*>(block) + 4096, 4096, PROT_NONE), 0);
  ShmPort port(job.segment, 0, WaitPolicy::alone(), Processes({getpid()}));
  std::vector<std::byte> own(kPages);
  const auto* const from = static_cast<const std::byte*>(block);
  EXPECT_LT(port.pull(0, from, own.data(), kPages), kPages);
  EXPECT_EQ(port.pull(0, from + 4096, own.data(), 8), 0U);
  EXPECT_EQ(port.pull(0, from, own.data(), 8), 8U);  // other places can still be
  ShmPort nobody(job.segment, 0);
  EXPECT_FALSE(nobody.reaches_peers());
  EXPECT_EQ(nobody.pull(0, from, own.data(), 8), 0U);
  munmap(block, kPages);
}

TEST(ShmPort, APeersStageIsCopiedAndCombinedWithoutTheOwnStage) {
  const testing::Job job(2, {4096, 1, 1, 0});
  ShmPort zero(job.segment, 0);
  ShmPort one(job.segment, 1);
  const auto theirs = pattern<777>(1);
  const auto own = pattern<777>(2);
  one.copy_in(theirs.data(), 33, 777, 0);
  std::array<std::byte, 777> got{};
  zero.get_user({1, 33}, got.data(), 777, 0);
  EXPECT_EQ(got, theirs);
  int calls = 0;
  const port::Combination how{
      [](const void* context, const std::byte* in, const std::byte* other, std::byte* to, std::byte* too,
         std::uint32_t bytes) {
        ++*const_cast<int*>(static_cast<const int*>(context));
        for (std::uint32_t i = 0; i < bytes; ++i) {
          to[i] = static_cast<std::byte>(std::to_integer<int>(in[i]) - std::to_integer<int>(other[i]));
          if (too != nullptr) too[i] = to[i];
        }
      },
      &calls};
  std::array<std::byte, 777> wanted{};
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = static_cast<std::byte>(std::to_integer<int>(theirs[i]) - std::to_integer<int>(own[i]));
  zero.combine_user({1, 33}, own.data(), got.data(), std::nullopt, how, 777, 0);
  EXPECT_EQ(got, wanted);
  EXPECT_EQ(zero.stage()[100], std::byte{0});
  got = own;
  zero.combine_user({1, 33}, got.data(), got.data(), 100, how, 777, 0);
  EXPECT_EQ(got, wanted);
  EXPECT_TRUE(equal(zero.stage().subspan(100), wanted));
  EXPECT_TRUE(equal(one.stage().subspan(33), theirs));
  EXPECT_EQ(calls, 2);
}

TEST(ShmPort, LinesOfOneRankAreItsOwn) {
  const testing::Job job(3, {0, 4, 2, 0});
  ShmPort writer(job.segment, 0);
  writer.put_line(2, Line16{1}, 5, pattern<12>(3), 0);
  writer.put_line(2, Line128{1}, 6, pattern<124>(4), 0);
  for (int rank = 0; rank < 3; ++rank) {
    const ShmPort seen(job.segment, rank);
    for (std::uint32_t i = 0; i < 4; ++i) {
      EXPECT_EQ(seen.line_sequence(Line16{i}), rank == 2 && i == 1 ? 5U : 0U);
    }
    EXPECT_EQ(seen.line_sequence(Line128{0}), 0U);
    EXPECT_EQ(seen.line_sequence(Line128{1}), rank == 2 ? 6U : 0U);
  }
  const ShmPort owner(job.segment, 2);
  EXPECT_TRUE(equal(owner.line_payload(Line16{1}), pattern<12>(3)));
  EXPECT_TRUE(equal(owner.line_payload(Line128{1}), pattern<124>(4)));
}

/// Two ranks send payloads to and fro, each an answer to the last: a torn payload would show.
template <class L>
bool ping_pong(ShmPort& port, std::uint32_t rounds) {
  bool right = true;
  for (Sequence n = 1; n <= rounds; ++n) {
    if (port.rank() == 0) port.put_line(1, L{0}, n, pattern<L::kPayloadBytes>(n), 3);
    port::wait_line(port, L{0}, n);
    const auto payload = port.line_payload(L{0});
    right = right && equal(payload, pattern<L::kPayloadBytes>(n + static_cast<std::uint32_t>(port.rank() == 0)));
    if (port.rank() == 1) port.put_line(0, L{0}, n, pattern<L::kPayloadBytes>(n + 1), 3);
  }
  return right;
}

TEST(ShmPort, PayloadsArriveWholeBetweenThreads) {
  const testing::Job job(2, {0, 1, 1, 0});
  std::array<bool, 2> right{};
  testing::run_threads(2, [&](int rank) {
    ShmPort port(job.segment, rank);
    right[static_cast<std::size_t>(rank)] = ping_pong<Line16>(port, 5000) && ping_pong<Line128>(port, 5000);
  });
  EXPECT_TRUE(right[0] && right[1]);
}

TEST(ShmPort, PayloadsArriveWholeBetweenProcesses) {
  const testing::Job job(2, {0, 1, 1, 0});
  testing::run_processes(2, [&](int rank) {
    ShmPort port(job.segment, rank);
    return ping_pong<Line16>(port, 5000) && ping_pong<Line128>(port, 5000);
  });
}

/// Runs of three lines to and fro, each behind the line that says that it is there.
TEST(ShmPort, RunsArriveWholeBeforeTheirLines) {
  constexpr std::size_t kBytes = 300;
  const testing::Job job(2, {0, 1, 4, 0});
  std::array<bool, 2> right{true, true};
  testing::run_threads(2, [&](int rank) {
    ShmPort port(job.segment, rank);
    const auto send = [&](Sequence number) {
      port.put_run(1 - rank, Line128{1}, pattern<kBytes>(number), 3);
      port.put_line(1 - rank, Line16{0}, number, {}, 3);
    };
    const auto receive = [&](Sequence number) {
      port::wait_line(port, Line16{0}, number);
      if (!equal(port.run(Line128{1}, kBytes), pattern<kBytes>(number)))
        right[static_cast<std::size_t>(rank)] = false;
    };
    for (Sequence n = 1; n <= 5000; ++n) {
      if (rank == 0) send(n);
      receive(n);
      if (rank == 1) send(n);
    }
  });
  EXPECT_TRUE(right[0] && right[1]);
  EXPECT_EQ(ShmPort(job.segment, 0).line_sequence(Line128{0}), 0U);
}

/// Data put before the line that announces it is there when the line is seen.
TEST(ShmPort, ALineIsSeenAfterTheDataItAnnounces) {
  constexpr std::uint32_t kBytes = 4000;
  const testing::Job job(2, {2 * kBytes, 1, 0, 0});
  std::array<int, 2> wrong{};
  testing::run_threads(2, [&](int rank) {
    ShmPort port(job.segment, rank);
    const int peer = 1 - rank;
    for (Sequence n = 1; n <= 2000; ++n) {
      if ((n + static_cast<Sequence>(rank)) % 2 == 0) {
        std::memset(port.stage().data(), static_cast<int>(n % 251), kBytes);
        port.put(0, {peer, kBytes}, kBytes, 1);
        port.put_line(peer, Line16{0}, n, {}, 1);
      } else {
        port::wait_line(port, Line16{0}, n);
        for (std::uint32_t i = 0; i < kBytes; ++i) {
          if (port.stage()[kBytes + i] != static_cast<std::byte>(n % 251)) ++wrong[static_cast<std::size_t>(rank)];
        }
      }
    }
  });
  EXPECT_EQ(wrong[0] + wrong[1], 0);
}

TEST(ShmPort, AWaitOverSeveralLinesSeesThemAll) {
  constexpr int kRanks = 5;
  const testing::Job job(kRanks, {0, kRanks, 0, 0});
  testing::run_threads(kRanks, [&](int rank) {
    ShmPort port(job.segment, rank);
    for (Sequence n = 1; n <= 200; ++n) {
      for (int peer = 0; peer < kRanks; ++peer) {
        port.put_line(peer, Line16{static_cast<std::uint32_t>(rank)}, n, {}, 0);
      }
      port.wait_lines(Line16{0}, kRanks, [&] {
        for (std::uint32_t i = 0; i < kRanks; ++i) {
          if (!port::reached(port.line_sequence(Line16{i}), n)) return false;
        }
        return true;
      });
    }
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    const ShmPort seen(job.segment, rank);
    for (std::uint32_t i = 0; i < kRanks; ++i) EXPECT_EQ(seen.line_sequence(Line16{i}), 200U);
  }
}

TEST(ShmPort, AtomicWordsLoseNothing) {
  constexpr int kRanks = 4;
  const testing::Job job(kRanks, {0, 0, 0, 2});
  std::array<std::uint64_t, kRanks> sums{};
  testing::run_threads(kRanks, [&](int rank) {
    ShmPort port(job.segment, rank);
    for (int i = 0; i < 1000; ++i) sums[static_cast<std::size_t>(rank)] += port.fetch_add(1, 1);
  });
  ShmPort port(job.segment, 0);
  EXPECT_EQ(port.load_word(1), 4000U);
  EXPECT_EQ(port.load_word(0), 0U);
  // Every value from 0 to 3999 was handed out once.
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}), 3999U * 4000U / 2);
}

TEST(ShmPort, AWordIsWaitedFor) {
  const testing::Job job(2, {0, 0, 0, 1});
  std::uint32_t seen = 0;
  testing::run_threads(2, [&](int rank) {
    ShmPort port(job.segment, rank, WaitPolicy{1});
    for (int i = 0; rank == 0 && i < 1000; ++i) port.fetch_add(0, 1);
    if (rank == 0) return;
    port.wait_word(0, [&port] { return port.load_word(0) >= 1000; });
    seen = port.load_word(0);
  });
  EXPECT_EQ(seen, 1000U);
}

TEST(WaitPolicy, SpinsLongOnlyWhereEveryRankCanHaveACore) {
  EXPECT_GT(WaitPolicy::for_ranks(2, 2).spins, WaitPolicy::for_ranks(3, 2).spins);
  EXPECT_GE(WaitPolicy::for_ranks(3, 2).spins, 1U);
}

/// What a waiting rank did besides looking.
struct Beside {
  int calls = 0;
  std::uint64_t last_ns = 0;
  bool forward = true;
  static void note(void* context, std::uint64_t waited_ns) {
    Beside& me = *static_cast<Beside*>(context);
    ++me.calls;
    me.forward = me.forward && waited_ns >= me.last_ns;
    me.last_ns = waited_ns;
  }
};

TEST(WaitPolicy, AShortWaitDoesNothingBesides) {
  Beside beside;
  WaitPolicy policy;
  policy.meanwhile = &Beside::note;
  policy.context = &beside;
  std::uint32_t looks = 0;
  wait_until([&] { return ++looks == policy.spins; }, policy);
  EXPECT_EQ(beside.calls, 0);
}

TEST(WaitPolicy, ALongWaitGoesThroughSpinningYieldingAndSleep) {
  for (WaitPolicy policy : {WaitPolicy::alone(), WaitPolicy::crowded()}) {
    Beside beside;
    policy.meanwhile = &Beside::note;
    policy.context = &beside;
    policy.spin_ns = std::min<std::uint64_t>(policy.spin_ns, 100'000);
    policy.awake_ns = 200'000;
    wait_until([&] { return beside.last_ns > 2'000'000; }, policy);
    EXPECT_GE(beside.calls, 1);  // one that comes late may see all of the wait
    EXPECT_TRUE(beside.forward);
  }
}

/// The core is given away between two such calls, even where each takes longer than is between them.
TEST(WaitPolicy, WhatHappensMeanwhileMayTakeLong) {
  constexpr int kTimes = 50;
  int calls = 0;
  WaitPolicy policy = WaitPolicy::crowded();
  policy.context = &calls;
  policy.meanwhile = [](void* context, std::uint64_t) {
    ++*static_cast<int*>(context);
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
    while (std::chrono::steady_clock::now() < until) relax();
  };
  int looks = 0;
  wait_until([&] { return ++looks > 0 && calls == kTimes; }, policy);
  EXPECT_GT(looks - static_cast<int>(policy.spins), kTimes + kTimes / 2);
}

TEST(WaitPolicy, WhatHappensMeanwhileMayEndTheWait) {
  struct Ended : WaitEnds {};
  WaitPolicy policy = WaitPolicy::crowded();
  policy.meanwhile = [](void*, std::uint64_t) { throw Ended{}; };
  const testing::Job job(1, {0, 1, 0, 0});
  ShmPort port(job.segment, 0, policy);
  EXPECT_THROW(port::wait_line(port, port::Line16{0}, 1), Ended);
}

TEST(WaitPolicy, WhatIsWaitedForAndHasComeMeanwhileCounts) {
  bool come = false;
  WaitPolicy policy = WaitPolicy::crowded();
  policy.context = &come;
  policy.meanwhile = [](void* context, std::uint64_t) {
    *static_cast<bool*>(context) = true;
    throw WaitEnds{};
  };
  wait_until([&] { return come; }, policy);
  EXPECT_TRUE(come);
}

/// The thread ends where the wait is over, too: a process whose thread held what unwinds it would be aborted.
TEST(WaitPolicy, AThreadMayBeCancelledInAWait) {
  pthread_t thread{};
  const auto waits = [](void*) -> void* {
    bool come = false;
    WaitPolicy policy = WaitPolicy::crowded();
    policy.context = &come;
    policy.meanwhile = [](void* context, std::uint64_t) {
      *static_cast<bool*>(context) = true;
      pthread_cancel(pthread_self());
      pthread_testcancel();
    };
    wait_until([&] { return come; }, policy);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, waits, nullptr), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
}

}  // namespace
}  // namespace corewise::shm
