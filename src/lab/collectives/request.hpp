// What is asked for when a collective is run. The same struct goes from the command line and Python down to the
// arguments of every call. `number_rows` has the range of every number; `check` holds a request against these
// ranges and against what its collective has. Whoever runs a request checks it first, before any work. What depends
// on an algorithm is checked in settings.hpp, what depends on a machine in run.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "cell/spe/cache_lines.hpp"
#include "coll/call.hpp"
#include "lab/collectives/settings.hpp"

namespace corewise::lab {

/// Where user data lie.
enum class UserMemory : std::uint8_t {
  first,        ///< main memory of the first chip
  second,       ///< of the blade's second chip
  own,          ///< of each rank's own chip
  interleaved,  ///< of both chips of a blade, pages of 4 KB by turns
  first_touch,  ///< rank by rank of both chips in turn: where the PPE thread ran that touched the pages first
  local_store   ///< each rank's own local store
};

struct CollectiveRequest {
  coll::Collective collective = coll::Collective::barrier;
  std::string algorithm;
  Settings settings;  ///< of the algorithm
  int ranks = 1;
  /// Of the operand (broadcast, reductions), or of each block; of uneven blocks about half to twice as many.
  std::uint64_t bytes = 0;
  int root = 0;
  UserMemory memory = UserMemory::first;
  /// Main memory behind a software cache in each rank's local store, of lines of so many bytes; 0: without a cache.
  std::uint32_t cache_line_bytes = 0, cache_sets = 64, cache_ways = 4;
  std::string operation;  ///< a predefined one (kernels::name), user_sum or user_compose; empty: sum
  std::string element;    ///< of the predefined operations (kernels::name); empty: int32
  /// How the data lie, in collectives with a root; 0: contiguous.
  std::uint32_t block_bytes = 0, stride_bytes = 0;
  /// How they lie where they are received, if that is otherwise; 0: as they are sent.
  std::uint32_t receive_block_bytes = 0, receive_stride_bytes = 0;
  bool in_place = false;
  bool uneven = false;        ///< the vector versions' blocks differ and have gaps between them
  bool unaligned = false;     ///< buffers begin at odd places, on each rank another
  std::int64_t delay_ns = 0;  ///< ranks start so much later at most, drawn from the seed
  int warm_up = 1;
  int calls = 3;
  bool back_to_back = true;  ///< as many calls again without a common start; on ideal ranks always
  std::uint64_t seed = 1;    ///< of data and delays

  [[nodiscard]] std::string_view operation_name() const { return or_default(operation, "sum"); }
  [[nodiscard]] std::string_view element_name() const { return or_default(element, "int32"); }
  /// As the algorithms know it: blocks without gaps are contiguous.
  [[nodiscard]] coll::Stride send_stride() const { return stride_of(block_bytes, stride_bytes); }
  [[nodiscard]] coll::Stride receive_stride() const {
    return receive_block_bytes == 0 ? send_stride() : stride_of(receive_block_bytes, receive_stride_bytes);
  }
  [[nodiscard]] bool cached() const { return cache_line_bytes != 0; }
  [[nodiscard]] cell::SoftwareCacheShape cache() const {
    return {.line_bytes = cache_line_bytes, .sets = cache_sets, .ways = cache_ways};
  }
  [[nodiscard]] bool contiguous() const { return send_stride().contiguous() && receive_stride().contiguous(); }

 private:
  static coll::Stride stride_of(std::uint32_t block, std::uint32_t stride) {
    return block == stride ? coll::Stride{} : coll::Stride{block, stride};
  }
  static std::string_view or_default(std::string_view given, std::string_view usual) {
    return given.empty() ? usual : given;
  }
};

/// A number of a request and its range.
struct NumberRow {
  const char* name;
  std::int64_t least;
  std::int64_t most;
  const char* meaning;
  std::int64_t (*get)(const CollectiveRequest& request);
  void (*set)(CollectiveRequest& request, std::int64_t value);  ///< a value in range
};
std::span<const NumberRow> number_rows();
/// "LEAST to MOST".
std::string range_text(const NumberRow& row);

/// Numbers out of range, a root that is no rank, and what the collective does not have: a root, data, an operator,
/// blocks of different sizes, a stride, results in place of operands.
Status check(const CollectiveRequest& request);

}  // namespace corewise::lab
