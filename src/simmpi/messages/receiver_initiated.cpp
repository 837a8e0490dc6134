// The receiver-initiated protocol: steps of Transport that events call (transport.hpp says what they are).
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "simmpi/messages/transport.hpp"
#include "simmpi/world.hpp"

namespace corewise::simmpi {
namespace {

using sim::Time;

std::uint64_t as_argument(Message& message) {
  return reinterpret_cast<std::uint64_t>(&message);
}

Invitation& invitation_of(std::uint64_t argument) {
  return *reinterpret_cast<Invitation*>(argument);
}

int world_rank(const Request& request, int rank) {
  return request.comm->shared->world[static_cast<std::size_t>(rank)];
}

}  // namespace

// ---- the receiver ------------------------------------------------------------------------------------------

void Transport::invite(const Mailbox& box) {
  for (Request* receive = box.first_posted(); receive != nullptr; receive = receive->next) {
    if (receive->peer == MPI_ANY_SOURCE) return;
    if (receive->invitation != nullptr) continue;
    if (free_invitations_.empty()) free_invitations_.push_back(&invitations_.emplace_back());
    Invitation& invitation = *free_invitations_.back();
    free_invitations_.pop_back();
    invitation = {receive, nullptr, world_rank(*receive, receive->comm->rank), world_rank(*receive, receive->peer),
                  false};
    receive->invitation = &invitation;
    const Time when = std::max(receive->posted, world_.engine().now());
    world_.engine().at(when, {&send_invitation, this, reinterpret_cast<std::uint64_t>(&invitation)});
  }
}

void Transport::send_invitation(void* self, std::uint64_t argument) {
  auto& transport = *static_cast<Transport*>(self);
  Invitation& invitation = invitation_of(argument);
  if (invitation.receive == nullptr) return transport.free_invitations_.push_back(&invitation);
  transport.world_.send_control(invitation.receiver, invitation.sender, {&invited, self, argument});
}

void Transport::meet_at_receiver(Message& message, Request& receive, Time when) {
  std::erase(waiting_[static_cast<std::size_t>(message.from)], &message);
  if (receive.invitation == nullptr) {
    world_.engine().at(when, {&answer, this, as_argument(message)});
  } else if (receive.invitation->there) {
    take_invitation(receive);
    put(message);
  } else {
    receive.invitation->message = &message;
  }
  if (receive.peer == MPI_ANY_SOURCE) invite(mailbox(message));
}

void Transport::withdraw_invitation(Request& receive) {
  Invitation* invitation = std::exchange(receive.invitation, nullptr);
  if (invitation == nullptr) return;
  invitation->receive = nullptr;
  if (invitation->there) free_invitations_.push_back(invitation);
}

// ---- the sender --------------------------------------------------------------------------------------------

void Transport::leave(Message& message) {
  if (meet_at_sender(message)) return;
  waiting_[static_cast<std::size_t>(message.from)].push_back(&message);
  if (message.internal) return;  // no collective receives from anybody
  message.announced = true;
  message.order = order_.at(message.from, message.to).sent++;
  world_.send_control(message.from, message.to, {&arrive, this, as_argument(message)});
}

void Transport::invited(void* self, std::uint64_t argument) {
  auto& transport = *static_cast<Transport*>(self);
  Invitation& invitation = invitation_of(argument);
  invitation.there = true;
  if (invitation.receive == nullptr) return transport.free_invitations_.push_back(&invitation);
  if (invitation.message != nullptr) {
    Message& message = *invitation.message;
    transport.take_invitation(*invitation.receive);
    return transport.put(message);
  }
  std::vector<Message*>& waiting = transport.waiting_[static_cast<std::size_t>(invitation.sender)];
  const int receiver = invitation.receiver;
  std::erase_if(waiting, [&](Message* message) {
    return message->to == receiver && !message->taken && transport.meet_at_sender(*message);
  });
}

bool Transport::meet_at_sender(Message& message) {
  Mailbox& box = mailbox(message);
  Request* receive = box.first_fitting(message);
  if (receive == nullptr || receive->invitation == nullptr || !receive->invitation->there) return false;
  box.withdraw(*receive);
  take_invitation(*receive);
  note(message, *receive);
  const Time now = world_.engine().now();
  if (now > message.at) {  // the send was there first: what follows rests on the receiver
    message.path = receive->path;
    message.path.transfer += now - receive->posted;
    ++message.path.messages;
    message.at = now;
  }
  put(message);
  return true;
}

void Transport::take_invitation(Request& receive) {
  free_invitations_.push_back(std::exchange(receive.invitation, nullptr));
}

void Transport::put(Message& message) {
  const std::uint64_t bytes = with_header(message.bytes);
  const Time leaves = world_.send(message.from, message.to, bytes, {&receive_data, this, as_argument(message)});
  Request* send = std::exchange(message.send, nullptr);
  if (send == nullptr) return;
  if (world_.carries_data()) message.data = packed_copy(*send, message.bytes);
  const Time gone =
      leaves + world_.alone(message.from, message.to, bytes) - world_.alone(message.from, message.to, 0);
  send->path = message.path;
  send->path.transfer += gone - message.at;
  world_.engine().at(gone, {&buffer_free, this, reinterpret_cast<std::uint64_t>(send)});
}

void Transport::buffer_free(void* self, std::uint64_t argument) {
  auto& transport = *static_cast<Transport*>(self);
  transport.complete(*reinterpret_cast<Request*>(argument), transport.world_.engine().now());
}

}  // namespace corewise::simmpi
