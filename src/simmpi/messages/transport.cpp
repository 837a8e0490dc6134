// The two protocols, as steps that events call. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/messages/transport.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "simmpi/world.hpp"

namespace corewise::simmpi {
namespace {

using sim::Time;

/// Messages that an actor sends before it lets the engine come up to it: what bounds the memory of those under way.
constexpr int kMostUnseen = 64;

std::uint64_t argument_of(Message& message) {
  return reinterpret_cast<std::uint64_t>(&message);
}

Message& message_of(std::uint64_t argument) {
  return *reinterpret_cast<Message*>(argument);
}

Outcome nobody() {
  return {MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0, false};
}

/// Between the first unit and the one that is nearest to it.
double least_latency_ns(const machine::Machine& machine) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t unit = 1; unit < machine.units.size(); ++unit) {
    double latency = 0;
    for (const machine::LinkId link : machine.routes(0, static_cast<machine::UnitId>(unit)).front().links) {
      latency += machine.links[static_cast<std::size_t>(link)].latency_ns;
    }
    least = std::min(least, latency);
  }
  return std::isfinite(least) ? least : 0;
}

/// What a message that lies in a request's buffer costs the rank, where the buffer is in main memory.
Time time_to_touch(World& world, Rank& rank, const Request& request, std::int64_t count, bool write) {
  const Type& type = *request.type;
  if (!rank.memory || count <= 0) return 0;
  const std::int64_t bytes = std::max<std::int64_t>(0, (count - 1) * type.shape.extent) + type.shape.true_extent;
  return world.touch(rank, first_byte(request.buffer, type), static_cast<std::uint64_t>(bytes), write);
}

}  // namespace

std::unique_ptr<std::byte[]> packed_copy(const Request& request, std::int64_t bytes) {
  if (bytes == 0) return nullptr;
  std::unique_ptr<std::byte[]> data(new std::byte[static_cast<std::size_t>(bytes)]);
  pack(request.buffer, request.count, *request.type, data.get(), bytes);
  return data;
}

Transport::Transport(World& world)
    : world_(world),
      copies_(world.engine(), static_cast<std::size_t>(world.size()), &part_done, this),
      uses_(static_cast<std::size_t>(world.size())),
      order_(static_cast<std::size_t>(world.size())),
      held_(static_cast<std::size_t>(world.size())),
      receiver_initiated_(world.settings().receiver_initiated != 0),
      waiting_(static_cast<std::size_t>(world.size())) {
  if (!world.costs().empty()) near_ns_ = least_latency_ns(world.machine());
}

Time Transport::copy_time(std::int64_t bytes) const {
  return world_.ticks(static_cast<double>(bytes) / world_.settings().copy_gb_per_s);
}

std::uint64_t Transport::with_header(std::int64_t bytes) const {
  return static_cast<std::uint64_t>(bytes) + static_cast<std::uint64_t>(world_.settings().header_bytes);
}

Mailbox& Transport::mailbox(const Message& message) const {
  auto& boxes = message.internal ? message.shared->internal : message.shared->user;
  return boxes[static_cast<std::size_t>(message.target)];
}

Message* Transport::new_message() {
  if (free_.empty()) return &messages_.emplace_back();
  Message* message = free_.back();
  free_.pop_back();
  *message = Message{};
  return message;
}

void Transport::finish(Message& message) {
  if (AttachedBuffer* buffer = message.attached) {
    buffer->used -= message.reserved_bytes;
    if (buffer->detaching != nullptr) world_.engine().wake(*buffer->detaching->process);
  }
  message.data.reset();
  message.over = true;
  if (!message.announced) free_.push_back(&message);
}

// ---- the sender ------------------------------------------------------------------------------------------

void Transport::start(Actor& actor, Request& request) {
  request.active = true;
  request.done = false;
  request.outcome = {};
  if (request.kind == Request::Kind::send) {
    send(actor, request);
  } else {
    receive(actor, request);
  }
}

