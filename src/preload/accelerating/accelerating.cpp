// The library's life and its knobs; see accelerating.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/accelerating.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "base/units.hpp"
#include "preload/accelerating/communicators.hpp"
#include "preload/accelerating/counts.hpp"
#include "preload/accelerating/derived.hpp"
#include "preload/accelerating/memory/copies.hpp"
#include "preload/accelerating/spawning.hpp"
#include "preload/data.hpp"
#include "preload/environment.hpp"

namespace corewise::preload::accelerating {

std::atomic<bool> active{false};

namespace {

constexpr Knob kAccelerate{"accelerate", KnobType::text, "on",
                           "off, on, always, or a table's rows (allreduce=BYTES:ALGORITHM,...;...)",
                           "which collectives are corewise's own"};
constexpr Knob kAfter{"accelerate_after", KnobType::text, "4", "a number",
                      "collectives that a communicator leaves to the MPI before it is set up"};
constexpr Knob kCopy{"accelerate_copy", KnobType::text, "", "a copy tuning in one line (kernels/copy/copy.hpp)",
                     "which loops copy between user memory and stages; empty: what is quicker between these ranks"};

constexpr Knob kDirect{"accelerate_direct", KnobType::choice, "on", "on|off",
                       "whether ranks copy to and from each other's memory, where the system lets them"};

constexpr Knob kMapped{"accelerate_mapped", KnobType::choice, "on", "on|off",
                       "whether memory of MPI_Alloc_mem is such that all ranks of a node map it"};

constexpr Knob kHeap{
    "accelerate_heap", KnobType::text, "off", "off; on or forced, which may have :SIZE behind it (forced:1 MiB)",
    "whether large blocks of malloc are such memory, too; forced: also where they lose huge pages"};

constexpr Knob kLines{"accelerate_lines", KnobType::choice, "auto", "auto|partners",
                      "between which ranks of a communicator there are control lines"};

constexpr Knob kLevels{
    "accelerate_levels", KnobType::text, "off",
    "off, nodes, so many successive ranks as a node, groups:RANKS/..., found, or cpus:DOMAINS/...",
    "whether collectives of ranks on several nodes, or in several domains of one, are done by levels"};

constexpr Knob kSystem{"accelerate_system", KnobType::text, "/sys/devices/system", "a folder",
                       "where the kernel says which CPUs share caches, nodes and sockets; another one in tests"};

constexpr Knob kSpawned{"accelerate_spawned", KnobType::choice, "off", "on|off",
                        "whether processes that are spawned get this library and its variables"};

constexpr std::array kHandedDown{kAccelerate, kAfter, kCopy,   kDirect, kMapped,
                                 kHeap,       kLines, kLevels, kSystem, kSpawned};

#ifndef CW_HAVE_MPI_Session_init
using MPI_Session = int;  // there are none
#endif

struct Life {
  std::mutex mutex;
  bool has_world = false;
  std::vector<MPI_Session> sessions;  ///< open ones
  std::atomic<bool> has_sessions{false};
  std::atomic<MPI_Group> launched{MPI_GROUP_NULL};
  bool is_spawned = false;  ///< the ranks have numbers of their own: the counts are of those that were launched
};
Life& life = *new Life;  // outlives every destructor of the program

constinit thread_local bool finalizing __attribute__((tls_model("initial-exec"))) = false;

void forget_launched() {
  MPI_Group group = life.launched.exchange(MPI_GROUP_NULL);
  if (group != MPI_GROUP_NULL) CW_NEXT(MPI_Group_free)(&group);
}

/// Calls may be taken over from now on, or are by another group's word.
void start(MPI_Group launched) {
  if (!active.load(std::memory_order_relaxed)) choose_copies(knob_text(kCopy));
  forget_launched();
  life.launched = launched;
  active.store(true, std::memory_order_release);
}

void write_what_was_counted() {
  int rank = 0;
  CW_NEXT(MPI_Group_rank)(life.launched, &rank);
  if (!life.is_spawned && !trace_directory().empty()) write_counts(trace_directory(), rank);
}

void stop() {
  active.store(false, std::memory_order_release);
  write_what_was_counted();
  leave_teams();
  end_communicators();
  end_derived();
  end_spawning();
  forget_launched();
}

}  // namespace

namespace {

/// What stands behind a word in the knob for levels; empty where it begins with another.
std::string_view levels_behind(std::string_view word) {
  const std::string_view text = levels_wanted();
  return text.starts_with(word) ? text.substr(word.size()) : std::string_view();
}

/// 0 for anything but a number.
int number_in(std::string_view text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::max(number, 0) : 0;
}

}  // namespace

std::string_view wanted() {
  return knob_text(kAccelerate);
}

int calls_before() {
  static const int number = [] {
    const std::string_view text = knob_text(kAfter);
    int read = 4;
    std::from_chars(text.data(), text.data() + text.size(), read);
    return std::clamp(read, 0, 1 << 20);
  }();
  return number;
}

std::string_view lines_wanted() {
  return knob_text(kLines);
}

std::string_view levels_wanted() {
  return knob_text(kLevels);
}

bool goes_by_levels() {
  return levels_wanted() == "nodes" || forced_node_ranks() > 0;
}

int forced_node_ranks() {
  return number_in(levels_wanted());
}

std::string_view group_sizes() {
  return levels_behind("groups:");
}

std::string_view told_domains() {
  return levels_behind("cpus:");
}

bool goes_by_domains() {
  return levels_wanted() == "found" || !told_domains().empty();
}

std::string_view system_files() {
  return knob_text(kSystem);
}

bool copies_between_processes() {
  return knob_text(kDirect) != "off";
}

bool lends_memory() {
  return knob_text(kMapped) != "off";
}

namespace {

constexpr std::size_t kUsualHeapBytes = std::size_t{256} << 10;

}  // namespace

WantedHeap wanted_heap() {
  const std::string_view text = knob_text(kHeap);
  const std::size_t end = std::min(text.find(':'), text.size());
  const std::string_view word = text.substr(0, end);
  const std::string_view size = text.substr(std::min(end + 1, text.size()));
  const bool forced = word == "forced";
  if (!forced && word != "on") return {};
  if (size.empty()) return {kUsualHeapBytes, forced};
  const Result<std::uint64_t> bytes = parse_size_bytes(size);
  return {bytes.ok() ? std::max<std::size_t>(bytes.value(), kLeastHeapBytes) : SIZE_MAX, forced};
}

bool spawned_get_library() {
  return knob_text(kSpawned) == "on";
}

std::vector<std::pair<std::string, std::string>> settings_here() {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const Knob& knob : kHandedDown) settings.emplace_back(environment_name(knob), knob_text(knob));
  return settings;
}

