// Mapping on POSIX. The anonymous one has no name in /dev/shm, so its limit does not apply and nothing is left
// behind when a process dies. SPDX-License-Identifier: BSD-3-Clause
#include "shm/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace corewise::shm {
namespace {

Status refused(const std::string& what, std::size_t bytes, int error) {
  return {Code::io, what + " of " + std::to_string(bytes) + " bytes: " + std::string(std::strerror(error))};
}

/// Maps the whole of `file`.
Result<std::span<std::byte>> map(int file, const std::string& path, std::size_t bytes) {
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (start == MAP_FAILED) return refused("shared memory in " + path, bytes, errno);
  return std::span<std::byte>(static_cast<std::byte*>(start), bytes);
}
Result<std::span<std::byte>> map_and_close(int file, const std::string& path, std::size_t bytes) {
  Result<std::span<std::byte>> block = map(file, path, bytes);
  close(file);
  return block;
}

}  // namespace

Result<Mapping> Mapping::anonymous(std::size_t bytes) {
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return refused("shared memory", bytes, errno);
  return Mapping({static_cast<std::byte*>(start), bytes});
}

Result<Mapping> Mapping::create(const std::string& path, std::size_t bytes) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return refused("shared memory in " + path, bytes, errno);
  if (const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes)); error != 0) {
    close(file);
    unlink(path.c_str());
    return refused("shared memory in " + path, bytes, error);
  }
  Result<std::span<std::byte>> block = map_and_close(file, path, bytes);
  if (block.ok()) return Mapping(block.value());
  unlink(path.c_str());
  return block.status();
}

Result<Mapping> Mapping::open(const std::string& path, std::size_t bytes) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return refused("shared memory in " + path, bytes, errno);
  const off_t size = lseek(file, 0, SEEK_END);
  if (size < 0 || static_cast<std::size_t>(size) < bytes) {
    close(file);
    return Status(Code::io, "shared memory in " + path + ": has " + std::to_string(size) + " bytes, wanted " +
                                std::to_string(bytes));
  }
  Result<std::span<std::byte>> block = map_and_close(file, path, bytes);
  if (!block.ok()) return block.status();
  return Mapping(block.value());
}

Result<Mapping> Mapping::nameless(std::size_t bytes, int& file) {
  // Beyond the limit on files the kernel would send a signal.
  file = -1;
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
    return refused("shared memory without a name", bytes, EFBIG);
  file = memfd_create("corewise", MFD_CLOEXEC);
  if (file < 0) return refused("shared memory without a name", bytes, errno);
  Result<std::span<std::byte>> block = Status{};
  if (const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes)); error != 0) {
    block = refused("shared memory without a name", bytes, error);
  } else {
    block = map(file, "a file without a name", bytes);
  }
  if (block.ok()) return Mapping(block.value());
  close(std::exchange(file, -1));
  return block.status();
}

std::string Mapping::path_of(int process, int file) {
  return "/proc/" + std::to_string(process) + "/fd/" + std::to_string(file);
}

Mapping::~Mapping() {
  if (!block_.empty()) munmap(block_.data(), block_.size());
}

}  // namespace corewise::shm
