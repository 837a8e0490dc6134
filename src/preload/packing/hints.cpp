// The board, its cells, and who a rank of a communicator is in the world; see packing_hints.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/hints.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/knobs.hpp"
#include "preload/packing/packing.hpp"

namespace corewise::preload::packing::hints {

constinit std::atomic<Cell*> cells{nullptr};

namespace {

constexpr Knob kBoard{"packing_board", KnobType::text, "", "a file that corewise made",
                      "through which ranks of a node tell each other what their messages look like"};

static_assert(sizeof(Head) == 64 && Cell::is_always_lock_free);

std::uint32_t ranks = 0;  ///< that the board serves
std::uint32_t me = 0;     ///< in the world

std::size_t bytes_for(std::uint32_t served) {
  return sizeof(Head) + std::size_t{2} * kTags * served * served;
}

// ---- cells ----

constexpr unsigned kValueBits = 2;  ///< an OtherSide; above it, how often the cell has changed
constexpr unsigned kMostChanges = 63;

OtherSide value_of(std::uint8_t cell) {
  const auto value = static_cast<OtherSide>(cell & 3U);
  return value == OtherSide::contiguous || value == OtherSide::strided ? value : OtherSide::unknown;
}

void write(Cell& cell, OtherSide value) {
  const std::uint8_t now = cell.load(std::memory_order_relaxed);
  if (value_of(now) == value) return;
  const unsigned changes = (now >> kValueBits) + 1U;
  if (changes > kMostChanges) return;
  const auto said = changes == kMostChanges ? OtherSide::unknown : value;
  cell.store(static_cast<std::uint8_t>(changes << kValueBits | static_cast<unsigned>(said)),
             std::memory_order_relaxed);
}

/// Neighbouring tags have different cells.
std::uint32_t tag_class(int tag) {
  auto hash = static_cast<std::uint32_t>(tag);
  hash ^= hash >> 16;
  hash ^= hash >> 8;
  hash ^= hash >> 4;
  return hash % kTags;
}

// ---- partners ----

constexpr std::uint32_t kNobody = 0xfff;
constexpr unsigned kSlotBits = 12;

/// Answers of MPI: in each word 52 bits of the question, whose other 12 are the place, and a rank of the world.
constinit std::array<std::atomic<std::uint64_t>, std::size_t{1} << kSlotBits> answers{};
constinit std::atomic<std::uint64_t> generation{1};

/// A different number for every communicator, rank and, as far as bits go, generation.
std::uint64_t question(MPI_Comm comm, int rank) {
  const std::uint64_t key = handle_key(comm) & 0xffff'ffff'ffffU;
  const std::uint64_t now = generation.load(std::memory_order_relaxed) << 57U;
  return (key | (static_cast<std::uint64_t>(rank) << 48U) | now) * 0x9E3779B97F4A7C15ULL;
}

/// Asks MPI, which knows the communicator; `kNobody` where the rank is not one of this world, or none at all.
std::uint32_t translated(MPI_Comm comm, int rank) {
  int between = 0, size = 0, world = MPI_UNDEFINED;
  MPI_Group own = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  if (comm == MPI_COMM_NULL || CW_NEXT(MPI_Comm_test_inter)(comm, &between) != MPI_SUCCESS || between != 0)
    return kNobody;
  if (CW_NEXT(MPI_Comm_group)(comm, &own) != MPI_SUCCESS) return kNobody;
  CW_NEXT(MPI_Group_size)(own, &size);
  if (rank < size && CW_NEXT(MPI_Comm_group)(MPI_COMM_WORLD, &all) == MPI_SUCCESS) {
    CW_NEXT(MPI_Group_translate_ranks)(own, 1, &rank, all, &world);
    CW_NEXT(MPI_Group_free)(&all);
  }
  CW_NEXT(MPI_Group_free)(&own);
  return world >= 0 ? static_cast<std::uint32_t>(world) : kNobody;
}

/// At least `ranks` where there is no such rank on the board.
std::uint32_t world_rank(MPI_Comm comm, int rank) {
  if (comm == MPI_COMM_WORLD) return static_cast<std::uint32_t>(rank);
  if (rank >= static_cast<int>(kMostRanks)) return kNobody;
  const std::uint64_t asked = question(comm, rank);
  std::atomic<std::uint64_t>& answer = answers[asked >> (64 - kSlotBits)];
  const std::uint64_t known = answer.load(std::memory_order_relaxed);
  if (((known >> kSlotBits) ^ asked) << kSlotBits == 0) return static_cast<std::uint32_t>(known & kNobody);
  const std::uint32_t found = std::min(translated(comm, rank), kNobody);
  answer.store(asked << kSlotBits | found, std::memory_order_relaxed);
  return found;
}

// ---- the file ----

/// A board that serves so many ranks, with memory behind all of it: touching a hole ends the process where there is
/// no memory for it.
Head* mapped(int file, std::uint32_t world) {
  struct stat found{};
  Head head{};
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid()) return nullptr;
  if (pread(file, static_cast<void*>(&head), sizeof head, 0) != static_cast<ssize_t>(sizeof head)) return nullptr;
  if (std::memcmp(head.magic, kMagic, sizeof head.magic) != 0) return nullptr;
  if (head.ranks < world || head.ranks > kMostRanks) return nullptr;
  const auto bytes = static_cast<std::int64_t>(bytes_for(head.ranks));
  if (found.st_size < bytes || found.st_blocks * 512 < bytes) return nullptr;
  void* memory = mmap(nullptr, bytes_for(head.ranks), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return nullptr;
  ranks = head.ranks;
  return static_cast<Head*>(memory);
}

}  // namespace

void begin(bool wanted) {
  const char* const path = knob_text(kBoard).data();  // of the environment, or "": it ends with a zero
  int rank = 0, size = 0;
  if (*path == 0) return;
  CW_NEXT(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
  CW_NEXT(MPI_Comm_size)(MPI_COMM_WORLD, &size);
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) return;
  Head* const head = mapped(file, static_cast<std::uint32_t>(size));
  close(file);
  if (head == nullptr) return;
  me = static_cast<std::uint32_t>(rank);
  // A second world, spawned or started later, has other ranks of the same numbers.
  const std::uint32_t before = head->opened.fetch_add(1, std::memory_order_relaxed);
  if (wanted && before < static_cast<std::uint32_t>(size))
    cells.store(reinterpret_cast<Cell*>(head + 1), std::memory_order_release);
  else
    munmap(head, bytes_for(ranks));
}

void end() {
  cells.store(nullptr, std::memory_order_relaxed);
}

OtherSide exchange(PackingUse side, OtherSide mine, int peer, int tag, MPI_Comm comm) {
  Cell* const board = cells.load(std::memory_order_acquire);
  // Wildcards and MPI_PROC_NULL are negative.
  if (board == nullptr || mine == OtherSide::unknown || peer < 0 || tag < 0) return OtherSide::unknown;
  const std::uint32_t partner = world_rank(comm, peer);
  if (partner >= ranks) return OtherSide::unknown;
  const auto cell = [&](bool sends, std::uint32_t writer, std::uint32_t reader) -> Cell& {
    return board[(((sends ? 0 : ranks) + writer) * ranks + reader) * kTags + tag_class(tag)];
  };
  const bool sends = side == PackingUse::send;
  write(cell(sends, me, partner), mine);
  return value_of(cell(!sends, partner, me).load(std::memory_order_relaxed));
}

void forget_communicators() {
  generation.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace corewise::preload::packing::hints
