// Copy kernels: each against memcpy, at every alignment and at the lengths around every boundary, with guard bytes
// around the target and pages that must not be touched around both blocks.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kernels/copy/copy.hpp"
#include "kernels/walled.hpp"

namespace corewise::kernels {
namespace {

constexpr std::size_t guard = 128;
constexpr unsigned char untouched = 0xA5;

/// Never what an untouched byte holds.
unsigned char source_byte(std::size_t i) {
  const auto byte = static_cast<unsigned char>((i * 131 + i / 251) % 256);
  return byte == untouched ? 0x5A : byte;
}

std::vector<const CopyKernel*> available_kernels() {
  std::vector<const CopyKernel*> kernels;
  for (const CopyKernel& kernel : copy_kernels())
    if (kernel.available()) kernels.push_back(&kernel);
  return kernels;
}

/// Copies between two blocks whose places in their lines are chosen, and looks at every byte afterwards.
class Blocks {
 public:
  explicit Blocks(std::size_t largest)
      : source_(largest + 128), target_(largest + 2 * guard + 128), expected_(target_.size(), untouched) {
    for (std::size_t i = 0; i < source_.size(); ++i) source_[i] = source_byte(i);
    pristine_ = source_;
  }

  template <class Copy>
  bool copied_exactly(Copy&& run, std::size_t to, std::size_t from, std::size_t bytes) {
    unsigned char* const begin = line_start(target_) + guard + to;
    const unsigned char* const source = line_start(source_) + from;
    const std::size_t around = bytes + 2 * guard;
    std::memset(begin - guard, untouched, around);
    run(begin, source, bytes);
    return std::memcmp(begin, source, bytes) == 0 && std::memcmp(begin - guard, expected_.data(), guard) == 0 &&
           std::memcmp(begin + bytes, expected_.data(), guard) == 0;
  }

  bool source_is_pristine() const { return source_ == pristine_; }

 private:
  static unsigned char* line_start(std::vector<unsigned char>& block) {
    return block.data() + (-reinterpret_cast<std::uintptr_t>(block.data()) & 63);
  }

