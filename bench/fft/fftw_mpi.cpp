// FFTW's MPI transform in place, its order natural or transposed.
//
// Usage: fftw_mpi N transposed|natural, and a line of standard input for each transform.
// SPDX-License-Identifier: BSD-3-Clause
#include <fftw3-mpi.h>
#include <mpi.h>

#include <chrono>
#include <complex>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "buffer.hpp"
#include "turns.hpp"

namespace {

/// Whether rank 0 has read another line; the others sleep until then.
bool next_turn(int rank) {
  std::string line;
  int more = rank != 0 || (std::getline(std::cin, line) && line != "end") ? 1 : 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return more == 1;
}

void take_turns(int rank, std::ptrdiff_t n, unsigned order) {
  std::ptrdiff_t rows = 0, first = 0, columns = 0, first_column = 0;
  const std::ptrdiff_t room =
      fftw_mpi_local_size_2d_transposed(n, n, MPI_COMM_WORLD, &rows, &first, &columns, &first_column);
  const fft2d::Buffer values = fft2d::make_buffer(static_cast<std::size_t>(room));
  auto* const place = reinterpret_cast<fftw_complex*>(values.get());
  const fftw_plan plan =
      fftw_mpi_plan_dft_2d(n, n, place, place, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_MEASURE | order);
  if (rank == 0) corewise::bench::tell_ready();
  while (next_turn(rank)) {
    corewise::bench::fill(values.get(), static_cast<std::size_t>(first * n), static_cast<std::size_t>(rows * n));
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = corewise::bench::now_ms();
    fftw_execute(plan);
    double ms = corewise::bench::now_ms() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) corewise::bench::tell(ms);
  }
  fftw_destroy_plan(plan);
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  if (count != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  fftw_mpi_init();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  take_turns(rank, std::atol(words[1]), std::string(words[2]) == "transposed" ? FFTW_MPI_TRANSPOSED_OUT : 0U);
  MPI_Finalize();
  return 0;
}