MPI_Group launched() {
  return life.launched;
}

bool has_sessions() {
  return life.has_sessions.load(std::memory_order_relaxed);
}

void begin() {
  if (wanted() == "off" || !may_begin()) return;
  const std::lock_guard lock(life.mutex);
  life.has_world = true;
  MPI_Group world = MPI_GROUP_NULL;
  CW_NEXT(MPI_Comm_group)(MPI_COMM_WORLD, &world);
  start(world);
}

namespace {

/// Without a world, what was launched is what the first of the open sessions says; null: there is none.
MPI_Group group_of_sessions() {
  MPI_Group group = MPI_GROUP_NULL;
#ifdef CW_HAVE_MPI_Session_init
  if (!life.sessions.empty() &&
      CW_NEXT(MPI_Group_from_session_pset)(life.sessions[0], "mpi://WORLD", &group) != MPI_SUCCESS)
    group = MPI_GROUP_NULL;
#endif
  return group;
}

/// MPI_Finalize begins. Other threads may be in collectives of a session, on each rank in another one: they go on,
/// and nothing of theirs ends. Nor does the world's group, with which one of them may be comparing.
void finish() {
  const std::lock_guard lock(life.mutex);
  life.has_world = false;
  if (!active.load(std::memory_order_relaxed)) return;
  MPI_Comm parent = MPI_COMM_NULL;
  CW_NEXT(MPI_Comm_get_parent)(&parent);
  life.is_spawned = parent != MPI_COMM_NULL;
  const MPI_Group group = group_of_sessions();
  if (group == MPI_GROUP_NULL) return stop();
  write_what_was_counted();  // nobody need end a session
  life.launched = group;
}

}  // namespace

Finalizing::Finalizing() {
  finish();
  finalizing = true;
}
Finalizing::~Finalizing() {
  finalizing = false;
}

bool may_free_communicators() {
  return active.load(std::memory_order_acquire) && !finalizing;
}

#ifdef CW_HAVE_MPI_Session_init
namespace {

void start_by_session() {
  const MPI_Group group = group_of_sessions();
  if (group != MPI_GROUP_NULL) start(group);
}

}  // namespace

void begin_session(MPI_Session session) {
  if (wanted() == "off") return;
  const std::lock_guard lock(life.mutex);
  life.has_sessions.store(true, std::memory_order_relaxed);
  life.sessions.push_back(session);
  if (!active.load(std::memory_order_relaxed)) start_by_session();
}

void finish_session(MPI_Session session) {
  const std::lock_guard lock(life.mutex);
  const auto found = std::ranges::find(life.sessions, session);
  if (found == life.sessions.end()) return;
  const bool first = found == life.sessions.begin();
  life.sessions.erase(found);
  if (life.has_world || !first || !active.load(std::memory_order_relaxed)) return;
  if (life.sessions.empty()) return stop();
  start_by_session();  // the group was the ending session's
}
#endif

}  // namespace corewise::preload::accelerating
