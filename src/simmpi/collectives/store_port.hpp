// StorePort: the port (room port) between ranks of one group, whose local stores can be written and read by each
// other without a message of MPI: what the collectives of room coll run on inside a blade.
//
// Contract: port/port.hpp. Only a rank's own program calls its port, in blocking collectives. A rank's user memory
// counts as part of its local store, so peers reach it too.
//   Time. An operation costs its rank the setting `call_ns` to start; its bytes then cross the network as they are,
//     without a header. A read first asks with a message of `header_bytes`. There is no matching and neither
//     `send_ns` nor `receive_ns`. Copies between user memory and the own stage run at `copy_gb_per_s`. The cycles
//     that algorithms declare cost nothing, as the bookkeeping and the combining of all other collectives here.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <source_location>
#include <span>
#include <vector>

#include "port/capabilities.hpp"
#include "port/port.hpp"
#include "simmpi/rank.hpp"

namespace corewise::simmpi {

class StorePort {
 public:
  using UserAddress = std::byte*;
  using ConstUserAddress = const std::byte*;
  static constexpr std::uint32_t kCopyAlignment = 1;

  /// Of member `rank` of the group `world` (ranks in the world). `ports` are those of all members, once made.
  StorePort(const std::vector<int>& world, const std::vector<StorePort*>& ports, int rank,
            const port::Layout& layout);
  StorePort(const StorePort&) = delete;
  StorePort& operator=(const StorePort&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(world_.size()); }
  [[nodiscard]] const port::Layout& layout() const { return layout_; }
  [[nodiscard]] std::span<std::byte> stage() { return {stage_.front().bytes, layout_.stage_bytes}; }

  template <class L>
  void put_line(int peer, L line, port::Sequence sequence, std::span<const std::byte> payload, port::Tag tag) {
    Operation& made = add(tag, peer, L::kBytes);
    made.is_line = true;
    made.to = peer_port(peer).line_at(line);
    std::memcpy(made.line.data(), &sequence, sizeof sequence);
    if (!payload.empty()) std::memcpy(made.line.data() + sizeof sequence, payload.data(), payload.size());
    begin(made);
  }
  template <class L>
  [[nodiscard]] port::Sequence line_sequence(L line) const {
    port::Sequence sequence = 0;
    std::memcpy(&sequence, line_at(line), sizeof sequence);
    return sequence;
  }
  template <class L>
  [[nodiscard]] std::span<const std::byte, L::kPayloadBytes> line_payload(L line) const {
    return std::span<const std::byte, L::kPayloadBytes>(line_at(line) + sizeof(port::Sequence), L::kPayloadBytes);
  }
  template <class L, class Ready>
  void wait_lines(L /*first*/, std::uint32_t /*count*/, Ready&& ready,
                  const std::source_location& /*where*/ = std::source_location::current()) {
    catch_up();
    while (!ready()) block();
  }

  void put(port::StageOffset from, port::Remote to, std::uint32_t bytes, port::Tag tag) {
    write_user(to.peer, from, peer_port(to.peer).place(to.at), bytes, tag);
  }
  void get(port::Remote from, port::StageOffset to, std::uint32_t bytes, port::Tag tag) {
    read_user(from.peer, peer_port(from.peer).place(from.at), to, bytes, tag);
  }
  void copy_in(ConstUserAddress from, port::StageOffset to, std::uint32_t bytes, port::Tag tag);
  void copy_out(port::StageOffset from, UserAddress to, std::uint32_t bytes, port::Tag tag);
  // port::DirectRead, port::DirectWrite
  void read_user(int peer, ConstUserAddress from, port::StageOffset to, std::uint32_t bytes, port::Tag tag);
  void write_user(int peer, port::StageOffset from, UserAddress to, std::uint32_t bytes, port::Tag tag);

  void wait(port::TagMask mask);
  [[nodiscard]] port::TagMask test(port::TagMask mask);
  void compute(std::int64_t /*cycles*/) {}

 private:
  /// Started and not complete. A line waits for those before it under its tag.
  struct Operation {
    port::Tag tag = 0;
    int peer = 0;
    std::uint32_t bytes = 0;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    bool is_line = false;
    bool is_read = false;
    std::array<std::byte, port::Line128::kBytes> line{};  ///< as it will be
  };
  struct alignas(port::kStageAlignment) Block {
    std::byte bytes[port::kStageAlignment];
  };

  [[nodiscard]] StorePort& peer_port(int peer) const { return *ports_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] std::byte* place(port::StageOffset at) { return stage_.front().bytes + at; }
  [[nodiscard]] std::byte* line_at(port::Line16 line) { return lines16_.data() + std::size_t{line.index} * 16; }
  [[nodiscard]] std::byte* line_at(port::Line128 line) { return lines128_.data() + std::size_t{line.index} * 128; }
  [[nodiscard]] const std::byte* line_at(port::Line16 line) const {
    return lines16_.data() + std::size_t{line.index} * 16;
  }
  [[nodiscard]] const std::byte* line_at(port::Line128 line) const {
    return lines128_.data() + std::size_t{line.index} * 128;
  }
  [[nodiscard]] int world_rank(int member) const { return world_[static_cast<std::size_t>(member)]; }
  [[nodiscard]] Actor& actor() const;
  /// The engine comes up to the rank's clock.
  void catch_up() const;
  /// Until something changes that this rank may wait for.
  void block();
  void wake() const;
  [[nodiscard]] bool busy(port::TagMask mask) const;

  Operation& add(port::Tag tag, int peer, std::uint32_t bytes);
  void begin(Operation& operation);
  void leave(Operation& operation);
  void complete(Operation& operation);
  static void asked(void* self, std::uint64_t operation);
  static void delivered(void* self, std::uint64_t operation);

  const std::vector<int>& world_;
  const std::vector<StorePort*>& ports_;
  int rank_;
  port::Layout layout_;
  std::vector<Block> stage_;
  std::vector<std::byte> lines16_;
  std::vector<std::byte> lines128_;
  std::array<std::list<Operation>, port::kTags> under_way_;  ///< by tag, in the order in which they were started
  bool waits_ = false;
};

static_assert(port::Port<StorePort> && port::DirectRead<StorePort> && port::DirectWrite<StorePort>);

}  // namespace corewise::simmpi
