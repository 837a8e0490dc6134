// A profile's folder: its rank files, read one after the other.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "profile/assemble.hpp"

namespace corewise::profile {
namespace {

namespace fs = std::filesystem;

Result<std::vector<fs::path>> rank_files(const std::string& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) return invalid_input(directory + ": not a profile: no such folder");
  std::vector<fs::path> files;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".cwt") files.push_back(at->path());
  if (error) return Status{Code::io, directory + ": cannot be read: " + error.message()};
  std::sort(files.begin(), files.end());
  return files;
}

/// "world", or the part before "-rank-" in the names of spawned worlds' files.
std::string world_of(const fs::path& file) {
  const std::string name = file.filename().string();
  const std::size_t rank = name.find("-rank-");
  return rank == std::string::npos ? "world" : name.substr(0, rank);
}

Result<Member> read_member(const fs::path& file) {
  Result<trace::Reader> opened = trace::Reader::open(file.string());
  if (!opened.ok()) return opened.status();
  const trace::FileHeader& header = opened.value().header();
  if (header.world_size < 1 || header.world_size > pattern::max_ranks)
    return bad_field(file.string(), "world_size", std::to_string(header.world_size),
                     "1.." + std::to_string(pattern::max_ranks));
  if (header.rank < 0 || header.rank >= header.world_size)
    return bad_field(file.string(), "rank", std::to_string(header.rank),
                     "0.." + std::to_string(header.world_size - 1));
  return Member{world_of(file), tally_rank(opened.value(), file.filename().string())};
}

}  // namespace

Result<Profile> read_directory(const std::string& directory) {
  Result<std::vector<fs::path>> files = rank_files(directory);
  if (!files.ok()) return files.status();
  if (files.value().empty()) return invalid_input(directory + ": 0 events seen: it holds no rank file (*.cwt)");
  Profile profile;
  std::vector<Member> members;
  Status first_failure;
  for (const fs::path& file : files.value()) {
    Result<Member> member = read_member(file);
    if (member.ok()) {
      members.push_back(std::move(member).value());
      continue;
    }
    if (first_failure.ok()) first_failure = member.status();
    profile.problems.push_back(member.status().message());
  }
  if (members.empty()) return first_failure;
  profile.worlds = assemble(std::move(members));
  return profile;
}

}  // namespace corewise::profile
