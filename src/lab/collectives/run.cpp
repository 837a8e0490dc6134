// The harness around a row's `run`: one text for both ports, and what each of them needs around it.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/collectives/run.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/index.hpp"
#include "base/rng.hpp"
#include "cell/cached_port.hpp"
#include "cell/memory/target.hpp"
#include "cell/port.hpp"
#include "cell/spe/software_cache.hpp"
#include "cell/spe/spe.hpp"
#include "cell/system.hpp"
#include "lab/collectives/data.hpp"
#include "lab/collectives/ideal_port.hpp"
#include "lab/collectives/ppe_service.hpp"
#include "lab/collectives/tables/tables.hpp"
#include "lab/spes.hpp"

namespace corewise::lab {
namespace {

using cell::CachedPort;
using cell::CellPort;
using cell::EffectiveAddress;
using coll::Collective;

static_assert(Configuration{}.room == cell::kPortBudgetBytes);
constexpr cell::LsAddress kLocalData = 0x7000;
static_assert(kLocalData + kMostLocalData == cell::kLocalStoreBytes - cell::kPortBudgetBytes);
constexpr std::uint64_t kBytesForManySets = 48U << 20;  // beyond, calls share one set of data
constexpr int kMostSets = 3;

/// What a run has decided before it begins.
struct Plan {
  Algorithm algorithm;
  std::size_t row = 0;
  Configuration configuration;
  CollectiveData data;
  int all_calls = 0;
  std::int64_t library_call_cycles = 0;  ///< before an algorithm with data begins
  coll::barrier::AfterPut closing = coll::barrier::AfterPut::goes_on;
};

Result<std::size_t> find_algorithm(const CollectiveRequest& request) {
  const std::vector<Algorithm> all = algorithms_of(request.collective);
  std::string allowed;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == request.algorithm) return i;
    allowed.append(allowed.empty() ? "" : ", ").append(all[i].name);
  }
  return bad_field("", "algorithm", std::string(1, '\'').append(request.algorithm).append("'"),
                   allowed + " for " + std::string(name_of(request.collective)));
}

/// Whether all areas are small enough for more than one set.
bool fits_many_sets(const CollectiveRequest& request, const CollectiveData& data) {
  std::uint64_t total = 0, largest = 0;
  for (int rank = 0; rank < request.ranks; ++rank) {
    total += data.area_bytes(rank);
    largest = std::max(largest, data.area_bytes(rank));
  }
  const bool local = request.memory == UserMemory::local_store;
  return total <= kBytesForManySets && (!local || largest <= kMostLocalData);
}

/// As many sets of data as there are calls, up to three, where they fit; in place every call needs its own.
Result<CollectiveData> make_data(const CollectiveRequest& request, bool workspace, int all_calls) {
  if (request.in_place) return CollectiveData::make(request, all_calls, workspace);
  const int sets = std::min(kMostSets, std::max(1, all_calls));
  if (sets > 1) {
    Result<CollectiveData> data = CollectiveData::make(request, sets, workspace);
    if (data.ok() && fits_many_sets(request, data.value())) return data;
  }
  return CollectiveData::make(request, 1, workspace);
}

Status check_local(const CollectiveRequest& request, const CollectiveData& data, std::uint32_t room) {
  if (request.memory != UserMemory::local_store) return {};
  for (int rank = 0; rank < request.ranks; ++rank) {
    const std::uint32_t most = kMostLocalData + cell::kPortBudgetBytes - room;
    if (data.area_bytes(rank) <= most) continue;
    return bad_field("", "bytes", std::to_string(request.bytes),
                     "so many that a rank's buffers take at most " + std::to_string(most) +
                         " bytes of its local store, not " + std::to_string(data.area_bytes(rank)));
  }
  return {};
}

