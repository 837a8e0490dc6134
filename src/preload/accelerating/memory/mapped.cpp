// See mapped.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/memory/mapped.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "preload/accelerating/accelerating.hpp"
#include "preload/accelerating/communicators.hpp"
#include "preload/accelerating/memory/files.hpp"
#include "shm/segment.hpp"

namespace corewise::preload::accelerating {
namespace {

/// Places for this much, or for what the host has.
constexpr std::size_t kMostPlaces = std::size_t{1} << 36;
constexpr std::size_t kWholePlaces = std::size_t{1} << 30;
/// Where address space has a limit it is one for so many places, or what a program counts on is left to it.
constexpr std::size_t kPlacesInLimit = 1024;
/// Less than a page would waste most of it.
constexpr MPI_Aint kLeastBytes = static_cast<MPI_Aint>(shm::kPageBytes);

std::atomic<shm::Heap*> made{nullptr};
std::atomic<std::uint64_t> made_key{0};

std::size_t heap_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const std::size_t host = static_cast<std::size_t>(std::max(pages, 1L)) * shm::kPageBytes;
  return std::min(kMostPlaces, (host + kWholePlaces - 1) / kWholePlaces * kWholePlaces);
}

bool has_address_space(std::size_t place) {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         limit.rlim_cur / kPlacesInLimit >= place;
}

/// A peer's heap: mapped once, however many communicators have it.
std::shared_ptr<shm::Mapping> heap_of(const HeapCard& card) {
  static auto& met = *new std::map<std::uint64_t, std::weak_ptr<shm::Mapping>>;
  if (auto before = met[card.key].lock()) return before;
  auto opened = open_file(card.process, card.file, card.key, card.bytes);
  if (opened == nullptr) {
    met.erase(card.key);
    return nullptr;
  }
  madvise(opened->block().data(), opened->block().size(), MADV_DONTDUMP);
  met[card.key] = opened;
  return opened;
}

/// So many windows at once: each is looked through in every call of some size.
constexpr std::size_t kMostWindows = 32;

/// A window, and its ranks' segments: in their own processes, and here.
struct Window {
  MPI_Win handle;
  std::vector<std::uint64_t> heap_keys;
  std::vector<shm::Reach::Range> segments;
};
struct Windows {
  std::mutex mutex;
  std::vector<Window> known;
};
Windows& windows = *new Windows;  // outlives every destructor of the program

/// What a rank tells of its segment.
struct SegmentCard {
  std::uint64_t heap_key = 0;  ///< 0: it lends nothing, so nobody does
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
};

/// Where a rank's segment is here.
std::span<std::byte> segment(MPI_Win window, int rank) {
  MPI_Aint bytes = 0;
  int unit = 0;
  void* base = nullptr;
  if (CW_NEXT(MPI_Win_shared_query)(window, rank, &bytes, &unit, static_cast<void*>(&base)) != MPI_SUCCESS)
    return {};
  return {static_cast<std::byte*>(base), static_cast<std::size_t>(std::max<MPI_Aint>(bytes, 0))};
}

SegmentCard own_segment(MPI_Win window, int rank) {
  const std::span<std::byte> own = segment(window, rank);
  const std::lock_guard lock(windows.mutex);
  const bool room = windows.known.size() < kMostWindows;
  return {room ? own_heap_card().key : 0, reinterpret_cast<std::uintptr_t>(own.data()), own.size()};
}

}  // namespace

std::atomic<std::uint64_t> windows_generation{0};

shm::Heap* own_heap() {
  static shm::Heap* const heap = [] {
    const std::uint64_t key = lends_memory() && has_address_space(heap_bytes()) ? random_key() : 0;
    shm::Heap* const fresh = key != 0 ? shm::Heap::make(heap_bytes(), key).release() : nullptr;
    if (fresh != nullptr) made_key = key;
    made.store(fresh, std::memory_order_release);
    return fresh;
  }();
  return heap;
}
shm::Heap* heap_if_made() {
  return made.load(std::memory_order_acquire);
}

