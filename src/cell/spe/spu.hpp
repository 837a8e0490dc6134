// Spu: what a program on a simulated SPE sees, under the names of the CBE architecture's C intrinsics (spu_mfcio.h,
// spu_intrinsics.h): its local store, the channels of its MFC, signals, mailboxes, the decrementer.
//
// Contract. A program is ordinary blocking text that runs on a fiber; every call may let simulated time pass and
// only calls do: computation is declared by spu_cycles. All sizes are bytes, all times core cycles unless a name
// says otherwise. A call that breaks a rule of the hardware ends the run with a status that names the rule (the
// fault as the architecture calls it), the program, its line and the simulated time. Data are real.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <span>
#include <type_traits>

#include "cell/address.hpp"
#include "sim/engine.hpp"

namespace corewise::cell {

class Spe;
struct Parameters;

/// Results of mfc_read_atomic_status (CBEA, Atomic Command Status channel).
inline constexpr std::uint32_t MFC_PUTLLC_STATUS = 0x1;   ///< set: the conditional store failed
inline constexpr std::uint32_t MFC_PUTLLUC_STATUS = 0x2;  ///< an unconditional store is complete
inline constexpr std::uint32_t MFC_GETLLAR_STATUS = 0x4;  ///< a get-lock-line is complete

/// One element of a DMA list as it lies in the local store: the fields of spu_mfcio.h's mfc_list_element_t, in host
/// byte order.
struct MfcListElement {
  std::uint16_t notify = 0;  ///< 1: stall and notify after this element
  std::uint16_t size = 0;    ///< bytes, 0 to 16384
  std::uint32_t eal = 0;     ///< low 32 bits of the effective address
};
static_assert(sizeof(MfcListElement) == 8);

class Spu {
 public:
  using Where = std::source_location;

  explicit Spu(Spe& spe) : spe_(spe) {}

  // ---- who and where ----
  /// 0 .. 7 on the first chip, 8 .. 15 on the second; the SPE's physical number.
  [[nodiscard]] int physical_id() const;
  [[nodiscard]] int chip() const;
  [[nodiscard]] sim::Engine& engine() const;
  /// Simulated time in core cycles since the start of the run: for tests and reports; programs read the
  /// decrementer.
  [[nodiscard]] sim::Time now() const;

