// The PPE's and the SPEs' programs of a launch. SPDX-License-Identifier: BSD-3-Clause
#include "lab/affinity/launch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "cell/ppe/ppu.hpp"
#include "cell/spe/spu.hpp"
#include "cell/system.hpp"

namespace corewise::lab {
namespace {

using cell::EffectiveAddress;
using cell::Ppu;
using cell::SpeContext;
using cell::Spu;

constexpr cell::LsAddress kTable = 0x1000;

/// Where the local stores of rank 0, 1, .. are mapped; one line of main memory.
using Table = std::array<EffectiveAddress, cell::kSpesPerChip>;

int rank_on(int spe, const Affinity& wanted) {
  return static_cast<int>(std::ranges::find(wanted, spe) - wanted.begin());
}

bool permutation(const Affinity& spes) {
  Affinity sorted = spes;
  std::ranges::sort(sorted);
  for (std::size_t index = 0; index < sorted.size(); ++index) {
    if (sorted[index] != static_cast<int>(index)) return false;
  }
  return true;
}

/// Waits for its rank, then fetches the table that says where the others are.
void spe_program(Spu& spu, EffectiveAddress table_at, LaunchedSpe& told) {
  told.rank = static_cast<int>(spu.spu_read_in_mbox());
  told.spe = spu.physical_id();
  spu.mfc_get(kTable, table_at, sizeof(Table), 0);
  spu.mfc_write_tag_mask(1);
  spu.mfc_read_tag_status_all();
  const auto table = spu.load<Table>(kTable);
  const auto before = static_cast<std::size_t>((told.rank + cell::kSpesPerChip - 1) % cell::kSpesPerChip);
  told.neighbour = cell::locate(table[before]).index;
}

}  // namespace

Result<Launch> launch_with_affinity(const cell::Parameters& parameters, const Affinity& launch_order,
                                    const Affinity& wanted) {
  for (const auto& [field, spes] : {std::pair{"launch_order", &launch_order}, std::pair{"wanted", &wanted}}) {
    if (!permutation(*spes)) return bad_field("", field, "another list", "a permutation of the SPEs 0 to 7");
  }
  cell::System system(parameters);
  const EffectiveAddress table_at = system.allocate(sizeof(Table));
  Launch launch;
  launch.spes.resize(launch_order.size());
  int refused = -1;  // an SPE on which no context could be made
  system.run_on_ppe(0, "launcher", [&](Ppu& ppu) {
    std::vector<SpeContext*> contexts;
    std::vector<std::shared_ptr<cell::PpuThread>> threads;
    for (std::size_t index = 0; index < launch_order.size(); ++index) {
      contexts.push_back(ppu.spe_context_create(launch_order[index], true));
      if (contexts.back() == nullptr) {
        refused = launch_order[index];
        return;
      }
      LaunchedSpe& told = launch.spes[index];
      ppu.spe_program_load(contexts.back(), "thread " + std::to_string(index),
                           [table_at, &told](Spu& spu) { spe_program(spu, table_at, told); });
      threads.push_back(ppu.spe_context_start(contexts.back()));
    }
    Table table{};
    std::vector<std::uint32_t> ranks;
    for (const SpeContext* context : contexts) {
      ranks.push_back(static_cast<std::uint32_t>(rank_on(ppu.spe_phys_id(context), wanted)));
      table[ranks.back()] = ppu.spe_ls_area_get(context);
    }
    ppu.store(table_at, table);
    for (std::size_t index = 0; index < contexts.size(); ++index) {
      ppu.spe_in_mbox_write(contexts[index], {&ranks[index], 1});
    }
    for (const auto& thread : threads) ppu.join(*thread);
    launch.time_us = ppu.engine().to_ns(ppu.now()) / 1000;
  });
  Status status = system.run();
  if (refused >= 0) {
    return bad_field("", "launch_order", "SPE" + std::to_string(refused),
                     "SPEs that the machine lets programs use");
  }
  if (!status.ok()) return status;
  return launch;
}

}  // namespace corewise::lab
