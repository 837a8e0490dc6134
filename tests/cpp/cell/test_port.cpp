// The Cell's port: where it lies in the local store, how copies are cut, what arrives, and that the rules of the
// hardware hold through it. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/rng.hpp"
#include "cell/port.hpp"
#include "cell/system.hpp"
#include "port/wait.hpp"

namespace corewise::cell {
namespace {

using port::Line128;
using port::Line16;
using port::Sequence;

Parameters chips(int count) {
  Parameters parameters;
  parameters.chips = count;
  return parameters;
}

/// A job on the first SPEs of one chip.
struct Job {
  Job(int ranks, const port::Layout& layout, int chip_count = 1) : system(chips(chip_count)) {
    std::vector<int> spes;
    for (int spe = 0; spe < ranks; ++spe) spes.push_back(spe);
    job = PortJob::make(system, spes, layout).value();
  }
  void run(const std::function<void(CellPort&)>& program) {
    run_ranks(system, job, program);
    const Status status = system.run();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  std::span<std::byte> stage(int rank) {
    return system.bytes(ls_address(job.spes[static_cast<std::size_t>(rank)]) + job.layout.stage,
                        job.layout.of.stage_bytes);
  }

  System system;
  PortJob job;
};

void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  Rng rng(seed);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.next());
}

// ---- the layout ----

TEST(CellPortLayout, SaysWhatItTakesAndNothingOverlaps) {
  const PortLayout layout = PortLayout::make({1000, 5, 3, 2}).value();
  // lines128, slots128, atomic line, stage rounded to quadwords, lines16, slots16, list
  EXPECT_EQ(layout.bytes, 3U * 128 + 4 * 128 + 128 + 1008 + 5 * 16 + 32 * 16 + 32 * 8);
  EXPECT_EQ(layout.lines128, kLocalStoreBytes - kPortBudgetBytes);
  EXPECT_EQ(layout.slots128, layout.lines128 + 3 * 128);
  EXPECT_EQ(layout.atomic_line, layout.slots128 + 4 * 128);
  EXPECT_EQ(layout.stage, layout.atomic_line + 128);
  EXPECT_EQ(layout.lines16, layout.stage + 1008);
  EXPECT_EQ(layout.slots16, layout.lines16 + 5 * 16);
  EXPECT_EQ(layout.list, layout.slots16 + 32 * 16);
  EXPECT_EQ(layout.end, layout.lines128 + layout.bytes);
  EXPECT_EQ(layout.stage % port::kStageAlignment, 0U);
}

/// The paper's two buffers of 16 KB, metadata for 16 ranks of both sizes, and the barrier's: within the budget.
TEST(CellPortLayout, ThePapersBuffersAndMetadataFit) {
  const Result<PortLayout> layout = PortLayout::make({2 * 16 * 1024, 6 + 2 * 16, 16, 1});
  ASSERT_TRUE(layout.ok()) << layout.status().message();
  EXPECT_LE(layout.value().bytes, kPortBudgetBytes);
  EXPECT_LE(layout.value().end, kLocalStoreBytes);
}

TEST(CellPortLayout, RefusesWhatIsOverTheBudget) {
  const std::uint32_t fixed = PortLayout::make({}).value().bytes;
  EXPECT_TRUE(PortLayout::make({kPortBudgetBytes - fixed, 0, 0, 0}).ok());
  const Result<PortLayout> over = PortLayout::make({kPortBudgetBytes - fixed + 1, 0, 0, 0});
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.status().message(), "port layout: field 'bytes': found 36880, allowed: at most 36864");
  EXPECT_FALSE(PortLayout::make({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 1}).ok());
}

TEST(CellPortLayout, RefusesAPlaceOutOfStepOrBeyondTheLocalStore) {
  EXPECT_FALSE(PortLayout::make({0, 1, 0, 0}, 0x100 + 16).ok());
  EXPECT_FALSE(PortLayout::make({1024, 1, 0, 0}, kLocalStoreBytes - 1024).ok());
  EXPECT_TRUE(PortLayout::make({1024, 1, 0, 0}, kLocalStoreBytes - 2048).ok());
}

TEST(CellPortJob, RefusesSpesThatAreNotThereOrTaken) {
  Parameters ps3 = chips(1);
  ps3.usable[7] = false;
  System system(ps3);
  EXPECT_FALSE(PortJob::make(system, {}, {}).ok());
  EXPECT_FALSE(PortJob::make(system, {0, 1, 0}, {}).ok());
  EXPECT_FALSE(PortJob::make(system, {8}, {}).ok());
  EXPECT_FALSE(PortJob::make(system, {-1}, {}).ok());
  const Result<PortJob> hidden = PortJob::make(system, {7}, {});
  ASSERT_FALSE(hidden.ok());
  EXPECT_EQ(hidden.status().message(), "port job: field 'spes': found 7, allowed: usable SPEs of this machine");
  EXPECT_TRUE(PortJob::make(system, {6, 0}, {}).ok());
}

