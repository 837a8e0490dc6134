// Barrier, broadcast and allreduce of room coll on shared memory, among the ranks of a real MPI, held against that
// MPI's own: every algorithm of the tables that this port can run, every root, sizes around the buffers' and the
// eager lines' bounds, calls back to back without anything between. Each wrong byte ends the run; rank 0 prints how
// many results were compared.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "coll/allreduce/table.hpp"
#include "coll/barrier/table.hpp"
#include "coll/broadcast/table.hpp"
#include "job.hpp"
#include "kernels/reduce/reduce.hpp"

namespace corewise {
namespace {

using Port = shm::ShmPort;

long compared = 0;

coll::Shape small_shape() {
  coll::Shape shape = coll::Shape::eager(bench::world_size());
  shape.buffer_bytes = 1024;
  shape.buffers = 4;
  shape.atomic_words = 2;
  return shape;
}

/// Bytes: around 12 and 136 (eager), 1024 (a buffer), several buffers and a remainder; multiples of 4.
constexpr std::uint64_t kSizes[] = {0, 4, 12, 16, 124, 128, 136, 140, 512, 1020, 1028, 10004};

std::vector<std::int32_t> words(std::uint64_t bytes, int seed) {
  std::vector<std::int32_t> made(bytes / 4);
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::int32_t>(i * 31 + 7) * (seed + 1);
  return made;
}

void same(const std::vector<std::int32_t>& ours, const std::vector<std::int32_t>& theirs, std::string_view what,
          std::string_view algorithm, std::uint64_t bytes) {
  ++compared;
  if (ours == theirs) return;
  bench::give_up(std::string(what) + " " + std::string(algorithm) + " of " + std::to_string(bytes) +
                 " bytes: differs from the MPI's");
}

template <class Rows>
void for_each_usable(const Rows& rows, const coll::Shape& shape, std::uint64_t bytes, auto visit) {
  coll::Facts facts;
  facts.bytes = bytes;
  for (const auto& row : rows) {
    if (usable(row, shape, facts)) visit(row);
  }
}

void check_broadcasts(bench::Job& job, const coll::Parameters& parameters, std::uint64_t bytes) {
  for_each_usable(coll::broadcast::kRows<Port>, job.rank.shape, bytes, [&](const auto& row) {
    for (int root = 0; root < bench::world_size(); ++root) {
      std::vector<std::int32_t> ours = words(bytes, bench::world_rank());
      std::vector<std::int32_t> theirs = ours;
      coll::Call<Port> call;
      call.send = reinterpret_cast<const std::byte*>(ours.data());
      call.receive = reinterpret_cast<std::byte*>(ours.data());
      call.bytes = bytes;
      call.root = root;
      row.run(job.rank, call, parameters);
      MPI_Bcast(theirs.data(), static_cast<int>(bytes), MPI_BYTE, root, MPI_COMM_WORLD);
      same(ours, theirs, "broadcast", row.name, bytes);
    }
  });
}

void check_allreduces(bench::Job& job, const coll::Parameters& parameters, std::uint64_t bytes) {
  coll::Operation sum;
  sum.combine = kernels::combine_for(kernels::Operator::sum, kernels::Element::int32);
  sum.element_bytes = 4;
  for_each_usable(coll::allreduce::kRows<Port>, job.rank.shape, bytes, [&](const auto& row) {
    const std::vector<std::int32_t> mine = words(bytes, bench::world_rank());
    std::vector<std::int32_t> ours(mine.size()), theirs(mine.size());
    coll::Call<Port> call;
    call.send = reinterpret_cast<const std::byte*>(mine.data());
    call.receive = reinterpret_cast<std::byte*>(ours.data());
    call.bytes = bytes;
    call.operation = &sum;
    row.run(job.rank, call, parameters);
    MPI_Allreduce(mine.data(), theirs.data(), static_cast<int>(mine.size()), MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
    same(ours, theirs, "allreduce", row.name, bytes);
  });
}

/// Nobody leaves before everybody has entered: what the others say they have entered lies in shared memory.
void check_barriers(bench::Job& job, const coll::Parameters& parameters) {
  const shm::Mapping counts = bench::share(4096);
  auto* entered = reinterpret_cast<std::int32_t*>(counts.block().data());
  int call = 0;
  for_each_usable(coll::barrier::kRows<Port>, job.rank.shape, 0, [&](const auto& row) {
    for (int round = 0; round < 50; ++round) {
      ++call;
      std::atomic_ref(entered[bench::world_rank()]).store(call, std::memory_order_release);
      row.run(job.rank, {}, parameters);
      for (int rank = 0; rank < bench::world_size(); ++rank) {
        if (std::atomic_ref(entered[rank]).load(std::memory_order_acquire) < call) {
          bench::give_up("barrier " + std::string(row.name) + ": left before rank " + std::to_string(rank));
        }
      }
      ++compared;
    }
  });
}

}  // namespace
}  // namespace corewise

int main(int argc, char** argv) {
  using namespace corewise;
  MPI_Init(&argc, &argv);
  bench::Job job(small_shape());
  for (const coll::Closing closing : {coll::Closing::barrier, coll::Closing::counters}) {
    for (const int degree : {1, 3}) {
      coll::Parameters parameters;
      parameters.closing = closing;
      parameters.degree = degree;
      if (degree > 1) check_barriers(job, parameters);
      for (const std::uint64_t bytes : kSizes) {
        check_broadcasts(job, parameters, bytes);
        check_allreduces(job, parameters, bytes);
      }
    }
  }
  if (bench::world_rank() == 0) std::printf("compared %ld, process %d\n", compared, static_cast<int>(getpid()));
  MPI_Finalize();
  return 0;
}
