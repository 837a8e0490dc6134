// CutThroughNetwork: packets over routers with virtual cut-through (Kermani and Kleinrock, Computer Networks 3,
// 1979). It serves every machine with a route table: the dimension-order routes of a mesh, the up-and-down routes
// of a hierarchy of shared links (chiplets, sockets), bridges between parts, and rings that RingBus does not fit.
//
// How it works. A message is cut into packets that follow the routes of the machine, in turn where there are
// several. Each link ends in input buffers that take `buffer_packets` whole packets and what is on the wire. A
// packet at the head of a buffer (or of the queue in which its sender keeps what has to leave by the same link)
// asks for its next link; the link, when free, serves those that ask round robin, but only one whose next buffer
// has room for the whole packet (a credit). Its head is there one hop latency later and may move on at once, its
// tail leaves as late as it arrived: an undisturbed message takes the hops' latency plus its bytes over the slowest
// bandwidth. Receivers take what comes.
//
// No deadlock, on any machine: links are numbered so that few routes ever step to a lower number, and a packet that
// does changes to buffers (a virtual channel) that only such packets use. So (channel, number) grows along every
// route, and waiting never closes a circle. A mesh needs one channel, a closed dimension adds one (its dateline).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "sim/networks/network.hpp"

namespace corewise::sim {

/// Numbers for the links so that routes step downwards as rarely as a depth-first search can make it.
struct LinkOrder {
  std::vector<std::int32_t> rank_of_link;
  std::int32_t channels = 1;  ///< 1 + the most downward steps of any route

  static LinkOrder of(const machine::Machine& machine);
  [[nodiscard]] bool steps_down(machine::LinkId from, machine::LinkId to) const {
    return rank_of_link[static_cast<std::size_t>(to)] < rank_of_link[static_cast<std::size_t>(from)];
  }
};

class CutThroughNetwork final : public Network {
 public:
  CutThroughNetwork(Engine& engine, const machine::Machine& machine, const NetworkParameters& parameters);

  void send(machine::UnitId from, machine::UnitId to, std::uint64_t bytes, const Handler& delivered) override;
  [[nodiscard]] Time alone(machine::UnitId from, machine::UnitId to, std::uint64_t bytes) const override;
  [[nodiscard]] std::vector<LinkStatistics> link_statistics() const override;

  /// Virtual channels of each link.
  [[nodiscard]] std::int32_t channels() const { return order_.channels; }
  /// Packets that a buffer of the link takes, those under way on the link included.
  [[nodiscard]] std::int64_t room_of(machine::LinkId link) const;
  /// The least room that any of its buffers had left.
  [[nodiscard]] std::int64_t least_room() const { return least_room_; }

 private:
  using Index = std::int32_t;
  static constexpr Index kNone = -1;

  struct Message {
    Handler delivered;
    std::uint64_t bytes = 0;
    std::uint64_t packets_left = 0;
    Time expected = 0;
    machine::UnitId from = 0;
    machine::UnitId to = 0;
  };
  struct Packet {
    Index message = 0;
    machine::Links route;
    std::uint32_t hop = 0;     ///< links behind it
    std::int32_t channel = 0;  ///< of the buffer that it is in
    std::uint64_t bytes = 0;
    Time tail = 0;       ///< when its last byte is where its head is
    Index next = kNone;  ///< in its input, or the free list
  };
  /// Packets of a message that leave by one route: created one by one.
  struct Batch {
    Index message = 0;
    machine::Links route;
    std::uint64_t next = 0;  ///< number of the next packet
    std::uint64_t step = 1;  ///< routes of the pair
    std::uint64_t end = 0;   ///< packets of the message
  };
  /// Where packets stand in line: the buffer of a link and channel, or a sender's queue for its first link.
  struct Input {
    Index head = kNone, tail = kNone;
    Time port_free = 0;          ///< when the tail of the last packet out has left
    bool asking = false;         ///< its head waits for a link or for its own tail
    machine::LinkId link = -1;   ///< whose buffer it is; -1 for a sender's queue
    std::int64_t room = 0;       ///< packets it still takes
    bool wanted = false;         ///< somebody waits for room
    std::vector<Time> leaving;   ///< when tails will have left, ascending: room then
    std::size_t left = 0;        ///< of `leaving`, already counted
    std::vector<Batch> batches;  ///< of a sender, first first
    std::size_t first_batch = 0;
  };
  struct Output {
    Time free_at = 0;
    Time kick_at = kForever;    ///< the next arbitration that is scheduled
    Index last = kNone;         ///< input served last
    std::vector<Index> asking;  ///< inputs, ascending
    LinkStatistics statistics;
  };
  struct Source {
    machine::LinkId link;
    Index input;
  };

  static void arrive(void* self, std::uint64_t packet);
  static void offer_head(void* self, std::uint64_t input);
  static void arbitrate_now(void* self, std::uint64_t link);
  static void packet_done(void* self, std::uint64_t packet);
  static void deliver_local(void* self, std::uint64_t message);

  Index new_message(const Message& message);
  Index new_packet(const Packet& packet);
  Index source_input(machine::UnitId from, machine::LinkId link);
  [[nodiscard]] Index buffer_of(machine::LinkId link, std::int32_t channel) const {
    return link * order_.channels + channel;
  }
  [[nodiscard]] std::int32_t next_channel(const Packet& packet) const;
  [[nodiscard]] Time duration(machine::LinkId link, std::uint64_t bytes) const;
  void push(Index input, Index packet);
  void pop(Index input);
  void refill(Input& input);
  void ask(Index input);
  void eject(Index input);
  void kick(machine::LinkId link, Time when);
  void arbitrate(machine::LinkId link);
  bool has_room(Input& buffer, Time& retry);
  void grant(machine::LinkId link, Index input);
  void leave(Index input, Time tail_out);
  void deliver(Index message);
  void record(machine::LinkId link, const Packet& packet, Time end);

  NetworkParameters parameters_;
  std::vector<Timeline::Track> tracks_;  ///< per link, in the engine's timeline; empty where there is none
  LinkOrder order_;
  std::vector<Time> latency_;                 ///< per link
  std::vector<double> ticks_per_byte_;        ///< per link
  std::vector<Input> inputs_;                 ///< buffers first, then senders' queues
  std::vector<Output> outputs_;               ///< per link
  std::vector<std::vector<Source>> sources_;  ///< per unit
  std::vector<Message> messages_;
  std::vector<Index> free_messages_;
  std::vector<Packet> packets_;
  Index free_packet_ = kNone;
  std::int64_t least_room_ = 0;
};

}  // namespace corewise::sim
