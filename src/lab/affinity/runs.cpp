// The programs behind runs.hpp. Local store of every rank: data from kSource (64 KB, or a collective's
// 128 KB buffer) and kDestination on; the port's control lines at the top.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/affinity/runs.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "cell/port.hpp"
#include "cell/spe/spu.hpp"
#include "cell/system.hpp"
#include "coll/barrier/pairwise_exchange.hpp"

namespace corewise::lab {
namespace {

using cell::CellPort;
using cell::EffectiveAddress;
using cell::LsAddress;
using cell::Spu;
using Barrier = coll::barrier::PairwiseExchange<CellPort>;

constexpr LsAddress kSource = 0x10000;
constexpr LsAddress kDestination = 0x20000;
constexpr LsAddress kBuffer = 0x10000;
constexpr std::uint32_t kQuadword = 16;
constexpr std::uint32_t kDataTag = 0;
constexpr std::uint32_t kFlagTag = 1;
constexpr std::uint32_t kBarrierTag = 2;
constexpr std::uint64_t kMostStartCycles = 3200;  // threads of one launch are at work within a microsecond or so

void await(Spu& spu, std::uint32_t tag) {
  spu.mfc_write_tag_mask(1U << tag);
  spu.mfc_read_tag_status_all();
}

/// One message: as many non-blocking commands as it takes, awaited together.
void get_message(Spu& spu, LsAddress to, EffectiveAddress from, std::uint32_t bytes) {
  for (std::uint32_t done = 0; done < bytes; done += cell::kMaxDmaBytes) {
    spu.mfc_get(to + done, from + done, std::min(cell::kMaxDmaBytes, bytes - done), kDataTag);
  }
  await(spu, kDataTag);
}

class Timer {
 public:
  Timer(Spu& spu, const cell::Parameters& parameters, Clock clock)
      : spu_(spu), parameters_(parameters), clock_(clock), began_cycles_(spu.now()) {
    if (clock == Clock::decrementer) began_count_ = spu.spu_read_decrementer();
  }
  /// Nanoseconds since the construction; at least one tick of the clock.
  [[nodiscard]] double elapsed_ns() {
    if (clock_ == Clock::cycles) {
      return static_cast<double>(std::max<sim::Time>(1, spu_.now() - began_cycles_)) / parameters_.core_clock_ghz;
    }
    const std::uint32_t ticks = began_count_ - spu_.spu_read_decrementer();  // it counts down
    return static_cast<double>(std::max<std::uint32_t>(1, ticks)) / parameters_.decrementer_hz * 1e9;
  }

