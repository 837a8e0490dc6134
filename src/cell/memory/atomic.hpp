// AtomicUnit: the part of an SPE's MFC that executes getllar, putllc and putlluc (CBEA, MFC Atomic Update
// Commands): a small cache of lines beside the DMA queues, with a reservation.
//
// Mechanism. getllar of a line that the unit holds costs `atomic_hit_cycles`; else a read command on the bus brings
// it, from another unit that holds it modified or from memory. putllc fails where the reservation was lost; where
// it stands, a line held alone is written in place, a shared one needs a claim command, at whose combined response
// the reservation must still stand. One command at a time; what getllar brings lies in the local store when the
// status can be read.
//
// Contract: who starts a command has checked it (check_atomic). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cell/address.hpp"
#include "cell/eib.hpp"
#include "cell/memory/reservation.hpp"
#include "cell/memory/target.hpp"
#include "cell/spe/channels.hpp"
#include "cell/spe/local_store.hpp"
#include "cell/spe/spu.hpp"

namespace corewise::cell {

enum class AtomicOp : std::uint8_t { getllar, putllc, putlluc };

struct AtomicStatistics {
  std::uint64_t getllars = 0, getllar_hits = 0;
  std::uint64_t putllcs = 0, putllc_failures = 0;
  std::uint64_t putllucs = 0;
  std::uint64_t claims = 0;  ///< claim commands on the bus
};

class AtomicUnit final : public BusRequester {
 public:
  /// `spe` is the physical number. `memories` are the targets of this system's memories, by number; the unit
  /// announces itself to its own chip's as the one who sends its lines.
  AtomicUnit(Eib& eib, int spe, LocalStore& store, CoherentLines& lines, std::span<MemoryTarget* const> memories,
             std::span<MemoryBytes* const> bytes);

  /// Starts a command; requires !busy(). `ls` and `ea` are aligned to 128 bytes.
  void start(AtomicOp op, LsAddress ls, EffectiveAddress ea);
  [[nodiscard]] bool busy() const { return busy_; }
  /// The Atomic Command Status channel: 1 while a status waits to be read.
  [[nodiscard]] std::uint32_t status_count() const { return has_status_ ? 1 : 0; }
  /// Takes the status (MFC_GETLLAR_STATUS, MFC_PUTLLC_STATUS set on failure, MFC_PUTLLUC_STATUS); blocks the
  /// running program while there is none. A wait without a command never ends: a deadlock, reported.
  std::uint32_t read_status(const sim::Wait& wait);
  /// Blocks the running program until the command before is done.
  void wait_idle(const sim::Wait& wait);

  void delivered(BusRequest& request) override;
  [[nodiscard]] const AtomicStatistics& statistics() const { return statistics_; }

 private:
  /// Sends a modified line to another unit of the chip.
  class Intervener final : public BusTarget {
   public:
    Intervener(const Traits& traits, MemoryTarget*& memory) : BusTarget(traits), memory_(memory) {}
    void fill(BusRequest& request) override { memory_->fill(request); }
    void arrived(BusRequest&) override {}

   private:
    MemoryTarget*& memory_;
  };

  static void hit(void* self, std::uint64_t unused);
  void finish_hit();
  void send(BusKind kind, std::uint8_t flavour);
  void store_in_place();
  void finish(std::uint32_t status);

  Eib& eib_;
  const Parameters& p_;
  int unit_;
  LocalStore& store_;
  CoherentLines& lines_;
  std::vector<MemoryBytes*> bytes_;
  MemoryTarget* own_memory_;
  Intervener intervener_;
  BusRequest request_;
  AtomicOp op_ = AtomicOp::getllar;
  LsAddress ls_ = 0;
  EffectiveAddress line_ = 0;
  bool busy_ = false;
  bool has_status_ = false;
  std::uint32_t status_ = 0;
  Waiters waiters_;
  AtomicStatistics statistics_;
};

}  // namespace corewise::cell
