// Free memory by size; contract in buffers.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
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
constexpr std::size_t kHugePage = std::size_t{1} << 21;

/// The head of free memory lies in it.
struct Free {
  Free* next;
};
std::array<Free*, 64> kept{};  ///< by size
std::size_t kept_bytes = 0;
std::size_t used_bytes = 0;
std::mutex lock;

std::size_t rounded(std::size_t bytes) {
  return std::bit_ceil(std::max(bytes, kLeast));
}

Free*& kept_for(std::size_t size) {
  return kept[static_cast<std::size_t>(std::countr_zero(size))];
}

/// Pages that nobody had before, huge ones where they are: what the heap gives back may have been used in small
/// ones.
void* map_memory(std::size_t size) {
  // Not to be used at first: pages of a program that locks all its memory would be there at once.
  void* mapped = mmap(nullptr, kHugePage + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<char*>(mapped);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
  char* const memory = begin + before;
  if (before > 0) munmap(begin, before);
  munmap(memory + size, kHugePage - before);
  if (mprotect(memory, size, PROT_READ | PROT_WRITE) != 0) {
    munmap(memory, size);
    return nullptr;
  }
  madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

void* fresh_memory(std::size_t size) {
  return size < kHugePage ? std::aligned_alloc(kLeast, size) : map_memory(size);
}

void free_memory(void* memory, std::size_t size) {
  if (size < kHugePage)
    std::free(memory);
  else
    munmap(memory, size);
}

}  // namespace

void* take_memory(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t size = rounded(bytes);
  Free*& head = kept_for(size);
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
  Free*& head = kept_for(size);
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
