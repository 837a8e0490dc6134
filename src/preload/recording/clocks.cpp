// Comparing clocks over our own communicator; see clocks.hpp. One rank per node, its lowest, asks rank 0 for the
// time a few dozen times; the quickest answer counts (Cristian, 1989).
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/clocks.hpp"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/fnv.hpp"
#include "base/knobs.hpp"

namespace corewise::preload {
namespace {

constexpr Knob kTraceSync{"trace_sync", KnobType::choice, "ends", "never|ends|collectives",
                          "when the clocks of several nodes are compared"};
constexpr Knob kTraceSkew{"trace_clock_skew", KnobType::text, "", "N ns M ppm",
                          "a wrong clock for this rank, to test the comparison of clocks"};

enum Moment : std::uint32_t { kStart = 0, kEnd = 1, kCollective = 2 };

constexpr int kExchanges = 40;
constexpr std::int64_t kDeadline_ns = 10'000'000'000;       ///< for a peer to turn up
constexpr std::int64_t kLongDeadline_ns = 600'000'000'000;  ///< at MPI_Finalize, which waits for it in any case
constexpr std::int64_t kEnough_ns = 200'000'000;            ///< of asking, where answers are slow
constexpr std::uint64_t kFirstCollective = 16;
constexpr int kTag = 1;
constexpr std::int64_t kFarewell = -1;  ///< as a number: the sender has given up

struct Question {
  std::int64_t number;
  std::int64_t last;  ///< 1: no further one comes
};

struct Answer {
  std::int64_t number;
  std::int64_t ns;
};

/// What this world's ranks agreed on. Pending requests may outlive a call, so their buffers live here.
struct State {
  MPI_Comm comm = MPI_COMM_NULL;
  bool gave_up = false;
  bool said_so = false;
  pid_t process = 0;  ///< a forked child must not use its parent's connections
  int rank = 0;
  int size = 0;
  int* leaders = nullptr;  ///< ranks, lowest of each node but rank 0's
  int leader_count = 0;
  bool leads = false;
  std::uint64_t collectives = 0;
  std::uint64_t next_collective = kFirstCollective;
  Question question{};
  Answer answer{};
};
State state;

struct Skew {
  std::int64_t offset_ns = 0;
  std::int64_t ppm = 0;
};
Skew skew;

std::int64_t local_ns() {
  return static_cast<std::int64_t>(read_os_clock());
}

/// What MPI calls on its own in here is not the program's.
class Aside {
 public:
  [[gnu::always_inline]] Aside() { go_inside(this_thread); }
  ~Aside() {
    --this_thread.depth;
    errno = saved_errno_;
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  int saved_errno_ = errno;
};

// ---- waiting, with a deadline ----

/// True when `request` completed in time. Else it is withdrawn, and there will be no further comparison.
bool finished(MPI_Request& request, std::int64_t deadline_ns) {
  for (int polls = 1;; ++polls) {
    int done = 0;
    if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    if (done != 0) return true;
    if (polls % 64 != 0) continue;
    if (local_ns() > deadline_ns) break;
    sched_yield();
  }
  state.gave_up = true;
  return false;
}

/// The same for a point-to-point operation, which can be withdrawn.
bool passed(MPI_Request& request, std::int64_t deadline_ns) {
  if (finished(request, deadline_ns)) return true;
  if (request == MPI_REQUEST_NULL) return false;
  PMPI_Cancel(&request);
  PMPI_Request_free(&request);
  return false;
}

bool send(const void* data, int bytes, int to, std::int64_t deadline_ns) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Isend(data, bytes, MPI_BYTE, to, kTag, state.comm, &request) != MPI_SUCCESS) return false;
  return passed(request, deadline_ns);
}

bool receive(void* data, int bytes, int from, std::int64_t deadline_ns) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Irecv(data, bytes, MPI_BYTE, from, kTag, state.comm, &request) != MPI_SUCCESS) return false;
  return passed(request, deadline_ns);
}

void leave_farewell(int rank) {
  static const std::int64_t kMessage[2] = {kFarewell, 1};
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Isend(kMessage, sizeof kMessage, MPI_BYTE, rank, kTag, state.comm, &request) == MPI_SUCCESS)
    PMPI_Request_free(&request);
}

