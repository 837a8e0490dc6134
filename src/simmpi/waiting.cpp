// The report of a deadlock: what every rank waits for, and a circle of ranks that wait for one another.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "simmpi/world.hpp"

namespace corewise::simmpi {
namespace {

constexpr std::size_t kMostShown = 3;   ///< requests of one rank
constexpr std::size_t kMostRanks = 40;  ///< lines

std::string number(int value) {
  return std::to_string(value);
}

std::string name_of(const Comm& comm) {
  return comm.name.empty() ? "communicator " + number(comm.shared->number) : comm.name;
}

/// Rank in the world, or none for MPI_ANY_SOURCE.
std::optional<int> peer_in_world(const Request& request) {
  if (request.comm == nullptr || request.peer < 0) return std::nullopt;
  return request.comm->shared->world[static_cast<std::size_t>(request.peer)];
}

std::string text_of(const Request& request) {
  const std::optional<int> peer = peer_in_world(request);
  const std::string who = peer ? "rank " + number(*peer) : "any rank";
  switch (request.kind) {
    case Request::Kind::send:
      return who + " to receive " + std::to_string(request.type->bytes(request.count)) + " bytes" +
             (request.internal ? "" : ", tag " + number(request.tag) + ", " + name_of(*request.comm));
    case Request::Kind::receive:
      return "a message from " + who +
             (request.internal ? ""
                               : (request.tag == MPI_ANY_TAG ? ", any tag" : ", tag " + number(request.tag)) +
                                     ", " + name_of(*request.comm));
    case Request::Kind::collective:
      return "a collective in the background on " + name_of(*request.comm);
    case Request::Kind::generalized:
      break;
  }
  return "a request of its own";
}

std::vector<const Request*> pending(const Actor& actor) {
  std::vector<const Request*> found;
  for (const Request* request : actor.waits) {
    if (request != nullptr && !request->done) found.push_back(request);
  }
  if (actor.probes != nullptr) found.push_back(actor.probes);
  return found;
}

std::string line_of(const Actor& actor) {
  const std::vector<const Request*> waits = pending(actor);
  const std::string which = actor.call_number > 0 ? " (call " + std::to_string(actor.call_number) + ")" : "";
  std::string text = "rank " + number(actor.rank->world) + " in " + actor.call + which + " waits for ";
  if (waits.empty()) return text + "something that nobody will do";
  for (std::size_t i = 0; i < std::min(waits.size(), kMostShown); ++i) {
    text += (i > 0 ? "; " : "") + text_of(*waits[i]);
  }
  if (waits.size() > kMostShown) text += "; and " + std::to_string(waits.size() - kMostShown) + " more";
  return text;
}

/// Rank by rank whom the first pending request names; -1 where nobody.
std::vector<int> first_peers(World& world) {
  std::vector<int> peers(static_cast<std::size_t>(world.size()), -1);
  world.for_each_actor([&](const Actor& actor) {
    int& peer = peers[static_cast<std::size_t>(actor.rank->world)];
    for (const Request* request : pending(actor)) {
      if (const auto named = peer_in_world(*request); named && peer < 0) peer = *named;
    }
  });
  return peers;
}

std::string circle_of(World& world) {
  const std::vector<int> peers = first_peers(world);
  std::vector<int> seen(peers.size(), -1);
  for (int start = 0; start < world.size(); ++start) {
    int at = start;
    while (at >= 0 && seen[static_cast<std::size_t>(at)] < 0) {
      seen[static_cast<std::size_t>(at)] = start;
      at = peers[static_cast<std::size_t>(at)];
    }
    if (at < 0 || seen[static_cast<std::size_t>(at)] != start) continue;
    std::string text = "circle: " + number(at);
    int next = peers[static_cast<std::size_t>(at)];
    for (; next != at; next = peers[static_cast<std::size_t>(next)]) text += " -> " + number(next);
    return text + " -> " + number(at);
  }
  return {};
}

}  // namespace

std::string waiting_report(World& world) {
  std::string text;
  std::size_t lines = 0;
  world.for_each_actor([&](const Actor& actor) {
    if (++lines <= kMostRanks) text += line_of(actor) + "\n";
  });
  if (lines > kMostRanks) text += "and " + std::to_string(lines - kMostRanks) + " more\n";
  if (world.settings().receiver_initiated != 0) text += "receiver_initiated: every send waits for its receive\n";
  return text + circle_of(world);
}

}  // namespace corewise::simmpi
