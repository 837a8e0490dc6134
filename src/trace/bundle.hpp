// Bundles: the rank files of one node in one file, node-NODE.cwn, and the list of rank files of a profile wherever
// they lie. Owns the bundle's layout: a BundleHeader, `count` BundleEntry, then the files as they were, each at a
// multiple of 4096 bytes. docs/formats/trace.md has it in prose.
//
// Contract: a bundle is written under another name, complete, and then renamed; only then are the rank files
// removed. A crash in between leaves both, and the loose file counts. Pages of zeros become holes. A member's path
// is the bundle's path, a slash and its name, which Reader::open understands; it also finds a packed
// file by the path that it had. A bundle that is damaged or cut is refused with its file and field.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace corewise::trace {

inline constexpr char kBundleMagic[8] = {'C', 'W', 'N', 'O', 'D', 'E', '\0', '\0'};
inline constexpr std::uint32_t kBundleVersion = 1;
inline constexpr std::uint32_t kMemberAlign = 4096;
inline constexpr const char* kBundleSuffix = ".cwn";
inline constexpr const char* kRankSuffix = ".cwt";

struct BundleHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t count;  ///< of entries, from 1
  std::uint64_t bytes;  ///< of the whole bundle
  char node[40];        ///< whose ranks these are, cut
};
static_assert(sizeof(BundleHeader) == 64);

struct BundleEntry {
  std::uint64_t offset;
  std::uint64_t bytes;
  char name[112];  ///< of the rank file, NUL-terminated
};
static_assert(sizeof(BundleEntry) == 128);

/// A rank file inside a bundle.
struct Member {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// What a bundle holds, in its order.
Result<std::vector<Member>> read_bundle(const std::string& path);

/// Packs the rank files of a profile's folder, one bundle per node; the names of the bundles it wrote. Refused
/// while a rank is seen to write its file: what it wrote later would be lost.
Result<std::vector<std::string>> pack_folder(const std::string& directory);

/// Paths for Reader::open, sorted by file name: loose rank files and members of bundles. Empty where there is none.
Result<std::vector<std::string>> rank_files(const std::string& directory);

}  // namespace corewise::trace