void window_made(MPI_Comm comm, MPI_Win window) {
  if (!active.load(std::memory_order_acquire) || !work_together(comm)) return;
  int rank = 0;
  int ranks = 1;
  CW_NEXT(MPI_Comm_rank)(comm, &rank);
  CW_NEXT(MPI_Comm_size)(comm, &ranks);
  const SegmentCard own = own_segment(window, rank);
  std::vector<SegmentCard> cards(static_cast<std::size_t>(ranks));
  if (CW_NEXT(MPI_Allgather)(&own, sizeof own, MPI_BYTE, cards.data(), sizeof own, MPI_BYTE, comm) != MPI_SUCCESS)
    return;
  if (std::ranges::any_of(cards, [](const SegmentCard& card) { return card.heap_key == 0; })) return;
  Window made{window, {}, {}};
  for (int each = 0; each < ranks; ++each) {
    const SegmentCard& card = cards[static_cast<std::size_t>(each)];
    made.heap_keys.push_back(card.heap_key);
    made.segments.push_back({card.at, card.bytes, card.bytes > 0 ? segment(window, each).data() : nullptr});
  }
  const std::lock_guard lock(windows.mutex);
  windows.known.push_back(std::move(made));
  ++windows_generation;
}

void window_ends(MPI_Win window) {
  const std::lock_guard lock(windows.mutex);
  if (std::erase_if(windows.known, [window](const Window& each) { return each.handle == window; }) > 0)
    ++windows_generation;
}

std::vector<shm::Reach::Range> segments_of(std::span<const std::uint64_t> heap_keys) {
  std::vector<shm::Reach::Range> found;
  const std::lock_guard lock(windows.mutex);
  for (const Window& window : windows.known) {
    std::vector<shm::Reach::Range> of_all;
    for (const std::uint64_t key : heap_keys) {
      const auto place = std::ranges::find(window.heap_keys, key);
      if (place == window.heap_keys.end()) break;
      of_all.push_back(window.segments[static_cast<std::size_t>(place - window.heap_keys.begin())]);
    }
    if (of_all.size() == heap_keys.size()) found.insert(found.end(), of_all.begin(), of_all.end());
  }
  return found;
}

bool allocate(MPI_Aint bytes, MPI_Info info, void* base) {
  if (!active.load(std::memory_order_acquire) || info != MPI_INFO_NULL || bytes < kLeastBytes || base == nullptr)
    return false;
  shm::Heap* const heap = own_heap();
  std::byte* const block = heap != nullptr ? heap->take(static_cast<std::size_t>(bytes)) : nullptr;
  if (block == nullptr) return false;
  *static_cast<void**>(base) = block;
  return true;
}

bool free_allocated(void* base) {
  shm::Heap* const heap = heap_if_made();
  return heap != nullptr && heap->give_back(base);
}

HeapCard own_heap_card() {
  const shm::Heap* const heap = own_heap();
  if (heap == nullptr) return {};
  HeapCard card;
  card.key = made_key;
  card.at = reinterpret_cast<std::uintptr_t>(heap->place().data());
  card.bytes = heap->place().size();
  card.process = getpid();
  card.file = heap->file();
  return card;
}

Heaps map_heaps(std::span<const HeapCard> cards) {
  Heaps heaps;
  const HeapCard own = own_heap_card();
  if (std::ranges::any_of(cards, [](const HeapCard& card) { return card.key == 0; })) return {};
  for (const HeapCard& card : cards) {
    if (card.process == own.process && card.key == own.key) {
      heaps.ranges.push_back({card.at, card.bytes, reinterpret_cast<std::byte*>(card.at)});
      continue;
    }
    auto mapping = heap_of(card);
    if (mapping == nullptr) return {};
    heaps.ranges.push_back({card.at, card.bytes, mapping->block().data()});
    heaps.mappings.push_back(std::move(mapping));
  }
  return heaps;
}

}  // namespace corewise::preload::accelerating
