// Virtual cut-through, event by event.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/networks/cut_through.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace corewise::sim {
namespace {

using machine::LinkId;
using machine::UnitId;

constexpr double kTickRounding = 1e-6;  ///< of a tick: what a product of doubles may be off

Time ticks_of_packet(double ticks) {
  return static_cast<Time>(std::ceil(ticks - kTickRounding));
}

using Followers = std::vector<std::vector<LinkId>>;

/// For each link the links that some route takes directly after it, ascending.
Followers followers_of(const machine::Machine& machine) {
  Followers followers(machine.links.size());
  for (const auto& alternatives : machine.route_table) {
    for (const machine::Route& route : alternatives) {
      for (std::size_t hop = 1; hop < route.links.size(); ++hop) {
        auto& list = followers[static_cast<std::size_t>(route.links[hop - 1])];
        const auto at = std::lower_bound(list.begin(), list.end(), route.links[hop]);
        if (at == list.end() || *at != route.links[hop]) list.insert(at, route.links[hop]);
      }
    }
  }
  return followers;
}

/// Depth-first from every link; a link is numbered, from the highest number down, when all behind it are. Then only
/// a step back to a link whose search is not over goes down.
std::vector<std::int32_t> search_order(const Followers& followers) {
  std::vector<std::int32_t> rank(followers.size(), -1);
  std::vector<bool> seen(followers.size(), false);
  std::vector<std::pair<std::size_t, std::size_t>> path;  // link, followers looked at
  auto number = static_cast<std::int32_t>(followers.size());
  for (std::size_t root = 0; root < followers.size(); ++root) {
    if (seen[root]) continue;
    seen[root] = true;
    path.emplace_back(root, 0);
    while (!path.empty()) {
      auto& [link, looked] = path.back();
      if (looked == followers[link].size()) {
        rank[link] = --number;
        path.pop_back();
        continue;
      }
      const auto next = static_cast<std::size_t>(followers[link][looked++]);
      if (seen[next]) continue;
      seen[next] = true;
      path.emplace_back(next, 0);
    }
  }
  return rank;
}

}  // namespace

LinkOrder LinkOrder::of(const machine::Machine& machine) {
  LinkOrder order;
  order.rank_of_link = search_order(followers_of(machine));
  for (const auto& alternatives : machine.route_table) {
    for (const machine::Route& route : alternatives) {
      std::int32_t channels = 1;
      for (std::size_t hop = 1; hop < route.links.size(); ++hop) {
        if (order.steps_down(route.links[hop - 1], route.links[hop])) ++channels;
      }
      order.channels = std::max(order.channels, channels);
    }
  }
  return order;
}

CutThroughNetwork::CutThroughNetwork(Engine& engine, const machine::Machine& machine,
                                     const NetworkParameters& parameters)
    : Network(engine, machine),
      parameters_(parameters),
      order_(LinkOrder::of(machine)),
      inputs_(machine.links.size() * static_cast<std::size_t>(order_.channels)),
      outputs_(machine.links.size()),
      sources_(machine.units.size()) {
  for (const machine::Link& link : machine.links) {
    latency_.push_back(std::llround(link.latency_ns * static_cast<double>(kTicksPerNs)));
    ticks_per_byte_.push_back(static_cast<double>(kTicksPerNs) / link.bandwidth_gb_per_s);
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    inputs_[i].link = static_cast<LinkId>(i / static_cast<std::size_t>(order_.channels));
    inputs_[i].room = room_of(inputs_[i].link);
  }
  least_room_ = parameters_.buffer_packets;
  if (engine.timeline() == nullptr) return;
  for (const machine::Link& link : machine.links) tracks_.push_back(engine.timeline()->track("links", link.name));
}

/// The packet holds the link from now to `end`.
void CutThroughNetwork::record(LinkId link, const Packet& packet, Time end) {
  const Message& message = messages_[static_cast<std::size_t>(packet.message)];
  const auto name = [this](UnitId unit) { return machine_.units[static_cast<std::size_t>(unit)].name; };
  Timeline& timeline = *engine_.timeline();
  const Timeline::Kind kind = timeline.kind(name(message.from) + " to " + name(message.to), "bytes");
  timeline.slice(tracks_[static_cast<std::size_t>(link)], kind, engine_.now(), end,
                 static_cast<std::int64_t>(packet.bytes));
}

