// What the loader loaded meanwhile; see functions_objects.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/functions_objects.hpp"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "preload/process.hpp"

namespace corewise::preload {
namespace {

constexpr std::size_t kMapsBytes = std::size_t{8} << 20;  ///< room for the text; only what is used is touched

std::uint64_t known_loads = 0;

struct Changes {
  std::uint64_t loads;
  std::uint64_t unloads;
};

int first_object(dl_phdr_info* info, std::size_t, void* state) {
  *static_cast<Changes*>(state) = {info->dlpi_adds, info->dlpi_subs};
  return 1;
}

Changes read_changes() {
  Changes changes{};
  dl_iterate_phdr(first_object, &changes);
  return changes;
}

std::size_t read_maps(char* text, std::size_t room) {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::size_t bytes = 0;
  while (bytes < room) {
    const ssize_t got = read(fd, text + bytes, room - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  close(fd);
  return bytes;
}

/// Keeps the lines of executable mappings, in place.
std::size_t keep_executable(char* text, std::size_t bytes) {
  static constexpr char kExecutable[] = " r-xp ";
  std::size_t kept = 0;
  for (std::size_t at = 0; at < bytes;) {
    const auto* end = static_cast<const char*>(std::memchr(text + at, '\n', bytes - at));
    if (end == nullptr) break;
    const std::size_t length = static_cast<std::size_t>(end - (text + at)) + 1;
    if (memmem(text + at, length, kExecutable, sizeof kExecutable - 1) != nullptr) {
      std::memmove(text + kept, text + at, length);
      kept += length;
    }
    at += length;
  }
  return kept;
}

}  // namespace

void append_maps() {
  void* room = mmap(nullptr, kMapsBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return;
  auto* text = static_cast<char*>(room);
  trace::TextHeader header{};
  header.block.kind = trace::BlockKind::maps;
  header.payload_bytes = keep_executable(text, read_maps(text, kMapsBytes));
  const Part part{text, header.payload_bytes};
  if (header.payload_bytes > 0) append_block(header.block, sizeof header, &part, 1);
  munmap(room, kMapsBytes);
}

void know_objects() {
  __atomic_store_n(&known_loads, read_changes().loads, __ATOMIC_RELAXED);
}

void note_new_objects() {
  const std::uint64_t loads = read_changes().loads;
  if (__atomic_exchange_n(&known_loads, loads, __ATOMIC_RELAXED) == loads) return;
  const int saved_errno = errno;
  append_maps();
  errno = saved_errno;
}

std::uint64_t object_changes() {
  const Changes changes = read_changes();
  return changes.loads + changes.unloads;
}

}  // namespace corewise::preload