void Transport::send(Actor& actor, Request& request) {
  const Time begin = std::max(actor.clock, world_.engine().now());
  request.cost = 0;
  if (request.peer == MPI_PROC_NULL) {
    actor.clock = begin + world_.ticks(world_.settings().send_ns);
    return complete(request, actor.clock);
  }
  Message& message = *new_message();
  const std::int64_t bytes = request.type->bytes(request.count);
  message.shared = request.comm->shared;
  message.from = actor.rank->world;
  message.to = message.shared->world[static_cast<std::size_t>(request.peer)];
  message.source = request.comm->rank;
  message.target = request.peer;
  message.tag = request.tag;
  message.internal = request.internal;
  message.bytes = bytes;
  const bool small = static_cast<double>(bytes) <= world_.settings().eager_bytes;
  message.eager = small && request.mode != Mode::synchronous && !receiver_initiated_;
  const bool copied = message.eager || request.mode == Mode::buffered;
  actor.clock = begin + world_.ticks(world_.costs().empty() ? world_.settings().send_ns
                                                            : table_send_ns(actor, request, message));
  actor.clock += time_to_touch(world_, *actor.rank, request, request.count, false);
  if (copied) {
    if (world_.carries_data()) message.data = packed_copy(request, bytes);
    if (world_.costs().empty()) actor.clock += copy_time(bytes);
  } else {
    message.send = &request;
  }
  actor.path.software += actor.clock - begin;
  message.at = actor.clock;
  message.path = actor.path;
  if (copied) complete(request, actor.clock);
  if (request.mode == Mode::buffered) {
    message.attached = &actor.rank->attached;
    message.reserved_bytes = bytes + MPI_BSEND_OVERHEAD;
  }
  post(actor, message);
}

void Transport::post(Actor& actor, Message& message) {
  if (!receiver_initiated_) message.order = order_.at(message.from, message.to).sent++;
  Traffic& traffic = world_.traffic(message.from, message.to);
  const auto bytes = static_cast<std::uint64_t>(message.bytes);
  (message.internal ? traffic.collective_messages : traffic.messages) += 1;
  (message.internal ? traffic.collective_bytes : traffic.bytes) += bytes;
  sim::Engine& engine = world_.engine();
  if (actor.clock == engine.now()) {
    depart(this, argument_of(message));
  } else {
    engine.at(actor.clock, {&depart, this, argument_of(message)});
  }
  if (++actor.unseen >= kMostUnseen) world_.synchronize(actor);
}

void Transport::depart(void* self, std::uint64_t argument) {
  auto& transport = *static_cast<Transport*>(self);
  Message& message = message_of(argument);
  if (transport.receiver_initiated_) return transport.leave(message);
  if (!message.eager) return transport.world_.send_control(message.from, message.to, {&arrive, self, argument});
  transport.world_.send(message.from, message.to, transport.with_header(message.bytes), {&arrive, self, argument});
}

// ---- the receiver ----------------------------------------------------------------------------------------

void Transport::arrive(void* self, std::uint64_t argument) {
  auto& transport = *static_cast<Transport*>(self);
  Message& message = message_of(argument);
  std::uint32_t& accepted = transport.order_.at(message.from, message.to).accepted;
  if (message.order != accepted) {
    transport.held_[static_cast<std::size_t>(message.to)].push_back(&message);
    return;
  }
  const int from = message.from;
  auto& held = transport.held_[static_cast<std::size_t>(message.to)];
  ++accepted;
  transport.accept(message);
  // Those that had overtaken it, in their order.
  for (std::size_t i = 0; i < held.size();) {
    if (held[i]->from != from || held[i]->order != accepted) {
      ++i;
      continue;
    }
    Message& next = *held[i];
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    ++accepted;
    transport.accept(next);
    i = 0;
  }
}

void Transport::accept(Message& message) {
  if (message.announced) {
    message.announced = false;
    if (message.over) return free_.push_back(&message);
    if (message.receive != nullptr) return;  // it has been invited meanwhile
  }
  Mailbox& box = mailbox(message);
  if (Request* receive = box.take_receive(message)) {
    match(message, *receive, std::max(world_.engine().now(), receive->posted));
    return;
  }
  box.add(message);
  if (box.prober != nullptr) world_.engine().wake(*box.prober->process);
}

void Transport::receive(Actor& actor, Request& request) {
  actor.clock = std::max(actor.clock, world_.engine().now());
  request.posted = actor.clock;
  request.path = actor.path;
  request.cost = 0;
  request.invitation = nullptr;
  if (request.peer == MPI_PROC_NULL) {
    request.outcome = nobody();
    return complete(request, actor.clock);
  }
  auto& boxes = request.internal ? request.comm->shared->internal : request.comm->shared->user;
  Mailbox& box = boxes[static_cast<std::size_t>(request.comm->rank)];
  if (Message* message = box.take_message(request.peer, request.tag)) {
    match(*message, request, actor.clock);
  } else {
    box.post(request);
    if (receiver_initiated_) invite(box);
  }
}

