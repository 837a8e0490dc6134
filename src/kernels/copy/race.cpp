// Timing of copies.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/copy/race.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "base/rng.hpp"

namespace corewise::kernels {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t most_repeats = 4096;

using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

std::size_t repeats_for(const CopyTrial& trial) {
  return std::clamp(trial.batch_bytes / trial.bytes, std::size_t{1}, most_repeats);
}

/// Bytes from the beginning of the target's page to the target, the source being at the beginning of its own.
std::size_t target_offset(CopyAlignment alignment) {
  switch (alignment) {
    case CopyAlignment::same:
      return 0;
    case CopyAlignment::shifted:
      return 4096 - 24;
    case CopyAlignment::aliasing:
      break;
  }
  return 8;  // within 16 bytes, where the string instruction is slowest (copy.hpp)
}

void read_lines(const unsigned char* memory, std::size_t bytes) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < bytes; i += 64) sum += memory[i];
  asm volatile("" : : "r"(sum));
}

template <class Copy>
[[gnu::always_inline]] inline void repeat(Copy&& copy_once, void* to, std::size_t bytes, std::size_t times,
                                          bool read_back) {
  // Two loops, each with nothing in registers that it can do without.
  for (std::size_t i = 0; i < times && !read_back; ++i) {
    copy_once();
    // No copy is left out, and none is moved.
    asm volatile("" : : "r"(to) : "memory");
  }
  for (std::size_t i = 0; i < times && read_back; ++i) {
    copy_once();
    asm volatile("" : : "r"(to) : "memory");
    read_lines(static_cast<const unsigned char*>(to), bytes);
  }
}

void repeat_kernel(CopyFunction run, void* to, const void* from, std::size_t bytes, std::size_t times,
                   bool read_back) {
  repeat([=] { run(to, from, bytes); }, to, bytes, times, read_back);
}

void repeat_memcpy(CopyFunction, void* to, const void* from, std::size_t bytes, std::size_t times, bool read_back) {
  repeat([=] { std::memcpy(to, from, bytes); }, to, bytes, times, read_back);
}

template <Audience audience>
[[gnu::noinline]] void repeat_inline(void* to, const void* from, std::size_t bytes, std::size_t times,
                                     bool read_back) {
  repeat([=] { copy(to, from, std::min(bytes, copy_inline_limit), audience); }, to, bytes, times, read_back);
}

/// Short copies have a loop of their own: what they need in registers would put the addresses of long ones on the
/// stack, where a copy that fills the first cache waits for them.
template <Audience audience>
void repeat_chosen(CopyFunction, void* to, const void* from, std::size_t bytes, std::size_t times, bool read_back) {
  if (bytes <= copy_inline_limit) return repeat_inline<audience>(to, from, bytes, times, read_back);
  repeat([=] { copy(to, from, bytes, audience); }, to, bytes, times, read_back);
}

}  // namespace

CopyContestant CopyContestant::of(CopyFunction run) {
  return {run, run == copy_kernels().front().run ? repeat_memcpy : repeat_kernel};
}

CopyContestant CopyContestant::chosen(Audience audience) {
  switch (audience) {
    case Audience::self:
      return {nullptr, repeat_chosen<Audience::self>};
    case Audience::other_core_soon:
      return {nullptr, repeat_chosen<Audience::other_core_soon>};
    case Audience::nobody_soon:
      break;
  }
  return {nullptr, repeat_chosen<Audience::nobody_soon>};
}

std::unique_ptr<CopyRace> CopyRace::make(std::size_t largest, bool huge_pages) {
  const std::size_t apart = (largest + 2 * 4096 + huge_page - 1) / huge_page * huge_page;
  const std::size_t mapped = 2 * apart + huge_page;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  (void)madvise(memory, mapped, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return std::unique_ptr<CopyRace>(new CopyRace(static_cast<unsigned char*>(memory), mapped, apart));
}

CopyRace::CopyRace(unsigned char* memory, std::size_t mapped, std::size_t apart)
    : memory_(memory), mapped_(mapped), apart_(apart) {}

CopyRace::~CopyRace() {
  munmap(memory_, mapped_);
}

double CopyRace::sample(const CopyContestant& contestant, const CopyTrial& trial, std::uint64_t stamp) {
  const std::size_t skipped = -reinterpret_cast<std::uintptr_t>(memory_) & (huge_page - 1);
  unsigned char* const source = memory_ + skipped;
  unsigned char* const target = source + apart_ + target_offset(trial.alignment);
  for (std::size_t i = 0; i < trial.bytes; i += 64) source[i] = static_cast<unsigned char>(stamp + i / 64);
  contestant.repeat(contestant.run, target, source, trial.bytes, 1, false);
  const std::size_t repeats = repeats_for(trial);
  const Clock::time_point start = Clock::now();
  contestant.repeat(contestant.run, target, source, trial.bytes, repeats, trial.read_back);
  return nanoseconds_since(start) / static_cast<double>(repeats);
}

void CopyRace::round(std::span<const CopyContestant> contestants, const CopyTrial& trial, std::uint64_t number,
                     std::span<double> nanoseconds) {
  std::vector<std::size_t> order(contestants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Rng(number).shuffle(std::span<std::size_t>(order));
  for (const std::size_t index : order) nanoseconds[index] = sample(contestants[index], trial, number);
}

}  // namespace corewise::kernels
