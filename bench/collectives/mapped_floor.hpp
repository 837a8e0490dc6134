// The floor of a collective of two ranks in memory that both map, written by hand: both say that they are there,
// both copy or combine half of the bytes out of each other's memory, with the loops of room kernels, and both say
// that they are done. No less can be done by two ranks that both work. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hand_written.hpp"
#include "job.hpp"
#include "kernels/copy/copy.hpp"
#include "kernels/reduce/reduce.hpp"
#include "measured.hpp"
#include "operands.hpp"
#include "world.hpp"

namespace corewise::bench {

class MappedFloor {
 public:
  MappedFloor(std::uint64_t block_bytes, int sent)
      : stride_((2 * Operands::room(block_bytes) + kPage - 1) / kPage * kPage),
        mapping_(share(kPage + 2 * stride_)),
        flags_(mapping_.block().data(), rank_),
        on(block_bytes, sent, mapping_.block().data() + kPage + static_cast<std::uint64_t>(rank_) * stride_) {}

  /// Whether there is a floor for this collective of so many bytes: of whole elements of 8 bytes.
  static bool has(std::string_view collective, std::uint64_t block_bytes) {
    return block_bytes % 8 == 0 && find(collective) != nullptr;
  }
  void run(std::string_view collective, const Call& call) {
    flags_.barrier();
    (this->*find(collective))(call);
    flags_.barrier();
  }

 private:
  using Part = void (MappedFloor::*)(const Call&);
  struct Named {
    std::string_view name;
    Part part;
  };

  static Part find(std::string_view collective) {
    static constexpr std::array kParts = {
        Named{"bcast", &MappedFloor::bcast},
        Named{"reduce", &MappedFloor::reduce},
        Named{"allreduce", &MappedFloor::allreduce},
        Named{"scan", &MappedFloor::scan},
        Named{"exscan", &MappedFloor::exscan},
        Named{"reduce_scatter", &MappedFloor::reduce_scatter},
        Named{"reduce_scatter_block", &MappedFloor::reduce_scatter},
    };
    const auto* const found = std::ranges::find(kParts, collective, &Named::name);
    return found == kParts.end() ? nullptr : found->part;
  }

  /// Where a rank of the world has what this one has at `own`.
  [[nodiscard]] std::byte* of(int rank, std::byte* own) const {
    return own + (rank - rank_) * static_cast<std::ptrdiff_t>(stride_);
  }
  /// The same of a rank of the call's communicator, which is the world or the world reversed.
  [[nodiscard]] std::byte* of(const Call& call, int rank, std::byte* own) const {
    return of(call.rank == rank_ ? rank : 1 - rank, own);
  }

  /// Calls `visit(at, bytes)` for each piece of this rank's half.
  template <class Visit>
  void for_half(Visit visit) const {
    const std::uint64_t half = on.bytes / 2 / kLine * kLine;
    for_pieces(rank_ == 0 ? 0 : half, rank_ == 0 ? half : on.bytes, visit);
  }
  template <class Visit>
  static void for_pieces(std::uint64_t begin, std::uint64_t end, Visit visit) {
    for (std::uint64_t at = begin; at < end; at += kPiece) visit(at, std::min(kPiece, end - at));
  }
  void add(const std::byte* lower, const std::byte* higher, std::byte* to, std::uint64_t bytes) const {
    sum_(lower, higher, to, bytes / 8);
  }
  static void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    kernels::copy(to, from, bytes, kernels::Audience::self);
  }

  void bcast(const Call& call) {
    std::byte* const from = of(call, call.root, on.send);
    std::byte* const to = of(call, 1 - call.root, on.receive);
    for_half([&](std::uint64_t at, std::uint64_t bytes) { copy(to + at, from + at, bytes); });
  }
  void reduce(const Call& call) {
    std::byte* const to = of(call, call.root, on.receive);
    for_half([&](std::uint64_t at, std::uint64_t bytes) {
      add(of(0, on.send) + at, of(1, on.send) + at, to + at, bytes);
    });
  }
  void allreduce(const Call&) {
    std::byte* const theirs = of(1 - rank_, on.receive);
    for_half([&](std::uint64_t at, std::uint64_t bytes) {
      add(of(0, on.send) + at, of(1, on.send) + at, on.receive + at, bytes);
      copy(theirs + at, on.receive + at, bytes);
    });
  }
  void scan(const Call& call) {
    std::byte* const first = of(call, 0, on.send);
    for_half([&](std::uint64_t at, std::uint64_t bytes) {
      copy(of(call, 0, on.receive) + at, first + at, bytes);
      add(first + at, of(call, 1, on.send) + at, of(call, 1, on.receive) + at, bytes);
    });
  }
  void exscan(const Call& call) {
    for_half([&](std::uint64_t at, std::uint64_t bytes) {
      copy(of(call, 1, on.receive) + at, of(call, 0, on.send) + at, bytes);
    });
  }
  /// Each rank has a block for each.
  void reduce_scatter(const Call&) {
    const std::uint64_t block = static_cast<std::uint64_t>(rank_) * on.bytes;
    for_pieces(0, on.bytes, [&](std::uint64_t at, std::uint64_t bytes) {
      add(of(0, on.send) + block + at, of(1, on.send) + block + at, on.receive + at, bytes);
    });
  }

  /// What is in the caches still when it is read again.
  static constexpr std::uint64_t kPiece = 16384;

  const int rank_ = world_rank();
  const std::uint64_t stride_;  ///< between what the two ranks have
  shm::Mapping mapping_;
  HandWritten flags_;
  kernels::CombineInto sum_ = kernels::reduction_kernels(kernels::Operator::sum, kernels::Element::int64).into;

 public:
  Operands on;
};

}  // namespace corewise::bench