// ---- cutting copies ----

/// Every start within a quadword and many lengths: each command is one that the hardware takes, together they are
/// the copy, and no fewer would do at its ends.
TEST(CellPortCopies, AreCutIntoCommandsThatTheHardwareTakes) {
  for (std::uint64_t start = 0; start < 16; ++start) {
    for (std::uint32_t bytes = 1; bytes < 70000; bytes = bytes < 200 ? bytes + 1 : bytes * 5 / 4) {
      std::uint64_t at = start;
      std::uint32_t left = bytes;
      while (left > 0) {
        const std::uint32_t size = command_bytes(at, left);
        ASSERT_LE(size, left);
        if (size >= 16) {
          ASSERT_EQ(size % 16, 0U);
          ASSERT_EQ(at % 16, 0U);
          ASSERT_LE(size, kMaxDmaBytes);
        } else {
          ASSERT_TRUE(size == 1 || size == 2 || size == 4 || size == 8);
          ASSERT_EQ(at % size, 0U);
        }
        at += size;
        left -= size;
      }
      ASSERT_EQ(at, start + bytes);
    }
  }
  EXPECT_EQ(command_bytes(6, 100), 2U);
  EXPECT_EQ(command_bytes(8, 100), 8U);
  EXPECT_EQ(command_bytes(16, 15), 8U);
  EXPECT_EQ(command_bytes(32, 40000), 16384U);
}

TEST(CellPortCopies, TakeTheRightBytesAndNoOthers) {
  constexpr std::uint32_t kStage = 4096;
  for (const std::uint32_t bytes : {0U, 1U, 15U, 16U, 17U, 127U, 128U, 1000U}) {
    for (const std::uint32_t phase : {0U, 1U, 8U, 15U}) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes at phase " + std::to_string(phase));
      Job job(2, {kStage, 0, 0, 0});
      const EffectiveAddress user = job.system.allocate(8192);
      fill(job.system.bytes(user, 4096), 1);
      fill(job.stage(1), 2);
      const std::vector<std::byte> before(job.stage(1).begin(), job.stage(1).end());
      job.run([&](CellPort& port) {
        if (port.rank() != 0) return;
        port.copy_in(user + 32 + phase, 64 + phase, bytes, 0);
        port.wait(port::mask_of(0));
        port.put(64 + phase, {1, 256 + phase}, bytes, 1);
        port.wait(port::mask_of(1));
        port.get({1, 256 + phase}, 2048 + phase, bytes, 2);
        port.wait(port::mask_of(2));
        port.copy_out(2048 + phase, user + 4096 + phase, bytes, 3);
        port.wait(port::mask_of(3));
      });
      const std::span<std::byte> memory = job.system.bytes(user, 8192);
      std::vector<std::byte> wanted = before;
      std::copy_n(memory.begin() + 32 + phase, bytes, wanted.begin() + 256 + phase);
      EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), job.stage(1).begin()));
      std::vector<std::byte> out(4096);
      std::copy_n(memory.begin() + 32 + phase, bytes, out.begin() + phase);
      EXPECT_TRUE(std::equal(out.begin(), out.end(), memory.begin() + 4096));
    }
  }
}

