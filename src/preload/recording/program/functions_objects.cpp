// What is loaded, as the kernel tells it; see functions_objects.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/program/functions_objects.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "preload/recording/process.hpp"

namespace corewise::preload {
namespace {

constexpr std::size_t kMapsBytes = std::size_t{8} << 20;  ///< room for the text; only what is used is touched
constexpr std::size_t kRanges = 512;
constexpr std::size_t kStrangePages = 16;
constexpr std::uint64_t kPageShift = 12;

struct Range {
  std::uint64_t start = 0;
  std::uint64_t bytes = 0;
};

/// The mappings that a MAPS block describes, by address. `version` is odd while somebody writes. Nobody waits: who
/// comes second does not write, and who reads meanwhile knows of no mapping.
struct Described {
  std::uint64_t version;
  std::uint64_t count;
  Range ranges[kRanges];
  /// Pages of functions in no mapping (a just-in-time compiler's), plus one: looking again does not help.
  std::uint64_t strange[kStrangePages];
};
Described described;

std::uint64_t load(const std::uint64_t& word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

void store(std::uint64_t& word, std::uint64_t value) {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

bool begin_writing(std::uint64_t& version) {
  version = load(described.version);
  if ((version & 1) != 0 || !__atomic_compare_exchange_n(&described.version, &version, version + 1, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return false;
  __atomic_thread_fence(__ATOMIC_RELEASE);
  return true;
}

void end_writing(std::uint64_t version) {
  __atomic_store_n(&described.version, version + 2, __ATOMIC_RELEASE);
}

/// The last of the ordered ranges that does not start behind the address.
Range range_before(std::uint64_t address) {
  std::uint64_t low = 0;
  std::uint64_t high = load(described.count);
  if (high > kRanges) high = 0;
  while (high > low + 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (load(described.ranges[middle].start) <= address ? low : high) = middle;
  }
  return high == 0 ? Range{} : Range{load(described.ranges[low].start), load(described.ranges[low].bytes)};
}

bool holds(const Range& range, std::uint64_t address) {
  return address - range.start < range.bytes;
}

/// The described mapping of an address, or its page if that was looked for in vain; empty where there is neither.
Range find(std::uint64_t address) {
  const std::uint64_t version = __atomic_load_n(&described.version, __ATOMIC_ACQUIRE);
  Range found = range_before(address);
  if (!holds(found, address)) {
    const std::uint64_t page = address >> kPageShift;
    const bool known = load(described.strange[page % kStrangePages]) == page + 1;
    found = known ? Range{page << kPageShift, std::uint64_t{1} << kPageShift} : Range{};
  }
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return (version & 1) == 0 && version == load(described.version) ? found : Range{};
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

/// A hexadecimal number; `at` is moved behind it and the character that ends it.
std::uint64_t read_number(const char*& at) {
  std::uint64_t number = 0;
  for (;; ++at) {
    const char digit = *at;
    if (digit >= '0' && digit <= '9')
      number = number << 4 | static_cast<std::uint64_t>(digit - '0');
    else if (digit >= 'a' && digit <= 'f')
      number = number << 4 | static_cast<std::uint64_t>(digit - 'a' + 10);
    else
      return ++at, number;
  }
}

/// From whole lines, which the kernel writes in the order of addresses.
void remember(const char* text, std::size_t bytes) {
  std::uint64_t version = 0;
  if (!begin_writing(version)) return;
  std::uint64_t count = 0;
  for (const char* at = text; at < text + bytes && count < kRanges; ++count) {
    const char* line = at;
    const std::uint64_t start = read_number(line);
    store(described.ranges[count].start, start);
    store(described.ranges[count].bytes, read_number(line) - start);
    at = static_cast<const char*>(std::memchr(line, '\n', static_cast<std::size_t>(text + bytes - line))) + 1;
  }
  // More than the table holds: what lies behind is taken for described.
  if (count == kRanges)
    store(described.ranges[count - 1].bytes, UINT64_MAX - load(described.ranges[count - 1].start));
  store(described.count, count);
  for (std::uint64_t& page : described.strange) store(page, 0);
  end_writing(version);
}

/// Describes what is loaded because of this address. It may lie in nothing that is.
void describe_for(std::uint64_t address) {
  const int saved_errno = errno;
  append_maps();
  errno = saved_errno;
  const std::uint64_t page = address >> kPageShift;
  if (find(address).bytes == 0) store(described.strange[page % kStrangePages], page + 1);
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
  if (header.payload_bytes > 0) {
    append_block(header.block, sizeof header, &part, 1);
    remember(text, header.payload_bytes);
  }
  munmap(room, kMapsBytes);
}

void note_new_objects(const std::byte* records, const std::byte* end) {
  Range last;
  while (end - records >= static_cast<std::ptrdiff_t>(sizeof(trace::FunctionRecord))) {
    trace::FunctionRecord record;
    std::memcpy(&record, records, sizeof record);
    records += trace::record_bytes(record.call);
    const std::uint64_t address = record.low | (std::uint64_t{record.high} << 32);
    if (trace::role_of(record.call) != trace::Role::function_enter || holds(last, address)) continue;
    last = find(address);
    if (last.bytes == 0) return describe_for(address);
  }
}

std::uint64_t descriptions_with(std::uint64_t address) {
  if (find(address).bytes == 0) describe_for(address);
  return load(described.version) / 2;
}

}  // namespace corewise::preload
