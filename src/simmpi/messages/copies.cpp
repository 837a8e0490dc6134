// Lanes, one for each rank. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/messages/copies.hpp"

#include <algorithm>
#include <cmath>

namespace corewise::simmpi {
namespace {

constexpr int kRankBits = 32;

}  // namespace

Copies::Copies(sim::Engine& engine, std::size_t ranks, sim::Handler::Call done, void* self)
    : engine_(engine), lanes_(ranks), done_(done), self_(self) {}

void Copies::add(int to, const Copy& copy) {
  lane(to).queue.push_back(copy);
  if (lane(to).queue.size() == 1) begin(to);
}

bool Copies::crossed(int rank, const Copy& copy) {
  const Lane& other = lane(copy.from);
  return copy.from != rank && !other.queue.empty() && other.queue.front().from == rank;
}

void Copies::begin(int rank) {
  Lane& own = lane(rank);
  const Copy copy = own.queue.front();
  own.left = copy.alone;
  own.since = engine_.now();
  own.pace = 0;
  go_on(rank);
  if (crossed(rank, copy)) go_on(copy.from);
}

void Copies::go_on(int rank) {
  Lane& own = lane(rank);
  const Copy& copy = own.queue.front();
  own.left = std::max(0.0, own.left - static_cast<double>(engine_.now() - own.since) * own.pace);
  own.since = engine_.now();
  own.pace = crossed(rank, copy) && copy.both > 0 ? copy.alone / copy.both : 1;
  const auto argument =
      static_cast<std::uint64_t>(++own.generation) << kRankBits | static_cast<std::uint32_t>(rank);
  engine_.after(own.left > 0 ? std::llround(own.left / own.pace) : 0, {&end, this, argument});
}

void Copies::end(void* self, std::uint64_t argument) {
  auto& copies = *static_cast<Copies*>(self);
  const auto rank = static_cast<int>(static_cast<std::uint32_t>(argument));
  Lane& own = copies.lane(rank);
  if (own.generation != argument >> kRankBits) return;
  const Copy ended = own.queue.front();
  const bool slowed = copies.crossed(rank, ended);
  own.queue.pop_front();
  if (slowed) copies.go_on(ended.from);
  if (!own.queue.empty()) copies.begin(rank);
  copies.done_(copies.self_, ended.argument);
}

}  // namespace corewise::simmpi
