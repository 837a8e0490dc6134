// The file of the counts: docs/formats/accelerate-counts.md. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/counts.hpp"

#include <cstdio>
#include <string>

#include "preload/accelerating/memory/copies.hpp"

namespace corewise::preload::accelerating {
namespace {

std::atomic<PassedOn*> first{nullptr};

}  // namespace

void PassedOn::operator()() {
  calls_.fetch_add(1, std::memory_order_relaxed);
  if (listed_.load(std::memory_order_relaxed) || listed_.exchange(true, std::memory_order_acq_rel)) return;
  next_ = first.load(std::memory_order_relaxed);
  while (!first.compare_exchange_weak(next_, this, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void write_counts(std::string_view folder, int rank) {
  const std::string path = std::string(folder) + "/accelerate." + std::to_string(rank) + ".csv";
  const std::string beside = path + ".tmp";
  std::FILE* file = std::fopen(beside.c_str(), "w");
  if (file == nullptr) return;
  std::fputs("format,corewise-accelerate\nversion,1\nprocedure,outcome,why,calls\n", file);
  for (std::size_t procedure = 0; procedure < kProcedures; ++procedure) {
    for (std::size_t fate = 0; fate < kFateNames.size(); ++fate) {
      const std::uint64_t calls = counts[procedure][fate].load(std::memory_order_relaxed);
      const bool staged = fate == static_cast<std::size_t>(Fate::taken);
      const bool taken = staged || fate == static_cast<std::size_t>(Fate::mapped);
      if (calls == 0) continue;
      std::fprintf(file, "%s,%s,\"%s\",%llu\n", kProcedureNames[procedure].data(), taken ? "taken" : "passed",
                   staged ? "" : kFateNames[fate].data(), static_cast<unsigned long long>(calls));
    }
  }
  for (const PassedOn* each = first.load(std::memory_order_acquire); each != nullptr; each = each->next_) {
    std::fprintf(file, "%s,passed,\"a form that is not taken over\",%llu\n", each->name_,
                 static_cast<unsigned long long>(each->calls_.load(std::memory_order_relaxed)));
  }
  if (const std::string_view found = copies_found(); !found.empty())
    std::fprintf(file, "copies,taken,\"%s\",1\n", found.data());
  const bool whole = std::fclose(file) == 0;
  if (!whole || std::rename(beside.c_str(), path.c_str()) != 0) std::remove(beside.c_str());
}

}  // namespace corewise::preload::accelerating
