// SPE contexts and their proxy threads: what the system software of a Cell keeps for every program on an SPE. A
// context owns an SPE from its creation to its end; the thread that runs it on the PPE (its proxy) serves the
// requests for which the SPE stops and signals, such as system calls (paper 001, section 2), and ends with it.
//
// Which SPE a context gets without asking is the default affinity (default_affinity.hpp), drawn from
// Parameters::affinity_seed. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "cell/address.hpp"
#include "cell/default_affinity.hpp"
#include "cell/parameters.hpp"
#include "cell/spe/channels.hpp"
#include "cell/system.hpp"

namespace corewise::cell {

/// Serves a stop-and-signal request: `message` is the SPE's local store from the address it gave. 0: the SPE goes
/// on; else the run ends with this as the error number.
using SpeCallback = std::function<int(Ppu& ppu, std::span<std::byte> message)>;

/// One context: which SPE, which program, what its proxy must do.
class SpeContext {
 public:
  SpeContext(System& system, int spe, bool map_ps) : system_(system), spe_(spe), map_ps_(map_ps) {}

  /// The physical number of its SPE.
  [[nodiscard]] int phys_id() const { return spe_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] bool destroyed() const { return destroyed_; }
  /// Its problem-state registers are mapped: mailboxes and signals cost loads and stores, no system calls.
  [[nodiscard]] bool map_ps() const { return map_ps_; }
  /// Requests served for its SPE.
  [[nodiscard]] std::uint64_t served() const { return served_; }

  // The SPE's side.
  /// Hands a request to the proxy and blocks the SPE's program until it is served.
  void stop_and_signal(std::uint32_t signal, LsAddress message, const std::source_location& where);

 private:
  friend class Ppu;
  friend class Contexts;

  System& system_;
  int spe_;
  bool map_ps_;
  std::string name_;
  SpuProgram program_;
  std::map<std::uint32_t, SpeCallback> callbacks_;
  bool running_ = false, destroyed_ = false;
  bool ended_ = false;    ///< the program returned; its proxy has not seen it yet
  bool request_ = false;  ///< a request waits or is being served
  std::uint32_t signal_ = 0;
  LsAddress message_ = 0;
  Waiters proxy_, spu_;
  std::uint64_t served_ = 0;
};

/// All contexts of a system, and its free SPEs.
class Contexts {
 public:
  explicit Contexts(System& system);

  /// A context on SPE `spe`, or on whichever is free (-1), rather on chip `chip`. Null when there is none.
  SpeContext* create(int spe, int chip, bool map_ps);
  void destroy(SpeContext& context);

 private:
  bool take(int spe);

  System& system_;
  std::vector<FreeSpes> free_;  ///< per chip
  std::vector<std::unique_ptr<SpeContext>> contexts_;
};

}  // namespace corewise::cell
