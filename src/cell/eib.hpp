// Eib: the element interconnect bus of one chip. A request of at most one 128-byte line goes through the command
// phase (address concentrator, one command per bus cycle, snoop) and then, where it carries data, over the data
// rings. Who asks is a BusRequester, who is asked a BusTarget: local stores and registers, the memory controller,
// the link to the other chip of a blade.
//
// The life of a request: issue() -> command sent -> a slot of the address concentrator -> combined response of the
// snoopers -> the target accepts, or answers RETRY and the request is sent again after RetryPolicy's delay ->
//   read:  the target calls data_ready() -> the rings -> BusRequester::delivered
//   write: the requester's data go over the rings -> BusTarget::arrived, then BusRequester::delivered
//   address_only: BusRequester::delivered at the response.
// A target that never refuses and whose data are ready a constant time after the command says so in its traits;
// then the whole command phase costs no event.
//
// Contract: a BusRequest belongs to its requester and must live until delivered(). One thread; nothing is allocated
// per request. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cell/address.hpp"
#include "cell/parameters.hpp"
#include "sim/engine.hpp"
#include "sim/ring_bus.hpp"
#include "sim/ring_bus_recorder.hpp"
#include "sim/state.hpp"

namespace corewise::cell {

class BusRequester;
class BusTarget;
class Eib;

enum class BusKind : std::uint8_t {
  read,          ///< data from target to requester
  write,         ///< data from requester to target
  address_only,  ///< a command without data (kill, claim, sync, reservation)
};

/// One command on the bus. The requester fills the first part.
struct BusRequest {
  BusKind kind = BusKind::read;
  std::uint8_t flavour = 0;  ///< what else the target must know (BusFlavour); 0: plain
  std::uint8_t stop = 0;     ///< where the requester sits
  std::uint16_t bytes = 0;   ///< 1 .. 128, within one line
  EffectiveAddress ea = 0;
  std::byte* data = nullptr;  ///< the requester's bytes: written at a read's delivery, read at a write's
  BusRequester* requester = nullptr;
  std::uint64_t cookie = 0;  ///< the requester's own

  std::uint32_t send_ticks = 0;  ///< a write: from the command's acceptance to the data being ready to go

  // The rest is the bus's.
  BusTarget* target = nullptr;
  Eib* eib = nullptr;
  std::int32_t retries = 0;
  sim::Time issued = 0;
  std::uint64_t target_cookie = 0;  ///< the target's own, while it works on the request
};

enum class Answer : std::uint8_t { accept, retry };

/// Who may be addressed.
class BusTarget {
 public:
  struct Traits {
    int stop = 0;            ///< where it sits on its chip's bus
    bool global = false;     ///< its commands go through AC0 (coherent, blade-wide)
    bool immediate = false;  ///< never refuses; read data are ready `access_ticks` after the response
    sim::Time access_ticks = 0;
  };
  explicit BusTarget(const Traits& traits) : traits_(traits) {}
  virtual ~BusTarget() = default;
  [[nodiscard]] const Traits& traits() const { return traits_; }

  /// The command has reached all snoopers (now). An accepted read must lead to Eib::data_ready(request), an
  /// accepted write to Eib::write_granted(request): at once or later. Not called for immediate targets.
  virtual Answer command(BusRequest& request);
  /// A read's data are due at the requester: copy them to request.data now.
  virtual void fill(BusRequest& request) = 0;
  /// A write's data have arrived: take them from request.data now.
  virtual void arrived(BusRequest& request) = 0;

 protected:
  Traits traits_;
};

class BusRequester {
 public:
  virtual ~BusRequester() = default;
  /// All is done: a read's bytes lie in request.data, a write's at the target. The request is free again.
  virtual void delivered(BusRequest& request) = 0;
};

/// How long a request waits after its RETRY number `request.retries` (1, 2 ..) before it is sent again.
class RetryPolicy {
 public:
  virtual ~RetryPolicy() = default;
  virtual sim::Time delay(const BusRequest& request) = 0;
};

struct EibStatistics {
  std::uint64_t commands = 0;
  std::uint64_t global_commands = 0;
  std::uint64_t retries = 0;
  sim::Time command_wait_ticks = 0;  ///< for a slot of the address concentrator, summed
};

/// Slots of an address concentrator: one command per interval. Slots may be taken ahead of time; a later asker with
/// an earlier time still gets the earlier free slot.
class CommandSlots {
 public:
  explicit CommandSlots(sim::Time interval_ticks);
  /// Takes the first free slot at or after `when`; slots before `now` are forgotten. Returns its time.
  sim::Time take(sim::Time when, sim::Time now);
  /// See sim/state.hpp.
  void append_state(sim::State& state, sim::Time now) const;

