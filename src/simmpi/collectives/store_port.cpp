// Operations between local stores, as events of the network. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/collectives/store_port.hpp"

#include <algorithm>

#include "simmpi/world.hpp"

namespace corewise::simmpi {

StorePort::StorePort(const std::vector<int>& world, const std::vector<StorePort*>& ports, int rank,
                     const port::Layout& layout)
    : world_(world),
      ports_(ports),
      rank_(rank),
      layout_(layout),
      stage_(layout.stage_bytes / port::kStageAlignment + 1),
      lines16_(std::size_t{layout.lines16} * port::Line16::kBytes),
      lines128_(std::size_t{layout.lines128} * port::Line128::kBytes) {}

Actor& StorePort::actor() const {
  return World::here().rank(world_rank(rank_)).program;
}

void StorePort::catch_up() const {
  World::here().synchronize(actor());
}

void StorePort::block() {
  waits_ = true;
  World::here().block(actor());
  waits_ = false;
}

void StorePort::wake() const {
  if (waits_) World::here().engine().wake(*actor().process);
}

bool StorePort::busy(port::TagMask mask) const {
  for (port::Tag tag = 0; tag < port::kTags; ++tag) {
    if ((mask & port::mask_of(tag)) != 0 && !under_way_[tag].empty()) return true;
  }
  return false;
}

void StorePort::copy_in(ConstUserAddress from, port::StageOffset to, std::uint32_t bytes, port::Tag /*tag*/) {
  if (bytes == 0) return;
  std::memcpy(place(to), from, bytes);
  World& world = World::here();
  actor().clock += world.ticks(static_cast<double>(bytes) / world.settings().copy_gb_per_s);
}

void StorePort::copy_out(port::StageOffset from, UserAddress to, std::uint32_t bytes, port::Tag /*tag*/) {
  if (bytes == 0) return;
  std::memcpy(to, place(from), bytes);
  World& world = World::here();
  actor().clock += world.ticks(static_cast<double>(bytes) / world.settings().copy_gb_per_s);
}

void StorePort::read_user(int peer, ConstUserAddress from, port::StageOffset to, std::uint32_t bytes,
                          port::Tag tag) {
  if (bytes == 0) return;
  if (peer == rank_) return copy_in(from, to, bytes, tag);
  Operation& made = add(tag, peer, bytes);
  made.is_read = true;
  made.from = from;
  made.to = place(to);
  begin(made);
}

void StorePort::write_user(int peer, port::StageOffset from, UserAddress to, std::uint32_t bytes, port::Tag tag) {
  if (bytes == 0) return;
  if (peer == rank_) return copy_out(from, to, bytes, tag);
  Operation& made = add(tag, peer, bytes);
  made.from = place(from);
  made.to = to;
  begin(made);
}

void StorePort::wait(port::TagMask mask) {
  catch_up();
  while (busy(mask)) block();
}

port::TagMask StorePort::test(port::TagMask mask) {
  catch_up();
  port::TagMask idle = 0;
  for (port::Tag tag = 0; tag < port::kTags; ++tag) {
    if (!busy(port::mask_of(tag))) idle |= port::mask_of(tag);
  }
  return idle & mask;
}

// ---- an operation ----------------------------------------------------------------------------------------

StorePort::Operation& StorePort::add(port::Tag tag, int peer, std::uint32_t bytes) {
  World& world = World::here();
  actor().clock += world.ticks(world.settings().call_ns);
  catch_up();
  Operation& made = under_way_[tag].emplace_back();
  made.tag = tag;
  made.peer = peer;
  made.bytes = bytes;
  return made;
}

/// At once, but for a line that others of its tag are before.
void StorePort::begin(Operation& operation) {
  if (!operation.is_line || &under_way_[operation.tag].front() == &operation) leave(operation);
}

void StorePort::leave(Operation& operation) {
  World& world = World::here();
  if (operation.peer == rank_) return complete(operation);
  const int own = world_rank(rank_);
  const int peer = world_rank(operation.peer);
  const auto argument = reinterpret_cast<std::uint64_t>(&operation);
  Traffic& traffic = operation.is_read ? world.traffic(peer, own) : world.traffic(own, peer);
  ++traffic.collective_messages;
  traffic.collective_bytes += operation.bytes;
  if (operation.is_read) {
    const auto header = static_cast<std::uint64_t>(world.settings().header_bytes);
    world.send(own, peer, header, {&asked, this, argument});
    return;
  }
  world.send(own, peer, operation.bytes, {&delivered, this, argument});
}

void StorePort::asked(void* self, std::uint64_t argument) {
  const StorePort& port = *static_cast<StorePort*>(self);
  const Operation& operation = *reinterpret_cast<Operation*>(argument);
  World::here().send(port.world_rank(operation.peer), port.world_rank(port.rank_), operation.bytes,
                     {&delivered, self, argument});
}

void StorePort::delivered(void* self, std::uint64_t argument) {
  static_cast<StorePort*>(self)->complete(*reinterpret_cast<Operation*>(argument));
}

void StorePort::complete(Operation& operation) {
  const std::byte* from = operation.is_line ? operation.line.data() : operation.from;
  std::memcpy(operation.to, from, operation.bytes);
  peer_port(operation.peer).wake();
  std::list<Operation>& queue = under_way_[operation.tag];
  queue.remove_if([&](const Operation& each) { return &each == &operation; });
  if (!queue.empty() && queue.front().is_line) leave(queue.front());
  wake();
}

}  // namespace corewise::simmpi