coll::Facts facts_of(const CollectiveData& data) {
  coll::Facts facts;
  facts.bytes = data.largest();
  if (data.operation() != nullptr)
    facts.element_bytes = static_cast<std::uint32_t>(data.operation()->element_bytes);
  facts.commutative = data.commutative();
  facts.contiguous = data.request().contiguous();
  // Behind caches a rank's data are not in main memory, where the PPE and other ranks would look for them.
  facts.ppe = !data.request().cached();
  facts.workspace = true;
  facts.peer_memory = !data.request().cached();
  return facts;
}

/// The bytes of the layout and of the counters beside it, within the room.
Result<std::uint32_t> local_store_bytes(const Configuration& configuration) {
  const coll::Shape& shape = configuration.shape;
  const std::uint32_t room = configuration.room;
  const auto layout = cell::PortLayout::make(shape.layout(), cell::kLocalStoreBytes - room, room);
  if (!layout.ok()) return layout.status();
  const std::uint32_t bytes = layout.value().bytes + shape.counter_bytes();
  if (bytes <= room) return bytes;
  return bad_field("", "buffer", std::to_string(shape.buffers) + " x " + std::to_string(shape.buffer_bytes),
                   "what leaves the local store's budget of " + std::to_string(room) + " bytes whole; this takes " +
                       std::to_string(bytes));
}

constexpr cell::LsAddress cache_address(const CollectiveRequest& request) {
  return (kLocalData + request.cache_line_bytes - 1) / request.cache_line_bytes * request.cache_line_bytes;
}

/// The cache's place in the local store, and an algorithm that leaves every rank's data to that rank.
Status check_cache(const CollectiveRequest& request, std::size_t row, std::uint32_t room) {
  if (!request.cached()) return {};
  const std::uint32_t free = cell::kLocalStoreBytes - room;
  const std::uint32_t most = free - std::min(free, cache_address(request));
  if (request.cache().bytes() > most) {
    return bad_field("", "cache_ways", std::to_string(request.cache_ways),
                     "so many that the cache takes at most " + std::to_string(most) +
                         " bytes of the local store, not " + std::to_string(request.cache().bytes()));
  }
  const Rows<CachedPort> rows = rows_on_cached(request.collective);
  const auto leaves_data = [](const coll::Row<CachedPort>& each) {
    return each.run != nullptr && (each.needs & (coll::kPpe | coll::kPeerMemory)) == 0;
  };
  if (leaves_data(rows[row])) return {};
  std::string allowed;
  for (const coll::Row<CachedPort>& each : rows) {
    if (leaves_data(each)) allowed.append(allowed.empty() ? "" : ", ").append(each.name);
  }
  return bad_field("", "algorithm", std::string(1, '\'').append(request.algorithm).append("'"),
                   allowed + ": what lies behind a rank's cache only that rank can reach");
}

Result<Plan> plan_of(const CollectiveRequest& request) {
  if (Status status = check(request); !status.ok()) return status;
  const Result<std::size_t> row = find_algorithm(request);
  if (!row.ok()) return row.status();
  const Algorithm algorithm = algorithms_of(request.collective)[row.value()];
  const Result<Configuration> configuration = configure(algorithm, request.ranks, request.settings);
  if (!configuration.ok()) return configuration.status();
  const int all_calls = request.warm_up + 2 * request.calls;
  Result<CollectiveData> data = make_data(request, (algorithm.needs & coll::kWorkspace) != 0, all_calls);
  if (!data.ok()) return data.status();
  const std::uint32_t room = configuration.value().room;
  if (Status status = check_local(request, data.value(), room); !status.ok()) return status;
  if (Status status = check_cache(request, row.value(), room); !status.ok()) return status;
  if (Status status = check_usable(algorithm, configuration.value().shape, facts_of(data.value())); !status.ok()) {
    return status;
  }
  if (const auto bytes = local_store_bytes(configuration.value()); !bytes.ok()) return bytes.status();
  return Plan{algorithm, row.value(), configuration.value(), std::move(data).value(), all_calls, 0};
}