  std::vector<unsigned char> source_;
  std::vector<unsigned char> pristine_;
  std::vector<unsigned char> target_;
  std::vector<unsigned char> expected_;
};

/// Every place of the target in its line with two of the source, and the other way round.
std::vector<std::pair<std::size_t, std::size_t>> places() {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t place = 0; place < 64; ++place)
    for (const std::size_t other : {0, 17}) {
      pairs.emplace_back(place, other);
      pairs.emplace_back(other, place);
    }
  return pairs;
}

class EveryKernel : public ::testing::TestWithParam<const CopyKernel*> {};

TEST_P(EveryKernel, ShortLengthsAtEveryAlignment) {
  Blocks blocks(700);
  for (const auto& [to, from] : places())
    for (std::size_t bytes = 0; bytes <= 330; ++bytes)
      ASSERT_TRUE(blocks.copied_exactly(GetParam()->run, to, from, bytes)) << to << " " << from << " " << bytes;
  EXPECT_TRUE(blocks.source_is_pristine());
}

TEST_P(EveryKernel, LengthsAroundEveryBoundary) {
  Blocks blocks(2 * 65536 + 256);
  for (const std::size_t boundary :
       {512, 1024, 4096, 4 * 4096, 4 * 4096 + 64, 2 * 4 * 4096, 16 * 4096, 16 * 4096 + 64})
    for (const int beside : {-65, -64, -63, -33, -32, -31, -1, 0, 1, 31, 32, 33, 63, 64, 65})
      for (const std::size_t to : {0, 1, 31, 63})
        for (const std::size_t from : {0, 63}) {
          const std::size_t bytes = boundary + static_cast<std::size_t>(beside);
          ASSERT_TRUE(blocks.copied_exactly(GetParam()->run, to, from, bytes)) << to << " " << from << " " << bytes;
        }
  EXPECT_TRUE(blocks.source_is_pristine());
}

TEST_P(EveryKernel, ReadsAndWritesNothingBesideTheBlocks) {
  const Walled source(18);
  const Walled target(18);
  std::memset(source.begin(), 7, static_cast<std::size_t>(source.end() - source.begin()));
  std::vector<std::size_t> lengths = {1000, 4095, 4 * 4096 + 63, 4 * 4096 + 65, 16 * 4096 + 63, 16 * 4096 + 129};
  for (std::size_t bytes = 0; bytes <= 300; ++bytes) lengths.push_back(bytes);
  for (const std::size_t bytes : lengths) {
    GetParam()->run(target.end() - bytes, source.end() - bytes, bytes);
    GetParam()->run(target.begin(), source.begin(), bytes);
    GetParam()->run(target.begin(), source.end() - bytes, bytes);
    GetParam()->run(target.end() - bytes, source.begin(), bytes);
    ASSERT_EQ(std::memcmp(target.begin(), source.begin(), bytes), 0) << bytes;
    ASSERT_EQ(std::memcmp(target.end() - bytes, source.begin(), bytes), 0) << bytes;
  }
}

std::string name_of(const ::testing::TestParamInfo<const CopyKernel*>& row) {
  return std::string(row.param->name);
}

INSTANTIATE_TEST_CASE_P(Copy, EveryKernel, ::testing::ValuesIn(available_kernels()), name_of);

TEST(CopyTable, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  std::set<CopyFunction> functions;
  for (const CopyKernel& kernel : copy_kernels()) {
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    EXPECT_EQ(find_copy_kernel(kernel.name), &kernel);
    EXPECT_TRUE(kernel.run == nullptr || functions.insert(kernel.run).second) << kernel.name;
    EXPECT_TRUE(kernel.run != nullptr || !kernel.available()) << kernel.name;
  }
  EXPECT_EQ(find_copy_kernel("no_such_kernel"), nullptr);
  EXPECT_EQ(copy_kernels().front().name, "memcpy");
}

TEST(CopyTable, ThePapersKernelsAndTodaysAreAllThere) {
  for (const char* name :
       {"memcpy", "naive", "read_allocate", "four_stream", "rep_movsb", "avx2", "avx2_nt", "avx2_prefetch",
        "avx512", "avx512_nt", "avx512_prefetch", "neon", "neon_nt", "neon_prefetch"})
    EXPECT_NE(find_copy_kernel(name), nullptr) << name;
}

TEST(CopyTable, EveryArchitectureHasItsOwn) {
  std::set<std::string_view> present;
  for (const CopyKernel* kernel : available_kernels()) present.insert(kernel->name);
#if defined(__x86_64__)
  EXPECT_EQ(present.count("rep_movsb"), 1U);
  EXPECT_EQ(present.count("avx2"), __builtin_cpu_supports("avx2") ? 1U : 0U);
  EXPECT_EQ(present.count("avx512"), __builtin_cpu_supports("avx512f") ? 1U : 0U);
  EXPECT_EQ(present.count("neon"), 0U);
#elif defined(__aarch64__)
  EXPECT_EQ(present.count("neon"), 1U);
  EXPECT_EQ(present.count("avx2"), 0U);
#endif
}

TEST(CopyAlignment, TellsLinesAndTheFourKilobyteTrapApart) {
  alignas(4096) static unsigned char source[4096];
  const auto at = [](std::ptrdiff_t distance) {
    return copy_alignment(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(source) + distance), source);
  };
  EXPECT_EQ(at(1 << 20), CopyAlignment::same);
  EXPECT_EQ(at(-(1 << 20)), CopyAlignment::same);
  EXPECT_EQ(at((1 << 20) + 1024), CopyAlignment::same);
  EXPECT_EQ(at((1 << 20) - 64), CopyAlignment::same);
  EXPECT_EQ(at((1 << 20) - 1), CopyAlignment::shifted);
  EXPECT_EQ(at((1 << 20) + 1025), CopyAlignment::shifted);
  EXPECT_EQ(at((1 << 20) + 1), CopyAlignment::aliasing);
  EXPECT_EQ(at((1 << 20) + 64), CopyAlignment::aliasing);
  EXPECT_EQ(at((1 << 20) + 1023), CopyAlignment::aliasing);
}

