// The paper's elements at a stride, and its three ways of packing them by hand (Boyer and Chase, section 4), with a
// fourth of today; and the sets of cases.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "layouts.hpp"

namespace {

constexpr std::size_t kConstantBytes = 32 * 1024;
constexpr std::size_t kElements = 1024;
constexpr std::size_t kLine = 64;
constexpr std::size_t kColumnStride = 4096 + kLine;        // one block a page, and not all in one set of a cache
constexpr std::size_t kMostPages = 8192;                   // of a sparse message in the grid
constexpr std::size_t kMostBlocks = std::size_t{1} << 17;  // of any: shorter ones say nothing new, and take long
constexpr std::size_t kAhead = 8 * kLine;

// ---- loops ------------------------------------------------------------------------------------------------------

/// `count` blocks, from one stride to another; by value, as no store may then change it.
struct Strided {
  const char* from;
  std::size_t from_stride;
  char* to;
  std::size_t to_stride, block, count;
};

struct Pair {
  std::uint64_t low, high;
};

/// Blocks of so many bytes, which the compiler knows; false where they have others.
template <std::size_t bytes>
bool gather(Strided s) {
  if (s.block != bytes) return false;
  for (std::size_t i = 0; i < s.count; ++i) std::memcpy(s.to + i * s.to_stride, s.from + i * s.from_stride, bytes);
  return true;
}

template <std::size_t... bytes>
bool gather_any_of(Strided s, std::index_sequence<bytes...>) {
  return (gather<bytes>(s) || ...);
}

/// Today's loop: a constant length for small elements, memcpy for others.
void loop(Strided s) {
  if (gather_any_of(s, std::index_sequence<1, 2, 4, 8, 16, 32, 64, 128>{})) return;
  for (std::size_t i = 0; i < s.count; ++i) {
    std::memcpy(s.to + i * s.to_stride, s.from + i * s.from_stride, s.block);
  }
}

/// The paper's first kernel: values assigned one by one, unrolled, with what is written next fetched before.
template <class Word>
bool assign(Strided s) {
  if (s.block % sizeof(Word) != 0) return false;
  const std::size_t words = s.block / sizeof(Word);
  std::size_t fetched = 0;
  for (std::size_t i = 0; i < s.count; ++i) {
    const char* in = s.from + i * s.from_stride;
    char* out = s.to + i * s.to_stride;
    const std::size_t at = i * s.to_stride;
    if (at >= fetched) {
      __builtin_prefetch(out + kAhead, 1);
      fetched = at + kLine;
    }
    std::size_t w = 0;
    for (; w + 4 <= words; w += 4) {
      Word values[4];
      for (std::size_t k = 0; k < 4; ++k) std::memcpy(&values[k], in + (w + k) * sizeof(Word), sizeof(Word));
      for (std::size_t k = 0; k < 4; ++k) std::memcpy(out + (w + k) * sizeof(Word), &values[k], sizeof(Word));
      if (w * sizeof(Word) % kLine == 0) __builtin_prefetch(out + w * sizeof(Word) + kAhead, 1);
    }
    for (; w < words; ++w) std::memcpy(out + w * sizeof(Word), in + w * sizeof(Word), sizeof(Word));
  }
  return true;
}

void assignment(Strided s) {
  (void)(assign<Pair>(s) || assign<std::uint64_t>(s) || assign<std::uint32_t>(s) || assign<std::uint16_t>(s) ||
         assign<std::uint8_t>(s));
}

/// A call of the library for every element, whose length the compiler does not know; with `prefetch` the first line
/// of the next element's target is fetched before.
template <bool prefetch>
void by_memcpy(Strided s) {
  void* (*volatile chosen)(void*, const void*, std::size_t) = std::memcpy;
  auto* copy = chosen;
  for (std::size_t i = 0; i < s.count; ++i) {
    if (prefetch) __builtin_prefetch(s.to + (i + 1) * s.to_stride, 1);
    copy(s.to + i * s.to_stride, s.from + i * s.from_stride, s.block);
  }
}

using Kernel = void (*)(Strided);

// ---- cases ------------------------------------------------------------------------------------------------------

/// `count` blocks of `block` bytes, a block every `stride` bytes: the paper's elements. Doubles where the block is
/// a multiple of 8, else the integer of its size.
Case strided_case(std::size_t block, std::size_t count, std::size_t stride) {
  const int bytes = block % 8 == 0 ? 8 : block % 4 == 0 ? 4 : block % 2 == 0 ? 2 : 1;
  const MPI_Datatype word = bytes == 8 ? MPI_DOUBLE : bytes == 4 ? MPI_INT : bytes == 2 ? MPI_SHORT : MPI_CHAR;
  Case c;
  c.bytes = block * count;
  c.send_span = c.receive_span = stride * (count - 1) + block;
  MPI_Type_create_hvector(static_cast<int>(count), static_cast<int>(block) / bytes, static_cast<MPI_Aint>(stride),
                          word, &c.send_type);
  MPI_Type_commit(&c.send_type);
  c.receive_type = c.send_type;
  for (const auto& [name, kernel] : {std::pair<const char*, Kernel>{"loop", loop},
                                     {"assignment", assignment},
                                     {"memcpy", by_memcpy<false>},
                                     {"memcpy-prefetch", by_memcpy<true>}}) {
    c.hands.push_back({name,
                       [=, kernel = kernel](const char* items, char* packed) {
                         kernel({items, stride, packed, block, block, count});
                       },
                       [=, kernel = kernel](const char* packed, char* items) {
                         kernel({packed, block, items, stride, block, count});
                       }});
  }
  return c;
}

std::vector<std::size_t> powers(std::size_t from, std::size_t to, std::size_t factor) {
  std::vector<std::size_t> values;
  for (std::size_t value = from; value <= to; value *= factor) values.push_back(value);
  return values;
}

/// Sizes of a message by lengths of its elements, as far as there are two of them. A factor of four between sizes:
/// wider, and an MPI's change of protocol lies between two of them, with forty times the time behind it. Above 2
/// MB, where caches end, a factor of two.
std::vector<std::string> grid_names(const std::string& set, bool quick) {
  const bool sparse = set == "sparse";
  std::vector<std::string> names;
  std::vector<std::size_t> sizes = powers(512, 2048 * 1024, 4);
  if (!sparse) sizes.insert(sizes.end(), {4096 * 1024, 8192 * 1024});
  for (const std::size_t bytes : sizes) {
    for (const std::size_t block :
         powers(1, std::min<std::size_t>(bytes / 2, sparse ? 1024 : 16384), quick ? 4 : 2)) {
      if (bytes / block > (sparse ? kMostPages : kMostBlocks)) continue;
      names.push_back(set + "/" + std::to_string(bytes) + "/" + std::to_string(block));
    }
  }
  return names;
}

/// Both sweeps from elements of a line on; and blocks that are received transposed.
std::vector<std::string> mapped_names(bool quick) {
  std::vector<std::string> names;
  for (const std::string set : {"constant", "elements"}) {
    for (const std::string& name : case_names(set, quick)) {
      if (std::stoul(name.substr(set.size() + 1)) >= kLine) names.push_back(name);
    }
  }
  if (!quick) names.insert(names.end(), {"fft2/256", "fft2/768"});
  return names;
}

}  // namespace