/// The same on this machine's SPUs.
Result<Plan> plan_on(const cell::Parameters& machine, const CollectiveRequest& request) {
  Result<Plan> plan = plan_of(request);
  if (!plan.ok()) return plan;
  if ((plan.value().algorithm.needs & coll::kPpe) != 0 && request.memory == UserMemory::interleaved) {
    return bad_field("", "memory", "interleaved", "first, second, own, first_touch for algorithms of the PPE");
  }
  if (request.collective != Collective::barrier) {
    plan.value().library_call_cycles = machine.spu_library_call_cycles;
  }
  if (machine.spu_flag_waits != 0) {
    plan.value().configuration.parameters.waits = true;
    plan.value().closing = coll::barrier::AfterPut::waits_too;
  }
  plan.value().data.set_operator_cycles(machine);
  return plan;
}

template <port::Port P>
coll::Call<P> call_of(const CollectiveData& data, int rank, int set, typename P::UserAddress area) {
  coll::Call<P> call;
  call.send = area + data.send_at(rank, set);
  call.receive = area + data.receive_at(rank, set);
  call.bytes = data.bytes(rank);
  call.send_blocks = data.send_blocks(rank);
  call.receive_blocks = data.receive_blocks(rank);
  call.root = data.request().root;
  call.operation = data.operation();
  call.send_stride = data.request().send_stride();
  call.receive_stride = data.request().receive_stride();
  call.workspace = area + data.workspace_at(rank);
  return call;
}

/// Sees that nobody leaves a barrier before everybody has entered it.
class BarrierWatch {
 public:
  BarrierWatch(bool on, int ranks) : on_(on), entered_(static_cast<std::size_t>(ranks), 0) {}

  void enter(int rank) { ++entered_[static_cast<std::size_t>(rank)]; }
  void leave(int rank) {
    const int number = entered_[static_cast<std::size_t>(rank)];
    if (!on_ || early_ >= 0 || std::ranges::min(entered_) >= number) return;
    early_ = rank;
    call_ = number;
  }
  [[nodiscard]] Status status() const {
    if (early_ < 0) return {};
    return {Code::unsupported, "rank " + std::to_string(early_) + " left barrier " + std::to_string(call_) +
                                   " before all had entered it"};
  }

 private:
  bool on_;
  std::vector<int> entered_;
  int early_ = -1;
  int call_ = 0;
};

/// Looks at the data between calls: what those that are done have left, and that the next start from nothing.
class DataWatch {
 public:
  /// `area(rank)`: the bytes of a rank's user data. `changed(rank)`: these bytes were written to.
  using AreaOf = std::function<std::span<std::byte>(int)>;
  using Changed = std::function<void(int)>;
  DataWatch(
      const CollectiveData& data, AreaOf area, Changed changed = [](int) {})
      : data_(data), area_(std::move(area)), changed_(std::move(changed)) {}

  [[nodiscard]] Status check(int rank, int first_call, int last_call) const {
    for (int set = 0; set < data_.sets(); ++set) {
      if (!uses(first_call, last_call, set)) continue;
      if (Status status = data_.check_call(rank, set, area_(rank)); !status.ok()) return status;
    }
    return {};
  }
  void forget(int rank, int first_call, int last_call) const {
    for (int set = 0; set < data_.sets(); ++set) {
      if (!uses(first_call, last_call, set)) continue;
      data_.forget_call(rank, set, area_(rank));
      changed_(rank);
    }
  }
  /// Between the calls `first` .. `now` - 1 and those from `now` to `last` - 1, when no rank is in a call.
  [[nodiscard]] Status between(int first, int now, int last) const {
    for (int rank = 0; rank < data_.request().ranks; ++rank) {
      if (Status status = check(rank, first, now); !status.ok()) return status;
      forget(rank, now, last);
    }
    return {};
  }

 private:
  /// Whether a call from `first` to `last` - 1 uses the set.
  [[nodiscard]] bool uses(int first, int last, int set) const {
    const int sets = data_.sets();
    return first + (set - first % sets + sets) % sets < last;
  }
  const CollectiveData& data_;
  AreaOf area_;
  Changed changed_;
};

