// Eager messages (paper 001, section 8, future work i and ii) through every interleaving: slots of 16 and of 128
// bytes with late acknowledgements, and exchanges, in which the peer's message is the acknowledgement. Each rule
// that the protocol rests on is taken away in turn, and the search finds the failure.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "coll/building/channels.hpp"
#include "coll/building/eager.hpp"
#include "effort.hpp"
#include "model.hpp"

namespace corewise::coll {
namespace {

using testing::Found;
using testing::ModelPort;
using testing::Rules;
using testing::Search;

constexpr const char* kWrong = "a rank received another message than was sent";

Shape shape_of(int ranks, std::uint32_t slots, std::uint32_t lines128 = 1, std::uint32_t run_bytes = 0) {
  Shape shape;
  shape.ranks = ranks;
  shape.buffers = 0;
  shape.eager_slots = slots;
  shape.eager_lines128 = lines128;
  shape.eager_run_bytes = run_bytes;
  return shape;
}

Found search(const Shape& shape, const Rules& rules,
             const std::function<std::string(ModelPort&, Eager<ModelPort>&)>& text) {
  return Search(shape.ranks, shape.layout(), 0, rules,
                [&shape, &text](ModelPort& port) {
                  Eager<ModelPort> eager(port, shape);
                  port.pause();
                  return text(port, eager);
                })
      .run();
}

/// Without the waits for acknowledgements of eager messages.
Rules unacknowledged(const Shape& shape) {
  const std::uint32_t begin = shape.eager_acknowledgements();
  return {.ignored_begin = begin, .ignored_end = begin + shape.peers()};
}

std::vector<std::byte> message(std::size_t bytes, int number) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(number));
}
bool receives(Eager<ModelPort>& eager, int peer, std::size_t bytes, int number) {
  std::vector<std::byte> into(bytes);
  eager.receive(peer, into);
  return into == message(bytes, number);
}

/// Rank 0 sends `count` messages to every other rank.
std::string stream(ModelPort& port, Eager<ModelPort>& eager, std::size_t bytes, int count) {
  for (int number = 1; number <= count; ++number) {
    if (port.rank() == 0) {
      for (int peer = 1; peer < port.size(); ++peer) eager.send(peer, message(bytes, number));
    } else {
      if (!receives(eager, 0, bytes, number)) return kWrong;
      eager.acknowledge(0);
    }
  }
  return {};
}

/// 4: in a line of 16 bytes, 100: of 128, 130: in both, 0: a number alone.
constexpr std::array<std::size_t, 4> kBytes{0, 4, 100, 130};

TEST(EagerInterleavings, AStreamIsRight) {
  for (const std::uint32_t slots : {1U, 2U, 4U}) {
    for (const std::size_t bytes : kBytes) {
      SCOPED_TRACE(std::to_string(slots) + " slots, " + std::to_string(bytes) + " bytes");
      const int count = static_cast<int>(slots) + 3;
      const Found found = search(shape_of(2, slots), {}, [&](ModelPort& port, Eager<ModelPort>& eager) {
        return stream(port, eager, bytes, count);
      });
      EXPECT_EQ(found.wrong, "");
      EXPECT_GT(found.states, 10U);
    }
  }
}

TEST(EagerInterleavings, AStreamToSeveralIsRight) {
  const auto text = [](ModelPort& port, Eager<ModelPort>& eager) { return stream(port, eager, 4, 4); };
  EXPECT_EQ(search(shape_of(3, 2), {}, text).wrong, "");
}

/// As broadcasts down a chain, from one end or from either in turn: each rank takes a slot at the next before it
/// receives.
std::string chain(const ModelPort& port, Eager<ModelPort>& eager, bool in_turn, int count) {
  const int last = port.size() - 1;
  for (int number = 1; number <= count; ++number) {
    const int step = in_turn && number % 2 == 0 ? -1 : 1;
    const int before = port.rank() - step, next = port.rank() + step;
    if (next >= 0 && next <= last) eager.prepare(next);
    if (before >= 0 && before <= last && !receives(eager, before, 4, number)) return kWrong;
    if (next >= 0 && next <= last) eager.send_prepared(next, message(4, number));
    if (before >= 0 && before <= last) eager.acknowledge(before);
  }
  return {};
}