void Transport::receive_matched(Actor& actor, Request& request, Message& message) {
  actor.clock = std::max(actor.clock, world_.engine().now());
  request.posted = actor.clock;
  request.path = actor.path;
  match(message, request, actor.clock);
}

void Transport::note(Message& message, Request& receive) {
  const std::int64_t room = receive.type->bytes(receive.count);
  receive.outcome = {message.source, message.tag, message.bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS,
                     std::min(message.bytes, room), false};
  receive.cost = world_.costs().empty() ? world_.ticks(world_.settings().receive_ns) : 0;
  if (receive.type->shape.size > 0) {
    const std::int64_t items = (receive.outcome.bytes + receive.type->shape.size - 1) / receive.type->shape.size;
    receive.cost += time_to_touch(world_, world_.rank(message.to), receive, items, true);
  }
  message.receive = &receive;
}

void Transport::match(Message& message, Request& receive, Time when) {
  note(message, receive);
  if (when > receive.posted) {  // the receive was there first: what follows rests on the sender
    message.path.transfer += when - message.at;
    ++message.path.messages;
  } else {
    message.path = receive.path;
  }
  message.at = when;
  if (receiver_initiated_) return meet_at_receiver(message, receive, when);
  if (!world_.costs().empty()) return meet_by_table(message, receive, when);
  if (message.eager) {
    receive.cost += copy_time(receive.outcome.bytes);
    deliver(message, when);
  } else {
    world_.engine().at(when, {&answer, this, argument_of(message)});
  }
}

void Transport::answer(void* self, std::uint64_t argument) {
  auto& transport = *static_cast<Transport*>(self);
  const Message& message = message_of(argument);
  transport.world_.send_control(message.to, message.from, {&send_data, self, argument});
}

void Transport::send_data(void* self, std::uint64_t argument) {
  auto& transport = *static_cast<Transport*>(self);
  Message& message = message_of(argument);
  if (transport.receiver_initiated_) return transport.put(message);
  transport.world_.send(message.from, message.to, static_cast<std::uint64_t>(message.bytes),
                        {&receive_data, self, argument});
}

void Transport::receive_data(void* self, std::uint64_t argument) {
  auto& transport = *static_cast<Transport*>(self);
  transport.deliver(message_of(argument), transport.world_.engine().now());
}

void Transport::deliver(Message& message, Time when) {
  Request& receive = *message.receive;
  Request* send = message.send;
  receive.path = message.path;
  receive.path.transfer += when - message.at;
  if (send != nullptr) {
    if (world_.carries_data()) {
      copy_items(send->buffer, send->count, *send->type, receive.buffer, receive.count, *receive.type);
    }
    send->path = receive.path;
    complete(*send, when);
  } else if (message.data != nullptr) {
    unpack(receive.buffer, receive.count, *receive.type, message.data.get(), receive.outcome.bytes);
  }
  finish(message);
  complete(receive, when);
}

// ---- by a table ------------------------------------------------------------------------------------------

double Transport::table_send_ns(Actor& actor, const Request& request, Message& message) {
  const auto bytes = static_cast<double>(message.bytes);
  const MessageCosts& costs = world_.costs();
  Uses& uses = uses_[static_cast<std::size_t>(actor.rank->world)];
  message.moved = uses.use({message.shared, message.to, message.internal ? -1 : request.tag}, bytes);
  const double send_ns = costs.send_ns(bytes);
  const MessageCosts::Times times = costs.times(bytes, message.moved);
  message.alone_ns = std::max(0.0, times.one_way_ns - send_ns);
  message.both_ns = std::max(0.0, times.both_ns - send_ns);
  return send_ns;
}

void Transport::meet_by_table(Message& message, Request& receive, Time when) {
  uses_[static_cast<std::size_t>(message.to)].touch(static_cast<double>(message.bytes));
  if (message.eager) {
    receive.cost = world_.ticks(std::max(0.0, message.alone_ns - near_ns_));
    return deliver(message, when);
  }
  // The receiver copies when it is in MPI: a rank that computes has its clock ahead.
  const Time begin = std::max({when, world_.engine().now(), world_.rank(message.to).program.clock});
  world_.engine().at(begin, {&copy, this, argument_of(message)});
}