TEST(CellPortCopies, OutOfStepEndTheRunWithTheHardwaresFaultAndThePlaceInTheText) {
  Job job(2, {1024, 0, 0, 0});
  run_ranks(job.system, job.job, [](CellPort& port) {
    if (port.rank() == 0) port.put(1, {1, 2}, 64, 0);
  });
  const Status status = job.system.run();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("alignment"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("test_port.cpp"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("rank 0"), std::string::npos) << status.message();
}

// ---- lines ----

/// To and fro with payloads of both kinds; a torn or late payload would show.
template <class L>
void ping_pong(CellPort& port, Sequence rounds, int& wrong) {
  std::array<std::byte, L::kPayloadBytes> payload;
  for (Sequence n = 1; n <= rounds; ++n) {
    payload.fill(static_cast<std::byte>(n + static_cast<Sequence>(port.rank())));
    if (port.rank() == 0) port.put_line(1, L{1}, n, payload, 3);
    payload.fill(std::byte{0xEE});  // what is put is taken at the call
    port::wait_line(port, L{1}, n);
    for (const std::byte seen : port.line_payload(L{1})) {
      if (seen != static_cast<std::byte>(n + static_cast<Sequence>(1 - port.rank()))) ++wrong;
    }
    payload.fill(static_cast<std::byte>(n + 1));
    if (port.rank() == 1) port.put_line(0, L{1}, n, payload, 3);
  }
}

TEST(CellPortLines, CarryTheirPayloadWhole) {
  Job job(2, {0, 2, 2, 0});
  int wrong = 0;
  job.run([&](CellPort& port) {
    ping_pong<Line16>(port, 100, wrong);
    ping_pong<Line128>(port, 100, wrong);
  });
  EXPECT_EQ(wrong, 0);
}

/// More lines at once than there are slots and queue entries; every one arrives with its own number and payload.
TEST(CellPortLines, ManyAtOnceKeepTheirNumbers) {
  constexpr std::uint32_t kLines = 100;
  Job job(2, {0, kLines, 0, 0});
  int right = 0;
  job.run([&](CellPort& port) {
    if (port.rank() == 0) {
      for (std::uint32_t i = 0; i < kLines; ++i) {
        const auto payload = std::as_bytes(std::span(&i, 1));
        port.put_line(1, Line16{i}, 1000 + i, payload, i % port::kTags);
      }
      return;
    }
    port.wait_lines(Line16{0}, kLines, [&] {
      for (std::uint32_t i = 0; i < kLines; ++i) {
        if (port.line_sequence(Line16{i}) == 0) return false;
      }
      return true;
    });
    for (std::uint32_t i = 0; i < kLines; ++i) {
      std::uint32_t payload = 0;
      std::memcpy(&payload, port.line_payload(Line16{i}).data(), sizeof(payload));
      right += port.line_sequence(Line16{i}) == 1000 + i && payload == i ? 1 : 0;
    }
  });
  EXPECT_EQ(right, 100);
}

/// The values of one line arrive in the order written, whatever order the MFC likes.
TEST(CellPortLines, OneLineNeverGoesBack) {
  Parameters shuffled;
  shuffled.mfc_shuffle_seed = 7;
  System system(shuffled);
  const PortJob job = PortJob::make(system, {0, 1}, {0, 1, 0, 0}).value();
  bool back = false;
  run_ranks(system, job, [&](CellPort& port) {
    if (port.rank() == 0) {
      for (Sequence n = 1; n <= 300; ++n) port.put_line(1, Line16{0}, n, {}, 5);
      return;
    }
    Sequence last = 0;
    while (last < 300) {
      port.wait_lines(Line16{0}, 1, [&] { return port.line_sequence(Line16{0}) != last; });
      back = back || port.line_sequence(Line16{0}) < last;
      last = port.line_sequence(Line16{0});
    }
  });
  const Status status = system.run();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(back);
}

/// Data and then, under the same tag, the line that announces them, without a wait between.
TEST(CellPortLines, AreSeenAfterTheDataTheyAnnounce) {
  for (const std::int64_t seed : {0, 1, 2, 3}) {
    Parameters shuffled;
    shuffled.mfc_shuffle_seed = seed;
    System system(shuffled);
    constexpr std::uint32_t kBytes = 16 * 1024;
    const PortJob job = PortJob::make(system, {0, 5}, {2 * kBytes, 1, 0, 0}).value();
    int wrong = 0;
    run_ranks(system, job, [&](CellPort& port) {
      for (Sequence n = 1; n <= 20; ++n) {
        if ((n + static_cast<Sequence>(port.rank())) % 2 == 1) {
          std::memset(port.stage().data(), static_cast<int>(n), kBytes);
          port.put(0, {1 - port.rank(), kBytes}, kBytes, 4);
          port.put_line(1 - port.rank(), Line16{0}, n, {}, 4);
          port.wait(port::mask_of(4));
        } else {
          port::wait_line(port, Line16{0}, n);
          for (const std::byte seen : port.stage().subspan(kBytes)) wrong += seen == std::byte(n) ? 0 : 1;
        }
      }
    });
    const Status status = system.run();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(CellPortLines, AWaitThatNeverEndsIsReportedWithItsPlace) {
  Job job(1, {0, 1, 0, 0});
  run_ranks(job.system, job.job, [](CellPort& port) { port::wait_line(port, Line16{0}, 1); });
  const Status status = job.system.run();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("rank 0"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("control line"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("test_port.cpp"), std::string::npos) << status.message();
}

TEST(CellPortTags, SayWhatIsUnderWay) {
  Job job(2, {32 * 1024, 0, 0, 0});
  job.run([](CellPort& port) {
    if (port.rank() != 0) return;
    port.put(0, {1, 0}, 16 * 1024, 1);
    EXPECT_EQ(port.test(port::mask_of(1) | port::mask_of(2)), port::mask_of(2));
    port.wait(0);
    EXPECT_EQ(port.test(0), 0U);
    port.wait(port::mask_of(1));
    EXPECT_EQ(port.test(port::mask_of(1) | port::mask_of(2)), port::mask_of(1) | port::mask_of(2));
  });
}

TEST(CellPortTime, ComputationCostsWhatIsDeclared) {
  Job job(1, {});
  job.run([](CellPort& port) {
    const sim::Time before = port.spu().now();
    port.compute(1234);
    EXPECT_EQ(port.spu().now() - before, 1234 * cell::Parameters{}.spu_code_percent / 100);
  });
}

// ---- capabilities ----

TEST(CellPortCapabilities, SignalsAreGathered) {
  constexpr int kRanks = 8;
  Job job(kRanks, {});
  std::uint32_t seen = 0;
  job.run([&](CellPort& port) {
    if (port.rank() == 0) {
      while (seen != 0xFEU) seen |= port.wait_signal();
    } else {
      port.send_signal(0, 1U << port.rank(), 0);
    }
  });
  EXPECT_EQ(seen, 0xFEU);
}

TEST(CellPortCapabilities, OneListReachesAllPeers) {
  constexpr int kRanks = 8;
  Job job(kRanks, {0, 2, 0, 0});
  int right = 0;
  job.run([&](CellPort& port) {
    const std::vector<int> peers{1, 2, 3, 4, 5, 6, 7};
    for (std::uint32_t n = 1; n <= 10; ++n) {
      const auto payload = std::as_bytes(std::span(&n, 1));
      if (port.rank() == 0) {
        port.put_line_list(peers, Line16{1}, n, payload, 0);
        // Every peer answers, so that none misses a number.
        port.wait_lines(Line16{0}, 1, [&] { return port.line_sequence(Line16{0}) == n; });
      } else {
        port::wait_line(port, Line16{1}, n);
        right += std::memcmp(port.line_payload(Line16{1}).data(), &n, sizeof(n)) == 0 ? 1 : 0;
        if (port.rank() == 7) port.put_line(0, Line16{0}, n, {}, 0);
      }
    }
  });
  EXPECT_GE(right, 60);
}

TEST(CellPortCapabilities, ListsGatherAndScatterMemory) {
  Job job(1, {16 * 1024, 0, 0, 0});
  const EffectiveAddress user = job.system.allocate(64 * 1024);
  fill(job.system.bytes(user, 32 * 1024), 3);
  // 50 pieces, more than one command takes, of lengths 16, 32, 48, at every 512 bytes.
  std::vector<CellPort::UserPiece> in;
  std::vector<CellPort::UserPiece> out;
  for (std::uint32_t i = 0; i < 50; ++i) {
    in.push_back({user + i * 512, 16 * (1 + i % 3)});
    out.push_back({user + 32 * 1024 + i * 512, 16 * (1 + i % 3)});
  }
  job.run([&](CellPort& port) {
    port.copy_in_list(in, 128, 2);
    port.wait(port::mask_of(2));
    port.copy_out_list(128, out, 3);
    port.wait(port::mask_of(3));
  });
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::span<std::byte> from = job.system.bytes(in[i].at, 512);
    const std::span<std::byte> to = job.system.bytes(out[i].at, 512);
    EXPECT_TRUE(std::equal(from.begin(), from.begin() + in[i].bytes, to.begin()));
    EXPECT_TRUE(std::all_of(to.begin() + in[i].bytes, to.end(), [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(CellPortCapabilities, APeersMemoryIsReadWithOneCopy) {
  Job job(2, {1024, 0, 0, 0});
  const EffectiveAddress user = job.system.allocate(1024);
  fill(job.system.bytes(user, 1024), 4);
  job.run([&](CellPort& port) {
    if (port.rank() != 1) return;
    port.read_user(0, user, 0, 1000, 0);
    port.wait(port::mask_of(0));
  });
  EXPECT_TRUE(std::equal(job.stage(1).begin(), job.stage(1).begin() + 1000, job.system.bytes(user, 1024).begin()));
}

TEST(CellPortCapabilities, AtomicWordsLoseNothing) {
  constexpr int kRanks = 8;
  Job job(kRanks, {0, 0, 0, 2});
  std::vector<std::uint32_t> handed_out;
  job.run([&](CellPort& port) {
    for (int i = 0; i < 20; ++i) handed_out.push_back(port.fetch_add(1, 1));
    if (port.rank() == 0) {
      EXPECT_EQ(port.load_word(0), 0U);
    }
  });
  std::sort(handed_out.begin(), handed_out.end());
  ASSERT_EQ(handed_out.size(), 160U);
  for (std::uint32_t i = 0; i < 160; ++i) EXPECT_EQ(handed_out[i], i);
}

}  // namespace
}  // namespace corewise::cell
