// Free memory by size; see packing_buffers.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing_buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "preload/packing.hpp"

namespace corewise::preload::packing {
namespace {

constexpr std::size_t kLeast = 4096;                      ///< also the alignment
constexpr std::size_t kMostInUse = std::size_t{1} << 29;  ///< bytes
constexpr std::size_t kMostKept = std::size_t{1} << 26;   ///< bytes

/// The head of free memory lies in it.
struct Free {
  Free* next;
};
std::array<Free*, 64> kept{};
std::size_t kept_bytes = 0;
std::size_t used_bytes = 0;
std::mutex lock;

std::size_t rounded(std::size_t bytes) {
  return std::bit_ceil(bytes < kLeast ? kLeast : bytes);
}

constexpr std::size_t kHugePage = std::size_t{1} << 21;

#ifdef OPEN_MPI
// Where a message is longer than a contiguous receive, Open MPI 5.0 writes all of it (and says MPI_ERR_TRUNCATE); a
// strided receive it cuts. Address space behind the memory keeps what is written there away from everything else.
constexpr std::size_t kBehind = std::size_t{1} << 28;

void* fresh_memory(std::size_t size) {
  const std::size_t align = std::min(size, kHugePage), room = align + size + kBehind;
  void* mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<char*>(mapped);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % align;
  char* const memory = begin + before;
  if (before > 0) munmap(begin, before);
  munmap(memory + size + kBehind, align - before);
  if (size >= kHugePage) madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}
void free_memory(void* memory, std::size_t size) {
  munmap(memory, size + kBehind);
}
#else
void* fresh_memory(std::size_t size) {
  void* memory = std::aligned_alloc(std::min(size, kHugePage), size);
  if (memory != nullptr && size >= kHugePage) madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}
void free_memory(void* memory, std::size_t) {
  std::free(memory);
}
#endif

}  // namespace

void* take_memory(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  Free*& head = kept[static_cast<std::size_t>(std::countr_zero(size))];
  {
    const Guard guard(lock);
    if (used_bytes + size > kMostInUse) return nullptr;
    used_bytes += size;
    if (head != nullptr) {
      kept_bytes -= size;
      return std::exchange(head, head->next);
    }
  }
  void* memory = fresh_memory(size);
  if (memory != nullptr) return memory;
  const Guard guard(lock);
  used_bytes -= size;
  return nullptr;
}

void give_memory(void* memory, std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  Free*& head = kept[static_cast<std::size_t>(std::countr_zero(size))];
  {
    const Guard guard(lock);
    used_bytes -= size;
    if (kept_bytes + size <= kMostKept) {
      kept_bytes += size;
      head = ::new (memory) Free{head};
      return;
    }
  }
  free_memory(memory, size);
}

}  // namespace corewise::preload::packing
