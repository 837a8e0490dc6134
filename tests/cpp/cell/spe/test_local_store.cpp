// The local store's bytes, its end, and who is told of a write.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <memory>

#include "cell/spe/local_store.hpp"

namespace corewise::cell {
namespace {

void count(void* self, std::uint64_t step) {
  *static_cast<std::uint64_t*>(self) += step;
}

TEST(LocalStore, StartsZeroedAndKeepsBytes) {
  LocalStore store;
  for (const std::byte one : store.at(0, kLocalStoreBytes)) ASSERT_EQ(one, std::byte{0});
  const std::uint64_t value = 0x0123456789abcdef;
  store.write(kLocalStoreBytes - 8, &value, 8);
  std::uint64_t seen = 0;
  std::memcpy(&seen, store.at(kLocalStoreBytes - 8, 8).data(), 8);
  EXPECT_EQ(seen, value);
}

TEST(LocalStore, KnowsItsEnd) {
  EXPECT_TRUE(LocalStore::holds(0, 262144));
  EXPECT_TRUE(LocalStore::holds(262144, 0));
  EXPECT_FALSE(LocalStore::holds(262144, 1));
  EXPECT_FALSE(LocalStore::holds(1, 262144));
  EXPECT_FALSE(LocalStore::holds(~std::uint64_t{0}, 2));  // the sum would wrap
}

TEST(LocalStoreDeathTest, FaultsBehindItsEnd) {
  LocalStore store;
  volatile std::byte* end = store.data() + kLocalStoreBytes;
  EXPECT_DEATH(*end = std::byte{1}, "");
}

TEST(LocalStore, TellsWatchesOfOverlappingWritesOnce) {
  LocalStore store;
  std::uint64_t told = 0;
  const std::uint32_t word = 1;
  LocalStore::Watch watch(store, 64, 4, {&count, &told, 1});
  store.write(60, &word, 4);  // ends where the watch begins
  store.write(68, &word, 4);  // begins where it ends
  EXPECT_EQ(told, 0u);
  store.written(0, 65);
  EXPECT_EQ(told, 1u);
  store.write(64, &word, 4);
  EXPECT_EQ(told, 1u);
}

TEST(LocalStore, WatchesLeaveInAnyOrder) {
  LocalStore store;
  std::uint64_t told = 0;
  auto first = std::make_unique<LocalStore::Watch>(store, 0, 16, sim::Handler{&count, &told, 1});
  auto second = std::make_unique<LocalStore::Watch>(store, 0, 16, sim::Handler{&count, &told, 10});
  auto third = std::make_unique<LocalStore::Watch>(store, 32, 16, sim::Handler{&count, &told, 100});
  second.reset();
  store.written(0, 4);
  EXPECT_EQ(told, 1u);
  first.reset();
  store.written(0, 256);
  EXPECT_EQ(told, 101u);
}

}  // namespace
}  // namespace corewise::cell
