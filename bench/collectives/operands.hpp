// What the ranks work on: a buffer to send and one to receive, of as many blocks as there are ranks, at chosen
// places within a page; side by side, or in runs of some bytes with gaps as long behind them. One word of every 64
// bytes that are sent changes with every call: no line is what it was.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "world.hpp"

namespace corewise::bench {

inline constexpr std::uint64_t kLine = 64;
inline constexpr std::uint64_t kPage = 4096;

/// Bytes after the beginning of a page; multiples of eight.
struct Offsets {
  std::uint64_t send = 0;
  std::uint64_t receive = 0;
};

/// What arrives in a block: the sum of a block of each of some ranks.
struct Sum {
  int first = 0;
  int last = 0;  ///< one past
  int block = 0;
};

/// Where a program has its data: in memory of its own, or of MPI_Alloc_mem.
enum class From { program, mpi };

/// Zeroed memory.
class Memory {
 public:
  Memory(std::uint64_t bytes, From from) : from_(from), own_(from == From::program ? bytes : 0) {
    at_ = own_.data();
    if (from == From::program) return;
    if (MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, static_cast<void*>(&at_)) != MPI_SUCCESS)
      give_up("MPI_Alloc_mem: no memory");
    std::memset(at_, 0, bytes);
  }
  /// Somebody else's.
  explicit Memory(std::byte* at) : at_(at) {}
  Memory(Memory&& other) noexcept
      : from_(std::exchange(other.from_, From::program)),
        own_(std::move(other.own_)),
        at_(std::exchange(other.at_, nullptr)) {}
  Memory& operator=(Memory&&) = delete;
  ~Memory() {
    if (from_ == From::mpi) MPI_Free_mem(at_);
  }
  [[nodiscard]] std::byte* data() const { return at_; }

 private:
  From from_ = From::program;
  std::vector<std::byte> own_;
  std::byte* at_ = nullptr;
};

class Operands {
 public:
  /// Of `sent` blocks of `block_bytes`, of which as many arrive as there are ranks, at most. `run`: 0 without gaps,
  /// else it divides `block_bytes`.
  Operands(std::uint64_t block_bytes, int sent, From from = From::program, std::uint64_t run = 0)
      : Operands(block_bytes, sent, run, Memory(room(block_bytes, run), from),
                 Memory(room(block_bytes, run), from)) {}
  /// In zeroed memory of two rooms that is there.
  Operands(std::uint64_t block_bytes, int sent, std::byte* at)
      : Operands(block_bytes, sent, 0, Memory(at), Memory(at + room(block_bytes))) {}
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  ~Operands() {
    if (run_ > 0) MPI_Type_free(&moved_);
  }

  /// What a buffer takes, wherever in a page it begins.
  static std::uint64_t room(std::uint64_t block_bytes, std::uint64_t run = 0) {
    const std::uint64_t step = run > 0 ? 2 * block_bytes : block_bytes;
    const std::uint64_t bytes_of_all = step * static_cast<std::uint64_t>(world_size()) + 2 * kPage;
    if (bytes_of_all > INT_MAX) give_up("blocks: too many bytes");
    return bytes_of_all;
  }

  /// Both buffers lie at other places; what is sent has all the words that calls do not change.
  void lie(Offsets offsets) {
    send = place(send_, offsets.send);
    receive = place(receive_, offsets.receive);
    for (int block = 0; block < sent_; ++block)
      for (int i = 0; i < elements; ++i) put(block, i, value(rank_, block, i, 0));
  }

  /// Before a call.
  void write(int call) {
    const int step = line_elements();
    for (int block = 0; block < sent_; ++block)
      for (int i = 0; i < elements; i += step) put(block, i, value(rank_, block, i, call));
  }

