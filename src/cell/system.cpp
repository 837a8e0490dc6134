// The parts of a system and how they are joined. The order of the members is the order of construction: what is
// below uses what is above. SPDX-License-Identifier: BSD-3-Clause
#include "cell/system.hpp"

#include <utility>

#include "cell/blade.hpp"
#include "cell/eib.hpp"
#include "cell/hypervisor.hpp"
#include "cell/memory/atomic.hpp"
#include "cell/memory/memory.hpp"
#include "cell/memory/reservation.hpp"
#include "cell/memory/retry.hpp"
#include "cell/memory/target.hpp"
#include "cell/ppe/ppe.hpp"
#include "cell/ppe/ppu.hpp"
#include "cell/spe/proxy.hpp"
#include "cell/spe/spe.hpp"

namespace corewise::cell {
namespace {

Violation nobody(EffectiveAddress ea, std::uint32_t size, const std::string& allowed) {
  return {Fault::data_segment,
          std::to_string(size) + " bytes at effective address " + hex_text(ea) + ", allowed: " + allowed};
}

}  // namespace

struct System::Parts final : public AddressSpace {
  Parts(const Parameters& given, sim::Timeline* timeline)
      : parameters(given),
        engine(1.0 / given.core_clock_ghz),
        ac0(given.command_interval_cycles),
        lines(static_cast<int>(given.atomic_cache_lines)),
        retry(parameters) {
    if (timeline != nullptr) engine.set_timeline(timeline);
    for (int chip = 0; chip < given.chips; ++chip) {
      memories.push_back(std::make_unique<MemoryBytes>(static_cast<std::uint64_t>(given.memory_bytes)));
      eibs.push_back(std::make_unique<Eib>(engine, parameters, chip, given.chips > 1 ? &ac0 : nullptr));
      eibs.back()->set_retry_policy(&retry);
      targets.push_back(std::make_unique<MemoryTarget>(*eibs.back(), chip, *memories.back(), lines, retry));
    }
    for (int id = 0; id < given.chips * kSpesPerChip; ++id) {
      Eib& eib = *eibs[static_cast<std::size_t>(id / kSpesPerChip)];
      spes.push_back(std::make_unique<Spe>(id, eib, *this));
    }
    if (given.chips > 1) {
      interleaved = std::make_unique<MemoryBytes>(static_cast<std::uint64_t>(given.memory_bytes));
      for (const auto& target : targets) target->set_interleaved(interleaved.get());
    }
    if (given.chips > 1) bif = std::make_unique<Bif>(*eibs[0], *eibs[1]);
    add_coherent_units();
  }

  void add_coherent_units() {
    std::vector<MemoryTarget*> memory_targets;
    std::vector<MemoryBytes*> memory_bytes;
    for (const auto& target : targets) memory_targets.push_back(target.get());
    for (const auto& memory : memories) memory_bytes.push_back(memory.get());
    for (const auto& on : spes) {
      atomics.push_back(std::make_unique<AtomicUnit>(on->eib(), on->id(), on->local_store(), lines, memory_targets,
                                                     memory_bytes));
      on->set_atomic(atomics.back().get());
    }
    for (const auto& eib : eibs) ppes.push_back(std::make_unique<Ppe>(*eib, lines, memory_bytes));
  }

  [[nodiscard]] Violation check(EffectiveAddress ea, std::uint32_t size, Access access) const override {
    if (size == 0) return {};
    if (Violation found = check_effective_address(ea, size, access); found.any()) return found;
    const Location place = locate(ea);
    if (is_interleaved(ea)) {
      const bool there = interleaved != nullptr && interleaved->holds(ea - kInterleavedBase, size);
      return there ? Violation{} : nobody(ea, size, "interleaved memory that was allocated");
    }
    if (place.kind == Location::Kind::memory) {
      const bool there = place.index < parameters.chips &&
                         memories[static_cast<std::size_t>(place.index)]->holds(place.offset, size);
      return there ? Violation{} : nobody(ea, size, "memory that was allocated");
    }
    return usable(place.index) ? Violation{} : nobody(ea, size, "an SPE of this machine");
  }

  [[nodiscard]] bool usable(int spe) const {
    return spe >= 0 && spe < parameters.chips * kSpesPerChip && parameters.usable[static_cast<std::size_t>(spe)];
  }

