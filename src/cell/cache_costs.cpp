// The run that is asked. SPDX-License-Identifier: BSD-3-Clause
#include "cell/cache_costs.hpp"

#include <cstdint>
#include <string>

#include "cell/spe/software_cache.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

constexpr std::uint32_t kMisses = 32;  ///< of each kind, on each SPE

/// Time that all SPEs together spend on misses of each kind.
struct Spent {
  sim::Time reading = 0, writing = 0;
  int spes = 0;
};

void miss(Spu& spu, EffectiveAddress data, const SoftwareCacheShape& shape, Spent& spent) {
  SoftwareCache cache(spu, 0, shape);
  EffectiveAddress at = data;
  const auto timed = [&](auto access) {
    const sim::Time begin = spu.now();
    for (std::uint32_t i = 0; i < kMisses; ++i, at += shape.line_bytes) access();
    return spu.now() - begin;
  };
  spent.reading += timed([&] { cache.load<std::uint32_t>(at); });
  cache.store<std::uint32_t>(at - shape.line_bytes, 1);  // from here on a written line gives way
  spent.writing += timed([&] { cache.store<std::uint32_t>(at, 1); });
}

}  // namespace

Result<SoftwareCacheCosts> software_cache_costs(const Parameters& machine, const SoftwareCacheShape& shape) {
  if (Status status = shape.check(); !status.ok()) return status;
  // One line: whatever comes next is a miss.
  SoftwareCacheShape line = shape;
  line.sets = line.ways = 1;
  System system(machine);
  Spent spent;
  for (int spe = 0; spe < kSpesPerChip; ++spe) {
    if (!system.usable(spe)) continue;
    const EffectiveAddress data = system.allocate(std::size_t{2} * kMisses * line.line_bytes, line.line_bytes);
    system.run_on_spe(spe, "SPE " + std::to_string(spe),
                      [data, line, &spent](Spu& spu) { miss(spu, data, line, spent); });
    ++spent.spes;
  }
  if (Status status = system.run(); !status.ok()) return status;
  const sim::Engine& engine = system.engine();
  const double misses = double{kMisses} * spent.spes;
  return SoftwareCacheCosts{engine.to_ns(shape.look_up_cycles), engine.to_ns(spent.reading) / misses,
                            engine.to_ns(spent.writing) / misses};
}

}  // namespace corewise::cell
