// SimGrid's contestant: S4U actors and mailboxes on a platform with one shared link per segment and direction,
// model CM02 without its cross traffic (acknowledgements on the way back), which the machine does not have. A
// second of SimGrid's time is a nanosecond here: its solver's precision is made for seconds.
// SPDX-License-Identifier: BSD-3-Clause
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "workload.hpp"

namespace {

namespace sg4 = simgrid::s4u;

struct Platform {
  std::vector<sg4::Host*> hosts;
  std::vector<const sg4::Link*> up, down;  ///< out of unit i, to i + 1 and to i - 1
};

std::vector<sg4::LinkInRoute> way(const Platform& platform, int from, int to) {
  std::vector<sg4::LinkInRoute> links;
  const int ahead = (to - from + bench::kActors) % bench::kActors;
  const bool upwards = 2 * ahead <= bench::kActors;
  const int step = upwards ? 1 : bench::kActors - 1;
  for (int at = from; at != to; at = (at + step) % bench::kActors) {
    links.emplace_back(upwards ? platform.up[at] : platform.down[at]);
  }
  return links;
}

Platform make_ring() {
  Platform platform;
  auto* zone = sg4::create_full_zone("ring");
  for (int u = 0; u < bench::kActors; ++u) {
    const std::string name = std::to_string(u);
    platform.hosts.push_back(zone->create_host("unit" + name, 1e9)->seal());
    platform.up.push_back(zone->create_link("up" + name, bench::kLinkGbPerS)->set_latency(bench::kHopNs)->seal());
    platform.down.push_back(
        zone->create_link("down" + name, bench::kLinkGbPerS)->set_latency(bench::kHopNs)->seal());
  }
  for (int from = 0; from < bench::kActors; ++from) {
    for (int to = 0; to < bench::kActors; ++to) {
      if (from == to) continue;
      zone->add_route(platform.hosts[from]->get_netpoint(), platform.hosts[to]->get_netpoint(), nullptr, nullptr,
                      way(platform, from, to), false);
    }
  }
  zone->seal();
  return platform;
}

sg4::Mailbox* mailbox(int from, int to) {
  return sg4::Mailbox::by_name(std::to_string(from) + ">" + std::to_string(to));
}

void run_actor(int actor, int rounds) {
  const int sides[2] = {bench::left_of(actor), bench::right_of(actor)};
  sg4::Mailbox *out[2], *in[2];
  for (int s = 0; s < 2; ++s) {
    out[s] = mailbox(actor, sides[s]);
    in[s] = mailbox(sides[s], actor);
  }
  int payload = 0;
  for (int round = 0; round < rounds; ++round) {
    int* received[2];
    const sg4::CommPtr comms[4] = {out[0]->put_async(&payload, bench::kBytes),
                                   out[1]->put_async(&payload, bench::kBytes), in[0]->get_async<int>(&received[0]),
                                   in[1]->get_async<int>(&received[1])};
    for (const auto& comm : comms) comm->wait();
  }
}

}  // namespace

/// Usage: bench_sim_simgrid ROUNDS
int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  if (argc != 2) return 1;
  const int rounds = std::atoi(argv[1]);
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/crosstraffic:0");
  const Platform platform = make_ring();
  for (int a = 0; a < bench::kActors; ++a) {
    sg4::Actor::create("actor" + std::to_string(a), platform.hosts[bench::kUnits[a]], run_actor, a, rounds);
  }
  bench::report(rounds, [&] {
    engine.run();
    return sg4::Engine::get_clock();
  });
  return 0;
}
