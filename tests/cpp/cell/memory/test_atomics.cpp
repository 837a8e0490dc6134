// Lock-line reservations and atomic commands: the table against a reference model, counters to which many add, the
// chain of compare-and-swaps, the published times. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "cell/memory/atomic.hpp"
#include "cell/ppe/ppu.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

// ---- the table of reservations and copies ----

struct ReferenceUnit {
  EffectiveAddress reservation = 0;
  std::vector<EffectiveAddress> copies;  ///< latest first
  std::set<EffectiveAddress> modified;
};

/// The rules, written once more and slowly.
struct Reference {
  explicit Reference(std::size_t room) : room_(room), units(kCoherentUnits) {}
  void reserve(int unit, EffectiveAddress line) { at(unit).reservation = line; }
  void copied(int unit, EffectiveAddress line) {
    bool alone = true;
    for (int other = 0; other < kCoherentUnits; ++other) {
      if (other == unit || !has(other, line)) continue;
      alone = false;
      at(other).modified.erase(line);
    }
    const bool was = at(unit).modified.count(line) > 0, had = has(unit, line);
    drop(unit, line);
    if (at(unit).copies.size() == room_) drop(unit, at(unit).copies.back());
    at(unit).copies.insert(at(unit).copies.begin(), line);
    if (had ? was && alone : alone) at(unit).modified.insert(line);
  }
  void written(EffectiveAddress line, int writer) {
    for (int unit = 0; unit < kCoherentUnits; ++unit) {
      if (at(unit).reservation == line) at(unit).reservation = 0;
      if (unit != writer) drop(unit, line);
    }
    if (writer < 0) return;
    copied(writer, line);
    at(writer).modified.insert(line);
  }
  bool has(int unit, EffectiveAddress line) {
    const auto& copies = at(unit).copies;
    return std::find(copies.begin(), copies.end(), line) != copies.end();
  }
  void drop(int unit, EffectiveAddress line) {
    std::erase(at(unit).copies, line);
    at(unit).modified.erase(line);
  }
  ReferenceUnit& at(int unit) { return units[static_cast<std::size_t>(unit)]; }
  std::size_t room_;
  std::vector<ReferenceUnit> units;
};

TEST(CoherentLines, AgreeWithTheReferenceOnRandomInterleavings) {
  Rng rng(7);
  for (int round = 0; round < 20; ++round) {
    CoherentLines lines(4);
    Reference reference(4);
    for (int step = 0; step < 400; ++step) {
      const auto unit = static_cast<int>(rng.below(round % 2 == 0 ? 3 : kCoherentUnits));
      const EffectiveAddress line = kMemoryBase + rng.below(7) * kLineBytes;
      switch (rng.below(5)) {
        case 0:
          lines.reserve(unit, line);
          reference.reserve(unit, line);
          break;
        case 1:
          lines.drop_reservation(unit);
          reference.at(unit).reservation = 0;
          break;
        case 2:
          lines.copied(unit, line);
          reference.copied(unit, line);
          break;
        case 3:
          lines.owned(unit, line);
          reference.written(line, unit);
          break;
        default:
          lines.written(line);
          reference.written(line, -1);
      }
      int owner = -1;
      for (int u = 0; u < kCoherentUnits; ++u) {
        for (EffectiveAddress l = kMemoryBase; l < kMemoryBase + 7 * kLineBytes; l += kLineBytes) {
          ASSERT_EQ(lines.reserved(u, l), reference.at(u).reservation == l);
          const bool modified = reference.at(u).modified.count(l) > 0;
          const auto expected = !reference.has(u, l) ? CoherentLines::Copy::none
                                : modified           ? CoherentLines::Copy::modified
                                                     : CoherentLines::Copy::shared;
          ASSERT_EQ(lines.copy(u, l), expected) << "unit " << u << " step " << step;
          if (modified && l == line) owner = u;
        }
      }
      ASSERT_EQ(lines.owner(line), owner);
    }
  }
}

// ---- status, and what takes a reservation away ----