void Transport::copy(void* self, std::uint64_t argument) {
  auto& transport = *static_cast<Transport*>(self);
  Message& message = message_of(argument);
  const double near_ns = transport.near_ns_;
  message.missing = 2;
  transport.world_.send(message.from, message.to, static_cast<std::uint64_t>(message.bytes),
                        {&part_done, self, argument});
  const auto ticks = [&](double ns) {
    return static_cast<double>(transport.world_.ticks(std::max(0.0, ns - near_ns)));
  };
  transport.copies_.add(message.to, {message.from, ticks(message.alone_ns), ticks(message.both_ns), argument});
}

void Transport::part_done(void* self, std::uint64_t argument) {
  auto& transport = *static_cast<Transport*>(self);
  Message& message = message_of(argument);
  if (--message.missing == 0) transport.deliver(message, transport.world_.engine().now());
}

void Transport::touch(const Actor& actor, double ns) {
  const double bytes = ns * world_.costs().touched_bytes_per_ns;
  if (bytes > 0) uses_[static_cast<std::size_t>(actor.rank->world)].touch(bytes);
}

// ---- ends ------------------------------------------------------------------------------------------------

void Transport::complete(Request& request, Time when) {
  request.done = true;
  request.done_at = when;
  if (Actor* waiter = request.waiter) {
    request.waiter = nullptr;
    if (--waiter->awaited <= 0) world_.engine().wake(*waiter->process);
  }
  if (request.orphan) world_.dispose(request);
}

/// Where the last of the requests ended after `before`, the actor's clock rests on what that one rests on.
void Transport::follow(Actor& actor, Time before, std::span<Request* const> requests) {
  const Request* last = nullptr;
  for (const Request* request : requests) {
    if (request != nullptr && (last == nullptr || request->done_at > last->done_at)) last = request;
  }
  if (last == nullptr || last->done_at <= before) return;
  actor.path = last->path;
  actor.waited += last->done_at - before;
}

void Transport::wait_all(Actor& actor, std::span<Request* const> requests) {
  const Time before = actor.clock;
  actor.awaited = 0;
  for (Request* request : requests) {
    if (request == nullptr || request->done) continue;
    request->waiter = &actor;
    ++actor.awaited;
  }
  if (actor.awaited > 0) {
    actor.waits = requests;
    world_.block(actor);
    actor.waits = {};
  }
  follow(actor, before, requests);
  for (const Request* request : requests) {
    if (request == nullptr) continue;
    actor.clock = std::max(actor.clock, request->done_at) + request->cost;
    actor.path.software += request->cost;
  }
}

void Transport::wait_any(Actor& actor, std::span<Request* const> requests) {
  actor.awaited = 1;
  bool found = false;
  for (Request* request : requests) {
    if (request == nullptr) continue;
    found = found || request->done;
    if (!request->done) request->waiter = &actor;
  }
  if (!found) {
    actor.waits = requests;
    world_.block(actor);
    actor.waits = {};
  }
  for (Request* request : requests) {
    if (request != nullptr) request->waiter = nullptr;
  }
}

Message* Transport::probe(Actor& actor, Comm& comm, int source, int tag) {
  world_.synchronize(actor);
  return comm.shared->user[static_cast<std::size_t>(comm.rank)].find(source, tag);
}

Message& Transport::wait_for_message(Actor& actor, Comm& comm, int source, int tag) {
  Mailbox& box = comm.shared->user[static_cast<std::size_t>(comm.rank)];
  Request wanted;
  wanted.kind = Request::Kind::receive;
  wanted.peer = source;
  wanted.tag = tag;
  wanted.comm = &comm;
  Message* found = probe(actor, comm, source, tag);
  if (found != nullptr) return *found;
  box.prober = &actor;
  actor.probes = &wanted;
  world_.block(actor, [&] { return (found = box.find(source, tag)) != nullptr; });
  actor.probes = nullptr;
  box.prober = nullptr;
  return *found;
}

bool Transport::cancel(Request& request) {
  if (request.kind != Request::Kind::receive || request.done || request.peer == MPI_PROC_NULL) return false;
  auto& boxes = request.internal ? request.comm->shared->internal : request.comm->shared->user;
  Mailbox& box = boxes[static_cast<std::size_t>(request.comm->rank)];
  if (!box.withdraw(request)) return false;
  if (receiver_initiated_) {
    withdraw_invitation(request);
    invite(box);
  }
  request.outcome.cancelled = true;
  request.outcome.source = MPI_ANY_SOURCE;
  request.outcome.tag = MPI_ANY_TAG;
  complete(request, std::max(world_.engine().now(), request.posted));
  return true;
}

}  // namespace corewise::simmpi
