// See heap.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "shm/heap.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "shm/segment.hpp"

namespace corewise::shm {
namespace {

/// Backed at once: a signal that interrupts the system's work then costs little of it.
constexpr std::size_t kStep = std::size_t{8} << 20;
constexpr int kTries = 100;
/// Looked through whenever a block is taken; and how much of one may be more than was wanted, as a part of it.
constexpr std::size_t kMostBlocksPutBy = 32, kSpare = 4;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

/// All heaps of the process, for its forks.
struct All {
  std::mutex mutex;
  std::vector<Heap*> heaps;
};
All& all() {
  static All& heaps = *new All;  // outlives every destructor of the program
  return heaps;
}

bool allocate(int file, std::uint64_t at, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes; done += kStep) {
    const auto begin = static_cast<off_t>(at + done);
    const auto length = static_cast<off_t>(std::min(kStep, bytes - done));
    int error = EINTR;
    for (int tries = 0; error == EINTR && tries < kTries; ++tries) error = posix_fallocate(file, begin, length);
    if (error != 0) return false;
  }
  return true;
}

}  // namespace

Heap::Heap(std::span<std::byte> place, int file) : place_(place), file_(file), extents_(kPageBytes, place.size()) {}

std::unique_ptr<Heap> Heap::make(std::size_t bytes, std::uint64_t key) {
  // Beyond the limit on files the kernel would send a signal.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) return nullptr;
  const int file = memfd_create("corewise-heap", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void* start = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0)
    start = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (start == MAP_FAILED) {
    close(file);
    return nullptr;
  }
  madvise(start, bytes, MADV_DONTDUMP);
  std::unique_ptr<Heap> heap(new Heap({static_cast<std::byte*>(start), bytes}, file));
  if (!heap->open(0, kPageBytes, Backed::at_once)) return nullptr;
  std::memcpy(heap->place_.data(), &key, sizeof key);
  watch_forks();
  const std::lock_guard lock(all().mutex);
  all().heaps.push_back(heap.get());
  return heap;
}

Heap::~Heap() {
  {
    const std::lock_guard lock(all().mutex);
    std::erase(all().heaps, this);
  }
  munmap(place_.data(), place_.size());
  close(file_);
}

bool Heap::open(std::uint64_t at, std::size_t bytes, Backed backed) {
  std::byte* const begin = place_.data() + at;
  const bool there = backed == Backed::by_use || allocate(file_, at, bytes);
  if (there && mprotect(begin, bytes, PROT_READ | PROT_WRITE) == 0) {
    madvise(begin, bytes, MADV_DODUMP);
    return true;
  }
  drop(at, bytes);
  return false;
}

void Heap::drop(std::uint64_t at, std::size_t bytes) {
  std::byte* const begin = place_.data() + at;
  // By madvise: that is what libraries which register memory with a network watch.
  if (madvise(begin, bytes, MADV_REMOVE) != 0)
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at), static_cast<off_t>(bytes));
  mprotect(begin, bytes, PROT_NONE);
  madvise(begin, bytes, MADV_DONTDUMP);
}

std::byte* Heap::take_new(std::size_t whole, Backed backed) {
  if (is_copy_) return nullptr;
  const auto at = extents_.take(whole);
  if (!at) return nullptr;
  if (open(*at, whole, backed)) return place_.data() + *at;
  extents_.give_back(*at);
  return nullptr;
}

std::byte* Heap::take(std::size_t bytes) {
  if (bytes == 0 || bytes > place_.size()) return nullptr;
  const std::lock_guard lock(mutex_);
  return take_new(whole_pages(bytes), Backed::by_use);
}

