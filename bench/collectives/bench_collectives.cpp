// One run among the ranks of MPI_COMM_WORLD: barrier, broadcast, allreduce of corewise on shared memory, of the MPI
// it is compiled with, and by hand where there is a floor. In every round each contestant in turn, the order
// changing from round to round.
//
// Usage: bench_collectives ROUNDS CALLS CASE..., a case being COLLECTIVE:BYTES:ALGORITHM[:NAME=VALUE...], the
// algorithm and parameters ours (room coll). Prints per case and round: "case <index> <ours ns> <mpi ns> <floor ns
// or 0>".
//
// Barriers and allreduces of 8 bytes are timed back to back (their floors are), each rank from a line-up on, the
// slowest rank counting; everything else call by call, each after a barrier, the slowest rank of each call, then
// the median of the calls. Those barriers are corewise's and the MPI's in turn, the same for every contestant: a
// barrier leaves its own flags in the caches, so that either alone would favour one. Sources are written anew
// before every call; results are checked.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "hand_written.hpp"
#include "job.hpp"
#include "ours.hpp"

namespace corewise::bench {
namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

struct Case {
  std::string collective;
  std::uint64_t bytes = 0;
  std::string algorithm;
  coll::Parameters parameters;
};

Case parse(const std::string& text) {
  std::istringstream fields(text);
  std::string field;
  Case made;
  std::getline(fields, made.collective, ':');
  std::getline(fields, field, ':');
  made.bytes = std::strtoull(field.c_str(), nullptr, 10);
  std::getline(fields, made.algorithm, ':');
  made.parameters.closing = coll::Closing::counters;
  while (std::getline(fields, field, ':')) {
    if (!set(made.parameters, field)) give_up("no such parameter: " + field);
  }
  return made;
}

/// What the ranks work on: words that every call changes.
struct Data {
  explicit Data(std::uint64_t bytes) : send((bytes + 7) / 8), receive(send.size()) {}
  std::vector<std::int64_t> send, receive;

  void write(int call, int rank) {
    for (std::size_t i = 0; i < send.size(); ++i) send[i] = static_cast<std::int64_t>(i) * 3 + call * 7 + rank;
  }
  [[nodiscard]] std::int64_t sum_at(std::size_t i, int call) const {
    const std::int64_t ranks = world_size();
    return ranks * (static_cast<std::int64_t>(i) * 3 + call * 7) + ranks * (ranks - 1) / 2;
  }
};

class Bench {
 public:
  Bench(int rounds, int calls, coll::Shape shape)
      : rounds_(rounds),
        calls_(calls),
        job_(shape),
        lines_(share(sizeof(HandWrittenLines))),
        by_hand_(lines_.block().data(), world_rank() % 2),
        ours_(job_.rank) {}

  void run(int index, const Case& the_case) {
    case_ = &the_case;
    ours_.use(the_case.collective, the_case.algorithm, the_case.parameters);
    data_.emplace(the_case.bytes);
    const std::vector<std::function<double()>> contestants = contestants_of(the_case);
    for (const auto& warm_up : contestants) warm_up();
    for (int round = 0; round < rounds_; ++round) {
      std::vector<double> ns(3, 0);
      for (std::size_t turn = 0; turn < contestants.size(); ++turn) {
        const std::size_t who = (static_cast<std::size_t>(round) + turn) % contestants.size();
        ns[who] = contestants[who]();
      }
      if (world_rank() == 0) std::printf("case %d %.1f %.1f %.1f\n", index, ns[0], ns[1], ns[2]);
    }
  }

 private:
  using Operation = std::function<void(int call)>;

  std::vector<std::function<double()>> contestants_of(const Case& the_case) {
    const bool pair = world_size() == 2;
    if (the_case.collective == "barrier") {
      std::vector<std::function<double()>> all = {back_to_back([this](int) { ours_.barrier(); }),
                                                  back_to_back([](int) { MPI_Barrier(MPI_COMM_WORLD); })};
      if (pair) all.push_back(back_to_back([this](int) { by_hand_.barrier(); }));
      return all;
    }
    if (the_case.collective == "allreduce" && the_case.bytes == 8) {
      std::vector<std::function<double()>> all = {
          back_to_back([this](int call) { small_sum(call, [this] { our_allreduce(); }); }),
          back_to_back([this](int call) { small_sum(call, [this] { mpi_allreduce(); }); })};
      if (pair) {
        all.push_back(back_to_back(
            [this](int call) { small_sum(call, [this] { data_->receive[0] = by_hand_.sum(data_->send[0]); }); }));
      }
      return all;
    }
    if (the_case.collective == "allreduce") {
      return {call_by_call([this] { our_allreduce(); }), call_by_call([this] { mpi_allreduce(); })};
    }
    return {call_by_call([this] { our_broadcast(); }), call_by_call([this] { mpi_broadcast(); })};
  }

