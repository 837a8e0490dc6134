// Cards, the agreement, and the memory; see set_up.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/set_up.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/fnv.hpp"
#include "base/knobs.hpp"
#include "preload/accelerating/accelerating.hpp"
#include "preload/accelerating/memory/copies.hpp"
#include "preload/accelerating/memory/files.hpp"
#include "preload/accelerating/memory/mapped.hpp"
#include "preload/accelerating/selection.hpp"
#include "preload/data.hpp"
#include "preload/environment.hpp"

namespace corewise::preload::accelerating {
namespace {

/// At the begin of every file: the number that its maker told. In a stage's the rest of the page is free, in a
/// communicator's the board follows.
constexpr std::size_t kKeyBytes = shm::kPaddingBytes;
/// Of control lines that a process may have mapped; and how many it may have when lines between all pairs come
/// to them, or those with runs.
constexpr std::size_t kMostLineBytes = std::size_t{512} << 20;
constexpr std::size_t kMostWithAllPairs = std::size_t{128} << 20;
constexpr std::size_t kMostWithRuns = std::size_t{64} << 20;
constexpr std::size_t kMaskWords = 16;

/// What a rank tells the others. Plain bytes; all ranks are on one kind of processor where it is believed.
struct Card {
  std::uint64_t node = 0;      ///< equal where processes see each other's entries in /proc
  std::uint64_t settings = 0;  ///< the table
  std::uint64_t stage_key = 0;
  std::uint64_t lines_key = 0;  ///< rank 0's
  std::uint64_t stage_at = 0;   ///< where its process has stage_key, for who tries to read it there
  std::int32_t process = 0;
  std::int32_t stage_file = -1;
  std::int32_t lines_file = -1;
  std::int32_t node_ranks = 0;  ///< as the launcher says; 0: it does not
  std::int32_t cores = 0;       ///< that the control group grants
  std::int32_t has_gpu = 0;
  std::int32_t has_memory = 0;
  std::int32_t many_threads = 0;
  std::int32_t may_measure = 0;  ///< which copies serve it (copies.hpp)
  std::int32_t has_measured = 0;
  HeapCard heap;
  std::int32_t has_room_for_all = 0;    ///< for lines between all pairs; rank 0: its file has them
  std::int32_t has_room_for_runs = 0;   ///< the same of runs, where they are expected
  std::uint64_t mask[kMaskWords] = {};  ///< the CPUs where it may run
};

std::atomic<std::size_t> line_bytes{0};
/// Whether the ranks of the communicator that was set up last share cores; -1: none was.
std::atomic<int> crowded_before{-1};
std::mutex mapping;

/// The teams of this process.
struct Teams {
  std::mutex mutex;
  std::set<Team*> all;
};
Teams& teams = *new Teams;  // outlives every destructor of the program

/// The bytes of a stage's file.
std::size_t stage_bytes() {
  return shm::kPageBytes + shape_of(2, coll::Lines::all, false).layout().stage_bytes;
}

/// This process's stage, made at the first call; without a file where there is no memory.
const File& own_stage() {
  static const File& made = *new File(make_file(stage_bytes()));
  return made;
}

/// A peer's stage: mapped once, however many communicators have it.
std::shared_ptr<shm::Mapping> stage_of(const Card& card) {
  static auto& met = *new std::map<std::uint64_t, std::weak_ptr<shm::Mapping>>;
  if (card.process == getpid() && card.stage_key == own_stage().key) return own_stage().mapping;
  if (auto before = met[card.stage_key].lock()) return before;
  auto opened = open_file(card.process, card.stage_file, card.stage_key, stage_bytes());
  if (opened == nullptr) {
    met.erase(card.stage_key);
  } else {
    met[card.stage_key] = opened;
  }
  return opened;
}

// ---- what a card says ----

int number_in(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int node_ranks() {
  int most = 0;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"})
    most = std::max(most, number_in(launcher_text(name)));
  return most;
}

/// Cores that the control group's quota is worth, rounded up; very many where there is none.
int granted_cores() {
  constexpr int kAll = 1 << 20;
  char text[64] = {};
  const int file = open("/sys/fs/cgroup/cpu.max", O_RDONLY | O_CLOEXEC);
  if (file < 0) return kAll;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  const std::string_view line(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t space = line.find(' ');
  if (line.substr(0, 3) == "max" || space == std::string_view::npos) return kAll;
  const int period = number_in(line.substr(space + 1));
  return period <= 0 ? kAll : (number_in(line) + period - 1) / period;
}

void read_mask(Card& card) {
  static_assert(sizeof(cpu_set_t) >= sizeof card.mask);
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) std::memcpy(card.mask, &mask, sizeof card.mask);
}

Card own_card(bool many_threads) {
  Card card;
  card.node = node_key();
  card.many_threads = many_threads ? 1 : 0;
  card.settings = fnv(lines_wanted(), fnv(levels_wanted(), fnv(wanted())));
  card.process = getpid();
  card.node_ranks = node_ranks();
  card.cores = granted_cores();
  card.has_gpu = gpu_present() ? 1 : 0;
  card.may_measure = copies_may_be_measured() ? 1 : 0;
  card.has_measured = copies_found().empty() ? 0 : 1;
  read_mask(card);
  const File& stage = own_stage();
  card.stage_file = stage.file;
  card.stage_key = stage.key;
  card.heap = own_heap_card();
  if (stage.mapping != nullptr) card.stage_at = reinterpret_cast<std::uintptr_t>(stage.mapping->block().data());
  return card;
}

/// Whether several threads may call MPI at once.
bool may_call_at_once() {
  if (has_sessions()) return true;
  int level = MPI_THREAD_MULTIPLE;
  CW_NEXT(MPI_Query_thread)(&level);
  return level == MPI_THREAD_MULTIPLE;
}

/// Whether ranks must share cores.
bool is_crowded(std::span<const Card> cards) {
  std::uint64_t all[kMaskWords] = {};
  int ranks = static_cast<int>(cards.size());
  int granted = cards[0].cores;
  bool shared = false;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    ranks = std::max(ranks, static_cast<int>(cards[i].node_ranks));
    granted = std::min(granted, static_cast<int>(cards[i].cores));
    int own = 0;
    for (std::size_t word = 0; word < kMaskWords; ++word) {
      all[word] |= cards[i].mask[word];
      own += std::popcount(cards[i].mask[word]);
    }
    for (std::size_t other = 0; own == 1 && other < i; ++other)
      shared = shared || std::memcmp(cards[i].mask, cards[other].mask, sizeof cards[i].mask) == 0;
  }
  int cores = 0;
  for (const std::uint64_t word : all) cores += std::popcount(word);
  return shared || ranks > std::min(cores, granted);
}

/// Whether some rank has to measure its copies yet, and all can.
bool should_measure(std::span<const Card> cards, bool crowded) {
  return std::ranges::all_of(cards, [](const Card& card) { return card.may_measure != 0; }) &&
         std::ranges::any_of(cards, [](const Card& card) { return card.has_measured == 0; }) && !crowded;
}

/// Fate::broken where a peer ends meanwhile.
Fate measure_copies_of(Team& team) {
  try {
    measure_copies(team.rank);
  } catch (const CallFailed&) {
    return Fate::broken;
  }
  return Fate::taken;
}

/// Why these ranks do not work together; `taken` where nothing speaks against it.
Fate judge(std::span<const Card> cards) {
  const auto any = [&cards](auto wrong) { return std::ranges::any_of(cards, wrong); };
  const Card& first = cards[0];
  if (any([&](const Card& card) { return card.settings != first.settings; })) return Fate::differs;
  if (any([&](const Card& card) { return card.many_threads != first.many_threads; })) return Fate::differs;
  if (any([&](const Card& card) { return card.node != first.node; })) return Fate::not_one_node;
  if (any([](const Card& card) { return card.has_gpu != 0; })) return Fate::gpu;
  if (any([](const Card& card) { return card.has_memory == 0; })) return Fate::memory;
  return Fate::taken;
}

/// Where in a communicator's own file its segment begins: behind the key and the board.
std::size_t segment_at(int ranks) {
  return kKeyBytes + CallBoard::bytes(ranks);
}

/// Between whom the table wants lines.
coll::Lines wanted_lines(int ranks, bool crowded) {
  if (lines_wanted() == "partners") return coll::Lines::partners;
  const bool all = ranks <= kAlwaysAllPairs || meets_all_pairs(selection_for(ranks, crowded));
  return all ? coll::Lines::all : coll::Lines::partners;
}
/// The same before anybody knows whether ranks share cores.
coll::Lines most_wanted_lines(int ranks) {
  const bool all = wanted_lines(ranks, false) == coll::Lines::all || wanted_lines(ranks, true) == coll::Lines::all;
  return all ? coll::Lines::all : coll::Lines::partners;
}
/// What follows from the cards, which are the same on all ranks.
struct Agreed {
  explicit Agreed(std::span<const Card> cards) : crowded(is_crowded(cards)) {
    const auto all = [cards](auto has) { return std::ranges::all_of(cards, has); };
    if (all([](const Card& card) { return card.has_room_for_all != 0; }))
      lines = wanted_lines(static_cast<int>(cards.size()), crowded);
    runs = crowded && all([](const Card& card) { return card.has_room_for_runs != 0; });
  }

