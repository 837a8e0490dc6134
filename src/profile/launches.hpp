// Launches: which rank files of a folder belong together. One folder may hold several worlds: those that
// MPI_Comm_spawn started, and several programs started one after the other in one run.
//
// Contract: a file's world is "world" or, by its name, "spawn4711"; a rank that occurs twice in a world of one size
// belongs to a second launch of the same kind, in order of start. Launches sort as profiles list them: what was not
// spawned first, large worlds first.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "trace/format.hpp"

namespace corewise::profile {

/// The rank files of a profile's folder, packed ones among them. Fails where there is none.
Result<std::vector<std::filesystem::path>> rank_files(const std::string& directory);

/// A header whose rank and size can be a world's; else the error, with file and field.
Status check_rank(const trace::FileHeader& header, const std::string& file);

struct Launch {
  bool spawned = false;
  int negative_size = 0;  ///< large worlds first
  std::string world;
  int ordinal = 0;  ///< how many launches of this kind came before
  friend auto operator<=>(const Launch&, const Launch&) = default;
};

/// "world", "spawn4711", "world 2".
std::string launch_name(const Launch& launch);

/// A rank file as far as it says where it belongs. `file` is its name without the folder.
struct RankFile {
  std::string file;
  int rank = 0;
  int world_size = 0;
  bool spawned = false;
  std::int64_t started_realtime_ns = 0;
};

RankFile rank_file(const trace::FileHeader& header, const std::string& file);

/// The launch of every file, in the order given.
std::vector<Launch> launches_of(const std::vector<RankFile>& files);

/// `items` by launch, each launch's by rank. `describe(item)` is its RankFile.
template <class Item, class Describe>
std::map<Launch, std::vector<Item>> by_launch(std::vector<Item> items, Describe describe) {
  std::vector<RankFile> files;
  for (const Item& item : items) files.push_back(describe(item));
  const std::vector<Launch> launches = launches_of(files);
  std::vector<std::size_t> order(items.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(launches[a], files[a].rank) < std::tie(launches[b], files[b].rank);
  });
  std::map<Launch, std::vector<Item>> grouped;
  for (const std::size_t i : order) grouped[launches[i]].push_back(std::move(items[i]));
  return grouped;
}

}  // namespace corewise::profile
