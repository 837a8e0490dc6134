// Runs a program's ranks: the one function that the executable calls, and what a program calls instead of exit and
// atexit (the linker redirects them, `corewise simcc`), since a rank's end is not the process's.
//
// A run that fails leaves ranks in the middle of their programs. They are not unwound, since a program may catch
// what unwinding throws: the outcome is written and the process ends. SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "simmpi/program/image.hpp"
#include "simmpi/program/outcome.hpp"
#include "simmpi/program/request.hpp"

namespace corewise::simmpi {
namespace {

using Clock = std::chrono::steady_clock;

bool g_running = false;
pid_t g_process = 0;

/// Not in a child that a rank has forked.
bool in_rank() {
  return g_running && getpid() == g_process;
}

int complain(const Status& status) {
  std::fprintf(stderr, "corewise-simmpi: %s\n", status.message().c_str());
  return 1;
}

int refuse(const RunRequest& request, const Status& why) {
  const Status written = write_refusal(request.result, why);
  return written.ok() ? 0 : complain(written);
}

class Run {
 public:
  explicit Run(const RunRequest& request) : request_(request) {
    if (!request.timeline.empty()) timeline_.emplace(request.most_events);
    if (!request.recording.folder.empty()) recording_.emplace(request.recording, static_cast<int>(units().size()));
  }

  int run() {
    auto images = load_images(request_.program, request_.arguments, static_cast<int>(units().size()));
    if (!images.ok()) return refuse(request_, images.status());
    WorldOptions options = request_.options;
    options.timeline = timeline_ ? &*timeline_ : nullptr;
    options.recording = recording_ ? &*recording_ : nullptr;
    for (std::size_t rank = 0; recording_ && rank < units().size(); ++rank) {
      recording_->rank(static_cast<int>(rank)).map(images.value()[rank]->mapping);
    }
    auto world = World::make(request_.machine, request_.placement, options);
    if (!world.ok()) return refuse(request_, world.status());
    const auto begin = Clock::now();
    const auto program = [&](Rank& rank) {
      Image& image = *images.value()[static_cast<std::size_t>(rank.world)];
      return image.main(static_cast<int>(image.words.size()), image.pointers.data(), environ);
    };
    int status = 1;
    g_running = true;
    g_process = getpid();
    const Status ignored = world.value()->run(program, [&](const Status& outcome) {
      g_running = false;
      std::fflush(nullptr);
      status = write(*world.value(), outcome, std::chrono::duration<double>(Clock::now() - begin).count());
      _exit(status);
    });
    return status;
  }

 private:
  [[nodiscard]] const std::vector<int>& units() const { return request_.placement.unit_of_rank; }

  int write(World& world, const Status& outcome, double wall_s) {
    Status written = write_outcome(request_.result, world, outcome, wall_s, timeline_ ? &*timeline_ : nullptr);
    if (written.ok() && timeline_) written = write_events(request_.timeline, *timeline_);
    if (written.ok() && recording_) written = recording_->finish(world);
    return written.ok() ? 0 : complain(written);
  }

  const RunRequest& request_;
  std::optional<sim::Timeline> timeline_;
  std::optional<Recording> recording_;
};

}  // namespace
}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int corewise_simmpi_main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: corewise-simmpi REQUEST.json (corewise simrun writes it)\n", stderr);
    return 2;
  }
  const auto request = read_request(words[1]);
  if (!request.ok()) return complain(request.status());
  return Run(request.value()).run();
}

[[noreturn]] void __wrap_exit(int status) {
  if (in_rank()) World::here().leave(status);
  // A process that a rank forked: the copies of ranks and their fibers in it are nobody's.
  std::fflush(nullptr);
  _exit(status);
}

[[noreturn]] void __wrap__exit(int status) {
  if (in_rank()) {
    World::actor().rank->at_exit.clear();
    World::here().leave(status);
  }
  _exit(status);
}

int __wrap_atexit(void (*function)(void)) {
  if (!in_rank()) return std::atexit(function);
  World::actor().rank->at_exit.emplace_back(function);
  return 0;
}

}  // extern "C"
