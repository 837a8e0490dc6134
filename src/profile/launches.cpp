// Which rank files belong together; see launches.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/launches.hpp"

#include "pattern/pattern.hpp"
#include "trace/bundle.hpp"

namespace corewise::profile {
namespace {

namespace fs = std::filesystem;

/// "world", or the part before "-rank-" in the names of spawned worlds' files.
std::string world_of(const std::string& file) {
  const std::size_t rank = file.find("-rank-");
  return rank == std::string::npos ? "world" : file.substr(0, rank);
}

}  // namespace

Result<std::vector<fs::path>> rank_files(const std::string& directory) {
  Result<std::vector<std::string>> found = trace::rank_files(directory);
  if (!found.ok()) return found.status();
  if (found.value().empty()) return invalid_input(directory + ": 0 events seen: it holds no rank file (*.cwt)");
  return std::vector<fs::path>(found.value().begin(), found.value().end());
}

Status check_rank(const trace::FileHeader& header, const std::string& file) {
  if (header.world_size < 1 || header.world_size > pattern::max_ranks)
    return bad_field(file, "world_size", std::to_string(header.world_size),
                     "1.." + std::to_string(pattern::max_ranks));
  if (header.rank < 0 || header.rank >= header.world_size)
    return bad_field(file, "rank", std::to_string(header.rank), "0.." + std::to_string(header.world_size - 1));
  return {};
}

std::string launch_name(const Launch& launch) {
  return launch.ordinal == 0 ? launch.world : launch.world + " " + std::to_string(launch.ordinal + 1);
}

RankFile rank_file(const trace::FileHeader& header, const std::string& file) {
  return {file, header.rank, header.world_size, header.spawned != 0, header.start_realtime_ns};
}

std::vector<Launch> launches_of(const std::vector<RankFile>& files) {
  std::vector<std::size_t> begun(files.size());
  for (std::size_t i = 0; i < begun.size(); ++i) begun[i] = i;
  std::sort(begun.begin(), begun.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(files[a].started_realtime_ns, files[a].file) <
           std::tie(files[b].started_realtime_ns, files[b].file);
  });
  std::map<std::tuple<std::string, int, int>, int> before;  // (world, size, rank)
  std::vector<Launch> launches(files.size());
  for (const std::size_t i : begun) {
    const RankFile& each = files[i];
    const std::string world = world_of(each.file);
    launches[i] = {each.spawned, -each.world_size, world, before[{world, each.world_size, each.rank}]++};
  }
  return launches;
}

}  // namespace corewise::profile
