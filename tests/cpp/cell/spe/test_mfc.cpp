// The MFC by itself: how commands are cut into requests, how many are on the bus at one time, the proxy queue, the
// cost of commands and of list elements. What programs see of order and data is tested with the SPU's calls.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "cell/spe/mfc.hpp"
#include "cell/spe/spu.hpp"

namespace corewise::cell {
namespace {

using sim::Time;

/// Takes note of every request; reads are answered `latency` after the response.
struct Recorder final : BusTarget {
  Recorder() : BusTarget({kSpeStop[1], false, false, 0}) {}
  Answer command(BusRequest& request) override {
    requests.emplace_back(request.ea, request.bytes);
    times.push_back(request.eib->engine().now());
    most_on_bus = std::max(most_on_bus, ++on_bus);
    const Time now = request.eib->engine().now();
    if (request.kind == BusKind::read) request.eib->data_ready(request, now + latency);
    if (request.kind == BusKind::write) request.eib->write_granted(request, now);
    return Answer::accept;
  }
  void fill(BusRequest& request) override {
    --on_bus;
    std::memset(request.data, static_cast<int>(request.ea & 0xff), request.bytes);
  }
  void arrived(BusRequest&) override { --on_bus; }
  Time latency = 0;
  int on_bus = 0, most_on_bus = 0;
  std::vector<std::pair<EffectiveAddress, std::uint32_t>> requests;
  std::vector<Time> times;
};

class MfcTest : public ::testing::Test, public MfcListener {
 protected:
  MfcTest() { eib.attach(Location::Kind::local_store, 1, target); }
  void on_local_store_write(LsAddress at, std::uint32_t bytes) override { written.emplace_back(at, bytes); }
  void on_mfc_change() override {
    if (change.call != nullptr) change();
    ends.push_back(engine.now());
  }
  bool on_list_element(const Command&, std::uint32_t, LsAddress, EffectiveAddress, std::uint32_t) override {
    return true;
  }

  static Command get(LsAddress ls, std::uint64_t offset, std::uint32_t size, int tag = 0) {
    Command command;
    command.ls = ls;
    command.ea = ls_address(1) + offset;
    command.size = size;
    command.tag = static_cast<std::uint8_t>(tag);
    return command;
  }

