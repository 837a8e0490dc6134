// See files.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/memory/files.hpp"

#include <sys/random.h>
#include <sys/stat.h>

#include <cstring>
#include <string>
#include <utility>

namespace corewise::preload::accelerating {

std::uint64_t random_key() {
  std::uint64_t key = 0;
  if (getrandom(&key, sizeof key, 0) != sizeof key) return 0;
  return key | 1;
}

File make_file(std::size_t bytes) {
  File made;
  Result<shm::Mapping> mapped = shm::Mapping::nameless(bytes, made.file);
  if (!mapped.ok()) return {};
  made.mapping = std::make_shared<shm::Mapping>(std::move(mapped).value());
  made.key = random_key();
  std::memcpy(made.mapping->block().data(), &made.key, sizeof made.key);
  return made;
}

std::shared_ptr<shm::Mapping> open_file(int process, int file, std::uint64_t key, std::size_t bytes) {
  const std::string path = shm::Mapping::path_of(process, file);
  struct stat found{};
  if (key == 0 || stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return nullptr;
  Result<shm::Mapping> mapped = shm::Mapping::open(path, bytes);
  if (!mapped.ok()) return nullptr;
  if (std::memcmp(mapped.value().block().data(), &key, sizeof key) != 0) return nullptr;
  return std::make_shared<shm::Mapping>(std::move(mapped).value());
}

}  // namespace corewise::preload::accelerating
