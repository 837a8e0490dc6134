// The codec: whatever records hold comes back bit by bit, in the room that is asked of it, and no damage hurts.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "trace/codec.hpp"
#include "trace/format.hpp"

namespace corewise::trace {
namespace {

using Bytes = std::vector<std::byte>;

void add(Bytes& records, const void* record, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(record);
  records.insert(records.end(), at, at + bytes);
}

void add_call(Bytes& records, std::uint64_t start, std::uint32_t duration, std::uint16_t call, std::uint16_t site) {
  const CallRecord record{start, duration, call, site};
  add(records, &record, sizeof record);
}

void add_message(Bytes& records, const MessageRecord& record) {
  add(records, &record, sizeof record);
}

/// Exactly as long as asked for: a sanitizer sees a byte too many.
Bytes encoded(const Bytes& records, std::uint32_t room) {
  std::unique_ptr<std::byte[]> out(new std::byte[room]);
  const std::uint32_t size = encode(records.data(), static_cast<std::uint32_t>(records.size()), out.get(), room);
  EXPECT_LE(size, room);
  return {out.get(), out.get() + size};
}

Bytes decoded(const Bytes& encoding, std::size_t bytes) {
  std::unique_ptr<std::byte[]> out(new std::byte[bytes]);
  const std::uint32_t size = decode(encoding.data(), static_cast<std::uint32_t>(encoding.size()), out.get(),
                                    static_cast<std::uint32_t>(bytes));
  EXPECT_LE(size, bytes);
  return {out.get(), out.get() + size};
}

Bytes round_trip(const Bytes& records) {
  const Bytes encoding = encoded(records, static_cast<std::uint32_t>(records.size()) * 2 + 128);
  EXPECT_TRUE(records.empty() || !encoding.empty());
  EXPECT_EQ(decoded(encoding, records.size()), records);
  return encoding;
}

MessageRecord send(std::uint64_t start, std::int32_t peer, std::int32_t tag, std::uint64_t bytes) {
  return {{start, 40, call_word(300, Role::send), 12}, volume_word(bytes, 0), target_word(peer, 0), tag};
}

TEST(Codec, ALoopOfOneSendTakesSixBytesACall) {
  Bytes records;
  std::mt19937_64 random(1);
  std::uint64_t time = 1ULL << 50;
  for (int n = 0; n < 1024; ++n) {
    MessageRecord record = send(time += 200 + random() % 100'000, 1, 0, 8);
    record.head.duration = static_cast<std::uint32_t>(30 + random() % 20'000);
    add_message(records, record);
  }
  EXPECT_LE(round_trip(records).size(), 1024U * 7);
  records.clear();
  for (int n = 0; n < 1024; ++n) add_message(records, send(time += 90 + random() % 200, 1, 0, 8));
  EXPECT_LE(round_trip(records).size(), 1024U * 4 + 64);
}

TEST(Codec, NeighboursAndCountersStayUnderTheirBounds) {
  Bytes neighbours, counters, halo;
  std::uint64_t time = 1ULL << 40;
  for (int n = 0; n < 1000; ++n) {
    add_message(neighbours, send(time += 1000, n % 6, n % 3, 1024 << n % 3));
    add_message(counters, send(time, 3, n, 64));
    const std::uint64_t posted = time += 1500;
    const auto peer = static_cast<std::uint32_t>(n % 4);
    add_message(halo, {{posted, 50, call_word(200, Role::post_receive), 1}, volume_word(800, 0), peer, 7});
    add_message(halo, {{time += 300, 60, call_word(201, Role::send), 2}, volume_word(800, 0), peer, 7});
    add_call(halo, time += 200, 5000, call_word(202, Role::plain), 3);
    add_message(halo, {{posted, 5600, call_word(200, Role::arrival), 1}, volume_word(800, 0), peer, 7});
  }
  EXPECT_LE(round_trip(neighbours).size(), 1000U * 7);
  EXPECT_LE(round_trip(counters).size(), 1000U * 9 + 300);
  EXPECT_LE(round_trip(halo).size(), 4000U * 6);
}

TEST(Codec, FunctionsTakeFourBytesAnEvent) {
  Bytes records;
  std::uint64_t time = 1ULL << 45;
  for (int n = 0; n < 2000; ++n)
    add_call(records, time += 60 + static_cast<std::uint64_t>(n % 7) * 900, 0x401000 + 64U * (n / 2 % 9),
             call_word(0, n % 2 == 0 ? Role::function_enter : Role::function_exit), 0x7f12);
  EXPECT_LE(round_trip(records).size(), 2000U * 4 + 500);
}

TEST(Codec, EveryRoleAndWidthComesBack) {
  const std::uint64_t widths[] = {0,
                                  1,
                                  0xf,
                                  0x10,
                                  0xff,
                                  0x100,
                                  0xffff,
                                  0x10000,
                                  0xffffff,
                                  0x1000000,
                                  0xffffffff,
                                  std::uint64_t{1} << 32,
                                  std::uint64_t{1} << 63,
                                  UINT64_MAX};
  for (unsigned role = 0; role < 32; ++role) {
    Bytes records;
    for (const bool longer : {false, true})
      for (const std::uint64_t width : widths)
        for (const std::uint64_t other : widths) {
          const auto call =
              static_cast<std::uint16_t>(role << kRoleShift | (longer ? kLongRecord : 0) | other % 1024);
          const CallRecord head{width, static_cast<std::uint32_t>(other), call, static_cast<std::uint16_t>(width)};
          if (longer)
            add_message(records,
                        {head, other, static_cast<std::uint32_t>(width), static_cast<std::int32_t>(other)});
          else
            add(records, &head, sizeof head);
        }
    round_trip(records);
  }
}

TEST(Codec, NoiseComesBackToo) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 2000; ++round) {
    Bytes records;
    const std::uint64_t narrow = random() % 64;
    for (int n = 0; n < 1 + round % 40; ++n) {
      std::uint64_t words[4];
      for (std::uint64_t& word : words) word = random() >> random() % (narrow + 1);
      words[1] = (words[1] & ~(std::uint64_t{1} << 47)) | std::uint64_t{random() % 2} << 47;
      add(records, words, (words[1] >> 47 & 1U) != 0 ? 32 : 16);
    }
    round_trip(records);
  }
}

TEST(Codec, WhatDoesNotFitOrIsNoRecordIsRefused) {
  Bytes records;
  for (int n = 0; n < 100; ++n) add_message(records, send(1000 + 50ULL * n, n % 5, 0, 8));
  const std::size_t size = round_trip(records).size();
  for (std::uint32_t room = 0; room < size + 200; ++room) {
    const Bytes found = encoded(records, room);
    if (room < size) {
      ASSERT_TRUE(found.empty()) << room;
    } else if (!found.empty()) {
      ASSERT_EQ(decoded(found, records.size()), records) << room;
    }
  }
  EXPECT_FALSE(encoded(records, static_cast<std::uint32_t>(size) + 64).empty());
  for (const std::size_t cut : {1U, 8U, 15U, 16U, 17U, 31U}) {
    const Bytes torn(records.begin(), records.end() - static_cast<std::ptrdiff_t>(cut));
    EXPECT_TRUE(encoded(torn, 8192).empty()) << cut;
  }
}

TEST(Codec, EveryCutGivesWholeRecordsOnly) {
  Bytes records;
  for (int n = 0; n < 50; ++n) {
    add_message(records, send(1000 + 7000ULL * n, n, n * n, 8U << n % 20));
    add_call(records, 1500 + 7000ULL * n, 80, call_word(9, Role::plain), 4);
  }
  const Bytes whole = round_trip(records);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes found = decoded({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, records.size());
    ASSERT_LT(found.size(), records.size());
    ASSERT_EQ(found.size() % 16, 0U);
    ASSERT_TRUE(std::equal(found.begin(), found.end(), records.begin()));
  }
}

TEST(Codec, DamageNeverWritesOutside) {
  Bytes records;
  for (int n = 0; n < 60; ++n) add_message(records, send(1000 + 70ULL * n, n % 9, n, 8));
  const Bytes whole = round_trip(records);
  std::mt19937 random(9);
  for (int round = 0; round < 20'000; ++round) {
    Bytes damaged = whole;
    for (std::size_t flips = 1 + random() % 20; flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    damaged.resize(random() % 4 == 0 ? random() % damaged.size() : damaged.size());
    ASSERT_EQ(decoded(damaged, round % 3 == 0 ? random() % records.size() : records.size()).size() % 16, 0U);
  }
}

}  // namespace
}  // namespace corewise::trace
