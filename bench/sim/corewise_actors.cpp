// corewise's contestants: the actors as programs on fibers, their messages on a Network, whole (flow) or packet by
// packet on a RingBus. SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "sim/networks/network.hpp"
#include "workload.hpp"

namespace {

using namespace corewise;

/// The ring of the workload: 16 bytes per hop time and ring.
constexpr const char* kMachine = R"({"format": "corewise-machine", "version": 1, "name": "ring of 8",
    "interconnect": {"kind": "ring", "stops": ["0", "1", "2", "3", "4", "5", "6", "7"],
    "units": ["0", "1", "2", "3", "4", "5", "6", "7"], "rings_per_direction": 2, "ring_bandwidth": "25.6 GB/s",
    "hop_latency": "0.625 ns"}})";

class Ring {
 public:
  Ring(sim::Engine& engine, sim::Network& network, int rounds) : engine_(engine), network_(network) {
    for (int a = 0; a < bench::kActors; ++a) {
      actors_[a].process = &engine.spawn("actor" + std::to_string(a), [this, a, rounds] { run(a, rounds); });
    }
  }

 private:
  struct Actor {
    sim::Process* process = nullptr;
    int sent = 0;              ///< own messages delivered
    int received[2] = {0, 0};  ///< from the left, from the right
    int round = 0;
    [[nodiscard]] bool ready() const { return sent == 2 * round && received[0] >= round && received[1] >= round; }
  };

  void run(int a, int rounds) {
    Actor& actor = actors_[a];
    for (int round = 0; round < rounds; ++round) {
      ++actor.round;
      send(a, bench::left_of(a), 1);
      send(a, bench::right_of(a), 0);
      while (!actor.ready()) engine_.block({"its messages of round {}", round, 0, std::source_location::current()});
    }
  }
  void send(int from, int to, int side) {
    const auto argument = static_cast<std::uint64_t>(from | to << 8 | side << 16);
    network_.send(bench::kUnits[from], bench::kUnits[to], bench::kBytes, {&delivered, this, argument});
  }
  static void delivered(void* self, std::uint64_t argument) {
    auto& ring = *static_cast<Ring*>(self);
    Actor& sender = ring.actors_[argument & 0xff];
    Actor& receiver = ring.actors_[argument >> 8 & 0xff];
    ++sender.sent;
    ++receiver.received[argument >> 16];
    if (sender.ready()) ring.engine_.wake(*sender.process);
    if (receiver.ready()) ring.engine_.wake(*receiver.process);
  }

  sim::Engine& engine_;
  sim::Network& network_;
  std::array<Actor, bench::kActors> actors_;
};

int fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

}  // namespace

/// Usage: bench_sim_corewise flow|packet ROUNDS
int main(int argc, char** argv) {
  if (argc != 3) return fail("usage: bench_sim_corewise flow|packet ROUNDS");
  const bool flow = std::strcmp(argv[1], "flow") == 0;
  const int rounds = std::atoi(argv[2]);
  const auto machine = machine::from_json(kMachine, "the workload's ring");
  if (!machine.ok()) return fail(machine.status().message());
  sim::Engine engine(sim::kPicosecondInNs);
  auto network =
      sim::make_network(engine, machine.value(), flow ? sim::Granularity::flow : sim::Granularity::packet);
  if (!network.ok()) return fail(network.status().message());
  Ring ring(engine, *network.value(), rounds);
  Status status;
  bench::report(rounds, [&] {
    status = engine.run();
    return engine.to_ns(engine.now());
  });
  return status.ok() ? 0 : fail(status.message());
}
