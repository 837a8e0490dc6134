// Memory for matrices, on large pages where the system gives them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace corewise::bench {

class Huge {
 public:
  explicit Huge(std::size_t bytes) {
    constexpr std::size_t large_page = std::size_t{2} << 20;
    const std::size_t whole = (bytes / large_page + 1) * large_page;
    memory_ = std::aligned_alloc(large_page, whole);
    if (memory_ == nullptr) throw std::bad_alloc();
    madvise(memory_, whole, MADV_HUGEPAGE);
  }
  ~Huge() { std::free(memory_); }
  Huge(const Huge&) = delete;
  Huge& operator=(const Huge&) = delete;

  template <class Value>
  Value* as() const {
    return static_cast<Value*>(memory_);
  }

 private:
  void* memory_ = nullptr;
};

}  // namespace corewise::bench
