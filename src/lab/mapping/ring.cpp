// The tasks of the ring, and the run of one mapping.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/mapping/ring.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/rng.hpp"
#include "cell/eib.hpp"
#include "cell/system.hpp"
#include "lab/mapping/recurrence.hpp"

namespace corewise::lab {
namespace {

using cell::Spu;

constexpr std::int64_t kMostCycles = 1'000'000'000;  // of one declared cost: a third of a second

/// A packet's content: random words, reproducible from who made it and for which neighbour.
std::vector<std::byte> packet_of(int thread, int direction, std::uint32_t bytes) {
  Rng rng(static_cast<std::uint64_t>(thread) * 2 + static_cast<std::uint64_t>(direction) + 1);
  std::vector<std::byte> packet(bytes);
  for (std::byte& each : packet) each = static_cast<std::byte>(rng.next() >> 56);
  return packet;
}

std::string text_of(std::span<const std::byte> bytes) {
  std::string text(bytes.size(), 0);
  std::memcpy(text.data(), bytes.data(), bytes.size());
  return text;
}

/// What one task needs to know.
struct TaskSetup {
  int thread = 0;
  int left = 0, right = 0;  ///< threads of the neighbouring tasks
  bool bidirectional = true;
  std::int64_t jitter_cycles = 0;
  std::int64_t start_cycles = 0;
  std::uint64_t seed = 1;
  std::uint32_t packet_bytes = 0;
};

/// Called when a task has made a transmission, and when it has taken a packet.
class Observer {
 public:
  virtual void sent(int thread) = 0;
  virtual void received(int thread, int from, std::span<const std::byte> packet) = 0;

 protected:
  ~Observer() = default;
};

class RingTask {
 public:
  RingTask(Spu& spu, const LibraryPlan& plan, const TaskSetup& setup, Observer& observer)
      : spu_(spu), setup_(setup), library_(spu, plan, setup.thread), observer_(observer), rng_(setup.seed) {}

  [[noreturn]] void run() {
    spu_.spu_cycles(setup_.start_cycles);
    create_packets();
    while (true) {
      pass_on();
      library_.poll();
      jitter();
    }
  }

  void append_state(std::vector<std::int64_t>& state) {
    state.push_back(place_);
    library_.append_state(state);
  }
  [[nodiscard]] std::int64_t polls() const { return library_.polls(); }
  [[nodiscard]] std::vector<std::int64_t> full_buffers() const { return library_.full_buffers(); }

 private:
  void create_packets() {
    fill(0);
    fill(1);
    place_ = 1;
    // In the order of the threads, so that a ring and its reflection are one program.
    const int first = std::min(setup_.left, setup_.right);
    const int second = std::max(setup_.left, setup_.right);
    if (setup_.bidirectional) send(first, MessageLibrary::user_buffer(0));
    place_ = 2;
    const int last = setup_.bidirectional ? second : setup_.right;
    send(last, MessageLibrary::user_buffer(1));
    place_ = 3;
  }

  void fill(int direction) {
    const auto packet = packet_of(setup_.thread, direction, setup_.packet_bytes);
    std::memcpy(spu_.ls(MessageLibrary::user_buffer(direction), setup_.packet_bytes).data(), packet.data(),
                packet.size());
  }

  void send(int to, cell::LsAddress from) {
    library_.send(to, from);
    observer_.sent(setup_.thread);
  }

  void pass_on() {
    const int first = std::min(setup_.left, setup_.right);
    const int second = std::max(setup_.left, setup_.right);
    if (setup_.bidirectional || first == setup_.left) pass_on(first, second);
    if (setup_.bidirectional || second == setup_.left) pass_on(second, first);
  }

  void pass_on(int from, int to) {
    if (!library_.has_packet(from) || !library_.can_send(to)) return;
    place_ = 4 + from;
    library_.receive(from, MessageLibrary::user_buffer(0));
    observer_.received(setup_.thread, from, spu_.ls(MessageLibrary::user_buffer(0), setup_.packet_bytes));
    place_ = 4 + kMostTasks + from;
    send(to, MessageLibrary::user_buffer(0));
    place_ = 3;
  }

  void jitter() {
    if (setup_.jitter_cycles == 0) return;
    spu_.spu_cycles(static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(setup_.jitter_cycles) + 1)));
  }

  Spu& spu_;
  TaskSetup setup_;
  MessageLibrary library_;
  Observer& observer_;
  Rng rng_;
  int place_ = 0;
};