std::int64_t CutThroughNetwork::room_of(LinkId link) const {
  const Time packet = duration(link, static_cast<std::uint64_t>(parameters_.packet_bytes));
  const Time latency = latency_[static_cast<std::size_t>(link)];
  return parameters_.buffer_packets + (packet > 0 ? (latency + packet - 1) / packet : 0);
}

// ---- messages and packets ----

Time CutThroughNetwork::duration(LinkId link, std::uint64_t bytes) const {
  return ticks_of_packet(static_cast<double>(bytes) * ticks_per_byte_[static_cast<std::size_t>(link)]);
}

CutThroughNetwork::Index CutThroughNetwork::new_message(const Message& message) {
  if (free_messages_.empty()) {
    messages_.push_back(message);
    return static_cast<Index>(messages_.size()) - 1;
  }
  const Index index = free_messages_.back();
  free_messages_.pop_back();
  messages_[static_cast<std::size_t>(index)] = message;
  return index;
}

CutThroughNetwork::Index CutThroughNetwork::new_packet(const Packet& packet) {
  if (free_packet_ == kNone) {
    packets_.push_back(packet);
    return static_cast<Index>(packets_.size()) - 1;
  }
  const Index index = free_packet_;
  free_packet_ = packets_[static_cast<std::size_t>(index)].next;
  packets_[static_cast<std::size_t>(index)] = packet;
  return index;
}

CutThroughNetwork::Index CutThroughNetwork::source_input(UnitId from, LinkId link) {
  auto& known = sources_[static_cast<std::size_t>(from)];
  for (const Source& source : known) {
    if (source.link == link) return source.input;
  }
  const auto input = static_cast<Index>(inputs_.size());
  inputs_.emplace_back();
  known.push_back({link, input});
  return input;
}

/// Alone, the packets of each route follow each other; the routes work side by side.
Time CutThroughNetwork::alone(UnitId from, UnitId to, std::uint64_t bytes) const {
  const auto routes = machine_.routes(from, to);
  const auto size = static_cast<std::uint64_t>(parameters_.packet_bytes);
  const std::uint64_t packets = std::max<std::uint64_t>(1, (bytes + size - 1) / size);
  Time longest = 0;
  for (std::size_t r = 0; r < routes.size() && r < packets; ++r) {
    const std::uint64_t mine = (packets - r + routes.size() - 1) / routes.size();
    const bool has_last = (packets - 1) % routes.size() == r;
    const std::uint64_t last = has_last ? bytes - (packets - 1) * size : size;
    Time latency = 0;
    Time train = 0;
    for (const LinkId link : routes[r].links) {
      latency += latency_[static_cast<std::size_t>(link)];
      train = std::max(train, static_cast<Time>(mine - 1) * duration(link, size) + duration(link, last));
    }
    longest = std::max(longest, latency + train);
  }
  return longest;
}

void CutThroughNetwork::send(UnitId from, UnitId to, std::uint64_t bytes, const Handler& delivered) {
  count_sent(from, bytes);
  const auto routes = machine_.routes(from, to);
  const auto size = static_cast<std::uint64_t>(parameters_.packet_bytes);
  const std::uint64_t packets = std::max<std::uint64_t>(1, (bytes + size - 1) / size);
  const Time expected = engine_.now() + alone(from, to, bytes);
  const Index message = new_message({delivered, bytes, packets, expected, from, to});
  if (routes.front().links.empty()) {
    engine_.after(0, {&deliver_local, this, static_cast<std::uint64_t>(message)});
    return;
  }
  for (std::size_t r = 0; r < routes.size() && r < packets; ++r) {
    const Index index = source_input(from, routes[r].links.front());
    Input& input = inputs_[static_cast<std::size_t>(index)];
    input.batches.push_back({message, routes[r].links, r, routes.size(), packets});
    if (input.head != kNone) continue;
    refill(input);
    if (!input.asking) ask(index);
  }
}

void CutThroughNetwork::deliver_local(void* self, std::uint64_t message) {
  static_cast<CutThroughNetwork*>(self)->deliver(static_cast<Index>(message));
}

void CutThroughNetwork::deliver(Index index) {
  const Message message = messages_[static_cast<std::size_t>(index)];
  free_messages_.push_back(index);
  count_received(message.from, message.to, message.bytes, std::max<Time>(0, engine_.now() - message.expected));
  message.delivered();
}

