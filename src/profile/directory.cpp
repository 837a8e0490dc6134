// A profile's folder: its rank files, read one after the other.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/assemble.hpp"
#include "profile/launches.hpp"

namespace corewise::profile {
namespace {

Result<RankTally> read_rank(const std::filesystem::path& file) {
  Result<trace::Reader> opened = trace::Reader::open(file.string());
  if (!opened.ok()) return opened.status();
  if (Status status = check_rank(opened.value().header(), file.string()); !status.ok()) return status;
  return tally_rank(opened.value(), file.filename().string());
}

}  // namespace

Result<Profile> read_directory(const std::string& directory) {
  Result<std::vector<std::filesystem::path>> files = rank_files(directory);
  if (!files.ok()) return files.status();
  Profile profile;
  std::vector<RankTally> tallies;
  Status first_failure;
  for (const std::filesystem::path& file : files.value()) {
    Result<RankTally> tally = read_rank(file);
    if (tally.ok()) {
      tallies.push_back(std::move(tally).value());
      continue;
    }
    if (first_failure.ok()) first_failure = tally.status();
    profile.problems.push_back(tally.status().message());
  }
  if (tallies.empty()) return first_failure;
  profile.worlds = assemble(std::move(tallies));
  return profile;
}

}  // namespace corewise::profile