/// One rank's calls, in order. `area` is where its user data are.
template <port::Port P>
class Caller {
 public:
  Caller(P& port, const Plan& plan, const coll::Row<P>& row, typename P::UserAddress area, BarrierWatch& watch)
      : me_(port, plan.configuration.shape, plan.closing), plan_(plan), row_(row), area_(area), watch_(watch) {}

  void operator()() {
    const int rank = me_.rank();
    watch_.enter(rank);
    const int set = number_++ % plan_.data.sets();
    coll::Call<P> call = call_of<P>(plan_.data, rank, set, area_);
    if constexpr (std::is_base_of_v<CellPort, P>) {
      me_.port.spu().spu_cycles(plan_.library_call_cycles);
      call.library_call_cycles = me_.port.counted(plan_.library_call_cycles);
    }
    row_.run(me_, call, plan_.configuration.parameters);
    watch_.leave(rank);
  }
  /// The last thing a rank does.
  void end() {
    if constexpr (port::Mailboxes<P>) {
      if ((plan_.algorithm.needs & coll::kPpe) != 0) coll::leave_ppe(me_.port);
    }
  }

 private:
  coll::Rank<P> me_;
  const Plan& plan_;
  const coll::Row<P>& row_;
  typename P::UserAddress area_;
  BarrierWatch& watch_;
  int number_ = 0;
};

/// How long a rank waits before a call.
std::int64_t drawn_delay(const CollectiveRequest& request, int rank, int call, std::int64_t most) {
  if (most <= 0) return 0;
  std::uint64_t state = request.seed * 1000003U + static_cast<std::uint64_t>(rank) * 4099U;
  Rng rng(splitmix64(state) + static_cast<std::uint64_t>(call));
  return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most) + 1));
}

// ---- on the Cell ----

constexpr std::int64_t kQuietCycles = 6400;  // between the last rank's end and the next common start: all is done

/// What is counted at a meeting.
struct Counters {
  std::vector<std::uint64_t> read, written;
  std::uint64_t commands = 0;
  cell::SoftwareCacheStatistics cache;
};

/// What the ranks see of their user memory on the Cell: main memory, under what lies in their caches.
class UserData {
 public:
  UserData(cell::System& system, const CollectiveData& data) : system_(system), data_(data) {}

  /// The next rank's area.
  void add(EffectiveAddress area) {
    areas_.push_back(area);
    caches_.push_back(nullptr);
    seen_.emplace_back();
  }
  void set_cache(int rank, cell::SoftwareCache& cache) { caches_[index(rank)] = &cache; }
  [[nodiscard]] EffectiveAddress area(int rank) const { return areas_[index(rank)]; }
  [[nodiscard]] std::span<std::byte> memory(int rank) const {
    return system_.bytes(area(rank), data_.area_bytes(rank));
  }
  /// As the rank would read it. With a cache these bytes are a copy, for write_back to take.
  [[nodiscard]] std::span<std::byte> look(int rank) {
    const std::span<std::byte> main = memory(rank);
    if (caches_[index(rank)] == nullptr) return main;
    std::vector<std::byte>& seen = seen_[index(rank)];
    seen.assign(main.begin(), main.end());
    caches_[index(rank)]->peek(area(rank), seen);
    return seen;
  }
  void write_back(int rank) {
    if (caches_[index(rank)] == nullptr) return;
    std::ranges::copy(seen_[index(rank)], memory(rank).begin());
    caches_[index(rank)]->poke(seen_[index(rank)], area(rank));
  }
  [[nodiscard]] cell::SoftwareCacheStatistics cache_statistics() const {
    cell::SoftwareCacheStatistics sum;
    for (const cell::SoftwareCache* cache : caches_) {
      if (cache != nullptr) sum += cache->statistics();
    }
    return sum;
  }

 private:
  cell::System& system_;
  const CollectiveData& data_;
  std::vector<EffectiveAddress> areas_;
  std::vector<cell::SoftwareCache*> caches_;
  std::vector<std::vector<std::byte>> seen_;
};

