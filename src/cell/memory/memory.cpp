// The memory controller's queues and its DRAM's timing. Invariant: a channel has at most one pending attempt event,
// at the earliest time at which it could start something. SPDX-License-Identifier: BSD-3-Clause
#include "cell/memory/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace corewise::cell {

MemoryBytes::MemoryBytes(std::uint64_t capacity) : capacity_(capacity) {
  // Mapped without reserve: the host gives a page when it is first touched, so 512 MB that nobody uses cost
  // nothing.
  void* const mapped =
      ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(mapped);
}

MemoryBytes::~MemoryBytes() {
  ::munmap(data_, capacity_);
}

std::uint64_t MemoryBytes::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t start = (top_ + alignment - 1) & ~(alignment - 1);
  if (start < top_ || start > capacity_ || bytes > capacity_ - start) throw std::bad_alloc();
  top_ = start + bytes;
  return start;
}

MemoryController::MemoryController(sim::Engine& engine, const Parameters& parameters)
    : engine_(engine), p_(parameters) {}

int MemoryController::channel_of(std::uint64_t offset) const {
  return static_cast<int>(offset / kLineBytes % static_cast<std::uint64_t>(p_.memory_channels));
}

int MemoryController::bank_of(std::uint64_t offset) const {
  return static_cast<int>(offset / kLineBytes % static_cast<std::uint64_t>(p_.memory_banks));
}

bool MemoryController::reserve_read(std::uint64_t offset) {
  Channel& channel = channels_[static_cast<std::size_t>(channel_of(offset))];
  if (channel.reads_held == static_cast<std::uint32_t>(p_.memory_read_queue)) {
    ++statistics_.refused_reads;
    return false;
  }
  ++channel.reads_held;
  return true;
}

bool MemoryController::reserve_write(std::uint64_t offset) {
  Channel& channel = channels_[static_cast<std::size_t>(channel_of(offset))];
  if (channel.writes_held == static_cast<std::uint32_t>(p_.memory_write_queue)) {
    ++statistics_.refused_writes;
    return false;
  }
  ++channel.writes_held;
  return true;
}

void MemoryController::read(std::uint64_t offset, std::uint32_t bytes, const sim::Handler& done) {
  const int index = channel_of(offset);
  Channel& channel = channels_[static_cast<std::size_t>(index)];
  channel.reads.push_back({offset, bytes, done});
  schedule(index, std::max(engine_.now(), channel.free_at));
}

void MemoryController::write(std::uint64_t offset, std::uint32_t bytes) {
  const int index = channel_of(offset);
  Channel& channel = channels_[static_cast<std::size_t>(index)];
  channel.writes.push_back({offset, bytes, {}});
  schedule(index, std::max(engine_.now(), channel.free_at));
}

void MemoryController::schedule(int index, sim::Time when) {
  Channel& channel = channels_[static_cast<std::size_t>(index)];
  if (channel.attempt_at >= 0 && channel.attempt_at <= when) return;
  // An attempt that is overtaken by an earlier one finds that it is not the one waited for, and does nothing.
  channel.attempt_at = when;
  engine_.at(when, {&MemoryController::attempt, this, static_cast<std::uint64_t>(index)});
}

void MemoryController::attempt(void* self, std::uint64_t index) {
  MemoryController& memory = *static_cast<MemoryController*>(self);
  Channel& channel = memory.channels_[index];
  if (channel.attempt_at != memory.engine_.now()) return;
  channel.attempt_at = -1;
  memory.serve(static_cast<int>(index));
}

void MemoryController::read_left(void* self, std::uint64_t index) {
  --static_cast<MemoryController*>(self)->channels_[index].reads_held;
}

void MemoryController::write_left(void* self, std::uint64_t index) {
  --static_cast<MemoryController*>(self)->channels_[index].writes_held;
}

void MemoryController::serve(int index) {
  Channel& channel = channels_[static_cast<std::size_t>(index)];
  if (engine_.now() < channel.free_at) return schedule(index, channel.free_at);
  choose_direction(channel);
  if (engine_.now() < channel.free_at) return schedule(index, channel.free_at);
  std::vector<Request>& queue = channel.writing ? channel.writes : channel.reads;
  if (queue.empty()) return;
  sim::Time ready_at = 0;
  const int picked = pick(queue, ready_at);
  if (picked < 0) {
    ++statistics_.bank_waits;
    return schedule(index, ready_at);
  }
  const Request request = queue[static_cast<std::size_t>(picked)];
  queue.erase(queue.begin() + picked);
  start(index, request, channel.writing);
  if (!channel.reads.empty() || !channel.writes.empty()) schedule(index, channel.free_at);
}

