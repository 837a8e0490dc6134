// Memory between two pages that nobody may touch. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>

namespace corewise::kernels {

/// Memory that ends, and begins, where a page begins that nobody may touch.
class Walled {
 public:
  explicit Walled(std::size_t pages) : bytes_(pages * page) {
    void* memory = mmap(nullptr, bytes_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    outer_ = static_cast<unsigned char*>(memory);
    EXPECT_EQ(mprotect(begin(), bytes_, PROT_READ | PROT_WRITE), 0);
  }
  Walled(const Walled&) = delete;
  Walled& operator=(const Walled&) = delete;
  ~Walled() { munmap(outer_, bytes_ + 2 * page); }
  unsigned char* begin() const { return outer_ + page; }
  unsigned char* end() const { return begin() + bytes_; }

 private:
  static constexpr std::size_t page = 4096;
  std::size_t bytes_;
  unsigned char* outer_ = nullptr;
};

}  // namespace corewise::kernels
