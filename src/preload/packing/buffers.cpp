// Free memory by size; contract in buffers.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

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

/// Large memory is asked for in huge pages.
void* fresh_memory(std::size_t size) {
  const std::size_t alignment = size < kHugePage ? kLeast : kHugePage;
  void* memory = std::aligned_alloc(alignment, size);
  if (memory != nullptr && size >= kHugePage) madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

void* take_memory(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t size = rounded(bytes);
  Free*& head = kept_for(size);
  {
    const std::lock_guard guard(lock);
    if (used_bytes + size > kMostInUse) return nullptr;
    used_bytes += size;
    if (head != nullptr) {
      kept_bytes -= size;
      return std::exchange(head, head->next);
    }
  }
  void* memory = fresh_memory(size);
  if (memory != nullptr) return memory;
  const std::lock_guard guard(lock);
  used_bytes -= size;
  return nullptr;
}

void give_memory(void* memory, std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  Free*& head = kept_for(size);
  {
    const std::lock_guard guard(lock);
    used_bytes -= size;
    if (kept_bytes + size <= kMostKept) {
      kept_bytes += size;
      head = ::new (memory) Free{head};
      return;
    }
  }
  std::free(memory);
}

}  // namespace corewise::preload::packing