TEST(EagerInterleavings, SlotsAreTakenBeforeTheDataAreThere) {
  for (const std::uint32_t slots : {1U, 2U}) {
    const Shape shape = shape_of(3, slots);
    const auto text = [&](bool in_turn) {
      return [in_turn, count = 2 * static_cast<int>(slots) + 2](ModelPort& port, Eager<ModelPort>& eager) {
        return chain(port, eager, in_turn, count);
      };
    };
    EXPECT_EQ(search(shape, {}, text(false)).wrong, "") << slots;
    EXPECT_EQ(search(shape, {}, text(true)).wrong, "") << slots;
    EXPECT_EQ(search(shape, unacknowledged(shape), text(false)).wrong, kWrong) << slots;
  }
}

/// 200: in two lines of 128 bytes, 256: in these and one of 16.
TEST(EagerInterleavings, MessagesInSeveralLongLinesAreRight) {
  for (const std::uint32_t slots : {1U, 2U}) {
    for (const std::size_t bytes : {4U, 100U, 200U, 256U}) {
      const Shape shape = shape_of(2, slots, 2);
      ASSERT_GE(shape.eager_bytes(), bytes);
      const auto text = [&](ModelPort& port, Eager<ModelPort>& eager) {
        return stream(port, eager, bytes, static_cast<int>(slots) + 2);
      };
      EXPECT_EQ(search(shape, {}, text).wrong, "") << bytes;
      EXPECT_EQ(search(shape, unacknowledged(shape), text).wrong, kWrong) << bytes;
    }
  }
}

/// 13: longer than a slot, so in a run.
constexpr std::size_t kInRun = 13;
Shape with_runs(std::uint32_t slots) {
  return shape_of(2, slots, 0, 128);
}

TEST(EagerInterleavings, MessagesInRunsAreRight) {
  for (const std::uint32_t slots : {1U, 2U, 4U, 8U}) {
    const Shape shape = with_runs(slots);
    ASSERT_GT(kInRun, shape.eager_slot_bytes());
    const auto text = [&](ModelPort& port, Eager<ModelPort>& eager) {
      return stream(port, eager, kInRun, static_cast<int>(shape.eager_runs()) + 2);
    };
    EXPECT_EQ(search(shape, {}, text).wrong, "") << slots;
    EXPECT_EQ(search(shape, unacknowledged(shape), text).wrong, kWrong) << slots;
    EXPECT_EQ(search(shape, {.fence = false}, text).wrong, kWrong) << slots;
  }
}

TEST(EagerInterleavings, AStreamNeedsItsAcknowledgements) {
  for (const std::size_t bytes : {4U, 100U, 130U}) {
    const Shape shape = shape_of(2, 2);
    const auto text = [&](ModelPort& port, Eager<ModelPort>& eager) { return stream(port, eager, bytes, 3); };
    EXPECT_EQ(search(shape, unacknowledged(shape), text).wrong, kWrong) << bytes;
  }
}

/// A reader that never acknowledges of itself does so before it would wait for ever.
TEST(EagerInterleavings, AStreamWithoutAcknowledgeIsRight) {
  const auto text = [](ModelPort& port, Eager<ModelPort>& eager) -> std::string {
    for (int number = 1; number <= 6; ++number) {
      if (port.rank() == 0) eager.send(1, message(4, number));
      if (port.rank() == 1 && !receives(eager, 0, 4, number)) return kWrong;
    }
    return {};
  };
  EXPECT_EQ(search(shape_of(2, 2), {}, text).wrong, "");
  EXPECT_EQ(search(shape_of(2, 4), {}, text).wrong, "");
  EXPECT_EQ(search(shape_of(2, 2), unacknowledged(shape_of(2, 2)), text).wrong, kWrong);
}

TEST(EagerInterleavings, AnAcknowledgementBeforeTheReadingIsTooEarly) {
  const auto text = [](ModelPort& port, Eager<ModelPort>& eager) -> std::string {
    Channels<ModelPort> hasty(port, 0);  // an acknowledgement of its own, given before the message is read
    for (int number = 1; number <= 4; ++number) {
      if (port.rank() == 0) {
        if (number > 2) hasty.hear(1);
        eager.send(1, message(4, number));
      } else {
        hasty.tell(0);
        if (!receives(eager, 0, 4, number)) return kWrong;
      }
    }
    return {};
  };
  const Shape shape = shape_of(2, 2);
  EXPECT_EQ(search(shape, unacknowledged(shape), text).wrong, kWrong);
}