 private:
  Spu& spu_;
  const cell::Parameters& parameters_;
  Clock clock_;
  sim::Time began_cycles_;
  std::uint32_t began_count_ = 0;
};

/// Threads of one launch do not start together; the seed says how far apart.
std::int64_t start_cycles(const cell::Parameters& parameters, int spe) {
  if (parameters.jitter_seed == 0) return 0;
  Rng rng(static_cast<std::uint64_t>(parameters.jitter_seed) * 64 + static_cast<std::uint64_t>(spe));
  return static_cast<std::int64_t>(rng.below(kMostStartCycles));
}

Status check_timing(const Timing& timing) {
  if (timing.repetitions >= 1) return {};
  return bad_field("", "repetitions", std::to_string(timing.repetitions), "1 or more");
}

Status check_size(std::uint32_t size_bytes) {
  if (size_bytes >= kQuadword && size_bytes <= kMostMessageBytes && size_bytes % kQuadword == 0) return {};
  return bad_field("", "size_bytes", std::to_string(size_bytes), "multiples of 16 from 16 to 65536");
}

Status check_spe(int spe, const cell::Parameters& parameters) {
  const int spes = parameters.chips * cell::kSpesPerChip;
  if (spe >= 0 && spe < spes && parameters.usable[static_cast<std::size_t>(spe)]) return {};
  return bad_field("", "flow", "SPE " + std::to_string(spe), "a usable SPE from 0 to " + std::to_string(spes - 1));
}

Status check_flows(std::span<const Flow> flows, const cell::Parameters& parameters) {
  std::vector<int> getters;
  for (const Flow& flow : flows) {
    for (const int spe : {flow.to, flow.from}) {
      if (Status status = check_spe(spe, parameters); !status.ok()) return status;
    }
    if (std::ranges::find(getters, flow.to) != getters.end()) {
      return bad_field("", "flow", "SPE " + std::to_string(flow.to) + " twice", "each SPE getting at most once");
    }
    getters.push_back(flow.to);
  }
  return {};
}

Status check_affinity(const Affinity& spe_of_rank, const cell::Parameters& parameters) {
  Affinity sorted = spe_of_rank;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) {
    return bad_field("", "spe_of_rank", "an SPE twice", "a different SPE for every rank");
  }
  for (const int spe : spe_of_rank) {
    if (Status status = check_spe(spe, parameters); !status.ok()) return status;
  }
  return {};
}

// ---- collective operations ----

/// A flag that a rank raises in another rank's local store.
struct Raise {
  int rank = 0;
  std::uint32_t slot = 0;
};

/// What one rank does in one phase.
struct RankPhase {
  const Piece* piece = nullptr;  ///< null: nothing to get
  std::vector<std::uint32_t> await_slots;
  std::vector<Raise> raise;  ///< when its piece has come
};

constexpr std::uint32_t kKinds = 2;  // a source has the data; a source is free again

using Plan = std::vector<std::vector<RankPhase>>;  // [rank][phase]

/// The last phase before `phase` in which `matches` holds for a piece; that piece and its phase, or null.
template <class Matches>
const Piece* last_before(const Collective& operation, std::size_t phase, Matches matches, std::size_t& found) {
  while (phase-- > 0) {
    for (const Piece& piece : operation.phases[phase]) {
      if (!matches(piece)) continue;
      found = phase;
      return &piece;
    }
  }
  return nullptr;
}

void depend(Plan& plan, const Piece* before, std::size_t before_phase, const Piece& piece, std::size_t phase,
            std::uint32_t kind) {
  if (before == nullptr || before->flow.to == piece.flow.to) return;
  const std::uint32_t slot = static_cast<std::uint32_t>(phase) * kKinds + kind;
  plan[static_cast<std::size_t>(piece.flow.to)][phase].await_slots.push_back(slot);
  plan[static_cast<std::size_t>(before->flow.to)][before_phase].raise.push_back({piece.flow.to, slot});
}

Plan plan_of(const Collective& operation) {
  Plan plan(cell::kSpesPerChip, std::vector<RankPhase>(operation.phases.size()));
  for (std::size_t phase = 0; phase < operation.phases.size(); ++phase) {
    for (const Piece& piece : operation.phases[phase]) {
      plan[static_cast<std::size_t>(piece.flow.to)][phase].piece = &piece;
      std::size_t when = 0;
      const auto fills_source = [&](const Piece& other) { return other.flow.to == piece.flow.from; };
      const auto same_source = [&](const Piece& other) { return other.flow.from == piece.flow.from; };
      const Piece* filled = last_before(operation, phase, fills_source, when);
      depend(plan, filled, when, piece, phase, 0);
      const Piece* served = last_before(operation, phase, same_source, when);
      depend(plan, served, when, piece, phase, 1);
    }
  }
  return plan;
}

/// The control lines of a job: the barrier's, then one per flag.
port::Layout lines_for(int ranks, std::uint32_t flags) {
  port::Layout layout;
  layout.lines16 = Barrier::lines_needed(ranks) + flags;
  return layout;
}

class CollectiveProgram {
 public:
  CollectiveProgram(CellPort& port, const cell::PortJob& job, const std::vector<RankPhase>& phases)
      : port_(port), job_(job), phases_(phases), first_flag_{Barrier::lines_needed(port.size())} {}