/// Makes the sender's next packet the head of its empty queue.
void CutThroughNetwork::refill(Input& input) {
  if (input.first_batch == input.batches.size()) return;
  Batch& batch = input.batches[input.first_batch];
  const Message& message = messages_[static_cast<std::size_t>(batch.message)];
  const auto size = static_cast<std::uint64_t>(parameters_.packet_bytes);
  Packet packet;
  packet.message = batch.message;
  packet.route = batch.route;
  packet.bytes = std::min(size, message.bytes - std::min(message.bytes, batch.next * size));
  input.head = input.tail = new_packet(packet);
  batch.next += batch.step;
  if (batch.next < batch.end) return;
  if (++input.first_batch < input.batches.size()) return;
  input.batches.clear();
  input.first_batch = 0;
}

// ---- standing in line ----

void CutThroughNetwork::push(Index index, Index packet) {
  Input& input = inputs_[static_cast<std::size_t>(index)];
  packets_[static_cast<std::size_t>(packet)].next = kNone;
  if (input.head == kNone) {
    input.head = packet;
  } else {
    packets_[static_cast<std::size_t>(input.tail)].next = packet;
  }
  input.tail = packet;
}

void CutThroughNetwork::pop(Index index) {
  Input& input = inputs_[static_cast<std::size_t>(index)];
  input.head = packets_[static_cast<std::size_t>(input.head)].next;
  if (input.head == kNone && input.link < 0) refill(input);
}

void CutThroughNetwork::arrive(void* self, std::uint64_t packet) {
  auto& network = *static_cast<CutThroughNetwork*>(self);
  const Packet& come = network.packets_[packet];
  const Index input = network.buffer_of(come.route[come.hop - 1], come.channel);
  network.push(input, static_cast<Index>(packet));
  if (!network.inputs_[static_cast<std::size_t>(input)].asking) network.ask(input);
}

void CutThroughNetwork::offer_head(void* self, std::uint64_t input) {
  static_cast<CutThroughNetwork*>(self)->ask(static_cast<Index>(input));
}

/// The head of an input asks for its next link, once the packet before it has left whole.
void CutThroughNetwork::ask(Index index) {
  Input& input = inputs_[static_cast<std::size_t>(index)];
  input.asking = input.head != kNone;
  if (!input.asking) return;
  if (input.port_free > engine_.now()) {
    engine_.at(input.port_free, {&offer_head, this, static_cast<std::uint64_t>(index)});
    return;
  }
  const Packet& packet = packets_[static_cast<std::size_t>(input.head)];
  if (packet.hop == packet.route.size()) {
    eject(index);
    return;
  }
  const LinkId link = packet.route[packet.hop];
  Output& output = outputs_[static_cast<std::size_t>(link)];
  output.asking.insert(std::lower_bound(output.asking.begin(), output.asking.end(), index), index);
  output.statistics.largest_queue =
      std::max(output.statistics.largest_queue, static_cast<std::int64_t>(output.asking.size()));
  kick(link, std::max(engine_.now(), output.free_at));
}

/// The packet is where it wants to be: the receiver takes it as it comes in.
void CutThroughNetwork::eject(Index index) {
  const Index packet = inputs_[static_cast<std::size_t>(index)].head;
  const Time out = std::max(engine_.now(), packets_[static_cast<std::size_t>(packet)].tail);
  pop(index);
  leave(index, out);
  engine_.at(out, {&packet_done, this, static_cast<std::uint64_t>(packet)});
}

void CutThroughNetwork::packet_done(void* self, std::uint64_t packet) {
  auto& network = *static_cast<CutThroughNetwork*>(self);
  Packet& done = network.packets_[packet];
  const Index message = done.message;
  done.next = network.free_packet_;
  network.free_packet_ = static_cast<Index>(packet);
  if (--network.messages_[static_cast<std::size_t>(message)].packets_left == 0) network.deliver(message);
}

/// A packet's tail leaves an input at `tail_out`: room again then, and the next head may ask.
void CutThroughNetwork::leave(Index index, Time tail_out) {
  Input& input = inputs_[static_cast<std::size_t>(index)];
  input.port_free = tail_out;
  if (input.link >= 0) {
    input.leaving.push_back(tail_out);
    if (input.wanted) kick(input.link, tail_out);
    input.wanted = false;
  }
  ask(index);
}

// ---- links ----

