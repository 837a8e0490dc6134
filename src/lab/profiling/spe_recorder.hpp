// SpeRecorder: paper 003's profiler on a simulated SPE: the recorder of room trace in its local store, two buffers
// that swap, dumped by DMA into event pages in main memory that the PPE allots (sections 3.1 and 3.2, figure 1).
//
// Mechanism. `start` calls the PPE (lab/remote_call.hpp) for event pages, one per dump. An event goes into the
// active buffer. When that is full: (1) wait until the other buffer's dump is complete, (2) start a DMA put of the
// full one behind the last dump, (3) go on in the other one. The program waits in (1) only when it has filled a
// buffer faster than the last one left. `stop` dumps the last buffer and waits for it.
//
// Contract. One per SPE, used by its program only. Every call costs what it does in simulated time: two reads of
// the decrementer, the declared cycles of `RecordingCosts`, and the DMA. In local store it takes
// local_store_bytes(), code included. Events beyond the last page are counted as lost, and the program goes on. The
// program's tag mask is left as it was; the recorder's own tag is kTag. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <vector>

#include "base/status.hpp"
#include "cell/address.hpp"
#include "cell/spe/spu.hpp"
#include "cell/system.hpp"
#include "lab/profiling/events.hpp"
#include "lab/remote_call.hpp"
#include "trace/recorder.hpp"

namespace corewise::lab {

/// The paper's record for every event, or records that hold what their event needs (its section 5).
enum class EventLayout : std::uint8_t { paper, specific };

/// Core cycles of the recorder's code, counted instructions: there is no compiler for SPEs here.
struct RecordingCosts {
  std::int64_t call = 40;         ///< an instrumented function around the call: arguments, branches, both times
  std::int64_t paper_event = 60;  ///< filling 80 bytes: five quadwords, conversions to double
  std::int64_t short_record = 16;
  std::int64_t long_record = 28;
  std::int64_t swap = 60;  ///< beside the DMA and clearing a buffer, a quadword a cycle
};

struct RecorderSettings {
  std::uint32_t half_bytes = 5120;  ///< of one of the two buffers, and of an event page
  std::uint32_t pages = 10'000;     ///< that the PPE allots per SPE
  EventLayout layout = EventLayout::specific;
  bool functions = true;  ///< entries and exits are recorded
  bool dma = true;        ///< DMA events are
  RecordingCosts costs;
  std::vector<int> spes;  ///< of each rank: what a peer's local store is called; empty: by its SPE's number

  /// Errors name the field.
  [[nodiscard]] Status check() const;
};

/// The recorder's code in local store, as declared (the paper: less than 2 KiB).
inline constexpr std::uint32_t kRecorderCodeBytes = 1536;
/// Pages, clock, state and the counts of what was lost.
inline constexpr std::uint32_t kRecorderStateBytes = 128;
/// What a recorder with buffers of `half_bytes` takes of a local store.
constexpr std::uint32_t local_store_bytes(std::uint32_t half_bytes) {
  return kRecorderCodeBytes + kRecorderStateBytes + static_cast<std::uint32_t>(sizeof(trace::ThreadHeader)) +
         2 * half_bytes;
}
static_assert(kRecorderCodeBytes < 2048);
static_assert(local_store_bytes(kPaperPageEvents * sizeof(PaperEvent)) <= 12 * 1024, "paper 003: 12 KiB");

/// Number of the procedure by which a recorder gets its pages.
inline constexpr std::uint32_t kAllotPages = 1;
/// Core cycles of the PPE's malloc of all of an SPE's pages. Assumed.
inline constexpr std::int64_t kAllotCycles = 20'000;

/// Offers kAllotPages: `limit_bytes` of main memory for the pages of all SPEs together; what goes beyond is
/// refused, and the SPE gets as many whole pages as are left.
void offer_pages(RemoteCalls& calls, cell::System& system, std::uint64_t limit_bytes);

class SpeRecorder {
 public:
  using Where = std::source_location;
  /// The tag group of its dumps.
  static constexpr std::uint32_t kTag = 31;

