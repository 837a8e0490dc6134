// A file in memory, for readers that take a path. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.hpp"

namespace corewise::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : number_(::memfd_create("corewise-fuzz", 0)) {
    require(number_ >= 0, "no file in memory");
    const auto written = ::write(number_, content.data(), content.size());
    require(written == static_cast<ssize_t>(content.size()), "a file in memory cannot be written");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(number_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

}  // namespace corewise::fuzz
