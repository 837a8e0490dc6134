// Remote procedure calls from SPEs to the PPE, as the Cell Messaging Layer has them (paper 003, section 2.3): an
// SPE names a procedure and a message in its local store, the PPE reads the message, runs the procedure, writes the
// message back and answers.
//
// Mechanism. The call is one word in the SPE's outbound mailbox: the procedure's number, where the message is, how
// long it is. A thread of the PPE serves each SPE. It loads and stores the message through the mapped local store,
// 8 bytes at a time, as a PPE does. The answer is a word in the SPE's inbound mailbox or a bit in its second signal
// register: whichever is chosen belongs to this service. Whereas ppe_service hears all ranks in rounds, here every
// SPE is served when it calls.
//
// Contract. A call blocks its SPE's program until it is answered. A service ends when every SPE has left; one whose
// SPEs do not leave ends as a deadlock. A wrong number ends the run with a status that lists the right ones.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "cell/address.hpp"
#include "cell/ppe/ppu.hpp"
#include "cell/spe/spu.hpp"
#include "cell/system.hpp"

namespace corewise::lab {

/// How the PPE tells an SPE that its call is done.
enum class Answer : std::uint8_t { mailbox, signal };

class RemoteCalls {
 public:
  /// What runs on the PPE; `message` is what the SPE sent, and what it leaves there is sent back.
  using Procedure = std::function<void(cell::Ppu& ppu, std::span<std::byte> message)>;

  static constexpr std::uint32_t kMostProcedures = 255;
  static constexpr std::uint32_t kMostMessageBytes = 16 * 1023;

  explicit RemoteCalls(Answer answer = Answer::mailbox) : answer_(answer) {}

  /// Procedure `number`, 1 to kMostProcedures; the last one of a number counts.
  void offer(std::uint32_t number, Procedure procedure) { procedures_[number] = std::move(procedure); }

  /// Puts the service for `spes` on the first chip's PPE; before System::run. This object must outlive the run.
  void serve(cell::System& system, std::vector<int> spes);

  // The SPE's side.

  /// Calls `number` with `bytes` at `message`, both multiples of 16, and blocks until it is done.
  void call(cell::Spu& spu, std::uint32_t number, cell::LsAddress message, std::uint32_t bytes) const;
  /// This SPE will call no more.
  void leave(cell::Spu& spu) const;

  /// Calls that were served.
  [[nodiscard]] std::uint64_t served() const { return served_; }

 private:
  void serve_one(cell::Ppu& ppu, int spe);
  void run(cell::Ppu& ppu, cell::SpeContext* context, std::uint32_t word);

  Answer answer_;
  std::map<std::uint32_t, Procedure> procedures_;
  std::uint64_t served_ = 0;
};

}  // namespace corewise::lab
