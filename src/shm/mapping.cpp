// Mapping on POSIX: an anonymous shared mapping. No name in /dev/shm, so its limit does not apply and nothing is
// left behind when a process dies. SPDX-License-Identifier: BSD-3-Clause
#include "shm/mapping.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace corewise::shm {

Result<Mapping> Mapping::anonymous(std::size_t bytes) {
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    return Status(Code::io,
                  "shared memory of " + std::to_string(bytes) + " bytes: " + std::string(std::strerror(errno)));
  }
  return Mapping({static_cast<std::byte*>(start), bytes});
}

Mapping::~Mapping() {
  if (!block_.empty()) munmap(block_.data(), block_.size());
}

}  // namespace corewise::shm
