// Eager algorithms where user memory is at hand (port::UserMemoryAtHand), as on a host: messages leave from user
// memory and arrive there, and nothing is staged. On ideal ranks that copy to any place: calm, and under
// adversaries; several calls in a row with roots in turn, two slots and eight.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "coll/allgather/eager.hpp"
#include "coll/allreduce/eager.hpp"
#include "coll/allreduce/recursive_doubling.hpp"
#include "coll/alltoall/eager.hpp"
#include "coll/barrier/exchange_steps.hpp"
#include "coll/broadcast/eager_tree.hpp"
#include "coll/gather/eager.hpp"
#include "coll/rank.hpp"
#include "coll/reduce/eager_tree.hpp"
#include "coll/reduce_scatter/eager.hpp"
#include "coll/scan/eager.hpp"
#include "coll/scan/eager_recursive_doubling.hpp"
#include "coll/scatter/eager.hpp"
#include "coll/table.hpp"
#include "kernels/reduce/reduce.hpp"
#include "lab/collectives/ideal_port.hpp"

namespace corewise::lab {
namespace {

using Port = IdealPortOf<1>;
using Call = coll::Call<Port>;
using Rank = coll::Rank<Port>;
using Bytes = std::vector<std::byte>;
static_assert(port::UserMemoryAtHand<Port> && !port::UserMemoryAtHand<IdealPort>);

constexpr std::array kRanks = {1, 2, 3, 5, 8, 11, 16};
constexpr std::array<std::uint64_t, 6> kBytes = {1, 7, 8, 12, 13, 136};
constexpr int kCalls = 11;

/// What rank `rank` has for rank `block` in call number `call`.
std::byte value(int call, int rank, int block, std::uint64_t at) {
  return static_cast<std::byte>(31 * call + 7 * rank + 13 * block + static_cast<int>(at) * 3 + 1);
}
Bytes block(int call, int rank, int to, std::uint64_t bytes) {
  Bytes made(bytes);
  for (std::uint64_t at = 0; at < bytes; ++at) made[at] = value(call, rank, to, at);
  return made;
}
/// The sum of the blocks for `to` of ranks 0 .. last.
Bytes sum(int call, int last, int to, std::uint64_t bytes) {
  Bytes made(bytes);
  for (int rank = 0; rank <= last; ++rank) {
    for (std::uint64_t at = 0; at < bytes; ++at) {
      const int both = std::to_integer<int>(made[at]) + std::to_integer<int>(value(call, rank, to, at));
      made[at] = static_cast<std::byte>(both);
    }
  }
  return made;
}
/// `of(0)` .. `of(ranks - 1)` side by side.
Bytes side_by_side(int ranks, const std::function<Bytes(int)>& of) {
  Bytes all;
  for (int rank = 0; rank < ranks; ++rank) {
    const Bytes one = of(rank);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

/// What a rank sends and what it must have received; nothing where its buffer is not looked at.
struct Expected {
  Bytes send, receive;
};
/// Of a rank in a call of so many ranks, with so many bytes in a block.
using Expect = Expected (*)(int call, int root, int rank, int ranks, std::uint64_t bytes);

Expected expect_sum_of_all(int call, int, int rank, int ranks, std::uint64_t bytes) {
  return {block(call, rank, 0, bytes), sum(call, ranks - 1, 0, bytes)};
}

Expected expect_sum_so_far(int call, int, int rank, int, std::uint64_t bytes) {
  return {block(call, rank, 0, bytes), sum(call, rank, 0, bytes)};
}

struct Case {
  std::string_view name;
  coll::Run<Port> run;
  Expect expect;
};

const Case kCases[] = {
    {"broadcast", &coll::broadcast::eager_tree<Port>,
     [](int call, int root, int rank, int, std::uint64_t bytes) -> Expected {
       const Bytes data = block(call, root, 0, bytes);
       return rank == root ? Expected{data, {}} : Expected{{}, data};
     }},
    {"reduce", &coll::reduce::eager_tree<Port>,
     [](int call, int root, int rank, int ranks, std::uint64_t bytes) -> Expected {
       return {block(call, rank, 0, bytes), rank == root ? sum(call, ranks - 1, 0, bytes) : Bytes{}};
     }},
    {"allreduce", &coll::allreduce::recursive_doubling<Port>, &expect_sum_of_all},
    {"allreduce_eager", &coll::allreduce::eager<Port>, &expect_sum_of_all},
    {"gather", &coll::gather::eager<Port>,
     [](int call, int root, int rank, int ranks, std::uint64_t bytes) -> Expected {
       const auto all = [&] { return side_by_side(ranks, [&](int from) { return block(call, from, 0, bytes); }); };
       return {block(call, rank, 0, bytes), rank == root ? all() : Bytes{}};
     }},
    {"scatter", &coll::scatter::eager<Port>,
     [](int call, int root, int rank, int ranks, std::uint64_t bytes) -> Expected {
       const auto all = [&] { return side_by_side(ranks, [&](int to) { return block(call, root, to, bytes); }); };
       return {rank == root ? all() : Bytes{}, block(call, root, rank, bytes)};
     }},
    {"allgather", &coll::allgather::eager<Port>,
     [](int call, int, int rank, int ranks, std::uint64_t bytes) -> Expected {
       return {block(call, rank, 0, bytes),
               side_by_side(ranks, [&](int from) { return block(call, from, 0, bytes); })};
     }},
    {"alltoall", &coll::alltoall::eager<Port>,
     [](int call, int, int rank, int ranks, std::uint64_t bytes) -> Expected {
       return {side_by_side(ranks, [&](int to) { return block(call, rank, to, bytes); }),
               side_by_side(ranks, [&](int from) { return block(call, from, rank, bytes); })};
     }},
    {"reduce_scatter", &coll::reduce_scatter::eager<Port>,
     [](int call, int, int rank, int ranks, std::uint64_t bytes) -> Expected {
       return {side_by_side(ranks, [&](int to) { return block(call, rank, to, bytes); }),
               sum(call, ranks - 1, rank, bytes)};
     }},
    {"scan", &coll::scan::eager_recursive_doubling<coll::scan::Kind::inclusive, Port>, &expect_sum_so_far},
    {"scan_eager", &coll::scan::eager<coll::scan::Kind::inclusive, Port>, &expect_sum_so_far},
    {"exscan_eager", &coll::scan::eager<coll::scan::Kind::exclusive, Port>,
     [](int call, int, int rank, int, std::uint64_t bytes) -> Expected {
       return {block(call, rank, 0, bytes), rank > 0 ? sum(call, rank - 1, 0, bytes) : Bytes{}};
     }},
};

coll::Operation sum_of_bytes() {
  const kernels::ReductionKernels kernels =
      kernels::reduction_kernels(kernels::Operator::sum, kernels::Element::uint8);
  coll::Operation made;
  made.combine = kernels.combine;
  made.combine_row = kernels.row;
  made.combine_into = kernels.into;
  return made;
}

coll::Shape shape_of(int ranks, std::uint32_t slots, std::uint32_t run_bytes = 0, std::uint32_t lines128 = 1) {
  coll::Shape shape = coll::Shape::eager(ranks);
  shape.buffer_bytes = 4096;
  shape.eager_slots = slots;
  shape.eager_run_bytes = run_bytes;
  shape.eager_lines128 = lines128;
  return shape;
}

coll::Parameters ended_by(coll::Closing closing) {
  coll::Parameters parameters;
  parameters.closing = closing;
  return parameters;
}

/// `program` on every rank, which returns how often something was wrong.
void expect_right(const coll::Shape& shape, std::uint64_t adversary, const std::function<int(Rank&)>& program,
                  std::string_view what) {
  IdealJob job;
  job.ranks = shape.ranks;
  job.layout = shape.layout();
  job.seed = adversary;
  IdealSystem system;
  int wrong = 0;
  const Status status = system.run<1>(job, [&](Port& port) {
    Rank me(port, shape);
    wrong += program(me);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(wrong, 0) << what << ", " << shape.ranks << " ranks, " << shape.eager_slots << " slots";
}

void run(const Case& each, const coll::Shape& shape, std::uint64_t bytes, std::uint64_t adversary) {
  const int ranks = shape.ranks;
  const coll::Operation operation = sum_of_bytes();
  const auto program = [&](Rank& me) {
    int wrong = 0;
    for (int number = 0; number < kCalls; ++number) {
      const int root = number / 3 % ranks;
      const Expected expected = each.expect(number, root, me.rank(), ranks, bytes);
      Bytes receive(expected.receive.size(), std::byte{0x5a});
      Call call;
      call.send = expected.send.data();
      call.receive = receive.data();
      call.bytes = bytes;
      call.send_blocks = {bytes};
      call.receive_blocks = {bytes};
      call.root = root;
      call.operation = &operation;
      each.run(me, call, ended_by(coll::Closing::counters));
      wrong += receive != expected.receive ? 1 : 0;
    }
    return wrong;
  };
  expect_right(shape, adversary, program, each.name);
}

TEST(EagerAtHand, EveryCollectiveGivesTheRightBytes) {
  for (const Case& each : kCases) {
    for (const int ranks : kRanks) {
      for (const std::uint64_t bytes : kBytes) {
        for (const std::uint32_t slots : {2U, 8U}) {
          for (const std::uint64_t adversary : {0U, 1U, 2U}) run(each, shape_of(ranks, slots), bytes, adversary);
        }
      }
    }
  }
}

TEST(EagerAtHand, AMessageMayTakeSeveralLongLines) {
  for (const Case& each : kCases) {
    for (const int ranks : {2, 3}) {
      for (const std::uint64_t bytes : {124U, 125U, 137U, 248U, 249U, 260U}) {
        for (const std::uint64_t adversary : {0U, 1U, 2U}) run(each, shape_of(ranks, 8, 0, 2), bytes, adversary);
      }
    }
  }
}

TEST(EagerAtHand, RanksThatHaveNothingForEachOtherExchangeNoMessage) {
  const auto program = [](Rank& me) {
    coll::alltoall::eager<Port>(me, Call{}, ended_by(coll::Closing::counters));
    port::Sequence messages = 0;
    me.for_others(me.rank(), [&](int peer) { messages += me.eager.sent(peer) + me.eager.received(peer); });
    return static_cast<int>(messages);
  };
  expect_right(shape_of(3, 2), 0, program, "nothing to exchange");
}

TEST(EagerAtHand, WhatIsLongerThanASlotLiesInARun) {
  constexpr std::uint32_t kRunBytes = 1024;
  for (const Case& each : kCases) {
    for (const int ranks : {2, 3, 5}) {
      for (const std::uint64_t bytes : {137U, 700U, 1024U}) {
        for (const std::uint32_t slots : {2U, 8U}) {
          for (const std::uint64_t adversary : {0U, 1U, 2U})
            run(each, shape_of(ranks, slots, kRunBytes), bytes, adversary);
        }
      }
    }
  }
}

TEST(EagerAtHand, OneBufferForBothIsAllowedWhereMpiAllowsIt) {
  const coll::Operation operation = sum_of_bytes();
  const coll::Parameters parameters = ended_by(coll::Closing::counters);
  for (const int ranks : kRanks) {
    const auto program = [&](Rank& me) {
      Call call;
      call.operation = &operation;
      int wrong = 0;
      for (const auto all_reduce : {&coll::allreduce::recursive_doubling<Port>, &coll::allreduce::eager<Port>}) {
        Bytes data = block(0, me.rank(), 0, 24);
        call.send = call.receive = data.data();
        call.bytes = data.size();
        all_reduce(me, call, parameters);
        wrong += data != sum(0, ranks - 1, 0, data.size()) ? 1 : 0;
      }
      Bytes all(24 * static_cast<std::size_t>(ranks));
      const Bytes own = block(1, me.rank(), 0, 24);
      std::byte* const place = all.data() + 24 * static_cast<std::size_t>(me.rank());
      std::copy(own.begin(), own.end(), place);
      call.send = place;
      call.receive = all.data();
      call.receive_blocks = {24};
      coll::allgather::eager(me, call, parameters);
      const bool gathered = all == side_by_side(ranks, [](int from) { return block(1, from, 0, 24); });
      return wrong + (gathered ? 0 : 1);
    };
    expect_right(shape_of(ranks, 2), 0, program, "in place");
  }
}

/// The lower operand: not commutative, so an exchange that mixes up sides shows.
void lower(const std::byte* low, std::byte* high, std::size_t count) {
  std::copy_n(low, count, high);
}
void lower_into(const std::byte* low, const std::byte* /*high*/, std::byte* to, std::size_t count) {
  if (low != to) std::copy_n(low, count, to);
}

TEST(EagerAtHand, OperandsKeepTheirSides) {
  coll::Operation operation;
  operation.combine = &lower;
  operation.combine_into = &lower_into;
  operation.commutative = false;
  const coll::Parameters parameters = ended_by(coll::Closing::barrier);
  for (const int ranks : kRanks) {
    const auto program = [&](Rank& me) {
      int wrong = 0;
      for (int number = 0; number < 3; ++number) {
        const Bytes send = block(number, me.rank(), 0, 24);
        Bytes receive(24);
        Call call;
        call.send = send.data();
        call.receive = receive.data();
        call.bytes = send.size();
        call.operation = &operation;
        call.root = ranks - 1;
        for (const auto all_reduce : {&coll::allreduce::recursive_doubling<Port>, &coll::allreduce::eager<Port>}) {
          receive.assign(24, std::byte{});
          all_reduce(me, call, parameters);
          wrong += receive != block(number, 0, 0, 24) ? 1 : 0;
        }
        coll::barrier::pairwise_exchange(me, call, parameters);  // mixed with closing barriers
        receive.assign(24, std::byte{});
        coll::reduce::eager_tree(me, call, parameters);
        wrong += me.rank() == call.root && receive != block(number, 0, 0, 24) ? 1 : 0;
      }
      return wrong;
    };
    expect_right(shape_of(ranks, 2), 0, program, "sides");
  }
}

/// Data of 24 bytes in blocks of 8, 16 apart, as `stride` says; or contiguous.
Bytes laid_out(const Bytes& data, const coll::Stride& stride) {
  if (stride.contiguous()) return data;
  Bytes made(40, std::byte{0x5a});
  for (std::size_t at = 0; at < data.size(); ++at) made[at / 8 * 16 + at % 8] = data[at];
  return made;
}

TEST(EagerAtHand, EachEndMayLayItsDataOutAsItLikes) {
  constexpr int kCount = 5;
  constexpr std::uint64_t kApart = 64;
  std::array<std::uint64_t, kCount> offsets{}, sizes{};
  for (std::size_t rank = 0; rank < kCount; ++rank) offsets[rank] = kApart * rank;
  sizes.fill(24);
  const coll::Stride strided{8, 16};
  for (const bool at_root : {false, true}) {
    for (const bool elsewhere : {false, true}) {
      const coll::Stride there = at_root ? strided : coll::Stride{};
      const coll::Stride here = elsewhere ? strided : coll::Stride{};
      const auto program = [&](Rank& me) {
        int wrong = 0;
        const coll::Parameters parameters = ended_by(coll::Closing::counters);
        for (int root = 0; root < kCount; ++root) {
          const bool is_root = me.rank() == root;
          const auto all = [&](bool gathered) {
            Bytes made(kApart * kCount, std::byte{0x5a});
            for (int rank = 0; rank < kCount; ++rank) {
              const Bytes one = laid_out(gathered ? block(root, rank, 0, 24) : block(root, root, rank, 24), there);
              std::copy(one.begin(), one.end(), made.data() + offsets[static_cast<std::size_t>(rank)]);
            }
            return made;
          };
          Call call;
          call.bytes = 24;
          call.root = root;
          const Bytes own = laid_out(block(root, me.rank(), 0, 24), here);
          Bytes gathered(kApart * kCount, std::byte{0x5a});
          call.send = own.data();
          call.send_stride = here;
          call.receive = gathered.data();
          call.receive_stride = there;
          call.receive_blocks = {0, offsets.data(), sizes.data()};
          coll::gather::eager(me, call, parameters);
          wrong += is_root && gathered != all(true) ? 1 : 0;
          const Bytes scattered = all(false);
          Bytes mine(laid_out(Bytes(24), here).size(), std::byte{0x5a});
          call.send = scattered.data();
          call.send_stride = there;
          call.send_blocks = call.receive_blocks;
          call.receive = mine.data();
          call.receive_stride = here;
          coll::scatter::eager(me, call, parameters);
          wrong += mine != laid_out(block(root, root, me.rank(), 24), here) ? 1 : 0;
          Bytes spread(mine.size(), std::byte{0x5a});
          const Bytes source = laid_out(block(root, root, 7, 24), there);
          call.send = source.data();
          call.receive = spread.data();
          coll::broadcast::eager_tree(me, call, parameters);
          wrong += !is_root && spread != laid_out(block(root, root, 7, 24), here) ? 1 : 0;
        }
        return wrong;
      };
      expect_right(shape_of(kCount, 2), 0, program, "strided");
    }
  }
}

/// Nobody leaves a barrier before all have come.
TEST(EagerAtHand, TheBarrierHoldsEveryone) {
  for (const int ranks : kRanks) {
    for (const std::uint64_t adversary : {0U, 1U, 2U, 3U}) {
      std::vector<int> entered(kCalls);
      const auto program = [&](Rank& me) {
        int early = 0;
        for (int number = 0; number < kCalls; ++number) {
          ++entered[static_cast<std::size_t>(number)];
          coll::barrier::pairwise_exchange(me, Call{}, coll::Parameters{});
          early += entered[static_cast<std::size_t>(number)] != ranks ? 1 : 0;
        }
        return early;
      };
      expect_right(shape_of(ranks, 2), adversary, program, "barrier");
    }
  }
}

}  // namespace
}  // namespace corewise::lab
