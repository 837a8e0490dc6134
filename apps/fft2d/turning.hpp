// The blocking transpose of a matrix that is spread over ranks: pack, all-to-all, transpose (paper 004, section 8).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "buffer.hpp"
#include "overlap/wire.hpp"
#include "problem.hpp"

namespace fft2d {

class Turning {
 public:
  /// Of a matrix of rows x columns, each split over the ranks of `comm`.
  Turning(std::size_t rows, std::size_t columns, MPI_Comm comm, corewise::overlap::Wire wire, bool silent);

  /// From this rank's rows to its columns as rows.
  void run(const Complex* rows, Complex* columns);

 private:
  void pack(const Complex* rows);
  void exchange();
  void transpose_into(Complex* columns) const;

  Parts rows_, columns_;
  MPI_Comm comm_;
  std::size_t ranks_ = 1, rank_ = 0;
  corewise::overlap::Wire wire_;
  bool silent_;
  std::vector<int> send_counts_, send_places_, receive_counts_, receive_places_;
  Buffer packed_, received_;
};

}  // namespace fft2d
