// Memory that a process lends: what is taken, what peers see of it, what a fork leaves alone.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "base/rng.hpp"
#include "ranks.hpp"
#include "shm/extents.hpp"
#include "shm/heap.hpp"
#include "shm/huge_pages.hpp"
#include "shm/reach.hpp"
#include "shm/segment.hpp"

namespace corewise::shm {
namespace {

constexpr std::uint64_t kKey = 0x1234567890ABCDEF;
constexpr std::size_t kRoom = std::size_t{1} << 24;

std::byte* first_of(const Heap& heap) {
  return heap.place().data();
}
bool all_are(const std::byte* at, std::size_t bytes, std::byte value) {
  return std::all_of(at, at + bytes, [value](std::byte each) { return each == value; });
}
/// Whether a child made now ends well.
template <class Program>
bool child_says(Program program) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    _exit(program() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Extents, TakesAndGivesBackAsAMapOfEveryUnitDoes) {
  constexpr std::uint64_t kFirst = 3, kEnd = 203;
  Rng rng(7);
  Extents extents(kFirst, kEnd);
  std::vector<bool> is_taken(kEnd, false);
  std::map<std::uint64_t, std::uint64_t> plain;
  for (int turn = 0; turn < 20'000; ++turn) {
    if (rng.below(2) == 0) {
      const std::uint64_t bytes = 1 + rng.below(rng.below(20) == 0 ? 150 : 12);
      std::uint64_t at = kFirst;  // the first run of so many free units
      for (std::uint64_t run = 0; at + bytes <= kEnd && run < bytes; ++run) {
        if (!is_taken[at + run]) continue;
        at += run + 1;
        run = ~std::uint64_t{0};
      }
      const auto found = extents.take(bytes);
      ASSERT_EQ(found.has_value(), at + bytes <= kEnd);
      if (!found) continue;
      ASSERT_EQ(*found, at);
      plain[at] = bytes;
      std::fill_n(is_taken.begin() + static_cast<std::ptrdiff_t>(at), bytes, true);
    } else {
      const std::uint64_t at = rng.below(kEnd + 5);
      const auto known = plain.find(at);
      ASSERT_EQ(extents.give_back(at), known == plain.end() ? 0 : known->second);
      if (known == plain.end()) continue;
      std::fill_n(is_taken.begin() + static_cast<std::ptrdiff_t>(at), known->second, false);
      plain.erase(known);
    }
    ASSERT_EQ(extents.taken(), plain);
  }
}

TEST(Heap, BlocksAreZeroOnPagesOfTheirOwnAndComeBackAsZeros) {
  const auto heap = Heap::make(kRoom, kKey);
  ASSERT_NE(heap, nullptr);
  std::uint64_t key = 0;
  std::memcpy(&key, first_of(*heap), sizeof key);
  EXPECT_EQ(key, kKey);
  EXPECT_EQ(heap->take(0), nullptr);
  EXPECT_EQ(heap->take(kRoom), nullptr);  // the first page is nobody's
  EXPECT_EQ(heap->take(~std::size_t{0}), nullptr);
  std::byte* const one = heap->take(5000);
  std::byte* const two = heap->take(1);
  ASSERT_NE(one, nullptr);
  ASSERT_NE(two, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one) % kPageBytes, 0U);
  EXPECT_EQ(two - one, 2 * static_cast<std::ptrdiff_t>(kPageBytes));
  EXPECT_TRUE(all_are(one, 5000, std::byte{0}));
  std::fill_n(one, 5000, std::byte{7});
  std::fill_n(two, 1, std::byte{8});
  EXPECT_FALSE(heap->give_back(one + kPageBytes));
  EXPECT_FALSE(heap->give_back(&key));
  EXPECT_TRUE(heap->give_back(one));
  EXPECT_FALSE(heap->give_back(one));
  EXPECT_EQ(*two, std::byte{8});
  std::byte* const again = heap->take(5000);
  EXPECT_EQ(again, one);
  EXPECT_TRUE(all_are(again, 5000, std::byte{0}));
  EXPECT_NE(heap->take(kRoom - 4 * kPageBytes), nullptr);  // all that is left
  EXPECT_EQ(heap->take(1), nullptr);
}

TEST(Heap, MemoryIsThereOnlyForWhatIsTaken) {
  const auto heap = Heap::make(std::size_t{1} << 36, kKey);  // more than there is
  ASSERT_NE(heap, nullptr);
  const auto pages = [&heap] {
    struct stat found{};
    EXPECT_EQ(fstat(heap->file(), &found), 0);
    return found.st_blocks * 512 / static_cast<std::int64_t>(kPageBytes);
  };
  EXPECT_EQ(pages(), 1);
  std::byte* const block = heap->take_again(100 * kPageBytes);
  EXPECT_EQ(pages(), 101);
  EXPECT_TRUE(heap->give_back(block));
  EXPECT_EQ(pages(), 1);
  std::byte* const sparse = heap->take(std::size_t{1} << 35);
  sparse[std::size_t{1} << 34] = std::byte{1};
  EXPECT_EQ(pages(), 2);
  EXPECT_TRUE(heap->give_back(sparse));
  EXPECT_EQ(pages(), 1);
  EXPECT_EQ(heap->take(std::size_t{1} << 36), nullptr);
}

TEST(Heap, APeerSeesWhatIsTakenLaterAndNotWhatWasGivenBack) {
  const auto heap = Heap::make(kRoom, kKey);
  ASSERT_NE(heap, nullptr);
  const auto peer = Mapping::open(Mapping::path_of(getpid(), heap->file()), kRoom);
  ASSERT_TRUE(peer.ok());
  const Reach reach({{reinterpret_cast<std::uintptr_t>(first_of(*heap)), kRoom, peer.value().block().data()}});
  std::byte* const block = heap->take(3 * kPageBytes);
  std::fill_n(block, 3 * kPageBytes, std::byte{5});
  std::byte* const there = reach.find(0, reinterpret_cast<std::uintptr_t>(block), 3 * kPageBytes);
  ASSERT_NE(there, nullptr);
  EXPECT_NE(there, block);
  EXPECT_TRUE(all_are(there, 3 * kPageBytes, std::byte{5}));
  there[1] = std::byte{6};
  EXPECT_EQ(block[1], std::byte{6});
  heap->give_back(block);
  std::byte* const next = heap->take(2 * kPageBytes);
  EXPECT_EQ(next, block);
  next[2] = std::byte{9};
  EXPECT_EQ(there[1], std::byte{0});
  EXPECT_EQ(there[2], std::byte{9});
}

TEST(Heap, AChildOfAForkHasItsOwnCopy) {
  const auto heap = Heap::make(kRoom, kKey);
  const auto other = Heap::make(kRoom, kKey + 1);
  ASSERT_NE(heap, nullptr);
  ASSERT_NE(other, nullptr);
  std::byte* const block = heap->take(10'000);
  std::byte* const freed = other->take(20'000);
  std::byte* const beside = other->take(8192);
  ASSERT_TRUE(block != nullptr && freed != nullptr && beside != nullptr);
  std::fill_n(block, 10'000, std::byte{1});
  std::fill_n(beside, 8192, std::byte{2});
  std::fill_n(freed, 20'000, std::byte{3});
  EXPECT_TRUE(child_says([&] {
    bool right = all_are(block, 10'000, std::byte{1}) && all_are(beside, 8192, std::byte{2});
    std::fill_n(block, 10'000, std::byte{11});
    right = right && heap->take(4096) == nullptr && other->give_back(freed);
    return right && child_says([&] {  // and its own child
             const bool same = all_are(block, 10'000, std::byte{11});
             block[0] = std::byte{12};
             return same;
           }) &&
           all_are(block, 10'000, std::byte{11});
  }));
  EXPECT_TRUE(all_are(block, 10'000, std::byte{1}));
  EXPECT_TRUE(all_are(freed, 20'000, std::byte{3}));
  EXPECT_TRUE(heap->give_back(block));
  EXPECT_NE(heap->take(kPageBytes), nullptr);
}

TEST(Heap, WhereTheSystemRefusesThereIsNone) {
  EXPECT_TRUE(child_says([] {  // limits of a process of its own
    const rlimit length{kRoom / 2, kRoom / 2};
    const bool no_length = setrlimit(RLIMIT_FSIZE, &length) == 0 && Heap::make(kRoom, kKey) == nullptr;
    const rlimit files{3, 3};
    return no_length && setrlimit(RLIMIT_NOFILE, &files) == 0 && Heap::make(kRoom / 4, kKey) == nullptr;
  }));
}

TEST(Heap, ABlockThatWasPutByIsTakenAgainByWhoWantsNearlyAsMuch) {
  const auto heap = Heap::make(kRoom, kKey);
  ASSERT_NE(heap, nullptr);
  const std::size_t bytes = 100 * kPageBytes;
  std::byte* const block = heap->take_again(bytes - 5);
  std::memset(block, 0x11, bytes);
  EXPECT_EQ(heap->bytes_of(block), bytes);
  EXPECT_EQ(heap->bytes_of(block + 1), 0U);
  EXPECT_TRUE(heap->put_by(block));
  EXPECT_FALSE(heap->put_by(block)) << "a second time";
  EXPECT_FALSE(heap->give_back(block));
  EXPECT_FALSE(heap->put_by(block + kPageBytes));
  std::byte* const zeros = heap->take(bytes);
  EXPECT_NE(zeros, block);
  EXPECT_TRUE(all_are(zeros, bytes, std::byte{0}));
  std::byte* const longer = heap->take_again(bytes + 1);
  EXPECT_NE(longer, block);
  std::byte* const shorter = heap->take_again(bytes / 2);
  EXPECT_NE(shorter, block);
  EXPECT_EQ(heap->take_again(bytes - bytes / 10), block);
  EXPECT_TRUE(all_are(block, bytes, std::byte{0x11}));
  EXPECT_TRUE(heap->give_back(block));
  EXPECT_NE(heap->take_again(kRoom / 2), nullptr);
}

TEST(Heap, WhatIsPutByMakesRoomAndIsAChildsOwn) {
  const auto heap = Heap::make(kRoom, kKey);
  ASSERT_NE(heap, nullptr);
  const std::size_t third = kRoom / 3 / kPageBytes * kPageBytes;
  for (int i = 0; i < 2; ++i) {
    std::byte* const first = heap->take_again(third);
    std::byte* const second = heap->take_again(third);
    std::memset(first, 0x22, third);
    EXPECT_TRUE(heap->put_by(first) && heap->put_by(second));
    EXPECT_TRUE(child_says([&] {
      std::byte* const again = heap->take_again(third);
      if (again != first || !all_are(again, third, std::byte{0x22})) return false;
      std::memset(again, 0x33, third);
      return heap->take_again(2 * third) == nullptr && heap->put_by(again);
    }));
    EXPECT_TRUE(all_are(first, third, std::byte{0x22}));
    std::byte* const both = heap->take_again(2 * third);
    ASSERT_NE(both, nullptr);
    EXPECT_TRUE(heap->give_back(both));
  }
}

TEST(HugePages, AreLostWhereSharedMemoryHasNoneUnasked) {
  EXPECT_TRUE(loses_huge_pages("[always] madvise never", "always within_size advise [never] deny force"));
  EXPECT_TRUE(loses_huge_pages("[always] madvise never", "always within_size [advise] never deny force"));
  EXPECT_TRUE(loses_huge_pages("[always] madvise never", ""));
  for (const char* const shared :
       {"[always] within_size advise never deny force", "always [within_size] advise never deny force",
        "always within_size advise never deny [force]"})
    EXPECT_FALSE(loses_huge_pages("[always] madvise never", shared));
  EXPECT_FALSE(loses_huge_pages("always [madvise] never", "always within_size advise [never] deny force"));
  EXPECT_FALSE(loses_huge_pages("", ""));
}

TEST(Reach, FindsWhatLiesWhollyInARange) {
  std::byte here[300];
  Reach reach({{1000, 100, here}, {5000, 50, here + 100}});
  EXPECT_EQ(reach.find(0, 1000, 100), here);
  EXPECT_EQ(reach.find(0, 1099, 1), here + 99);
  EXPECT_EQ(reach.find(1, 5010, 40), here + 110);
  EXPECT_EQ(reach.find(1, 1000, 1), nullptr);
  EXPECT_EQ(reach.find(0, 1001, 100), nullptr);
  EXPECT_EQ(reach.find(0, 999, 1), nullptr);
  EXPECT_EQ(reach.find(0, 1050, ~std::uint64_t{0}), nullptr);
  const std::vector<Reach::Range> more{{8000, 10, here + 200}, {}, {9000, 10, here + 250}, {9100, 10, here + 260}};
  reach.set_more(more);
  EXPECT_EQ(reach.find(0, 8001, 9), here + 201);
  EXPECT_EQ(reach.find(1, 8001, 9), nullptr);
  EXPECT_EQ(reach.find(0, 9000, 10), here + 250);
  EXPECT_EQ(reach.find(1, 9100, 10), here + 260);
  EXPECT_EQ(reach.find(0, 1000, 100), here);
  reach.set_more({});
  EXPECT_EQ(reach.find(0, 9000, 10), nullptr);
  EXPECT_EQ(Reach().find(0, 1000, 0), nullptr);
}

TEST(Reach, APortCopiesByPlainLoadsWhatItReaches) {
  std::vector<std::byte> theirs(10'000, std::byte{4});
  std::vector<std::byte> own(10'000);
  const testing::Job job(2, {4096, 1, 1, 0});
  const auto at = reinterpret_cast<std::uintptr_t>(theirs.data());
  // No process may be asked: all that arrives went through the mapping.
  ShmPort zero(job.segment, 0, WaitPolicy::alone(), {}, Reach({{}, {0x700000000000, 10'000, theirs.data()}}));
  auto* const address = reinterpret_cast<std::byte*>(0x700000000000);
  EXPECT_EQ(zero.pull(1, address, own.data(), 10'000), 10'000U);
  EXPECT_EQ(own, theirs);
  own[17] = std::byte{5};
  EXPECT_EQ(zero.push(1, own.data(), address, 10'000), 10'000U);
  EXPECT_EQ(own, theirs);
  EXPECT_EQ(zero.pull(1, address + 1, own.data(), 10'000), 0U);
  EXPECT_EQ(zero.offer(own.data(), 1), 0U);
  EXPECT_EQ(zero.reach(1, 0x700000000000 + 5, 10), theirs.data() + 5);
  ShmPort one(job.segment, 1, WaitPolicy::alone(), {}, Reach({{}, {at, 10'000, theirs.data()}}));
  EXPECT_EQ(one.offer(theirs.data() + 3, 9'997), at + 3);
  EXPECT_EQ(one.offer(theirs.data() + 3, 9'998), 0U);
}

}  // namespace
}  // namespace corewise::shm
