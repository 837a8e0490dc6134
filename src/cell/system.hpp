// System: a whole simulated Cell machine: one chip or the two of a blade, their SPEs, buses, memories and PPEs, and
// the engine they share. Make one per run: programs are put on SPEs or on a PPE, run() runs them to their end.
//
// Contract: one thread; deterministic; the same parameters and programs give the same bytes and the same times.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "cell/address.hpp"
#include "cell/parameters.hpp"
#include "cell/spe/spu.hpp"
#include "sim/engine.hpp"
#include "sim/state.hpp"

namespace corewise::cell {

class AddressSpace;
class BackoffRetry;
class BifEnd;
class CoherentLines;
class Contexts;
class Eib;
class MemoryTarget;
class Ppe;
class Ppu;
class Spe;

using SpuProgram = std::function<void(Spu&)>;
using PpuProgram = std::function<void(Ppu&)>;

class System {
 public:
  /// `timeline`, where one is given, records the run and outlives the system.
  explicit System(const Parameters& parameters, sim::Timeline* timeline = nullptr);
  ~System();
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  [[nodiscard]] sim::Engine& engine();
  [[nodiscard]] const Parameters& parameters() const;
  /// Chips x 8; SPEs that are not usable (PS3) count too: see usable().
  [[nodiscard]] int spes() const;
  [[nodiscard]] bool usable(int spe) const;

  /// Main memory of chip `memory`, zeroed, aligned to `alignment` (a power of two). Ends never; throws bad_alloc.
  EffectiveAddress allocate(std::size_t bytes, std::size_t alignment = kLineBytes, int memory = 0);
  /// Of a blade: memory whose pages of 4 KB lie in its two memories by turns. Atomics and PPEs do not reach it.
  EffectiveAddress allocate_interleaved(std::size_t bytes, std::size_t alignment = kLineBytes);
  /// Bytes of main memory or of a local store, for setting up and checking; costs no simulated time and wakes no
  /// poller. Empty where nobody has all of them.
  std::span<std::byte> bytes(EffectiveAddress at, std::size_t count);

  /// Puts a program on SPE `spe` (0 .. spes()-1, usable, one program each). It starts at the time of the call.
  /// A wrong or taken SPE makes run() return the error.
  void run_on_spe(int spe, std::string name, SpuProgram program);
  /// Puts a program on the PPE of chip `chip`.
  void run_on_ppe(int chip, std::string name, PpuProgram program);

  /// Signal registers 1 and 2 of an SPE: OR mode (true) or overwrite mode (false, as after reset).
  void set_signal_mode(int spe, int which, bool or_mode);

  /// The parts, for statistics and for who builds on them.
  [[nodiscard]] Spe& spe(int index);
  [[nodiscard]] Eib& eib(int chip);
  [[nodiscard]] MemoryTarget& memory(int index);
  [[nodiscard]] Ppe& ppe(int chip);
  /// SPE contexts and the free SPEs.
  [[nodiscard]] Contexts& contexts();
  /// The blade's link, as chip `chip` sees it; null where there is one chip.
  [[nodiscard]] BifEnd* bif(int chip);
  /// Commands that were refused, per unit and line.
  [[nodiscard]] BackoffRetry& retries();
  /// Reservations and copies of lines.
  [[nodiscard]] CoherentLines& lines();
  [[nodiscard]] const AddressSpace& addresses() const;

  /// Appends everything that decides what happens next, but for the programs' variables and the bytes of memories
  /// and local stores (sim/state.hpp). Of one chip without PPE programs and atomics.
  void append_state(sim::State& state);

  /// Runs everything; see sim::Engine::run. Call once.
  Status run(sim::Time limit = sim::kForever);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace corewise::cell
