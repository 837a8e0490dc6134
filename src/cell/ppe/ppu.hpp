// Ppu: what a program on a PPE sees, under the names of libspe2: SPE contexts, mailboxes, signals, proxy DMA; its
// own loads, stores and memcpy; threads. Every call costs what the accesses behind it cost: loads and stores of
// mapped registers over the bus, or a system call where the system software maps nothing
// (Parameters::ppe_mailbox_syscall_cycles).
//
// Contract. A program is ordinary blocking text on a fiber, as on an SPE. A call that breaks a rule ends the run
// with a status that names the rule, the program, its line and the time. SpeContext pointers live as long as the
// System. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>

#include "cell/address.hpp"
#include "cell/spe/channels.hpp"
#include "cell/spe/proxy.hpp"
#include "cell/system.hpp"

namespace corewise::cell {

class Ppe;
struct Violation;

/// SPE_MBOX_ALL_BLOCKING, SPE_MBOX_ANY_BLOCKING, SPE_MBOX_ANY_NONBLOCKING.
enum class MboxBehavior : std::uint8_t { all_blocking, any_blocking, any_nonblocking };
/// SPE_TAG_ALL, SPE_TAG_ANY, SPE_TAG_IMMEDIATE.
enum class TagBehavior : std::uint8_t { all, any, immediate };

/// A thread of a PPE program: what Ppu::thread returns, for Ppu::join.
struct PpuThread {
  bool ended = false;
  Waiters joiners;
};

class Ppu {
 public:
  using Where = std::source_location;

  Ppu(Ppe& ppe, System& system, Contexts& contexts) : ppe_(ppe), system_(system), contexts_(contexts) {}

  [[nodiscard]] int chip() const;
  [[nodiscard]] sim::Engine& engine() const;
  /// Simulated time in core cycles since the start of the run.
  [[nodiscard]] sim::Time now() const;
  /// Declares that the program computes for so many core cycles, on one of the PPE's two hardware threads.
  void cycles(std::int64_t count, const Where& where = Where::current());

  // ---- threads of the program, as POSIX has them ----
  std::shared_ptr<PpuThread> thread(std::string name, PpuProgram program);
  void join(PpuThread& thread, const Where& where = Where::current());

  // ---- contexts ----
  /// A context on SPE `spe`, or (-1) on the one that the system software chooses. Null when that one, or every one,
  /// is taken. `map_ps` (SPE_MAP_PS): its registers are mapped, so that mailboxes and signals need no system call.
  SpeContext* spe_context_create(int spe = -1, bool map_ps = false);
  /// Not while it runs.
  void spe_program_load(SpeContext* context, std::string name, SpuProgram program,
                        const Where& where = Where::current());
  /// Starts the program and serves as its proxy thread until it ends.
  void spe_context_run(SpeContext* context, const Where& where = Where::current());
  /// A thread that does spe_context_run: the usual way to have several.
  std::shared_ptr<PpuThread> spe_context_start(SpeContext* context);
  /// Gives the SPE back; not while it runs.
  void spe_context_destroy(SpeContext* context, const Where& where = Where::current());
  void spe_callback_handler_register(SpeContext* context, std::uint32_t signal, SpeCallback callback,
                                     const Where& where = Where::current());
  /// The physical number of a context's SPE, as programs read it from the system's phys-id file.
  int spe_phys_id(const SpeContext* context, const Where& where = Where::current());
  /// Where the local store and the problem-state area of a context's SPE are mapped.
  [[nodiscard]] EffectiveAddress spe_ls_area_get(const SpeContext* context,
                                                 const Where& where = Where::current()) const;
  [[nodiscard]] EffectiveAddress spe_ps_area_get(const SpeContext* context,
                                                 const Where& where = Where::current()) const;

  // ---- mailboxes and signals. Return: words moved ----
  int spe_in_mbox_write(SpeContext* context, std::span<const std::uint32_t> words,
                        MboxBehavior behavior = MboxBehavior::all_blocking, const Where& where = Where::current());
  /// Words that the SPE's inbound mailbox has room for.
  int spe_in_mbox_status(SpeContext* context, const Where& where = Where::current());
  /// Does not block: 0 when the mailbox is empty.
  int spe_out_mbox_read(SpeContext* context, std::span<std::uint32_t> words, const Where& where = Where::current());
  int spe_out_mbox_status(SpeContext* context, const Where& where = Where::current());
  /// A loop of spe_out_mbox_read until there is a word; costs no event while there is none.
  std::uint32_t spe_out_mbox_wait(SpeContext* context, const Where& where = Where::current());
  int spe_out_intr_mbox_read(SpeContext* context, std::span<std::uint32_t> words,
                             MboxBehavior behavior = MboxBehavior::all_blocking,
                             const Where& where = Where::current());
  int spe_out_intr_mbox_status(SpeContext* context, const Where& where = Where::current());
  /// Signal notification register `which` (1 or 2).
  void spe_signal_write(SpeContext* context, int which, std::uint32_t value, const Where& where = Where::current());

  // ---- proxy DMA: commands in the SPE's proxy queue (8 entries), as the SPE sees them: put is local store to ea
  // ----
  void spe_mfcio_put(SpeContext* context, LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag,
                     const Where& where = Where::current());
  void spe_mfcio_get(SpeContext* context, LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag,
                     const Where& where = Where::current());
  /// The tag groups of `mask` without a command in the proxy queue.
  std::uint32_t spe_mfcio_tag_status_read(SpeContext* context, std::uint32_t mask,
                                          TagBehavior behavior = TagBehavior::all,
                                          const Where& where = Where::current());

  // ---- its own loads and stores: main memory (cached), local stores and registers (not cached) ----
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T load(EffectiveAddress ea, const Where& where = Where::current()) {
    T value;
    load_bytes(ea, std::as_writable_bytes(std::span<T, 1>(&value, 1)), where);
    return value;
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void store(EffectiveAddress ea, const T& value, const Where& where = Where::current()) {
    store_bytes(ea, std::as_bytes(std::span<const T, 1>(&value, 1)), where);
  }
  void load_bytes(EffectiveAddress ea, std::span<std::byte> bytes, const Where& where = Where::current());
  void store_bytes(EffectiveAddress ea, std::span<const std::byte> bytes, const Where& where = Where::current());
  void memcpy(EffectiveAddress to, EffectiveAddress from, std::uint64_t bytes,
              const Where& where = Where::current());
  /// Of a word of main memory, aligned to 4 bytes. Every program has its own reservation.
  std::uint32_t lwarx(EffectiveAddress ea, const Where& where = Where::current());
  /// True: stored.
  bool stwcx(EffectiveAddress ea, std::uint32_t value, const Where& where = Where::current());

 private:
  void check(const SpeContext* context, const char* call, const Where& where) const;
  void check_memory(EffectiveAddress ea, std::uint64_t bytes, bool write, const char* call,
                    const Where& where) const;
  void check_reservable(EffectiveAddress ea, bool write, const char* call, const Where& where) const;
  [[noreturn]] void fail(const Violation& violation, const char* call, const Where& where) const;
  void pay_mailbox(const SpeContext& context, const Where& where);
  std::uint32_t mailbox_status(SpeContext* context, const Where& where);
  void proxy_command(SpeContext* context, bool put, LsAddress ls, EffectiveAddress ea, std::uint32_t size,
                     std::uint32_t tag, const Where& where);
  void serve(SpeContext& context, const Where& where);

  Ppe& ppe_;
  System& system_;
  Contexts& contexts_;
};

}  // namespace corewise::cell
