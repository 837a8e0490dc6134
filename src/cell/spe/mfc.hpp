// Mfc: the DMA engine of one SPE. It holds the SPU's command queue and the proxy queue, cuts commands into requests
// of at most one line, keeps a limited number of them on the bus, and keeps the order that fences, barriers and tag
// groups ask for, and no other: commands that nothing holds back may overtake each other.
//
// Data are real and are copied when the last beat of a request arrives, so what is sent may be newer than the
// command. A request (at most 128 bytes) is atomic.
//
// Contract: who enqueues has checked the rules of the architecture (alignment, sizes, tags, addresses, list
// alignment); list elements are checked through MfcListener when they are fetched. The local store, the Eib and the
// listener outlive the Mfc. One thread; nothing is allocated per command or request.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "cell/address.hpp"
#include "cell/eib.hpp"
#include "cell/parameters.hpp"
#include "cell/spe/translation.hpp"
#include "sim/engine.hpp"
#include "sim/state.hpp"

namespace corewise::cell {

enum class Opcode : std::uint8_t {
  get,
  put,
  get_list,
  put_list,
  sndsig,   ///< a put of 4 bytes to a signal register
  barrier,  ///< mfc_barrier: all earlier commands of the queue before all later ones
  eieio,    ///< orders its tag group, and tells the bus
  sync,     ///< as eieio
};

/// Ordering suffix: f or b of the CBE architecture's command names.
enum class Order : std::uint8_t { none, fence, barrier };

/// An MFC command as it is written to the queue.
struct Command {
  Opcode opcode = Opcode::get;
  Order order = Order::none;
  std::uint8_t tag = 0;  ///< 0 .. 31
  LsAddress ls = 0;
  EffectiveAddress ea = 0;          ///< of a list: its high 32 bits
  std::uint32_t size = 0;           ///< bytes; of a list: bytes of its elements, a multiple of 8
  LsAddress list = 0;               ///< where the elements lie
  std::source_location where = {};  ///< the program's line, for errors found later
};

/// Who looks after an Mfc: its SPE.
class MfcListener {
 public:
  virtual ~MfcListener() = default;
  /// A get's bytes have been written to the local store.
  virtual void on_local_store_write(LsAddress at, std::uint32_t bytes) = 0;
  /// A command has ended (an entry is free, perhaps a tag group is complete) or a list has stalled.
  virtual void on_mfc_change() = 0;
  /// May this list element be transferred? False (after the listener has stopped the run) drops the rest of the
  /// list. `ls` is the local store address it would use.
  virtual bool on_list_element(const Command& command, std::uint32_t element, LsAddress ls, EffectiveAddress ea,
                               std::uint32_t size) = 0;
};

struct MfcStatistics {
  std::uint64_t commands = 0, proxy_commands = 0;  ///< ended
  std::uint64_t list_elements = 0;
  std::uint64_t requests = 0;          ///< sent to the bus
  std::uint64_t partial_requests = 0;  ///< of them, of less than a line
  std::uint64_t bytes_in = 0, bytes_out = 0;
  sim::Time command_ticks = 0;  ///< from enqueue to end, summed
};

class Mfc final : public BusRequester {
 public:
  /// `spe` is 0 .. 7 on the bus's chip.
  Mfc(Eib& eib, int spe, std::span<std::byte> local_store, MfcListener& listener);

  /// Takes a command now; requires free_entries() > 0.
  void enqueue(const Command& command);
  /// The same for the proxy queue, which takes no lists; requires free_proxy_entries() > 0.
  void enqueue_proxy(const Command& command);
  [[nodiscard]] std::uint32_t free_entries() const { return spu_.limit - spu_.used; }
  [[nodiscard]] std::uint32_t free_proxy_entries() const { return proxy_.limit - proxy_.used; }

  /// Bit t is set: no command of tag group t is in the SPU's (the proxy) queue.
  [[nodiscard]] std::uint32_t complete_tags() const { return ~spu_.tags_busy; }
  [[nodiscard]] std::uint32_t complete_proxy_tags() const { return ~proxy_.tags_busy; }