/// All ranks leave at one time, in the order of their numbers.
class Meeting {
 public:
  /// `at_rest(number)`: what is done at a meeting, in no simulated time.
  using AtRest = std::function<void(int)>;
  Meeting(cell::System& system, const std::vector<int>& spes, const UserData& users, AtRest at_rest)
      : system_(system), spes_(spes), users_(users), at_rest_(std::move(at_rest)), waiting_(spes.size(), nullptr) {}

  void operator()(int rank) {
    sim::Engine& engine = system_.engine();
    waiting_[static_cast<std::size_t>(rank)] = engine.current();
    if (++arrived_ == static_cast<int>(spes_.size())) {
      engine.after(kQuietCycles, {&Meeting::start, this, 0});
    }
    engine.block({"the other ranks, before a common start", 0, 0, std::source_location::current()});
  }
  [[nodiscard]] const std::vector<Counters>& counted() const { return counted_; }
  [[nodiscard]] sim::Time started() const { return started_; }

 private:
  static void start(void* self, std::uint64_t /*argument*/) {
    auto& meeting = *static_cast<Meeting*>(self);
    meeting.arrived_ = 0;
    meeting.at_rest_(static_cast<int>(meeting.counted_.size()));
    meeting.count();
    meeting.started_ = meeting.system_.engine().now();
    for (sim::Process* process : meeting.waiting_) meeting.system_.engine().wake(*process);
  }
  void count() {
    Counters now;
    for (int memory = 0; memory < system_.parameters().chips; ++memory) {
      const cell::MemoryStatistics& seen = system_.memory(memory).controller().statistics();
      now.read.push_back(seen.read_bytes);
      now.written.push_back(seen.written_bytes);
    }
    for (const int spe : spes_) now.commands += system_.spe(spe).mfc().statistics().commands;
    now.cache = users_.cache_statistics();
    counted_.push_back(std::move(now));
  }

  cell::System& system_;
  const std::vector<int>& spes_;
  const UserData& users_;
  AtRest at_rest_;
  std::vector<sim::Process*> waiting_;
  std::vector<Counters> counted_;
  int arrived_ = 0;
  sim::Time started_ = 0;
};

/// Of the ranks: those given, or the usable ones in the order of their numbers.
Result<std::vector<int>> spes_of(const cell::Parameters& machine, const CollectiveRequest& request,
                                 const std::vector<int>& given) {
  std::vector<int> usable;
  for (int spe = 0; spe < machine.chips * cell::kSpesPerChip; ++spe) {
    if (machine.usable[static_cast<std::size_t>(spe)]) usable.push_back(spe);
  }
  const auto ranks = static_cast<std::size_t>(request.ranks);
  if (ranks > usable.size()) {
    return bad_field("", "ranks", std::to_string(ranks), "1 to " + std::to_string(usable.size()));
  }
  if (given.empty()) return std::vector<int>(usable.begin(), usable.begin() + request.ranks);
  if (given.size() != ranks) {
    return bad_field("", "spes", std::to_string(given.size()) + " SPEs", std::to_string(ranks) + ", one per rank");
  }
  for (const int spe : given) {
    const bool again = std::ranges::count(given, spe) > 1;
    if (again || std::ranges::find(usable, spe) == usable.end()) {
      return bad_field("", "spes", "SPE " + std::to_string(spe) + (again ? " twice" : ""),
                       "different usable SPEs of the machine");
    }
  }
  return given;
}

Status check_memory(const cell::Parameters& machine, const CollectiveRequest& request, const CollectiveData& data) {
  for (const auto& [memory, name] :
       {std::pair{UserMemory::second, "second"}, std::pair{UserMemory::interleaved, "interleaved"},
        std::pair{UserMemory::first_touch, "first_touch"}}) {
    if (request.memory != memory || machine.chips > 1) continue;
    return bad_field("", "memory", name, "first, own, local_store: the machine has one chip");
  }
  std::uint64_t total = 0;
  for (int rank = 0; rank < request.ranks; ++rank) total += data.area_bytes(rank);
  const auto most = static_cast<std::uint64_t>(machine.memory_bytes) / 2;
  if (request.memory == UserMemory::local_store || total <= most) return {};
  return bad_field("", "bytes", std::to_string(request.bytes),
                   "so many that all buffers take at most half of a memory, " + std::to_string(most) +
                       " bytes, not " + std::to_string(total));
}

