// Writing and reading of bundles; see bundle.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "trace/bundle.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/io_error.hpp"
#include "trace/reader.hpp"

namespace corewise::trace {
namespace {

namespace fs = std::filesystem;

std::uint64_t align_up(std::uint64_t value) {
  return (value + kMemberAlign - 1) / kMemberAlign * kMemberAlign;
}

/// A descriptor that closes itself.
class File {
 public:
  File(const std::string& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

  [[nodiscard]] std::uint64_t size() const {
    struct stat about{};
    return ::fstat(number_, &about) == 0 && S_ISREG(about.st_mode) ? static_cast<std::uint64_t>(about.st_size) : 0;
  }

  /// Bytes read, fewer only at the end of the file or after an error.
  std::size_t read_at(std::uint64_t offset, void* into, std::size_t bytes) const {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t got =
          ::pread(number_, static_cast<char*>(into) + done, bytes - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  [[nodiscard]] bool write_at(std::uint64_t offset, const void* from, std::size_t bytes) const {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t put =
          ::pwrite(number_, static_cast<const char*>(from) + done, bytes - done, static_cast<off_t>(offset + done));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      done += static_cast<std::size_t>(put);
    }
    return true;
  }

  [[nodiscard]] bool set_size(std::uint64_t bytes) const {
    return ::ftruncate(number_, static_cast<off_t>(bytes)) == 0 && ::fsync(number_) == 0;
  }

 private:
  int number_;
};

bool has_suffix(const fs::path& path, const char* suffix) {
  return path.extension() == suffix;
}

Result<std::vector<fs::path>> list(const std::string& directory, const char* suffix) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) return invalid_input(directory + ": not a profile: no such folder");
  std::vector<fs::path> files;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (has_suffix(at->path(), suffix)) files.push_back(at->path());
  if (error) return Status{Code::io, directory + ": cannot be read: " + error.message()};
  std::sort(files.begin(), files.end());
  return files;
}

// ---- writing ---------------------------------------------------------------------------------------------

/// A node's name as part of a file's.
std::string file_name(const std::string& node) {
  std::string name = node.empty() ? "unnamed" : node;
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && std::strchr("-_.", letter) == nullptr)
      letter = '_';
  return "node-" + name + kBundleSuffix;
}

bool is_zero(const char* bytes, std::size_t size) {
  return size == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

Status copy_file(const File& bundle, const std::string& bundle_path, const fs::path& source,
                 const BundleEntry& entry) {
  const File file(source.string(), O_RDONLY);
  if (!file.is_open()) return io_error(source.string(), "open");
  std::vector<char> page(16 * kMemberAlign);
  for (std::uint64_t done = 0; done < entry.bytes;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(page.size(), entry.bytes - done));
    if (file.read_at(done, page.data(), wanted) != wanted) return io_error(source.string(), "read");
    for (std::size_t at = 0; at < wanted; at += kMemberAlign) {
      const std::size_t bytes = std::min<std::size_t>(kMemberAlign, wanted - at);
      if (!is_zero(page.data() + at, bytes) && !bundle.write_at(entry.offset + done + at, page.data() + at, bytes))
        return io_error(bundle_path, "write");
    }
    done += wanted;
  }
  return {};
}

/// Whether the process that wrote the file has it mapped still; unknown, and then taken for no, on other nodes.
bool is_being_written(const fs::path& file, std::uint32_t pid) {
  struct stat about{};
  if (::stat(file.c_str(), &about) != 0) return false;
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::string extent, modes, offset, device;
  std::uint64_t inode = 0;
  for (std::string line; std::getline(maps, line);)
    if (std::istringstream(line) >> extent >> modes >> offset >> device >> inode && inode == about.st_ino &&
        modes == "rw-s")
      return true;
  return false;
}

Result<std::vector<BundleEntry>> plan(const std::vector<fs::path>& files) {
  std::vector<BundleEntry> entries(files.size());
  std::uint64_t offset = align_up(sizeof(BundleHeader) + files.size() * sizeof(BundleEntry));
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = files[i].filename().string();
    if (name.size() >= sizeof entries[i].name)
      return invalid_input(files[i].string() + ": the name is longer than " +
                           std::to_string(sizeof entries[i].name - 1) + " bytes");
    std::error_code error;
    entries[i].offset = offset;
    entries[i].bytes = fs::file_size(files[i], error);
    if (error) return Status{Code::io, files[i].string() + ": cannot be read: " + error.message()};
    std::memcpy(entries[i].name, name.c_str(), name.size());
    offset = align_up(offset + entries[i].bytes);
  }
  return entries;
}

