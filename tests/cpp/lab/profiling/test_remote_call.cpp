// Remote procedure calls from SPEs to the PPE: messages there and back, both kinds of answer, wrong numbers.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "cell/system.hpp"
#include "lab/remote_call.hpp"

namespace corewise::lab {
namespace {

constexpr std::uint32_t kSum = 7;
constexpr cell::LsAddress kMessage = 0x2000;

using Words = std::array<std::uint64_t, 4>;

/// The sum of the first three words, in the fourth.
void sum(cell::Ppu& ppu, std::span<std::byte> message) {
  Words words;
  ASSERT_EQ(message.size(), sizeof words);
  std::memcpy(words.data(), message.data(), sizeof words);
  ppu.cycles(100);
  words[3] = words[0] + words[1] + words[2];
  std::memcpy(message.data(), words.data(), sizeof words);
}

void every_spe_gets_its_own_answer(Answer answer) {
  cell::System system{cell::Parameters()};
  RemoteCalls calls(answer);
  calls.offer(kSum, &sum);
  const std::vector<int> spes = {0, 3, 5};
  calls.serve(system, spes);
  std::vector<std::uint64_t> sums;
  std::vector<sim::Time> took;
  for (const int spe : spes) {
    system.run_on_spe(spe, "caller", [&, spe](cell::Spu& spu) {
      for (std::uint64_t turn = 0; turn < 3; ++turn) {
        const auto own = static_cast<std::uint64_t>(spe);
        spu.store(kMessage, Words{own, turn << 40, 1, 0});
        const sim::Time begin = spu.now();
        calls.call(spu, kSum, kMessage, sizeof(Words));
        took.push_back(spu.now() - begin);
        EXPECT_EQ(spu.load<Words>(kMessage)[3], own + (turn << 40) + 1);
        sums.push_back(spu.load<Words>(kMessage)[3]);
      }
      calls.leave(spu);
    });
  }
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(sums.size(), 9U);
  EXPECT_EQ(calls.served(), 9U);
  // Eight accesses of the PPE to a local store, and what it computes: a call is no cheaper.
  const cell::Parameters parameters;
  for (const sim::Time each : took) EXPECT_GT(each, 4 * parameters.ppe_mmio_read_cycles + 100);
}

TEST(RemoteCall, EverySpeGetsItsOwnAnswer) {
  every_spe_gets_its_own_answer(Answer::mailbox);
  every_spe_gets_its_own_answer(Answer::signal);
}

/// What a run ends with where one SPE calls `number` with `bytes`.
std::string refused(std::uint32_t number, std::uint32_t bytes) {
  cell::System system{cell::Parameters()};
  RemoteCalls calls;
  calls.offer(kSum, &sum);
  calls.serve(system, {2});
  system.run_on_spe(2, "caller", [&](cell::Spu& spu) { calls.call(spu, number, kMessage, bytes); });
  return system.run().message();
}

TEST(RemoteCallErrors, SayWhatIsAllowed) {
  EXPECT_NE(refused(9, 32).find("field 'procedure': found 9, allowed: 7"), std::string::npos) << refused(9, 32);
  EXPECT_NE(refused(256, 32).find("field 'procedure': found 256"), std::string::npos);
  EXPECT_NE(refused(kSum, 24).find("field 'bytes': found 24, allowed: multiples of 16"), std::string::npos);
}

TEST(RemoteCallErrors, AnSpeThatDoesNotLeaveIsADeadlock) {
  cell::System system{cell::Parameters()};
  RemoteCalls calls;
  calls.serve(system, {1});
  system.run_on_spe(1, "silent", [](cell::Spu& spu) { spu.spu_cycles(10); });
  EXPECT_NE(system.run().message().find("outbound mailbox of SPE 1"), std::string::npos);
}

}  // namespace
}  // namespace corewise::lab
