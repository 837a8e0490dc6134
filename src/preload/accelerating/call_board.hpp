// CallBoard: what every rank of a communicator says of its last calls, in memory that all of them see. MPI demands
// the same calls in the same order, with the same bytes and root (MPI-4.1, 6.1); who waits long looks whether the
// others are where it is. A program that breaks the rule gets an error then and no hang.
//
// A call costs a rank one store to a cache line that nobody else reads until somebody waits long. Calls whose bytes
// no rank knows of the others (the vector forms) say 0. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coll/building/shape.hpp"
#include "coll/call.hpp"
#include "preload/next.hpp"
#include "shm/segment.hpp"

namespace corewise::preload::accelerating {

class CallBoard {
  /// Of one rank: its last calls; the error that it was told of, with the number of that call; and once it makes no
  /// calls any more, how many it has made, and one.
  struct alignas(shm::kPaddingBytes) Said {
    std::array<std::uint64_t, 8> calls;
    std::uint64_t failed;
    std::uint64_t left;
  };

 public:
  static constexpr std::size_t bytes(int ranks) { return static_cast<std::size_t>(ranks) * sizeof(Said); }

  /// Over zeroed memory, on a multiple of shm::kPaddingBytes, which must outlive it.
  CallBoard(std::byte* at, int rank, int ranks) : said_(reinterpret_cast<Said*>(at)), rank_(rank), ranks_(ranks) {}

  /// The next call: its root, if it has one, and its bytes as coll::Facts has them.
  void say(coll::Collective collective, int root, std::uint64_t bytes) {
    ++number_;
    bytes_ = bytes;
    const std::uint64_t what =
        (static_cast<std::uint64_t>(collective) + 1) << kRootBits | static_cast<unsigned>(root);
    const std::uint64_t word = (what << kNumberBits | (number_ & kNumberMask)) << kBytesBits | mixed(bytes);
    std::atomic_ref(own().calls[number_ % own().calls.size()]).store(word, std::memory_order_relaxed);
  }
  /// Of the present call: whether it is one of so many.
  [[nodiscard]] bool is_one_in(std::uint64_t calls) const { return number_ % calls == 0; }
  [[nodiscard]] std::uint64_t bytes_now() const { return bytes_; }
  /// This rank was told of an error in the present call: nobody need wait for it in this call, or in a later one.
  /// In earlier calls it has done its part, and who is late there has them to the end.
  void fail(int code) {
    const std::uint64_t word = number_ << kCodeBits | static_cast<std::uint32_t>(code);
    std::atomic_ref(own().failed).store(word, std::memory_order_relaxed);
  }

  /// The same of the next call, unless this rank was told of an error already.
  void fail_next(int code) {
    if (static_cast<int>(std::atomic_ref(own().failed).load(std::memory_order_relaxed)) != MPI_SUCCESS) return;
    ++number_;
    fail(code);
  }

  /// This rank has done all of its calls: its process may end.
  void leave() { std::atomic_ref(own().left).store(number_ + 1, std::memory_order_release); }
  /// Whether another has left after the present call, of which it has done its part then.
  [[nodiscard]] bool has_left(int rank) const {
    return std::atomic_ref(said_[rank].left).load(std::memory_order_acquire) > number_;
  }

  /// MPI_SUCCESS; or what is wrong: MPI_ERR_TRUNCATE where ranks have other bytes for one of the last calls,
  /// MPI_ERR_ROOT where they have another root, MPI_ERR_OTHER where it is another collective; or what another rank
  /// was told of in this call or before.
  [[nodiscard]] int judge() const {
    for (int rank = 0; rank < ranks_; ++rank) {
      const int code = judge(rank);
      if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
  }
  /// The same of this rank's neighbours alone: ranks that are not all in the same call have such a pair.
  [[nodiscard]] int judge_neighbours() const {
    const int code = judge((rank_ + 1) % ranks_);
    return code != MPI_SUCCESS ? code : judge((rank_ + ranks_ - 1) % ranks_);
  }

 private:
  /// A rank with nothing to do in its calls gets ahead of the others by as many as it likes: numbers that are equal
  /// in their last bits are to be those of one call.
  static constexpr int kBytesBits = 19, kNumberBits = 32, kRootBits = 8, kCodeBits = 32;
  static constexpr int kCollectiveBits = 64 - kBytesBits - kNumberBits - kRootBits;
  static_assert(coll::kMostRanks <= 1 << kRootBits &&
                static_cast<int>(coll::Collective::reduce_scatter_block) + 1 < 1 << kCollectiveBits);
  static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;
  static constexpr std::uint64_t kRootMask = (std::uint64_t{1} << kRootBits) - 1;

  /// Bits that differ where the bytes do, but for one of 500 000 pairs.
  static std::uint64_t mixed(std::uint64_t bytes) { return bytes * 0x9E3779B97F4A7C15ULL >> (64 - kBytesBits); }
  Said& own() { return said_[rank_]; }

  [[nodiscard]] int judge(int rank) const {
    Said& mine = said_[rank_];
    Said& theirs = said_[rank];
    for (std::size_t i = 0; i < mine.calls.size(); ++i) {
      const std::uint64_t own = std::atomic_ref(mine.calls[i]).load(std::memory_order_relaxed);
      const std::uint64_t other = std::atomic_ref(theirs.calls[i]).load(std::memory_order_relaxed);
      const std::uint64_t differs = (own ^ other) >> kBytesBits;
      if (own == other || (differs & kNumberMask) != 0) continue;  // equal, or of other calls
      if (differs >> (kNumberBits + kRootBits) != 0) return MPI_ERR_OTHER;
      return (differs >> kNumberBits & kRootMask) != 0 ? MPI_ERR_ROOT : MPI_ERR_TRUNCATE;
    }
    const std::uint64_t failed = std::atomic_ref(theirs.failed).load(std::memory_order_relaxed);
    const bool later = static_cast<std::int32_t>((failed >> kCodeBits) - number_) > 0;  // the numbers' low bits
    return later ? MPI_SUCCESS : static_cast<int>(failed);
  }

  Said* said_;
  int rank_, ranks_;
  std::uint64_t number_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace corewise::preload::accelerating