  /// After it, one word of every line.
  [[nodiscard]] bool holds(int block, Sum sum, int call) const {
    for (int i = 0; i < elements; i += line_elements()) {
      std::int64_t wanted = 0;
      for (int rank = sum.first; rank < sum.last; ++rank) wanted += value(rank, sum.block, i, call);
      if (std::memcmp(receive + place_of(block, i), &wanted, width_) != 0) return false;
    }
    return true;
  }

  /// Of the elements that are combined.
  [[nodiscard]] MPI_Datatype type() const {
    return width_ == 8 ? MPI_INT64_T : width_ == 4 ? MPI_INT32_T : width_ == 2 ? MPI_INT16_T : MPI_INT8_T;
  }
  /// How blocks are moved: so many items of a type.
  [[nodiscard]] int items() const { return run_ > 0 ? 1 : static_cast<int>(bytes); }
  [[nodiscard]] MPI_Datatype moved() const { return moved_; }

  const std::uint64_t bytes;  ///< of a block

 private:
  const int rank_ = world_rank();
  const int ranks_ = world_size();
  const int sent_;
  const std::uint64_t run_;
  const std::uint64_t width_;

 public:
  const int elements;  ///< of a block
  std::byte* send = nullptr;
  std::byte* receive = nullptr;
  std::vector<int> counts, places, element_counts;  ///< of equal blocks, one after the other

 private:
  Operands(std::uint64_t block_bytes, int sent, std::uint64_t run, Memory&& sends, Memory&& receives)
      : bytes(block_bytes),
        sent_(sent),
        run_(run),
        width_(run > 0 ? width_of(run) : width_of(bytes)),
        elements(static_cast<int>(bytes / width_)),
        send_(std::move(sends)),
        receive_(std::move(receives)) {
    for (int rank = 0; rank < ranks_; ++rank) {
      counts.push_back(items());
      places.push_back(rank * items());
      element_counts.push_back(elements);
    }
    if (run_ == 0) return;
    MPI_Datatype rows = MPI_DATATYPE_NULL;
    const int length = static_cast<int>(run_);
    MPI_Type_vector(static_cast<int>(bytes / run_), length, 2 * length, MPI_BYTE, &rows);
    MPI_Type_create_resized(rows, 0, static_cast<MPI_Aint>(2 * bytes), &moved_);
    MPI_Type_commit(&moved_);
    MPI_Type_free(&rows);
  }
  /// Of the elements in which so many bytes are written.
  static std::uint64_t width_of(std::uint64_t bytes) { return bytes % 8 == 0 ? 8 : bytes & (~bytes + 1); }
  static std::byte* place(const Memory& buffer, std::uint64_t offset) {
    const auto first = reinterpret_cast<std::uintptr_t>(buffer.data());
    return buffer.data() + (kPage - first % kPage) % kPage + offset % kPage;
  }

  [[nodiscard]] int line_elements() const { return static_cast<int>(kLine / width_); }
  [[nodiscard]] std::uint64_t place_of(int block, int i) const {
    const std::uint64_t at = static_cast<std::uint64_t>(block) * bytes + static_cast<std::uint64_t>(i) * width_;
    return run_ > 0 ? at + at / run_ * run_ : at;
  }

  /// Sums over all ranks fit into an element.
  [[nodiscard]] std::int64_t value(int rank, int block, int i, int call) const {
    const std::int64_t changing = i % line_elements() == 0 ? call * 11 : 0;
    const std::int64_t plain = rank * 5 + block * 3 + i + changing;
    return width_ == 8 ? plain : plain % (((std::int64_t{1} << (8 * width_ - 1)) - 1) / ranks_);
  }

  /// The low bytes of the value: machines here are little-endian.
  void put(int block, int i, std::int64_t value) {
    std::byte* const at = send + place_of(block, i);
    if (width_ == 8) {
      std::memcpy(at, &value, 8);
    } else {
      std::memcpy(at, &value, width_);
    }
  }

  Memory send_, receive_;
  MPI_Datatype moved_ = MPI_BYTE;
};

}  // namespace corewise::bench
