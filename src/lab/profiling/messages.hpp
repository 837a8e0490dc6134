// Messages between SPEs of one Cell as the Cell Messaging Layer sends them: receiver-initiated (paper 003,
// section 2.3, and its reference 1). The receiver puts a line with the address of its buffer into the sender's
// local store; the sender puts the data there and, fenced behind them, a line that says so. No copy, no PPE.
//
// Contract. `send` returns when its buffer is free, `receive` when the message is there. Messages of a pair arrive
// in order. A message longer than the receiver's buffer ends the run. Each call declares `call_cycles` of software.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <source_location>
#include <vector>

#include "cell/address.hpp"
#include "cell/spe/spu.hpp"

namespace corewise::lab {

class SpeMessages {
 public:
  using Where = std::source_location;

  /// A line of 16 bytes per peer and direction, at the same place on all SPEs.
  static constexpr std::uint32_t local_store_bytes(int ranks) { return 4 * 16 * static_cast<std::uint32_t>(ranks); }

  /// `spes` of the ranks; `at` is a multiple of 16. Must be made on all SPEs before any of them calls.
  SpeMessages(cell::Spu& spu, std::vector<int> spes, int rank, cell::LsAddress at, std::int64_t call_cycles)
      : spu_(spu), spes_(std::move(spes)), rank_(rank), at_(at), call_cycles_(call_cycles), peers_(spes_.size()) {}

  void send(int peer, cell::LsAddress from, std::uint32_t bytes, const Where& where = Where::current());
  void receive(int peer, cell::LsAddress to, std::uint32_t capacity, const Where& where = Where::current());

 private:
  static constexpr std::uint32_t kDataTag = 0, kLineTag = 1;
  struct Peer {
    std::uint32_t sent = 0, received = 0;
  };
  /// What a line says; `sequence` counts the pair's messages, from 1.
  struct Line {
    std::uint32_t sequence = 0;
    std::uint32_t buffer = 0;
    std::uint32_t bytes = 0;
    std::uint32_t unused = 0;
  };
  enum class Kind : std::uint8_t { request, done };

  [[nodiscard]] cell::LsAddress line(Kind kind, int peer) const;
  [[nodiscard]] cell::LsAddress slot(Kind kind, int peer) const;
  void put_line(Kind kind, int peer, const Line& value, bool fenced, std::uint32_t tag, const Where& where);
  Line wait_for(Kind kind, int peer, std::uint32_t sequence, const Where& where);
  void wait_tag(std::uint32_t tag, const Where& where);

  cell::Spu& spu_;
  std::vector<int> spes_;
  int rank_;
  cell::LsAddress at_;
  std::int64_t call_cycles_;
  std::vector<Peer> peers_;
};

}  // namespace corewise::lab
