// What reductions promise beyond the right result (traps T4 and T5 of shared-memory MPI libraries): allreduce gives
// every rank the same bytes even where the result depends on the order of the operands; that order never depends on
// who comes first; and calls of different algorithms, without a barrier between them, keep apart on the channels
// they share.
//
// On ideal ranks: calm, and under adversaries with late ranks. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "coll/rank.hpp"
#include "coll/table.hpp"
#include "kernels/reduce/reduce.hpp"
#include "lab/collectives/ideal_port.hpp"
#include "lab/collectives/tables/tables.hpp"

namespace corewise::lab {
namespace {

using coll::Collective;
using kernels::Element;
using kernels::Operator;
using Bytes = std::vector<std::byte>;
using Row = coll::Row<IdealPort>;

constexpr std::array kRanks = {1, 2, 3, 4, 5, 7, 8, 11, 12, 16};
constexpr std::array<std::uint64_t, 5> kAdversaries = {0, 1, 2, 3, 4};  // 0: calm

/// One call of all ranks: its operands and what came out.
struct Reduction {
  const Row* row = nullptr;
  bool all = false;  ///< allreduce
  coll::Parameters parameters;
  coll::Operation operation;
  int root = 0;
  std::vector<Bytes> operands, results, workspaces;
};

coll::Operation predefined(Operator operation, Element element) {
  coll::Operation made;
  made.combine = kernels::combine_for(operation, element);
  made.element_bytes = static_cast<std::uint32_t>(kernels::element_bytes(element));
  return made;
}

/// Matrices of two rows: associative, not commutative, every operand counts.
void multiply(void* /*context*/, const std::byte* in, std::byte* inout, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::array<std::uint16_t, 4> low{}, high{};
    std::memcpy(low.data(), in + 8 * i, 8);
    std::memcpy(high.data(), inout + 8 * i, 8);
    const auto entry = [&](int row, int column) {
      const auto at = [](int r, int c) { return static_cast<std::size_t>(2 * r + c); };
      return static_cast<std::uint16_t>(unsigned{low[at(row, 0)]} * high[at(0, column)] +
                                        unsigned{low[at(row, 1)]} * high[at(1, column)]);
    };
    const std::array<std::uint16_t, 4> product{entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)};
    std::memcpy(inout + 8 * i, product.data(), 8);
  }
}

coll::Operation matrices() {
  coll::Operation made;
  made.user = &multiply;
  made.element_bytes = 8;
  made.commutative = false;
  return made;
}

coll::Shape small_buffers(int ranks) {
  coll::Shape shape = coll::Shape::eager(ranks);
  shape.buffer_bytes = 1024;
  return shape;
}

bool fits(const Row& row, const coll::Shape& shape, const coll::Operation& operation, std::uint64_t bytes) {
  coll::Facts facts;
  facts.bytes = bytes;
  facts.commutative = operation.commutative;
  facts.workspace = true;
  return coll::usable(row, shape, facts);
}

void allocate(Reduction& call, int ranks, std::uint64_t bytes) {
  const auto count = static_cast<std::size_t>(ranks);
  call.operands.assign(count, Bytes(bytes));
  call.results.assign(count, Bytes(bytes, std::byte{0x5a}));
  call.workspaces.assign(count, Bytes(bytes));
}

/// All calls in order, each rank at its own pace.
Status run(std::vector<Reduction>& calls, const coll::Shape& shape, std::uint64_t adversary) {
  IdealJob job;
  job.ranks = shape.ranks;
  job.layout = shape.layout();
  job.seed = adversary;
  IdealSystem system;
  return system.run(job, [&](IdealPort& port) {
    coll::Rank<IdealPort> me(port, shape);
    Rng pace(1000 * adversary + static_cast<std::uint64_t>(port.rank()));
    const auto own = static_cast<std::size_t>(port.rank());
    for (Reduction& each : calls) {
      if (adversary != 0 && pace.below(4) == 0) port.pause(static_cast<int>(pace.below(300)));
      coll::Call<IdealPort> call;
      call.send = each.operands[own].data();
      call.receive = each.results[own].data();
      call.bytes = each.operands[own].size();
      call.root = each.root;
      call.operation = &each.operation;
      call.workspace = each.workspaces[own].data();
      each.row->run(me, call, each.parameters);
    }
  });
}

/// Numbers whose sum depends on the order in which they are added.
void fill_with_rounding(std::vector<Bytes>& operands, Rng& random) {
  for (Bytes& operand : operands) {
    for (std::size_t at = 0; at < operand.size(); at += sizeof(float)) {
      const float value =
          std::ldexp(static_cast<float>(random.uniform()) - 0.5F, static_cast<int>(random.below(30)));
      std::memcpy(operand.data() + at, &value, sizeof(value));
    }
  }
}

/// NaN, both zeros and numbers.
void fill_with_specials(std::vector<Bytes>& operands, Rng& random) {
  constexpr std::array kValues = {0.0F, -0.0F, 1.0F, -1.0F, std::numeric_limits<float>::quiet_NaN()};
  for (Bytes& operand : operands) {
    for (std::size_t at = 0; at < operand.size(); at += sizeof(float)) {
      std::memcpy(operand.data() + at, &kValues[random.below(kValues.size())], sizeof(float));
    }
  }
}

