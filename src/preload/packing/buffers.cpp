// Free memory by size; see packing_buffers.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/buffers.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "preload/packing/packing.hpp"

namespace corewise::preload::packing {
namespace {

constexpr std::size_t kLeast = 4096;                      ///< also the alignment
constexpr std::size_t kMostInUse = std::size_t{1} << 29;  ///< bytes
constexpr std::size_t kMostKept = std::size_t{1} << 26;   ///< bytes

/// The head of free memory lies in it.
struct Free {
  Free* next;
};
std::array<std::array<Free*, 64>, 2> kept{};  ///< by use and size
std::size_t kept_bytes = 0;
std::size_t used_bytes = 0;
std::mutex lock;

std::size_t rounded(std::size_t bytes) {
  return std::bit_ceil(bytes < kLeast ? kLeast : bytes);
}

constexpr std::size_t kHugePage = std::size_t{1} << 21;

/// Pages that nobody had before, huge ones where they are: what the heap gives back may have been used in small
/// ones.
void* map_memory(std::size_t size, std::size_t behind = 0) {
  const std::size_t align = std::min(size, kHugePage), room = align + size + behind;
  // Not to be used at first: pages of a program that locks all its memory would be there at once.
  void* mapped = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<char*>(mapped);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % align;
  char* const memory = begin + before;
  if (before > 0) munmap(begin, before);
  munmap(memory + size + behind, align - before);
  if (behind > 0) munlock(memory, size + behind);
  if (mprotect(memory, size + behind, PROT_READ | PROT_WRITE) != 0) {
    munmap(memory, size + behind);
    return nullptr;
  }
  if (size >= kHugePage) madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

#ifdef OPEN_MPI
// Where a message is longer than a contiguous receive, Open MPI 5.0 writes all of it (and says MPI_ERR_TRUNCATE); a
// strided receive it cuts. Address space behind the memory keeps what is written there away from everything else.
constexpr std::size_t kBehind = std::size_t{1} << 28;
/// Each is a mapping of its own, of which a process may have 65530.
constexpr int kMostWithRoom = 8192;
std::atomic<int> with_room{0};

/// Whether address space costs nothing: it does where the kernel counts what is not used either, or where the
/// process may have so much only.
bool room_is_free() {
  static const bool counted = [] {
    char found = '0';
    const int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const bool is_read = read(file, &found, 1) == 1;
    close(file);
    return is_read && found == '2';
  }();
  const auto is_limited = [](int resource) {
    rlimit limit{};
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  };
  return !counted && !is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA);
}

/// What comes here is of no use to anybody: all receives of nothing share it.
void* nothing() {
  static void* const memory = room_is_free() ? map_memory(kLeast, kBehind) : nullptr;
  return memory;
}

void* fresh_memory(std::size_t size, BufferUse use) {
  if (use == BufferUse::send) return map_memory(size);
  if (!room_is_free()) return nullptr;
  if (with_room.fetch_add(1, std::memory_order_relaxed) < kMostWithRoom)
    if (void* const memory = map_memory(size, kBehind)) return memory;
  with_room.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}
void free_memory(void* memory, std::size_t size, BufferUse use) {
  munmap(memory, use == BufferUse::send ? size : size + kBehind);
  if (use == BufferUse::receive) with_room.fetch_sub(1, std::memory_order_relaxed);
}
#else
void* nothing() {
  return nullptr;  // receives of nothing are the MPI's own
}
void* fresh_memory(std::size_t size, BufferUse) {
  return size < kHugePage ? std::aligned_alloc(size, size) : map_memory(size);
}
void free_memory(void* memory, std::size_t size, BufferUse) {
  if (size < kHugePage)
    std::free(memory);
  else
    munmap(memory, size);
}
#endif

Free*& kept_for(BufferUse use, std::size_t size) {
  return kept[static_cast<std::size_t>(use)][static_cast<std::size_t>(std::countr_zero(size))];
}

// ---- taking turns ----

constexpr std::size_t kMostTurning = std::size_t{1} << 26;  ///< bytes, of all sizes together

/// Buffers of one size in one piece of memory. Nothing of it is ever given back.
struct Ring {
  void** free = nullptr;  ///< a queue of `waiting`, from `first` on, around the end; `places` long
  std::size_t places = 0;
  std::size_t first = 0;
  std::size_t waiting = 0;
};
std::array<Ring, 64> rings{};
std::size_t turning_bytes = 0;

/// With the lock held. Leaves the ring as it is where there is no memory.
void fill(Ring& ring, std::size_t size, std::size_t turn) {
  if (turn > kMostTurning) return;
  const std::size_t places = turn / size, room = (places * size + kHugePage - 1) / kHugePage * kHugePage;
  if (room > kMostTurning - turning_bytes) return;
  auto* const memory = static_cast<char*>(map_memory(room));
  if (memory == nullptr) return;
  auto** const free = new (std::nothrow) void*[places];
  if (free == nullptr) {
    munmap(memory, room);
    return;
  }
  turning_bytes += room;
  for (std::size_t i = 0; i < places; ++i) free[i] = memory + i * size;
  ring = {free, places, 0, places};
}

}  // namespace

void* take_turn(std::size_t bytes, std::size_t turn) {
  const std::size_t size = rounded(bytes);
  if (turn < 2 * size) return nullptr;
  Ring& ring = rings[static_cast<std::size_t>(std::countr_zero(size))];
  const Guard guard(lock);
  if (ring.places == 0) fill(ring, size, turn);
  if (ring.waiting == 0) return nullptr;
  --ring.waiting;
  return ring.free[std::exchange(ring.first, (ring.first + 1) % ring.places)];
}

void give_turn(void* memory, std::size_t bytes) {
  Ring& ring = rings[static_cast<std::size_t>(std::countr_zero(rounded(bytes)))];
  const Guard guard(lock);
  ring.free[(ring.first + ring.waiting) % ring.places] = memory;
  ++ring.waiting;
}

void* take_memory(std::size_t bytes, BufferUse use) {
  if (bytes == 0) return nothing();
  const std::size_t size = rounded(bytes);
  Free*& head = kept_for(use, size);
  {
    const Guard guard(lock);
    if (used_bytes + size > kMostInUse) return nullptr;
    used_bytes += size;
    if (head != nullptr) {
      kept_bytes -= size;
      return std::exchange(head, head->next);
    }
  }
  void* memory = fresh_memory(size, use);
  if (memory != nullptr) return memory;
  const Guard guard(lock);
  used_bytes -= size;
  return nullptr;
}

void give_memory(void* memory, std::size_t bytes, BufferUse use) {
  if (bytes == 0) return;
  const std::size_t size = rounded(bytes);
  Free*& head = kept_for(use, size);
  {
    const Guard guard(lock);
    used_bytes -= size;
    if (kept_bytes + size <= kMostKept) {
      kept_bytes += size;
      head = ::new (memory) Free{head};
      return;
    }
  }
  free_memory(memory, size, use);
}

}  // namespace corewise::preload::packing