  Parameters parameters;
  sim::Engine engine{0.3125};
  Eib eib{engine, parameters, 0};
  Recorder target;
  std::vector<std::byte> store = std::vector<std::byte>(kLocalStoreBytes);
  Mfc mfc{eib, 0, store, *this};
  std::vector<std::pair<LsAddress, std::uint32_t>> written;
  std::vector<Time> ends;
  sim::Handler change;
};

TEST_F(MfcTest, CutsCommandsAtLinesOfTheEffectiveAddress) {
  mfc.enqueue(get(0x1010, 0x90, 400));
  ASSERT_TRUE(engine.run().ok());
  const EffectiveAddress base = ls_address(1);
  using Expected = std::vector<std::pair<EffectiveAddress, std::uint32_t>>;
  EXPECT_EQ(target.requests,
            (Expected{{base + 0x90, 112}, {base + 0x100, 128}, {base + 0x180, 128}, {base + 0x200, 32}}));
  EXPECT_EQ(mfc.statistics().requests, 4U);
  EXPECT_EQ(mfc.statistics().partial_requests, 2U);
  EXPECT_EQ(mfc.statistics().bytes_in, 400U);
  EXPECT_EQ(store[0x1010], std::byte{0x90});
  EXPECT_EQ(store[0x1010 + 399], std::byte{0});
  EXPECT_EQ(written.size(), 4U);
  EXPECT_EQ(ends.size(), 1U);
}

TEST_F(MfcTest, KeepsSixteenRequestsOnTheBusAndGoesOnWithEachCredit) {
  target.latency = 1000;
  mfc.enqueue(get(0, 0, 16384));
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(target.most_on_bus, 16);
  ASSERT_EQ(target.times.size(), 128U);
  // Sixteen at a time: each batch waits for the latency, the phases around it and its credit.
  const Time round = target.times[16] - target.times[0];
  EXPECT_GE(round, 1000 + parameters.mfc_credit_cycles + parameters.command_send_cycles +
                       parameters.command_snoop_cycles + kBusCycle * 9);
  EXPECT_LE(round, 1000 + parameters.mfc_credit_cycles + parameters.command_send_cycles +
                       parameters.command_snoop_cycles + kBusCycle * 30);
}

TEST_F(MfcTest, AllRequestsOfACommandFollowEachOtherAtTheirInterval) {
  mfc.enqueue(get(0, 0, 16 * 128));
  ASSERT_TRUE(engine.run().ok());
  ASSERT_EQ(target.times.size(), 16U);
  const Time first =
      parameters.mfc_command_cycles + parameters.command_send_cycles + parameters.command_snoop_cycles;
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(target.times[i], first + static_cast<Time>(i) * parameters.mfc_request_interval_cycles);
  }
}

TEST_F(MfcTest, CommandsStartAtTheirIntervalAndShareTheBus) {
  for (int i = 0; i < 16; ++i)
    mfc.enqueue(get(static_cast<LsAddress>(128 * i), 128U * static_cast<unsigned>(i), 128, i));
  EXPECT_EQ(mfc.free_entries(), 0U);
  EXPECT_EQ(mfc.complete_tags(), 0xffff0000U);
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(mfc.free_entries(), 16U);
  EXPECT_EQ(mfc.complete_tags(), 0xffffffffU);
  for (std::size_t i = 1; i < 16; ++i) {
    EXPECT_EQ(target.times[i] - target.times[i - 1],
              std::max(parameters.mfc_command_interval_cycles, parameters.mfc_request_interval_cycles));
  }
}

TEST_F(MfcTest, TheProxyQueueIsEightDeepWithTagsOfItsOwn) {
  for (int i = 0; i < 8; ++i) mfc.enqueue_proxy(get(0, 0, 16, 5));
  EXPECT_EQ(mfc.free_proxy_entries(), 0U);
  EXPECT_EQ(mfc.free_entries(), 16U);
  EXPECT_EQ(mfc.complete_proxy_tags(), ~(1U << 5));
  EXPECT_EQ(mfc.complete_tags(), ~0U);
  // A fence in the SPU's queue does not wait for the proxy's commands of the same tag group.
  Command fenced = get(0x100, 0x100, 16, 5);
  fenced.order = Order::fence;
  target.latency = 0;
  mfc.enqueue(fenced);
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(mfc.statistics().proxy_commands, 8U);
  EXPECT_EQ(mfc.statistics().commands, 1U);
  EXPECT_LT(target.times.back() - target.times.front(), 9 * (parameters.mfc_command_interval_cycles + 2));
}

TEST_F(MfcTest, AFenceWaitsForTheEndOfWhatItFollows) {
  target.latency = 700;
  mfc.enqueue(get(0, 0, 128, 1));
  Command fenced = get(128, 128, 128, 1);
  fenced.order = Order::fence;
  mfc.enqueue(fenced);
  mfc.enqueue(get(256, 256, 128, 2));
  ASSERT_TRUE(engine.run().ok());
  ASSERT_EQ(target.requests.size(), 3U);
  EXPECT_EQ(target.requests[1].first, ls_address(1) + 256) << "another tag group overtakes";
  EXPECT_GE(target.times[2], ends[0] + parameters.command_send_cycles + parameters.command_snoop_cycles);
}

TEST_F(MfcTest, AListElementCostsItsFetchAndAListOneEntry) {
  const int elements = 10;
  for (int i = 0; i < elements; ++i) {
    const MfcListElement one{0, 128, static_cast<std::uint32_t>(ls_address(1) + 4096U * static_cast<unsigned>(i))};
    std::memcpy(&store[static_cast<std::size_t>(0x8000 + 8 * i)], &one, 8);
  }
  Command list = get(0, 0, 8 * elements);
  list.opcode = Opcode::get_list;
  list.list = 0x8000;
  mfc.enqueue(list);
  EXPECT_EQ(mfc.free_entries(), 15U);
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(mfc.statistics().list_elements, 10U);
  ASSERT_EQ(target.times.size(), 10U);
  for (std::size_t i = 1; i < 10; ++i) {
    EXPECT_EQ(target.requests[i].first - target.requests[i - 1].first, 4096U);
    EXPECT_GE(target.times[i] - target.times[i - 1], parameters.mfc_list_element_cycles);
  }
  EXPECT_EQ(mfc.statistics().commands, 1U);
}

TEST_F(MfcTest, ShuffledItStartsEligibleCommandsInAnotherOrder) {
  parameters.mfc_shuffle_seed = 3;
  Mfc shuffled(eib, 0, store, *this);
  // The first command takes all sixteen places on the bus; the others wait and are then drawn.
  shuffled.enqueue(get(0, 0, 16 * 128, 0));
  for (int i = 1; i < 12; ++i) shuffled.enqueue(get(0x4000, 4096U * static_cast<unsigned>(i), 16, 0));
  ASSERT_TRUE(engine.run().ok());
  std::vector<EffectiveAddress> later;
  for (std::size_t i = 16; i < target.requests.size(); ++i) later.push_back(target.requests[i].first);
  ASSERT_EQ(later.size(), 11U);
  EXPECT_FALSE(std::is_sorted(later.begin(), later.end()));
  std::sort(later.begin(), later.end());
  for (std::size_t i = 0; i < 11; ++i) EXPECT_EQ(later[i], ls_address(1) + 4096 * (i + 1));
}

TEST_F(MfcTest, SyncTellsTheBusAndHoldsItsTagGroupAndBarrierHoldsAll) {
  target.latency = 900;
  mfc.enqueue(get(0, 0, 128, 1));
  Command sync;
  sync.opcode = Opcode::sync;
  sync.tag = 1;
  mfc.enqueue(sync);
  mfc.enqueue(get(128, 128, 128, 1));
  mfc.enqueue(get(256, 256, 128, 2));
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(eib.statistics().commands, 4U);
  EXPECT_EQ(target.requests[1].first, ls_address(1) + 256);
  EXPECT_EQ(target.requests[2].first, ls_address(1) + 128);
  EXPECT_GE(target.times[2], ends[1]);
}

}  // namespace
}  // namespace corewise::cell
