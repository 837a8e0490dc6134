// The MFC's queues, its unroller, and what orders commands. Constant delays are summed ahead: a request that
// becomes free at a later time is given its next line at once, to be sent at that time.
// SPDX-License-Identifier: BSD-3-Clause
#include "cell/spe/mfc.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>

#include "cell/spe/spu.hpp"

namespace corewise::cell {
namespace {

constexpr std::uint64_t bit_of(int index) {
  return std::uint64_t{1} << index;
}
bool is_list(const Command& command) {
  return command.opcode == Opcode::get_list || command.opcode == Opcode::put_list;
}
bool is_get(const Command& command) {
  return command.opcode == Opcode::get || command.opcode == Opcode::get_list;
}
bool only_orders(const Command& command) {
  return command.opcode == Opcode::barrier || command.opcode == Opcode::eieio || command.opcode == Opcode::sync;
}
/// Later commands of its tag group wait for it.
bool holds_back_its_tag(const Command& command) {
  return command.order == Order::barrier || command.opcode == Opcode::eieio || command.opcode == Opcode::sync;
}

/// As the CBE architecture calls it: "getlf", "proxy put".
std::string name_of(const Command& command, bool proxy) {
  static constexpr std::array<std::string_view, 8> kNames = {"get",    "put",     "getl",  "putl",
                                                             "sndsig", "barrier", "eieio", "sync"};
  static constexpr std::array<std::string_view, 3> kOrders = {"", "f", "b"};
  std::string name(proxy ? "proxy " : "");
  name += kNames[static_cast<std::size_t>(command.opcode)];
  return name += kOrders[static_cast<std::size_t>(command.order)];
}

}  // namespace

Mfc::Mfc(Eib& eib, int spe, std::span<std::byte> local_store, MfcListener& listener)
    : eib_(eib),
      engine_(eib.engine()),
      parameters_(eib.parameters()),
      local_store_(local_store),
      listener_(listener),
      stop_(kSpeStop[static_cast<std::size_t>(spe)]),
      shuffle_(static_cast<std::uint64_t>(parameters_.mfc_shuffle_seed) * kStops + static_cast<unsigned>(stop_)),
      translation_(parameters_) {
  spu_.limit = static_cast<std::uint32_t>(parameters_.mfc_queue_entries);
  proxy_.limit = static_cast<std::uint32_t>(parameters_.mfc_proxy_queue_entries);
  free_count_ = static_cast<std::size_t>(parameters_.mfc_outstanding_requests);
  for (std::size_t i = 0; i < free_count_; ++i) free_[i] = static_cast<std::uint8_t>(i);
}

void Mfc::enqueue(const Command& command) {
  take(spu_, command);
}
void Mfc::enqueue_proxy(const Command& command) {
  take(proxy_, command);
}

void Mfc::take(Queue& queue, const Command& command) {
  const int index = std::countr_one(live_);
  Entry& entry = entries_[static_cast<std::size_t>(index)];
  entry = Entry{};
  entry.command = command;
  entry.queue = &queue;
  entry.waits_for = held_back_by(queue, command);
  entry.order = order_++;
  entry.enqueued = engine_.now();
  entry.ready = std::max(engine_.now() + parameters_.mfc_command_cycles, next_command_);
  next_command_ = entry.ready + parameters_.mfc_command_interval_cycles;
  entry.ls = command.ls;
  if (!is_list(command)) {
    entry.ea = command.ea;
    entry.left = only_orders(command) ? 0 : command.size;
  }
  live_ |= bit_of(index);
  queue.entries |= bit_of(index);
  if (command.opcode == Opcode::barrier) queue.barriers |= bit_of(index);
  ++queue.used;
  ++queue.per_tag[command.tag];
  queue.tags_busy |= std::uint32_t{1} << command.tag;
  if (entry.waits_for == 0) {
    may_start(index);
    advance();
  }
}

/// Which live entries of its queue a new command must wait for (CBEA, command ordering).
std::uint64_t Mfc::held_back_by(const Queue& queue, const Command& command) const {
  if (command.opcode == Opcode::barrier) return queue.entries;
  std::uint64_t held = queue.barriers;
  if ((queue.tags_busy >> command.tag & 1) == 0) return held;
  const bool orders = command.order != Order::none || only_orders(command);
  for (std::uint64_t left = queue.entries; left != 0; left &= left - 1) {
    const int index = std::countr_zero(left);
    const Command& earlier = entries_[static_cast<std::size_t>(index)].command;
    if (earlier.tag == command.tag && (orders || holds_back_its_tag(earlier))) held |= bit_of(index);
  }
  return held;
}

/// Nothing holds the entry back any more.
void Mfc::may_start(int index) {
  Entry& entry = entries_[static_cast<std::size_t>(index)];
  const Opcode opcode = entry.command.opcode;
  const bool silent = opcode == Opcode::barrier || (entry.command.size == 0 && !only_orders(entry.command));
  if (silent) {
    end_at(index, std::max(entry.ready, engine_.now()) + parameters_.mfc_tag_update_cycles);
  } else {
    startable_ |= bit_of(index);
  }
}

/// Sends all requests that can be sent now or a constant time ahead.
void Mfc::advance() {
  while (free_count_ > 0) {
    const int index = choose();
    if (index < 0) return;
    if (prepare(index) && !waits_for_page(index)) send_request(index);
  }
}

/// The entry to unroll: the present one until nothing of it is left, then the oldest (or, shuffled, any) startable.
int Mfc::choose() {
  if (current_ >= 0) return current_;
  if (startable_ == 0) return -1;
  if (parameters_.mfc_shuffle_seed != 0) {
    std::uint64_t left = startable_;
    for (auto skip = shuffle_.below(static_cast<std::uint64_t>(std::popcount(left))); skip > 0; --skip) {
      left &= left - 1;
    }
    current_ = std::countr_zero(left);
    return current_;
  }
  std::uint64_t oldest = ~std::uint64_t{0};
  for (std::uint64_t left = startable_; left != 0; left &= left - 1) {
    const int index = std::countr_zero(left);
    const Entry& entry = entries_[static_cast<std::size_t>(index)];
    if (entry.order >= oldest) continue;
    oldest = entry.order;
    current_ = index;
  }
  return current_;
}

/// Makes the entry's next request known. False: it has none now (it stalled, or ended).
bool Mfc::prepare(int index) {
  Entry& entry = entries_[static_cast<std::size_t>(index)];
  if (!is_list(entry.command)) return true;
  while (entry.left == 0) {
    if (entry.stall_after) {
      entry.stall_after = false;
      entry.stalled = true;
      startable_ &= ~bit_of(index);
      current_ = -1;
      if (entry.on_bus == 0) listener_.on_mfc_change();
      return false;
    }
    if (entry.element * 8 >= entry.command.size) {
      unrolled(index);
      return false;
    }
    next_element(index);
  }
  return true;
}

/// Whether its next request must wait for a page fault that leaves the other commands alone; it then waits, and
/// comes back.
bool Mfc::waits_for_page(int index) {
  const Entry& entry = entries_[static_cast<std::size_t>(index)];
  const sim::Time fault = only_orders(entry.command) ? 0 : translation_.fault_of_one(entry.ea);
  if (fault == 0) return false;
  startable_ &= ~bit_of(index);
  current_ = -1;
  engine_.after(fault, {&page_event, this, static_cast<std::uint64_t>(index)});
  return true;
}

void Mfc::page_event(void* self, std::uint64_t index) {
  Mfc& mfc = *static_cast<Mfc*>(self);
  mfc.startable_ |= bit_of(static_cast<int>(index));
  mfc.advance();
}

/// Fetches a list element. The local store address goes on where the last element ended, at the next quadword, with
/// the low four bits of the effective address (CBEA, DMA list commands).
void Mfc::next_element(int index) {
  Entry& entry = entries_[static_cast<std::size_t>(index)];
  MfcListElement element;
  std::memcpy(&element, &local_store_[entry.command.list + entry.element * 8], sizeof element);
  const std::uint32_t size = element.size & 0x7fffU;
  const EffectiveAddress ea = (entry.command.ea & ~EffectiveAddress{0xffffffff}) | element.eal;
  const LsAddress quadword = entry.element == 0 ? entry.ls & ~LsAddress{15} : (entry.ls + 15) & ~LsAddress{15};
  const LsAddress ls = quadword | static_cast<LsAddress>(ea & 15);
  if (!listener_.on_list_element(entry.command, entry.element, ls, ea, size)) {
    entry.element = entry.command.size / 8;
    entry.stall_after = false;
    return;
  }
  ++statistics_.list_elements;
  ++entry.element;
  entry.ea = ea;
  entry.ls = ls;
  entry.left = size;
  entry.stall_after = (element.notify & 1) != 0;
  entry.ready = std::max(entry.ready, engine_.now()) + parameters_.mfc_list_element_cycles;
}

void Mfc::send_request(int index) {
  Entry& entry = entries_[static_cast<std::size_t>(index)];
  const std::uint8_t slot = free_[free_head_];
  free_head_ = (free_head_ + 1) % kMaxRequests;
  --free_count_;
  BusRequest& request = requests_[slot];
  const auto in_line = static_cast<std::uint32_t>(entry.ea % kLineBytes);
  const std::uint32_t bytes = std::min(entry.left, kLineBytes - in_line);
  const sim::Time free = std::max({engine_.now(), next_request_, entry.ready, free_at_[slot]});
  const sim::Time when = free + (only_orders(entry.command) ? 0 : translation_.delay(entry.ea));
  next_request_ = when + parameters_.mfc_request_interval_cycles;
  request.kind = only_orders(entry.command) ? BusKind::address_only
                 : is_get(entry.command)    ? BusKind::read
                                            : BusKind::write;
  request.stop = static_cast<std::uint8_t>(stop_);
  request.bytes = static_cast<std::uint16_t>(bytes);
  request.ea = entry.ea;
  request.data = local_store_.data() + entry.ls;
  request.requester = this;
  request.cookie = static_cast<std::uint64_t>(index);
  request.send_ticks = static_cast<std::uint32_t>(parameters_.local_store_read_cycles);
  ++entry.on_bus;
  ++statistics_.requests;
  if (bytes < kLineBytes) ++statistics_.partial_requests;
  entry.ea += bytes;
  entry.ls += bytes;
  entry.left -= bytes;
  if (entry.left == 0 && !is_list(entry.command)) unrolled(index);
  eib_.issue(request, when);
}

/// No request is left to send.
void Mfc::unrolled(int index) {
  Entry& entry = entries_[static_cast<std::size_t>(index)];
  entry.unrolled = true;
  startable_ &= ~bit_of(index);
  current_ = -1;
  // A list whose last element was empty, or dropped, may have nothing on the bus any more.
  if (entry.on_bus == 0) end_at(index, std::max(entry.ready, engine_.now()) + parameters_.mfc_tag_update_cycles);
}

void Mfc::delivered(BusRequest& request) {
  const auto index = static_cast<int>(request.cookie);
  Entry& entry = entries_[static_cast<std::size_t>(index)];
  const auto slot = static_cast<std::size_t>(&request - requests_.data());
  const sim::Time credit = engine_.now() + parameters_.mfc_credit_cycles;
  free_at_[slot] = credit;
  free_[(free_head_ + free_count_) % kMaxRequests] = static_cast<std::uint8_t>(slot);
  ++free_count_;
  --entry.on_bus;
  if (request.kind == BusKind::read) {
    statistics_.bytes_in += request.bytes;
    listener_.on_local_store_write(static_cast<LsAddress>(request.data - local_store_.data()), request.bytes);
  } else {
    statistics_.bytes_out += request.bytes;
  }
  if (entry.on_bus == 0) {
    if (entry.unrolled) end_at(index, credit + parameters_.mfc_tag_update_cycles);
    if (entry.stalled) listener_.on_mfc_change();
  }
  advance();
}

void Mfc::end_at(int index, sim::Time when) {
  engine_.at(when, {&end_event, this, static_cast<std::uint64_t>(index)});
}

void Mfc::end_event(void* self, std::uint64_t index) {
  static_cast<Mfc*>(self)->end(static_cast<int>(index));
}

/// The command from its enqueue to its end, in the engine's timeline.
void Mfc::record(const Entry& entry) const {
  sim::Timeline& timeline = *engine_.timeline();
  const std::string stop(kStopNames[static_cast<std::size_t>(stop_)]);
  const auto track = timeline.track("MFCs", eib_.chip_prefix() + stop);
  const auto kind = timeline.kind(name_of(entry.command, entry.queue == &proxy_), "bytes", "tag");
  timeline.slice(track, kind, entry.enqueued, engine_.now(), entry.command.size, entry.command.tag);
}

void Mfc::end(int index) {
  Entry& entry = entries_[static_cast<std::size_t>(index)];
  Queue& queue = *entry.queue;
  live_ &= ~bit_of(index);
  queue.entries &= ~bit_of(index);
  queue.barriers &= ~bit_of(index);
  --queue.used;
  if (--queue.per_tag[entry.command.tag] == 0) queue.tags_busy &= ~(std::uint32_t{1} << entry.command.tag);
  ++(&queue == &spu_ ? statistics_.commands : statistics_.proxy_commands);
  statistics_.command_ticks += engine_.now() - entry.enqueued;
  if (engine_.timeline() != nullptr) record(entry);
  for (std::uint64_t left = queue.entries; left != 0; left &= left - 1) {
    const int other = std::countr_zero(left);
    Entry& waiting = entries_[static_cast<std::size_t>(other)];
    if ((waiting.waits_for & bit_of(index)) == 0) continue;
    waiting.waits_for &= ~bit_of(index);
    if (waiting.waits_for == 0) may_start(other);
  }
  listener_.on_mfc_change();
  advance();
}

std::uint32_t Mfc::stalled_tags() const {
  std::uint32_t tags = 0;
  for (std::uint64_t left = live_; left != 0; left &= left - 1) {
    const Entry& entry = entries_[static_cast<std::size_t>(std::countr_zero(left))];
    if (entry.stalled && entry.on_bus == 0) tags |= std::uint32_t{1} << entry.command.tag;
  }
  return tags;
}

void Mfc::acknowledge_stall(std::uint32_t tag) {
  for (std::uint64_t left = live_; left != 0; left &= left - 1) {
    const int index = std::countr_zero(left);
    Entry& entry = entries_[static_cast<std::size_t>(index)];
    if (!entry.stalled || entry.on_bus != 0 || entry.command.tag != tag) continue;
    entry.stalled = false;
    startable_ |= bit_of(index);
  }
  advance();
}

}  // namespace corewise::cell
