// The page, the hand-down, and the attribute; see spawning.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/spawning.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/knobs.hpp"
#include "preload/accelerating/accelerating.hpp"
#include "preload/accelerating/communicators.hpp"
#include "preload/attributes.hpp"
#include "shm/mapping.hpp"

namespace corewise::preload::accelerating {
namespace {

constexpr Knob kPage{"accelerate_page", KnobType::text, "", "set by the library",
                     "where a spawned process counts itself: process, file and key"};

/// What both sides see.
struct Page {
  std::uint64_t key;
  std::uint32_t counted;
  std::uint32_t verdict;  ///< of kVerdicts; 0: none yet
};
constexpr std::uint32_t kNo = 1, kYes = 2;

Page& page_in(const shm::Mapping& mapping) {
  return *reinterpret_cast<Page*>(mapping.block().data());
}

// ---- the attribute: what is known of a communicator ----

/// Its value.
char known_to_have = 0;
constinit Attribute<OnCommunicators, char> attribute;
std::mutex making;

void mark(MPI_Comm comm) {
  const std::lock_guard lock(making);
  if (attribute.make(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN)) attribute.attach(comm, &known_to_have);
}

// ---- the side of the spawned ----

struct Counted {
  shm::Mapping mapping;
  pid_t spawner = 0;
};
std::optional<Counted>& counted = *new std::optional<Counted>;  // outlives every destructor of the program

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return error == std::errc();
}

/// What the spawner decided. It does so within its call, which all of its peers are in.
bool verdict() {
  Page& page = page_in(counted->mapping);
  std::uint32_t said = 0;
  while ((said = std::atomic_ref(page.verdict).load(std::memory_order_acquire)) == 0) {
    if (kill(counted->spawner, 0) != 0 && errno == ESRCH) return false;
    int found = 0;
    CW_NEXT(MPI_Iprobe)(0, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
    sched_yield();
  }
  return said == kYes;
}

// ---- the side of who spawns ----

/// For a shell.
std::string quoted(std::string_view text) {
  std::string quote = "'";
  for (const char each : text) {
    if (each == '\'') {
      quote += "'\\''";
    } else {
      quote += each;
    }
  }
  return quote + "'";
}

std::string own_library() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&quoted), &self) == 0 || self.dli_fname == nullptr) return {};
  char* const whole = realpath(self.dli_fname, nullptr);
  const std::string path = whole != nullptr ? whole : "";
  free(whole);
  return path;
}

/// Lines that set the environment. Other libraries that a process is to load stay as they are.
std::string settings_for_shell(std::string_view library, const std::string& page) {
  auto variables = settings_here();
  variables.emplace_back(environment_name(kPage), page);
  std::string lines;
  for (const auto& [name, value] : variables) {
    if (!value.empty()) lines += "export " + name + "=" + quoted(value) + "\n";
  }
  return lines + "test -n \"$LD_PRELOAD\" || export LD_PRELOAD=" + quoted(library) + "\n";
}