/// SPE 0 reserves a line, `other` happens, SPE 0 stores conditionally: true if that succeeded. The line's first
/// word afterwards is returned in `word`.
bool survives(const std::function<void(System&, EffectiveAddress)>& other, std::uint32_t* word = nullptr) {
  System system{Parameters{}};
  const EffectiveAddress line = system.allocate(1024);
  bool stored = false;
  system.run_on_spe(0, "reserver", [&](Spu& spu) {
    spu.mfc_getllar(0, line);
    EXPECT_EQ(spu.mfc_read_atomic_status(), MFC_GETLLAR_STATUS);
    spu.spu_cycles(100000);
    spu.store<std::uint32_t>(0, 1000);
    spu.mfc_putllc(0, line);
    stored = (spu.mfc_read_atomic_status() & MFC_PUTLLC_STATUS) == 0;
    // A second conditional store without a new reservation fails whatever happened before.
    spu.mfc_putllc(0, line);
    EXPECT_EQ(spu.mfc_read_atomic_status(), MFC_PUTLLC_STATUS);
  });
  other(system, line);
  EXPECT_TRUE(system.run().ok());
  if (word != nullptr) std::memcpy(word, system.bytes(line, 4).data(), 4);
  return stored;
}

std::function<void(System&, EffectiveAddress)> on_spe_1(std::function<void(Spu&, EffectiveAddress)> what) {
  return [what = std::move(what)](System& system, EffectiveAddress line) {
    system.run_on_spe(1, "other", [what, line](Spu& spu) {
      spu.spu_cycles(20000);
      what(spu, line);
      spu.mfc_write_tag_mask(~0U);
      spu.mfc_read_tag_status_all();
    });
  };
}

TEST(Reservation, IsLostByAnyWriteToTheLineAndByNothingElse) {
  std::uint32_t word = 0;
  EXPECT_TRUE(survives([](System&, EffectiveAddress) {}, &word));
  EXPECT_EQ(word, 1000U);
  EXPECT_TRUE(survives(on_spe_1([](Spu& spu, EffectiveAddress line) { spu.mfc_get(0, line, 128, 0); })));
  EXPECT_TRUE(survives(on_spe_1([](Spu& spu, EffectiveAddress line) { spu.mfc_put(0, line + 128, 128, 0); })));
  EXPECT_TRUE(survives(on_spe_1([](Spu& spu, EffectiveAddress line) {
    spu.mfc_getllar(0, line);
    spu.mfc_read_atomic_status();
  })));
  // DMA by another SPE, 4 bytes at the end of the line.
  EXPECT_FALSE(
      survives(on_spe_1([](Spu& spu, EffectiveAddress line) { spu.mfc_put(124, line + 124, 4, 0); }), &word));
  EXPECT_EQ(word, 0U);
  EXPECT_FALSE(survives(on_spe_1([](Spu& spu, EffectiveAddress line) { spu.mfc_putqlluc(0, line, 0); })));
  EXPECT_FALSE(survives(on_spe_1([](Spu& spu, EffectiveAddress line) {
                          spu.store<std::uint32_t>(0, 77);
                          spu.mfc_putlluc(0, line);
                          EXPECT_EQ(spu.mfc_read_atomic_status(), MFC_PUTLLUC_STATUS);
                        }),
                        &word));
  EXPECT_EQ(word, 77U);
  EXPECT_FALSE(survives(on_spe_1([](Spu& spu, EffectiveAddress line) {
    spu.mfc_getllar(0, line);
    spu.mfc_read_atomic_status();
    spu.mfc_putllc(0, line);
    EXPECT_EQ(spu.mfc_read_atomic_status(), 0U);
  })));
  const auto on_ppe = [](const std::function<void(Ppu&, EffectiveAddress)>& what) {
    return [what](System& system, EffectiveAddress line) {
      system.run_on_ppe(0, "ppe", [what, line](Ppu& ppu) {
        ppu.cycles(20000);
        what(ppu, line);
      });
    };
  };
  EXPECT_TRUE(survives(on_ppe([](Ppu& ppu, EffectiveAddress line) { ppu.load<std::uint32_t>(line); })));
  EXPECT_TRUE(survives(on_ppe([](Ppu& ppu, EffectiveAddress line) { ppu.store<std::uint8_t>(line + 128, 1); })));
  EXPECT_FALSE(survives(on_ppe([](Ppu& ppu, EffectiveAddress line) { ppu.store<std::uint8_t>(line + 64, 1); })));
  EXPECT_FALSE(
      survives(on_ppe([](Ppu& ppu, EffectiveAddress line) { EXPECT_TRUE(ppu.stwcx(line, ppu.lwarx(line) + 1)); })));
}