/// Gives up, and leaves a word where somebody may wait for this rank: a leader at rank 0, rank 0 at every leader.
/// Before the leaders are known (`to_all`) it is every rank's.
void give_up(bool to_all) {
  state.gave_up = true;
  if (state.said_so) return;
  state.said_so = true;
  if (state.rank != 0) return leave_farewell(0);
  if (to_all)
    for (int rank = 1; rank < state.size; ++rank) leave_farewell(rank);
  for (int i = 0; i < state.leader_count; ++i) leave_farewell(state.leaders[i]);
}

// ---- who takes part ----

bool says(const char* variable, int size) {
  const std::string_view text = launcher_text(variable);
  return !text.empty() && std::string(text) == std::to_string(size);
}

/// The launcher says that all ranks of this world are on this node: then it says so to all of them.
bool launcher_says_one_node(int size) {
  return (says("OMPI_COMM_WORLD_SIZE", size) && says("OMPI_COMM_WORLD_LOCAL_SIZE", size)) ||
         (says("PMI_SIZE", size) && says("MPI_LOCALNRANKS", size));
}

/// What can be known without a word: equal on all ranks.
bool may_need_comparison(int size) {
  int when = 0;
  if (!read_choice(kTraceSync, when).ok()) when = 1;
  if (!trace_wanted() || when == 0 || size < 2) return false;
  return node_is_named() || !launcher_says_one_node(size);
}

/// A communicator of our own. One that does not come in time is left alone: a rank without this library is there.
bool make_communicator() {
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Comm_idup(MPI_COMM_WORLD, &state.comm, &request) != MPI_SUCCESS) return false;
  if (!finished(request, local_ns() + kDeadline_ns)) return false;
  PMPI_Comm_set_errhandler(state.comm, MPI_ERRORS_RETURN);
  return true;
}

/// The nodes of all ranks. `hashes` holds one word per rank and lives on if the exchange does not end in time.
bool gather_nodes(std::uint64_t* hashes) {
  char node[64] = {};
  name_node(node, sizeof node);
  static std::uint64_t mine = 0;
  mine = fnv(node);
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Iallgather(&mine, sizeof mine, MPI_BYTE, hashes, sizeof mine, MPI_BYTE, state.comm, &request) !=
      MPI_SUCCESS)
    return false;
  return finished(request, local_ns() + kDeadline_ns);
}

/// Whether `rank` is the lowest of its node. Every lower rank's node has a leader already.
bool is_first(const std::uint64_t* hashes, int rank) {
  if (hashes[rank] == hashes[0]) return false;
  for (int i = 0; i < state.leader_count; ++i)
    if (hashes[state.leaders[i]] == hashes[rank]) return false;
  return true;
}

void find_leaders(const std::uint64_t* hashes, int size) {
  for (int rank = 1; rank < size; ++rank) {
    if (!is_first(hashes, rank)) continue;
    auto* grown = static_cast<int*>(
        std::realloc(state.leaders, sizeof(int) * static_cast<std::size_t>(state.leader_count + 1)));
    if (grown == nullptr) return;
    state.leaders = grown;
    state.leaders[state.leader_count++] = rank;
    state.leads = state.leads || rank == state.rank;
  }
}

bool set_up(int size) {
  auto* hashes = static_cast<std::uint64_t*>(std::calloc(static_cast<std::size_t>(size), sizeof(std::uint64_t)));
  if (hashes == nullptr || !make_communicator()) return false;
  if (!gather_nodes(hashes)) return give_up(true), false;  // MPI may still write to `hashes`
  find_leaders(hashes, size);
  std::free(hashes);
  return true;
}

// ---- the comparison ----

/// The quickest question and answer so far.
struct Best {
  std::int64_t round_trip_ns = INT64_MAX;
  std::int64_t at_ns = 0;
  std::int64_t offset_ns = 0;
  std::uint64_t ticks = 0;

  /// Ticks and nanoseconds are of one moment, the middle.
  void take(std::int64_t sent_ns, std::int64_t back_ns, std::uint64_t sent_ticks, std::int64_t reference_ns) {
    if (back_ns - sent_ns >= round_trip_ns) return;
    round_trip_ns = back_ns - sent_ns;
    at_ns = sent_ns + round_trip_ns / 2;
    offset_ns = reference_ns - at_ns;
    ticks = sent_ticks + (now() - sent_ticks) / 2;
  }
};