/// Whole lines of the rank's cache, if it has one: no other rank has data in them.
EffectiveAddress place_area(cell::System& system, const CollectiveRequest& request, int rank, int spe,
                            std::uint64_t bytes) {
  const UserMemory memory = request.memory;
  const std::uint32_t line = std::max(cell::kLineBytes, request.cache_line_bytes);
  bytes = (bytes + line - 1) / line * line;
  if (memory == UserMemory::local_store) return cell::ls_address(spe) + kLocalData;
  if (memory == UserMemory::interleaved) return system.allocate_interleaved(bytes, line);
  const int chip = spe / cell::kSpesPerChip;
  const int where = memory == UserMemory::own           ? chip
                    : memory == UserMemory::second      ? 1
                    : memory == UserMemory::first_touch ? rank % cell::kMaxChips
                                                        : 0;
  return system.allocate(bytes, line, where);
}

/// When each rank began and ended each call of interest, in ticks.
struct Clocked {
  explicit Clocked(std::size_t ranks, int calls)
      : starts(static_cast<std::size_t>(calls)),
        ends(static_cast<std::size_t>(calls), std::vector<sim::Time>(ranks)) {}
  std::vector<sim::Time> starts;
  std::vector<std::vector<sim::Time>> ends;  ///< [call][rank]
  sim::Time stream_start = 0, stream_end = 0;
};

template <port::Port P>
void run_rank(P& port, Caller<P>& call, const CollectiveRequest& request, Meeting& meet, Clocked& clock,
              std::int64_t most_delay) {
  const int rank = port.rank();
  const auto index = static_cast<std::size_t>(rank);
  for (int i = 0; i < request.warm_up; ++i) call();
  for (int i = 0; i < request.calls; ++i) {
    meet(rank);
    clock.starts[static_cast<std::size_t>(i)] = meet.started();
    port.compute(drawn_delay(request, rank, i, most_delay));
    call();
    clock.ends[static_cast<std::size_t>(i)][index] = port.spu().now();
  }
  meet(rank);
  clock.stream_start = meet.started();
  for (int i = 0; request.back_to_back && i < request.calls; ++i) call();
  clock.stream_end = std::max(clock.stream_end, port.spu().now());
  call.end();
}

CollectiveTimes times_of(const CollectiveRequest& request, cell::System& system, const Clocked& clock,
                         const Meeting& meet) {
  CollectiveTimes times;
  const sim::Engine& engine = system.engine();
  for (std::size_t call = 0; call < clock.starts.size(); ++call) {
    times.latency_ns.push_back(engine.to_ns(std::ranges::max(clock.ends[call]) - clock.starts[call]));
  }
  for (const sim::Time end : clock.ends.back())
    times.rank_end_ns.push_back(engine.to_ns(end - clock.starts.back()));
  if (request.back_to_back)
    times.throughput_ns = engine.to_ns(clock.stream_end - clock.stream_start) / request.calls;
  const Counters& before = meet.counted().front();
  const Counters& after = meet.counted().back();
  for (std::size_t memory = 0; memory < before.read.size(); ++memory) {
    MemoryTraffic traffic;
    traffic.read_bytes = static_cast<double>(after.read[memory] - before.read[memory]) / request.calls;
    traffic.written_bytes = static_cast<double>(after.written[memory] - before.written[memory]) / request.calls;
    const double ns = times.mean_latency_ns();
    if (ns > 0) traffic.gb_per_s = (traffic.read_bytes + traffic.written_bytes) / ns;
    times.memories.push_back(traffic);
  }
  times.dma_commands = static_cast<double>(after.commands - before.commands) / request.calls;
  const auto per_call = [&request](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>(to - from) / request.calls;
  };
  times.cache = {per_call(before.cache.hits, after.cache.hits), per_call(before.cache.misses, after.cache.misses),
                 per_call(before.cache.write_backs, after.cache.write_backs),
                 request.cached() ? request.cache().bytes() : 0};
  times.events = system.engine().events();
  return times;
}