/// A file without a name for it; -1 where there is none. The kernel's name for what it is ends with `key`: on
/// another node the same number is another file, or none.
int text_file(const std::string& text, const std::string& key) {
  const int file = memfd_create(key.c_str(), 0);
  if (file < 0 || write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return file;
  close(file);
  return -1;
}

/// A command that a shell and the launcher find alike.
bool is_a_path(std::string_view command, MPI_Info info) {
  const bool absolute = command.starts_with('/');
  const bool relative = command.find('/') != std::string_view::npos && info == MPI_INFO_NULL;
  return (absolute || relative) && access(std::string(command).c_str(), X_OK) == 0;
}

/// What the root of a spawn hands down: the page, and a shell that sets the environment and becomes the command.
/// A launcher's protocol may take no long words and none with line ends, so the settings are in a file.
class HandDown {
 public:
  HandDown(const char* command, char* argv[], MPI_Info info) {
    const std::string library = own_library();
    std::uint64_t key = 0;
    if (library.empty() || !is_a_path(command, info) || getrandom(&key, sizeof key, 0) != sizeof key) return;
    Result<shm::Mapping> mapped = shm::Mapping::nameless(shm::kPageBytes, page_file_);
    if (!mapped.ok()) return;
    page_ = std::move(mapped).value();
    page_in(page_).key = key;
    const std::string process = std::to_string(getpid());
    const std::string page = process + ":" + std::to_string(page_file_) + ":" + std::to_string(key);
    const std::string name = "corewise-" + std::to_string(key);
    settings_file_ = text_file(settings_for_shell(library, page), name);
    if (settings_file_ < 0) return;
    const std::string path = shm::Mapping::path_of(getpid(), settings_file_);
    script_ =
        "case \"$(readlink " + path + ")\" in */memfd:" + name + "*) . " + path + ";; esac; exec \"$0\" \"$@\"";
    words_ = {option_, script_.data(), const_cast<char*>(command)};
    for (; argv != MPI_ARGV_NULL && *argv != nullptr; ++argv) words_.push_back(*argv);
    words_.push_back(nullptr);
  }
  HandDown(const HandDown&) = delete;
  HandDown& operator=(const HandDown&) = delete;
  ~HandDown() {
    if (works() && std::atomic_ref(page_in(page_).verdict).load() == 0) say(kNo);  // the spawn failed
    if (page_file_ >= 0) close(page_file_);
    if (settings_file_ >= 0) close(settings_file_);
  }

  [[nodiscard]] bool works() const { return !words_.empty(); }
  [[nodiscard]] char** words() { return words_.data(); }
  /// Whether all of the spawned ones have counted themselves; says so to them.
  bool judge(MPI_Comm inter) {
    if (!works()) return false;
    int there = 0;
    CW_NEXT(MPI_Comm_remote_size)(inter, &there);
    const bool all = std::atomic_ref(page_in(page_).counted).load() == static_cast<std::uint32_t>(there);
    say(all ? kYes : kNo);
    return all;
  }

 private:
  void say(std::uint32_t verdict) {
    std::atomic_ref(page_in(page_).verdict).store(verdict, std::memory_order_release);
  }

  shm::Mapping page_;
  int page_file_ = -1;
  int settings_file_ = -1;
  char option_[3] = "-c";
  std::string script_;
  std::vector<char*> words_;
};

constexpr char kShell[] = "/bin/sh";

}  // namespace

void announce() {
  const std::string text(knob_text(kPage));
  if (text.empty() || counted) return;
  unsetenv(environment_name(kPage).c_str());  // this process's own children are others
  std::string_view rest = text;
  Counted entry;
  int file = -1;
  std::uint64_t key = 0;
  if (!take_number(rest, entry.spawner) || !take_number(rest, file) || !take_number(rest, key)) return;
  Result<shm::Mapping> mapped = shm::Mapping::open(shm::Mapping::path_of(entry.spawner, file), shm::kPageBytes);
  if (!mapped.ok() || page_in(mapped.value()).key != key) return;
  entry.mapping = std::move(mapped).value();
  std::atomic_ref(page_in(entry.mapping).counted).fetch_add(1);
  counted.emplace(std::move(entry));
}

bool may_begin() {
  if (!counted) return true;
  MPI_Comm parent = MPI_COMM_NULL;
  CW_NEXT(MPI_Comm_get_parent)(&parent);
  if (parent == MPI_COMM_NULL) return true;
  if (!verdict()) return false;
  mark(parent);
  return true;
}

void end_spawning() {
  const std::lock_guard lock(making);
  attribute.end();
}

int spawn(const char* command, char* argv[], int most, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* inter,
          int errors[]) {
  const auto call = [&](const char* what, char* words[]) {
    return CW_NEXT(MPI_Comm_spawn)(what, words, most, info, root, comm, inter, errors);
  };
  const bool hands_down = spawned_get_library() && active.load(std::memory_order_acquire);
  if (!hands_down || !work_together(comm)) return call(command, argv);
  int rank = -1;
  CW_NEXT(MPI_Comm_rank)(comm, &rank);
  std::optional<HandDown> handed;
  if (rank == root && command != nullptr) handed.emplace(command, argv, info);
  const bool works = handed && handed->works();
  const int code = works ? call(kShell, handed->words()) : call(command, argv);
  if (code != MPI_SUCCESS) return code;
  int all = works && handed->judge(*inter) ? 1 : 0;
  CW_NEXT(MPI_Bcast)(&all, 1, MPI_INT, root, comm);
  if (all != 0) mark(*inter);
  return code;
}

void inherit(MPI_Comm from, MPI_Comm made) {
  if (made != MPI_COMM_NULL && have_library(from)) mark(made);
}

bool have_library(MPI_Comm comm) {
  return comm != MPI_COMM_NULL && attribute.of(comm) != nullptr;
}

}  // namespace corewise::preload::accelerating
