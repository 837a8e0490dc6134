// Messages of packing plans against the slow reference: where every byte of the packed stream lies, one by one, as
// `for_each_run` says. Guard bytes lie around every buffer and in every gap. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/rng.hpp"
#include "kernels/packing/plans/pack.hpp"

namespace corewise::kernels::reference {

using Bytes = std::vector<unsigned char>;

inline constexpr std::size_t kGuard = 128;
inline constexpr unsigned char kUntouched = 0xA5;

struct Case {
  Layout layout;
  std::int64_t extent;
  std::int64_t count;
};

/// Where each byte of the packed stream lies, from the first item's address on.
inline std::vector<std::int64_t> places_of(const Case& what) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < what.count; ++i) {
    for_each_run(what.layout, i * what.extent, [&places](std::int64_t at, std::int64_t bytes) {
      for (std::int64_t byte = 0; byte < bytes; ++byte) places.push_back(at + byte);
    });
  }
  return places;
}

inline Bytes random_bytes(Rng& rng, std::size_t bytes) {
  Bytes all(bytes);
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = rng.next();
    std::memcpy(all.data() + i, &word, std::min(sizeof word, bytes - i));
  }
  return all;
}

/// Items in a memory of their own, with guards, the first `shift` bytes behind a line.
class Message {
 public:
  Message(const Case& what, std::size_t shift, Rng& rng) : places_(places_of(what)) {
    const auto [low, high] = std::minmax_element(places_.begin(), places_.end());
    base_ = kGuard + shift + static_cast<std::size_t>(std::max<std::int64_t>(0, -*low));
    memory_ = random_bytes(rng, base_ + static_cast<std::size_t>(std::max<std::int64_t>(0, *high)) + kGuard);
  }

  std::size_t size() const { return places_.size(); }
  unsigned char* items() { return memory_.data() + base_; }
  const Bytes& memory() const { return memory_; }

  Bytes packed(std::size_t from, std::size_t bytes) {
    Bytes stream;
    for (std::size_t i = from; i < from + bytes; ++i) stream.push_back(items()[places_[i]]);
    return stream;
  }

  void unpack(const Bytes& stream, std::size_t from) {
    for (std::size_t i = 0; i < stream.size(); ++i) items()[places_[from + i]] = stream[i];
  }

 private:
  std::vector<std::int64_t> places_;
  std::size_t base_ = 0;
  Bytes memory_;
};

/// A packed stream between guards.
inline Bytes guarded(const Bytes& stream, std::size_t shift) {
  Bytes all(kGuard + shift, kUntouched);
  all.insert(all.end(), stream.begin(), stream.end());
  all.insert(all.end(), kGuard, kUntouched);
  return all;
}

/// Packs and unpacks bytes [from, from + bytes) of a message.
inline void check_part(const PackPlan& plan, const Case& what, std::size_t from, std::size_t bytes,
                       std::size_t shift, PackedBuffer buffer = PackedBuffer::own) {
  Rng rng(from + 7 * bytes + shift);
  Message message(what, shift, rng);
  const Bytes before = message.memory();
  const Bytes expected = guarded(message.packed(from, bytes), shift);
  Bytes actual(expected.size(), kUntouched);
  const auto place = static_cast<std::int64_t>(from);
  plan.pack(message.items(), what.count, place, actual.data() + kGuard + shift, bytes, buffer);
  EXPECT_EQ(actual, expected) << "pack [" << from << ", +" << bytes << ")\n" << plan.describe();
  EXPECT_EQ(message.memory(), before);
  const Bytes stream = random_bytes(rng, bytes), sent = guarded(stream, shift);
  Message unpacked = message;
  unpacked.unpack(stream, from);
  plan.unpack(message.items(), what.count, place, sent.data() + kGuard + shift, bytes);
  EXPECT_EQ(message.memory(), unpacked.memory()) << "unpack [" << from << ", +" << bytes << ")\n"
                                                 << plan.describe();
}

inline void check(const PackPlan& plan, const Case& what, std::size_t shift = 0) {
  check_part(plan, what, 0, places_of(what).size(), shift);
}

}  // namespace corewise::kernels::reference
