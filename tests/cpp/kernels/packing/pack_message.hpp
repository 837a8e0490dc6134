// What tests of packing plans are made of: layouts in a line, and messages checked against the slow reference
// `for_each_run`, with guard bytes around every buffer and in every gap. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "kernels/packing/plans/pack.hpp"

namespace corewise::kernels::reference {

using Bytes = std::vector<unsigned char>;

inline constexpr std::size_t kGuard = 128;
inline constexpr unsigned char kUntouched = 0xA5;

inline void fill(Rng& rng, Bytes& bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = rng.next();
    std::memcpy(bytes.data() + i, &word, std::min(sizeof word, bytes.size() - i));
  }
}

inline Layout run(std::int64_t bytes, std::int64_t offset = 0) {
  Layout layout;
  layout.offset = offset;
  layout.bytes = bytes;
  return layout;
}

inline Layout repeat(std::int64_t count, std::int64_t stride, Layout child, std::int64_t offset = 0) {
  Layout layout;
  layout.kind = Layout::Kind::repeat;
  layout.offset = offset;
  layout.count = count;
  layout.stride = stride;
  layout.children.push_back(std::move(child));
  return layout;
}

inline Layout list(std::vector<std::int64_t> offsets, Layout child, std::int64_t offset = 0) {
  Layout layout;
  layout.kind = Layout::Kind::list;
  layout.offset = offset;
  layout.offsets = std::move(offsets);
  layout.children.push_back(std::move(child));
  return layout;
}

inline Layout runs(std::vector<std::int64_t> offsets, std::vector<std::int64_t> lengths, std::int64_t offset = 0) {
  Layout layout;
  layout.kind = Layout::Kind::runs;
  layout.offset = offset;
  layout.offsets = std::move(offsets);
  layout.lengths = std::move(lengths);
  return layout;
}

inline Layout sequence(std::vector<Layout> children, std::int64_t offset = 0) {
  Layout layout;
  layout.kind = Layout::Kind::sequence;
  layout.offset = offset;
  layout.children = std::move(children);
  return layout;
}

/// Items of a layout in a memory of their own, with guards, and what they look like packed.
class Message {
 public:
  Message(const Layout& layout, std::int64_t extent, std::int64_t count, std::size_t alignment = 0)
      : layout_(layout), extent_(extent), count_(count) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    visit([&](std::int64_t at, std::int64_t bytes) {
      low = std::min(low, at);
      high = std::max(high, at + bytes);
      size_ += static_cast<std::size_t>(bytes);
    });
    base_ = kGuard + alignment + static_cast<std::size_t>(-low);
    memory_ = Bytes(base_ + static_cast<std::size_t>(high) + kGuard, kUntouched);
  }

  template <class Visit>
  void visit(Visit&& visitor) const {
    for (std::int64_t i = 0; i < count_; ++i) {
      for_each_run(layout_, i * extent_, visitor);
    }
  }

  void fill(Rng& rng) { reference::fill(rng, memory_); }

  Bytes packed() const {
    Bytes stream;
    visit([&](std::int64_t at, std::int64_t bytes) {
      const auto from = memory_.begin() + static_cast<std::ptrdiff_t>(base_) + at;
      stream.insert(stream.end(), from, from + bytes);
    });
    return stream;
  }

  /// Bytes [from, from + bytes) of a stream written where they belong, run by run.
  void unpack(const Bytes& stream, std::size_t from, std::size_t bytes) {
    std::size_t place = 0;
    visit([&](std::int64_t at, std::int64_t length) {
      const std::size_t first = std::max(place, from);
      const std::size_t last = std::min(place + static_cast<std::size_t>(length), from + bytes);
      if (first < last) {
        const auto to = static_cast<std::ptrdiff_t>(base_ + first - place) + at;
        std::memcpy(memory_.data() + to, stream.data() + first, last - first);
      }
      place += static_cast<std::size_t>(length);
    });
  }

  unsigned char* items() { return memory_.data() + base_; }
  const Bytes& memory() const { return memory_; }
  std::size_t size() const { return size_; }

 private:
  Layout layout_;
  std::int64_t extent_;
  std::int64_t count_;
  std::size_t size_ = 0;
  std::size_t base_ = 0;
  Bytes memory_;
};

struct Case {
  Layout layout;
  std::int64_t extent;
  std::int64_t count;
};

inline void check_pack(const PackPlan& plan, const Case& what, std::size_t from, std::size_t bytes,
                       std::size_t shift, PackedBuffer buffer = PackedBuffer::own) {
  Rng rng(from + 7 * bytes + shift);
  Message message(what.layout, what.extent, what.count, shift);
  message.fill(rng);
  const Bytes all = message.packed();
  Bytes expected(kGuard + shift, kUntouched);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(from);
  expected.insert(expected.end(), first, first + static_cast<std::ptrdiff_t>(bytes));
  expected.insert(expected.end(), kGuard, kUntouched);
  Bytes actual(expected.size(), kUntouched);
  const Bytes before = message.memory();
  plan.pack(message.items(), what.count, static_cast<std::int64_t>(from), actual.data() + kGuard + shift, bytes,
            buffer);
  EXPECT_EQ(actual, expected) << "pack [" << from << ", +" << bytes << ")\n" << plan.describe();
  EXPECT_EQ(message.memory(), before);
}

inline void check_unpack(const PackPlan& plan, const Case& what, std::size_t from, std::size_t bytes,
                         std::size_t shift, PackedBuffer buffer = PackedBuffer::own) {
  Rng rng(from + 7 * bytes + shift);
  Message actual(what.layout, what.extent, what.count, shift);
  actual.fill(rng);
  Message expected = actual;
  Bytes stream(actual.size() + shift);
  fill(rng, stream);
  const Bytes whole(stream.begin() + static_cast<std::ptrdiff_t>(shift), stream.end());
  expected.unpack(whole, from, bytes);
  plan.unpack(actual.items(), what.count, static_cast<std::int64_t>(from), stream.data() + shift + from, bytes,
              buffer);
  EXPECT_EQ(actual.memory(), expected.memory()) << "unpack [" << from << ", +" << bytes << ")\n" << plan.describe();
}

inline void check(const PackPlan& plan, const Case& what, std::size_t shift = 0) {
  const std::size_t size = Message(what.layout, what.extent, what.count).size();
  check_pack(plan, what, 0, size, shift);
  check_unpack(plan, what, 0, size, shift);
}

}  // namespace corewise::kernels::reference