void MemoryController::choose_direction(Channel& channel) {
  const auto writes = static_cast<std::int64_t>(channel.writes.size());
  bool writing = channel.writing;
  if (writing && (writes == 0 || (writes <= p_.memory_write_low_mark && !channel.reads.empty()))) {
    writing = channel.reads.empty() && writes > 0;
  } else if (!writing && (writes >= p_.memory_write_high_mark || (channel.reads.empty() && writes > 0))) {
    writing = true;
  }
  if (writing == channel.writing || (channel.reads.empty() && channel.writes.empty())) return;
  channel.writing = writing;
  const sim::Time gap = writing ? p_.memory_read_to_write_cycles : p_.memory_write_to_read_cycles;
  channel.free_at = std::max(channel.free_at + gap, engine_.now());
  ++statistics_.turnarounds;
}

sim::Time MemoryController::bank_free(int bank) {
  const auto index = static_cast<std::size_t>(bank);
  sim::Time free = bank_free_[index];
  if (p_.memory_refresh_interval_cycles == 0) return free;
  // Banks are refreshed in turn: this one's refresh n is due at (n * banks + bank) intervals. Those that fell into
  // idle time cost nothing; no event is spent on them.
  const std::int64_t round = p_.memory_refresh_interval_cycles * p_.memory_banks;
  const sim::Time first = p_.memory_refresh_interval_cycles * (bank + 1);
  const sim::Time now = engine_.now();
  const std::int64_t due = now < first ? 0 : (now - first) / round + 1;
  if (due > refreshed_[index]) {
    refreshed_[index] = due;
    free = std::max(free, first + (due - 1) * round) + p_.memory_refresh_cycles;
    bank_free_[index] = free;
  }
  return free;
}

int MemoryController::pick(const std::vector<Request>& queue, sim::Time& ready_at) {
  const std::size_t sight = std::min(queue.size(), static_cast<std::size_t>(p_.memory_scheduler_sight));
  ready_at = sim::kForever;
  for (std::size_t i = 0; i < sight; ++i) {
    const sim::Time free = bank_free(bank_of(queue[i].offset));
    if (free <= engine_.now()) return static_cast<int>(i);
    ready_at = std::min(ready_at, free);
  }
  return -1;
}

sim::Time MemoryController::burst_ticks(std::uint32_t bytes) const {
  // The DRAM moves whole bursts; the channels share the memory's bandwidth evenly.
  const std::int64_t burst = p_.memory_burst_bytes;
  const std::int64_t moved = (static_cast<std::int64_t>(bytes) + burst - 1) / burst * burst;
  return moved * p_.memory_channels / p_.memory_bytes_per_cycle;
}

void MemoryController::start(int index, const Request& request, bool write) {
  Channel& channel = channels_[static_cast<std::size_t>(index)];
  const int bank = bank_of(request.offset);
  const sim::Time now = engine_.now();
  sim::Time occupied = burst_ticks(request.bytes);
  sim::Time row = write ? p_.memory_write_row_cycles : p_.memory_read_row_cycles;
  if (write && request.bytes < static_cast<std::uint32_t>(p_.memory_masked_write_bytes)) {
    // The line comes in, the bytes are merged, the line goes out: two passes over the channel and the bank.
    occupied = 2 * burst_ticks(kLineBytes) + p_.memory_read_to_write_cycles;
    row += p_.memory_read_row_cycles;
    ++statistics_.read_modify_writes;
  }
  channel.free_at = now + occupied;
  bank_free_[static_cast<std::size_t>(bank)] = now + row;
  statistics_.channel_busy_ticks += occupied;
  const auto argument = static_cast<std::uint64_t>(index);
  if (write) {
    ++statistics_.writes;
    statistics_.written_bytes += request.bytes;
    engine_.after(row, {&MemoryController::write_left, this, argument});
    return;
  }
  ++statistics_.reads;
  statistics_.read_bytes += request.bytes;
  const sim::Time latency = p_.memory_access_cycles + occupied;
  engine_.after(latency, {&MemoryController::read_left, this, argument});
  engine_.after(latency, request.done);
}

}  // namespace corewise::cell
