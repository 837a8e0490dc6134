// Two ranks exchange what lies strided in one memory and shall lie strided in the other, by every way there is:
// copied over mapped memory with flags (ours), or by MPI with a datatype, with loops by hand, or with MPI_Pack.
//
// mpiexec -n 2 exchange ROUNDS CASE...   CASE: BLOCK:COUNT:STRIDE in bytes
//
// Every step: both ranks rewrite a word of every line of their source, meet, and are timed from there until both
// directions are done. Ways take turns within a round, the order changing from round to round. Before each case the
// two ranks measure what decides between reading directly and staging, as a transport would once. Rank 0 prints per
// case and way: `BLOCK:COUNT:STRIDE WAY LINE_DENSITY MICROSECONDS...` (one per round, a mean over its steps), per
// case `chosen BLOCK:COUNT:STRIDE WAY` and its costs (StageCosts, ns), then `state BEFORE
// AFTER` (ns from core to core, one way, at both ends of the run) and `foreign SHARE`: what other programs took of
// the processors meanwhile. Exit status 1 when data are wrong. SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "kernels/packing/plans/pack.hpp"
#include "probe/stage_costs.hpp"

namespace {

using corewise::kernels::Layout;
using corewise::kernels::PackPlan;
using corewise::kernels::StageCosts;
using corewise::probe::ExchangeSide;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kItems = std::size_t{20} << 20;
constexpr std::size_t kStage = std::size_t{9} << 20;

/// What a rank shares with its peer.
struct Shared {
  corewise::probe::ExchangeFlags flags;
  alignas(4096) std::byte items[kItems];
  alignas(4096) std::byte stage[kStage];
};

struct Case {
  std::int64_t block = 0, count = 0, stride = 0;
  std::int64_t bytes() const { return block * count; }
};

class Exchange {
 public:
  Exchange(Shared* shared, int rank)
      : mine_{&shared[rank].flags, shared[rank].items, shared[rank].stage},
        peer_{&shared[1 - rank].flags, shared[1 - rank].items, shared[1 - rank].stage},
        rank_(rank) {
    target_.resize(kItems);
    send_.resize(kStage);
    receive_.resize(kStage);
  }

  void begin(const Case& what) {
    case_ = what;
    Layout run;
    run.bytes = what.block;
    Layout blocks;
    blocks.kind = Layout::Kind::repeat;
    blocks.count = what.count;
    blocks.stride = what.stride;
    blocks.children = {run};
    plan_ = std::make_unique<PackPlan>(PackPlan::compile(blocks, what.count * what.stride));
    MPI_Type_create_hvector(static_cast<int>(what.count), static_cast<int>(what.block), what.stride, MPI_BYTE,
                            &type_);
    MPI_Type_commit(&type_);
    costs_ = stage_costs(mine_, peer_, target_.data(), epoch_);
    staged_chosen_ = owner_packs(*plan_, costs_);
  }

  void end() { MPI_Type_free(&type_); }
  double density() const { return plan_->line_density(); }

  const StageCosts& costs() const { return costs_; }
  const char* chosen() const { return staged_chosen_ ? "staged" : "direct"; }

  void meet() { corewise::probe::meet(mine_, peer_); }

  /// Nanoseconds from core to core, one way: the best of some.
  double state() {
    constexpr int kTrips = 2000;
    double best = 1e12;
    for (int i = 0; i < 5; ++i) {
      const auto begin = Clock::now();
      for (int trip = 0; trip < kTrips; ++trip) {
        ping();
      }
      best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kTrips / 2);
    }
    return best;
  }

  /// A word of every line of data, and of every block.
  void rewrite() {
    ++epoch_;
    for (std::int64_t i = 0; i < case_.count; ++i) {
      for (std::int64_t at = 0; at < case_.block; at += 64) {
        std::byte* word = mine_.items + i * case_.stride + at;
        const auto value =
            static_cast<std::uint32_t>(epoch_ * 2654435761U + static_cast<std::uint64_t>(i + at + rank_));
        std::memcpy(word, &value, std::min<std::size_t>(sizeof value, static_cast<std::size_t>(case_.block - at)));
      }
    }
  }