  bool crowded;
  coll::Lines lines = coll::Lines::partners;
  bool runs = false;
};

/// What a process expects before it has the others' cards: room for runs that are not wanted would be for nothing.
bool expects_crowd(int ranks, const Card& card) {
  const int before = crowded_before.load(std::memory_order_relaxed);
  if (before >= 0) return before != 0;
  return std::max<long>(ranks, card.node_ranks) > std::min<long>(card.cores, sysconf(_SC_NPROCESSORS_ONLN));
}

/// Says on the card for which lines this process has room; the bytes of the best that it has room for.
std::size_t look_for_room(int ranks, Card& card) {
  const bool many_threads = card.many_threads != 0;
  const std::size_t before = line_bytes.load(std::memory_order_relaxed);
  const std::size_t least = own_bytes(ranks, coll::Lines::partners, false, many_threads);
  const std::size_t more = own_bytes(ranks, most_wanted_lines(ranks), false, many_threads);
  const std::size_t most = own_bytes(ranks, most_wanted_lines(ranks), true, many_threads);
  card.has_memory = before + least <= kMostLineBytes ? 1 : 0;
  card.has_room_for_all = before + more <= kMostWithAllPairs ? 1 : 0;
  card.has_room_for_runs = before + most <= kMostWithRuns && expects_crowd(ranks, card) ? 1 : 0;
  if (card.has_room_for_runs != 0) return most;
  return card.has_room_for_all != 0 ? more : least;
}

/// Maps what the others have; false where something cannot be had. The rank that has made the lines' file cuts off
/// what it did not know to be too much.
bool map_all(std::span<const Card> cards, const Agreed& agreed, File& lines, Memory& memory) {
  const bool many_threads = cards[0].many_threads != 0;
  const int ranks = static_cast<int>(cards.size());
  const std::size_t bytes = own_bytes(ranks, agreed.lines, agreed.runs, many_threads);
  if (lines.mapping == nullptr || lines.mapping->block().size() > bytes) {
    if (lines.mapping != nullptr && ftruncate(lines.file, static_cast<off_t>(bytes)) != 0) return false;
    lines.mapping = open_file(cards[0].process, cards[0].lines_file, cards[0].lines_key, bytes);
  }
  if (lines.mapping == nullptr) return false;
  memory.lines = std::move(*lines.mapping);
  if (many_threads) return true;
  const std::lock_guard lock(mapping);
  for (const Card& card : cards) {
    memory.stages.push_back(stage_of(card));
    if (memory.stages.back() == nullptr) return false;
    memory.stage_places.push_back(memory.stages.back()->block().data() + shm::kPageBytes);
  }
  return true;
}

shm::Reach no_reach(std::size_t ranks) {
  return shm::Reach(std::vector<shm::Reach::Range>(ranks));
}

/// The processes of all ranks, if this one may read and write the memory of each; else nobody's.
shm::Processes reachable(std::span<const Card> cards, const std::vector<pid_t>& peers) {
  if (!copies_between_processes()) return {};
  shm::Processes processes(peers);
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    std::uint64_t found = 0;
    const auto* const at = reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(cards[rank].stage_at));
    processes.read(static_cast<int>(rank), at, reinterpret_cast<std::byte*>(&found), sizeof found);
    if (found != cards[rank].stage_key) return {};
  }
  return processes;
}

