// Bound threads and their memory.
// SPDX-License-Identifier: BSD-3-Clause
#include "probe/threads.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <vector>

#include "probe/messages.hpp"

namespace corewise::probe {
namespace {

bool bind_this_thread(int processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  return pthread_setaffinity_np(pthread_self(), sizeof(only), &only) == 0;
}

}  // namespace

Block::Block(std::size_t bytes) : bytes_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) memory_ = static_cast<Byte*>(memory);
}

Block::~Block() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

std::vector<int> usable_processors() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) return found;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &usable)) found.push_back(processor);
  return found;
}

Status check_processors(std::span<const int> processors) {
  const std::vector<int> usable = usable_processors();
  for (const int processor : processors) {
    if (std::ranges::find(usable, processor) != usable.end()) continue;
    std::string allowed;
    for (const int known : usable) allowed.append(allowed.empty() ? "" : ", ").append(std::to_string(known));
    return bad_field("", "processor", std::to_string(processor), allowed);
  }
  return {};
}

Status run_bound(std::span<const int> processors, std::span<const std::function<void()>> work) {
  std::atomic<bool> bound{true};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < work.size(); ++i)
    threads.emplace_back([&, i] {
      if (!bind_this_thread(processors[i])) bound = false;
      work[i]();
    });
  for (std::thread& thread : threads) thread.join();
  return bound ? Status() : Status(Code::io, "a thread could not be bound to its processor");
}

}  // namespace corewise::probe