std::vector<std::string> case_names(const std::string& set, bool quick) {
  if (set == "applications") return application_names(quick);
  if (set == "grid" || set == "sparse") return grid_names(set, quick);
  if (set == "mapped") return mapped_names(quick);
  // The smallest and the largest element, and the smallest and the largest of a quick run, which takes every third.
  const std::array<std::size_t, 4> ends = set == "constant"   ? std::array<std::size_t, 4>{1, 16384, 4, 16384}
                                          : set == "elements" ? std::array<std::size_t, 4>{1, 8192, 4, 2048}
                                                              : std::array<std::size_t, 4>{8, 1024, 32, 32};
  std::vector<std::string> names;
  for (const std::size_t block : quick ? powers(ends[2], ends[3], 8) : powers(ends[0], ends[1], 2)) {
    names.push_back(set + "/" + std::to_string(block));
  }
  return names;
}

Case make_case(const std::string& name) {
  const std::size_t slash = name.find('/'), second = name.find('/', slash + 1);
  const std::string set = name.substr(0, slash);
  const std::size_t size = std::stoul(name.substr(slash + 1));
  const std::size_t block = second == std::string::npos ? size : std::stoul(name.substr(second + 1));
  Case c = set == "constant"   ? strided_case(block, kConstantBytes / block, 2 * block)
           : set == "elements" ? strided_case(block, kElements, 2 * block)
           : set == "columns"  ? strided_case(block, kConstantBytes / block, kColumnStride)
           : set == "grid"     ? strided_case(block, size / block, 2 * block)
           : set == "sparse"   ? strided_case(block, size / block, kColumnStride)
                               : application_case(set, static_cast<int>(size));
  c.name = name;
  return c;
}
