// One rank. SPDX-License-Identifier: BSD-3-Clause
#include "replay/player.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "simmpi/messages/transport.hpp"

namespace corewise::replay {
namespace {

using simmpi::Comm;
using simmpi::Request;
using trace::Record;
using trace::Role;

bool outside(const Record& record) {
  return record.peer == trace::kOutside || record.peer == trace::kNoPeer;
}

}  // namespace

Player::Player(Stage& stage, simmpi::Rank& rank)
    : stage_(stage),
      rank_(rank),
      actor_(rank.program),
      source_(stage.recording.source(rank.world)),
      comms_(stage.communicators.size()) {
  result_.recorded_ns = stage.recording.recorded_ns(rank.world);
}

void Player::play() {
  if (source_.slot == nullptr) return;
  const double late_ns = stage_.ideal ? 0 : stage_.recording.late_ns(rank_.world);
  actor_.clock += stage_.world.ticks(std::max(0.0, late_ns));
  CallReader calls(source_.records());
  Call call;
  std::uint64_t last_ticks = source_.begin_ticks;
  while (calls.next(call)) {
    const Procedure& procedure = (*source_.procedures)[call.record.procedure];
    const bool startup = procedure.facts.starts_or_stops();
    if (call.record.start_ticks > last_ticks) {
      pass(stage_.options.computation * (source_.clock.ns(call.record.start_ticks) - source_.clock.ns(last_ticks)));
    }
    last_ticks = std::max(last_ticks, call.end_ticks());
    actor_.call = procedure.name.c_str();
    actor_.call_number = call.number;
    settle(call, procedure);
    mark(call.record.start_ticks);
    if (procedure.ends) break;
    if (startup) continue;
    ++result_.calls;
    const sim::Time begin = actor_.clock;
    perform(call, procedure);
    if (stage_.options.timeline != nullptr) record_slice(begin, call);
  }
  result_.waiting_ns = stage_.world.engine().to_ns(actor_.waited);
}

void Player::pass(double ns) {
  if (!(ns > 0)) return;
  actor_.clock = std::max(actor_.clock, stage_.world.engine().now()) + sim::nearest_tick(ns);
  result_.computation_ns += ns;
  stage_.world.transport().touch(actor_, ns);
}

void Player::mark(std::uint64_t ticks) {
  const std::vector<double>& cuts = stage_.options.cuts_ns;
  if (marks_.size() == cuts.size()) return;
  const double recorded_ns = source_.clock.ns(ticks);
  while (marks_.size() < cuts.size() && recorded_ns >= cuts[marks_.size()]) {
    marks_.push_back(
        {recorded_ns - stage_.recording.begin_ns(), std::max(actor_.clock, stage_.world.engine().now())});
  }
}

void Player::record_slice(sim::Time begin, const Call& call) const {
  sim::Timeline& timeline = *stage_.options.timeline;
  const auto track = timeline.track("ranks", "rank " + std::to_string(rank_.world));
  const auto kind = timeline.kind(actor_.call, "peer", "bytes");
  timeline.slice(track, kind, std::min(begin, actor_.clock), actor_.clock, call.record.peer,
                 static_cast<std::int64_t>(call.record.bytes));
}

// ---- calls -----------------------------------------------------------------------------------------------

void Player::perform(const Call& call, const Procedure& procedure) {
  switch (call.record.role) {
    case Role::send:
    case Role::receive:
    case Role::post_receive:
    case Role::collective:
      start(call, procedure);
      return finish(call, procedure);
    case Role::plain:
      if (procedure.completes == Completes::none && call.completed.empty()) return keep_time(call);
      return finish(call, procedure);
    case Role::probe:
      return probe(call.record);
    case Role::miss:
      return poll(call);
    default:
      return keep_time(call);
  }
}

void Player::start(const Call& call, const Procedure& procedure) {
  // The receiving half of MPI_Sendrecv is there before its send: it arrived in the call that began it.
  for (const Record& record : call.completed) {
    if (record.role == Role::arrival && record.start_ticks == call.record.start_ticks) post(record);
  }
  start_one(call, call.record, procedure);
  for (const Record& record : call.more) {
    if (record.role != Role::collective_part) {
      start_one(call, record, (*source_.procedures)[record.procedure]);
    }
  }
}

void Player::start_one(const Call& call, const Record& record, const Procedure& procedure) {
  switch (record.role) {
    case Role::send:
      return send(record, procedure);
    case Role::receive:
    case Role::post_receive:
      if (post(record) && record.role == Role::receive) {
        waits_.push_back(std::move(receives_.back()));
        receives_.pop_back();
      }
      return;
    case Role::collective:
      return collective(call, record, procedure);
    default:
      return;
  }
}

/// Waits for what the call completed.
void Player::finish(const Call& call, const Procedure& procedure) {
  for (const Record& record : call.completed) {
    if (record.role == Role::cancel) {
      cancel(record);
    } else if (auto operation = take_receive(record)) {
      waits_.push_back(std::move(operation));
    }
  }
  take_sends(call, procedure);
  if (waits_.empty()) return;
  std::vector<Request*> requests;
  for (const auto& operation : waits_) requests.push_back(&operation->request);
  stage_.world.transport().wait_all(actor_, requests);
  waits_.clear();
}

void Player::take_sends(const Call& call, const Procedure& procedure) {
  if (sends_.empty() || procedure.completes == Completes::none) return;
  const bool received = !call.completed.empty();
  if (procedure.completes == Completes::one && received) return;
  if (received && stage_.relaxed) return;
  std::size_t ended = procedure.completes == Completes::all ? sends_.size() : 1;
  for (; ended > 0; --ended) {
    waits_.push_back(std::move(sends_.front()));
    sends_.pop_front();
  }
}

void Player::keep_time(const Call& call) {
  const double ns = source_.clock.ns(call.end_ticks()) - source_.clock.ns(call.record.start_ticks);
  ++unreplayed_;
  if (stage_.ideal) return;
  unreplayed_ns_ += ns;
  pass(ns);
}

void Player::poll(const Call& call) {
  const double ns = source_.clock.ns(call.end_ticks()) - source_.clock.ns(call.record.start_ticks);
  const auto misses = static_cast<double>(std::max<std::uint64_t>(call.record.bytes, 1));
  if (ns / misses > kPolling_ns) return pass(stage_.options.computation * ns);
  polled_ns_ += ns;
  polled_.insert(call.record.procedure);
}

/// What became of the tests before a call: they waited where one of their sort now found something, or the call got
/// a message. Where the program did anything else about messages it had gone on computing between them.
void Player::settle(const Call& call, const Procedure& procedure) {
  if (polled_.empty() || call.record.role == Role::miss) return;
  const bool other = call.record.role == Role::plain && procedure.completes == Completes::none && !procedure.ends;
  const bool received = call.record.role == Role::probe || call.record.role == Role::receive ||
                        std::any_of(call.completed.begin(), call.completed.end(),
                                    [](const Record& each) { return each.role == Role::arrival; });
  const bool found = received || polled_.contains(call.record.procedure);
  if (other && !found) return;
  if (!found) pass(stage_.options.computation * polled_ns_);
  polled_ns_ = 0;
  polled_.clear();
}

// ---- messages --------------------------------------------------------------------------------------------

int Player::known_comm(const Record& record) const {
  return record.comm < source_.comm_of.size() ? source_.comm_of[record.comm] : -1;
}

/// The world's where it is nothing that can be replayed: then peers are ranks of the world.
Comm& Player::comm_of(const Record& record) {
  const int known = known_comm(record);
  if (known < 0) return rank_.world_comm;
  const auto index = static_cast<std::size_t>(known);
  const Members& members = stage_.recording.communicators()[index];
  if (members.single) return rank_.self_comm;
  const int place = members.rank_of(rank_.world);
  if (stage_.communicators[index] == nullptr || place < 0) return rank_.world_comm;
  if (!comms_[index]) {
    comms_[index] = std::make_unique<Comm>();
    comms_[index]->shared = stage_.communicators[index];
    comms_[index]->rank = place;
    comms_[index]->name = members.name;
  }
  return *comms_[index];
}

int Player::place_in(const Record& record, std::int32_t peer) const {
  if (peer == trace::kProcNull) return MPI_PROC_NULL;
  if (peer < 0) return MPI_ANY_SOURCE;
  const int known = known_comm(record);
  if (known < 0) return peer;
  if (stage_.recording.communicators()[static_cast<std::size_t>(known)].single) return 0;
  const Members* members = source_.members(stage_.recording.communicators(), record.comm, rank_.world);
  return members == nullptr ? peer : members->rank_of(peer);
}

void Player::send(const Record& record, const Procedure& procedure) {
  if (outside(record)) return;
  auto operation = std::make_unique<Operation>();
  operation->start_ticks = record.start_ticks;
  Request& request = operation->request;
  request.kind = Request::Kind::send;
  request.mode = procedure.mode;
  request.peer = place_in(record, record.peer);
  request.tag = std::max(0, record.tag);
  request.count = static_cast<std::int64_t>(record.bytes);
  request.type = &simmpi::byte_type();
  request.comm = &comm_of(record);
  stage_.world.transport().start(actor_, request);
  const bool returns_done = procedure.facts.transfer > profile::Transfer::posted_send;
  const bool buffered = returns_done && stage_.relaxed && request.mode == simmpi::Mode::standard;
  if (buffered) {
    while (!left_.empty() && left_.front()->request.done) left_.pop_front();
    left_.push_back(std::move(operation));
  } else {
    (returns_done ? waits_ : sends_).push_back(std::move(operation));
  }
}

/// False for a message from elsewhere.
bool Player::post(Record record) {
  if (record.role != Role::post_receive && outside(record)) return false;
  if (record.role == Role::post_receive && (record.peer == trace::kAnySource || record.tag == trace::kAnyTag)) {
    if (!foresight_) foresight_.emplace(source_.records());
    if (const Record* arrival = foresight_->arrival_of(record)) {
      record.peer = arrival->peer;
      record.tag = arrival->tag;
    }
  }
  auto operation = std::make_unique<Operation>();
  operation->start_ticks = record.start_ticks;
  operation->peer = record.peer;
  operation->tag = record.tag;
  Request& request = operation->request;
  request.kind = Request::Kind::receive;
  request.peer = place_in(record, record.peer);
  request.tag = record.tag < 0 ? MPI_ANY_TAG : record.tag;
  request.count = kAnySize;
  request.type = &simmpi::byte_type();
  request.comm = &comm_of(record);
  stage_.world.transport().start(actor_, request);
  receives_.push_back(std::move(operation));
  return true;
}

/// The posted receive that a message arrived for; posts one now where its post left no record.
std::unique_ptr<Player::Operation> Player::take_receive(const Record& arrival) {
  const auto fits = [&](const std::unique_ptr<Operation>& each) {
    return each->start_ticks == arrival.start_ticks && (each->peer < 0 || each->peer == arrival.peer) &&
           (each->tag < 0 || each->tag == arrival.tag);
  };
  auto at = std::find_if(receives_.begin(), receives_.end(), fits);
  if (at == receives_.end()) {
    if (!post(arrival)) return nullptr;
    at = receives_.end() - 1;
  }
  auto taken = std::move(*at);
  receives_.erase(at);
  return taken;
}

void Player::cancel(const Record& record) {
  const auto same = [&](const std::unique_ptr<Operation>& each) { return each->start_ticks == record.start_ticks; };
  const auto at = std::find_if(receives_.begin(), receives_.end(), same);
  if (at != receives_.end() && stage_.world.transport().cancel((*at)->request)) receives_.erase(at);
}

void Player::probe(const Record& record) {
  if (record.peer < 0) return;
  actor_.clock = std::max(actor_.clock, stage_.world.engine().now());
  const sim::Time before = actor_.clock;
  const simmpi::Message& message = stage_.world.transport().wait_for_message(
      actor_, comm_of(record), place_in(record, record.peer), std::max(0, record.tag));
  if (actor_.clock == before) return;
  actor_.path = message.path;
  actor_.path.transfer += actor_.clock - message.at;
  ++actor_.path.messages;
  actor_.waited += actor_.clock - before;
}

// ---- collectives -----------------------------------------------------------------------------------------

Job Player::job_of(const Call& call, const Record& record, int known, Comm& comm) const {
  Job job;
  job.bytes = static_cast<std::int64_t>(record.bytes);
  if (record.peer >= 0) job.root = std::max(0, place_in(record, record.peer));
  const Members& members = stage_.recording.communicators()[static_cast<std::size_t>(known)];
  for (const Record& part : call.more) {
    if (part.role != Role::collective_part) continue;
    const int peer = part.peer < 0 ? -1 : members.rank_of(part.peer);
    if (peer >= 0 && peer != comm.rank) job.shares.push_back({peer, static_cast<std::int64_t>(part.bytes)});
  }
  std::stable_sort(job.shares.begin(), job.shares.end(),
                   [](const Share& a, const Share& b) { return a.peer < b.peer; });
  return job;
}

void Player::collective(const Call& call, const Record& record, const Procedure& procedure) {
  const int known = known_comm(record);
  const bool single = known >= 0 && stage_.recording.communicators()[static_cast<std::size_t>(known)].single;
  const Expand how = stage_.options.selection.of(procedure.facts.row);
  if (single) return keep_time(call);
  if (how == nullptr || known < 0 || stage_.communicators[static_cast<std::size_t>(known)] == nullptr) {
    return keep_time(call);
  }
  ++collectives_;
  Comm& comm = comm_of(record);
  expand(how, job_of(call, record, known, comm), comm, procedure);
}

void Player::expand(Expand how, Job job, Comm& comm, const Procedure& procedure) {
  const int number = comm.collectives++;
  if (!procedure.in_background) {
    actor_.clock = std::max(actor_.clock, stage_.world.engine().now());
    simmpi::Context context{actor_, comm, number, MPI_SUCCESS};
    return how(context, job);
  }
  auto operation = std::make_unique<Operation>();
  operation->request.kind = Request::Kind::collective;
  operation->request.comm = &comm;
  Request& request = operation->request;
  actor_.clock = std::max(actor_.clock, stage_.world.engine().now());
  stage_.world.in_background(
      actor_, [how, job = std::move(job), number, &comm, &request, call = actor_.call](simmpi::Actor& helper) {
        helper.call = call;
        simmpi::Context context{helper, comm, number, MPI_SUCCESS};
        how(context, job);
        simmpi::World& world = simmpi::World::here();
        world.synchronize(helper);
        request.path = helper.path;
        world.transport().complete(request, helper.clock);
      });
  sends_.push_back(std::move(operation));
}

}  // namespace corewise::replay