  /// Takes local_store_bytes() at `at`, a multiple of 128, less its code. `calls` must offer kAllotPages.
  SpeRecorder(cell::Spu& spu, const RemoteCalls& calls, const RecorderSettings& settings, cell::LsAddress at);
  SpeRecorder(const SpeRecorder&) = delete;
  SpeRecorder& operator=(const SpeRecorder&) = delete;

  /// Gets its pages and records PROFILE_START.
  void start();
  /// Records PROFILE_STOP, dumps what is left, and waits until it is in main memory.
  void stop();

  /// Runs `call` and records it.
  template <class Call>
  void record(EventFields fields, Call call) {
    spu_.spu_cycles(costs().call);
    fields.start = clock();
    call();
    fields.ticks = clock() - fields.start;
    put(fields);
  }
  /// A function of the program, also one that was expanded inline, by its address in local store.
  void enter(std::uint64_t function) { function_event(Event::enter, function); }
  void exit(std::uint64_t function) { function_event(Event::exit, function); }

  // ---- DMA, as the SDK's libraries spell it (table 1): recorded, and then done ----

  enum class Dma : std::uint8_t { put, get };
  /// spu_mfcdma64: the high and the low word of the effective address.
  void mfcdma64(cell::LsAddress ls, std::uint32_t eah, std::uint32_t eal, std::uint32_t size, std::uint32_t tag,
                Dma command, const Where& where = Where::current());
  /// spu_mfcdma32: the high word is that of the first main memory, the PPE's own address space.
  void mfcdma32(cell::LsAddress ls, std::uint32_t eal, std::uint32_t size, std::uint32_t tag, Dma command,
                const Where& where = Where::current());
  /// A list; its event has the bytes of all of its elements.
  void mfcdma_list(cell::LsAddress ls, cell::EffectiveAddress ea, cell::LsAddress list, std::uint32_t list_size,
                   std::uint32_t tag, Dma command, const Where& where = Where::current());
  /// mfc_put.
  void put_any(cell::LsAddress ls, cell::EffectiveAddress ea, std::uint32_t size, std::uint32_t tag,
               const Where& where = Where::current());
  /// Waits for the tag groups of `mask`.
  void wait(std::uint32_t mask, const Where& where = Where::current());

  // ---- what became of it ----

  [[nodiscard]] std::uint32_t pages_allotted() const { return pages_; }
  [[nodiscard]] std::uint32_t pages_used() const { return used_; }
  [[nodiscard]] cell::EffectiveAddress pages_at() const { return base_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::uint64_t lost_bytes() const { return losses_.lost_bytes; }
  /// Cycles that the program stood still in step 1.
  [[nodiscard]] std::int64_t waited_cycles() const { return waited_; }
  /// When the clock began and ended, in core cycles of the simulation, and what it then showed.
  [[nodiscard]] sim::Time began() const { return began_; }
  [[nodiscard]] sim::Time ended() const { return ended_; }
  [[nodiscard]] std::uint64_t last_tick() const { return last_tick_; }

 private:
  [[nodiscard]] std::int32_t peer_of(cell::EffectiveAddress ea) const;
  static bool dump(void* self, const trace::FullHalf& half);
  bool dump_half(const trace::FullHalf& half);
  [[nodiscard]] const RecordingCosts& costs() const { return settings_.costs; }
  /// Ticks of the decrementer since the start, from 1.
  std::uint64_t clock();
  void put(const EventFields& fields);
  void function_event(Event event, std::uint64_t function);
  void dma_event(Event event, cell::EffectiveAddress ea, std::uint64_t bytes, std::uint32_t tag,
                 const std::function<void()>& command);

  cell::Spu& spu_;
  const RemoteCalls& calls_;
  RecorderSettings settings_;
  cell::LsAddress message_;  ///< of the call for pages
  cell::LsAddress buffers_;  ///< the thread block
  trace::ThreadRecorder recorder_;
  trace::FileHeader losses_{};
  cell::EffectiveAddress base_ = 0;
  std::uint32_t pages_ = 0, used_ = 0;
  std::uint32_t last_count_ = 0;
  std::uint64_t ticks_ = 1;
  std::uint64_t events_ = 0;
  std::int64_t waited_ = 0;
  sim::Time began_ = 0, ended_ = 0;
  std::uint64_t last_tick_ = 1;
};

}  // namespace corewise::lab
