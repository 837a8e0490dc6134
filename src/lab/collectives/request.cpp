// The table of numbers, and what a collective has not. SPDX-License-Identifier: BSD-3-Clause
#include "lab/collectives/request.hpp"

#include <array>
#include <utility>

#include "coll/building/shape.hpp"
#include "lab/collectives/kinds.hpp"

namespace corewise::lab {
namespace {

using coll::Collective;

constexpr std::int64_t kMostBytes = 16 << 20;
constexpr std::int64_t kMostStride = 1 << 20;
constexpr std::int64_t kMostCalls = 1'000'000;
constexpr std::int64_t kMostDelayNs = 1'000'000'000;
constexpr std::int64_t kMostSeed = 0x7FFF'FFFF;

template <auto member>
constexpr NumberRow number(const char* name, std::int64_t least, std::int64_t most, const char* meaning) {
  return {name,
          least,
          most,
          meaning,
          [](const CollectiveRequest& request) { return static_cast<std::int64_t>(request.*member); },
          [](CollectiveRequest& request, std::int64_t value) {
            request.*member = static_cast<std::remove_reference_t<decltype(request.*member)>>(value);
          }};
}

using Request = CollectiveRequest;
constexpr std::array kNumbers = {
    number<&Request::ranks>("ranks", 1, coll::kMostRanksWithLists, "How many take part."),
    number<&Request::bytes>("bytes", 0, kMostBytes, "Of the operand (broadcast, reductions), or of each block."),
    number<&Request::root>("root", 0, coll::kMostRanksWithLists - 1, "Of broadcast, reduce, gather and scatter."),
    number<&Request::block_bytes>("block_bytes", 0, kMostStride,
                                  "Of strided data, in collectives with a root; 0: contiguous."),
    number<&Request::stride_bytes>("stride_bytes", 0, kMostStride,
                                   "From the start of a block to that of the next."),
    number<&Request::receive_block_bytes>("receive_block_bytes", 0, kMostStride,
                                          "Of what is received, if that lies otherwise; 0: as it is sent."),
    number<&Request::receive_stride_bytes>("receive_stride_bytes", 0, kMostStride,
                                           "From the start of such a block to that of the next."),
    number<&Request::cache_line_bytes>("cache_line_bytes", 0, cell::kMaxDmaBytes,
                                       "Of the software cache before main memory; 0: there is none."),
    number<&Request::cache_sets>("cache_sets", 1, cell::kLocalStoreBytes / cell::kLineBytes, "Of that cache."),
    number<&Request::cache_ways>("cache_ways", 1, cell::kLocalStoreBytes / cell::kLineBytes,
                                 "Lines in each of its sets."),
    number<&Request::delay_ns>("delay_ns", 0, kMostDelayNs,
                               "Ranks start a call so much later at most, drawn from the seed."),
    number<&Request::warm_up>("warm_up", 0, kMostCalls, "Calls before those that are measured."),
    number<&Request::calls>("calls", 1, kMostCalls, "Measured one by one, and then as many back to back."),
    number<&Request::seed>("seed", 0, kMostSeed, "Of data and delays."),
};

/// A shape that is none, and data that need no cache.
Status check_cache(const Request& request) {
  if (!request.cached()) return {};
  if (request.memory == UserMemory::local_store) {
    return bad_field("", "memory", "local_store", "first, second, own, interleaved, first_touch behind a cache");
  }
  return request.cache().check();
}

std::string names_of(bool (*has)(Collective)) {
  std::string names;
  for (const Collective each : all_collectives()) {
    if (has(each)) names.append(names.empty() ? "" : ", ").append(name_of(each));
  }
  return names;
}

/// What only some collectives have.
Status check_meaning(const Request& request) {
  struct Meant {
    const char* field;
    bool given;
    bool (*has)(Collective);
  };
  const Meant all[] = {{"bytes", request.bytes != 0, &has_data},
                       {"memory", request.memory != UserMemory::first, &has_data},
                       {"unaligned", request.unaligned, &has_data},
                       {"cache_line_bytes", request.cached(), &has_data},
                       {"root", request.root != 0, &has_root},
                       {"uneven", request.uneven, &has_uneven_blocks},
                       {"operation", !request.operation.empty(), &combines},
                       {"element", !request.element.empty(), &combines}};
  const std::string name(name_of(request.collective));
  for (const Meant& each : all) {
    if (each.given && !each.has(request.collective)) {
      return bad_field("", each.field, "a value for " + name, "only for " + names_of(each.has));
    }
  }
  if (!request.element.empty() && request.operation.starts_with("user_")) {
    return bad_field("", "element", "a value for " + request.operation, "only for operators of MPI");
  }
  if (request.in_place && !may_be_in_place(request.collective)) {
    return bad_field("", "in_place", "true", "false for " + name);
  }
  return {};
}

Status check_layout(const Request& request, const std::string& side, std::uint32_t block, std::uint32_t stride) {
  if (block == 0 && stride == 0) return {};
  if (!may_be_strided(request.collective)) {
    return bad_field("", side + "block_bytes", std::to_string(block),
                     "0 (no stride) for " + std::string(name_of(request.collective)));
  }
  if (block > 0 && block <= stride) return {};
  return bad_field("", side + "stride_bytes", std::to_string(stride),
                   "from the block's bytes, 1 or more, to " + std::to_string(kMostStride));
}

Status check_stride(const Request& request) {
  for (const Status& status :
       {check_layout(request, "", request.block_bytes, request.stride_bytes),
        check_layout(request, "receive_", request.receive_block_bytes, request.receive_stride_bytes)}) {
    if (!status.ok()) return status;
  }
  if (!request.in_place || request.contiguous()) return {};
  return bad_field("", "in_place", "true", "false for strided data");
}

}  // namespace

std::span<const NumberRow> number_rows() {
  return kNumbers;
}

std::string range_text(const NumberRow& row) {
  return std::to_string(row.least) + " to " + std::to_string(row.most);
}

Status check(const CollectiveRequest& request) {
  for (const NumberRow& row : kNumbers) {
    const std::int64_t value = row.get(request);
    if (value < row.least || value > row.most) {
      return bad_field("", row.name, std::to_string(value), range_text(row));
    }
  }
  if (Status status = check_meaning(request); !status.ok()) return status;
  if (request.root >= request.ranks) {
    return bad_field("", "root", std::to_string(request.root), "0 to " + std::to_string(request.ranks - 1));
  }
  if (Status status = check_cache(request); !status.ok()) return status;
  return check_stride(request);
}

}  // namespace corewise::lab