 private:
  static constexpr std::size_t kWords = 64;
  [[nodiscard]] sim::Time slots_in(sim::Time ticks) const {
    return shift_ >= 0 ? ticks >> shift_ : ticks / interval_;
  }
  void forget_before(sim::Time word);
  [[nodiscard]] sim::Time take_far(sim::Time slot);

  sim::Time interval_;
  int shift_ = -1;                             ///< where dividing by the interval is a shift, else -1
  sim::Time horizon_ = 0;                      ///< slots before this index are forgotten
  std::array<std::uint64_t, kWords> taken_{};  ///< a circle of bits, one per slot
  std::vector<sim::Time> far_;                 ///< slots taken beyond the circle, sorted
};

class Eib {
 public:
  /// `chip` 0 or 1. `ac0` is the blade-wide concentrator: the slots of chip 0, shared; null on a single chip.
  Eib(sim::Engine& engine, const Parameters& parameters, int chip, CommandSlots* ac0 = nullptr);

  /// Says who answers for an SPE's local store and registers (kind local_store: both) or for a memory, as this
  /// chip sees it: what lies on the other chip is answered by the link.
  void attach(Location::Kind kind, int index, BusTarget& target);
  [[nodiscard]] BusTarget* target_of(EffectiveAddress ea) const;
  void set_retry_policy(RetryPolicy* policy) { retry_policy_ = policy; }

  /// Starts a request at `when` (now or later: a constant delay that needs no event). Its target must be attached;
  /// an address_only request with ea 0 (sync, eieio) has none.
  void issue(BusRequest& request, sim::Time when);
  void issue(BusRequest& request) { issue(request, engine_.now()); }
  /// Sends a request that its target refused once more after `delay`; who refuses has counted the refusal in
  /// request.retries.
  void issue_again(BusRequest& request, sim::Time delay);

  // For targets:
  /// The data of an accepted read are ready at `when` (now or later) to go onto the rings.
  void data_ready(BusRequest& request, sim::Time when);
  /// An accepted write may send its data from `when` on.
  void write_granted(BusRequest& request, sim::Time when);

  [[nodiscard]] sim::Engine& engine() { return engine_; }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] int chip() const { return chip_; }
  /// "cell1." where there are two chips: what names of its parts open with in a timeline.
  [[nodiscard]] std::string chip_prefix() const;
  [[nodiscard]] CommandSlots& slots() { return ac1_; }
  [[nodiscard]] sim::RingBus& rings() { return rings_; }
  [[nodiscard]] const sim::RingBus& rings() const { return rings_; }
  [[nodiscard]] const EibStatistics& statistics() const { return statistics_; }
  /// See sim/state.hpp: the rings' and the concentrator's.
  void append_state(sim::State& state, const sim::HandlerNames& names) const;

 private:
  static void issue_late(void* self, std::uint64_t request);
  static void respond(void* self, std::uint64_t request);
  static void deliver_read(void* self, std::uint64_t request);
  static void deliver_write(void* self, std::uint64_t request);
  static void deliver_address(void* self, std::uint64_t request);
  [[nodiscard]] sim::Time position_cycles(const BusRequest& request) const;
  [[nodiscard]] sim::Time response_time(const BusRequest& request, sim::Time when);
  void again(BusRequest& request);
  void send(BusRequest& request, int from, int to, sim::Time ready, sim::Handler::Call delivered);

  sim::Engine& engine_;
  const Parameters& parameters_;
  int chip_;
  sim::RingBus rings_;
  std::unique_ptr<sim::RingBusRecorder> recorder_;  ///< where the engine has a timeline
  CommandSlots ac1_;
  CommandSlots* ac0_;
  std::array<BusTarget*, kSpesPerChip * kMaxChips> spe_{};
  std::array<BusTarget*, kMaxChips> memory_{};
  std::array<sim::Time, kStops> own_port_free_{};  ///< from when a unit can send to itself again
  RetryPolicy* retry_policy_ = nullptr;
  EibStatistics statistics_;
};

}  // namespace corewise::cell