/// One run: the machine, its tasks, and who watches them.
class Run : public Observer {
 public:
  explicit Run(const RingExperiment& experiment)
      : experiment_(experiment),
        system_(experiment.machine),
        threads_(static_cast<int>(experiment.spe_of_thread.size())) {
    plan_.layout = experiment.layout;
    plan_.costs = experiment.costs;
    plan_.packet_bytes = experiment.packet_bytes;
    plan_.spe_of_thread = experiment.spe_of_thread;
    // Rows start at a row's multiple, the second matrix behind the first.
    const std::uint32_t bytes = matrix_bytes(experiment.layout, threads_);
    plan_.matrix = system_.allocate(std::size_t{2} * bytes, 4096);
    plan_.acknowledgements = plan_.matrix + bytes;
    timing_.packets_per_round = experiment.bidirectional ? 2 : 1;
    timing_.sent.resize(static_cast<std::size_t>(threads_));
    timing_.received.resize(static_cast<std::size_t>(threads_));
    if (experiment.check_packets || experiment.trace_packets) note_packets();
    start_tasks();
  }

  Result<RingTiming> run() {
    const sim::Time limit = experiment_.most_rounds * kMostCyclesPerRound;
    const Status status = system_.run(limit);
    const sim::EventQueue& left = system_.engine().queue();
    timing_.stalled = !status.ok() && !left.empty() && left.next_time() > limit;
    if (!status.ok() && !timing_.stalled) return status;
    if (timing_.stalled) timing_.stopped_at = limit;
    timing_.rounds = static_cast<std::int64_t>(timing_.sent[0].size()) / timing_.packets_per_round;
    timing_.events = system_.engine().events();
    timing_.retries = static_cast<std::int64_t>(system_.eib(0).statistics().retries);
    for (const auto& task : tasks_) timing_.polls += task->polls();
    if (experiment_.check_packets) check_packets();
    return std::move(timing_);
  }

  void sent(int thread) override {
    auto& times = timing_.sent[static_cast<std::size_t>(thread)];
    times.push_back(system_.engine().now());
    if (thread != 0 || static_cast<std::int64_t>(times.size()) % timing_.packets_per_round != 0) return;
    const std::int64_t round = static_cast<std::int64_t>(times.size()) / timing_.packets_per_round;
    if (may_repeat() && look_for_repeat()) return system_.engine().stop({});
    if (round >= experiment_.most_rounds) system_.engine().stop({});
  }

  void received(int thread, int from, std::span<const std::byte> packet) override {
    if (!experiment_.trace_packets) return;
    const auto made = made_.find(text_of(packet));
    ReceivedPacket seen{from, -1, -1};
    if (made != made_.end()) seen = {from, made->second.first, made->second.second};
    timing_.received[static_cast<std::size_t>(thread)].push_back(seen);
  }

 private:
  struct Mark {
    std::int64_t round = 0;
    std::int64_t when = 0;
    std::vector<std::int64_t> sent;
  };

