// The guard: a program of another MPI must not run under this library.
//
// A script may start one, which no look at the command line sees. MPIs differ in what a handle is (a pointer, an
// integer), so wrappers built for one cannot even pass the other's calls on. Seen before main, when nothing of the
// program has run: the process replaces itself by the same program without this library. It says so in the profile
// directory (other-mpi.txt), never on the terminal.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

/// MPI libraries in the process, by file name.
struct Seen {
  int count = 0;
  std::string names;
};

int look(dl_phdr_info* info, std::size_t, void* state) {
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const std::string name = slash != nullptr ? slash + 1 : info->dlpi_name;
  for (const char* library : {"libmpi.so.", "libmpich.so.", "libmpi_abi.so."})
    if (name.rfind(library, 0) == 0) {
      auto& seen = *static_cast<Seen*>(state);
      ++seen.count;
      seen.names += name + "\n";
    }
  return 0;
}

void leave_note(const std::string& names) {
  const char* directory = std::getenv("COREWISE_TRACE_DIR");
  if (directory == nullptr || *directory == '\0') return;
  const std::string path = std::string(directory) + "/other-mpi.txt";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, names.data(), names.size());
  close(fd);
}

/// This library, or its companion of the same name in front (libcorewise-reorder.so).
bool is_ours(const std::string& entry, const char* self) {
  return entry == self || entry.substr(entry.rfind('/') + 1).rfind("libcorewise-", 0) == 0;
}

/// LD_PRELOAD without this library and its companion; others stay.
void take_ourselves_out() {
  Dl_info self{};
  const char* preload = std::getenv("LD_PRELOAD");
  if (preload == nullptr || dladdr(reinterpret_cast<void*>(&look), &self) == 0) return;
  std::string kept;
  std::string rest = preload;
  for (std::size_t end = 0; !rest.empty(); rest.erase(0, end == std::string::npos ? end : end + 1)) {
    end = rest.find_first_of(": ");
    const std::string entry = rest.substr(0, end);
    if (!entry.empty() && !is_ours(entry, self.dli_fname)) kept += (kept.empty() ? "" : ":") + entry;
  }
  kept.empty() ? unsetenv("LD_PRELOAD") : setenv("LD_PRELOAD", kept.c_str(), 1);
}

__attribute__((constructor)) void step_aside(int, char** arguments, char**) {
  Seen seen;
  dl_iterate_phdr(look, &seen);
  if (seen.count < 2 || std::getenv("COREWISE_STEPPED_ASIDE") != nullptr) return;
  char program[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0) return;
  program[length] = '\0';
  leave_note(seen.names);
  take_ourselves_out();
  setenv("COREWISE_STEPPED_ASIDE", "1", 1);
  execv(program, arguments);
}

}  // namespace
