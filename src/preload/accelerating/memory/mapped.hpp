// Mapped memory: what MPI_Alloc_mem gives comes from a heap of this process that the ranks of its node map, too
// (shm/heap.hpp); the segments of MPI_Win_allocate_shared are so by themselves; and which of both the ranks of a
// communicator reach in each other.
//
// Contract: memory is the MPI's where there is no room, where the program gives hints, and where little is wanted.
// What a rank allocates or frees is its own business at any time: peers have mapped a place, not blocks. Whether
// ranks reach each other's heaps is agreed in the set-up, and whether their segments, when a window is made: by all
// of its ranks, so that each knows of a window what the others know. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "preload/next.hpp"
#include "shm/heap.hpp"
#include "shm/mapping.hpp"
#include "shm/reach.hpp"

namespace corewise::preload::accelerating {

/// The heap of this process: made if there was none, null where there can be none; and the one that was made.
shm::Heap* own_heap();
shm::Heap* heap_if_made();

/// MPI_Alloc_mem and MPI_Free_mem; false where it is the MPI's.
bool allocate(MPI_Aint bytes, MPI_Info info, void* base);
bool free_allocated(void* base);

/// Where a process has its heap. Plain bytes, told in the set-up's cards.
struct HeapCard {
  std::uint64_t key = 0;  ///< 0: it has none
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  std::int32_t process = 0;
  std::int32_t file = -1;
};
/// Of this process, whose heap is made if there was none.
HeapCard own_heap_card();

/// The heaps of some ranks as this process has them.
struct Heaps {
  std::vector<std::shared_ptr<shm::Mapping>> mappings;
  std::vector<shm::Reach::Range> ranges;  ///< for each rank; empty where one cannot be had
};
/// Several threads may not call at once.
Heaps map_heaps(std::span<const HeapCard> cards);

/// MPI_Win_allocate_shared has made a window of `comm`'s ranks; MPI_Win_free begins.
void window_made(MPI_Comm comm, MPI_Win window);
void window_ends(MPI_Win window);

/// Grows whenever a window comes or goes.
extern std::atomic<std::uint64_t> windows_generation;

/// For Reach::set_more: the segments of the windows in which all of some processes are, which have heaps with these
/// keys.
std::vector<shm::Reach::Range> segments_of(std::span<const std::uint64_t> heap_keys);

}  // namespace corewise::preload::accelerating
