// The life of a request between the chips: command() here, issue there, delivered() there, back here. Invariant: a
// job is idle, or belongs to exactly one request of this end's chip. SPDX-License-Identifier: BSD-3-Clause
#include "cell/blade.hpp"

#include <algorithm>
#include <cstring>

namespace corewise::cell {

/// A request of this chip (`here`) and its image on the other: the base, so that the bus's pointer leads to the
/// job.
struct BifEnd::Job : BusRequest {
  BifEnd* end = nullptr;
  BusRequest* here = nullptr;
  BusRequester* asker = nullptr;  ///< of `here`: told when all is done
  std::array<std::byte, kLineBytes> bytes_under_way{};
};

BifEnd::BifEnd(Eib& eib) : BusTarget({.stop = kStopIoif0, .global = true}), eib_(eib), p_(eib.parameters()) {
  for (std::int64_t i = 0; i < p_.bif_requests; ++i) {
    jobs_.push_back(std::make_unique<Job>());
    jobs_.back()->end = this;
    idle_.push_back(jobs_.back().get());
  }
}

BifEnd::~BifEnd() = default;

Answer BifEnd::command(BusRequest& request) {
  if (idle_.empty()) {
    ++statistics_.refused;
    return Answer::retry;
  }
  Job& job = *idle_.back();
  idle_.pop_back();
  job.here = &request;
  job.asker = request.requester;
  request.target_cookie = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&job));
  prepare(job);
  const sim::Time now = eib_.engine().now();
  const sim::Time snooped = now + 2 * p_.bif_latency_cycles;
  if (request.kind == BusKind::read) {
    ++statistics_.reads;
    eib_.engine().at(snooped + p_.bif_latency_cycles, {&BifEnd::issue_there, &job, 0});
    return Answer::accept;
  }
  // The bus tells the asker as soon as the data have reached this stop; here that is not the end, so the bus tells
  // us instead, and we the asker when the acknowledgement is back.
  request.requester = this;
  if (request.kind == BusKind::write) {
    ++statistics_.writes;
    eib_.write_granted(request, snooped);
  } else {
    ++statistics_.commands;
    if (request.data != nullptr) std::memcpy(job.bytes_under_way.data(), request.data, request.bytes);
    eib_.engine().at(now + p_.bif_latency_cycles, {&BifEnd::issue_there, &job, 0});
  }
  return Answer::accept;
}

void BifEnd::prepare(Job& job) {
  BusRequest& there = job;
  there = BusRequest{};
  there.kind = job.here->kind;
  there.flavour = job.here->flavour;
  there.stop = kStopIoif0;
  there.bytes = job.here->bytes;
  there.ea = job.here->ea;
  there.data = job.bytes_under_way.data();
  there.requester = this;
  there.cookie = job.here->cookie;
}

void BifEnd::issue_there(void* argument, std::uint64_t) {
  Job& job = *static_cast<Job*>(argument);
  job.end->other_->eib_.issue(job);
}

sim::Time BifEnd::cross(std::uint32_t bytes) {
  const std::int64_t rate = p_.bif_bytes_per_bus_cycle;
  const sim::Time passing = (static_cast<std::int64_t>(bytes) + rate - 1) / rate * kBusCycle;
  free_at_ = std::max(free_at_, eib_.engine().now()) + passing;
  statistics_.bytes_out += bytes;
  statistics_.busy_ticks += passing;
  return free_at_ + p_.bif_latency_cycles;
}

void BifEnd::arrived(BusRequest& request) {
  Job& job = *reinterpret_cast<Job*>(static_cast<std::uintptr_t>(request.target_cookie));
  std::memcpy(job.bytes_under_way.data(), request.data, request.bytes);
  eib_.engine().at(cross(request.bytes), {&BifEnd::issue_there, &job, 0});
}

void BifEnd::delivered(BusRequest& request) {
  // Either the image of a job on the other chip is done, or the bus here has done its part of a job's request.
  if (request.eib == &eib_) return;
  Job& job = static_cast<Job&>(request);
  const bool read = request.kind == BusKind::read;
  const sim::Time home = read ? other_->cross(request.bytes) : eib_.engine().now() + p_.bif_latency_cycles;
  eib_.engine().at(home, {&BifEnd::back_home, &job, 0});
}

void BifEnd::back_home(void* argument, std::uint64_t) {
  Job& job = *static_cast<Job*>(argument);
  BifEnd& end = *job.end;
  if (job.here->kind == BusKind::read) {
    end.eib_.data_ready(*job.here, end.eib_.engine().now());
    return;
  }
  BusRequest& request = *job.here;
  request.requester = job.asker;
  request.target_cookie = job.target_cookie;
  end.finish(job);
  request.requester->delivered(request);
}

void BifEnd::fill(BusRequest& request) {
  Job& job = *reinterpret_cast<Job*>(static_cast<std::uintptr_t>(request.target_cookie));
  std::memcpy(request.data, job.bytes_under_way.data(), request.bytes);
  request.target_cookie = 0;
  finish(job);
}

void BifEnd::finish(Job& job) {
  idle_.push_back(&job);
}

Bif::Bif(Eib& first, Eib& second) : first_(first), second_(second) {
  first_.other_ = &second_;
  second_.other_ = &first_;
  attach(first_);
  attach(second_);
}

void Bif::attach(BifEnd& end) {
  const int other = 1 - end.eib_.chip();
  end.eib_.attach(Location::Kind::memory, other, end);
  for (int spe = 0; spe < kSpesPerChip; ++spe) {
    end.eib_.attach(Location::Kind::local_store, other * kSpesPerChip + spe, end);
  }
}

}  // namespace corewise::cell