  void start_tasks() {
    std::vector<int> thread_of_task(static_cast<std::size_t>(threads_));
    for (int thread = 0; thread < threads_; ++thread) thread_of_task[task_of(thread)] = thread;
    const auto neighbour = [&](int thread, int step) {
      return thread_of_task[(task_of(thread) + static_cast<std::size_t>(threads_ + step)) %
                            static_cast<std::size_t>(threads_)];
    };
    Rng rng(experiment_.seed);
    tasks_.resize(static_cast<std::size_t>(threads_));
    for (int thread = 0; thread < threads_; ++thread) {
      TaskSetup setup;
      setup.thread = thread;
      setup.left = neighbour(thread, -1);
      setup.right = neighbour(thread, +1);
      setup.bidirectional = experiment_.bidirectional;
      setup.jitter_cycles = experiment_.jitter_cycles;
      setup.start_cycles =
          static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(experiment_.start_skew_cycles) + 1));
      setup.seed = rng.next();
      setup.packet_bytes = experiment_.packet_bytes;
      start_task(setup);
    }
  }

  void start_task(const TaskSetup& setup) {
    system_.run_on_spe(experiment_.spe_of_thread[static_cast<std::size_t>(setup.thread)],
                       std::string("T").append(std::to_string(setup.thread)), [this, setup](Spu& spu) {
                         auto& task = tasks_[static_cast<std::size_t>(setup.thread)];
                         task = std::make_unique<RingTask>(spu, plan_, setup, *this);
                         task->run();
                       });
  }

  [[nodiscard]] std::size_t task_of(int thread) const {
    return static_cast<std::size_t>(experiment_.task_of_thread[static_cast<std::size_t>(thread)]);
  }

  std::vector<std::int64_t> state() {
    std::vector<std::int64_t> state;
    state.reserve(512);
    const auto count = static_cast<std::int64_t>(timing_.sent[0].size());
    for (const auto& times : timing_.sent) state.push_back(static_cast<std::int64_t>(times.size()) - count);
    for (const auto& task : tasks_) {
      if (task != nullptr) task->append_state(state);
    }
    append_matrices(state);
    system_.append_state(state);
    return state;
  }

  /// The words in main memory that steer.
  void append_matrices(std::vector<std::int64_t>& state) {
    const std::size_t bytes = std::size_t{2} * matrix_bytes(experiment_.layout, threads_);
    const auto words = system_.bytes(plan_.matrix, bytes);
    for (std::size_t at = 0; at < bytes; at += sizeof(std::int64_t)) {
      std::int64_t word = 0;
      std::memcpy(&word, words.data() + at, sizeof word);
      state.push_back(word);
    }
  }

  /// What is drawn on the way has a state that state() does not hold, and so has the hypervisor: equal states would
  /// prove nothing.
  [[nodiscard]] bool may_repeat() const {
    const cell::Parameters& machine = experiment_.machine;
    const bool drawn = experiment_.jitter_cycles != 0 || machine.jitter_seed != 0;
    return experiment_.find_repeat && !drawn && machine.hypervisor_bytes == 0;
  }

  bool look_for_repeat() {
    Mark mark{
        static_cast<std::int64_t>(timing_.sent[0].size()) / timing_.packets_per_round, system_.engine().now(), {}};
    for (const auto& times : timing_.sent) mark.sent.push_back(static_cast<std::int64_t>(times.size()));
    const auto seen = repeat_.add(state());
    if (!seen) {
      marks_.push_back(std::move(mark));
      return false;
    }
    const Mark& first = marks_[*seen];
    timing_.first_round = first.round;
    timing_.period_rounds = mark.round - first.round;
    timing_.period_cycles = mark.when - first.when;
    timing_.sent_at_first = first.sent;
    return true;
  }

  /// Fills made_.
  void note_packets();
  /// What lies in the receive buffers must be one of the packets that were created.
  void check_packets();

  const RingExperiment& experiment_;
  cell::System system_;
  LibraryPlan plan_;
  int threads_;
  std::vector<std::unique_ptr<RingTask>> tasks_;
  StateRepeat repeat_;
  std::vector<Mark> marks_;
  RingTiming timing_;
  std::map<std::string, std::pair<int, int>> made_;  ///< content -> thread and direction
};

void Run::note_packets() {
  for (int thread = 0; thread < threads_; ++thread) {
    for (int direction = 0; direction < 2; ++direction) {
      made_.emplace(text_of(packet_of(thread, direction, experiment_.packet_bytes)), std::pair{thread, direction});
    }
  }
}

void Run::check_packets() {
  for (int thread = 0; thread < threads_; ++thread) {
    for (const std::int64_t full : tasks_[static_cast<std::size_t>(thread)]->full_buffers()) {
      const cell::EffectiveAddress at =
          cell::ls_address(experiment_.spe_of_thread[static_cast<std::size_t>(thread)]) +
          static_cast<cell::EffectiveAddress>(full);
      const auto bytes = system_.bytes(at, experiment_.packet_bytes);
      if (made_.count(text_of(bytes)) == 0) ++timing_.packets_damaged;
      ++timing_.packets_checked;
    }
  }
}

/// A program whose turns take no time would never let the simulated time go on.
Status check_costs(const LibraryCosts& costs, bool polls_without_dma) {
  for (const auto& [name, cycles] : {std::pair{"scan_cycles", costs.scan_cycles},
                                     {"call_cycles", costs.call_cycles},
                                     {"copy_cycles_per_quadword", costs.copy_cycles_per_quadword},
                                     {"pause_cycles", costs.pause_cycles}}) {
    if (cycles < 0 || cycles > kMostCycles) {
      return bad_field("", name, std::to_string(cycles), "0.." + std::to_string(kMostCycles));
    }
  }
  if (polls_without_dma && costs.scan_cycles + costs.pause_cycles < 1) {
    return bad_field("", "scan_cycles + pause_cycles", "0", "1 or more with notification into the local store");
  }
  return {};
}

