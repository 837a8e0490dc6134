// The filter file and the test of addresses; see functions_filter.hpp.
//
// An address is looked up by its object and a binary search in the mapped list, once: a table remembers the answer.
// The table is forgotten when an address is met in a library that was loaded meanwhile.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/program/functions_filter.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/knobs.hpp"
#include "preload/recording/program/functions_objects.hpp"

namespace corewise::preload {
namespace {

constexpr Knob kTraceFunctions{"trace_functions", KnobType::text, "", "a file that corewise run writes",
                               "which functions are recorded; empty: all"};

constexpr std::uint64_t kFilterMagic = 0x31544c4946574343;  // "CCWFILT1"
constexpr std::uint32_t kFiltered = 1;
constexpr std::uint32_t kListedAreRecorded = 2;

struct FilterHeader {
  std::uint64_t magic;
  std::uint64_t least_ns;
  std::uint32_t depth;
  std::uint32_t flags;
  std::uint64_t objects;
};

struct FilterObject {
  std::uint64_t first;
  std::uint64_t count;
  std::uint64_t path;
  std::uint64_t path_bytes;
};

/// The mapped file; its parts lie inside `bytes`.
struct Filter {
  const char* file = nullptr;
  std::size_t bytes = 0;
  const FilterObject* objects = nullptr;
  std::uint64_t object_count = 0;
  const std::uint64_t* list = nullptr;
  bool listed_are_recorded = false;
};
Filter filter;

/// Answers by address: the address shifted up by one, the answer in the last bit. An address lies in one of the
/// kWays entries around its home, or has not been asked for lately.
constexpr std::size_t kAnswers = 4096;
constexpr std::size_t kWays = 4;
std::uint64_t answers[kAnswers];
std::uint64_t answers_of = 0;  ///< descriptions_with() when they were given

bool fits(const Filter& candidate, std::uint64_t list_at) {
  for (std::uint64_t i = 0; i < candidate.object_count; ++i) {
    const FilterObject& object = candidate.objects[i];
    const std::uint64_t room = candidate.bytes;
    if (object.first > room / 8 || object.count > room / 8 || object.path > room || object.path_bytes > room ||
        list_at + (object.first + object.count) * 8 > room || object.path + object.path_bytes > room)
      return false;
  }
  return true;
}

const FilterHeader* adopt(const char* file, std::size_t bytes) {
  const auto* header = reinterpret_cast<const FilterHeader*>(file);
  const std::size_t most = (bytes - sizeof(FilterHeader)) / sizeof(FilterObject);
  if (header->magic != kFilterMagic || header->objects > most) return nullptr;
  const std::uint64_t list_at = sizeof(FilterHeader) + header->objects * sizeof(FilterObject);
  Filter candidate;
  candidate.file = file;
  candidate.bytes = bytes;
  candidate.objects = reinterpret_cast<const FilterObject*>(file + sizeof(FilterHeader));
  candidate.object_count = header->objects;
  candidate.list = reinterpret_cast<const std::uint64_t*>(file + list_at);
  candidate.listed_are_recorded = (header->flags & kListedAreRecorded) != 0;
  if (!fits(candidate, list_at)) return nullptr;
  filter = candidate;
  return header;
}

const FilterHeader* map_filter(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat found{};
  const FilterHeader* header = nullptr;
  if (fstat(fd, &found) == 0 && found.st_size >= static_cast<off_t>(sizeof(FilterHeader))) {
    const auto bytes = static_cast<std::size_t>(found.st_size);
    void* file = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file != MAP_FAILED) header = adopt(static_cast<const char*>(file), bytes);
    if (file != MAP_FAILED && header == nullptr) munmap(file, bytes);
  }
  close(fd);
  return header;
}

/// The loaded object that holds an address.
struct Holder {
  std::uint64_t address;
  std::uint64_t base = 0;
  const char* name = nullptr;
};

#ifdef DLFO_STRUCT_HAS_EH_DBASE

/// Without a lock: a handler's first function may have interrupted the loader.
void find_holder(Holder& holder) {
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(holder.address), &found) != 0) return;
  holder.base = found.dlfo_link_map->l_addr;
  holder.name = found.dlfo_link_map->l_name;
}