/// Every algorithm and rank count; the results of all ranks (of the root) are the same bytes in every run.
template <class Fill>
void expect_same_bytes(Collective collective, Operator operation, Fill fill) {
  const bool all = collective == Collective::allreduce;
  for (const Row& row : rows_on_ideal(collective)) {
    for (const int ranks : kRanks) {
      const coll::Shape shape = small_buffers(ranks);
      const bool eager = (row.needs & coll::kFitsEager) != 0;
      Reduction call{&row, all, {}, predefined(operation, Element::float32), ranks / 2, {}, {}, {}};
      call.parameters.min_piece = 256;
      allocate(call, ranks, eager ? 120 : 4 * 1024 + 60);
      if (!fits(row, shape, call.operation, call.operands[0].size())) continue;
      Rng random(static_cast<std::uint64_t>(ranks));
      fill(call.operands, random);
      Bytes first;
      for (const std::uint64_t adversary : kAdversaries) {
        std::vector<Reduction> calls{call};
        const Status status = run(calls, shape, adversary);
        ASSERT_TRUE(status.ok()) << row.name << " on " << ranks << ": " << status.message();
        const auto root = static_cast<std::size_t>(call.root);
        if (first.empty()) first = calls[0].results[root];
        for (std::size_t rank = 0; rank < calls[0].results.size(); ++rank) {
          if (!all && rank != root) continue;
          ASSERT_EQ(calls[0].results[rank], first) << row.name << ", rank " << rank << " of " << ranks;
        }
      }
    }
  }
}

TEST(Reductions, AllreduceGivesEveryRankTheSameBytes) {
  expect_same_bytes(Collective::allreduce, Operator::sum, &fill_with_rounding);
  expect_same_bytes(Collective::allreduce, Operator::product, &fill_with_rounding);
}

TEST(Reductions, AllreduceOfNanAndZerosGivesEveryRankTheSameBytes) {
  expect_same_bytes(Collective::allreduce, Operator::minimum, &fill_with_specials);
  expect_same_bytes(Collective::allreduce, Operator::maximum, &fill_with_specials);
}

TEST(Reductions, ReduceDoesNotDependOnWhoComesFirst) {
  expect_same_bytes(Collective::reduce, Operator::sum, &fill_with_rounding);
  expect_same_bytes(Collective::reduce, Operator::minimum, &fill_with_specials);
}

// Calls of all algorithms, mixed.
// ----------------------------------------------------------------------------------

std::vector<Reduction> mixed_calls(const coll::Shape& shape, int count, Rng& random) {
  std::vector<Reduction> calls;
  while (static_cast<int>(calls.size()) < count) {
    Reduction call;
    call.all = random.below(2) == 0;
    const auto rows = rows_on_ideal(call.all ? Collective::allreduce : Collective::reduce);
    call.row = &rows[random.below(rows.size())];
    call.operation = random.below(2) == 0 ? matrices() : predefined(Operator::bitwise_xor, Element::uint64);
    call.root = static_cast<int>(random.below(static_cast<std::uint64_t>(shape.ranks)));
    call.parameters.degree = 1 + static_cast<int>(random.below(5));
    call.parameters.buffering = 1 + static_cast<int>(random.below(2));
    call.parameters.ahead = random.below(2) == 0;
    call.parameters.min_piece = 256;
    call.parameters.closing = random.below(4) == 0 ? coll::Closing::barrier : coll::Closing::counters;
    const std::uint64_t bytes = 8 * (random.below(3) == 0 ? random.below(600) : random.below(18));
    if (!fits(*call.row, shape, call.operation, bytes)) continue;
    allocate(call, shape.ranks, bytes);
    for (Bytes& operand : call.operands) {
      for (std::byte& byte : operand) byte = static_cast<std::byte>(random.below(256));
    }
    calls.push_back(call);
  }
  return calls;
}

/// The ranks' operands combined one after the other.
Bytes expected(const Reduction& call) {
  Bytes result = call.operands.back();
  for (std::size_t rank = call.operands.size() - 1; rank-- > 0;) {
    call.operation(call.operands[rank].data(), result.data(), result.size());
  }
  return result;
}

void check(const Reduction& call, const std::string& where) {
  const Bytes result = expected(call);
  for (std::size_t rank = 0; rank < call.results.size(); ++rank) {
    const bool gets = call.all || rank == static_cast<std::size_t>(call.root);
    const Bytes untouched(result.size(), std::byte{0x5a});
    ASSERT_EQ(call.results[rank], gets ? result : untouched)
        << where << ", " << call.row->name << ", rank " << rank;
  }
}

TEST(Reductions, AlgorithmsMixWithoutBarriers) {
  for (const int ranks : kRanks) {
    for (const std::uint64_t adversary : kAdversaries) {
      coll::Shape shape = small_buffers(ranks);
      shape.eager_slots = adversary % 2 == 0 ? 2 : 4;
      Rng random(100 * adversary + static_cast<std::uint64_t>(ranks));
      std::vector<Reduction> calls = mixed_calls(shape, 30, random);
      const Status status = run(calls, shape, adversary);
      const std::string where = std::to_string(ranks) + " ranks, adversary " + std::to_string(adversary);
      ASSERT_TRUE(status.ok()) << where << ": " << status.message();
      for (std::size_t i = 0; i < calls.size(); ++i) check(calls[i], where + ", call " + std::to_string(i));
    }
  }
}

}  // namespace
}  // namespace corewise::lab
