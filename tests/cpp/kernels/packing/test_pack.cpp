// Plans against the slow reference, which shares nothing with them: where every byte of the packed stream lies, one
// by one, as `for_each_run` says. Whole messages, every part of small ones, guard bytes around every buffer and in
// every gap, for each instruction set of this host by name; and which loops run.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "kernels/packing/plans/pack.hpp"
#include "kernels/packing/plans/window.hpp"

namespace corewise::kernels {
namespace {

using Integers = std::vector<std::int64_t>;
using Bytes = std::vector<unsigned char>;

constexpr std::size_t kGuard = 128;
constexpr unsigned char kUntouched = 0xA5;

struct Case {
  Layout layout;
  std::int64_t extent;
  std::int64_t count;
};

/// Where each byte of the packed stream lies, from the first item's address on.
Integers places_of(const Case& what) {
  Integers places;
  for (std::int64_t i = 0; i < what.count; ++i) {
    for_each_run(what.layout, i * what.extent, [&places](std::int64_t at, std::int64_t bytes) {
      for (std::int64_t byte = 0; byte < bytes; ++byte) places.push_back(at + byte);
    });
  }
  return places;
}

Bytes random_bytes(Rng& rng, std::size_t bytes) {
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
  Integers places_;
  std::size_t base_ = 0;
  Bytes memory_;
};

/// A packed stream between guards.
Bytes guarded(const Bytes& stream, std::size_t shift) {
  Bytes all(kGuard + shift, kUntouched);
  all.insert(all.end(), stream.begin(), stream.end());
  all.insert(all.end(), kGuard, kUntouched);
  return all;
}

/// Packs and unpacks bytes [from, from + bytes) of a message.
void check_part(const PackPlan& plan, const Case& what, std::size_t from, std::size_t bytes, std::size_t shift,
                PackedBuffer buffer = PackedBuffer::own) {
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

void check(const PackPlan& plan, const Case& what, std::size_t shift = 0) {
  check_part(plan, what, 0, places_of(what).size(), shift);
}

/// Whatever names an instruction set.
class PackPlans : public testing::TestWithParam<std::string> {
 protected:
  static PackPlan compile(const Layout& layout, std::int64_t extent) {
    return std::move(*PackPlan::compile_for(GetParam(), layout, extent));
  }
  static void check_case(const Case& what, std::size_t shift = 0) {
    check(compile(what.layout, what.extent), what, shift);
  }
};

TEST_P(PackPlans, ForcedSetIsTheOneThatRuns) {
  EXPECT_EQ(compile(run_of(8), 16).instruction_set(), GetParam());
}

/// Every length up to two lines, and those around what is longer.
Integers lengths() {
  Integers all;
  for (std::int64_t block = 1; block <= 130; ++block) all.push_back(block);
  for (std::int64_t power = 192; power <= 4096; power *= 2) all.insert(all.end(), {power - 1, power, power + 1});
  return all;
}

TEST_P(PackPlans, EveryBlockLengthAndDistance) {
  for (const std::int64_t block : lengths()) {
    const auto shift = static_cast<std::size_t>(block * 7) % 64;
    for (const std::int64_t gap : {std::int64_t{1}, std::int64_t{40}, block}) {
      for (const std::int64_t count : {1, 7, 33}) {
        check_case({repeat_of(count, block + gap, run_of(block)), count * (block + gap), 1}, shift);
      }
    }
    // Backwards, overlapping where they are sent from, and at uneven distances.
    check_case({repeat_of(19, -block - 5, run_of(block)), 10, 1}, shift);
    check_case({repeat_of(19, block / 2, run_of(block)), 5, 1}, shift);
    check_case({list_of({0, 5 * block, 2 * block, 9 * block, 7 * block + 1}, run_of(block, 3)), 11 * block, 5},
               shift);
  }
}

TEST_P(PackPlans, ManyShortBlocksWithAPageEach) {
  for (const std::int64_t block : {1, 4, 8, 13, 16, 17})
    check_case({repeat_of(1030, block % 2 == 0 ? 4096 : -5000, run_of(block)), 24, 2}, 3);
}

TEST_P(PackPlans, ElementsAtEveryCountAndAlignment) {
  for (const std::int64_t block : {1, 2, 3, 4, 8, 12, 16, 24, 64}) {
    for (const std::int64_t stride : {block + 1, 2 * block, 3 * block, 4 * block, -2 * block, block + 256}) {
      const PackPlan plan = compile(run_of(block), stride);
      for (std::int64_t count = 1; count <= 129; count += count < 40 ? 1 : 17) {
        check(plan, {run_of(block), stride, count}, static_cast<std::size_t>(count % 64));
      }
    }
  }
}

/// A matrix of blocks, `gap` bytes between those of a row, whose rows are `pitch` bytes apart, by columns.
Layout transposed(std::int64_t block, std::int64_t columns, std::int64_t rows, std::int64_t gap,
                  std::int64_t pitch) {
  return repeat_of(columns, block + gap, repeat_of(rows, pitch, run_of(block)));
}

TEST_P(PackPlans, MatricesByRowsAndColumns) {
  for (const std::int64_t block : {1, 2, 3, 4, 7, 8, 12, 13, 16, 24, 32, 48, 63, 96}) {
    for (const std::int64_t count : {2, 5, 11}) {
      check_case({repeat_of(6, 4 * block * count, repeat_of(count, 2 * block, run_of(block))), 10000, 2}, 5);
      check_case({repeat_of(3, 11, repeat_of(count, block / 2, run_of(block))), 5, 2});
    }
    for (const std::int64_t rows : {64, 67, 85}) {
      for (const std::int64_t columns : {std::int64_t{17}, 200 / block + 2}) {
        const std::int64_t gap = rows % 3 == 1 ? 0 : 3;
        const std::int64_t least = columns * (block + gap);
        // Rows that begin at the same place of a line, and rows that do not.
        for (const std::int64_t pitch : {(least + 191) / 64 * 64, least + 65, -least - 70}) {
          check_case({transposed(block, columns, rows, gap, pitch), 7, 1},
                     static_cast<std::size_t>((block + rows) % 64));
        }
      }
    }
    // Columns as items; then columns that overlap, which are unpacked in order.
    for (const std::int64_t extent : {block, -block}) {
      check_case({repeat_of(70, 64 * block, run_of(block)), extent, 9}, 16);
    }
    check_case({transposed(block, 40, 30, 0, 8 * block), 7, 1});
    check_case({repeat_of(9, 5, repeat_of(30, 128, run_of(block))), 7, 1});
  }
}

TEST_P(PackPlans, TablesOfRuns) {
  for (const std::int64_t block : {1, 2, 3, 4, 8, 12, 16, 20, 32, 40, 64, 128, 300}) {
    for (const std::int64_t count : {2, 3, 7, 8, 9, 17, 100}) {
      Integers offsets;
      for (std::int64_t i = 0; i < count; ++i) offsets.push_back((i * 11 % count) * 2 * block + i % 2);
      check_case({runs_of(offsets, Integers(offsets.size(), block), 3), 2 * block * count + 5, 3}, 9);
    }
  }
  for (const std::int64_t scale : {1, 2, 4, 8, 37}) {
    const Integers lengths = {scale, 2 * scale, 3 * scale, 5 * scale};
    check_case({runs_of({0, 10 * scale, 3 * scale, 30 * scale}, lengths), 40 * scale, 9},
               static_cast<std::size_t>(scale % 8));
    check_case({runs_of({-50 * scale, 9}, {3 * scale, 300}), 1000, 3});
  }
  const Layout record = runs_of({0, 8, 20}, {8, 4, 2});
  check_case({record, 24, 100});
  check_case({repeat_of(50, 24, record), 2000, 3});
  check_case({list_of({0, 96, 24, 480}, record), 600, 5});
  check_case({sequence_of({record, run_of(7, 30), repeat_of(4, 10, run_of(3), 40)}), 80, 5});
}

/// 200 runs: multiples of a word, or of any length.
Layout irregular(bool words) {
  Integers offsets, sizes;
  for (std::int64_t i = 0; i < 200; ++i) {
    offsets.push_back(40 * i);
    sizes.push_back(words ? (i % 5 == 0 ? 16 : 8) : 5 + i * i % 13);
  }
  return runs_of(offsets, sizes);
}

TEST_P(PackPlans, EveryPartOfAMessage) {
  const std::vector<Case> cases = {
      {run_of(5), 8, 6},
      {repeat_of(5, 7, run_of(3)), 40, 3},
      {repeat_of(3, 40, repeat_of(4, 8, run_of(4), 1)), 150, 2},
      {repeat_of(2, 200, repeat_of(3, 40, repeat_of(4, 8, run_of(2), 1))), 500, 2},
      {list_of({0, 30, 13}, run_of(9)), 45, 3},
      {runs_of({0, 30, 13}, {9, 2, 11}), 45, 3},
      {list_of({0, 700, 300}, repeat_of(40, 7, run_of(2), 3)), 1000, 1},
      {sequence_of({repeat_of(20, 3, run_of(1)), repeat_of(45, 6, run_of(2), 80), run_of(9, 400)}), 500, 2},
      {transposed(16, 11, 9, 0, 192), 11 * 192, 2},
      {irregular(true), 8000, 2},
      {irregular(false), 8000, 2},
  };
  for (const Case& what : cases) {
    const PackPlan plan = compile(what.layout, what.extent);
    const std::size_t size = places_of(what).size();
    const std::size_t step = size < 500 ? 1 : 97;
    for (std::size_t from = 0; from <= size; from += step) {
      for (std::size_t bytes = 0; from + bytes <= size; bytes += step + bytes / 2) {
        check_part(plan, what, from, bytes, from % 64);
      }
    }
  }
}

TEST_P(PackPlans, PackedBufferOfAnotherCore) {
  const std::vector<Case> cases = {
      {run_of(5), 8, 1000},
      {repeat_of(30, 4096, repeat_of(4, 160, run_of(80), 1)), 150000, 1},
      {transposed(16, 60, 50, 0, 1024), 60000, 2},
      {runs_of({0, 3000, 1400}, {900, 2, 1500}), 5000, 3},
      {run_of(7000), 7000, 1},
  };
  for (const Case& what : cases) {
    const PackPlan plan = compile(what.layout, what.extent);
    const std::size_t size = places_of(what).size();
    for (const std::size_t from : {std::size_t{0}, std::size_t{1030}, size - 1}) {
      check_part(plan, what, from, size - from, 5, PackedBuffer::shared);
    }
  }
}

std::int64_t draw(Rng& rng, std::int64_t bound) {
  return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(bound)));
}

/// A random layout of at most `depth` levels, its members apart from each other, and the bytes that it spans.
std::pair<Layout, std::int64_t> random_layout(Rng& rng, int depth) {
  const std::int64_t gap = draw(rng, 9);
  if (depth == 0 || rng.below(5) == 0) {
    const std::int64_t bytes = 1 + draw(rng, draw(rng, 3) == 0 ? 400 : 20);
    return {run_of(bytes, gap), gap + bytes};
  }
  const std::int64_t count = 2 + draw(rng, 6);
  if (rng.below(4) == 0) {
    std::vector<Layout> children;
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      auto [child, span] = random_layout(rng, depth - 1);
      child.offset += at;
      at += span + draw(rng, 5);
      children.push_back(std::move(child));
    }
    return {sequence_of(std::move(children), gap), gap + at};
  }
  auto [child, span] = random_layout(rng, depth - 1);
  const std::int64_t stride = span + draw(rng, 30);
  if (rng.below(2) == 0) return {repeat_of(count, stride, std::move(child), gap), gap + count * stride};
  Integers offsets;
  for (std::int64_t i = 0; i < count; ++i) {
    offsets.push_back((i * 11 % count) * stride + draw(rng, stride - span + 1));
  }
  std::sort(offsets.begin(), offsets.end());
  return {list_of(std::move(offsets), std::move(child), gap), gap + count * stride};
}