/// What the ranks of a run share.
struct Run {
  UserData& users;
  BarrierWatch& watch;
  Meeting& meet;
  Clocked& clock;
};

/// Of all ranks in the end. Of calls one by one the meeting after the last has looked at them.
Status check_data(const CollectiveData& data, UserData& users) {
  const CollectiveRequest& request = data.request();
  for (int rank = 0; request.back_to_back && rank < request.ranks; ++rank) {
    if (Status status = data.check(rank, users.memory(rank)); !status.ok()) return status;
  }
  return {};
}

/// A program on every rank's SPE, on the port that the request wants.
void start_ranks(cell::System& system, const cell::PortJob& job, const Plan& plan, const Run& run) {
  const CollectiveRequest& request = plan.data.request();
  const auto most_delay =
      static_cast<std::int64_t>(static_cast<double>(request.delay_ns) / system.engine().tick_ns());
  const auto on = [&plan, &request, run, most_delay]<port::Port P>(P& port, const coll::Row<P>& row) {
    Caller<P> call(port, plan, row, run.users.area(port.rank()), run.watch);
    run_rank(port, call, request, run.meet, run.clock, most_delay);
  };
  if (!request.cached()) {
    const coll::Row<CellPort>& row = rows_on_cell(request.collective)[plan.row];
    return cell::run_ranks(system, job, [on, &row](CellPort& port) { on(port, row); });
  }
  const coll::Row<CachedPort>& row = rows_on_cached(request.collective)[plan.row];
  cell::run_cached_ranks(system, job, cache_address(request), request.cache(), [on, &row, run](CachedPort& port) {
    run.users.set_cache(port.rank(), port.cache());
    on(port, row);
  });
}

}  // namespace

double CollectiveTimes::mean_latency_ns() const {
  return std::accumulate(latency_ns.begin(), latency_ns.end(), 0.0) / static_cast<double>(latency_ns.size());
}

Result<CollectiveTimes> run_collective_on_cell(const cell::Parameters& machine, const CollectiveRequest& request,
                                               const std::vector<int>& given_spes) {
  const Result<Plan> planned = plan_on(machine, request);
  if (!planned.ok()) return planned.status();
  const Result<std::vector<int>> spes = spes_of(machine, request, given_spes);
  if (!spes.ok()) return spes.status();
  const Plan& plan = planned.value();
  if (Status status = check_memory(machine, request, plan.data); !status.ok()) return status;
  cell::System system(machine);
  const auto port_job =
      cell::PortJob::make(system, spes.value(), plan.configuration.shape.layout(), plan.configuration.room);
  if (!port_job.ok()) return port_job.status();
  UserData users(system, plan.data);
  for (int rank = 0; rank < request.ranks; ++rank) {
    const int spe = spes.value()[static_cast<std::size_t>(rank)];
    users.add(place_area(system, request, rank, spe, plan.data.area_bytes(rank)));
    plan.data.fill(rank, users.memory(rank));
  }
  if ((plan.algorithm.needs & coll::kPpe) != 0) serve_on_ppe(system, port_job.value());
  BarrierWatch watch(request.collective == Collective::barrier, request.ranks);
  const DataWatch data_watch(
      plan.data, [&](int rank) { return users.look(rank); }, [&](int rank) { users.write_back(rank); });
  Status wrong;
  Meeting meet(system, spes.value(), users, [&](int number) {
    const int done = request.warm_up + number;
    const int stream = request.back_to_back ? request.calls : 0;
    const int until = number == request.calls ? done + stream : done + 1;
    Status status = data_watch.between(number == 0 ? 0 : done - 1, done, until);
    if (wrong.ok()) wrong = status;
  });
  Clocked clock(spes.value().size(), request.calls);
  start_ranks(system, port_job.value(), plan, {users, watch, meet, clock});
  if (Status status = system.run(); !status.ok()) return status;
  for (const Status& status : {watch.status(), wrong, check_data(plan.data, users)}) {
    if (!status.ok()) return status;
  }
  CollectiveTimes times = times_of(request, system, clock, meet);
  times.spes = spes.value();
  times.local_store_bytes = local_store_bytes(plan.configuration).value() + times.cache.bytes;
  times.settings = settings_of(plan.algorithm, plan.configuration);
  return times;
}

