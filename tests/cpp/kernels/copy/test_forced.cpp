// The kernel that is asked for is the one that runs: the processor steps through a copy instruction by instruction,
// and every instruction that it was at is looked at. Which kernel was entered, and that it used the instructions it
// is named after, is seen and not believed. On x86-64 only, where a program can step itself.
// SPDX-License-Identifier: BSD-3-Clause
#if defined(__x86_64__)

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>
#include <x86intrin.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/copy/copy.hpp"

namespace corewise::kernels {
namespace {

constexpr std::size_t most_steps = std::size_t{1} << 18;
constexpr unsigned long long trap_flag = 0x100;

std::uintptr_t steps[most_steps];
volatile std::size_t step_count = 0;

void note_step(int, siginfo_t*, void* context) {
  const auto* frame = static_cast<const ucontext_t*>(context);
  const std::size_t at = step_count;
  if (at < most_steps) {
    steps[at] = static_cast<std::uintptr_t>(frame->uc_mcontext.gregs[REG_RIP]);
    step_count = at + 1;
  }
}

/// Where the processor was while `run` ran.
template <class Run>
std::vector<std::uintptr_t> stepped(Run&& run) {
  struct sigaction stepping = {};
  struct sigaction before = {};
  stepping.sa_sigaction = note_step;
  stepping.sa_flags = SA_SIGINFO;
  EXPECT_EQ(sigaction(SIGTRAP, &stepping, &before), 0);
  step_count = 0;
  __writeeflags(__readeflags() | trap_flag);
  run();
  __writeeflags(__readeflags() & ~trap_flag);
  EXPECT_EQ(sigaction(SIGTRAP, &before, nullptr), 0);
  EXPECT_LT(step_count, most_steps);
  return {steps, steps + step_count};
}

/// What the instructions of a copy show.
struct Seen {
  bool rep_movsb = false;
  bool vectors_of_32 = false;  ///< VEX encoding, 256 bits
  bool vectors_of_64 = false;  ///< EVEX encoding, 512 bits
  bool streaming = false;      ///< VMOVNTDQ
  bool prefetch = false;
  std::vector<std::string_view> entered;  ///< kernels
};

void look_at(const unsigned char* code, Seen& seen) {
  if (code[0] == 0xF3 && code[1] == 0xA4) seen.rep_movsb = true;
  const unsigned char* plain = (code[0] & 0xF0) == 0x40 ? code + 1 : code;
  if (plain[0] == 0x0F && plain[1] == 0x18) seen.prefetch = true;
  if (code[0] == 0xC5) {
    if ((code[1] & 4) != 0) seen.vectors_of_32 = true;
    if (code[2] == 0xE7) seen.streaming = true;
  }
  if (code[0] == 0xC4) {
    if ((code[2] & 4) != 0) seen.vectors_of_32 = true;
    if (code[3] == 0xE7) seen.streaming = true;
  }
  if (code[0] == 0x62) {
    if ((code[3] & 0x60) == 0x40) seen.vectors_of_64 = true;
    if (code[4] == 0xE7) seen.streaming = true;
  }
}

Seen seen_in(const std::vector<std::uintptr_t>& places) {
  Seen seen;
  for (const std::uintptr_t place : places) {
    look_at(reinterpret_cast<const unsigned char*>(place), seen);
    for (const CopyKernel& kernel : copy_kernels())
      if (kernel.run != nullptr && reinterpret_cast<std::uintptr_t>(kernel.run) == place)
        seen.entered.push_back(kernel.name);
  }
  return seen;
}

/// Kernels that ran, but for memcpy: it is the library's own, and compilers call it for a word, too.
std::vector<std::string_view> kernels_in(const Seen& seen) {
  std::vector<std::string_view> kernels = seen.entered;
  kernels.erase(std::remove(kernels.begin(), kernels.end(), "memcpy"), kernels.end());
  return kernels;
}

class Forced : public ::testing::TestWithParam<const CopyKernel*> {
 protected:
  Forced() : from(bytes + 64, 3), to(bytes + 64, 0) {}

  /// Enough for the widest interleaving; the string instruction is stepped byte by byte.
  static constexpr std::size_t bytes = 16 * 4096 + 200;
  static constexpr std::size_t few_bytes = 1500;

  std::size_t length() const {
    return GetParam()->name.find("pages") != std::string_view::npos ? bytes : few_bytes;
  }

