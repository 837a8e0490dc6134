// Timing of copies: contestants take turns over the same two blocks of memory.
//
// Contract: a round times every contestant once, in an order drawn from the round's number: neither the order nor a
// contestant's predecessor is the same from round to round, because a copy through the caches is slower right after
// one past them over the same blocks. Before each, one word of every line of the source is written, and the
// contestant copies once untimed. Short copies are timed in batches. One race belongs to one thread.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/copy/copy.hpp"

namespace corewise::kernels {

/// What is copied, and what counts.
struct CopyTrial {
  std::size_t bytes = 0;
  CopyAlignment alignment = CopyAlignment::same;
  bool read_back = false;                          ///< the time holds reading every line of the target afterwards
  std::size_t batch_bytes = std::size_t{1} << 20;  ///< short copies are repeated until so much is copied
};

/// A contestant: a kernel, or `copy` as it is tuned. memcpy is called, and `copy` is inline, as in a program.
struct CopyContestant {
  /// Copies so many times; reads every line of the target after each where wanted.
  using Repeat = void (*)(CopyFunction run, void* to, const void* from, std::size_t bytes, std::size_t times,
                          bool read_back);
  CopyFunction run = nullptr;
  Repeat repeat = nullptr;
  static CopyContestant of(const CopyKernel& kernel) { return of(kernel.run); }
  static CopyContestant of(CopyFunction run);
  /// `copy` for an audience, whatever the tuning says when it is called.
  static CopyContestant chosen(Audience audience);
};

class CopyRace {
 public:
  /// For copies of up to `largest` bytes; null where there is no memory. Huge pages are asked for where wanted; the
  /// system may refuse them.
  static std::unique_ptr<CopyRace> make(std::size_t largest, bool huge_pages = false);
  CopyRace(const CopyRace&) = delete;
  CopyRace& operator=(const CopyRace&) = delete;
  ~CopyRace();

  /// Nanoseconds per copy of each contestant, in their order. `trial.bytes` is at least 1 and at most `largest`.
  void round(std::span<const CopyContestant> contestants, const CopyTrial& trial, std::uint64_t number,
             std::span<double> nanoseconds);

 private:
  CopyRace(unsigned char* memory, std::size_t mapped, std::size_t apart);
  double sample(const CopyContestant& contestant, const CopyTrial& trial, std::uint64_t stamp);

  unsigned char* memory_;
  std::size_t mapped_;
  std::size_t apart_;  ///< bytes from the source's block to the target's, a multiple of a page
};

}  // namespace corewise::kernels