/// The heaps of all ranks, or none.
shm::Reach reach(std::span<const Card> cards, Memory& memory) {
  std::vector<HeapCard> heaps;
  for (const Card& card : cards) heaps.push_back(card.heap);
  const std::lock_guard lock(mapping);
  Heaps found = map_heaps(heaps);
  if (found.ranges.empty()) return no_reach(cards.size());
  memory.heaps = std::move(found.mappings);
  // Windows come and go between the calls of one thread, not between those of several.
  for (const HeapCard& heap : heaps)
    if (cards[0].many_threads == 0) memory.heap_keys.push_back(heap.key);
  return shm::Reach(std::move(found.ranges));
}

std::unique_ptr<Team> make_team(MPI_Comm comm, int rank, std::span<const Card> cards, const Agreed& agreed,
                                Memory&& memory) {
  const int ranks = static_cast<int>(cards.size());
  const coll::Shape shape = shape_of(ranks, agreed.lines, agreed.runs);
  const port::Layout layout = shape.layout();
  const std::span<std::byte> block = memory.lines.block();
  const std::span<std::byte> lines = block.subspan(segment_at(ranks));
  const auto segment = memory.stages.empty() ? shm::Segment::over(lines, ranks, layout)
                                             : shm::Segment::of_lines(lines, memory.stage_places, layout);
  if (!segment.ok()) return nullptr;
  std::vector<pid_t> peers;
  for (const Card& card : cards) peers.push_back(card.process);
  shm::Processes processes = reachable(cards, peers);
  shm::Reach mapped = reach(cards, memory);
  return std::make_unique<Team>(
      std::move(memory), segment.value(), shape, rank, CallBoard(block.data() + kKeyBytes, rank, ranks),
      Waiting(comm, rank, std::move(peers), agreed.crowded), std::move(processes), std::move(mapped));
}

