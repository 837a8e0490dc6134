// Transport: moves messages between mailboxes over the network: eager (the data travel at once, into a copy) or by
// rendezvous (a header first; the data when the receive is known), whatever the mode asks for.
//
// Where there is a table of message costs, it takes the settings' place: what the table says beyond the sender's
// own time and the network is the receiver's copy. A long one is copied while its data are under way, once its
// receiver is in MPI; both ends have it when both are done.
//
// Otherwise the cost of a message of b bytes: send_ns; the network's time for header + b (eager), or for a header
// there, a header back and b bytes (rendezvous); receive_ns. An eager one is copied twice at copy_gb_per_s.
//
// Receiver-initiated, where the setting says so, as the Cell Messaging Layer sends (paper 003, section 2.3): local
// stores have no room for a message that nobody waits for, so no message is sent before its receive is known.
// A receive from a rank sends that rank an invitation of header_bytes as it is posted: where to put the message.
// A send whose receive has invited it puts its data, with a header behind them, and no copy is made. Its buffer is
// free when the last byte has left: after the time that the bytes take alone. A send without an invitation waits,
// and announces itself with a header, since its receive may be one from MPI_ANY_SOURCE, or a probe may look for it.
// Such a receive invites the message that it meets. Sends inside a collective are received by name and announce
// nothing. A receive behind one from MPI_ANY_SOURCE on its communicator invites when that one has met its message:
// its sender could not know for which of them its message is.
//
// The two ends agree on who meets whom, since both take the first receive that fits, and a receive that has its
// message is no longer there for others. send_ns and receive_ns are paid as always; MPI_Bsend alone copies.
//
// Messages of one pair of ranks are matched in the order in which they were sent, as if they used one channel
// (MPI-3.1, section 3.5). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "simmpi/messages/copies.hpp"
#include "simmpi/messages/pairs.hpp"
#include "simmpi/messages/uses.hpp"
#include "simmpi/rank.hpp"

namespace corewise::simmpi {

class World;

/// A receive's word to a sender: where to put a message.
struct Invitation {
  Request* receive = nullptr;  ///< null where it was cancelled
  Message* message = nullptr;  ///< where the receive has met it before the sender has heard
  int receiver = 0;            ///< ranks in the world
  int sender = 0;
  bool there = false;  ///< the sender has it
};

/// The bytes that a request sends; null where there are none.
std::unique_ptr<std::byte[]> packed_copy(const Request& request, std::int64_t bytes);

class Transport {
 public:
  explicit Transport(World& world);

  /// Starts a send or a receive; the request's peer is a rank of its communicator, or MPI_PROC_NULL.
  void start(Actor& actor, Request& request);
  void send(Actor& actor, Request& request);
  void receive(Actor& actor, Request& request);
  /// Receives a message that MPI_Mprobe took out.
  void receive_matched(Actor& actor, Request& request, Message& message);
  /// The first message that fits a probe; null where there is none yet.
  Message* probe(Actor& actor, Comm& comm, int source, int tag);
  /// Waits until there is one.
  Message& wait_for_message(Actor& actor, Comm& comm, int source, int tag);
  /// Takes a receive back; false where it has met its message.
  bool cancel(Request& request);

  /// Until every request is done (null: none) and the actor's clock is not before their ends; pays their cost.
  void wait_all(Actor& actor, std::span<Request* const> requests);
  /// Until one of them is done; at least one is not null.
  void wait_any(Actor& actor, std::span<Request* const> requests);
  /// The rank used so much memory while it computed.
  void touch(const Actor& actor, double ns);
  /// The request is done: its waiter learns of it.
  void complete(Request& request, sim::Time when);

 private:
  static void depart(void* self, std::uint64_t message);
  static void arrive(void* self, std::uint64_t message);
  static void answer(void* self, std::uint64_t message);
  static void send_data(void* self, std::uint64_t message);
  static void copy(void* self, std::uint64_t message);
  static void part_done(void* self, std::uint64_t message);
  static void receive_data(void* self, std::uint64_t message);

  // receiver_initiated.cpp: on the receiver's side,
  /// Invites the senders of a mailbox's receives, up to one from MPI_ANY_SOURCE.
  void invite(const Mailbox& box);
  static void send_invitation(void* self, std::uint64_t invitation);
  void meet_at_receiver(Message& message, Request& receive, sim::Time when);
  void withdraw_invitation(Request& receive);
  // and on the sender's.
  void leave(Message& message);
  static void invited(void* self, std::uint64_t invitation);
  /// Puts the message where its receive has invited it; false where none has.
  bool meet_at_sender(Message& message);
  void take_invitation(Request& receive);
  void put(Message& message);
  static void buffer_free(void* self, std::uint64_t request);

  void post(Actor& actor, Message& message);
  void accept(Message& message);
  void accept_held(Message& message);
  void match(Message& message, Request& receive, sim::Time when);
  /// What the receive gets and pays for.
  void note(Message& message, Request& receive);
  static void follow(Actor& actor, sim::Time before, std::span<Request* const> requests);
  void deliver(Message& message, sim::Time when);
  /// What sending costs, where there is a table.
  double table_send_ns(Actor& actor, const Request& request, Message& message);
  void meet_by_table(Message& message, Request& receive, sim::Time when);
  void finish(Message& message);
  [[nodiscard]] Mailbox& mailbox(const Message& message) const;
  [[nodiscard]] sim::Time copy_time(std::int64_t bytes) const;
  [[nodiscard]] std::uint64_t with_header(std::int64_t bytes) const;
  Message* new_message();

  World& world_;
  Copies copies_;
  std::vector<Uses> uses_;
  double near_ns_ = 0;  ///< a header's way to the nearest unit: part of what the table has
  /// Messages of a pair of ranks.
  struct Order {
    std::uint32_t sent = 0;
    std::uint32_t accepted = 0;  ///< of them, those that have reached the mailbox
  };
  PairTable<Order> order_;
  std::vector<std::vector<Message*>> held_;  ///< per receiver: overtook an earlier one
  std::deque<Message> messages_;             ///< all that ever were under way at one time
  std::vector<Message*> free_;               ///< of these, those that nobody has
  bool receiver_initiated_ = false;
  std::vector<std::vector<Message*>> waiting_;  ///< per sender, in the order of sending: for an invitation
  std::deque<Invitation> invitations_;
  std::vector<Invitation*> free_invitations_;
};

}  // namespace corewise::simmpi