Result<CollectiveTimes> run_collective(const machine::Machine& machine, const CollectiveRequest& request,
                                       const machine::Placement& placement) {
  const Result<cell::Parameters> parameters = cell::Parameters::from(machine);
  if (!parameters.ok()) return parameters.status();
  machine::Placement placed = placement;
  if (placed.unit_of_rank.empty()) {
    const int units = static_cast<int>(machine.units.size());
    for (int unit = 0; unit < std::min(request.ranks, units); ++unit) placed.unit_of_rank.push_back(unit);
  } else if (static_cast<int>(placed.unit_of_rank.size()) != request.ranks) {
    return bad_field("", "placement", std::to_string(placed.unit_of_rank.size()) + " ranks",
                     std::to_string(request.ranks) + ", as many as take part");
  } else if (Status status = machine::check(placed, machine); !status.ok()) {
    return status;
  }
  std::vector<int> spes;
  for (const machine::UnitId unit : placed.unit_of_rank) {
    spes.push_back(spe_of(machine.units[static_cast<std::size_t>(unit)]));
  }
  return run_collective_on_cell(parameters.value(), request, spes);
}

Status run_collective_on_ideal(const CollectiveRequest& request, std::uint64_t port_seed) {
  const Result<Plan> planned = plan_of(request);
  if (!planned.ok()) return planned.status();
  const Plan& plan = planned.value();
  const coll::Row<IdealPort>& row = rows_on_ideal(request.collective)[plan.row];
  const bool local = request.memory == UserMemory::local_store;
  IdealJob on{.ranks = request.ranks, .layout = plan.configuration.shape.layout(), .seed = port_seed};
  std::vector<std::vector<std::byte>> areas;  // room to align each to a line
  for (int rank = 0; rank < request.ranks; ++rank) {
    const std::uint64_t bytes = plan.data.area_bytes(rank);
    areas.emplace_back(bytes + cell::kLineBytes);
    if (local) on.local_bytes = std::max(on.local_bytes, static_cast<std::uint32_t>(areas.back().size()));
  }
  Status wrong;
  BarrierWatch watch(request.collective == Collective::barrier, request.ranks);
  IdealSystem system;
  const bool serves = (plan.algorithm.needs & coll::kPpe) != 0;
  const Status ran = system.run(
      on,
      [&](IdealPort& port) {
        const int rank = port.rank();
        const std::uint64_t bytes = plan.data.area_bytes(rank);
        void* begin = local ? static_cast<void*>(port.local().data())
                            : static_cast<void*>(areas[static_cast<std::size_t>(rank)].data());
        std::size_t room = bytes + cell::kLineBytes;
        auto* const area = static_cast<std::byte*>(std::align(cell::kLineBytes, bytes, begin, room));
        plan.data.fill(rank, {area, bytes});
        Caller<IdealPort> call(port, plan, row, area, watch);
        const DataWatch data_watch(plan.data, [=](int) { return std::span(area, bytes); });
        const auto expect = [&wrong](const Status& status) {
          if (!status.ok() && wrong.ok()) wrong = status;
        };
        for (int i = 0; i < plan.all_calls; ++i) {
          if (request.delay_ns > 0) port.pause(static_cast<int>(drawn_delay(request, rank, i, 20)));
          data_watch.forget(rank, i, i + 1);
          call();
          expect(data_watch.check(rank, i, i + 1));
        }
        call.end();
        expect(plan.data.check(rank, {area, bytes}));
      },
      serves ? ideal_ppe(request.ranks) : IdealSystem::Coordinator{});
  for (const Status& status : {ran, watch.status(), wrong}) {
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace corewise::lab
