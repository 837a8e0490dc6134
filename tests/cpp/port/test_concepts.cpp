// The concept accepts what keeps the contract's form and refuses what lacks a part of it. The port here does
// nothing: only its form is looked at. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "port/capabilities.hpp"
#include "port/port.hpp"
#include "port/wait.hpp"

namespace corewise::port {
namespace {

/// Lines without memory: every sequence number is the one last put.
struct Silent {
  using UserAddress = std::uint64_t;
  using ConstUserAddress = std::uint64_t;
  static constexpr std::uint32_t kCopyAlignment = 16;

  int looks = 0;
  Sequence sequence = 0;

  [[nodiscard]] int rank() const { return 0; }
  [[nodiscard]] int size() const { return 1; }
  [[nodiscard]] Layout layout() const { return {}; }
  std::span<std::byte> stage() { return {}; }
  template <class L>
  void put_line(int /*peer*/, L /*line*/, Sequence put, std::span<const std::byte> /*payload*/, Tag /*tag*/) {
    sequence = put;
  }
  template <class L>
  [[nodiscard]] Sequence line_sequence(L /*line*/) const {
    return sequence;
  }
  template <class L>
  [[nodiscard]] std::span<const std::byte, L::kPayloadBytes> line_payload(L /*line*/) const {
    static constexpr std::byte kNothing[L::kPayloadBytes]{};
    return kNothing;
  }
  template <class L, class Ready>
  void wait_lines(L /*first*/, std::uint32_t /*count*/, Ready&& ready, const std::source_location& /*where*/) {
    for (++looks; !ready(); ++looks) ++sequence;
  }
  void get(Remote /*from*/, StageOffset /*to*/, std::uint32_t /*bytes*/, Tag /*tag*/) {}
  void put(StageOffset /*from*/, Remote /*to*/, std::uint32_t /*bytes*/, Tag /*tag*/) {}
  void copy_in(ConstUserAddress /*from*/, StageOffset /*to*/, std::uint32_t /*bytes*/, Tag /*tag*/) {}
  void copy_out(StageOffset /*from*/, UserAddress /*to*/, std::uint32_t /*bytes*/, Tag /*tag*/) {}
  void wait(TagMask /*mask*/) {}
  TagMask test(TagMask mask) { return mask; }
  void compute(std::int64_t /*cycles*/) {}
};

struct WithSignals : Silent {
  void send_signal(int /*peer*/, std::uint32_t /*bits*/, Tag /*tag*/) {}
  std::uint32_t wait_signal() { return 1; }
};

struct WithStages : Silent {
  void get_user(Remote /*from*/, UserAddress /*to*/, std::uint32_t /*bytes*/, Tag /*tag*/) {}
  void combine_user(Remote /*theirs*/, ConstUserAddress /*own*/, UserAddress /*to*/,
                    std::optional<StageOffset> /*too*/, const Combination& /*how*/, std::uint32_t /*bytes*/,
                    Tag /*tag*/) {}
};

// A using-declaration that makes a part private takes it away.
struct WithoutStage : Silent {
 private:
  using Silent::stage;
};
struct WithoutTags : Silent {
 private:
  using Silent::wait;
};
struct WithoutLines : Silent {
 private:
  using Silent::wait_lines;
};
struct TornNumber : Silent {
  template <class L>
  [[nodiscard]] std::uint16_t line_sequence(L /*line*/) const {
    return 0;
  }
};

TEST(PortConcept, AcceptsAWholePort) {
  EXPECT_TRUE(Port<Silent>);
}

TEST(PortConcept, RefusesAPortThatLacksAPart) {
  EXPECT_FALSE(Port<WithoutStage>);
  EXPECT_FALSE(Port<WithoutTags>);
  EXPECT_FALSE(Port<WithoutLines>);
  EXPECT_FALSE(Port<TornNumber>);
  EXPECT_FALSE(Port<int>);
}

TEST(PortConcept, CapabilitiesAreThoseThatThePortHas) {
  EXPECT_TRUE(SignalRegister<WithSignals>);
  EXPECT_FALSE(SignalRegister<Silent>);
  EXPECT_TRUE(PeerStageRead<WithStages> && PeerStageCombine<WithStages>);
  EXPECT_FALSE(PeerStageRead<WithSignals> || PeerStageCombine<WithSignals>);
  EXPECT_FALSE(DirectRead<WithSignals>);
  EXPECT_FALSE(DmaLists<WithSignals>);
  EXPECT_FALSE(AtomicWords<WithSignals>);
  EXPECT_FALSE(Mailboxes<WithSignals>);
}

TEST(WaitLine, EndsAtTheNumberWantedAndNotBefore) {
  Silent port;
  port.sequence = 0xFFFFFFFD;
  wait_line(port, Line16{0}, 2);
  EXPECT_EQ(port.sequence, 2U);
  EXPECT_EQ(port.looks, 6);
}

}  // namespace
}  // namespace corewise::port