  /// Bit t is set: a list of tag group t has stalled after an element with its notify bit and was not acknowledged.
  [[nodiscard]] std::uint32_t stalled_tags() const;
  /// Lets the stalled lists of a tag group go on.
  void acknowledge_stall(std::uint32_t tag);

  [[nodiscard]] const MfcStatistics& statistics() const { return statistics_; }
  [[nodiscard]] const Translation& translation() const { return translation_; }
  [[nodiscard]] Eib& eib() { return eib_; }
  /// The stop of this SPE on its chip's bus.
  [[nodiscard]] int stop() const { return stop_; }

  void delivered(BusRequest& request) override;

  /// See sim/state.hpp.
  void append_state(sim::State& state) const;
  /// Names `handler` if it is an event of this MFC or of one of its requests.
  [[nodiscard]] bool name_event(const sim::Handler& handler, sim::State& state) const;

 private:
  static constexpr std::size_t kMaxEntries = 64;
  static constexpr std::size_t kMaxRequests = 64;

  struct Queue {
    std::uint32_t limit = 0, used = 0;
    std::uint32_t tags_busy = 0;
    std::array<std::uint16_t, kTags> per_tag{};
    std::uint64_t entries = 0;   ///< bit set of its live entries
    std::uint64_t barriers = 0;  ///< of those, the mfc_barrier commands
  };
  struct Entry {
    Command command;
    Queue* queue = nullptr;
    std::uint64_t waits_for = 0;  ///< entries that must end before this one starts
    std::uint64_t order = 0;
    sim::Time enqueued = 0;
    sim::Time ready = 0;      ///< from when its next request may be sent
    EffectiveAddress ea = 0;  ///< of the next request
    LsAddress ls = 0;
    std::uint32_t left = 0;     ///< bytes of the present element
    std::uint32_t element = 0;  ///< the next list element
    std::uint16_t on_bus = 0;
    bool stall_after = false;  ///< the present element has its notify bit
    bool stalled = false;
    bool unrolled = false;  ///< no request is left to send
  };

  void append_entry(const Entry& entry, int index, sim::State& state) const;
  [[nodiscard]] std::int64_t ranks_of(std::uint64_t entries) const;
  static void end_event(void* self, std::uint64_t entry);
  void take(Queue& queue, const Command& command);
  [[nodiscard]] std::uint64_t held_back_by(const Queue& queue, const Command& command) const;
  void may_start(int index);
  void advance();
  [[nodiscard]] int choose();
  [[nodiscard]] bool prepare(int index);
  [[nodiscard]] bool waits_for_page(int index);
  static void page_event(void* self, std::uint64_t entry);
  void next_element(int index);
  void send_request(int index);
  void unrolled(int index);
  void end_at(int index, sim::Time when);
  void end(int index);
  void record(const Entry& entry) const;

  Eib& eib_;
  sim::Engine& engine_;
  const Parameters& parameters_;
  std::span<std::byte> local_store_;
  MfcListener& listener_;
  int stop_;
  Queue spu_, proxy_;
  std::array<Entry, kMaxEntries> entries_{};
  std::uint64_t live_ = 0;       ///< bit set of entries in use
  std::uint64_t startable_ = 0;  ///< of those, the ones with requests to send that nothing holds back
  int current_ = -1;             ///< the entry being unrolled
  std::uint64_t order_ = 0;
  sim::Time next_request_ = 0;  ///< from when the unroller may send again
  sim::Time next_command_ = 0;  ///< from when another command may be ready
  std::array<BusRequest, kMaxRequests> requests_{};
  std::array<sim::Time, kMaxRequests> free_at_{};  ///< per request
  std::array<std::uint8_t, kMaxRequests> free_{};  ///< circle of free requests, earliest first
  std::size_t free_head_ = 0, free_count_ = 0;
  Rng shuffle_;
  Translation translation_;
  MfcStatistics statistics_;
};

}  // namespace corewise::cell
