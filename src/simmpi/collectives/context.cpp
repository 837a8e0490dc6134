// Messages inside a collective. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/collectives/context.hpp"

#include <array>

#include "pattern/schedule.hpp"
#include "simmpi/messages/transport.hpp"
#include "simmpi/world.hpp"

namespace corewise::simmpi {

Data bytes_at(const std::byte* at, std::int64_t bytes) {
  return {at, bytes, &byte_type()};
}

void copy(const Data& from, const Data& to) {
  copy_items(from.at, from.count, *from.type, to.to(), to.count, *to.type);
}

void Context::prepare(Request& request, const Data& data, int peer) {
  request.internal = true;
  request.comm = &comm;
  request.peer = members != nullptr ? (*members)[static_cast<std::size_t>(peer)] : peer;
  request.tag = tag;
  request.buffer = data.to();
  request.count = data.count;
  request.type = data.type;
}

void Context::start_send(Request& request, const Data& data, int to) {
  request.kind = Request::Kind::send;
  prepare(request, data, to);
  World::here().transport().send(actor, request);
}

void Context::start_receive(Request& request, const Data& data, int from) {
  request.kind = Request::Kind::receive;
  prepare(request, data, from);
  World::here().transport().receive(actor, request);
}

void Context::send(const Data& data, int to) {
  exchange(data, to, data, pattern::schedule::nobody);
}

void Context::receive(const Data& data, int from) {
  exchange(data, pattern::schedule::nobody, data, from);
}

void Context::exchange(const Data& out, int to, const Data& in, int from) {
  Request receiving;
  Request sending;
  std::array<Request*, 2> both{};
  if (from != pattern::schedule::nobody) {
    start_receive(receiving, in, from);
    both[0] = &receiving;
  }
  if (to != pattern::schedule::nobody) {
    start_send(sending, out, to);
    both[1] = &sending;
  }
  World::here().transport().wait_all(actor, both);
  if (receiving.outcome.error != MPI_SUCCESS) error = receiving.outcome.error;
}

void Context::wait(std::vector<Request>& requests) {
  std::vector<Request*> all;
  for (Request& request : requests) all.push_back(&request);
  World::here().transport().wait_all(actor, all);
  for (const Request& request : requests) {
    if (request.outcome.error != MPI_SUCCESS) error = request.outcome.error;
  }
}

}  // namespace corewise::simmpi