/// The node of this process: the kernel's name for it, and the namespaces.
std::uint64_t own_node() {
  char name[256] = {};
  name_node(name, sizeof name);
  std::uint64_t key = fnv(name);
  for (const char* space : {"/proc/self/ns/pid", "/proc/self/ns/user"}) {
    char link[64] = {};
    const ssize_t length = readlink(space, link, sizeof link);
    if (length > 0) key = fnv({link, static_cast<std::size_t>(length)}, key);
  }
  return key;
}

}  // namespace

Domains own_domains() {
  Card card;
  read_mask(card);
  const std::string_view told = told_domains();
  return told.empty() ? domains_of(card.mask, std::string(system_files())) : told_domains_of(card.mask, told);
}

std::uint64_t node_key() {
  const std::uint64_t node = own_node();
  const int ranks = forced_node_ranks();
  if (ranks == 0) return node;
  int rank = 0;
  CW_NEXT(MPI_Group_rank)(launched(), &rank);
  return fnv(std::to_string(rank / ranks), node);
}

std::size_t own_bytes(int ranks, coll::Lines lines, bool runs, bool many_threads) {
  const port::Layout layout = shape_of(ranks, lines, runs).layout();
  const std::size_t at = segment_at(ranks);
  return at +
         (many_threads ? shm::Segment::bytes(ranks, layout, at) : shm::Segment::bytes_of_lines(ranks, layout, at));
}

