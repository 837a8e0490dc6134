// The blocking transpose over ranks.
// SPDX-License-Identifier: BSD-3-Clause
#include "turning.hpp"

#include <algorithm>
#include <thread>

#include "kernels/transpose/transpose.hpp"
#include "overlap/mpi.hpp"
#include "overlap/timeline.hpp"

namespace fft2d {

Turning::Turning(std::size_t rows, std::size_t columns, MPI_Comm comm, corewise::overlap::Wire wire, bool silent)
    : comm_(comm), wire_(wire), silent_(silent) {
  int ranks = 1, rank = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  ranks_ = static_cast<std::size_t>(ranks);
  rank_ = static_cast<std::size_t>(rank);
  rows_ = {rows, ranks_};
  columns_ = {columns, ranks_};
  int sent = 0, received = 0;
  for (std::size_t peer = 0; peer < ranks_; ++peer) {
    send_counts_.push_back(static_cast<int>(rows_.size(rank_) * columns_.size(peer)));
    receive_counts_.push_back(static_cast<int>(rows_.size(peer) * columns_.size(rank_)));
    send_places_.push_back(sent);
    receive_places_.push_back(received);
    sent += send_counts_.back();
    received += receive_counts_.back();
  }
  packed_ = make_buffer(static_cast<std::size_t>(sent));
  received_ = make_buffer(static_cast<std::size_t>(received));
}

void Turning::run(const Complex* rows, Complex* columns) {
  pack(rows);
  exchange();
  transpose_into(columns);
}

void Turning::pack(const Complex* rows) {
  for (std::size_t peer = 0; peer < ranks_; ++peer) {
    Complex* to = packed_.get() + send_places_[peer];
    for (std::size_t row = 0; row < rows_.size(rank_); ++row, to += columns_.size(peer))
      std::copy_n(rows + row * columns_.items + columns_.begin(peer), columns_.size(peer), to);
  }
}

void Turning::exchange() {
  if (silent_) return;
  const auto others = static_cast<double>(rows_.size(rank_) * (columns_.items - columns_.size(rank_)));
  const std::int64_t arrival_ns = wire_.is_slow() ? wire_.send(others * sizeof(Complex)) : 0;
  corewise::overlap::check(
      MPI_Alltoallv(packed_.get(), send_counts_.data(), send_places_.data(), MPI_C_DOUBLE_COMPLEX, received_.get(),
                    receive_counts_.data(), receive_places_.data(), MPI_C_DOUBLE_COMPLEX, comm_),
      "MPI_Alltoallv");
  while (wire_.is_slow() && corewise::overlap::now_ns() < arrival_ns) std::this_thread::yield();
}

void Turning::transpose_into(Complex* columns) const {
  const std::size_t mine = columns_.size(rank_);
  for (std::size_t peer = 0; peer < ranks_; ++peer)
    corewise::kernels::transpose({columns + rows_.begin(peer), rows_.items, received_.get() + receive_places_[peer],
                                  mine, rows_.size(peer), mine},
                                 true);
}

}  // namespace fft2d