#else  // glibc before 2.35 has a walk only, which locks

int look_for_holder(dl_phdr_info* info, std::size_t, void* state) {
  auto& holder = *static_cast<Holder*>(state);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = info->dlpi_phdr[i];
    const std::uint64_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || holder.address < start || holder.address >= start + segment.p_memsz) continue;
    holder.base = info->dlpi_addr;
    holder.name = info->dlpi_name;
    return 1;
  }
  return 0;
}

void find_holder(Holder& holder) {
  dl_iterate_phdr(look_for_holder, &holder);
}

#endif

/// Paths are compared without links; the program itself has no name in the loader's list.
bool is_path(const FilterObject& object, const char* path) {
  return std::strlen(path) == object.path_bytes &&
         std::memcmp(filter.file + object.path, path, object.path_bytes) == 0;
}

const FilterObject* object_called(const char* name) {
  char real[PATH_MAX];
  if (*name == '\0') {
    const ssize_t length = readlink("/proc/self/exe", real, sizeof real - 1);
    if (length < 0) return nullptr;
    real[length] = '\0';
  } else if (realpath(name, real) == nullptr) {
    return nullptr;
  }
  for (std::uint64_t i = 0; i < filter.object_count; ++i)
    if (is_path(filter.objects[i], real)) return &filter.objects[i];
  return nullptr;
}

bool is_listed(std::uint64_t address) {
  Holder holder{address};
  find_holder(holder);
  if (holder.name == nullptr) return false;
  const FilterObject* object = object_called(holder.name);
  if (object == nullptr) return false;
  const std::uint64_t* first = filter.list + object->first;
  return std::binary_search(first, first + object->count, address - holder.base);
}

std::uint64_t* home_of(std::uint64_t address) {
  static_assert(kAnswers == 4096);
  return &answers[((address * 0x9e3779b97f4a7c15ULL) >> 52) & ~(kWays - 1)];
}

bool look_up(std::uint64_t address) {
  const std::uint64_t changes = descriptions_with(address);
  if (__atomic_exchange_n(&answers_of, changes, __ATOMIC_RELAXED) != changes)
    for (std::uint64_t& old : answers) __atomic_store_n(&old, 0, __ATOMIC_RELAXED);
  const bool allowed = is_listed(address) == filter.listed_are_recorded;
  std::uint64_t* home = home_of(address);
  std::size_t way = 0;
  while (way + 1 < kWays && __atomic_load_n(&home[way], __ATOMIC_RELAXED) != 0) ++way;
  __atomic_store_n(&home[way], address << 1 | (allowed ? 1U : 0U), __ATOMIC_RELAXED);
  return allowed;
}

}  // namespace

FunctionLimits load_function_limits() {
  FunctionLimits limits;
  const std::string_view path = knob_text(kTraceFunctions);
  const FilterHeader* header = path.empty() ? nullptr : map_filter(path.data());
  if (header == nullptr) return limits;
  limits.filtered = (header->flags & kFiltered) != 0;
  limits.least_ns = header->least_ns;
  if (header->depth > 0 && header->depth < kKeptFrames) limits.depth = header->depth;
  return limits;
}

bool filter_allows(const void* function) {
  const auto address = reinterpret_cast<std::uint64_t>(function);
  const std::uint64_t* home = home_of(address);
  for (std::size_t way = 0; way < kWays; ++way) {
    const std::uint64_t found = __atomic_load_n(&home[way], __ATOMIC_RELAXED);
    if (found >> 1 == address) return (found & 1) != 0;
  }
  return look_up(address);
}

}  // namespace corewise::preload