  /// One operation; `turn` is 1, 2, 3 .. and the value of its flags.
  void operator()(port::Sequence turn) {
    for (const RankPhase& phase : phases_) {
      for (const std::uint32_t slot : phase.await_slots) port::wait_line(port_, first_flag_ + slot, turn);
      if (phase.piece != nullptr) get(*phase.piece);
      for (const Raise& raise : phase.raise)
        port_.put_line(raise.rank, first_flag_ + raise.slot, turn, {}, kFlagTag);
    }
  }

 private:
  void get(const Piece& piece) {
    const EffectiveAddress source =
        cell::ls_address(job_.spes[static_cast<std::size_t>(piece.flow.from)]) + kBuffer;
    get_message(port_.spu(), kBuffer + piece.to_offset, source + piece.from_offset, piece.bytes);
  }

  CellPort& port_;
  const cell::PortJob& job_;
  const std::vector<RankPhase>& phases_;
  port::Line16 first_flag_;
};

void fill_buffers(cell::System& system, const Collective& operation, const Affinity& spe_of_rank) {
  for (int rank = 0; rank < cell::kSpesPerChip; ++rank) {
    const EffectiveAddress at = cell::ls_address(spe_of_rank[static_cast<std::size_t>(rank)]) + kBuffer;
    const std::span<std::byte> bytes = system.bytes(at, operation.buffer_bytes);
    for (std::uint32_t index = 0; index < bytes.size(); ++index) bytes[index] = initial_byte(rank, index);
  }
}

std::vector<std::vector<std::byte>> read_buffers(cell::System& system, const Collective& operation,
                                                 const Affinity& spe_of_rank) {
  std::vector<std::vector<std::byte>> buffers;
  for (const int spe : spe_of_rank) {
    const std::span<std::byte> bytes = system.bytes(cell::ls_address(spe) + kBuffer, operation.buffer_bytes);
    buffers.emplace_back(bytes.begin(), bytes.end());
  }
  return buffers;
}

}  // namespace

Result<std::vector<double>> time_gets(const cell::Parameters& parameters, std::span<const Flow> flows,
                                      std::uint32_t size_bytes, const Timing& timing) {
  for (Status status : {check_timing(timing), check_size(size_bytes), check_flows(flows, parameters)}) {
    if (!status.ok()) return status;
  }
  cell::System system(parameters);
  std::vector<int> spes;
  for (const Flow& flow : flows) spes.push_back(flow.to);
  const auto job = cell::PortJob::make(system, spes, lines_for(static_cast<int>(spes.size()), 0));
  if (!job.ok()) return job.status();
  std::vector<double> gb_per_s(flows.size(), 0.0);
  for (std::size_t index = 0; index < flows.size(); ++index) {
    const Flow flow = flows[index];
    system.run_on_spe(flow.to, "SPE " + std::to_string(flow.to), [&, flow, index](Spu& spu) {
      CellPort port(spu, job.value(), static_cast<int>(index));
      Barrier barrier(port, {}, kBarrierTag);
      spu.spu_cycles(start_cycles(parameters, flow.to));
      barrier();
      Timer timer(spu, parameters, timing.clock);
      for (int turn = 0; turn < timing.repetitions; ++turn) {
        get_message(spu, kDestination, cell::ls_address(flow.from) + kSource, size_bytes);
      }
      gb_per_s[index] = static_cast<double>(size_bytes) * timing.repetitions / timer.elapsed_ns();
    });
  }
  if (Status status = system.run(); !status.ok()) return status;
  return gb_per_s;
}

Result<double> time_barrier(const cell::Parameters& parameters, const Affinity& spe_of_rank, const Timing& timing) {
  const Collective nothing{"K3", "barrier", "barrier", 0, {}};
  auto run = run_collective(parameters, nothing, spe_of_rank, timing);
  if (!run.ok()) return run.status();
  return run.value().time_us;
}