  void our_allreduce() { ours_.allreduce(data_->send.data(), data_->receive.data(), case_->bytes); }
  void mpi_allreduce() {
    MPI_Allreduce(data_->send.data(), data_->receive.data(), static_cast<int>(case_->bytes / 8), MPI_INT64_T,
                  MPI_SUM, MPI_COMM_WORLD);
  }
  void our_broadcast() { ours_.broadcast(buffer(), case_->bytes); }
  void mpi_broadcast() { MPI_Bcast(buffer(), static_cast<int>(case_->bytes), MPI_BYTE, 0, MPI_COMM_WORLD); }
  /// The root broadcasts what it wrote, the others receive.
  void* buffer() { return world_rank() == 0 ? data_->send.data() : data_->receive.data(); }

  template <class Sum>
  void small_sum(int call, Sum sum) {
    data_->send[0] = call * 7 + world_rank();
    sum();
    if (data_->receive[0] != data_->sum_at(0, call)) give_up("allreduce of 8 bytes: wrong sum");
  }

  std::function<double()> back_to_back(Operation operation) {
    return [this, operation] {
      const int calls = calls_ * 10;
      MPI_Barrier(MPI_COMM_WORLD);
      operation(0);
      const auto start = Clock::now();
      for (int call = 0; call < calls; ++call) operation(call);
      double ns = ns_since(start) / calls;
      double slowest = 0;
      MPI_Reduce(&ns, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      return slowest;
    };
  }

  std::function<double()> call_by_call(std::function<void()> operation) {
    return [this, operation] {
      // Long calls are few: about as many bytes a round for every size.
      const int calls =
          std::clamp(static_cast<int>(std::uint64_t{64} * 1024 * 1024 / (case_->bytes + 1)), 5, calls_);
      std::vector<double> ns(static_cast<std::size_t>(calls)), slowest(ns.size());
      for (int call = 0; call < calls; ++call) {
        data_->write(call, case_->collective == "broadcast" ? 0 : world_rank());
        line_up(call);
        const auto start = Clock::now();
        operation();
        ns[static_cast<std::size_t>(call)] = ns_since(start);
        check(call);
      }
      MPI_Reduce(ns.data(), slowest.data(), calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      std::nth_element(slowest.begin(), slowest.begin() + calls / 2, slowest.end());
      return slowest[static_cast<std::size_t>(calls / 2)];
    };
  }

  void line_up(int call) {
    if (call % 2 == 0) {
      job_.rank.closing_barrier();
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }

  void check(int call) {
    const bool broadcast = case_->collective == "broadcast";
    if (broadcast && world_rank() == 0) return;
    for (std::size_t i = 0; i < case_->bytes / 8; ++i) {
      const std::int64_t wanted = broadcast ? static_cast<std::int64_t>(i) * 3 + call * 7 : data_->sum_at(i, call);
      if (data_->receive[i] != wanted) give_up(case_->collective + " " + case_->algorithm + ": wrong data");
    }
  }

  int rounds_, calls_;
  Job job_;
  shm::Mapping lines_;
  HandWritten by_hand_;
  Ours ours_;
  const Case* case_ = nullptr;
  std::optional<Data> data_;
};

}  // namespace
}  // namespace corewise::bench

int main(int argc, char** argv) {
  using namespace corewise::bench;
  MPI_Init(&argc, &argv);
  if (argc < 4) give_up("usage: bench_collectives ROUNDS CALLS CASE...");
  Bench bench(std::atoi(argv[1]), std::atoi(argv[2]), host_shape(world_size()));
  for (int index = 3; index < argc; ++index) bench.run(index - 3, parse(argv[index]));
  MPI_Finalize();
  return 0;
}
