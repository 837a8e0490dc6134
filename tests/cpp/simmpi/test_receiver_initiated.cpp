// The receiver-initiated protocol: times against sums of their steps, who gets which message, and what deadlocks.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "simmpi/include/mpi.h"
#include "simmpi/world.hpp"

extern "C" void cw_compute(double cycles);

namespace corewise::simmpi {
namespace {

constexpr double kSend = 100, kReceive = 200, kHeader = 40;
constexpr double kLate = 1e6;

Settings receiver_initiated() {
  Settings settings;
  settings.send_ns = kSend;
  settings.receive_ns = kReceive;
  settings.header_bytes = kHeader;
  settings.receiver_initiated = 1;
  return settings;
}

struct Ran {
  Status status;
  std::vector<double> end_ns;
};

Ran run(int ranks, const std::function<void(int)>& program, const Settings& settings = receiver_initiated(),
        const std::string& shape = "") {
  const auto machine = machine::from_synthetic(shape.empty() ? "mesh:" + std::to_string(ranks) + "x1" : shape);
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  WorldOptions options;
  options.settings = settings;
  std::vector<int> units;
  for (int rank = 0; rank < ranks; ++rank) units.push_back(rank);
  auto world = World::make(machine.value(), {units}, options);
  EXPECT_TRUE(world.ok()) << world.status().message();
  Ran ran;
  ran.status = world.value()->run([&](Rank& rank) {
    program(rank.world);
    return 0;
  });
  for (int rank = 0; rank < ranks; ++rank) {
    ran.end_ns.push_back(world.value()->engine().to_ns(world.value()->rank(rank).end));
  }
  return ran;
}

/// The way of a header, the way of a message of 500 bytes with its header, and the time that its bytes take.
struct Ways {
  Ways() {
    const auto machine = machine::from_synthetic("mesh:2x1");
    const machine::Link& link = machine.value().links[0];
    header = link.latency_ns + kHeader / link.bandwidth_gb_per_s;
    bytes = (500 + kHeader) / link.bandwidth_gb_per_s;
    data = link.latency_ns + bytes;
  }
  double header = 0, data = 0, bytes = 0;
};

/// Rank 0 sends 500 bytes to rank 1; each computes first.
std::vector<double> ends_of(double sender_ns, double receiver_ns, int source = 0) {
  std::vector<char> out(500, 'x');
  std::vector<char> in(500);
  const Ran ran = run(2, [&](int rank) {
    cw_compute(rank == 0 ? sender_ns : receiver_ns);
    if (rank == 0) MPI_Send(out.data(), 500, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(in.data(), 500, MPI_CHAR, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  EXPECT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(in, out);
  return ran.end_ns;
}

TEST(ReceiverInitiated, AnInvitedMessageGoesAtOnce) {
  const Ways way;
  const std::vector<double> end = ends_of(kLate, 0);
  EXPECT_NEAR(end[0], kLate + kSend + way.bytes, 0.01);
  EXPECT_NEAR(end[1], kLate + kSend + way.data + kReceive, 0.01);
}

TEST(ReceiverInitiated, ASendWaitsForItsReceive) {
  const Ways way;
  const std::vector<double> end = ends_of(0, kLate);
  EXPECT_NEAR(end[0], kLate + way.header + way.bytes, 0.01);
  EXPECT_NEAR(end[1], kLate + way.header + way.data + kReceive, 0.01);
}

TEST(ReceiverInitiated, AnInvitationMayCrossAnAnnouncement) {
  const Ways way;
  const std::vector<double> end = ends_of(0, 0);
  const double invited = std::max(kSend, way.header);
  EXPECT_NEAR(end[0], invited + way.bytes, 0.01);
  EXPECT_NEAR(end[1], invited + way.data + kReceive, 0.01);
}

TEST(ReceiverInitiated, FromAnySourceTheSenderAnnouncesItself) {
  const Ways way;
  const std::vector<double> end = ends_of(kLate, 0, MPI_ANY_SOURCE);
  EXPECT_NEAR(end[0], kLate + kSend + 2 * way.header + way.bytes, 0.01);
  EXPECT_NEAR(end[1], kLate + kSend + 2 * way.header + way.data + kReceive, 0.01);
  EXPECT_EQ(ends_of(0, kLate, MPI_ANY_SOURCE), ends_of(0, kLate));
}

// ---- who gets which message --------------------------------------------------------------------------------

void send_number(int number, int to, int tag) {
  MPI_Send(&number, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

TEST(ReceiverInitiated, AReceiveBehindOneFromAnySourceWaitsForIt) {
  std::array<int, 3> got{};
  const Ran ran = run(3, [&](int rank) {
    if (rank == 1) {
      cw_compute(kLate);
      send_number(11, 0, 0);
      send_number(12, 0, 0);
    }
    if (rank == 2) {
      cw_compute(2 * kLate);
      send_number(21, 0, 0);
    }
    if (rank != 0) return;
    std::array<MPI_Request, 3> requests{};
    const std::array<int, 3> sources = {MPI_ANY_SOURCE, 1, 2};
    for (std::size_t i = 0; i < 3; ++i) {
      MPI_Irecv(&got[i], 1, MPI_INT, sources[i], 0, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
  });
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(got, (std::array<int, 3>{11, 12, 21}));
}

TEST(ReceiverInitiated, ACancelledReceiveInvitesNobody) {
  int got = 0;
  int cancelled = 0;
  const Ran ran = run(2, [&](int rank) {
    if (rank == 1) {
      cw_compute(kLate);
      send_number(5, 0, 3);
    }
    if (rank != 0) return;
    int never = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_Irecv(&never, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
    cw_compute(1000);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(got, 5);
}

TEST(ReceiverInitiated, AMatchedProbeKeepsItsMessage) {
  std::array<int, 2> got{};
  const Ran ran = run(2, [&](int rank) {
    if (rank == 1) {
      std::array<MPI_Request, 2> requests{};
      const std::array<int, 2> numbers = {1, 2};
      for (std::size_t i = 0; i < 2; ++i) MPI_Isend(&numbers[i], 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[i]);
      MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    }
    if (rank != 0) return;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Mprobe(1, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Recv(&got[1], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mrecv(&got[0], 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  });
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(got, (std::array<int, 2>{1, 2}));
}

/// Everybody sends to everybody, in an order and with tags of its own. All receives name their senders; those of a
/// rank with tag 1 are posted before its sends, the others behind. What every rank has got, by sender and place.
using Got = std::vector<std::vector<int>>;

Got exchanged(int ranks, const Settings& settings, const std::string& shape) {
  constexpr int kEach = 4;
  Got got(static_cast<std::size_t>(ranks), std::vector<int>(static_cast<std::size_t>(ranks * kEach)));
  const Ran ran = run(
      ranks,
      [&](int rank) {
        Rng rng(static_cast<std::uint64_t>(rank + 1));
        std::vector<int>& mine = got[static_cast<std::size_t>(rank)];
        std::vector<int> numbers(static_cast<std::size_t>(ranks * kEach));
        std::vector<MPI_Request> requests;
        const auto receive = [&](int tag) {
          for (int place = 0; place < ranks * kEach; ++place) {
            if (place % 2 != tag) continue;
            MPI_Irecv(&mine[static_cast<std::size_t>(place)], 1, MPI_INT, place / kEach, place % 4 == 3 ? 1 : tag,
                      MPI_COMM_WORLD, &requests.emplace_back());
          }
        };
        receive(1);
        for (int place = 0; place < ranks * kEach; ++place) {
          cw_compute(static_cast<double>(rng.below(2000)));
          int& number = numbers[static_cast<std::size_t>(place)];
          number = 1000 * rank + place;
          MPI_Isend(&number, 1, MPI_INT, (place / kEach + rank) % ranks, place % 2, MPI_COMM_WORLD,
                    &requests.emplace_back());
        }
        cw_compute(static_cast<double>(rng.below(2000)));
        receive(0);
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
      },
      settings, shape);
  EXPECT_TRUE(ran.status.ok()) << ran.status.message();
  return got;
}

TEST(ReceiverInitiated, EveryReceiveGetsTheMessageThatItGetsEagerly) {
  for (const int ranks : {1, 2, 3, 5, 8, 11, 16}) {
    Settings settings = receiver_initiated();
    Settings eager = settings;
    eager.receiver_initiated = 0;
    const Got expected = exchanged(ranks, eager, "pack:2 l3:2 core:4");
    EXPECT_EQ(exchanged(ranks, settings, "pack:2 l3:2 core:4"), expected) << ranks;
    settings.forward_level = 1;
    settings.forward_ns = 1;
    settings.forward_gb_per_s = 1e6;
    EXPECT_EQ(exchanged(ranks, settings, "pack:2 l3:2 core:4"), expected) << ranks << " over PPEs";
  }
}

// ---- what a run reports ------------------------------------------------------------------------------------

TEST(ReceiverInitiated, AProgramThatReliesOnBuffersDeadlocksAndIsToldSo) {
  const auto program = [](int rank) {
    int value = rank;
    int other = 0;
    MPI_Send(&value, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD);
    MPI_Recv(&other, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  EXPECT_TRUE(run(2, program, Settings()).status.ok());
  const std::string said = run(2, program).status.message();
  EXPECT_NE(said.find("rank 0 in MPI_Send waits for rank 1 to receive 4 bytes, tag 4, MPI_COMM_WORLD"), said.npos)
      << said;
  EXPECT_NE(said.find("receiver_initiated: every send waits for its receive"), said.npos) << said;
  EXPECT_NE(said.find("circle: 0 -> 1 -> 0"), said.npos) << said;
}

}  // namespace
}  // namespace corewise::simmpi
