// Strided data of the collectives with a root on the simulated Cell: whatever two layouts the sender and the
// receiver have, every byte is where MPI says, and no other byte is touched. The run compares all memory with the
// serial reference (data.hpp), which test_collective_data.cpp holds against results written out by hand.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "coll/table.hpp"
#include "lab/collectives/kinds.hpp"
#include "lab/collectives/run.hpp"
#include "lab/collectives/tables/tables.hpp"

namespace corewise::lab {
namespace {

using coll::Collective;
using coll::Stride;

constexpr std::array kRanks{1, 2, 3, 5, 8, 11, 16};
constexpr std::array kRooted{Collective::broadcast, Collective::reduce,  Collective::gather,
                             Collective::gatherv,   Collective::scatter, Collective::scatterv};
/// What is sent and what is received: by lists on both sides, by single commands, one of them contiguous.
constexpr std::array<std::pair<Stride, Stride>, 4> kLayouts{{
    {{32, 48}, {64, 96}},
    {{5, 9}, {16, 16}},
    {{12, 12}, {7, 20}},
    {{128, 256}, {3, 4}},
}};

std::vector<std::string> strided_algorithms(Collective collective) {
  std::vector<std::string> names;
  for (const auto& row : rows_on_cell(collective)) {
    if ((row.needs & coll::kContiguous) == 0 && row.run != nullptr) names.emplace_back(row.name);
  }
  return names;
}

CollectiveRequest strided_request(Collective collective, const std::string& algorithm, int ranks,
                                  std::uint64_t bytes, const std::pair<Stride, Stride>& layouts) {
  CollectiveRequest request;
  request.collective = collective;
  request.algorithm = algorithm;
  request.ranks = ranks;
  request.bytes = bytes;
  request.root = ranks / 2;
  request.calls = 1;
  request.uneven = has_uneven_blocks(collective);
  request.unaligned = bytes % 3 == 0;
  request.block_bytes = layouts.first.block_bytes;
  request.stride_bytes = layouts.first.stride_bytes;
  request.receive_block_bytes = layouts.second.block_bytes;
  request.receive_stride_bytes = layouts.second.stride_bytes;
  return request;
}

Status run(const CollectiveRequest& request) {
  cell::Parameters machine;
  machine.chips = request.ranks > cell::kSpesPerChip ? 2 : 1;
  return run_collective_on_cell(machine, request).status();
}

class CellStrided : public ::testing::TestWithParam<Collective> {};

TEST_P(CellStrided, AnyTwoLayoutsOnAnyNumberOfRanks) {
  const std::vector<std::string> algorithms = strided_algorithms(GetParam());
  ASSERT_GE(algorithms.size(), 2U);
  for (const std::string& algorithm : algorithms) {
    const bool eager = algorithm.starts_with("eager");
    for (const int ranks : kRanks) {
      for (const std::uint64_t elements : {1U, 3U, eager ? 31U : 333U}) {
        // Sizes that are odd, but for whole elements of a reduction.
        const std::uint64_t bytes = combines(GetParam()) ? 4 * elements : elements;
        const auto& layouts = kLayouts[(static_cast<std::size_t>(ranks) + elements) % kLayouts.size()];
        const Status status = run(strided_request(GetParam(), algorithm, ranks, bytes, layouts));
        EXPECT_TRUE(status.ok()) << algorithm << " on " << ranks << ", " << bytes << ": " << status.message();
      }
    }
  }
}

/// More than the buffers hold, so that blocks are cut where pieces end.
TEST_P(CellStrided, ManyPieces) {
  for (const std::string& algorithm : strided_algorithms(GetParam())) {
    if (algorithm.starts_with("eager")) continue;
    for (const auto& layouts : kLayouts) {
      CollectiveRequest request = strided_request(GetParam(), algorithm, 5, 4 * 1001, layouts);
      request.settings = {{"buffer", 1024}};
      const Status status = run(request);
      EXPECT_TRUE(status.ok()) << algorithm << ": " << status.message();
    }
  }
}

std::string test_name(const ::testing::TestParamInfo<Collective>& info) {
  return std::string(name_of(info.param));
}
INSTANTIATE_TEST_CASE_P(Rooted, CellStrided, ::testing::ValuesIn(kRooted), test_name);

/// An operator that does not commute, which has its tree at rank 0.
TEST(CellStridedReduce, KeepsTheOrderOfTheRanks) {
  for (const std::string& algorithm : strided_algorithms(Collective::reduce)) {
    CollectiveRequest request = strided_request(Collective::reduce, algorithm, 5, 8 * 13, kLayouts[1]);
    request.operation = "user_compose";
    EXPECT_TRUE(run(request).ok()) << algorithm << ": " << run(request).message();
  }
}

TEST(CellStridedRequests, WhatCannotBeIsNamed) {
  const auto message = [](Collective collective, const std::string& algorithm, bool in_place,
                          const std::pair<Stride, Stride>& layouts) {
    CollectiveRequest request = strided_request(collective, algorithm, 3, 16, layouts);
    request.in_place = in_place;
    if (!has_root(collective)) request.root = 0;
    return run(request).message();
  };
  EXPECT_EQ(message(Collective::gather, "direct", false, kLayouts[0]),
            "field 'stride': found strided data, allowed: contiguous data for the algorithm direct");
  EXPECT_EQ(message(Collective::gather, "linear", true, kLayouts[0]),
            "field 'in_place': found true, allowed: false for strided data");
  EXPECT_EQ(message(Collective::gather, "linear", false, {{}, {8, 4}}),
            "field 'receive_stride_bytes': found 4, allowed: from the block's bytes, 1 or more, to 1048576");
  EXPECT_EQ(message(Collective::alltoall, "direct", false, {{}, {8, 16}}),
            "field 'receive_block_bytes': found 8, allowed: 0 (no stride) for alltoall");
}

}  // namespace
}  // namespace corewise::lab
