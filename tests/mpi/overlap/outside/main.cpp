// Each rank squares the numbers of its blocks, sends every block to the next rank as soon as it is done, and adds
// up what it gets. Prints the sum over all ranks.
//
// Usage: outside BLOCKS dedicated|mixed worker|communicator [fail]. With `fail` the last rank's communicator
// throws. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "overlap/overlap.hpp"

namespace overlap = corewise::overlap;

constexpr int numbers = 1000;  // of a block
using Block = std::vector<double>;

int main(int count, char** words) {
  if (count < 4) return 2;
  int level = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int blocks = std::atoi(words[1]);
  const bool fails = count > 4 && rank == ranks - 1;

  overlap::Knobs knobs;
  knobs.workers = 2;
  knobs.role = *overlap::named<overlap::Role>(overlap::role_names, words[2]);
  knobs.packer = *overlap::named<overlap::Packer>(overlap::packer_names, words[3]);

  const auto many = static_cast<std::size_t>(blocks);
  std::vector<Block> mine(many, Block(numbers)), packed(many), theirs(many, Block(numbers));
  std::vector<double> sums(many);
  overlap::Flow flow(knobs);
  const auto squares = flow.work("squares", blocks, [&](int block, int) {
    for (int i = 0; i < numbers; ++i)
      mine[static_cast<std::size_t>(block)][static_cast<std::size_t>(i)] = i * i + rank;
  });
  overlap::Transfer shift;
  shift.pack = [&](int block, int) {
    packed[static_cast<std::size_t>(block)] = mine[static_cast<std::size_t>(block)];
  };
  shift.start = [&](int block) {
    if (fails && block == blocks / 2) throw std::runtime_error("the communicator has lost its way");
    const auto index = static_cast<std::size_t>(block);
    overlap::Requests requests;
    overlap::check(MPI_Irecv(theirs[index].data(), numbers, MPI_DOUBLE, (rank + ranks - 1) % ranks, block,
                             MPI_COMM_WORLD, requests.add()),
                   "MPI_Irecv");
    overlap::check(MPI_Isend(packed[index].data(), numbers, MPI_DOUBLE, (rank + 1) % ranks, block, MPI_COMM_WORLD,
                             requests.add()),
                   "MPI_Isend");
    return overlap::Requests::poll(std::move(requests));
  };
  const auto moved = flow.transfer("shift", blocks, std::move(shift));
  const auto sum = flow.work("sums", blocks, [&](int block, int) {
    const Block& got = theirs[static_cast<std::size_t>(block)];
    sums[static_cast<std::size_t>(block)] = std::accumulate(got.begin(), got.end(), 0.0);
  });
  flow.each_after(moved, squares);
  flow.each_after(sum, moved);
  overlap::run_or_abort(flow, MPI_COMM_WORLD, [rank](const overlap::Failure& failure) {
    std::fprintf(stderr, "outside: rank %d: %s\n", rank, failure.what());
  });

  double all = std::accumulate(sums.begin(), sums.end(), 0.0);
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("sum %.0f\n", all);
  MPI_Finalize();
  return 0;
}