  // ---- local store and computation ----
  /// `bytes` of the own local store at `at`; beyond 256 KB ends the run ("local store overrun").
  std::span<std::byte> ls(LsAddress at, std::uint32_t bytes, const Where& where = Where::current());
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T load(LsAddress at, const Where& where = Where::current()) {
    T value;
    std::memcpy(&value, ls(at, sizeof(T), where).data(), sizeof(T));
    return value;
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void store(LsAddress at, const T& value, const Where& where = Where::current()) {
    std::memcpy(ls(at, sizeof(T), where).data(), &value, sizeof(T));
  }
  /// Declares that the program computes for so many core cycles.
  void spu_cycles(std::int64_t cycles);
  [[nodiscard]] const Parameters& parameters() const;
  /// Polls `bytes` at `at` until ready(span) is true: a load, a compare and a branch per turn
  /// (Parameters::spu_poll_cycles). Costs no event while nothing is written there, so a wait for something that
  /// never comes is a deadlock, reported.
  template <class Ready>
  void poll(LsAddress at, std::uint32_t bytes, Ready ready, const char* what = "a change of its local store",
            const Where& where = Where::current()) {
    std::span<std::byte> seen = ls(at, bytes, where);
    while (!ready(std::span<const std::byte>(seen))) wait_for_write(at, bytes, what, where);
    charge_poll();
  }

  // ---- DMA (CBEA, MFC commands). ea: effective address; tag 0..31; tid, rid: class ids, kept and ignored ----
  void mfc_put(LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag, std::uint32_t tid = 0,
               std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_putf(LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag, std::uint32_t tid = 0,
                std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_putb(LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag, std::uint32_t tid = 0,
                std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_get(LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag, std::uint32_t tid = 0,
               std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_getf(LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag, std::uint32_t tid = 0,
                std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_getb(LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag, std::uint32_t tid = 0,
                std::uint32_t rid = 0, const Where& where = Where::current());
  /// Lists: `list` is the local store address of `list_size` bytes of 8-byte elements (at most 2048 of them); the
  /// high 32 bits of `ea` hold for every element.
  void mfc_putl(LsAddress ls, EffectiveAddress ea, LsAddress list, std::uint32_t list_size, std::uint32_t tag,
                std::uint32_t tid = 0, std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_putlf(LsAddress ls, EffectiveAddress ea, LsAddress list, std::uint32_t list_size, std::uint32_t tag,
                 std::uint32_t tid = 0, std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_putlb(LsAddress ls, EffectiveAddress ea, LsAddress list, std::uint32_t list_size, std::uint32_t tag,
                 std::uint32_t tid = 0, std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_getl(LsAddress ls, EffectiveAddress ea, LsAddress list, std::uint32_t list_size, std::uint32_t tag,
                std::uint32_t tid = 0, std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_getlf(LsAddress ls, EffectiveAddress ea, LsAddress list, std::uint32_t list_size, std::uint32_t tag,
                 std::uint32_t tid = 0, std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_getlb(LsAddress ls, EffectiveAddress ea, LsAddress list, std::uint32_t list_size, std::uint32_t tag,
                 std::uint32_t tid = 0, std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_barrier(std::uint32_t tag, const Where& where = Where::current());
  void mfc_eieio(std::uint32_t tag, std::uint32_t tid = 0, std::uint32_t rid = 0,
                 const Where& where = Where::current());
  void mfc_sync(std::uint32_t tag, const Where& where = Where::current());
  void mfc_sndsig(LsAddress ls, EffectiveAddress ea, std::uint32_t tag, std::uint32_t tid = 0,
                  std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_sndsigf(LsAddress ls, EffectiveAddress ea, std::uint32_t tag, std::uint32_t tid = 0,
                   std::uint32_t rid = 0, const Where& where = Where::current());
  void mfc_sndsigb(LsAddress ls, EffectiveAddress ea, std::uint32_t tag, std::uint32_t tid = 0,
                   std::uint32_t rid = 0, const Where& where = Where::current());
  /// Free entries of the MFC SPU command queue, 0 .. 16. An enqueue with none free blocks.
  [[nodiscard]] std::uint32_t mfc_stat_cmd_queue();

  // ---- tag groups ----
  void mfc_write_tag_mask(std::uint32_t mask);
  [[nodiscard]] std::uint32_t mfc_read_tag_mask() const;
  std::uint32_t mfc_read_tag_status_immediate();
  std::uint32_t mfc_read_tag_status_any(const Where& where = Where::current());
  std::uint32_t mfc_read_tag_status_all(const Where& where = Where::current());
  std::uint32_t mfc_read_list_stall_status(const Where& where = Where::current());
  std::uint32_t mfc_stat_list_stall_status();
  void mfc_write_list_stall_ack(std::uint32_t tag, const Where& where = Where::current());

  // ---- atomic lines (128 bytes; immediate, no tag) ----
  void mfc_getllar(LsAddress ls, EffectiveAddress ea, std::uint32_t tid = 0, std::uint32_t rid = 0,
                   const Where& where = Where::current());
  void mfc_putllc(LsAddress ls, EffectiveAddress ea, std::uint32_t tid = 0, std::uint32_t rid = 0,
                  const Where& where = Where::current());
  void mfc_putlluc(LsAddress ls, EffectiveAddress ea, std::uint32_t tid = 0, std::uint32_t rid = 0,
                   const Where& where = Where::current());
  void mfc_putqlluc(LsAddress ls, EffectiveAddress ea, std::uint32_t tag, std::uint32_t tid = 0,
                    std::uint32_t rid = 0, const Where& where = Where::current());
  std::uint32_t mfc_read_atomic_status(const Where& where = Where::current());
  std::uint32_t mfc_stat_atomic_status();

  // ---- signals (32 bits; reading empties; blocks while empty) ----
  std::uint32_t spu_read_signal1(const Where& where = Where::current());
  std::uint32_t spu_stat_signal1();
  std::uint32_t spu_read_signal2(const Where& where = Where::current());
  std::uint32_t spu_stat_signal2();

  // ---- mailboxes (in: 4 deep; out: 1; out-interrupt: 1; full or empty blocks) ----
  std::uint32_t spu_read_in_mbox(const Where& where = Where::current());
  std::uint32_t spu_stat_in_mbox();
  void spu_write_out_mbox(std::uint32_t value, const Where& where = Where::current());
  std::uint32_t spu_stat_out_mbox();
  void spu_write_out_intr_mbox(std::uint32_t value, const Where& where = Where::current());
  std::uint32_t spu_stat_out_intr_mbox();

  // ---- stop and signal: the program halts until its proxy thread on the PPE has served signal `signal` with the
  // message at `message` in its local store (a system call, as paper 001, section 2, describes) ----
  void spu_stop(std::uint32_t signal, LsAddress message, const Where& where = Where::current());

  // ---- decrementer: counts down at Parameters::decrementer_hz, wraps at 32 bits ----
  void spu_write_decrementer(std::uint32_t count);
  std::uint32_t spu_read_decrementer();

 private:
  void wait_for_write(LsAddress at, std::uint32_t bytes, const char* what, const Where& where);
  void charge_poll();

  Spe& spe_;
};

}  // namespace corewise::cell
