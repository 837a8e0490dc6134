// The form for ranks that share memory: two passes over the matrix instead of four or five. Each pass transforms
// a few rows into a scratch that stays in the cache, and turns them from there past the caches into the other
// matrix, so that the next pass finds its columns as rows: nobody ever reads across rows. Inside a node
// communication is the processors' own copying, so there is nothing to hide it behind; this leaves it out.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "engine.hpp"
#include "kernels/copy/copy.hpp"
#include "kernels/transpose/transpose.hpp"
#include "overlap/overlap.hpp"
#include "transform.hpp"

namespace fft2d {
namespace {

using corewise::overlap::Flow;
using corewise::overlap::Stage;

constexpr std::size_t line = 4;  ///< elements

/// Of rows in the cache: no power of two, or they would fight for the cache's ways.
std::size_t scratch_stride(std::size_t elements) {
  return (elements + line - 1) / line * line + line;
}

/// The first element at a line's begin: the library's vectors need it, and copies past the caches.
Complex* at_a_line(void* base) {
  constexpr std::uintptr_t bytes = line * sizeof(Complex);
  return reinterpret_cast<Complex*>((reinterpret_cast<std::uintptr_t>(base) + bytes - 1) / bytes * bytes);
}

/// The matrix of all ranks: in a window where there are several.
class Matrix {
 public:
  Matrix(std::size_t rows, std::size_t columns, std::size_t rank, std::size_t ranks, MPI_Comm comm) {
    if (ranks == 1) {
      alone_ = make_buffer(rows * columns);
      whole_ = mine_ = alone_.get();
      return;
    }
    // Rank 0 has it all, so that rows follow each other without a gap and lines are whole. The standard promises no
    // alignment of a window (Open MPI 4.1.4 begins it at 8 bytes modulo 16), and each rank sees the same place of
    // the page.
    const auto bytes = static_cast<MPI_Aint>((rows * columns + line) * sizeof(Complex));
    void* base = nullptr;
    MPI_Win_allocate_shared(rank == 0 ? bytes : 0, sizeof(Complex), MPI_INFO_NULL, comm, &base, &window_);
    MPI_Aint size = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, 0, &size, &unit, &base);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    whole_ = at_a_line(base);
    mine_ = whole_ + Parts{rows, ranks}.begin(rank) * columns;
  }

  ~Matrix() {
    if (window_ == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  Complex* whole() const { return whole_; }
  Complex* mine() const { return mine_; }

  /// Between writing and reading of different ranks.
  void sync() const { corewise::overlap::check(MPI_Win_sync(window_), "MPI_Win_sync"); }

 private:
  Buffer alone_;
  MPI_Win window_ = MPI_WIN_NULL;
  Complex* whole_ = nullptr;
  Complex* mine_ = nullptr;
};

class Shared final : public Transform {
 public:
  Shared(const Problem& problem, const Settings& settings, MPI_Comm comm)
      : Transform(problem, comm),
        along_rows_(problem.columns, problem.inverse),
        along_columns_(problem.rows, problem.inverse),
        finish_(problem),
        matrix_(problem.rows, problem.columns, rank_, ranks_, comm),
        turned_(problem.columns, problem.rows, rank_, ranks_, comm),
        at_once_(settings.rows_at_once),
        flow_(settings.knobs) {
    const std::size_t longest = scratch_stride(std::max(problem.rows, problem.columns));
    for (int thread = 0; thread <= settings.knobs.workers; ++thread)
      scratch_.push_back(make_buffer(at_once_ * longest));
    plan();
  }

  Complex* input() override { return matrix_.mine(); }
  const Complex* output() const override { return problem_.natural ? matrix_.mine() : turned_.mine(); }
  const Flow* flow() const override { return &flow_; }

  void run() override {
    corewise::overlap::run_or_abort(
        flow_, comm_, [](const auto& failure) { std::fprintf(stderr, "fft2d: %s\n", failure.what()); });
  }

 private:
  void plan() {
    const auto blocks = [this](Parts parts) {
      return static_cast<int>((parts.size(rank_) + at_once_ - 1) / at_once_);
    };
    const Stage first =
        flow_.work("rows", blocks(rows()), [this](int block, int thread) { row_block(block, thread); });
    const Stage second =
        flow_.work("columns", blocks(columns()), [this](int block, int thread) { column_block(block, thread); });
    if (ranks_ == 1) {
      flow_.all_after(second, first);
      return;
    }
    const Stage met = flow_.transfer("meet", 1, meeting());
    flow_.all_after(met, first);
    flow_.all_after(second, met);
    if (problem_.natural) flow_.all_after(flow_.transfer("meet again", 1, meeting()), second);
  }

  /// Everybody's part of the matrices is written.
  corewise::overlap::Transfer meeting() {
    corewise::overlap::Transfer transfer;
    transfer.start = [this](int) {
      matrix_.sync();
      turned_.sync();
      corewise::overlap::Requests requests;
      corewise::overlap::check(MPI_Ibarrier(comm_, requests.add()), "MPI_Ibarrier");
      return [poll = corewise::overlap::Requests::poll(std::move(requests)), this] {
        if (!poll()) return false;
        matrix_.sync();
        turned_.sync();
        return true;
      };
    };
    return transfer;
  }

  struct Block {
    std::size_t first = 0, count = 0;
  };
  Block block_of(Parts parts, int block) const {
    const std::size_t before = static_cast<std::size_t>(block) * at_once_;
    return {parts.begin(rank_) + before, std::min(at_once_, parts.size(rank_) - before)};
  }

  void row_block(int block, int thread) {
    const Block mine = block_of(rows(), block);
    Complex* const scratch = scratch_[static_cast<std::size_t>(thread)].get();
    const std::size_t columns = problem_.columns, stride = scratch_stride(columns);
    along_rows_.run(matrix_.whole() + mine.first * columns, columns, scratch, stride, mine.count);
    corewise::kernels::transpose(
        {turned_.whole() + mine.first, problem_.rows, scratch, stride, mine.count, columns}, true);
  }

  void column_block(int block, int thread) {
    const Block mine = block_of(columns(), block);
    Complex* const scratch = scratch_[static_cast<std::size_t>(thread)].get();
    Complex* const values = turned_.whole() + mine.first * problem_.rows;
    const std::size_t rows = problem_.rows;
    Complex* const to = problem_.natural ? scratch : values;
    const std::size_t stride = problem_.natural ? scratch_stride(rows) : rows;
    along_columns_.run(values, rows, to, stride, mine.count);
    for (std::size_t i = 0; i < mine.count; ++i) finish_.column(to + i * stride, mine.first + i);
    if (problem_.natural)
      corewise::kernels::transpose(
          {matrix_.whole() + mine.first, problem_.columns, scratch, stride, mine.count, rows}, true);
  }

  Engine along_rows_, along_columns_;
  Finish finish_;
  Matrix matrix_;  ///< row by row
  Matrix turned_;  ///< column by column
  std::size_t at_once_;
  std::vector<Buffer> scratch_;
  Flow flow_;
};

}  // namespace

std::unique_ptr<Transform> make_shared_memory(const Problem& problem, const Settings& settings, MPI_Comm comm) {
  MPI_Comm node = MPI_COMM_NULL;
  int ranks = 1, here = 1;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &here);
  MPI_Comm_free(&node);
  MPI_Allreduce(MPI_IN_PLACE, &here, 1, MPI_INT, MPI_MIN, comm);
  if (here != ranks) throw std::invalid_argument("--form shared: all ranks must be on one node");
  return std::make_unique<Shared>(problem, settings, comm);
}

}  // namespace fft2d
