// The C library's allocator, but for large blocks while MPI is at work: these come from the heap that the ranks of
// a node map (accelerating/memory/mapped.hpp), so that collectives of them are done there. Linked into the
// accelerate library where the knob asks for it, and not otherwise: then a program's malloc is untouched.
//
// Contract: that of malloc(3), of which this file has every function that gives memory of any size, takes it back
// or tells its size. What the heap has no room for, what is aligned to more than a page, and what valloc and its
// kind give, is the next allocator's: the C library's or one that the program loads. A block goes back to whoever
// gave it, at any time, also after MPI has ended. A child of fork() gets no blocks of the heap; its copies of its
// parent's it may free. Blocks that are freed keep their memory for the next ones (shm::Heap::put_by).
//
// Before anything else of this library runs malloc is called: the fast path needs no constructor, no lock and no
// other variable than those below, which are initialised as the library is loaded. The heap's own bookkeeping calls
// malloc for a few bytes, which are below every threshold. SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "preload/accelerating/accelerating.hpp"
#include "preload/accelerating/counts.hpp"
#include "preload/accelerating/memory/mapped.hpp"
#include "shm/huge_pages.hpp"
#include "shm/segment.hpp"

#define CW_EXPORTED extern "C" [[gnu::visibility("default")]]

namespace corewise::preload::accelerating {
namespace {

// ---- the allocator behind ----

struct Behind {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  std::size_t (*malloc_usable_size)(void*);
};
constinit Behind found{};

/// What the dynamic linker asks for while it looks for the allocator behind; never freed.
struct Early {
  alignas(std::max_align_t) std::byte bytes[4096];
  std::size_t used;

  void* take(std::size_t size) {
    const std::size_t whole = (size + alignof(std::max_align_t) - 1) / alignof(std::max_align_t);
    if (whole > (sizeof bytes - used) / alignof(std::max_align_t)) return nullptr;
    return bytes + std::exchange(used, used + whole * alignof(std::max_align_t));
  }
  [[nodiscard]] bool has(const void* at) const { return at >= bytes && at < bytes + sizeof bytes; }
  [[nodiscard]] std::size_t bytes_from(const void* at) const {
    return static_cast<std::size_t>(bytes + sizeof bytes - static_cast<const std::byte*>(at));
  }
};
constinit Early early{};
constinit bool looking = false;

template <class Function>
void look_for(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
/// The first call in the process, when there is one thread.
[[gnu::noinline]] void look_behind() {
  looking = true;
  look_for(found.calloc, "calloc");
  look_for(found.realloc, "realloc");
  look_for(found.free, "free");
  look_for(found.aligned_alloc, "aligned_alloc");
  look_for(found.posix_memalign, "posix_memalign");
  look_for(found.malloc_usable_size, "malloc_usable_size");
  look_for(found.malloc, "malloc");
  looking = false;
}
const Behind& behind() {
  if (found.malloc == nullptr) [[unlikely]]
    look_behind();
  return found;
}
bool is_early() {
  return found.malloc == nullptr && looking;
}

// ---- blocks of the heap ----

/// Blocks of so many bytes or more are asked of the heap: at first, of all that it may ever give.
constinit std::atomic<std::size_t> least_bytes{kLeastHeapBytes};

/// Null where it is the next allocator's. The knob is read when MPI is at work and a large block is wanted.
[[gnu::noinline]] std::byte* large_block(std::size_t bytes) {
  if (!active.load(std::memory_order_acquire)) return nullptr;
  static const bool decided = [] {
    const WantedHeap wanted = wanted_heap();
    const bool refused = wanted.least_bytes != SIZE_MAX && !wanted.forced && shm::loses_huge_pages();
    if (refused) count(kMalloc, Fate::huge_pages);
    least_bytes.store(refused ? SIZE_MAX : wanted.least_bytes, std::memory_order_relaxed);
    return true;
  }();
  if (!decided || bytes < least_bytes.load(std::memory_order_relaxed)) return nullptr;
  shm::Heap* const heap = own_heap();
  std::byte* const block = heap != nullptr ? heap->take_again(bytes) : nullptr;
  count(kMalloc, block != nullptr ? Fate::mapped : Fate::memory);
  return block;
}
std::byte* block_of(std::size_t bytes, std::size_t alignment = 1) {
  if (bytes < least_bytes.load(std::memory_order_relaxed)) [[likely]]
    return nullptr;
  return alignment <= shm::kPageBytes ? large_block(bytes) : nullptr;
}

/// The heap, where `at` is in it.
shm::Heap* heap_with(const void* at) {
  shm::Heap* const heap = heap_if_made();
  return heap != nullptr && heap->has(at) ? heap : nullptr;
}

/// False where no block begins there. Keeps errno, as free does.
[[gnu::noinline]] bool give_back(void* at) {
  const int error = errno;
  const bool was_block = heap_if_made()->put_by(at);
  errno = error;
  return was_block;
}

void* moved(void* from, std::size_t has, std::size_t bytes) {
  void* const to = malloc(bytes);
  if (to == nullptr) return nullptr;
  std::memcpy(to, from, std::min(has, bytes));
  free(from);
  return to;
}

}  // namespace
}  // namespace corewise::preload::accelerating

using namespace corewise::preload::accelerating;
using corewise::shm::Heap;
using corewise::shm::kPageBytes;

CW_EXPORTED void* malloc(std::size_t bytes) noexcept {
  if (void* const block = block_of(bytes)) return block;
  return is_early() ? early.take(bytes) : behind().malloc(bytes);
}

CW_EXPORTED void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  const bool fits = !__builtin_mul_overflow(count, bytes, &all);
  if (fits) {
    if (void* const block = block_of(all)) return std::memset(block, 0, all);
  }
  return is_early() ? early.take(fits ? all : SIZE_MAX) : behind().calloc(count, bytes);
}

CW_EXPORTED void free(void* at) noexcept {
  if (heap_with(at) != nullptr) [[unlikely]] {
    if (give_back(at)) return;
  }
  if (at != nullptr && !early.has(at)) behind().free(at);
}

CW_EXPORTED void* realloc(void* at, std::size_t bytes) noexcept {
  if (at == nullptr) return malloc(bytes);
  if (early.has(at)) return moved(at, early.bytes_from(at), bytes);
  if (Heap* const heap = heap_with(at)) {
    const std::size_t has = heap->bytes_of(at);
    if (bytes == 0) return free(at), nullptr;
    if (bytes <= has && bytes > has - kPageBytes) return at;
    return moved(at, has, bytes);
  }
  if (void* const block = block_of(bytes)) {
    std::memcpy(block, at, std::min(behind().malloc_usable_size(at), bytes));
    behind().free(at);
    return block;
  }
  return behind().realloc(at, bytes);
}

CW_EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (std::has_single_bit(alignment)) {
    if (void* const block = block_of(bytes, alignment)) return block;
  }
  return behind().aligned_alloc(alignment, bytes);
}

CW_EXPORTED int posix_memalign(void** at, std::size_t alignment, std::size_t bytes) noexcept {
  if (std::has_single_bit(alignment) && alignment % sizeof(void*) == 0) {
    if (void* const block = block_of(bytes, alignment)) return *at = block, 0;
  }
  return behind().posix_memalign(at, alignment, bytes);
}

CW_EXPORTED std::size_t malloc_usable_size(void* at) noexcept {
  if (Heap* const heap = heap_with(at)) return heap->bytes_of(at);
  return early.has(at) ? early.bytes_from(at) : behind().malloc_usable_size(at);
}