std::byte* Heap::take_again(std::size_t bytes) {
  if (bytes == 0 || bytes > place_.size()) return nullptr;
  const std::size_t whole = whole_pages(bytes);
  const std::lock_guard lock(mutex_);
  const auto fitting = std::ranges::find_if(put_by_, [whole](const Extent& block) {
    return block.bytes >= whole && block.bytes - whole <= whole / kSpare;
  });
  if (fitting != put_by_.end()) {
    std::byte* const block = place_.data() + fitting->at;
    put_by_bytes_ -= fitting->bytes;
    put_by_.erase(fitting);
    return block;
  }
  std::byte* block = take_new(whole, Backed::at_once);
  while (block == nullptr && !put_by_.empty()) {
    release_oldest();
    block = take_new(whole, Backed::at_once);
  }
  return block;
}

bool Heap::release(std::uint64_t at) {
  if (std::ranges::find(put_by_, at, &Extent::at) != put_by_.end()) return false;
  const std::uint64_t bytes = extents_.give_back(at);
  if (bytes == 0) return false;
  if (is_copy_) {  // the file is the parent's
    munmap(place_.data() + at, bytes);
  } else {
    drop(at, bytes);
  }
  return true;
}

void Heap::release_oldest() {
  const Extent oldest = put_by_.front();
  put_by_.pop_front();
  put_by_bytes_ -= oldest.bytes;
  release(oldest.at);
}

bool Heap::give_back(void* at) {
  if (!has(at)) return false;
  const std::lock_guard lock(mutex_);
  return release(offset_of(at));
}

bool Heap::put_by(void* at) {
  if (!has(at)) return false;
  const std::lock_guard lock(mutex_);
  const auto block = extents_.taken().find(offset_of(at));
  if (block == extents_.taken().end()) return false;
  const Extent extent{block->first, block->second};
  if (extent.bytes > kMostPutBy) return release(extent.at);
  if (std::ranges::find(put_by_, extent.at, &Extent::at) != put_by_.end()) return false;
  while (put_by_bytes_ + extent.bytes > kMostPutBy || put_by_.size() >= kMostBlocksPutBy) release_oldest();
  put_by_.push_back(extent);
  put_by_bytes_ += extent.bytes;
  return true;
}

std::size_t Heap::bytes_of(const void* at) {
  if (!has(at)) return 0;
  const std::lock_guard lock(mutex_);
  const auto found = extents_.taken().find(offset_of(at));
  return found != extents_.taken().end() ? found->second : 0;
}

// ---- forks ----

void Heap::watch_forks() {
  static const int watched = pthread_atfork(&fork_begins, &fork_ends_in_parent, &fork_ends_in_child);
  static_cast<void>(watched);
}

void Heap::copy_all() {
  if (is_copy_) return;  // its blocks are its own already
  for (const auto& [at, bytes] : extents_.taken()) {
    std::byte* const begin = place_.data() + at;
    void* const content = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (content != MAP_FAILED) std::memcpy(content, begin, bytes);
    copies_.push_front({begin, content == MAP_FAILED ? nullptr : static_cast<std::byte*>(content), bytes});
  }
}

void Heap::fork_begins() {
  all().mutex.lock();
  for (Heap* heap : all().heaps) {
    heap->mutex_.lock();
    heap->copy_all();
  }
}

void Heap::fork_ends_in_parent() {
  for (Heap* heap : all().heaps) {
    for (const Copy& copy : heap->copies_)
      if (copy.content != nullptr) munmap(copy.content, copy.bytes);
    heap->copies_.clear();
    heap->mutex_.unlock();
  }
  all().mutex.unlock();
}

void Heap::fork_ends_in_child() {
  for (Heap* heap : all().heaps) {
    for (const Copy& copy : heap->copies_) {
      const bool moved = copy.content != nullptr && mremap(copy.content, copy.bytes, copy.bytes,
                                                           MREMAP_MAYMOVE | MREMAP_FIXED, copy.at) != MAP_FAILED;
      if (!moved) mprotect(copy.at, copy.bytes, PROT_NONE);  // rather none than the parent's
    }
    heap->copies_.clear();
    heap->is_copy_ = true;
    heap->mutex_.unlock();
  }
  all().mutex.unlock();
}

}  // namespace corewise::shm