Status write_bundle(const std::string& path, const std::string& node, const std::vector<fs::path>& files) {
  Result<std::vector<BundleEntry>> planned = plan(files);
  if (!planned.ok()) return planned.status();
  const std::vector<BundleEntry>& entries = planned.value();
  BundleHeader header{};
  std::memcpy(header.magic, kBundleMagic, sizeof header.magic);
  header.version = kBundleVersion;
  header.count = static_cast<std::uint32_t>(entries.size());
  header.bytes = align_up(entries.back().offset + entries.back().bytes);
  std::memcpy(header.node, node.data(), std::min(node.size(), sizeof header.node - 1));
  const File bundle(path, O_RDWR | O_CREAT | O_EXCL);
  if (!bundle.is_open()) return io_error(path, "create");
  if (!bundle.write_at(0, &header, sizeof header) ||
      !bundle.write_at(sizeof header, entries.data(), entries.size() * sizeof entries[0]))
    return io_error(path, "write");
  for (std::size_t i = 0; i < files.size(); ++i)
    if (Status status = copy_file(bundle, path, files[i], entries[i]); !status.ok()) return status;
  if (!bundle.set_size(header.bytes)) return io_error(path, "write");
  return {};
}

/// One node's bundle, under its own name only once it is complete; then its rank files go.
Status pack_node(const fs::path& target, const std::string& node, const std::vector<fs::path>& files) {
  std::error_code error;
  if (fs::exists(target, error)) return invalid_input(target.string() + ": is there already");
  const std::string temporary = target.string() + ".tmp" + std::to_string(::getpid());
  if (Status status = write_bundle(temporary, node, files); !status.ok()) {
    fs::remove(temporary, error);
    return status;
  }
  fs::rename(temporary, target, error);
  if (error) {
    const std::string why = error.message();
    fs::remove(temporary, error);
    return {Code::io, target.string() + ": cannot be created: " + why};
  }
  for (const fs::path& file : files)
    if (!fs::remove(file, error)) return {Code::io, file.string() + ": packed, but cannot be removed"};
  return {};
}

// ---- reading ---------------------------------------------------------------------------------------------

Status check_header(const std::string& path, const File& file, const BundleHeader& header, std::size_t got) {
  if (got < sizeof header.magic || std::memcmp(header.magic, kBundleMagic, sizeof header.magic) != 0)
    return invalid_input(path + ": not a bundle of rank files (it does not start with CWNODE)");
  if (got < sizeof header)
    return bad_field(path, "bytes", std::to_string(got), "at least " + std::to_string(sizeof header));
  if (header.version != kBundleVersion)
    return bad_field(path, "version", std::to_string(header.version), std::to_string(kBundleVersion));
  if (header.bytes != file.size())
    return bad_field(path, "bytes", std::to_string(header.bytes),
                     std::to_string(file.size()) + ", the size of the file: it was cut");
  if (header.count == 0 || header.count > (header.bytes - sizeof header) / sizeof(BundleEntry))
    return bad_field(path, "count", std::to_string(header.count),
                     "1.." + std::to_string((header.bytes - sizeof header) / sizeof(BundleEntry)));
  return {};
}

