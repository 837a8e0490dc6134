// The local store's memory, from the kernel: zeroed, paid for only where touched, with a page that faults behind
// it. SPDX-License-Identifier: BSD-3-Clause
#include "cell/spe/local_store.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace corewise::cell {

LocalStore::LocalStore() {
  // Where a page is larger than the local store's end is aligned to, the store ends at a page's end all the same.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t usable = (kLocalStoreBytes + page - 1) / page * page;
  mapped_bytes_ = usable + page;
  void* start = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  auto* first = static_cast<std::byte*>(start);
  if (mprotect(first + usable, page, PROT_NONE) != 0) {
    munmap(start, mapped_bytes_);
    throw std::bad_alloc();
  }
  data_ = first + (usable - kLocalStoreBytes);
}

LocalStore::~LocalStore() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  munmap(data_ + kLocalStoreBytes + page - mapped_bytes_, mapped_bytes_);
}

void LocalStore::tell(LsAddress at, std::uint32_t bytes) {
  Watch* watch = watches_;
  while (watch != nullptr) {
    Watch* const next = watch->next_;
    if (at < watch->at_ + watch->bytes_ && watch->at_ < at + bytes) {
      remove(*watch);
      watch->handler_();
    }
    watch = next;
  }
}

void LocalStore::remove(Watch& watch) {
  Watch** link = &watches_;
  while (*link != &watch) link = &(*link)->next_;
  *link = watch.next_;
  watch.listed_ = false;
}

LocalStore::Watch::Watch(LocalStore& store, LsAddress at, std::uint32_t bytes, const sim::Handler& handler)
    : store_(store), at_(at), bytes_(bytes), handler_(handler) {
  Watch** link = &store.watches_;
  while (*link != nullptr) link = &(*link)->next_;
  *link = this;
}

LocalStore::Watch::~Watch() {
  if (listed_) store_.remove(*this);
}

}  // namespace corewise::cell
