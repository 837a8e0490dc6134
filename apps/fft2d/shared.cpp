// The form for ranks that share memory: two passes over the matrix instead of four or five. The second pass gathers
// a few columns into a scratch that stays in the cache, transforms them there, and writes them where they belong:
// the transpose is part of its reading, and in natural order of its writing, too. Inside a node communication is
// the processors' own copying, so there is nothing to hide it behind; this leaves it out.
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

constexpr std::size_t rows_at_once = 8;
constexpr std::size_t line = 4;  ///< elements

/// The first element at a line's begin: the library's vectors need it, and copies past the caches.
Complex* at_a_line(void* base) {
  constexpr std::uintptr_t bytes = line * sizeof(Complex);
  return reinterpret_cast<Complex*>((reinterpret_cast<std::uintptr_t>(base) + bytes - 1) / bytes * bytes);
}

/// The matrix of all ranks: in a window where there are several.
class Matrix {
 public:
  Matrix(const Problem& problem, Parts rows, std::size_t rank, MPI_Comm comm) {
    if (rows.parts == 1) {
      alone_ = make_buffer(problem.elements());
      whole_ = mine_ = alone_.get();
      return;
    }
    // Rank 0 has it all, so that rows follow each other without a gap and lines are whole. The standard promises no
    // alignment of a window (Open MPI 4.1.4 begins it at 8 bytes modulo 16), and each rank sees the same place of
    // the page.
    const auto bytes = static_cast<MPI_Aint>((problem.elements() + line) * sizeof(Complex));
    void* base = nullptr;
    MPI_Win_allocate_shared(rank == 0 ? bytes : 0, sizeof(Complex), MPI_INFO_NULL, comm, &base, &window_);
    MPI_Aint size = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, 0, &size, &unit, &base);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    whole_ = at_a_line(base);
    mine_ = whole_ + rows.begin(rank) * problem.columns;
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
  MPI_Win window() const { return window_; }

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
        matrix_(problem, rows(), rank_, comm),
        turned_(make_buffer(problem.natural ? 0 : output_elements())),
        at_once_(settings.columns_at_once),
        stride_((problem.rows + line - 1) / line * line + line),
        flow_(settings.knobs) {
    for (int thread = 0; thread <= settings.knobs.workers; ++thread)
      scratch_.push_back(make_buffer(at_once_ * stride_));
    plan();
  }

  Complex* input() override { return matrix_.mine(); }
  const Complex* output() const override { return problem_.natural ? matrix_.mine() : turned_.get(); }
  const Flow* flow() const override { return &flow_; }

  void run() override {
    corewise::overlap::run_or_abort(
        flow_, comm_, [](const auto& failure) { std::fprintf(stderr, "fft2d: %s\n", failure.what()); });
  }

 private:
  void plan() {
    const std::size_t my_rows = rows().size(rank_), my_columns = columns().size(rank_);
    const auto blocks = [](std::size_t items, std::size_t each) {
      return static_cast<int>((items + each - 1) / each);
    };
    const Stage first =
        flow_.work("rows", blocks(my_rows, rows_at_once), [this](int block, int) { row_block(block); });
    const Stage second = flow_.work("columns", blocks(my_columns, at_once_),
                                    [this](int block, int thread) { column_block(block, thread); });
    if (ranks_ == 1) {
      flow_.all_after(second, first);
      return;
    }
    const Stage met = flow_.transfer("meet", 1, meeting());
    flow_.all_after(met, first);
    flow_.all_after(second, met);
    if (problem_.natural) flow_.all_after(flow_.transfer("meet again", 1, meeting()), second);
  }

  /// Everybody's part of the matrix is written.
  corewise::overlap::Transfer meeting() {
    corewise::overlap::Transfer transfer;
    transfer.start = [this](int) {
      corewise::overlap::check(MPI_Win_sync(matrix_.window()), "MPI_Win_sync");
      corewise::overlap::Requests requests;
      corewise::overlap::check(MPI_Ibarrier(comm_, requests.add()), "MPI_Ibarrier");
      return [poll = corewise::overlap::Requests::poll(std::move(requests)), this] {
        if (!poll()) return false;
        corewise::overlap::check(MPI_Win_sync(matrix_.window()), "MPI_Win_sync");
        return true;
      };
    };
    return transfer;
  }

  void row_block(int block) const {
    const std::size_t first = static_cast<std::size_t>(block) * rows_at_once;
    const std::size_t count = std::min(rows_at_once, rows().size(rank_) - first);
    along_rows_.run(matrix_.mine() + first * problem_.columns, count, problem_.columns);
  }

  void column_block(int block, int thread) {
    const std::size_t rows = problem_.rows, columns = problem_.columns;
    const std::size_t place = static_cast<std::size_t>(block) * at_once_;
    const std::size_t count = std::min(at_once_, this->columns().size(rank_) - place);
    const std::size_t first = this->columns().begin(rank_) + place;
    Complex* const scratch = scratch_[static_cast<std::size_t>(thread)].get();
    corewise::kernels::transpose({scratch, stride_, matrix_.whole() + first, columns, rows, count}, false);
    along_columns_.run(scratch, count, stride_);
    for (std::size_t i = 0; i < count; ++i) finish_.column(scratch + i * stride_, first + i);
    if (problem_.natural) {
      corewise::kernels::transpose({matrix_.whole() + first, columns, scratch, stride_, count, rows}, true);
      return;
    }
    for (std::size_t i = 0; i < count; ++i)
      corewise::kernels::copy(turned_.get() + (place + i) * rows, scratch + i * stride_, rows * sizeof(Complex),
                              corewise::kernels::Audience::nobody_soon);
  }

  Engine along_rows_, along_columns_;
  Finish finish_;
  Matrix matrix_;
  Buffer turned_;
  std::size_t at_once_;  ///< columns
  std::size_t stride_;   ///< of the scratch: no power of two, or its columns would fight for the cache's ways
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