/// Messages of several lengths one after the other, so that slots of both kinds skip numbers.
TEST(EagerInterleavings, LengthsMayChange) {
  const auto text = [](ModelPort& port, Eager<ModelPort>& eager) -> std::string {
    int number = 0;
    for (const std::size_t bytes : {4U, 100U, 130U, 0U, 100U}) {
      ++number;
      if (port.rank() == 0) {
        eager.send(1, message(bytes, number));
      } else {
        if (!receives(eager, 0, bytes, number)) return kWrong;
        eager.acknowledge(0);
      }
    }
    return {};
  };
  EXPECT_EQ(search(shape_of(2, 2), {}, text).wrong, "");
}

/// Every rank exchanges `count` messages with each other rank, one rank after the other (two ranks: an exchange;
/// four as a hypercube). `ahead`: messages sent before the first is received.
std::string exchanges(ModelPort& port, Eager<ModelPort>& eager, std::size_t bytes, int count, int ahead = 1) {
  for (int number = 1; number <= count; number += ahead) {
    for (int dimension = 1; dimension < port.size(); dimension *= 2) {
      const int peer = port.rank() ^ dimension;
      for (int i = 0; i < ahead; ++i) eager.send(peer, message(bytes, 16 * port.rank() + number + i));
      for (int i = 0; i < ahead; ++i) {
        std::vector<std::byte> into(bytes);
        eager.receive_exchanged(peer, into);
        if (into != message(bytes, 16 * peer + number + i)) return kWrong;
      }
    }
  }
  return {};
}

TEST(EagerInterleavings, AnExchangeNeedsNoAcknowledgementWithTwoSlots) {
  for (const std::size_t bytes : kBytes) {
    const Shape shape = shape_of(2, 2);
    const auto text = [&](ModelPort& port, Eager<ModelPort>& eager) { return exchanges(port, eager, bytes, 5); };
    EXPECT_EQ(search(shape, unacknowledged(shape), text).wrong, "") << bytes;
    EXPECT_EQ(search(shape, {}, text).wrong, "") << bytes;
  }
  const Shape four = shape_of(4, 2);
  const auto text = [](ModelPort& port, Eager<ModelPort>& eager) { return exchanges(port, eager, 4, 2); };
  EXPECT_EQ(search(four, unacknowledged(four), text).wrong, "");
}

TEST(EagerInterleavings, AnExchangeWithOneSlotNeedsIt) {
  const Shape shape = shape_of(2, 1);
  const auto text = [](ModelPort& port, Eager<ModelPort>& eager) { return exchanges(port, eager, 4, 3); };
  EXPECT_EQ(search(shape, {}, text).wrong, "");
  EXPECT_EQ(search(shape, unacknowledged(shape), text).wrong, kWrong);
}

TEST(EagerInterleavings, AnExchangeOfTwoAtATimeIsNone) {
  const Shape shape = shape_of(2, 2);
  const auto text = [](ModelPort& port, Eager<ModelPort>& eager) { return exchanges(port, eager, 4, 4, 2); };
  EXPECT_EQ(search(shape, unacknowledged(shape), text).wrong, kWrong);
}

/// What two ranks can do in a call. `from` sends first; an exchange has no first.
enum class Step : std::uint8_t { one_way, two_in_a_row, exchange, answer };

class Steps {
 public:
  /// Of the messages from each rank every third is long.
  Steps(ModelPort& port, Eager<ModelPort>& eager, std::size_t length)
      : port_(port), eager_(eager), peer_(1 - port.rank()), long_(length) {}

