// The ideal port itself: an algorithm that keeps the contract of port.hpp is right on it under every seed, calm or
// not; each that breaks a rule is caught, by a report or by wrong data, under some seed of a few.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "coll/barrier/pairwise_exchange.hpp"
#include "lab/collectives/ideal_port.hpp"
#include "lab/collectives/ppe_service.hpp"
#include "port/wait.hpp"

namespace corewise::lab {
namespace {

constexpr int kSeeds = 40;
constexpr std::uint32_t kBytes = 256;

IdealJob job_of(int ranks, std::uint64_t seed = 0) {
  IdealJob job;
  job.ranks = ranks;
  job.layout = {.stage_bytes = 1024, .lines16 = 16, .lines128 = 4, .atomic_words = 2};
  job.local_bytes = 512;
  job.seed = seed;
  return job;
}

using Bytes = std::array<std::byte, kBytes>;

struct alignas(128) Buffers {
  Bytes in{}, out{};

  explicit Buffers(std::uint32_t salt) {
    for (std::uint32_t i = 0; i < kBytes; ++i) in[i] = static_cast<std::byte>(i * 7 + salt);
  }
};

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

/// How many of the seeds 1 .. kSeeds give wrong data: `program` calls `wrong()` when it sees some.
int seeds_with_wrong_data(int ranks, const std::function<void(IdealPort&, const std::function<void()>&)>& program) {
  IdealSystem system;
  int wrong_seeds = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    bool wrong = false;
    const Status status =
        system.run(job_of(ranks, seed), [&](IdealPort& port) { program(port, [&wrong] { wrong = true; }); });
    EXPECT_EQ(status.message(), "");
    wrong_seeds += wrong ? 1 : 0;
  }
  return wrong_seeds;
}

/// The message of the first failure of `program` among the calm run and the seeds; empty: none.
std::string message_of(int ranks, const std::function<void(IdealPort&)>& program) {
  IdealSystem system;
  for (std::uint64_t seed = 0; seed <= kSeeds; ++seed) {
    const Status status = system.run(job_of(ranks, seed), program);
    if (!status.ok()) return status.message();
  }
  return {};
}

std::string message_on_one_rank(const std::function<void(IdealPort&)>& program) {
  return message_of(1, program);
}

bool mentions(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

// ---- programs that keep the contract ----

/// Rank r sends its input through its stage into the next rank's stage, which copies it out and acknowledges.
void ring_step(IdealPort& port, Buffers& mine, port::Sequence number) {
  const int next = (port.rank() + 1) % port.size();
  const int before = (port.rank() + port.size() - 1) % port.size();
  port.copy_in(mine.in.data(), 0, kBytes, 1);
  port.wait(port::mask_of(1));
  port.put(0, {next, kBytes}, kBytes, 2);
  port.put_line(next, port::Line16{0}, number, {}, 2);
  port::wait_line(port, port::Line16{0}, number);
  port.copy_out(kBytes, mine.out.data(), kBytes, 3);
  port.wait(port::mask_of(3) | port::mask_of(2));
  port.put_line(before, port::Line16{1}, number, {}, 4);
  port::wait_line(port, port::Line16{1}, number);
}

TEST(IdealPort, ARightProgramIsRightUnderEverySeed) {
  IdealSystem system;
  for (std::uint64_t seed = 0; seed <= kSeeds; ++seed) {
    std::array<int, 5> right{};
    const Status status = system.run(job_of(5, seed), [&right](IdealPort& port) {
      Buffers mine(static_cast<std::uint32_t>(port.rank()));
      const Buffers theirs(static_cast<std::uint32_t>((port.rank() + 4) % 5));
      for (port::Sequence number = 1; number <= 6; ++number) {
        mine.out = {};
        ring_step(port, mine, number);
        right[static_cast<std::size_t>(port.rank())] += mine.out == theirs.in ? 1 : 0;
      }
    });
    EXPECT_EQ(status.message(), "");
    EXPECT_EQ(right, (std::array<int, 5>{6, 6, 6, 6, 6})) << seed;
  }
}

TEST(IdealPort, TheSameSeedGivesTheSameRunAndAnotherSeedAnother) {
  const auto steps = [](std::uint64_t seed) {
    IdealSystem system;
    EXPECT_TRUE(system
                    .run(job_of(6, seed),
                         [](IdealPort& port) {
                           coll::barrier::PairwiseExchange barrier(port);
                           for (int i = 0; i < 20; ++i) barrier();
                         })
                    .ok());
    return system.steps();
  };
  EXPECT_EQ(steps(7), steps(7));
  EXPECT_NE(steps(7), steps(8));
}

TEST(IdealPort, TheBarrierHoldsUnderEverySeed) {
  IdealSystem system;
  for (const int ranks : {1, 2, 3, 7, 16}) {
    for (std::uint64_t seed = 0; seed <= kSeeds; ++seed) {
      std::vector<int> entered(static_cast<std::size_t>(ranks), 0);
      bool early = false;
      const Status status = system.run(job_of(ranks, seed), [&](IdealPort& port) {
        coll::barrier::PairwiseExchange barrier(port);
        for (int round = 1; round <= 5; ++round) {
          port.pause(port.rank() == round ? 20 : 0);
          entered[static_cast<std::size_t>(port.rank())] = round;
          barrier();
          for (const int other : entered) early = early || other < round;
        }
      });
      EXPECT_EQ(status.message(), "");
      EXPECT_FALSE(early);
    }
  }
}

TEST(IdealPort, PayloadsArriveAndWhatIsNotGivenIsPoisoned) {
  std::array<std::byte, 124> seen{};
  IdealSystem system;
  const Status status = system.run(job_of(2, 3), [&seen](IdealPort& port) {
    const port::Line128 line{3};
    if (port.rank() == 0) {
      std::uint64_t value = 0x1122334455667788;
      port.put_line(1, line, 9, bytes_of(value), 5);
      value = 0;  // taken at the call
      return;
    }
    EXPECT_EQ(port.line_sequence(line), 0U);
    port::wait_line(port, line, 9);
    std::memcpy(seen.data(), port.line_payload(line).data(), seen.size());
  });
  ASSERT_TRUE(status.ok()) << status.message();
  std::uint64_t value = 0;
  std::memcpy(&value, seen.data(), sizeof(value));
  EXPECT_EQ(value, 0x1122334455667788U);
  for (std::size_t i = sizeof(value); i < seen.size(); ++i) ASSERT_EQ(seen[i], std::byte{0xDB});
}

TEST(IdealPort, ListsSignalsWordsAndMailboxes) {
  IdealSystem system;
  for (std::uint64_t seed = 0; seed <= kSeeds; ++seed) {
    alignas(16) std::array<std::byte, 96> from{};
    alignas(16) std::array<std::byte, 96> to{};
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i + 1);
    std::array<std::uint32_t, 3> answers{};
    std::uint32_t signal = 0;
    const Status status = system.run(
        job_of(3, seed),
        [&](IdealPort& port) {
          const auto rank = static_cast<std::uint32_t>(port.rank());
          if (rank == 0) {
            const std::array<IdealPort::UserPiece, 2> pieces{{{from.data(), 32}, {from.data() + 64, 32}}};
            const std::array<IdealPort::UserPiece, 2> places{{{to.data() + 32, 32}, {to.data(), 32}}};
            port.copy_in_list(pieces, 64, 1);
            port.wait(port::mask_of(1));
            port.copy_out_list(64, places, 1);
            const std::array<int, 2> peers{1, 2};
            port.put_line_list(peers, port::Line16{2}, 1, {}, 1);
            std::uint32_t bits = 0;
            while (bits != 6) bits |= port.wait_signal();
            signal = bits;
          } else {
            port::wait_line(port, port::Line16{2}, 1);
            port.send_signal(0, 1U << rank, 0);
          }
          port.fetch_add(1, rank + 1);
          while (port.load_word(1) != 6) {
          }
          for (std::uint32_t i = 0; i < 3; ++i) port.write_mailbox(10 * rank + i);
          answers[rank] = port.read_mailbox();
        },
        [](IdealCoordinator& coordinator) {
          std::array<std::uint32_t, 3> sums{};
          for (int word = 0; word < 9; ++word) {
            coordinator.wait_any();
            for (int rank = 0; rank < 3; ++rank) {
              if (coordinator.waiting(rank) == 0) continue;
              sums[static_cast<std::size_t>(rank)] += coordinator.read(rank);
              break;
            }
          }
          for (int rank = 0; rank < 3; ++rank) coordinator.write(rank, sums[static_cast<std::size_t>(rank)]);
          while (true) coordinator.wait_any();  // ended with the ranks
        });
    EXPECT_EQ(status.message(), "");
    EXPECT_EQ(answers, (std::array<std::uint32_t, 3>{3, 33, 63}));
    EXPECT_EQ(signal, 6U);
    EXPECT_EQ(std::memcmp(to.data(), from.data() + 64, 32), 0);
    EXPECT_EQ(std::memcmp(to.data() + 32, from.data(), 32), 0);
  }
}

TEST(IdealPort, LocalMemoryIsReachedByItsOffset) {
  IdealSystem system;
  for (std::uint64_t seed = 0; seed <= kSeeds; ++seed) {
    std::byte seen{};
    const Status status = system.run(job_of(2, seed), [&seen](IdealPort& port) {
      std::byte elsewhere{};
      EXPECT_FALSE(port.in_place(&elsewhere, 1).has_value());
      EXPECT_FALSE(port.in_place(port.local().data() + 512 - 16, 17).has_value());
      const std::optional<port::StageOffset> at = port.in_place(port.local().data() + 16, 16);
      ASSERT_TRUE(at.has_value());
      if (port.rank() == 0) {
        port.local()[16] = std::byte{77};
        port.put(*at, {1, *at}, 16, 3);
        port.put_line(1, port::Line16{0}, 1, {}, 3);
      } else {
        port::wait_line(port, port::Line16{0}, 1);
        seen = port.local()[16];
      }
    });
    EXPECT_EQ(status.message(), "");
    EXPECT_EQ(seen, std::byte{77});
  }
}

TEST(IdealPort, DirectCopiesReachAPeersUserMemory) {
  IdealSystem system;
  for (std::uint64_t seed = 0; seed <= kSeeds; ++seed) {
    std::vector<Buffers> all(2, Buffers(5));
    const Status status = system.run(job_of(2, seed), [&all](IdealPort& port) {
      if (port.rank() != 0) return;
      port.read_user(1, all[1].in.data(), 0, kBytes, 0);
      port.wait(1);
      port.write_user(1, 0, all[1].out.data(), kBytes, 0);
      port.wait(1);
    });
    EXPECT_EQ(status.message(), "");
    EXPECT_EQ(all[1].out, all[1].in);
  }
}

// ---- wrong data: the adversary finds what a wait or fence is missing ----

TEST(IdealPortCatches, ASourceChangedBeforeTheWait) {
  const int wrong = seeds_with_wrong_data(1, [](IdealPort& port, const std::function<void()>& wrong_data) {
    Buffers mine(3);
    port.stage()[0] = std::byte{1};
    port.copy_out(0, mine.out.data(), 16, 0);
    port.stage()[0] = std::byte{2};  // not waited
    port.wait(1);
    if (mine.out[0] != std::byte{1}) wrong_data();
  });
  EXPECT_GT(wrong, kSeeds / 2);
}

TEST(IdealPortCatches, ADestinationReadBeforeTheWait) {
  const int wrong = seeds_with_wrong_data(1, [](IdealPort& port, const std::function<void()>& wrong_data) {
    Buffers mine(3);
    port.copy_in(mine.in.data(), 0, 16, 0);
    port.compute(100);
    if (port.stage()[5] != mine.in[5]) wrong_data();
  });
  EXPECT_GT(wrong, kSeeds / 2);
}

TEST(IdealPortCatches, ALineUnderAnotherTagThanItsData) {
  const int wrong = seeds_with_wrong_data(2, [](IdealPort& port, const std::function<void()>& wrong_data) {
    if (port.rank() == 0) {
      port.stage()[0] = std::byte{42};
      port.put(0, {1, 0}, 16, 1);
      port.put_line(1, port::Line16{0}, 1, {}, 2);  // the fence of tag 2 covers nothing
      port.wait(port::mask_of(1));
      return;
    }
    port::wait_line(port, port::Line16{0}, 1);
    if (port.stage()[0] != std::byte{42}) wrong_data();
  });
  EXPECT_GT(wrong, 0);
}

TEST(IdealPortCatches, APayloadOverwrittenBeforeItIsRead) {
  const int wrong = seeds_with_wrong_data(2, [](IdealPort& port, const std::function<void()>& wrong_data) {
    for (std::uint32_t number = 1; number <= 3; ++number) {
      if (port.rank() == 0) {
        port.put_line(1, port::Line16{0}, number, bytes_of(number), 0);  // nobody acknowledges
        continue;
      }
      port::wait_line(port, port::Line16{0}, number);
      std::uint32_t seen = 0;
      std::memcpy(&seen, port.line_payload(port::Line16{0}).data(), sizeof(seen));
      if (seen != number) wrong_data();
    }
  });
  EXPECT_GT(wrong, 0);
}

TEST(IdealPortCatches, ABufferThatIsWrittenAgainTooEarly) {
  const int wrong = seeds_with_wrong_data(2, [](IdealPort& port, const std::function<void()>& wrong_data) {
    for (std::uint32_t number = 1; number <= 3; ++number) {
      if (port.rank() == 0) {
        port.stage()[0] = static_cast<std::byte>(number);
        port.put(0, {1, 0}, 16, 0);
        port.wait(1);
        port.put_line(1, port::Line16{0}, number, {}, 0);
        continue;
      }
      port::wait_line(port, port::Line16{0}, number);
      if (port.stage()[0] != static_cast<std::byte>(number)) wrong_data();
    }
  });
  EXPECT_GT(wrong, 0);
}

TEST(IdealPortCatches, AStageThatIsReadBeforeAnythingCameThere) {
  EXPECT_EQ(seeds_with_wrong_data(1,
                                  [](IdealPort& port, const std::function<void()>& wrong_data) {
                                    if (port.stage()[0] != std::byte{0}) wrong_data();
                                  }),
            kSeeds);
}

// ---- reports ----

TEST(IdealPortReports, PlacesOutside) {
  const std::string text = message_of(2, [](IdealPort& port) {
    if (port.rank() == 1) port.put(0, {0, 1024 - 16}, 32, 0);
  });
  EXPECT_TRUE(mentions(text, "rank 1, put (test_ideal_port.cpp:")) << text;
  EXPECT_TRUE(mentions(text, "outside of stage and local memory")) << text;
  const auto outside = [](const std::function<void(IdealPort&)>& program) {
    return mentions(message_on_one_rank(program), "outside of stage and local memory");
  };
  EXPECT_TRUE(outside([](IdealPort& port) { port.get({0, 0}, 1024, 528, 0); }));
  EXPECT_TRUE(outside([](IdealPort& port) { port.get({0, 0xFFFFFFF0}, 0, 32, 0); }));
  EXPECT_FALSE(outside([](IdealPort& port) { port.get({0, 0}, 1024, 512, 0); }));
  EXPECT_FALSE(outside([](IdealPort& port) { port.get({0, 0xFFFFFFF0}, 0, 0, 0); }));
}

TEST(IdealPortReports, OverlapAndIncongruence) {
  EXPECT_TRUE(mentions(message_on_one_rank([](IdealPort& port) { port.get({0, 0}, 16, 32, 0); }),
                       "rank 0, get (test_ideal_port.cpp:"));
  EXPECT_TRUE(mentions(message_on_one_rank([](IdealPort& port) { port.get({0, 0}, 16, 32, 0); }), "overlap"));
  EXPECT_TRUE(mentions(message_on_one_rank([](IdealPort& port) { port.get({0, 0}, 100, 32, 0); }), "congruent"));
  const auto incongruent = [](auto& port) {
    Buffers mine(1);
    port.copy_out(1, mine.out.data(), 8, 0);
    port.wait(1);
  };
  EXPECT_TRUE(mentions(message_on_one_rank(incongruent), "rank 0, copy_out"));
  IdealSystem system;
  EXPECT_TRUE(system.run<1>(job_of(1, 5), [&](IdealPortOf<1>& port) { incongruent(port); }).ok());
}

TEST(IdealPortReports, NamesThatAreNotThere) {
  const auto text = [](const std::function<void(IdealPort&)>& program) { return message_on_one_rank(program); };
  EXPECT_TRUE(mentions(text([](IdealPort& p) { p.put_line(1, port::Line16{0}, 1, {}, 0); }), "no such peer"));
  EXPECT_TRUE(mentions(text([](IdealPort& p) { p.put_line(0, port::Line16{16}, 1, {}, 0); }), "no such line"));
  EXPECT_TRUE(mentions(text([](IdealPort& p) { p.put_line(0, port::Line16{0}, 1, {}, 32); }), "no such tag"));
  EXPECT_TRUE(mentions(text([](IdealPort& p) { p.fetch_add(2, 1); }), "no such word"));
  EXPECT_TRUE(
      mentions(text([](IdealPort& p) { static_cast<void>(p.line_sequence(port::Line128{4})); }), "no line 4"));
  const std::array<std::byte, 13> long_one{};
  EXPECT_TRUE(mentions(text([&](IdealPort& p) { p.put_line(0, port::Line16{0}, 1, long_one, 0); }), "too long"));
}

TEST(IdealPortReports, ALineWithTwoWritersOrTwoTags) {
  const auto two_ranks = [](IdealPort& port) { port.put_line(0, port::Line16{0}, 1, {}, 0); };
  EXPECT_TRUE(mentions(message_of(2, two_ranks), "another rank or tag"));
  const auto two_tags = [](IdealPort& port) {
    port.put_line(0, port::Line16{0}, 1, {}, 0);
    port.put_line(0, port::Line16{0}, 2, {}, 1);
  };
  EXPECT_TRUE(mentions(message_on_one_rank(two_tags), "another rank or tag"));
  IdealSystem system;
  IdealJob job = job_of(2);
  job.one_writer = false;
  EXPECT_TRUE(system.run(job, two_ranks).ok());
}

TEST(IdealPortReports, ADeadlockWithEveryRankAndWhatItWaitsFor) {
  const std::string text = message_of(3, [](IdealPort& port) {
    if (port.rank() == 0) port::wait_line(port, port::Line16{0}, 1);
    if (port.rank() == 1) port.wait_signal();
  });
  EXPECT_TRUE(mentions(text, "deadlock: rank 0 waits for a control line (test_ideal_port.cpp:")) << text;
  EXPECT_TRUE(mentions(text, "; rank 1 waits for a signal (")) << text;
  EXPECT_FALSE(mentions(text, "rank 2")) << text;
}

TEST(IdealPortReports, AWrongRequestToTheCoordinator) {
  IdealSystem system;
  const Status status = system.run(
      IdealJob{.ranks = 2, .layout = {}},
      [](IdealPort& port) {
        if (port.rank() == 0) coll::ask_ppe(port, coll::PpeRequest::barrier);
        coll::leave_ppe(port);
      },
      ideal_ppe(2));
  EXPECT_NE(status.message().find("rank 1 asks for something else"), std::string::npos) << status.message();
}

TEST(IdealPortReports, AWaitThatLooksAtOtherLinesThanItSays) {
  const std::string text = message_of(2, [](IdealPort& port) {
    if (port.rank() == 0) return port.put_line(1, port::Line16{1}, 1, {}, 0);
    port.wait_lines(port::Line16{0}, 1, [&port] { return port.line_sequence(port::Line16{1}) == 1; });
  });
  EXPECT_TRUE(mentions(text, "deadlock: rank 1")) << text;
}

TEST(IdealPortReports, ARunWithoutEnd) {
  IdealSystem system;
  IdealJob job = job_of(2);
  job.max_steps = 1000;
  const Status status = system.run(job, [](IdealPort& port) {
    while (port.load_word(0) == 0) {
    }
  });
  EXPECT_TRUE(mentions(status.message(), "no end after 1000 steps: rank 0 waits for its turn")) << status.message();
}

TEST(IdealPortReports, ALayoutThatDoesNotFitOnTheCell) {
  IdealSystem system;
  IdealJob job = job_of(1);
  job.layout.stage_bytes = 36 * 1024;
  EXPECT_FALSE(system.run(job, [](IdealPort&) {}).ok());
  job.layout.stage_bytes = 33 * 1024;
  EXPECT_TRUE(system.run(job, [](IdealPort&) {}).ok());
}

TEST(IdealPort, AMistakeUnwindsEveryProgramAndTheSystemGoesOn) {
  IdealSystem system;
  int unwound = 0;
  struct Counts {
    int& count;
    ~Counts() { ++count; }
  };
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    unwound = 0;
    int begun = 0;
    EXPECT_FALSE(system
                     .run(job_of(4, seed),
                          [&](IdealPort& port) {
                            const Counts counts{unwound};
                            ++begun;
                            if (port.rank() == 2) port.get({9, 0}, 0, 16, 0);
                            port.wait_signal();
                          })
                     .ok());
    EXPECT_EQ(unwound, begun);
    EXPECT_GE(begun, 1);
    EXPECT_TRUE(system.run(job_of(4, seed), [](IdealPort& port) { port.pause(3); }).ok());
  }
}

}  // namespace
}  // namespace corewise::lab