  void expect_it_ran(const Seen& seen) const {
    const std::string_view name = GetParam()->name;
    const std::vector<std::string_view> kernels = kernels_in(seen);
    if (name == "memcpy") {
      EXPECT_TRUE(kernels.empty());
      EXPECT_FALSE(seen.entered.empty());
      return;  // whatever the library does
    }
    ASSERT_EQ(kernels.size(), 1U) << name;
    EXPECT_EQ(kernels.front(), name);
    EXPECT_EQ(seen.rep_movsb, name == "rep_movsb");
    EXPECT_EQ(seen.vectors_of_64, name.substr(0, 6) == "avx512");
    EXPECT_TRUE(seen.vectors_of_32 || name.substr(0, 4) != "avx2");
    EXPECT_EQ(seen.streaming, name.find("_nt") != std::string_view::npos);
    EXPECT_EQ(seen.streaming, GetParam()->streams);
    EXPECT_EQ(seen.prefetch, name.find("prefetch") != std::string_view::npos);
  }

  std::vector<unsigned char> from;
  std::vector<unsigned char> to;
};

TEST_P(Forced, TheNamedKernelRunsItsOwnInstructions) {
  const CopyKernel* kernel = find_copy_kernel(GetParam()->name);
  const std::size_t count = length();
  unsigned char* const target = to.data();
  const unsigned char* const source = from.data();
  const CopyFunction run = kernel->run;
  expect_it_ran(seen_in(stepped([=] { run(target, source, count); })));
  EXPECT_TRUE(std::equal(target, target + count, source));
}

TEST_P(Forced, CopyRunsWhatTheTuningSays) {
  std::string text;
  for (const std::string_view audience : audience_names)
    for (const std::string_view alignment : alignment_names)
      text.append(audience).append(".").append(alignment).append("=").append(GetParam()->name).append(";");
  const std::optional<CopyTuning> tuning = parse_copy_tuning(text);
  ASSERT_TRUE(tuning.has_value());
  set_copy_tuning(*tuning);
  const std::size_t count = length();
  for (const Audience audience : {Audience::self, Audience::other_core_soon, Audience::nobody_soon}) {
    unsigned char* const target = to.data() + 1;
    const unsigned char* const source = from.data();
    expect_it_ran(seen_in(stepped([=] { copy(target, source, count, audience); })));
  }
  set_copy_tuning({});
}

/// What copies before anything has set a tuning.
const detail::CopyEntries entries_at_start = detail::copy_entries;

TEST(ForcedNone, UntunedLeavesTheLibraryWhereAddressesAlias) {
  if (!find_copy_kernel("avx2")->available()) GTEST_SKIP() << "capability: AVX2";
  alignas(4096) static unsigned char memory[5 * 4096];
  const CopyFunction run = entries_at_start[static_cast<std::size_t>(Audience::other_core_soon)][11];
  run(memory + 8192 + 16, memory, 3000);
  for (const std::size_t behind : {0U, 1U, 16U, 31U, 1023U, 1024U, 4080U}) {
    const Seen seen = seen_in(stepped([=] { run(memory + 8192 + behind, memory, 3000); }));
    const bool trapped = behind > 0 && behind < 1024;
    EXPECT_EQ(kernels_in(seen).size(), trapped ? 1U : 0U) << behind;
    EXPECT_EQ(seen.entered.front(), trapped ? "avx2" : "memcpy") << behind;
    EXPECT_FALSE(trapped && seen.rep_movsb) << behind;
  }
}

TEST(ForcedNone, ShortCopiesEnterNoKernel) {
  unsigned char source[128] = {9};
  unsigned char target[128] = {};
  const Seen seen = seen_in(stepped([&] { copy(target, source, 128, Audience::self); }));
  EXPECT_TRUE(kernels_in(seen).empty());
  EXPECT_EQ(target[0], 9);
}

std::vector<const CopyKernel*> available_kernels() {
  std::vector<const CopyKernel*> kernels;
  for (const CopyKernel& kernel : copy_kernels())
    if (kernel.available()) kernels.push_back(&kernel);
  return kernels;
}

std::string name_of(const ::testing::TestParamInfo<const CopyKernel*>& row) {
  return std::string(row.param->name);
}

INSTANTIATE_TEST_CASE_P(Copy, Forced, ::testing::ValuesIn(available_kernels()), name_of);

}  // namespace
}  // namespace corewise::kernels

#endif