TEST_P(PackPlans, RandomLayoutsAndParts) {
  Rng rng(7);
  for (int i = 0; i < 80; ++i) {
    const auto [layout, span] = random_layout(rng, 3);
    const Case what = {layout, span + draw(rng, 20), 1 + draw(rng, 3)};
    const PackPlan plan = compile(what.layout, what.extent);
    check(plan, what, rng.below(16));
    const std::size_t size = places_of(what).size();
    for (int part = 0; part < 4; ++part) {
      const std::size_t from = rng.below(size);
      check_part(plan, what, from, rng.below(size - from + 1), 1);
    }
  }
}

/// Three pages, of which the outer two may not be touched.
class GuardedPage {
 public:
  static constexpr std::size_t kBytes = 65536;
  GuardedPage()
      : mapped_(
            static_cast<unsigned char*>(mmap(nullptr, 3 * kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_EQ(mprotect(begin(), kBytes, PROT_READ | PROT_WRITE), 0);
  }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;
  ~GuardedPage() { munmap(mapped_, 3 * kBytes); }
  unsigned char* begin() { return mapped_ + kBytes; }
  unsigned char* end() { return begin() + kBytes; }

 private:
  unsigned char* mapped_;
};

TEST_P(PackPlans, ReadsAndWritesNoPageBesideTheData) {
  Rng rng(13);
  GuardedPage items, packed;
  std::vector<Case> cases;
  for (const std::int64_t block : {1, 2, 3, 4, 8, 12, 16, 24, 33, 100, 600}) {
    cases.push_back({run_of(block), 2 * block, 9});
    cases.push_back({run_of(block), 3 * block + 1, 2000 / block + 3});
    cases.push_back({list_of({0, 5 * block, 2 * block}, run_of(block)), 6 * block, 3});
  }
  for (int i = 0; i < 100; ++i) {
    auto [layout, span] = random_layout(rng, 2);
    cases.push_back({std::move(layout), span, 2});
  }
  for (const Case& what : cases) {
    const Integers places = places_of(what);
    const auto [low, high] = std::minmax_element(places.begin(), places.end());
    const PackPlan plan = compile(what.layout, what.extent);
    for (unsigned char* const first : {items.begin() - *low, items.end() - 1 - *high}) {
      for (unsigned char* const stream : {packed.begin(), packed.end() - places.size()}) {
        const Bytes sent = random_bytes(rng, places.size());
        std::copy(sent.begin(), sent.end(), stream);
        plan.unpack(first, what.count, 0, stream, places.size());
        std::fill_n(stream, places.size(), kUntouched);
        plan.pack(first, what.count, 0, stream, places.size());
        ASSERT_TRUE(std::equal(sent.begin(), sent.end(), stream)) << plan.describe();
      }
    }
  }
}

void check_copy(const PackPlan& from, const Case& source_case, const PackPlan& to, const Case& target_case) {
  Rng rng(5);
  Message source(source_case, 3, rng), target(target_case, 5, rng);
  Message expected = target;
  expected.unpack(source.packed(0, std::min(source.size(), target.size())), 0);
  const Message untouched = target;
  copy_items(from, source.items(), source_case.count, to, target.items(), target_case.count);
  EXPECT_EQ(target.memory(), expected.memory()) << from.describe() << to.describe();
  const std::size_t size = std::min(source.size(), target.size());
  const std::size_t at = rng.below(size), bytes = rng.below(size - at + 1);
  target = expected = untouched;
  expected.unpack(source.packed(at, bytes), at);
  copy_part(from, source.items(), source_case.count, to, target.items(), target_case.count,
            static_cast<std::int64_t>(at), static_cast<std::int64_t>(bytes));
  EXPECT_EQ(target.memory(), expected.memory()) << from.describe() << to.describe() << at << ' ' << bytes;
}

TEST_P(PackPlans, CopiesFromLayoutToLayout) {
  Rng rng(11);
  for (int i = 0; i < 200; ++i) {
    const auto [from, from_span] = random_layout(rng, 3);
    const auto [to, to_span] = random_layout(rng, 3);
    check_copy(compile(from, from_span), {from, from_span, 3}, compile(to, to_span), {to, to_span, 5});
  }
  for (const std::int64_t block : {1, 8, 33, 300, 1024, 5000}) {
    for (const std::int64_t count : {1, 9}) {
      const Case from = {repeat_of(count, 2 * block, run_of(block, 4)), 2 * block * count, 2};
      const Case to = {repeat_of(count, 3 * block + 1, run_of(block, 9)), (3 * block + 1) * count, 3};
      const Case dense = {run_of(block * count), block * count, 2};
      const PackPlan source = compile(from.layout, from.extent), target = compile(to.layout, to.extent);
      const PackPlan contiguous = compile(dense.layout, dense.extent);
      check_copy(source, from, target, to);
      check_copy(target, to, source, from);
      check_copy(source, from, contiguous, dense);
      check_copy(contiguous, dense, target, to);
    }
  }
}

INSTANTIATE_TEST_CASE_P(Sets, PackPlans, testing::ValuesIn([] {
                          std::vector<std::string> names;
                          for (const std::string_view name : pack_instruction_sets()) names.emplace_back(name);
                          return names;
                        }()),
                        [](const testing::TestParamInfo<std::string>& set) { return set.param; });

TEST(PackPlan, TheFirstInstructionSetIsTheOneItPrefers) {
  ASSERT_FALSE(pack_instruction_sets().empty());
  EXPECT_EQ(PackPlan::compile(run_of(8), 16).instruction_set(), pack_instruction_sets().front());
  EXPECT_EQ(pack_instruction_sets().back(), "generic");
  EXPECT_FALSE(PackPlan::compile_for("avx1024", run_of(8), 16).has_value());
}

TEST(PackPlan, FewestMembersGoBeforeAWindowThatBeginsWithALine) {
  for (const std::int64_t stride : {2, 5, 6, 8, 12, -16}) {
    const auto window = make_window(std::array{Piece{0, 1}}, stride);
    for (std::int64_t at = 64; at < 128; ++at) {
      std::int64_t fewest = 0;
      while (fewest < 64 && ((at + fewest * stride) & 63) != 0) ++fewest;
      const bool alike = window->group * stride % 64 == 0 && fewest < 64;
      EXPECT_EQ(members_to_a_line(*window, reinterpret_cast<std::byte*>(at)), alike ? fewest : 0) << stride;
    }
  }
}

TEST(PackPlan, LoopsAreChosenByShape) {
  struct Choice {
    std::string_view set;
    Layout layout;
    std::string_view expected;
    bool is_there = true;
  };
  const std::vector<Choice> choices = {
      {"generic", repeat_of(9, 100, run_of(65)), "[pack: registers; unpack: registers]"},
      {"generic", repeat_of(9, 1000, run_of(512)), "[pack: memcpy; unpack: memcpy]"},
      {"avx2", repeat_of(9, 100, run_of(8)), "[pack: four of 8 put together; unpack: 8]"},
      {"avx512", repeat_of(9, 1000, run_of(512)), "[pack: registers; unpack: registers]"},
      {"avx512", repeat_of(9, 5000, run_of(4096)), "[pack: memcpy; unpack: memcpy]"},
      {"avx512", repeat_of(100, 8, run_of(4)), "[windows of 2 vectors for 16]"},
      {"avx512", repeat_of(100, 24, run_of(12)), "[windows of 2 vectors for 5]"},
      {"avx512", repeat_of(100, 24, runs_of({0, 8, 20}, {8, 4, 2})), "[windows of 2 vectors for 4]"},
      // Where there is about a vector for each block, in the rows of a matrix too.
      {"avx512", repeat_of(100, 4096, run_of(8)), "windows", false},
      {"avx512", repeat_of(50, 400, repeat_of(4, 24, run_of(8))), "pack: four of 8"},
      {"generic", repeat_of(1025, 4096, run_of(8)), "[pack: 8, a page each; unpack: 8, a page each]"},
      {"generic", repeat_of(1024, 4096, run_of(8)), "a page each", false},
      {"generic", repeat_of(1025, 4096, run_of(17)), "a page each", false},
      // Rows that share lines.
      {"generic", repeat_of(40, 16, repeat_of(50, 4096, run_of(16))), "pack: columns, one"},
      {"generic", repeat_of(40, 24, repeat_of(50, 4096, run_of(24))), "pack: columns, three"},
      {"generic", repeat_of(40, 64, repeat_of(50, 4096, run_of(16))), "columns", false},
      {"generic", repeat_of(40, 1024, repeat_of(50, 32, run_of(16))), "columns", false},
      {"generic", repeat_of(40, 16, repeat_of(3, 4096, run_of(16))), "columns", false},
      // Runs of a multiple of a word are cut to words, others not.
      {"generic", irregular(true), "240 runs"},
      {"generic", irregular(false), "200 runs"},
  };
  for (const Choice& choice : choices) {
    const auto plan = PackPlan::compile_for(choice.set, choice.layout, 100000);
    if (!plan) continue;  // not on this host
    EXPECT_EQ(plan->describe().find(choice.expected) != std::string::npos, choice.is_there) << plan->describe();
  }
}

TEST(PackPlan, Facts) {
  const PackPlan strided = PackPlan::compile(repeat_of(4, 128, run_of(16)), 512);
  EXPECT_EQ(strided.size(), 64);
  EXPECT_FALSE(strided.contiguous());
  EXPECT_DOUBLE_EQ(strided.mean_run(), 16);
  EXPECT_DOUBLE_EQ(strided.line_density(), 0.25);
  EXPECT_TRUE(PackPlan::compile(run_of(24), 24).contiguous());
  EXPECT_FALSE(PackPlan::compile(run_of(24), 32).contiguous());
  EXPECT_DOUBLE_EQ(PackPlan::compile(run_of(8), 16).line_density(), 0.5);
  EXPECT_DOUBLE_EQ(PackPlan::compile(run_of(64), 64).line_density(), 1);
}

TEST(PackPlan, WithoutData) {
  const PackPlan plan = PackPlan::compile(run_of(0), 0);
  EXPECT_EQ(plan.size(), 0);
  EXPECT_DOUBLE_EQ(plan.mean_run(), 0);
  EXPECT_DOUBLE_EQ(plan.line_density(), 0);
  for (const std::int64_t extent : {0, 8, -8}) {
    const PackPlan nothing = PackPlan::compile(run_of(0), extent);
    unsigned char byte = kUntouched;
    nothing.pack(nullptr, 5, 0, &byte, 0);
    nothing.unpack(&byte, 5, 0, nullptr, 0);
    EXPECT_EQ(byte, kUntouched);
  }
}

// A matrix of complex numbers received by columns, as in a transpose: 384 of a row's 768, 6 KB side by side in all.
TEST(PackPlan, LinesAreWholeWhateverTheOrderOfTheLoops) {
  constexpr std::int64_t kComplex = 16, kRow = 768 * kComplex, kSide = 384;
  const Layout by_rows = repeat_of(kSide, kRow, repeat_of(kSide, kComplex, run_of(kComplex)));
  const Layout by_columns = repeat_of(kSide, kComplex, repeat_of(kSide, kRow, run_of(kComplex)));
  const PackPlan columns = PackPlan::compile(by_columns, kSide * kRow);
  EXPECT_DOUBLE_EQ(columns.mean_run(), kComplex);
  EXPECT_DOUBLE_EQ(columns.line_density(), PackPlan::compile(by_rows, kSide * kRow).line_density());
  EXPECT_LT(columns.pages_per_line(), 0.05);
}

// Compiling looks at some of the runs: one look at each of these would take hours.
TEST(PackPlan, OfMoreRunsThanAnybodyCanVisit) {
  constexpr std::int64_t kRuns = std::int64_t{1} << 44;
  const PackPlan plan = PackPlan::compile(repeat_of(kRuns, 16, run_of(8)), 16 * kRuns);
  EXPECT_EQ(plan.size(), 8 * kRuns);
  EXPECT_NEAR(plan.line_density(), 0.5, 0.01);
}

TEST(PackPlan, RunsFurtherApartThan32BitsSay) {
  constexpr std::int64_t kApart = (std::int64_t{1} << 31) + 4096;
  constexpr std::size_t kSpan = kApart + 4096;
  void* const mapped =
      mmap(nullptr, kSpan, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const items = static_cast<unsigned char*>(mapped);
  for (const Layout& layout : {list_of({0, kApart, 100}, run_of(8)), runs_of({0, kApart, 100}, {3, 7, 9})}) {
    const PackPlan plan = PackPlan::compile(layout, 16);
    Rng rng(1);
    const Bytes packed = random_bytes(rng, static_cast<std::size_t>(2 * plan.size()));
    Bytes back(packed.size());
    plan.unpack(items, 2, 0, packed.data(), packed.size());
    EXPECT_EQ(items[kApart], packed[layout.lengths.empty() ? 8 : 3]);
    plan.pack(items, 2, 0, back.data(), back.size());
    EXPECT_EQ(back, packed);
  }
  munmap(mapped, kSpan);
}

// Of MPI_BOTTOM: far from 0, and near each other.
TEST(PackPlan, AbsoluteAddressesAreOneTable) {
  constexpr std::int64_t kAddress = std::int64_t{1} << 46;
  const PackPlan plan = PackPlan::compile(runs_of({0, 9, 100}, {3, 7, 9}, kAddress), 1);
  EXPECT_EQ(plan.describe().find("sequence"), std::string::npos) << plan.describe();
}

}  // namespace
}  // namespace corewise::kernels
