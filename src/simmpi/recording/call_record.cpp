// From calls to records. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/recording/call_record.hpp"

#include <algorithm>

#include "simmpi/world.hpp"

namespace corewise::simmpi {
namespace {

using trace::Role;

bool is_call(Role role) {
  return role != Role::arrival && role != Role::cancel && role != Role::collective_part;
}

std::int32_t world_peer(const Comm& comm, int rank) {
  if (rank == MPI_PROC_NULL) return trace::kProcNull;
  if (rank == MPI_ANY_SOURCE) return trace::kAnySource;
  if (rank < 0 || rank >= comm.size()) return trace::kNoPeer;
  return comm.shared->world[static_cast<std::size_t>(rank)];
}

}  // namespace

CallRecord::CallRecord(World& world, Actor& actor, const char* name, bool outermost)
    : world_(world), actor_(actor) {
  Recording* recording = world.recording();
  if (recording == nullptr || !outermost || &actor != &actor.rank->program) return;
  recorder_ = &recording->rank(actor.rank->world);
  procedure_ = recording->procedure(name);
  start_ = recorder_->begin(actor.clock);
  recorder_->enter(procedure_);
}

CallRecord::~CallRecord() {
  if (!active()) return;
  std::uint64_t ticks = recorder_->since(start_, actor_.clock);
  const std::uint64_t end = start_ + ticks;
  if (missed_) recorder_->miss(start_, ticks, procedure_);
  const bool said = std::any_of(found_.begin(), found_.end(), [](const auto& each) { return is_call(each.role); });
  if (!missed_ && !said) recorder_->call(start_, ticks, procedure_);
  for (trace::MessageFields& each : found_) {
    const bool earlier = each.role == Role::arrival || each.role == Role::cancel;
    each.ticks = earlier ? end - each.start : ticks;
    if (is_call(each.role)) ticks = 0;  // the first record has the call's duration
    recorder_->message(each);
  }
  actor_.clock += world_.ticks(world_.settings().record_ns);
}

trace::MessageFields CallRecord::fields(Role role, const Comm& comm, int peer, int tag, std::int64_t bytes,
                                        const Type* type) {
  trace::MessageFields made{};
  made.start = start_;
  made.bytes = static_cast<std::uint64_t>(bytes);
  made.peer = world_peer(comm, peer);
  made.tag = tag == MPI_ANY_TAG ? trace::kAnyTag : tag;
  made.procedure = static_cast<std::uint64_t>(procedure_);
  made.comm = recorder_->comm_index(comm);
  made.role = role;
  made.type = type != nullptr ? recorder_->type_index(*type) : trace::kUnknownType;
  return made;
}

void CallRecord::sent(const Request& request) {
  if (!active()) return;
  const std::int64_t bytes = request.type->bytes(request.count);
  add(fields(Role::send, *request.comm, request.peer, request.tag, bytes, request.type));
}

void CallRecord::received(const Request& request) {
  if (!active()) return;
  const Outcome& came = request.outcome;
  add(fields(Role::receive, *request.comm, came.source, came.tag, came.bytes, request.type));
}

void CallRecord::posted(Request& request) {
  if (!active()) return;
  request.recorded_at = start_;
  request.procedure = procedure_;
  const std::int64_t room = request.type->bytes(request.count);
  add(fields(Role::post_receive, *request.comm, request.peer, request.tag, room, request.type));
}

void CallRecord::completed(const Request& request) {
  if (!active() || request.recorded_at == 0 || request.kind != Request::Kind::receive) return;
  const Outcome& came = request.outcome;
  const bool gone = came.cancelled;
  trace::MessageFields made =
      gone ? fields(Role::cancel, *request.comm, request.peer, request.tag, request.type->bytes(request.count),
                    request.type)
           : fields(Role::arrival, *request.comm, came.source, came.tag, came.bytes, request.type);
  made.start = request.recorded_at;
  made.procedure = static_cast<std::uint64_t>(request.procedure);
  add(made);
}

void CallRecord::arrived(const Request& request) {
  if (!active()) return;
  const Outcome& came = request.outcome;
  add(fields(Role::arrival, *request.comm, came.source, came.tag, came.bytes, request.type));
}

void CallRecord::probed(const Comm& comm, const Outcome& outcome) {
  if (!active()) return;
  add(fields(Role::probe, comm, outcome.source, outcome.tag, outcome.bytes, nullptr));
}

void CallRecord::collective(const Comm& comm, const Moved& moved) {
  if (!active()) return;
  std::int64_t bytes = moved.bytes;
  for (const auto& [rank, share] : moved.shares) bytes += share;
  const int root = moved.root < 0 ? MPI_UNDEFINED : moved.root;
  add(fields(Role::collective, comm, root, 0, bytes, moved.type));
  for (const auto& [rank, share] : moved.shares) {
    if (share > 0) add(fields(Role::collective_part, comm, rank, 0, share, moved.type));
  }
}

void CallRecord::note_new(World& world, const Actor& actor, const Comm& comm) {
  Recording* recording = world.recording();
  if (recording == nullptr) return;
  RankRecorder& recorder = recording->rank(actor.rank->world);
  const bool in_background = &actor != &actor.rank->program;
  recorder.created(comm, in_background ? recording->procedure(actor.call) : recorder.procedure());
}

}  // namespace corewise::simmpi