  bool target_is_right() const {
    for (std::int64_t i = 0; i < case_.count; ++i) {
      if (std::memcmp(target_.data() + i * case_.stride, peer_.items + i * case_.stride,
                      static_cast<std::size_t>(case_.block)) != 0) {
        return false;
      }
    }
    return true;
  }

  // The ways. ----------------------------------------------------------------------------------------------------

  void direct() { exchange_direct(*plan_, mine_, peer_, target_.data(), epoch_); }
  void staged() { exchange_staged(*plan_, mine_, peer_, target_.data(), epoch_); }
  /// Whichever of the two the library chooses.
  void ours() { staged_chosen_ ? staged() : direct(); }

  void datatype() {
    MPI_Request request;
    MPI_Irecv(target_.data(), 1, type_, 1 - rank_, 0, MPI_COMM_WORLD, &request);
    MPI_Send(mine_.items, 1, type_, 1 - rank_, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  void by_hand() {
    MPI_Request request;
    const int bytes = static_cast<int>(case_.bytes());
    MPI_Irecv(receive_.data(), bytes, MPI_BYTE, 1 - rank_, 0, MPI_COMM_WORLD, &request);
    hand_pack(send_.data(), mine_.items);
    MPI_Send(send_.data(), bytes, MPI_BYTE, 1 - rank_, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    hand_unpack(target_.data(), receive_.data());
  }

  void mpi_pack() {
    MPI_Request request;
    const int bytes = static_cast<int>(case_.bytes());
    MPI_Irecv(receive_.data(), bytes, MPI_PACKED, 1 - rank_, 0, MPI_COMM_WORLD, &request);
    int place = 0;
    MPI_Pack(mine_.items, 1, type_, send_.data(), bytes, &place, MPI_COMM_WORLD);
    MPI_Send(send_.data(), place, MPI_PACKED, 1 - rank_, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    place = 0;
    MPI_Unpack(receive_.data(), bytes, &place, target_.data(), 1, type_, MPI_COMM_WORLD);
  }

 private:
  /// There and back.
  void ping() {
    ++epoch_;
    if (rank_ == 0) {
      mine_.flags->ready.set(epoch_);
    }
    peer_.flags->ready.await(epoch_);
    if (rank_ == 1) {
      mine_.flags->ready.set(epoch_);
    }
  }

  template <std::size_t N>
  void words(std::byte* to, const std::byte* from, std::int64_t to_stride, std::int64_t from_stride) const {
    for (std::int64_t i = 0; i < case_.count; ++i) {
      std::array<double, N / 8> block;
      std::memcpy(&block, from + i * from_stride, N);
      std::memcpy(to + i * to_stride, &block, N);
    }
  }

  void hand(std::byte* to, const std::byte* from, std::int64_t to_stride, std::int64_t from_stride) const {
    switch (case_.block) {
      case 8:
        return words<8>(to, from, to_stride, from_stride);
      case 16:
        return words<16>(to, from, to_stride, from_stride);
      case 32:
        return words<32>(to, from, to_stride, from_stride);
      case 64:
        return words<64>(to, from, to_stride, from_stride);
      case 128:
        return words<128>(to, from, to_stride, from_stride);
      default:
        for (std::int64_t i = 0; i < case_.count; ++i) {
          std::memcpy(to + i * to_stride, from + i * from_stride, static_cast<std::size_t>(case_.block));
        }
    }
  }

  void hand_pack(std::byte* packed, const std::byte* items) const {
    hand(packed, items, case_.block, case_.stride);
  }
  void hand_unpack(std::byte* items, const std::byte* packed) const {
    hand(items, packed, case_.stride, case_.block);
  }

  ExchangeSide mine_, peer_;
  int rank_;
  StageCosts costs_;
  bool staged_chosen_ = false;
  std::uint64_t epoch_ = 0;
  Case case_;
  std::unique_ptr<PackPlan> plan_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::vector<std::byte> target_, send_, receive_;
};

struct Way {
  const char* name;
  void (Exchange::*run)();
};

constexpr std::array<Way, 6> kWays{{{"ours", &Exchange::ours},
                                    {"direct", &Exchange::direct},
                                    {"staged", &Exchange::staged},
                                    {"datatype", &Exchange::datatype},
                                    {"hand", &Exchange::by_hand},
                                    {"mpi-pack", &Exchange::mpi_pack}}};

/// Mean microseconds of a few steps.
double steps(Exchange& exchange, const Way& way, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    exchange.rewrite();
    exchange.meet();
    const auto begin = Clock::now();
    (exchange.*way.run)();
    sum += std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    exchange.meet();
  }
  return sum / count;
}

void mpi_check(bool right, const Case& what, const char* way) {
  if (!right) {
    std::fprintf(stderr, "wrong data: blocks of %ld bytes by %s\n", static_cast<long>(what.block), way);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

void measure(Exchange& exchange, const Case& what, int rounds, int rank) {
  exchange.begin(what);
  std::array<std::vector<double>, kWays.size()> times;
  const int count = static_cast<int>(std::clamp<std::int64_t>(262144 / what.bytes(), 1, 8));
  for (int round = -2; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < kWays.size(); ++turn) {
      const std::size_t way = (turn + static_cast<std::size_t>(round + 2)) % kWays.size();
      const double time = steps(exchange, kWays[way], count);
      mpi_check(exchange.target_is_right(), what, kWays[way].name);
      exchange.meet();
      if (round >= 0) {
        times[way].push_back(time);
      }
    }
  }
  for (std::size_t way = 0; rank == 0 && way < kWays.size(); ++way) {
    std::printf("%ld:%ld:%ld %s %.3f", static_cast<long>(what.block), static_cast<long>(what.count),
                static_cast<long>(what.stride), kWays[way].name, exchange.density());
    for (const double time : times[way]) {
      std::printf(" %.3f", time);
    }
    std::printf("\n");
  }
  if (rank == 0) {
    const StageCosts& costs = exchange.costs();
    std::printf("chosen %ld:%ld:%ld %s", static_cast<long>(what.block), static_cast<long>(what.count),
                static_cast<long>(what.stride), exchange.chosen());
    for (const StageCosts::Way& way : {costs.direct, costs.stage}) {
      std::printf(" %.2f %.2f %.2f", way.data, way.line, way.page);
    }
    std::printf("\n");
  }
  exchange.end();
}

/// Memory that both ranks map.
Shared* map_shared(int rank) {
  std::array<char, 64> name{};
  if (rank == 0) {
    std::snprintf(name.data(), name.size(), "/corewise-exchange-%d", static_cast<int>(getpid()));
    const int file = shm_open(name.data(), O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, 2 * sizeof(Shared)) != 0) {
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    close(file);
  }
  MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  const int file = shm_open(name.data(), O_RDWR, 0600);
  void* memory = mmap(nullptr, 2 * sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    shm_unlink(name.data());
  }
  if (memory == MAP_FAILED) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return static_cast<Shared*>(memory);
}

/// Processor seconds: used by all programs, and by this one.
double used_by_all() {
  std::ifstream file("/proc/stat");
  std::string word;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft = 0;
  file >> word >> user >> nice >> system >> idle >> waiting >> irq >> soft;
  return (user + nice + system + irq + soft) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double used_here() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void bind_to_processor(int rank) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> all;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) {
      all.push_back(cpu);
    }
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(all[static_cast<std::size_t>(rank) % all.size()], &one);
  sched_setaffinity(0, sizeof one, &one);
}

}  // namespace

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bind_to_processor(rank);
  Exchange exchange(map_shared(rank), rank);
  const double before = exchange.state();
  const auto begin = Clock::now();
  const double all = used_by_all();
  const double here = used_here();
  for (int i = 2; i < count; ++i) {
    long block = 0, blocks = 0, stride = 0;
    std::sscanf(arguments[i], "%ld:%ld:%ld", &block, &blocks, &stride);
    measure(exchange, {block, blocks, stride}, std::atoi(arguments[1]), rank);
  }
  double own = used_here() - here;
  const double after = exchange.state();
  MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (rank == 0) {
    const double foreign =
        (used_by_all() - all - own) / (seconds * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)));
    std::printf("state %.1f %.1f\n", before, after);
    std::printf("foreign %.4f\n", std::max(0.0, foreign));
  }
  MPI_Finalize();
  return 0;
}
