// Golden numbers: digests of a few fixed runs, the same in every build. Whoever changes a number of the simulated
// Cell on purpose writes the new digests here; a sanitizer build, another optimisation or another compiler that
// gives others has found undefined behaviour or an order that depends on the host.
//
// A digest is FNV-1a over simulated times, the number of events, the bytes that the run left behind and the loads
// of every stretch of the rings. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <bit>
#include <span>
#include <vector>

#include "cell/eib.hpp"
#include "cell/system.hpp"
#include "lab/affinity/runs.hpp"

namespace corewise::lab {
namespace {

using cell::LsAddress;
using cell::Parameters;
using cell::Spu;
using cell::System;

class Digest {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
    }
  }
  /// Byte by byte from the lowest, so that the host's byte order does not count.
  void add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) {
      const std::byte byte{static_cast<unsigned char>(number >> shift)};
      add(std::span(&byte, 1));
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

/// Time, events and ring loads of a run that has ended.
void add_run(Digest& digest, System& system, int chips) {
  digest.add(static_cast<std::uint64_t>(system.engine().now()));
  digest.add(system.engine().events());
  for (int chip = 0; chip < chips; ++chip) {
    const sim::RingBus& rings = system.eib(chip).rings();
    for (int ring = 0; ring < rings.rings(); ++ring) {
      for (int stop = 0; stop < rings.spec().stops; ++stop) {
        const sim::RingLinkLoad load = rings.link_load(ring, stop);
        digest.add(load.packets);
        digest.add(load.bytes);
        digest.add(static_cast<std::uint64_t>(load.busy_ticks));
      }
    }
  }
}

void fill(std::span<std::byte> bytes, unsigned salt) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + salt + i / 256);
}

/// Row 9 of Table 1: three flows over one stretch, 20 messages of 64 KB each.
std::uint64_t contended_row(std::int64_t jitter_seed) {
  constexpr std::uint32_t kPiece = 16384;
  constexpr Flow kFlows[] = {{5, 4}, {6, 0}, {7, 2}};
  Parameters parameters;
  parameters.jitter_seed = jitter_seed;
  System system(parameters);
  Digest digest;
  for (const Flow flow : kFlows) {
    fill(system.bytes(cell::ls_address(flow.from) + 0x10000, 0x10000), static_cast<unsigned>(flow.from));
    system.run_on_spe(flow.to, "reader", [flow, &digest](Spu& spu) {
      for (int repetition = 0; repetition < 20; ++repetition) {
        for (LsAddress at = 0x10000; at < 0x20000; at += kPiece) {
          spu.mfc_get(at + 0x10000, cell::ls_address(flow.from) + at, kPiece, 3);
        }
        spu.mfc_write_tag_mask(1U << 3);
        spu.mfc_read_tag_status_all();
        digest.add(static_cast<std::uint64_t>(spu.now()));
      }
    });
  }
  const Status status = system.run();
  EXPECT_TRUE(status.ok()) << status.message();
  for (const Flow flow : kFlows) digest.add(system.bytes(cell::ls_address(flow.to) + 0x20000, 0x10000));
  add_run(digest, system, 1);
  return digest.value();
}

/// All sixteen SPEs of a blade copy from the other chip's memory to their own.
std::uint64_t blade_copies() {
  constexpr std::uint32_t kPiece = 4096;
  Parameters parameters;
  parameters.chips = 2;
  System system(parameters);
  Digest digest;
  std::vector<cell::EffectiveAddress> sources, targets;
  for (int spe = 0; spe < 16; ++spe) {
    sources.push_back(system.allocate(4 * kPiece, 128, 1 - spe / 8));
    targets.push_back(system.allocate(4 * kPiece, 128, spe / 8));
    fill(system.bytes(sources.back(), 4 * kPiece), static_cast<unsigned>(spe));
    system.run_on_spe(spe, "copier", [&digest, from = sources.back(), to = targets.back()](Spu& spu) {
      spu.mfc_write_tag_mask(1);
      for (std::uint32_t at = 0; at < 4 * kPiece; at += kPiece) {
        spu.mfc_get(at, from + at, kPiece, 0);
        spu.mfc_putf(at, to + at, kPiece, 0);
      }
      spu.mfc_read_tag_status_all();
      digest.add(static_cast<std::uint64_t>(spu.now()));
    });
  }
  const Status status = system.run();
  EXPECT_TRUE(status.ok()) << status.message();
  for (const cell::EffectiveAddress target : targets) digest.add(system.bytes(target, 4 * kPiece));
  add_run(digest, system, 2);
  return digest.value();
}

std::uint64_t collective(const char* name, std::int64_t jitter_seed) {
  Parameters parameters;
  parameters.jitter_seed = jitter_seed;
  const Affinity spes = find_affinity("leap2")->spe_of_rank;
  const auto run = run_collective(parameters, *find_collective(name), spes, {3, Clock::cycles});
  EXPECT_TRUE(run.ok());
  Digest digest;
  digest.add(std::bit_cast<std::uint64_t>(run.value().time_us));
  for (const auto& buffer : run.value().buffers) digest.add(buffer);
  return digest.value();
}

TEST(Golden, ContendedRingsOfOneChip) {
  EXPECT_EQ(contended_row(0), 0xf94914efdd436ffU);
}

TEST(Golden, ContendedRingsWithJitter) {
  EXPECT_EQ(contended_row(5), 0x1cc0a808168f5200U);
}

TEST(Golden, BladeWithMemoryTraffic) {
  EXPECT_EQ(blade_copies(), 0x487019e4a2f83154U);
}

TEST(Golden, CollectiveOperations) {
  EXPECT_EQ(collective("all_gather_recursive_doubling", 0), 0x1dc7655ee7b1feabU);
  EXPECT_EQ(collective("scatter", 3), 0x77eb7e61441352feU);
}

TEST(Golden, TheSameRunTwiceInOneProcess) {
  EXPECT_EQ(contended_row(5), contended_row(5));
  EXPECT_EQ(blade_copies(), blade_copies());
  EXPECT_NE(contended_row(5), contended_row(6));
}

}  // namespace
}  // namespace corewise::lab
