// The hypervisor's loop. SPDX-License-Identifier: BSD-3-Clause
#include "cell/hypervisor.hpp"

#include <utility>

#include "cell/spe/spe.hpp"
#include "cell/spe/spu.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

constexpr LsAddress kBuffer = 0;
constexpr std::uint32_t kTag = 0;

void read_now_and_then(System& system, Spe& on, EffectiveAddress from) {
  const Parameters& parameters = system.parameters();
  Spu spu(on);
  while (true) {
    system.engine().sleep(parameters.hypervisor_interval_cycles);
    if (system.engine().queue().empty()) return;
    spu.mfc_get(kBuffer, from, static_cast<std::uint32_t>(parameters.hypervisor_bytes), kTag);
    spu.mfc_write_tag_mask(1U << kTag);
    spu.mfc_read_tag_status_all();
  }
}

}  // namespace

void start_hypervisor(System& system) {
  const std::int64_t bytes = system.parameters().hypervisor_bytes;
  if (bytes == 0) return;
  if (Status status = system.parameters().check(); !status.ok()) return system.engine().stop(std::move(status));
  int hidden = kSpesPerChip - 1;
  while (hidden >= 0 && system.usable(hidden)) --hidden;
  if (hidden < 0) return;
  const EffectiveAddress from = system.allocate(static_cast<std::size_t>(bytes), kLineBytes);
  Spe& on = system.spe(hidden);
  sim::Process& process =
      system.engine().spawn("hypervisor", [&system, &on, from] { read_now_and_then(system, on, from); });
  on.set_program(&process);
}

}  // namespace corewise::cell
