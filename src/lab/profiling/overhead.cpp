// The programs of the overhead study, and their runs. SPDX-License-Identifier: BSD-3-Clause
#include "lab/profiling/overhead.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "cell/spe/mfc.hpp"
#include "cell/spe/spe.hpp"
#include "cell/system.hpp"
#include "lab/profiling/messages.hpp"
#include "lab/profiling/trace_image.hpp"
#include "lab/remote_call.hpp"

namespace corewise::lab {
namespace {

using cell::LsAddress;

// Where things lie in every local store.
constexpr LsAddress kLines = 0x100;
constexpr LsAddress kSending = 0x4000;
constexpr LsAddress kReceiving = 0x8000;
constexpr LsAddress kRecorder = 0x10000;
/// Where the program's small functions would lie.
constexpr std::uint64_t kFunctions = 0x1000, kFunctionBytes = 0x100;
/// Blocks that a sweep passes from one corner before the next corner begins.
constexpr std::int64_t kBlocks = 10;
constexpr int kCorners = 4;

/// What a rank of a grid needs to talk with its neighbours, recorded or not.
class Rank {
 public:
  Rank(const OverheadRun& run, cell::Spu& spu, const std::vector<int>& spes, int rank)
      : run_(run),
        spu_(spu),
        messages_(spu, spes, rank, kLines, run.call_cycles),
        column_(rank % run.columns),
        row_(rank / run.columns),
        rank_(rank) {}

  [[nodiscard]] int column() const { return column_; }
  [[nodiscard]] int row() const { return row_; }
  [[nodiscard]] const OverheadRun& run() const { return run_; }
  [[nodiscard]] cell::Spu& spu() { return spu_; }
  [[nodiscard]] std::int64_t calls() const { return calls_; }
  /// From here on calls count, and are recorded where there is a recorder.
  void begin(SpeRecorder* recorder) {
    recorder_ = recorder;
    calls_ = 0;
  }
  /// -1: beyond the edge.
  [[nodiscard]] int at(int column, int row) const {
    const bool inside = column >= 0 && column < run_.columns && row >= 0 && row < run_.rows;
    return inside ? row * run_.columns + column : -1;
  }

  void send(int peer) {
    if (peer < 0) return;
    spu_.store(kSending, stamp(rank_, peer, ++sent_[static_cast<std::size_t>(peer)]));
    call({.type = Event::mpi_send, .bytes = run_.message_bytes, .peer = peer},
         [&] { messages_.send(peer, kSending, run_.message_bytes); });
  }
  void receive(int peer) {
    if (peer < 0) return;
    call({.type = Event::mpi_recv, .bytes = run_.message_bytes, .peer = peer},
         [&] { messages_.receive(peer, kReceiving, run_.message_bytes); });
    const std::uint64_t expected = stamp(peer, rank_, ++received_[static_cast<std::size_t>(peer)]);
    if (spu_.load<std::uint64_t>(kReceiving) != expected) {
      spu_.engine().fail(Status(Code::invalid_input, "rank " + std::to_string(rank_) +
                                                         ": a wrong message from rank " + std::to_string(peer)));
    }
  }
  void function(int number, std::int64_t cycles) {
    const std::uint64_t address = kFunctions + kFunctionBytes * static_cast<std::uint64_t>(number);
    if (recorder_ != nullptr) recorder_->enter(address);
    spu_.spu_cycles(cycles);
    if (recorder_ != nullptr) recorder_->exit(address);
  }

 private:
  template <class Call>
  void call(const EventFields& fields, Call what) {
    ++calls_;
    if (recorder_ == nullptr) return what();
    recorder_->record(fields, what);
  }
  static std::uint64_t stamp(int from, int to, std::uint32_t number) {
    return std::uint64_t{number} << 16 | static_cast<std::uint64_t>(from) << 8 | static_cast<std::uint64_t>(to);
  }

  const OverheadRun& run_;
  cell::Spu& spu_;
  SpeMessages messages_;
  SpeRecorder* recorder_ = nullptr;
  int column_, row_, rank_;
  std::int64_t calls_ = 0;
  std::array<std::uint32_t, cell::kSpesPerChip> sent_{}, received_{};
};

/// One block of a wave front that comes from corner 0 to 3.
void sweep_block(Rank& me, int corner) {
  const int right = (corner & 1) == 0 ? 1 : -1, down = (corner & 2) == 0 ? 1 : -1;
  me.receive(me.at(me.column() - right, me.row()));
  me.receive(me.at(me.column(), me.row() - down));
  me.send(me.at(me.column() + right, me.row()));
  me.send(me.at(me.column(), me.row() + down));
}

/// A round is one block from each corner; corners come in turn after kBlocks of them.
void sweep(Rank& me, std::int64_t rounds) {
  for (std::int64_t left = rounds; left > 0; left -= kBlocks) {
    for (int corner = 0; corner < kCorners; ++corner) {
      for (std::int64_t block = 0; block < std::min(left, kBlocks); ++block) sweep_block(me, corner);
    }
  }
}

/// To `to`, and from `from`; the first of a row or column receives first, or all would wait for each other.
void shift(Rank& me, bool first, int to, int from) {
  if (first) me.receive(from);
  me.send(to);
  if (!first) me.receive(from);
}

void step(Rank& me) {
  const OverheadRun& run = me.run();
  for (int each = 0; each < run.small_functions; ++each) {
    me.function(each, run.compute_cycles / run.small_functions);
  }
  for (const int way : {1, -1}) {
    if (run.columns == 1) break;
    const int to = (me.column() + way + run.columns) % run.columns;
    const int from = (me.column() - way + run.columns) % run.columns;
    shift(me, me.column() == 0, me.at(to, me.row()), me.at(from, me.row()));
  }
  for (const int way : {1, -1}) {
    if (run.rows == 1) break;
    const int to = (me.row() + way + run.rows) % run.rows, from = (me.row() - way + run.rows) % run.rows;
    shift(me, me.row() == 0, me.at(me.column(), to), me.at(me.column(), from));
  }
}

void run_program(Rank& me, std::int64_t rounds) {
  if (me.run().program == ProfiledProgram::sweep) return sweep(me, rounds);
  for (std::int64_t left = rounds; left > 0; --left) step(me);
}

/// One run: a system, a recorder per SPE, and what they left.
class Study {
 public:
  explicit Study(const OverheadRun& run) : run_(run), system_(run.machine) {
    for (int spe = 0; spe < cell::kSpesPerChip && static_cast<int>(spes_.size()) < ranks(); ++spe) {
      if (system_.usable(spe)) spes_.push_back(spe);
    }
    recorders_.resize(spes_.size());
    begun_.resize(spes_.size());
    ended_.resize(spes_.size());
    run_.recorder.spes = spes_;
  }

