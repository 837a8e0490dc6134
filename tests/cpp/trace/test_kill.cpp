// A forked child records and is killed with SIGKILL at a random moment: everything it had committed comes back,
// whether the recording thread drains its halves or a helper thread does.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "effort.hpp"
#include "rank_file.hpp"
#include "trace/reader.hpp"

namespace corewise::trace {
namespace {

using corewise::testing::RankFile;
using corewise::testing::TemporaryFolder;

constexpr std::uint64_t kGoal = 100'000;

/// Counts what the child has recorded so far, in memory that both processes see.
struct SharedCount {
  SharedCount() {
    void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    done = new (at) std::atomic<std::uint64_t>(0);
  }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  ~SharedCount() { ::munmap(done, 4096); }
  std::atomic<std::uint64_t>* done;
};

[[noreturn]] void record_until_killed(const std::string& path, Mode mode, std::atomic<std::uint64_t>& done) {
  RankFile file(path, 0, 1, 4096, mode);
  ThreadRecorder& recorder = file.add_thread(0);
  std::thread helper;
  if (mode == Mode::helper_thread)
    helper = std::thread([&file] {
      while (true)
        if (!file.help()) ::sched_yield();
    });
  for (std::uint64_t n = 1;; ++n) {
    if (n % 2 == 0)
      put_call(recorder, n, 3, 1, 1);
    else
      put_message(recorder, {n, 3, n, 2, 0, 0, 1, 0, Role::send});
    done.store(n, std::memory_order_release);
    if (n == kGoal) ::pause();
  }
}

/// Kills the child once it has recorded at least `point` records; returns how many it says it has.
std::uint64_t run_and_kill(const std::string& path, Mode mode, std::uint64_t point) {
  SharedCount count;
  const pid_t child = ::fork();
  if (child == 0) record_until_killed(path, mode, *count.done);
  while (count.done->load(std::memory_order_acquire) < point) ::sched_yield();
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  return count.done->load();
}

void expect_all(const std::string& path, std::uint64_t said) {
  Result<Reader> reader = Reader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ASSERT_EQ(reader.value().slots().size(), 1U);
  RecordStream stream = reader.value().records(reader.value().slots()[0]);
  std::uint64_t n = 0;
  for (Record record; stream.next(record);) {
    ++n;
    ASSERT_EQ(record.start_ticks, n);
    ASSERT_EQ(record.bytes, n % 2 == 0 ? 0 : n);
  }
  // One record may be committed that the child had no time to count.
  EXPECT_GE(n, said);
  EXPECT_LE(n, said + 1);
  EXPECT_EQ(reader.value().damage().missing_bytes, 0U);
}

void kill_at_the_goal(Mode mode) {
  TemporaryFolder folder;
  const std::uint64_t said = run_and_kill(folder.path() + "/rank.cwt", mode, kGoal);
  ASSERT_EQ(said, kGoal);
  expect_all(folder.path() + "/rank.cwt", said);
}

void kill_at_random(Mode mode, int rounds) {
  TemporaryFolder folder;
  std::mt19937_64 random(3);
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t point = 1 + random() % kGoal;
    SCOPED_TRACE(point);
    const std::uint64_t said = run_and_kill(folder.path() + "/rank.cwt", mode, point);
    expect_all(folder.path() + "/rank.cwt", said);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Kill, AllHundredThousandRecordsComeBack) {
  kill_at_the_goal(Mode::drain);
}

TEST(Kill, AtRandomPointsNothingCommittedIsLost) {
  kill_at_random(Mode::drain, 60);
}

TEST(Kill, WithAHelperThreadAllHundredThousandRecordsComeBack) {
  kill_at_the_goal(Mode::helper_thread);
}

TEST(Kill, WithAHelperThreadNothingCommittedIsLostAtRandomPoints) {
  kill_at_random(Mode::helper_thread, test::effort(60, 15));
}

}  // namespace
}  // namespace corewise::trace