Status check_entry(const std::string& path, const BundleHeader& header, const BundleEntry& entry, std::uint32_t i) {
  const std::string field = "entries[" + std::to_string(i) + "].";
  const std::uint64_t table = sizeof header + header.count * sizeof(BundleEntry);
  const std::size_t length = strnlen(entry.name, sizeof entry.name);
  const std::string name(entry.name, length);
  if (length == sizeof entry.name || name.find('/') != std::string::npos || !has_suffix(name, kRankSuffix))
    return bad_field(path, field + "name", "'" + name + "'",
                     std::string("a file name that ends in ") + kRankSuffix);
  if (entry.offset < table || entry.offset > header.bytes || entry.offset % kMemberAlign != 0)
    return bad_field(path, field + "offset", std::to_string(entry.offset),
                     "multiples of 4096 up to " + std::to_string(header.bytes));
  if (entry.bytes > header.bytes - entry.offset)
    return bad_field(path, field + "bytes", std::to_string(entry.bytes),
                     "0.." + std::to_string(header.bytes - entry.offset));
  return {};
}

}  // namespace

Result<std::vector<Member>> read_bundle(const std::string& path) {
  const File file(path, O_RDONLY);
  if (!file.is_open()) return io_error(path, "open");
  BundleHeader header{};
  const std::size_t got = file.read_at(0, &header, sizeof header);
  if (Status status = check_header(path, file, header, got); !status.ok()) return status;
  std::vector<Member> members;
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < header.count; ++i) {
    BundleEntry entry{};
    if (file.read_at(sizeof header + std::uint64_t{i} * sizeof entry, &entry, sizeof entry) != sizeof entry)
      return io_error(path, "read");
    if (Status status = check_entry(path, header, entry, i); !status.ok()) return status;
    if (!names.insert(entry.name).second)
      return bad_field(path, "entries[" + std::to_string(i) + "].name", entry.name, "a name that comes once");
    members.push_back({entry.name, entry.offset, entry.bytes});
  }
  return members;
}

Result<std::vector<std::string>> pack_folder(const std::string& directory) {
  Result<std::vector<fs::path>> files = list(directory, kRankSuffix);
  if (!files.ok()) return files.status();
  std::map<std::string, std::vector<fs::path>> nodes;
  for (const fs::path& file : files.value()) {
    Result<Reader> reader = Reader::open(file.string());
    if (!reader.ok()) return reader.status();
    const FileHeader& header = reader.value().header();
    if (header.state == State::running && is_being_written(file, header.pid))
      return invalid_input(file.string() + ": its rank is still running (process " + std::to_string(header.pid) +
                           "): pack the profile after the run");
    nodes[reader.value().node()].push_back(file);
  }
  std::vector<std::string> written;
  for (const auto& [node, ranks] : nodes) {
    const fs::path target = fs::path(directory) / file_name(node);
    if (Status status = pack_node(target, node, ranks); !status.ok()) return status;
    written.push_back(target.filename().string());
  }
  return written;
}

Result<std::vector<std::string>> rank_files(const std::string& directory) {
  Result<std::vector<fs::path>> loose = list(directory, kRankSuffix);
  if (!loose.ok()) return loose.status();
  Result<std::vector<fs::path>> bundles = list(directory, kBundleSuffix);
  if (!bundles.ok()) return bundles.status();
  std::map<std::string, std::string> paths;  // by file name
  for (const fs::path& file : loose.value()) paths[file.filename().string()] = file.string();
  for (const fs::path& bundle : bundles.value()) {
    Result<std::vector<Member>> members = read_bundle(bundle.string());
    if (!members.ok()) return members.status();
    for (const Member& member : members.value()) paths.emplace(member.name, (bundle / member.name).string());
  }
  std::vector<std::string> sorted;
  for (auto& [name, path] : paths) sorted.push_back(std::move(path));
  return sorted;
}

}  // namespace corewise::trace