  Parameters parameters;
  sim::Engine engine;
  CommandSlots ac0;  ///< the blade-wide address concentrator
  CoherentLines lines;
  BackoffRetry retry;
  std::vector<std::unique_ptr<MemoryBytes>> memories;
  std::unique_ptr<MemoryBytes> interleaved;  ///< where there are two memories
  std::vector<std::unique_ptr<Eib>> eibs;
  std::vector<std::unique_ptr<MemoryTarget>> targets;
  std::vector<std::unique_ptr<Spe>> spes;
  std::unique_ptr<Bif> bif;
  std::vector<std::unique_ptr<AtomicUnit>> atomics;
  std::vector<std::unique_ptr<Ppe>> ppes;
  std::unique_ptr<Contexts> contexts;
};

System::System(const Parameters& parameters, sim::Timeline* timeline)
    : parts_(std::make_unique<Parts>(parameters, timeline)) {
  parts_->contexts = std::make_unique<Contexts>(*this);
}
System::~System() = default;

sim::Engine& System::engine() {
  return parts_->engine;
}
const Parameters& System::parameters() const {
  return parts_->parameters;
}
int System::spes() const {
  return parts_->parameters.chips * kSpesPerChip;
}
bool System::usable(int spe) const {
  return parts_->usable(spe);
}
Spe& System::spe(int index) {
  return *parts_->spes[static_cast<std::size_t>(index)];
}
Eib& System::eib(int chip) {
  return *parts_->eibs[static_cast<std::size_t>(chip)];
}
MemoryTarget& System::memory(int index) {
  return *parts_->targets[static_cast<std::size_t>(index)];
}
Ppe& System::ppe(int chip) {
  return *parts_->ppes[static_cast<std::size_t>(chip)];
}
Contexts& System::contexts() {
  return *parts_->contexts;
}
BifEnd* System::bif(int chip) {
  return parts_->bif == nullptr ? nullptr : &parts_->bif->end(chip);
}
BackoffRetry& System::retries() {
  return parts_->retry;
}
CoherentLines& System::lines() {
  return parts_->lines;
}
const AddressSpace& System::addresses() const {
  return *parts_;
}

EffectiveAddress System::allocate(std::size_t bytes, std::size_t alignment, int memory) {
  const std::uint64_t offset = parts_->memories[static_cast<std::size_t>(memory)]->allocate(bytes, alignment);
  return kMemoryBase + static_cast<EffectiveAddress>(memory) * kMemoryStride + offset;
}

EffectiveAddress System::allocate_interleaved(std::size_t bytes, std::size_t alignment) {
  return kInterleavedBase + parts_->interleaved->allocate(bytes, alignment);
}

std::span<std::byte> System::bytes(EffectiveAddress at, std::size_t count) {
  const Location place = locate(at);
  if (is_interleaved(at)) {
    MemoryBytes* const memory = parts_->interleaved.get();
    const std::uint64_t offset = at - kInterleavedBase;
    return memory != nullptr && memory->holds(offset, count) ? memory->at(offset, count) : std::span<std::byte>();
  }
  if (place.kind == Location::Kind::memory && place.index < parts_->parameters.chips) {
    MemoryBytes& memory = *parts_->memories[static_cast<std::size_t>(place.index)];
    if (memory.holds(place.offset, count)) return memory.at(place.offset, count);
  }
  if (place.kind == Location::Kind::local_store && place.index < spes() && LocalStore::holds(place.offset, count)) {
    return spe(place.index)
        .local_store()
        .at(static_cast<LsAddress>(place.offset), static_cast<std::uint32_t>(count));
  }
  return {};
}

void System::run_on_spe(int spe_index, std::string name, SpuProgram program) {
  if (!usable(spe_index)) {
    engine().stop(bad_field({}, "spe", std::to_string(spe_index), "an SPE of this machine that programs may use"));
    return;
  }
  Spe& on = spe(spe_index);
  if (on.program() != nullptr && !on.program()->finished()) {
    engine().stop(bad_field({}, "spe", std::to_string(spe_index), "an SPE on which no other program runs"));
    return;
  }
  sim::Process& process = engine().spawn(std::move(name), [&on, text = std::move(program)] {
    Spu spu(on);
    text(spu);
  });
  on.set_program(&process);
}

void System::run_on_ppe(int chip, std::string name, PpuProgram program) {
  if (chip < 0 || chip >= parameters().chips) {
    engine().stop(bad_field({}, "chip", std::to_string(chip), "a chip of this machine"));
    return;
  }
  engine().spawn(std::move(name), [this, &on = ppe(chip), text = std::move(program)] {
    Ppu ppu(on, *this, *parts_->contexts);
    text(ppu);
  });
}

void System::set_signal_mode(int spe_index, int which, bool or_mode) {
  spe(spe_index).signal(which).set_or_mode(or_mode);
}

Status System::run(sim::Time limit) {
  start_hypervisor(*this);
  return parts_->engine.run(limit);
}

}  // namespace corewise::cell