Result<CollectiveRun> run_collective(const cell::Parameters& parameters, const Collective& operation,
                                     const Affinity& spe_of_rank, const Timing& timing) {
  for (Status status : {check_timing(timing), check_affinity(spe_of_rank, parameters)}) {
    if (!status.ok()) return status;
  }
  cell::System system(parameters);
  fill_buffers(system, operation, spe_of_rank);
  const auto flags = static_cast<std::uint32_t>(operation.phases.size()) * kKinds;
  const auto job =
      cell::PortJob::make(system, {spe_of_rank.begin(), spe_of_rank.end()}, lines_for(cell::kSpesPerChip, flags));
  if (!job.ok()) return job.status();
  const Plan plan = plan_of(operation);
  CollectiveRun run;
  for (int rank = 0; rank < cell::kSpesPerChip; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    system.run_on_spe(spe_of_rank[index], "rank " + std::to_string(rank), [&, rank, index](Spu& spu) {
      CellPort port(spu, job.value(), rank);
      Barrier barrier(port, {}, kBarrierTag);
      CollectiveProgram operate(port, job.value(), plan[index]);
      spu.spu_cycles(start_cycles(parameters, rank));
      barrier();
      Timer timer(spu, parameters, timing.clock);
      barrier();
      for (int turn = 1; turn <= timing.repetitions; ++turn) {
        operate(static_cast<port::Sequence>(turn));
        barrier();
      }
      barrier();
      if (rank == 0) run.time_us = timer.elapsed_ns() / 1000.0 / timing.repetitions;
    });
  }
  if (Status status = system.run(); !status.ok()) return status;
  run.buffers = read_buffers(system, operation, spe_of_rank);
  return run;
}

std::byte initial_byte(int rank, std::uint32_t index) {
  std::uint64_t state = (static_cast<std::uint64_t>(rank) << 32) | index;
  return static_cast<std::byte>(splitmix64(state) & 0xff);
}

Affinity random_sources(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t state = seed;
  Rng rng(splitmix64(state) + index);
  Affinity sources{};
  for (std::size_t rank = 0; rank < sources.size(); ++rank) sources[rank] = static_cast<int>(rank);
  const auto gets_from_itself = [&] {
    for (std::size_t rank = 0; rank < sources.size(); ++rank) {
      if (sources[rank] == static_cast<int>(rank)) return true;
    }
    return false;
  };
  do {
    rng.shuffle(std::span<int>(sources));
  } while (gets_from_itself());
  return sources;
}

namespace {

/// The five affinities and the default one of this permutation.
std::vector<Affinity> contestants(DefaultAffinities& defaults) {
  std::vector<Affinity> all;
  for (const NamedAffinity& named : affinities()) all.push_back(named.spe_of_rank);
  all.push_back(defaults.next());
  return all;
}

}  // namespace

Result<std::vector<double>> permutation_minima(const cell::Parameters& parameters, std::uint64_t seed,
                                               std::uint64_t first, std::uint64_t count, std::uint32_t size_bytes,
                                               const Timing& timing) {
  DefaultAffinities defaults(seed);
  for (std::uint64_t skipped = 0; skipped < first; ++skipped) defaults.next();
  std::vector<double> minima;
  for (std::uint64_t index = first; index < first + count; ++index) {
    const Affinity sources = random_sources(seed, index);
    std::vector<Flow> flows;
    for (int rank = 0; rank < cell::kSpesPerChip; ++rank)
      flows.push_back({rank, sources[static_cast<std::size_t>(rank)]});
    for (const Affinity& affinity : contestants(defaults)) {
      auto measured = time_gets(parameters, placed(flows, affinity), size_bytes, timing);
      if (!measured.ok()) return measured.status();
      minima.push_back(*std::ranges::min_element(measured.value()));
    }
  }
  return minima;
}

}  // namespace corewise::lab