Team::Team(Memory&& of, const shm::Segment& segment, const coll::Shape& shape, int number, const CallBoard& said,
           Waiting&& waits, shm::Processes processes, shm::Reach mapped)
    : memory(std::move(of)),
      board(said),
      waiting(std::move(waits)),
      port(segment, number, waiting.policy(board), std::move(processes), std::move(mapped)),
      rank(port, shape) {
  line_bytes += memory.lines.block().size();
  const std::lock_guard lock(teams.mutex);
  teams.all.insert(this);
}

void Team::lend_nothing() {
  port.mapped() = no_reach(static_cast<std::size_t>(port.size()));
  memory.heaps.clear();
  memory.heap_keys.clear();
}

void Team::look_for_windows() {
  const std::uint64_t now = windows_generation.load(std::memory_order_acquire);
  if (now == windows_seen) [[likely]]
    return;
  windows_seen = now;
  if (!memory.heap_keys.empty()) port.mapped().set_more(segments_of(memory.heap_keys));
}

Team::~Team() {
  line_bytes -= memory.lines.block().size();
  board.leave();
  const std::lock_guard lock(teams.mutex);
  teams.all.erase(this);
}

void leave_teams() {
  const std::lock_guard lock(teams.mutex);
  for (Team* const team : teams.all) team->board.leave();
}

Fate set_up(MPI_Comm comm, std::unique_ptr<Team>& team) {
  int rank = 0;
  int ranks = 1;
  CW_NEXT(MPI_Comm_rank)(comm, &rank);
  CW_NEXT(MPI_Comm_size)(comm, &ranks);
  const bool many_threads = may_call_at_once();
  std::vector<Card> cards(static_cast<std::size_t>(ranks));
  Card card = own_card(many_threads);
  const std::size_t bytes = look_for_room(ranks, card);
  File lines;
  if (rank == 0) lines = make_file(bytes);
  card.lines_file = lines.file;
  card.lines_key = lines.key;
  if (card.stage_file < 0 || (rank == 0 && lines.file < 0)) card.has_memory = 0;
  int code = CW_NEXT(MPI_Allgather)(&card, sizeof card, MPI_BYTE, cards.data(), sizeof card, MPI_BYTE, comm);
  Fate fate = code == MPI_SUCCESS ? judge(cards) : Fate::broken;
  if (fate == Fate::taken) {
    const Agreed agreed(cards);
    crowded_before.store(agreed.crowded ? 1 : 0, std::memory_order_relaxed);
    Memory memory;
    if (map_all(cards, agreed, lines, memory)) team = make_team(comm, rank, cards, agreed, std::move(memory));
    const bool lends = team != nullptr && team->port.mapped().any();
    const bool reaches = team != nullptr && team->port.reaches_peers();  // a call may fail yet
    const int mine[3] = {team != nullptr ? 1 : 0, reaches ? 1 : 0, lends ? 1 : 0};
    int all[3] = {0, 0, 0};
    code = CW_NEXT(MPI_Allreduce)(mine, all, 3, MPI_INT, MPI_MIN, comm);
    if (code != MPI_SUCCESS || all[0] == 0) {
      team.reset();
      fate = Fate::not_one_node;
    } else {
      team->offers = offers_of(selection_for(ranks, agreed.crowded), team->rank.shape, all[1] != 0);
      if (all[2] == 0) team->lend_nothing();
      if (should_measure(cards, agreed.crowded)) fate = measure_copies_of(*team);
    }
  }
  if (lines.file >= 0) close(lines.file);
  return fate;
}

}  // namespace corewise::preload::accelerating
