// Call: the arguments of one collective, and the words that every algorithm shares: which collective, where blocks
// lie, the operator, the parameters.
//
// Arguments mean what they mean in MPI (MPI-4.1, chapter 6), with byte counts: what is equal on all ranks there is
// equal here, and what is significant only at the root may be anything elsewhere. `send` is never written.
//
//   broadcast             root: `bytes` at send. Others: receive. The root's receive is not touched.
//   reduce                all: `bytes` at send. Root: receive.
//   allreduce, scan       all: `bytes` at send and at receive. exscan too; rank 0's receive is not touched.
//   gather(v)             all: `bytes` (own block) at send. Root: receive_blocks at receive.
//   scatter(v)            root: send_blocks at send. All: `bytes` (own block) at receive.
//   allgather(v)          all: `bytes` (own block) at send, receive_blocks at receive.
//   alltoall(v)           all: send_blocks at send, receive_blocks at receive.
//   reduce_scatter(_block) all: receive_blocks (of everybody, equal on all ranks) at send; own block at receive.
//
// In place is send == receive where a rank has both in the same arrangement (allreduce, reduce at the root, scan,
// exscan), and send == receive + the own block's offset for gather, allgather, scatter at the root; the own block
// is then not copied. alltoall and reduce_scatter are not called in place.
//
// Data may be strided in the collectives with a root. Byte counts are then those of the data, offsets of blocks
// those of places. As in MPI, what a rank sends and what another receives of it may lie differently, and each rank
// knows its own layouts alone; only in reduce, where MPI wants one type, do all ranks have the same two. An
// algorithm that moves contiguous data only says kContiguous in its row. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "port/port.hpp"

namespace corewise::coll {

enum class Collective : std::uint8_t {
  barrier,
  broadcast,
  reduce,
  allreduce,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  scan,
  exscan,
  reduce_scatter,
  reduce_scatter_block
};

/// A block per rank in a buffer: equal ones side by side, or lists of offsets and sizes in bytes.
struct Blocks {
  std::uint64_t equal = 0;
  const std::uint64_t* offsets = nullptr;
  const std::uint64_t* sizes = nullptr;  ///< null: all are `equal`

  [[nodiscard]] std::uint64_t offset(int rank) const {
    return offsets != nullptr ? offsets[rank] : equal * static_cast<std::uint64_t>(rank);
  }
  [[nodiscard]] std::uint64_t bytes(int rank) const { return sizes != nullptr ? sizes[rank] : equal; }
};

/// A reduction operator on elements of one type. Associative; results are exact for the order in which they are
/// combined, lower ranks on the left (`in`) where it is not commutative.
struct Operation {
  using Combine = void (*)(const std::byte* in, std::byte* inout, std::size_t count);
  using CombineRow = void (*)(std::byte* operands, std::size_t rows, std::size_t count);
  using CombineInto = void (*)(const std::byte* in, const std::byte* other, std::byte* to, std::size_t count);
  using CombineIntoBoth = void (*)(const std::byte* in, const std::byte* other, std::byte* to, std::byte* too,
                                   std::size_t count);
  using UserCombine = void (*)(void* context, const std::byte* in, std::byte* inout, std::size_t count);

  Combine combine = nullptr;   ///< inout = in OP inout; a predefined one (kernels/reduce/reduce.hpp), or
  UserCombine user = nullptr;  ///< the user's, given `context`: called for no more elements than an operand has
  void* context = nullptr;
  /// A predefined one's kernel for many contiguous operands; null beside a user's, and where nobody has
  /// given it: then they are combined two at a time.
  CombineRow combine_row = nullptr;
  /// A predefined one's kernels for results elsewhere; null as combine_row, then operands are copied first.
  CombineInto combine_into = nullptr;
  CombineIntoBoth combine_into_both = nullptr;
  std::uint32_t element_bytes = 1;  ///< extent
  bool commutative = true;
  /// What an SPU spends on a call, whatever it combines: the switches over operator and type, the loop's set-up and
  /// rest. Assumed: all of it is the call's, nothing the operands'. A kernel that takes a row of operands
  /// (combine_row) therefore costs it once, two at a time cost it for each pair. Whoever thinks the assumption too
  /// kind finds what is gained without it in tests/cpp/lab/collectives/test_reduce_on_cell.cpp (a user's operator).
  std::uint32_t set_up_cycles = 0;
  std::uint32_t cycles_per_line = 0;  ///< what an SPU needs to combine 128 bytes; an eighth for each quadword