TEST(Reservation, AUnitHasOne) {
  System system{Parameters{}};
  const EffectiveAddress lines = system.allocate(256);
  system.run_on_spe(4, "two lines", [&](Spu& spu) {
    spu.mfc_getllar(0, lines);
    spu.mfc_read_atomic_status();
    spu.mfc_getllar(128, lines + 128);
    spu.mfc_read_atomic_status();
    spu.mfc_putllc(0, lines);
    EXPECT_EQ(spu.mfc_read_atomic_status(), MFC_PUTLLC_STATUS);
    EXPECT_EQ(spu.mfc_stat_atomic_status(), 0U);
  });
  EXPECT_TRUE(system.run().ok());
}

TEST(AtomicUnit, AStatusNobodyWillGiveIsAnErrorThatSaysSo) {
  System system{Parameters{}};
  system.run_on_spe(0, "waiter", [](Spu& spu) { spu.mfc_read_atomic_status(); });
  const Status status = system.run();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("no atomic command was issued"), std::string::npos) << status.message();
}

TEST(AtomicUnit, ALocalStoreHasNoLockLines) {
  System system{Parameters{}};
  system.run_on_spe(0, "wrong", [](Spu& spu) { spu.mfc_getllar(0, ls_address(1)); });
  const Status status = system.run();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("mfc_getllar"), std::string::npos) << status.message();
}

// ---- counters ----

void increment(Spu& spu, EffectiveAddress counter) {
  for (;;) {
    spu.mfc_getllar(0, counter);
    spu.mfc_read_atomic_status();
    spu.store(0, spu.load<std::uint32_t>(0) + 1);
    spu.mfc_putllc(0, counter);
    if ((spu.mfc_read_atomic_status() & MFC_PUTLLC_STATUS) == 0) return;
  }
}

/// ns per increment of one SPE, while `spes` of them do `times` each; every one must land.
double count_up(int chips, int spes, std::uint32_t times, int memory = 0) {
  Parameters p;
  p.chips = chips;
  System system(p);
  const EffectiveAddress counter = system.allocate(128, 128, memory);
  sim::Time last = 0;
  for (int spe = 0; spe < spes; ++spe) {
    system.run_on_spe(spe, "counter", [&](Spu& spu) {
      for (std::uint32_t i = 0; i < times; ++i) increment(spu, counter);
      last = std::max(last, spu.now());
    });
  }
  EXPECT_TRUE(system.run().ok());
  std::uint32_t value = 0;
  std::memcpy(&value, system.bytes(counter, 4).data(), 4);
  EXPECT_EQ(value, static_cast<std::uint32_t>(spes) * times);
  return system.engine().to_ns(last) / times;
}

TEST(AtomicIncrement, EveryOneLandsAndContentionCostsMicroseconds) {
  // Paper 001, section 5.3: well under a microsecond alone, of the order of microseconds when several try.
  EXPECT_LT(count_up(1, 1, 100), 500);
  const double two = count_up(1, 2, 100), eight = count_up(1, 8, 60), sixteen = count_up(2, 16, 40);
  EXPECT_GT(eight, 3 * two);
  EXPECT_GT(eight, 300);
  EXPECT_LT(eight, 5000);
  EXPECT_GT(sixteen, eight);
  count_up(2, 16, 20, 1);
  count_up(1, 3, 50);
}

