// Opening a run's files; see open_run.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/open_run.hpp"

#include <filesystem>
#include <utility>

#include "profile/launches.hpp"

namespace corewise::profile {

std::vector<const trace::Reader*> OpenWorld::readers() const {
  std::vector<const trace::Reader*> out;
  for (const OpenRank& rank : ranks) out.push_back(rank.reader.get());
  return out;
}

Result<OpenRun> open_run(const std::string& directory) {
  Result<std::vector<std::filesystem::path>> files = rank_files(directory);
  if (!files.ok()) return files.status();
  OpenRun run;
  std::vector<OpenRank> ranks;
  Status first_failure;
  for (const std::filesystem::path& file : files.value()) {
    Result<trace::Reader> opened = trace::Reader::open(file.string());
    const Status status = opened.ok() ? check_rank(opened.value().header(), file.string()) : opened.status();
    if (status.ok()) {
      ranks.push_back({file.filename().string(), std::make_unique<trace::Reader>(std::move(opened).value())});
      continue;
    }
    if (first_failure.ok()) first_failure = status;
    run.problems.push_back(status.message());
  }
  if (ranks.empty()) return first_failure;
  const auto describe = [](const OpenRank& rank) { return rank_file(rank.reader->header(), rank.file); };
  for (auto& [launch, members] : by_launch(std::move(ranks), describe))
    run.worlds.push_back({launch_name(launch), std::move(members)});
  return run;
}

}  // namespace corewise::profile