/// The same kernel for all: audience by audience, alignment by alignment.
CopyTuning only(const CopyKernel& kernel) {
  CopyTuning tuning;
  for (auto& audience : tuning.rows)
    for (CopyTuning::Row& row : audience) row.fill(&kernel);
  return tuning;
}

TEST(Copy, CopiesExactlyForEveryAudienceWhateverTheTuning) {
  Blocks blocks(5000);
  for (const CopyKernel* kernel : available_kernels()) {
    set_copy_tuning(only(*kernel));
    for (const Audience audience : {Audience::self, Audience::other_core_soon, Audience::nobody_soon}) {
      const auto run = [audience](void* to, const void* from, std::size_t bytes) {
        copy(to, from, bytes, audience);
      };
      for (std::size_t bytes = 0; bytes <= 300; ++bytes)
        for (const std::size_t place : {0, 1, 40})
          ASSERT_TRUE(blocks.copied_exactly(run, place, 3, bytes)) << bytes;
      ASSERT_TRUE(blocks.copied_exactly(run, 0, 0, 4999));
    }
  }
  set_copy_tuning({});
}

TEST(Copy, TheChoiceGoesBySizeAlignmentAndAudience) {
  alignas(64) static unsigned char memory[8192];
  unsigned char* const source = memory;
  unsigned char* const same = memory + 2048;
  unsigned char* const shifted = memory + 2049;
  const std::optional<CopyTuning> tuning = parse_copy_tuning(
      "self.same=memcpy,naive@256,read_allocate@1024;self.shifted=four_stream;nobody.same=read_allocate");
  ASSERT_TRUE(tuning.has_value());
  set_copy_tuning(*tuning);
  EXPECT_EQ(copy_tuning(), *tuning);
  EXPECT_EQ(chosen_copy(same, source, 255, Audience::self).name, "memcpy");
  EXPECT_EQ(chosen_copy(same, source, 256, Audience::self).name, "naive");
  EXPECT_EQ(chosen_copy(same, source, 1023, Audience::self).name, "naive");
  EXPECT_EQ(chosen_copy(same, source, 1024, Audience::self).name, "read_allocate");
  EXPECT_EQ(chosen_copy(same, source, std::size_t{1} << 40, Audience::self).name, "read_allocate");
  EXPECT_EQ(chosen_copy(shifted, source, 1024, Audience::self).name, "four_stream");
  EXPECT_EQ(chosen_copy(same, source, 1024, Audience::nobody_soon).name, "read_allocate");
  EXPECT_EQ(chosen_copy(same, source, 1024, Audience::other_core_soon).name, "memcpy");
  set_copy_tuning({});
  EXPECT_EQ(chosen_copy(same, source, 1024, Audience::self).name, "memcpy");
}

/// The entry that an inlined copy of so many bytes goes to.
CopyFunction entry_of(Audience audience, std::size_t bytes) {
  return detail::copy_entry(audience, bytes).load();
}

TEST(Copy, WhereTheAlignmentSaysNothingTheKernelIsCalledAtOnce) {
  const CopyFunction naive = find_copy_kernel("naive")->run;
  const CopyFunction library = find_copy_kernel("memcpy")->run;
  set_copy_tuning(
      *parse_copy_tuning("self.same=memcpy,naive@256,memcpy@2048;self.shifted=memcpy,naive@256,memcpy@512;"
                         "self.aliasing=memcpy,naive@256,memcpy@512"));
  EXPECT_EQ(entry_of(Audience::self, 255), library);
  EXPECT_EQ(entry_of(Audience::self, 256), naive);
  EXPECT_EQ(entry_of(Audience::self, 511), naive);
  EXPECT_NE(entry_of(Audience::self, 512), naive);
  EXPECT_NE(entry_of(Audience::self, 512), library);
  EXPECT_EQ(entry_of(Audience::self, 2048), library);
  EXPECT_EQ(entry_of(Audience::nobody_soon, 256), library);
  set_copy_tuning({});
  EXPECT_EQ(entry_of(Audience::self, 512), library);
}

