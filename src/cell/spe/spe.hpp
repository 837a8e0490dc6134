// Spe: one synergistic processor element as its neighbours see it: its local store, its MFC, its signal registers,
// mailboxes and decrementer, and the program that runs on it. It answers on the bus for the local store and for the
// problem-state registers. Spu is the program's view of it.
//
// Contract: belongs to a System, which outlives it. Reads and writes of registers by others (a PPE's loads and
// stores, 4-byte DMA) all go through read_register and write_register; writes to the local store from outside go
// through local_store().write, so that pollers wake. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include "cell/eib.hpp"
#include "cell/faults.hpp"
#include "cell/parameters.hpp"
#include "cell/spe/channels.hpp"
#include "cell/spe/decrementer.hpp"
#include "cell/spe/local_store.hpp"
#include "cell/spe/mfc.hpp"
#include "sim/engine.hpp"

namespace corewise::cell {

class AtomicUnit;
class SpeContext;

/// Who knows which effective addresses exist in this system.
class AddressSpace {
 public:
  virtual ~AddressSpace() = default;
  /// Why `size` bytes at `ea` cannot be accessed so; no violation when they can.
  [[nodiscard]] virtual Violation check(EffectiveAddress ea, std::uint32_t size, Access access) const = 0;
};

class Spe final : public BusTarget, public MfcListener {
 public:
  /// `id` is the physical number, 0 .. 15; `eib` its chip's bus, to which it attaches itself.
  Spe(int id, Eib& eib, const AddressSpace& addresses);

  [[nodiscard]] int id() const { return id_; }
  [[nodiscard]] int chip() const { return id_ / kSpesPerChip; }
  [[nodiscard]] sim::Engine& engine() { return engine_; }
  [[nodiscard]] Eib& eib() { return eib_; }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] const AddressSpace& addresses() const { return addresses_; }
  [[nodiscard]] LocalStore& local_store() { return store_; }
  [[nodiscard]] Mfc& mfc() { return mfc_; }
  /// Signal notification register 1 or 2.
  [[nodiscard]] SignalRegister& signal(int which) { return which == 1 ? signal1_ : signal2_; }
  [[nodiscard]] Mailbox& in_mbox() { return in_mbox_; }
  [[nodiscard]] Mailbox& out_mbox() { return out_mbox_; }
  [[nodiscard]] Mailbox& out_intr_mbox() { return out_intr_mbox_; }
  [[nodiscard]] Decrementer& decrementer() { return decrementer_; }
  /// Who executes its atomic commands; set by the System.
  [[nodiscard]] AtomicUnit& atomic() { return *atomic_; }
  void set_atomic(AtomicUnit* atomic) { atomic_ = atomic; }
  /// The context that runs on it, whose proxy serves spu_stop; null where a program runs without one.
  [[nodiscard]] SpeContext* context() { return context_; }
  void set_context(SpeContext* context) { context_ = context; }

  /// A problem-state register by its offset (kOutMbox ..). Reading an empty mailbox gives 0 and takes nothing.
  std::uint32_t read_register(std::uint64_t offset);
  void write_register(std::uint64_t offset, std::uint32_t value);

  /// The program on it; null while there is none.
  [[nodiscard]] sim::Process* program() const { return program_; }
  void set_program(sim::Process* program) { program_ = program; }

  // What the SPU waits for at its MFC. One condition at a time: there is one program.
  enum class Until : std::uint8_t { nothing, free_entry, any_tag, all_tags, stalled_list };
  /// Blocks the running program until the condition holds; `mask` are tag groups.
  void wait_for_mfc(Until until, std::uint32_t mask, const sim::Wait& wait);
  [[nodiscard]] std::uint32_t tag_mask() const { return tag_mask_; }
  void set_tag_mask(std::uint32_t mask) { tag_mask_ = mask; }
  /// Tag groups with a stalled list of which the program has not been told.
  [[nodiscard]] std::uint32_t new_stalls();
  void stalls_told(std::uint32_t tags) { told_stalls_ |= tags; }
  void stall_acknowledged(std::uint32_t tag) { told_stalls_ &= ~(std::uint32_t{1} << tag); }

  /// Ends the run because the running program broke a rule.
  [[noreturn]] void fail(const Violation& violation, std::string_view command, const std::source_location& where);

  // BusTarget
  void fill(BusRequest& request) override;
  void arrived(BusRequest& request) override;
  // MfcListener
  void on_local_store_write(LsAddress at, std::uint32_t bytes) override { store_.written(at, bytes); }
  void on_mfc_change() override;
  bool on_list_element(const Command& command, std::uint32_t element, LsAddress ls, EffectiveAddress ea,
                       std::uint32_t size) override;

 private:
  [[nodiscard]] bool holds(Until until, std::uint32_t mask);
  void signal(std::uint64_t offset, std::uint32_t value);
  static void signal_written(void* self, std::uint64_t which_and_value);

  int id_;
  Eib& eib_;
  sim::Engine& engine_;
  const Parameters& parameters_;
  const AddressSpace& addresses_;
  LocalStore store_;
  Mfc mfc_;
  SignalRegister signal1_, signal2_;
  Mailbox in_mbox_, out_mbox_, out_intr_mbox_;
  Decrementer decrementer_;
  AtomicUnit* atomic_ = nullptr;
  SpeContext* context_ = nullptr;
  sim::Process* program_ = nullptr;
  Until until_ = Until::nothing;
  std::uint32_t until_mask_ = 0;
  std::uint32_t tag_mask_ = 0;
  std::uint32_t told_stalls_ = 0;
};

/// The command's name as the program wrote it: "mfc_putlf".
std::string name_of(Opcode opcode, Order order);

}  // namespace corewise::cell
