// What a program itself knows of its messages: bytes and number sent to each rank of MPI_COMM_WORLD.
//
// Owns this rank's row and, on rank 0, the file. The rows meet in one MPI_Gather, so that writing the matrix
// adds no point-to-point message to the ones that were counted.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

class Traffic {
 public:
  /// Collective. Opens `path` on rank 0 (an empty path: nothing will be written).
  explicit Traffic(const std::string& path) {
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    row_.resize(static_cast<std::size_t>(ranks_));
    wanted_ = !path.empty();
    if (wanted_ && rank_ == 0) file_.open(path);
  }

  /// Collective: true on every rank where the file is fit to be written, so far.
  [[nodiscard]] bool good() const {
    int good = !wanted_ || rank_ != 0 || file_.good();
    MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return good != 0;
  }

  void count(int to, std::size_t size_bytes) {
    row_[static_cast<std::size_t>(to)].bytes += size_bytes;
    row_[static_cast<std::size_t>(to)].messages += 1;
  }

  /// Collective. One line for every ordered pair of ranks, silent ones too; good() tells whether it succeeded.
  void write() {
    if (!wanted_) return;
    const std::size_t pairs = rank_ == 0 ? row_.size() * row_.size() : 0;
    std::vector<Sent> matrix(pairs);
    const int fields = kFields * ranks_;
    MPI_Gather(row_.data(), fields, MPI_UINT64_T, matrix.data(), fields, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank_ != 0) return;
    file_ << "from,to,bytes,count\n";
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      file_ << pair / row_.size() << ',' << pair % row_.size() << ',' << matrix[pair].bytes << ','
            << matrix[pair].messages << '\n';
    }
    file_.close();
  }

 private:
  struct Sent {
    std::uint64_t bytes = 0;
    std::uint64_t messages = 0;
  };
  static constexpr int kFields = 2;
  static_assert(sizeof(Sent) == kFields * sizeof(std::uint64_t));

  int ranks_ = 0;
  int rank_ = 0;
  bool wanted_ = false;
  std::vector<Sent> row_;
  std::ofstream file_;
};
