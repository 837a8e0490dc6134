// The host's port where a tuning chooses the loop that copies: user memory to user memory, and combinations, which
// are copied to the stage where a copy past the caches is what a peer reads quickest. Both by a loop through the
// caches and by those past them.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/copy/copy.hpp"
#include "ranks.hpp"

namespace corewise::shm {
namespace {

constexpr std::array<std::uint32_t, 7> kSizes = {1, 128, 129, 255, 4096, 8191, 65537};
constexpr std::array<std::uint32_t, 4> kPlaces = {0, 1, 31, 63};  // in a line
constexpr std::uint32_t kGuard = 64;
constexpr std::uint32_t kRoom = 65792;  // for the largest at the last place, between two guards

/// Begins with a line.
struct alignas(64) Block {
  std::array<std::byte, kRoom> bytes;

  explicit Block(std::uint32_t seed) {
    for (std::uint32_t i = 0; i < kRoom; ++i) bytes[i] = static_cast<std::byte>(seed * 31 + i * 7 + i / 251);
  }
  [[nodiscard]] std::byte* at(std::uint32_t place) { return bytes.data() + kGuard + place; }
};

std::unique_ptr<Block> block(std::uint32_t seed) {
  return std::make_unique<Block>(seed);
}

/// For as long as it lives one kernel copies all that is for one audience, and memcpy the rest.
class Tuned {
 public:
  Tuned(kernels::Audience audience, std::string_view kernel) : before_(kernels::copy_tuning()) {
    kernels::CopyTuning tuning;
    for (auto& row : tuning.rows[static_cast<std::size_t>(audience)]) row.fill(kernels::find_copy_kernel(kernel));
    kernels::set_copy_tuning(tuning);
  }
  Tuned(const Tuned&) = delete;
  Tuned& operator=(const Tuned&) = delete;
  ~Tuned() { kernels::set_copy_tuning(before_); }

 private:
  kernels::CopyTuning before_;
};

class ShmPortCopies : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const kernels::CopyKernel& kernel = *kernels::find_copy_kernel(GetParam());
    if (!kernel.available()) GTEST_SKIP() << "capability: " << kernel.instructions << ", for " << kernel.name;
    streams_ = kernel.streams;
  }

  bool streams_ = false;
};

TEST_P(ShmPortCopies, UserMemoryIsCopiedAndNothingBesideIt) {
  const Tuned tuned(kernels::Audience::self, GetParam());
  const testing::Job job(1, {128, 1, 1, 0});
  ShmPort port(job.segment, 0);
  const auto from = block(1);
  const auto to = block(2);
  for (const std::uint32_t bytes : kSizes) {
    for (const std::uint32_t source : kPlaces) {
      for (const std::uint32_t target : kPlaces) {
        const auto wanted = block(2);
        std::copy_n(from->at(source), bytes, wanted->at(target));
        *to = Block(2);
        port.copy_user(from->at(source), to->at(target), bytes, 0);
        ASSERT_TRUE(to->bytes == wanted->bytes) << bytes << " bytes from " << source << " to " << target;
      }
    }
  }
}

/// Where in their lines the operands of a combination lie; it is in place where its own and the result are
/// together.
struct Places {
  std::uint32_t own, to, stage;
};

/// What a combination leaves in user memory and in the own stage.
struct Combined {
  std::vector<std::byte> user;
  std::vector<std::byte> stage;
};

/// Theirs minus own, byte by byte, so that it shows which is which.
std::byte difference(std::byte theirs, std::byte own) {
  return static_cast<std::byte>(std::to_integer<int>(theirs) - std::to_integer<int>(own));
}

constexpr std::uint32_t kTheirs = kGuard + 1;
constexpr std::uint32_t seed_of_result(const Places& places) {
  return places.own == places.to ? 4 : 5;
}

Combined expected(std::uint32_t bytes, const Places& places) {
  const auto theirs = block(3);
  const auto own = block(4);
  const auto to = block(seed_of_result(places));
  Combined wanted{{to->bytes.begin(), to->bytes.end()}, std::vector<std::byte>(kRoom)};
  for (std::uint32_t i = 0; i < bytes; ++i) {
    const std::byte value = difference(theirs->bytes[kTheirs + i], own->at(places.own)[i]);
    wanted.user[kGuard + places.to + i] = wanted.stage[kGuard + places.stage + i] = value;
  }
  return wanted;
}

/// Counts its calls, and those that were to store a second time.
struct Calls {
  int all = 0;
  int store_too = 0;

  static void run(const void* context, const std::byte* theirs, const std::byte* own, std::byte* to, std::byte* too,
                  std::uint32_t bytes) {
    Calls& calls = *const_cast<Calls*>(static_cast<const Calls*>(context));
    ++calls.all;
    if (too != nullptr) ++calls.store_too;
    for (std::uint32_t i = 0; i < bytes; ++i) {
      to[i] = difference(theirs[i], own[i]);
      if (too != nullptr) too[i] = to[i];
    }
  }
};

/// Rank 0 combines what rank 1 has with its own.
Combined combined(std::uint32_t bytes, const Places& places, Calls& calls) {
  const testing::Job job(2, {kRoom, 1, 1, 0});
  ShmPort zero(job.segment, 0);
  ShmPort one(job.segment, 1);
  const auto theirs = block(3);
  std::ranges::copy(theirs->bytes, one.stage().begin());
  const auto own = block(4);
  const auto other = block(5);
  Block& to = places.own == places.to ? *own : *other;
  zero.combine_user({1, kTheirs}, own->at(places.own), to.at(places.to), kGuard + places.stage,
                    {&Calls::run, &calls}, bytes, 0);
  EXPECT_TRUE(std::ranges::equal(one.stage().first(kRoom), theirs->bytes));
  const auto stage = zero.stage().first(kRoom);
  return {{to.bytes.begin(), to.bytes.end()}, {stage.begin(), stage.end()}};
}

TEST_P(ShmPortCopies, ACombinationIsTheSameWhicheverWayItGoesToTheStage) {
  const Tuned tuned(kernels::Audience::other_core_soon, GetParam());
  for (const std::uint32_t bytes : kSizes) {
    const bool apart = bytes > kernels::copy_inline_limit && (streams_ || bytes >= ShmPort::kApartBytes);
    for (const std::uint32_t to : kPlaces) {
      for (const std::uint32_t stage : kPlaces) {
        const Places places{1, to, stage};
        Calls calls;
        const Combined found = combined(bytes, places, calls);
        const Combined wanted = expected(bytes, places);
        ASSERT_TRUE(found.user == wanted.user) << bytes << " bytes to " << to << ", staged at " << stage;
        ASSERT_TRUE(found.stage == wanted.stage) << bytes << " bytes to " << to << ", staged at " << stage;
        ASSERT_EQ(calls.all, 1);
        ASSERT_EQ(calls.store_too, apart ? 0 : 1) << bytes << " bytes";
      }
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<const char*>& row) {
  return row.param;
}

#if defined(__x86_64__)
INSTANTIATE_TEST_CASE_P(Tuning, ShmPortCopies, ::testing::Values("memcpy", "avx2_nt", "avx512_nt"), name_of);
#else
INSTANTIATE_TEST_CASE_P(Tuning, ShmPortCopies, ::testing::Values("memcpy", "neon_nt"), name_of);
#endif

}  // namespace
}  // namespace corewise::shm
