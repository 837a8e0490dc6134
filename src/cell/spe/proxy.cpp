// Contexts, the list of free SPEs, and the SPE's side of a request to its proxy.
// SPDX-License-Identifier: BSD-3-Clause
#include "cell/spe/proxy.hpp"

#include <algorithm>

#include "cell/spe/spe.hpp"
#include "cell/spe/spu.hpp"

namespace corewise::cell {

void SpeContext::stop_and_signal(std::uint32_t signal, LsAddress message, const std::source_location& where) {
  request_ = true;
  signal_ = signal;
  message_ = message;
  proxy_.wake_all(system_.engine());
  while (request_) {
    spu_.wait(system_.engine(),
              {"its proxy thread to serve signal {}", static_cast<std::int64_t>(signal), 0, where});
  }
}

Contexts::Contexts(System& system) : system_(system) {
  const auto seed = static_cast<std::uint64_t>(system.parameters().affinity_seed);
  Rng rng(seed);
  for (int chip = 0; chip < system.parameters().chips; ++chip) {
    DefaultAffinity how;
    how.spes.clear();
    for (int spe = chip * kSpesPerChip; spe < (chip + 1) * kSpesPerChip; ++spe) {
      if (system.usable(spe)) how.spes.push_back(spe);
    }
    if (seed == 0) how.jobs_before = 0;
    free_.emplace_back();
    default_affinity(rng, free_.back(), how);
  }
}

bool Contexts::take(int spe) {
  for (FreeSpes& free : free_) {
    if (std::erase(free.order, spe) > 0) return true;
  }
  return false;
}

SpeContext* Contexts::create(int spe, int chip, bool map_ps) {
  if (spe < 0) {
    // The own chip's first, then the others': as the system software fills nodes.
    for (std::size_t i = 0; i < free_.size() && spe < 0; ++i) {
      const FreeSpes& free = free_[(static_cast<std::size_t>(chip) + i) % free_.size()];
      if (!free.order.empty()) spe = free.order.front();
    }
  }
  if (spe < 0 || !take(spe)) return nullptr;
  contexts_.push_back(std::make_unique<SpeContext>(system_, spe, map_ps));
  return contexts_.back().get();
}

void Contexts::destroy(SpeContext& context) {
  context.destroyed_ = true;
  free_[static_cast<std::size_t>(context.spe_ / kSpesPerChip)].order.push_back(context.spe_);
}

void Spu::spu_stop(std::uint32_t signal, LsAddress message, const Where& where) {
  ls(message, 1, where);  // a message beyond the local store is an overrun here, not at the proxy
  if (spe_.context() == nullptr) {
    spe_.fail({Fault::channel_use, "signal " + std::to_string(signal) +
                                       " stops an SPE that no PPE program runs, allowed: in spe_context_run"},
              "spu_stop", where);
  }
  spe_.context()->stop_and_signal(signal, message, where);
}

}  // namespace corewise::cell