/// The choice before anything has set a tuning.
const CopyTuning tuning_at_start = copy_tuning();
const detail::CopyEntries entries_at_start = detail::copy_entries;

TEST(Copy, UntunedIsTheLibrarysButWhereItsStringInstructionIsTrapped) {
  EXPECT_EQ(tuning_at_start, CopyTuning::untuned());
  EXPECT_NE(CopyTuning::untuned() == CopyTuning(), find_copy_kernel("avx2")->available());
  set_copy_tuning(CopyTuning::untuned());
  alignas(4096) static unsigned char memory[16384];
  for (const std::size_t bytes : {512U, 2047U, 2048U, 4096U, 1U << 20, 1U << 30}) {
    for (std::size_t distance = 4096; distance < 2 * 4096; ++distance) {
      const std::size_t behind = distance % 4096;
      const bool trapped = bytes >= 2048 && behind > 0 && behind < 1024 && find_copy_kernel("avx2")->available();
      ASSERT_EQ(chosen_copy(memory + distance, memory, bytes, Audience::other_core_soon).name,
                trapped ? "avx2" : "memcpy")
          << bytes << " at +" << behind;
    }
  }
  set_copy_tuning({});
}

TEST(Copy, UntunedCopiesExactlyAtEveryDistance) {
  constexpr std::size_t kBytes = 2500;
  std::vector<unsigned char> memory(4 * 4096, untouched);
  for (std::size_t i = 0; i < 4096; ++i) memory[i] = source_byte(i);
  const CopyFunction run = entries_at_start[static_cast<std::size_t>(Audience::self)][11];
  for (const std::size_t from : {0U, 1U, 16U, 1000U}) {
    for (std::size_t distance = 4096; distance < 2 * 4096; ++distance) {
      unsigned char* const to = memory.data() + from + distance;
      std::memset(to - 64, untouched, kBytes + 128);
      run(to, memory.data() + from, kBytes);
      ASSERT_EQ(std::memcmp(to, memory.data() + from, kBytes), 0) << from << " +" << distance;
      const auto left = [](unsigned char byte) { return byte == untouched; };
      ASSERT_TRUE(std::all_of(to - 64, to, left) && std::all_of(to + kBytes, to + kBytes + 64, left));
    }
  }
}

TEST(CopyBounds, ReadNothingButTheSourceAndWriteNothingButTheTarget) {
  const CopyBounds* const bounds = copy_bounds();
  if (bounds == nullptr) return;
  const Walled source(2);
  const Walled target(2);
  std::memset(source.begin(), 7, 2 * 4096);
  for (std::size_t bytes = 0; bytes <= 600; ++bytes)
    for (const CopyFunction part : {bounds->read, bounds->write, bounds->write_past}) {
      std::memset(target.begin(), untouched, 2 * 4096);
      part(target.end() - bytes, source.end() - bytes, bytes);
      ASSERT_TRUE(std::all_of(target.begin(), target.end() - bytes, [](auto byte) { return byte == untouched; }));
      part(target.begin(), source.begin(), bytes);
      const auto written = static_cast<std::size_t>(std::count(target.begin(), target.begin() + bytes, 7));
      if (part == bounds->read) {
        ASSERT_EQ(written, 0U);
      } else if (bytes >= 128) {
        ASSERT_GT(written + 64, bytes);  // all but ends that are no whole vectors
      }
    }
}

TEST(Copy, ATuningMayChangeWhileOthersCopy) {
  std::atomic<bool> stop{false};
  std::thread changes([&] {
    for (int i = 0; i < 200; ++i) set_copy_tuning(only(*find_copy_kernel(i % 2 == 0 ? "naive" : "read_allocate")));
    stop = true;
  });
  Blocks blocks(2000);
  const auto run = [](void* to, const void* from, std::size_t bytes) { copy(to, from, bytes, Audience::self); };
  while (!stop) ASSERT_TRUE(blocks.copied_exactly(run, 5, 3, 1777));
  changes.join();
  set_copy_tuning({});
}

}  // namespace
}  // namespace corewise::kernels