  /// Counted cycles of a call that combines so many quadwords.
  [[nodiscard]] std::int64_t cycles(std::int64_t quadwords) const {
    return set_up_cycles + (std::int64_t{cycles_per_line} * quadwords + 4) / 8;
  }
  /// in and inout must not overlap; `bytes` is a multiple of element_bytes.
  void operator()(const std::byte* in, std::byte* inout, std::size_t bytes) const {
    const std::size_t count = bytes / element_bytes;
    if (user != nullptr) {
      user(context, in, inout, count);
    } else {
      combine(in, inout, count);
    }
  }
};

/// The operation as a port applies it; it must outlive what was started with it.
inline port::Combination combination(const Operation& operation) {
  const auto run = [](const void* context, const std::byte* theirs, const std::byte* own, std::byte* to,
                      std::byte* too, std::uint32_t bytes) {
    const Operation& op = *static_cast<const Operation*>(context);
    const std::size_t count = bytes / op.element_bytes;
    if (too != nullptr && op.combine_into_both != nullptr) return op.combine_into_both(theirs, own, to, too, count);
    if (op.combine_into != nullptr) {
      op.combine_into(theirs, own, to, count);
    } else {
      if (to != own) std::memcpy(to, own, bytes);
      op(theirs, to, bytes);
    }
    if (too != nullptr) std::memcpy(too, to, bytes);
  };
  return {run, &operation};
}

/// User data that are not contiguous: blocks of `block_bytes`, the next one `stride_bytes` after the last one's
/// start. block_bytes 0: contiguous.
struct Stride {
  std::uint32_t block_bytes = 0;
  std::uint32_t stride_bytes = 0;

  [[nodiscard]] constexpr bool contiguous() const { return block_bytes == 0; }
};

template <port::Port P>
struct Call {
  typename P::ConstUserAddress send{};
  typename P::UserAddress receive{};
  std::uint64_t bytes = 0;
  Blocks send_blocks, receive_blocks;
  int root = 0;
  const Operation* operation = nullptr;
  Stride send_stride, receive_stride;   ///< of what lies at send and at receive, in each block anew
  typename P::UserAddress workspace{};  ///< `bytes` of own user memory, for algorithms that say kWorkspace
  /// Counted cycles of a call of MPI_Send or MPI_Recv, where an algorithm is made of such.
  std::int64_t library_call_cycles = 0;
};

/// How a call ends.
enum class Closing : std::uint8_t {
  barrier,  ///< with a barrier, as the paper's do
  counters  ///< when the rank's own part is done and nobody needs its buffers: serial numbers keep calls apart
};

/// Everything an algorithm may be given; each takes some of these (its table row says which).
struct Parameters {
  int degree = 3;                  ///< of a tree: in each phase those who have tell degree - 1 others; 1: a chain
  std::uint32_t min_piece = 2048;  ///< bytes: least piece that a rank handles
  int far_percent = 100;          ///< of a share: what a rank handles whose data are far from it (port::NearAndFar)
  std::uint32_t shift = 0;        ///< bytes: rank i begins i x shift further on
  std::uint32_t piece_bytes = 0;  ///< bytes moved at a time; 0: as much as a buffer holds
  int buffering = 2;              ///< 1: one buffer, 2: two in turn
  bool ahead = true;              ///< load the next piece before this one is done
  bool child_ahead = false;       ///< fetch the first child's next operand while this one is combined
  bool far_first = false;         ///< of a reducing tree: children in the broadcast's order, large subtrees first
  bool list = false;              ///< by DMA lists
  bool fenced = false;            ///< data and flag under one fence instead of a wait between
  bool waits = false;             ///< wait until a flag's write is complete before going on
  Closing closing = Closing::barrier;
};

}  // namespace corewise::coll