Status check(const RingExperiment& e) {
  const std::size_t tasks = e.spe_of_thread.size();
  if (tasks < 3 || tasks > kMostTasks) {
    return bad_field("", "spe_of_thread", std::to_string(tasks) + " threads", "3..8");
  }
  std::vector<int> sorted = e.task_of_thread;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> all(tasks);
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) return bad_field("", "task_of_thread", "no permutation", "each of 0..k-1 once");
  std::set<int> spes(e.spe_of_thread.begin(), e.spe_of_thread.end());
  if (spes.size() != tasks) return bad_field("", "spe_of_thread", "an SPE twice", "one thread per SPE");
  if (*spes.begin() < 0 || *spes.rbegin() >= cell::kSpesPerChip) {
    return bad_field("", "spe_of_thread", std::to_string(*spes.rbegin()), "0..7");
  }
  if (e.packet_bytes < 16 || e.packet_bytes > 2048 || e.packet_bytes % 16 != 0) {
    return bad_field("", "packet_bytes", std::to_string(e.packet_bytes), "a multiple of 16 from 16 to 2048");
  }
  const std::uint32_t entry = e.layout.entry_bytes;
  if (entry != 4 && entry != 8 && entry != 16 && entry != 32) {
    return bad_field("", "entry_bytes", std::to_string(entry), "4, 8, 16, 32");
  }
  const std::uint32_t row = e.layout.row_bytes;
  if (row % 16 != 0 || row < entry * tasks || row > 1024) {
    return bad_field("", "row_bytes", std::to_string(row), "a multiple of 16 that holds the row, up to 1024");
  }
  if (e.most_rounds < 1) return bad_field("", "most_rounds", std::to_string(e.most_rounds), "1 or more");
  if (e.jitter_cycles < 0) return bad_field("", "jitter_cycles", std::to_string(e.jitter_cycles), "0 or more");
  if (e.start_skew_cycles < 0) {
    return bad_field("", "start_skew_cycles", std::to_string(e.start_skew_cycles), "0 or more");
  }
  return check_costs(e.costs, e.layout.notify_local_store);
}

}  // namespace

std::int64_t RingTiming::sent_by(int thread, std::int64_t transmissions) const {
  const auto& times = sent[static_cast<std::size_t>(thread)];
  const auto known = static_cast<std::int64_t>(times.size());
  if (transmissions < 1) return 0;
  if (transmissions <= known) return times[static_cast<std::size_t>(transmissions - 1)];
  if (!repeats()) return -1;
  // Every transmission after the repeating state comes again, so many transmissions and cycles later.
  const std::int64_t first = sent_at_first[static_cast<std::size_t>(thread)];
  const std::int64_t step = period_rounds * packets_per_round;
  const std::int64_t turns = (transmissions - first - 1) / step;
  const std::int64_t same = transmissions - turns * step;
  return times[static_cast<std::size_t>(same - 1)] + turns * period_cycles;
}

std::int64_t RingTiming::all_sent(std::int64_t transmissions) const {
  std::int64_t last = 0;
  for (int thread = 0; thread < static_cast<int>(sent.size()); ++thread) {
    const std::int64_t when = sent_by(thread, transmissions);
    if (when < 0) return -1;
    last = std::max(last, when);
  }
  return last;
}

double RingTiming::cycles_per_round() const {
  if (repeats()) return static_cast<double>(period_cycles) / static_cast<double>(period_rounds);
  const auto& times = sent[0];
  const auto at = [&](std::int64_t round) {
    return round > 0 ? times[static_cast<std::size_t>(round * packets_per_round - 1)] : 0;
  };
  const std::int64_t from = rounds / 2;
  if (stalled) return static_cast<double>(stopped_at - at(from)) / static_cast<double>(rounds - from + 1);
  if (rounds < 2) return 0;
  return static_cast<double>(at(rounds) - at(from)) / static_cast<double>(rounds - from);
}

Result<RingTiming> time_ring(const RingExperiment& experiment) {
  if (const Status status = check(experiment); !status.ok()) return status;
  return Run(experiment).run();
}

std::int64_t mapping_count(int tasks) {
  std::int64_t count = 1;
  for (int factor = 2; factor < tasks; ++factor) count *= factor;
  return count;
}

std::vector<int> mapping_at(int tasks, std::int64_t index) {
  std::vector<int> left(static_cast<std::size_t>(tasks - 1));
  std::iota(left.begin(), left.end(), 1);
  std::vector<int> mapping = {0};
  std::int64_t block = mapping_count(tasks);
  while (!left.empty()) {
    block /= static_cast<std::int64_t>(left.size());
    const std::int64_t which = index / block;
    index %= block;
    mapping.push_back(left[static_cast<std::size_t>(which)]);
    left.erase(left.begin() + which);
  }
  return mapping;
}

std::int64_t mapping_index(const std::vector<int>& task_of_thread) {
  std::int64_t index = 0;
  const std::size_t tasks = task_of_thread.size();
  for (std::size_t at = 1; at < tasks; ++at) {
    std::int64_t smaller = 0;
    for (std::size_t later = at + 1; later < tasks; ++later) smaller += task_of_thread[later] < task_of_thread[at];
    index = index * static_cast<std::int64_t>(tasks - at) + smaller;
  }
  return index;
}

std::vector<int> reflected(const std::vector<int>& task_of_thread) {
  const int tasks = static_cast<int>(task_of_thread.size());
  std::vector<int> other;
  for (const int task : task_of_thread) other.push_back((tasks - task) % tasks);
  return other;
}

}  // namespace corewise::lab
