// Every way in which threads share blocks of work out among them. Each does every block once.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#if defined(COREWISE_TBB)
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

#include "overlap/flow.hpp"
#include "team.hpp"

namespace corewise::bench {

using Blocks = std::function<void(int block)>;

/// A run of neighbours for each thread (paper 004, section 6: static).
inline void fixed(Team& team, int blocks, const Blocks& work) {
  team.run([&](int thread) {
    for (int block = thread * blocks / team.size(); block < (thread + 1) * blocks / team.size(); ++block)
      work(block);
  });
}

/// The next block for whoever is free, by a counter (paper 004, section 6: dynamic).
inline void counter(Team& team, int blocks, const Blocks& work) {
  std::atomic<int> next{0};
  team.run([&](int) {
    for (int block = next.fetch_add(1); block < blocks; block = next.fetch_add(1)) work(block);
  });
}

/// The same with a mutex, as in the paper.
inline void mutex_counter(Team& team, int blocks, const Blocks& work) {
  int next = 0;
  std::mutex mutex;
  const auto take = [&] {
    const std::lock_guard lock(mutex);
    return next++;
  };
  team.run([&](int) {
    for (int block = take(); block < blocks; block = take()) work(block);
  });
}

/// Each thread does its own run of neighbours from the front, and then takes from the back of others' runs.
inline void deques(Team& team, int blocks, const Blocks& work) {
  struct alignas(128) Own {
    std::mutex mutex;
    int front = 0, back = 0;
  };
  std::vector<Own> own(static_cast<std::size_t>(team.size()));
  for (int thread = 0; thread < team.size(); ++thread) {
    own[static_cast<std::size_t>(thread)].front = thread * blocks / team.size();
    own[static_cast<std::size_t>(thread)].back = (thread + 1) * blocks / team.size();
  }
  const auto take = [&](int whose, bool front) {
    Own& each = own[static_cast<std::size_t>(whose)];
    const std::lock_guard lock(each.mutex);
    if (each.front == each.back) return -1;
    return front ? each.front++ : --each.back;
  };
  team.run([&](int thread) {
    for (int block = take(thread, true); block >= 0; block = take(thread, true)) work(block);
    for (int step = 1; step < team.size(); ++step)
      for (int whose = (thread + step) % team.size(), block = take(whose, false); block >= 0;
           block = take(whose, false))
        work(block);
  });
}

/// The library's flow, whose caller works, too.
inline void flow(Team& team, int blocks, const Blocks& work, overlap::Shares shares) {
  overlap::Knobs knobs;
  knobs.workers = team.size() - 1;
  knobs.role = overlap::Role::mixed;
  knobs.shares = shares;
  // Worker i behind the caller, which is bound as the communicator behind the last worker.
  knobs.processors = processors();
  std::rotate(knobs.processors.begin(), knobs.processors.begin() + 1, knobs.processors.end());
  if (team.size() < static_cast<int>(knobs.processors.size()))
    knobs.processors.resize(static_cast<std::size_t>(team.size() - 1)), knobs.processors.push_back(processors()[0]);
  overlap::Flow all(knobs);
  all.work("blocks", blocks, [&work](int block, int) { work(block); });
  all.run();
}

/// Threads of a runtime inherit where their creator, the team's first thread, is bound; each is bound here instead.
inline void bind_once(int thread) {
  thread_local bool bound = false;
  if (!bound) bind(processors()[static_cast<std::size_t>(thread) % processors().size()]);
  bound = true;
}

inline void openmp(Team& team, int blocks, const Blocks& work) {
#pragma omp parallel num_threads(team.size())
  {
    bind_once(omp_get_thread_num());
#pragma omp for schedule(dynamic, 1)
    for (int block = 0; block < blocks; ++block) work(block);
  }
}

#if defined(COREWISE_TBB)
inline void onetbb(Team& team, int blocks, const Blocks& work) {
  static const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                         static_cast<std::size_t>(team.size()));
  tbb::parallel_for(0, blocks, [&work](int block) {
    bind_once(tbb::this_task_arena::current_thread_index());
    work(block);
  });
}
#endif

}  // namespace corewise::bench