  /// False when another message came than was sent.
  bool take(Step step, int from) {
    const bool sends = port_.rank() == from;
    switch (step) {
      case Step::exchange:
        send();
        return receive([this](auto into) { eager_.receive_exchanged(peer_, into); });
      case Step::answer: {
        const auto in_turn = [this](auto into) { eager_.receive_in_turn(peer_, into); };
        if (sends) return send(), receive(in_turn);
        const bool right = receive(in_turn);
        send();
        return right;
      }
      default: {
        const int count = step == Step::two_in_a_row ? 2 : 1;
        bool right = true;
        for (int i = 0; i < count; ++i) {
          if (sends) send();
          if (!sends) right = receive([this](auto into) { eager_.receive(peer_, into); }) && right;
        }
        if (!sends) eager_.acknowledge(peer_);
        return right;
      }
    }
  }

 private:
  [[nodiscard]] std::size_t bytes(int number) const { return number % 3 == 1 ? long_ : 4; }
  void send() {
    ++sent_;
    eager_.send(peer_, message(bytes(sent_), 16 * port_.rank() + sent_));
  }
  template <class Receive>
  bool receive(Receive receive_into) {
    ++received_;
    std::vector<std::byte> into(bytes(received_));
    receive_into(std::span(into));
    return into == message(into.size(), 16 * peer_ + received_);
  }
  ModelPort& port_;
  Eager<ModelPort>& eager_;
  int peer_;
  std::size_t long_;
  int sent_ = 0;
  int received_ = 0;
};

using Sequence = std::vector<std::pair<Step, int>>;
constexpr std::array<std::pair<Step, int>, 7> kSteps{{{Step::one_way, 0},
                                                      {Step::one_way, 1},
                                                      {Step::two_in_a_row, 0},
                                                      {Step::two_in_a_row, 1},
                                                      {Step::exchange, 0},
                                                      {Step::answer, 0},
                                                      {Step::answer, 1}}};

Found search_sequence(const Shape& shape, const Sequence& sequence, std::size_t length) {
  return search(shape, {}, [&sequence, length](ModelPort& port, Eager<ModelPort>& eager) -> std::string {
    Steps steps(port, eager, length);
    for (const auto& [step, from] : sequence) {
      if (!steps.take(step, from)) return kWrong;
    }
    return {};
  });
}

/// All sequences of three calls of all kinds, and some longer ones.
void expect_right_in_any_order(const Shape& shape, std::size_t length) {
  for (std::size_t number = 0; number < 7 * 7 * 7; ++number) {
    const Sequence sequence{kSteps[number % 7], kSteps[number / 7 % 7], kSteps[number / 49]};
    ASSERT_EQ(search_sequence(shape, sequence, length).wrong, "") << shape.eager_slots << " slots, " << number;
  }
  Rng rng(shape.eager_slots);
  for (int i = 0; i < 150; ++i) {
    Sequence sequence;
    for (int call = 0; call < 9; ++call) sequence.push_back(kSteps[static_cast<std::size_t>(rng.below(7))]);
    ASSERT_EQ(search_sequence(shape, sequence, length).wrong, "") << shape.eager_slots << " slots, drawn " << i;
  }
}

TEST(EagerInterleavings, CallsOfAllKindsMayFollowEachOther) {
  for (const std::uint32_t slots : test::effort({1U, 2U, 4U}, {2U}))
    expect_right_in_any_order(shape_of(2, slots), 4);
}

TEST(EagerInterleavings, CallsOfAllKindsMayFollowEachOtherWithRuns) {
  for (const std::uint32_t slots : test::effort({1U, 2U, 4U, 8U}, {2U}))
    expect_right_in_any_order(with_runs(slots), kInRun);
}

/// After exchanges, a stream: the acknowledgements take over.
TEST(EagerInterleavings, AStreamAfterExchangesIsRight) {
  for (const std::uint32_t slots : {2U, 4U}) {
    const Shape shape = shape_of(2, slots);
    const auto text = [slots](ModelPort& port, Eager<ModelPort>& eager) -> std::string {
      const int before = 3;
      if (std::string wrong = exchanges(port, eager, 4, before); !wrong.empty()) return wrong;
      for (int number = 0; number < static_cast<int>(slots) + 2; ++number) {
        if (port.rank() == 0) {
          eager.send(1, message(4, 100 + number));
        } else {
          if (!receives(eager, 0, 4, 100 + number)) return kWrong;
          eager.acknowledge(0);
        }
      }
      return {};
    };
    EXPECT_EQ(search(shape, {}, text).wrong, "") << slots;
  }
}

}  // namespace
}  // namespace corewise::coll