  Result<OverheadResult> run() {
    if (run_.recorded) {
      const std::uint64_t limit = run_.memory_limit_bytes;
      offer_pages(calls_, system_, limit == 0 ? std::numeric_limits<std::uint64_t>::max() : limit);
      calls_.serve(system_, spes_);
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      system_.run_on_spe(spes_[static_cast<std::size_t>(rank)], "rank " + std::to_string(rank),
                         [this, rank](cell::Spu& spu) { run_rank(spu, rank); });
    }
    if (Status status = system_.run(); !status.ok()) return status;
    return collected();
  }

 private:
  [[nodiscard]] int ranks() const { return run_.columns * run_.rows; }

  void run_rank(cell::Spu& spu, int rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (run_.recorded) {
      recorders_[index] = std::make_unique<SpeRecorder>(spu, calls_, run_.recorder, kRecorder);
      recorders_[index]->start();
    }
    SpeRecorder* const recorder = recorders_[index].get();
    Rank me(run_, spu, spes_, rank);
    run_program(me, 1);  // the peers' local stores are known to the MFC from here on
    me.begin(recorder);
    begun_[index] = spu.now();
    run_program(me, run_.rounds);
    result_.calls += me.calls();
    ended_[index] = spu.now();
    if (recorder == nullptr) return;
    recorder->stop();
    calls_.leave(spu);
  }

  OverheadResult collected() {
    const double tick_us = system_.engine().tick_ns() * 1e-3;
    const sim::Time begun = *std::max_element(begun_.begin(), begun_.end());
    result_.time_us = static_cast<double>(*std::max_element(ended_.begin(), ended_.end()) - begun) * tick_us;
    for (const int spe : spes_) {
      result_.page_faults += static_cast<std::int64_t>(system_.spe(spe).mfc().translation().statistics().faults);
    }
    for (int rank = 0; run_.recorded && rank < ranks(); ++rank) {
      const SpeRecorder& recorder = *recorders_[static_cast<std::size_t>(rank)];
      result_.events += recorder.events();
      result_.lost_bytes += recorder.lost_bytes();
      result_.pages += recorder.pages_used();
      result_.pages_bytes += std::int64_t{recorder.pages_allotted()} * run_.recorder.half_bytes;
      result_.waited_us += static_cast<double>(recorder.waited_cycles()) * tick_us;
      if (!run_.keep_traces) continue;
      result_.traces.push_back(
          trace_image(system_, recorder, run_.recorder.layout, run_.recorder.half_bytes, rank, ranks()));
    }
    return std::move(result_);
  }

  OverheadRun run_;
  cell::System system_;
  RemoteCalls calls_;
  std::vector<int> spes_;
  std::vector<std::unique_ptr<SpeRecorder>> recorders_;
  std::vector<sim::Time> begun_, ended_;
  OverheadResult result_;
};

int usable_spes(const cell::Parameters& machine) {
  return static_cast<int>(std::count(machine.usable.begin(), machine.usable.begin() + cell::kSpesPerChip, true));
}

}  // namespace

Status OverheadRun::check() const {
  const int most = usable_spes(machine);
  if (columns < 1 || rows < 1 || columns * rows < 2 || columns * rows > most) {
    return bad_field("overhead", "grid", std::to_string(columns) + "x" + std::to_string(rows),
                     "2 to " + std::to_string(most) + " SPEs");
  }
  if (rounds < 1 || rounds > 10'000'000)
    return bad_field("overhead", "rounds", std::to_string(rounds), "1..10000000");
  if (message_bytes < 16 || message_bytes > cell::kMaxDmaBytes || message_bytes % 16 != 0) {
    return bad_field("overhead", "message_bytes", std::to_string(message_bytes),
                     "multiples of 16 from 16 to 16384");
  }
  if (call_cycles < 0 || compute_cycles < 0) {
    return bad_field("overhead", call_cycles < 0 ? "call_cycles" : "compute_cycles",
                     std::to_string(std::min(call_cycles, compute_cycles)), "0 or more");
  }
  if (small_functions < 1 || small_functions > 64) {
    return bad_field("overhead", "small_functions", std::to_string(small_functions), "1..64");
  }
  return recorder.check();
}

Result<OverheadResult> run_profiled(const OverheadRun& run) {
  if (Status status = run.check(); !status.ok()) return status;
  return Study(run).run();
}

std::int64_t calls_per_round(ProfiledProgram program, int columns, int rows) {
  if (program == ProfiledProgram::dynamics) {
    return std::int64_t{4} * columns * rows * ((columns > 1) + (rows > 1));
  }
  return std::int64_t{2} * kCorners * ((columns - 1) * rows + (rows - 1) * columns);
}

}  // namespace corewise::lab