/// Sees to an arbitration at `when`, after what else happens then.
void CutThroughNetwork::kick(LinkId link, Time when) {
  Output& output = outputs_[static_cast<std::size_t>(link)];
  if (output.kick_at <= when) return;
  output.kick_at = when;
  engine_.at(when, {&arbitrate_now, this, static_cast<std::uint64_t>(link)});
}

void CutThroughNetwork::arbitrate_now(void* self, std::uint64_t link) {
  auto& network = *static_cast<CutThroughNetwork*>(self);
  Output& output = network.outputs_[link];
  if (output.kick_at != network.engine_.now()) return;  // an earlier one was scheduled meanwhile, and has been
  output.kick_at = kForever;
  network.arbitrate(static_cast<LinkId>(link));
}

std::int32_t CutThroughNetwork::next_channel(const Packet& packet) const {
  if (packet.hop == 0) return 0;
  return packet.channel + (order_.steps_down(packet.route[packet.hop - 1], packet.route[packet.hop]) ? 1 : 0);
}

/// Round robin: the first after the input served last whose next buffer has room.
void CutThroughNetwork::arbitrate(LinkId link) {
  Output& output = outputs_[static_cast<std::size_t>(link)];
  if (output.asking.empty()) return;
  if (output.free_at > engine_.now()) {
    kick(link, output.free_at);
    return;
  }
  Time retry = kForever;
  const std::size_t count = output.asking.size();
  const auto after = std::upper_bound(output.asking.begin(), output.asking.end(), output.last);
  auto at = static_cast<std::size_t>(after - output.asking.begin());
  for (std::size_t looked = 0; looked < count; ++looked, ++at) {
    if (at >= count) at = 0;
    const Index input = output.asking[at];
    const Packet& packet = packets_[static_cast<std::size_t>(inputs_[static_cast<std::size_t>(input)].head)];
    if (!has_room(inputs_[static_cast<std::size_t>(buffer_of(link, next_channel(packet)))], retry)) continue;
    output.asking.erase(output.asking.begin() + static_cast<std::ptrdiff_t>(at));
    output.last = input;
    grant(link, input);
    return;
  }
  if (retry != kForever) kick(link, retry);
}

/// Does the buffer take one more packet now? If not: when the next one leaves it, or a note that somebody waits.
bool CutThroughNetwork::has_room(Input& buffer, Time& retry) {
  while (buffer.left < buffer.leaving.size() && buffer.leaving[buffer.left] <= engine_.now()) {
    ++buffer.left;
    ++buffer.room;
  }
  if (buffer.left == buffer.leaving.size()) {
    buffer.leaving.clear();
    buffer.left = 0;
  }
  if (buffer.room > 0) return true;
  if (buffer.left < buffer.leaving.size()) {
    retry = std::min(retry, buffer.leaving[buffer.left]);
  } else {
    buffer.wanted = true;
  }
  return false;
}

void CutThroughNetwork::grant(LinkId link, Index input) {
  const Index index = inputs_[static_cast<std::size_t>(input)].head;
  Packet& packet = packets_[static_cast<std::size_t>(index)];
  Output& output = outputs_[static_cast<std::size_t>(link)];
  const Time now = engine_.now();
  const Time tail_out = std::max(now + duration(link, packet.bytes), packet.tail);
  packet.channel = next_channel(packet);
  Input& next = inputs_[static_cast<std::size_t>(buffer_of(link, packet.channel))];
  --next.room;
  least_room_ = std::min(least_room_, next.room);
  output.free_at = tail_out;
  output.statistics.bytes += packet.bytes;
  ++output.statistics.packets;
  output.statistics.busy += tail_out - now;
  if (!tracks_.empty()) record(link, packet, tail_out);
  const Time latency = latency_[static_cast<std::size_t>(link)];
  packet.tail = tail_out + latency;
  ++packet.hop;
  pop(input);
  leave(input, tail_out);
  engine_.after(latency, {&arrive, this, static_cast<std::uint64_t>(index)});
  if (!outputs_[static_cast<std::size_t>(link)].asking.empty()) kick(link, tail_out);
}

std::vector<LinkStatistics> CutThroughNetwork::link_statistics() const {
  std::vector<LinkStatistics> statistics;
  for (const Output& output : outputs_) {
    statistics.push_back(output.statistics);
    statistics.back().busy -= std::max<Time>(0, output.free_at - engine_.now());
  }
  return statistics;
}

}  // namespace corewise::sim
