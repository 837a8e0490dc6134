// Mailbox: where messages and receives of one member of one communicator meet, in the order that MPI-3.1,
// section 3.5, asks for: a message takes the receive that was posted first among those that fit, a receive the
// message that arrived first. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "simmpi/messages/request.hpp"

namespace corewise::simmpi {

struct AttachedBuffer;
struct Shared;

/// A message between its send and its receive.
struct Message {
  Shared* shared = nullptr;  ///< its communicator
  int from = 0;              ///< ranks in the world
  int to = 0;
  int source = 0;  ///< ranks in the communicator
  int target = 0;
  int tag = 0;
  bool internal = false;
  bool eager = false;
  bool announced = false;   ///< a header on its way says that it waits
  bool taken = false;       ///< by a matched probe
  bool over = false;        ///< it has been delivered
  std::uint32_t order = 0;  ///< among the messages of its pair of ranks
  std::int64_t bytes = 0;
  sim::Time at = 0;                   ///< when it left, then when it met its receive
  Path path;                          ///< of `at`
  std::unique_ptr<std::byte[]> data;  ///< a copy, packed; null where it stays with the sender
  Request* send = nullptr;            ///< completes when the data are there; null where it is complete already
  Request* receive = nullptr;
  AttachedBuffer* attached = nullptr;  ///< whose room is given back at the end
  std::int64_t reserved_bytes = 0;
  double moved = 0;    ///< since its sender used its buffer last
  double both_ns = 0;  ///< of its copy, where a table says so; and alone
  double alone_ns = 0;
  int missing = 0;  ///< the copy, and the data's way over the network
  Message* next = nullptr;
};

class Mailbox {
 public:
  void post(Request& receive);
  /// The receive that was posted first, from which `next` leads to the others.
  [[nodiscard]] Request* first_posted() const { return first_receive_; }
  /// The receive that a message would take; it stays.
  [[nodiscard]] Request* first_fitting(const Message& message) const;
  /// The receive that a message takes, out of the list; null where none fits.
  Request* take_receive(const Message& message);
  void add(Message& message);
  /// The first message that fits; it stays.
  [[nodiscard]] Message* find(int source, int tag) const;
  /// The first message that fits, out of the list; null where none does.
  Message* take_message(int source, int tag);
  /// Takes a message out for a matched probe.
  void remove(Message& message);
  /// Takes a receive out; false where it is not in the list.
  bool withdraw(Request& receive);

  Actor* prober = nullptr;  ///< who waits for any message to come

 private:
  Request* first_receive_ = nullptr;
  Request* last_receive_ = nullptr;
  Message* first_message_ = nullptr;
  Message* last_message_ = nullptr;
};

}  // namespace corewise::simmpi