void record(Moment moment, const Best& best) {
  if (process.file == nullptr) return;
  trace::ClockSync sync{};
  sync.block.kind = trace::BlockKind::clock;
  sync.ticks = best.ticks;
  sync.local_ns = best.at_ns;
  sync.offset_ns = best.offset_ns;
  sync.uncertainty_ns = static_cast<std::uint64_t>((best.round_trip_ns + 1) / 2);
  sync.reference = 0;
  sync.moment = moment;
  append_block(sync.block, sizeof sync, nullptr, 0);
}

/// A leader's part: the quickest of many questions. Those after the first have no less time than usual.
bool ask(Moment moment, std::int64_t deadline_ns) {
  std::int64_t enough_ns = INT64_MAX;
  Best best;
  state.question = {};
  do {
    const std::uint64_t sent_ticks = now();
    const std::int64_t sent_ns = local_ns();
    state.question.last = state.question.number == kExchanges - 1 || sent_ns > enough_ns ? 1 : 0;
    if (!send(&state.question, sizeof state.question, 0, deadline_ns) ||
        !receive(&state.answer, sizeof state.answer, 0, deadline_ns) || state.answer.number == kFarewell)
      return false;
    const std::int64_t back_ns = local_ns();
    best.take(sent_ns, back_ns, sent_ticks, state.answer.ns);
    if (state.question.number++ > 0) continue;
    enough_ns = back_ns + kEnough_ns;  // before that rank 0 was not here
    deadline_ns = back_ns + kDeadline_ns;
  } while (state.question.last == 0);
  record(moment, best);
  return true;
}

/// Rank 0's part for one leader.
bool answer(int leader, std::int64_t deadline_ns) {
  do {
    if (!receive(&state.question, sizeof state.question, leader, deadline_ns) || state.question.number == kFarewell)
      return false;
    state.answer = {state.question.number, local_ns()};
    deadline_ns = state.answer.ns + kDeadline_ns;
    if (!send(&state.answer, sizeof state.answer, leader, deadline_ns)) return false;
  } while (state.question.last == 0);
  return true;
}

/// Each leader has the time anew: what those before it took is no fault of its own.
bool answer_all(Moment moment, std::int64_t patience_ns) {
  for (int i = 0; i < state.leader_count; ++i)
    if (!answer(state.leaders[i], local_ns() + patience_ns)) return false;
  record(moment, {0, local_ns(), 0, now()});
  return true;
}

void compare(Moment moment) {
  if (state.leader_count == 0 || state.gave_up || state.process != getpid()) return;
  const Aside aside;
  const std::int64_t patience_ns = moment == kEnd ? kLongDeadline_ns : kDeadline_ns;
  const bool done = (!state.leads || ask(moment, local_ns() + patience_ns)) &&
                    (state.rank != 0 || answer_all(moment, patience_ns));
  if (!done) give_up(false);
}

}  // namespace

bool compares_at_collectives = false;

void compare_clocks_at_start() {
  PMPI_Comm_size(MPI_COMM_WORLD, &state.size);
  PMPI_Comm_rank(MPI_COMM_WORLD, &state.rank);
  state.process = getpid();
  if (!may_need_comparison(state.size)) return;
  const Aside aside;
  if (!set_up(state.size)) {
    state.gave_up = true;
    return;
  }
  int when = 0;
  compares_at_collectives = state.leader_count > 0 && read_choice(kTraceSync, when).ok() && when == 2;
  compare(kStart);
}

void compare_clocks_at_end() {
  compares_at_collectives = false;
  compare(kEnd);
}

void compare_clocks_after_collective(MPI_Comm comm) {
  if (comm != MPI_COMM_WORLD || this_thread.depth != 0 || ++state.collectives < state.next_collective) return;
  // Ever rarer, so that a long run has a few dozen of them.
  state.next_collective += state.next_collective / 4;
  compare(kCollective);
}

bool read_skew() {
  const std::string text(knob_text(kTraceSkew));
  long long offset_ns = 0;
  long long ppm = 0;
  const int found = std::sscanf(text.c_str(), "%lld ns %lld ppm", &offset_ns, &ppm);
  const bool sane = found >= 1 && std::llabs(offset_ns) < 1'000'000'000'000'000LL && std::llabs(ppm) <= 10'000;
  if (sane) skew = {offset_ns, ppm};
  return sane;
}

std::int64_t skewed(std::int64_t ns) {
  return ns + skew.offset_ns + ns / 1'000'000 * skew.ppm + ns % 1'000'000 * skew.ppm / 1'000'000;
}

}  // namespace corewise::preload
