// The fuzzer's target for a whole run: one or two rank files, or a bundle, in a folder that is read for everything
// that can be asked of it: totals, matrices, waits, the call graph, rows for export, a replay. The bytes are
//   u16 length of the first rank file's short form; the form; the second one's form (none: one rank file)
// with the length 65535 for a bundle, which is the bytes after it.
// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "expand.hpp"
#include "profile/events.hpp"
#include "profile/reading.hpp"
#include "replay/recording.hpp"

namespace corewise::fuzz {
namespace {

constexpr std::size_t kBundle = 65535;
constexpr std::size_t kRows = 64;
/// More are allowed, and only take more memory: there is a number for every pair.
constexpr int kMostRanks = 1 << 16;

/// A folder of this process in memory where the system has such a place.
class Folder {
 public:
  Folder() {
    const std::filesystem::path memory = "/dev/shm";
    const auto root = ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
    std::string name = (root / "corewise-fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "no folder for the run");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  void write(const std::string& name, std::span<const std::byte> content) const {
    std::ofstream file(path_ + "/" + name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    require(file.good(), "the run cannot be written");
  }

 private:
  std::string path_;
};

void fill(const Folder& folder, Bytes bytes) {
  const std::size_t length = bytes[0] + 256U * bytes[1];
  bytes = bytes.subspan(2);
  if (length == kBundle) {
    folder.write("node-a.cwn", std::as_bytes(bytes));
    return;
  }
  const std::size_t first = std::min(length, bytes.size());
  folder.write("rank-0.cwt", expand(bytes.first(first)));
  if (first < bytes.size()) folder.write("rank-1.cwt", expand(bytes.subspan(first)));
}

void read_totals(const profile::Profile& totals) {
  for (const profile::World& world : totals.worlds) {
    if (world.size > kMostRanks) continue;
    for (int kind = 0; kind < profile::kTrafficKinds; ++kind)
      (void)profile::pairs(world, static_cast<profile::Traffic>(kind));
    (void)profile::to_pattern(world, "fuzz");
    (void)profile::to_phases(world, "fuzz");
    (void)profile::compare_sent_and_received(world);
  }
}

void read_rows(const std::string& folder) {
  Result<profile::EventLog> log = profile::EventLog::open(folder);
  if (!log.ok()) return;
  profile::EventColumns columns;
  for (std::size_t thread = 0; thread < log.value().threads.size(); ++thread) {
    const std::uint64_t records = log.value().scan(thread);
    profile::EventCursor cursor(log.value(), thread, {});
    while (cursor.next(columns, kRows)) require(columns.rows() <= kRows, "a batch beyond its size");
    require(cursor.records_read() == records, "a scan that counts otherwise than the rows");
  }
}

}  // namespace

void run_folder(Bytes bytes) {
  if (bytes.size() < 2) return;
  const Folder folder;
  fill(folder, bytes);
  profile::RunQuestion question;
  question.totals = question.waits = question.calls = true;
  const Result<profile::RunAnswer> answer = profile::read_run(folder.path(), question);
  if (answer.ok()) read_totals(answer.value().totals);
  read_rows(folder.path());
  (void)replay::Recording::open(folder.path(), 0);
}

}  // namespace corewise::fuzz
