// Start and end of a call, errors, and collectives in the foreground and the background.
// SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/api/entry.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace corewise::simmpi {

Entry::Entry(const char* name)
    : world_(World::here()),
      actor_(World::actor()),
      outer_(actor_.call),
      begin_(actor_.clock),
      record_(world_, actor_, name, *outer_ == '\0') {
  actor_.call = name;
}

Entry::~Entry() {
  if (sim::Timeline* timeline = world_.timeline()) {
    const auto track = timeline->track("ranks", "rank " + std::to_string(actor_.rank->world));
    const auto kind = timeline->kind(actor_.call, "peer", "bytes");
    const sim::Time begin = std::min(begin_, actor_.clock);
    timeline->slice(track, kind, begin, actor_.clock, peer_, bytes_);
  }
  actor_.call = outer_;
}

void Entry::look() const {
  actor_.clock += world_.ticks(world_.settings().call_ns);
  world_.synchronize(actor_);
}

int Entry::raise(Comm* comm, int code) const {
  Comm& owner = comm != nullptr ? *comm : rank().world_comm;
  if (owner.handler == &returning_handler()) return code;
  if (owner.handler != nullptr) {
    MPI_Comm handle = owner.handle;
    owner.handler->function(&handle, &code);
    return code;
  }
  const auto own = rank().error_texts.find(code);
  const std::string text = own != rank().error_texts.end() ? own->second : error_text(class_of(rank(), code));
  world_.fail("rank " + std::to_string(rank().world) + " in " + actor_.call + " on " +
              (owner.name.empty() ? "a communicator" : owner.name) + ": " + text);
}

int Entry::now(const Plan& plan) {
  if (plan.error != MPI_SUCCESS) return raise(plan.comm, plan.error);
  Context context{actor_, *plan.comm, plan.comm->collectives++, MPI_SUCCESS};
  actor_.clock = std::max(actor_.clock, world_.engine().now());
  plan.work(context);
  if (plan.moved && context.error == MPI_SUCCESS) record_.collective(*plan.comm, *plan.moved);
  return result(plan.comm, context.error);
}

int Entry::later(const Plan& plan, MPI_Request* request) {
  if (plan.error != MPI_SUCCESS) return raise(plan.comm, plan.error);
  if (request == nullptr) return raise(plan.comm, MPI_ERR_ARG);
  auto* made = new Request;
  made->kind = Request::Kind::collective;
  made->active = true;
  made->owned = true;
  made->comm = plan.comm;
  const int number = plan.comm->collectives++;
  Comm& comm = *plan.comm;
  const char* call = actor_.call;
  world_.in_background(actor_, [made, number, &comm, call, work = plan.work](Actor& actor) {
    actor.call = call;
    Context context{actor, comm, number, MPI_SUCCESS};
    work(context);
    World::here().synchronize(actor);
    made->outcome.error = context.error;
    made->path = actor.path;
    World::here().transport().complete(*made, actor.clock);
  });
  if (plan.moved) record_.collective(*plan.comm, *plan.moved);
  *request = reinterpret_cast<MPI_Request>(made);
  return MPI_SUCCESS;
}

Comm* comm_of(MPI_Comm handle) {
  const auto number = reinterpret_cast<std::intptr_t>(handle);
  Rank& rank = *World::actor().rank;
  if (handle == MPI_COMM_WORLD) return &rank.world_comm;
  if (handle == MPI_COMM_SELF) return &rank.self_comm;
  return number < kPredefinedHandles ? nullptr : reinterpret_cast<Comm*>(handle);
}

Errhandler& returning_handler() {
  static Errhandler handler;
  return handler;
}

void write_status(MPI_Status* status, const Outcome& outcome) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = outcome.source;
  status->MPI_TAG = outcome.tag;
  status->corewise_cancelled = outcome.cancelled ? 1 : 0;
  status->corewise_bytes = outcome.bytes;
}

}  // namespace corewise::simmpi