TEST(AtomicIncrement, SpesAndPpeCountTogether) {
  System system{Parameters{}};
  const EffectiveAddress counter = system.allocate(128);
  for (int spe = 0; spe < 4; ++spe) {
    system.run_on_spe(spe, "counter", [&](Spu& spu) {
      for (int i = 0; i < 50; ++i) increment(spu, counter);
    });
  }
  system.run_on_ppe(0, "ppe", [&](Ppu& ppu) {
    for (int i = 0; i < 30; ++i) {
      while (!ppu.stwcx(counter, ppu.lwarx(counter) + 1)) {
      }
    }
  });
  ASSERT_TRUE(system.run().ok());
  std::uint32_t value = 0;
  std::memcpy(&value, system.bytes(counter, 4).data(), 4);
  EXPECT_EQ(value, 4U * 50U + 30U);
}

TEST(AtomicUnit, ALineBouncesBetweenTwoSpesInAbout150Nanoseconds) {
  // Public measurement on a PS3 (calibration set).
  System system{Parameters{}};
  const EffectiveAddress line = system.allocate(128);
  constexpr std::uint32_t kTurns = 200;
  sim::Time last = 0;
  for (std::uint32_t me = 0; me < 2; ++me) {
    system.run_on_spe(static_cast<int>(me), "bouncer", [&, me](Spu& spu) {
      for (;;) {
        spu.mfc_getllar(0, line);
        spu.mfc_read_atomic_status();
        const auto value = spu.load<std::uint32_t>(0);
        if (value >= kTurns) break;
        if (value % 2 != me) continue;
        spu.store(0, value + 1);
        spu.mfc_putllc(0, line);
        spu.mfc_read_atomic_status();
      }
      last = std::max(last, spu.now());
    });
  }
  ASSERT_TRUE(system.run().ok());
  EXPECT_NEAR(system.engine().to_ns(last) / kTurns, 150, 15);
}

TEST(AtomicUnit, CompareAndSwapsFormOneChain) {
  // Every successful conditional store writes a value nobody else writes and notes which one it replaced. Whatever
  // the interleaving, the notes must form one path from 0 to the final value that uses each of them once.
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    Parameters p;
    p.chips = 2;
    System system(p);
    const EffectiveAddress line = system.allocate(128);
    std::map<std::uint32_t, std::uint32_t> next;
    bool twice = false;
    for (int spe = 0; spe < 16; spe += 3) {
      system.run_on_spe(spe, "swapper", [&, spe](Spu& spu) {
        Rng rng(seed * 100 + static_cast<std::uint64_t>(spe));
        for (std::uint32_t i = 1; i <= 25; ++i) {
          const std::uint32_t mine = static_cast<std::uint32_t>(spe + 1) * 1000 + i;
          spu.mfc_getllar(0, line);
          spu.mfc_read_atomic_status();
          const auto old = spu.load<std::uint32_t>(0);
          spu.spu_cycles(static_cast<std::int64_t>(rng.below(600)));
          spu.store(0, mine);
          // Half of the conditional stores meet a line that the unit must claim again.
          spu.mfc_putllc(0, line);
          if ((spu.mfc_read_atomic_status() & MFC_PUTLLC_STATUS) == 0) twice |= !next.emplace(old, mine).second;
          spu.spu_cycles(static_cast<std::int64_t>(rng.below(300)));
        }
      });
    }
    ASSERT_TRUE(system.run().ok());
    EXPECT_FALSE(twice);
    std::uint32_t at = 0;
    std::size_t steps = 0;
    for (auto found = next.find(0); found != next.end() && steps <= next.size(); found = next.find(at)) {
      at = found->second;
      ++steps;
    }
    std::uint32_t value = 0;
    std::memcpy(&value, system.bytes(line, 4).data(), 4);
    EXPECT_EQ(at, value);
    EXPECT_EQ(steps, next.size());
    EXPECT_GT(steps, 20U);
  }
}

}  // namespace
}  // namespace corewise::cell
