// The user data of a collective call and what they must be afterwards: real bytes for every rank, checked against a
// serial reference (the ranks' operands combined one after the other, blocks copied one by one).
//
// A rank's area holds, for each set of data, a send and a receive buffer with guard bytes around them. What a
// collective must not touch (send buffers, guards, gaps between blocks, receive buffers of ranks that receive
// nothing) is checked like results. Values are chosen so that results are the same in every order in which the
// operator may combine them; only user_compose is not commutative.
//
// Contract: a pure function of its settings; places are byte offsets from the start of the rank's area, which the
// caller aligns to 128. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "cell/parameters.hpp"
#include "coll/call.hpp"
#include "lab/collectives/kinds.hpp"
#include "lab/collectives/request.hpp"

namespace corewise::lab {

class CollectiveData {
 public:
  static constexpr std::uint64_t kMostTotalBytes = 768U << 20;  ///< of all ranks' areas together

  /// Of a request that `check` has passed: call number n uses set n modulo `sets`; with a workspace every rank has
  /// `bytes` to work in besides. Fails for an operator or element that is none, bytes that are no whole elements,
  /// areas beyond the limit.
  static Result<CollectiveData> make(const CollectiveRequest& request, int sets = 1, bool workspace = false);

  [[nodiscard]] const CollectiveRequest& request() const { return request_; }
  [[nodiscard]] int sets() const { return sets_; }
  /// All equal on Cell and host: a multiple of 128.
  [[nodiscard]] std::uint64_t area_bytes(int rank) const;
  /// As it is before the first call.
  void fill(int rank, std::span<std::byte> area) const;
  /// After the last call; the first wrong byte is named.
  [[nodiscard]] Status check(int rank, std::span<const std::byte> area) const;
  /// After a call that used `set`: its receive buffer alone. In place nothing: there each call has its own set, and
  /// check() sees them all.
  [[nodiscard]] Status check_call(int rank, int set, std::span<const std::byte> area) const;
  /// The set's receive buffer holds nothing again, as before the first call, so that the next has to write it.
  void forget_call(int rank, int set, std::span<std::byte> area) const;

  // The arguments of a call.
  [[nodiscard]] std::uint64_t send_at(int rank, int set) const;
  [[nodiscard]] std::uint64_t receive_at(int rank, int set) const;
  [[nodiscard]] std::uint64_t workspace_at(int rank) const;
  [[nodiscard]] std::uint64_t bytes(int rank) const;
  [[nodiscard]] coll::Blocks send_blocks(int rank) const;
  [[nodiscard]] coll::Blocks receive_blocks(int rank) const;
  [[nodiscard]] const coll::Operation* operation() const {
    return combines(request_.collective) ? &op_->call : nullptr;
  }
  /// What an SPU of this machine spends on the operator; the user's composition keeps its own cycles per line.
  void set_operator_cycles(const cell::Parameters& machine);
  /// The largest operand or block: what every rank can know.
  [[nodiscard]] std::uint64_t largest() const { return largest_; }
  [[nodiscard]] bool commutative() const { return op_->call.commutative; }

 private:
  struct BlockList {
    std::vector<std::uint64_t> offsets, sizes;
    std::uint64_t end = 0;  ///< of the last one
    [[nodiscard]] coll::Blocks view() const { return {0, offsets.data(), sizes.data()}; }
  };
  struct Operator {
    coll::Operation call;
    int kind = 0;  ///< of values that suit it
  };
  struct Buffers {
    std::uint64_t send_bytes = 0, receive_bytes = 0;  ///< extents
    std::uint64_t send_at = 0, receive_at = 0;        ///< in the first set
    std::uint64_t set_bytes = 0;                      ///< from set to set
    std::uint64_t workspace_bytes = 0;                ///< after the last set
  };

  CollectiveData(const CollectiveRequest& request, int sets, bool workspace)
      : request_(request), sets_(sets), workspace_(workspace), op_(std::make_unique<Operator>()) {}
  Status choose_operator();
  void lay_out_blocks();
  void lay_out_buffers();
  [[nodiscard]] std::uint64_t block_bytes(int from, int to) const;
  [[nodiscard]] BlockList block_list(int rank, bool sends) const;
  [[nodiscard]] bool lists_blocks() const;
  [[nodiscard]] std::uint64_t send_extent(int rank) const;
  [[nodiscard]] std::uint64_t receive_extent(int rank) const;
  /// The contiguous operand that `rank` sends in `set`, or all of its blocks with what lies between.
  [[nodiscard]] std::vector<std::byte> sent(int rank, int set) const;
  /// One of those blocks.
  [[nodiscard]] std::vector<std::byte> sent_block(int rank, int to, int set) const;
  void draw_bytes(int rank, int set, std::uint64_t from, std::span<std::byte> into) const;
  void reduce_into(int first, int last, int set, std::vector<std::byte>& result) const;
  /// Writes what `rank`'s receive buffer must hold over what it held.
  void expect(int rank, int set, std::span<std::byte> receive) const;
  void expect_blocks(int rank, int set, std::span<std::byte> receive) const;
  void expect_reduced(int rank, int set, std::span<std::byte> receive) const;
  [[nodiscard]] Status wrong_data(int rank, int set, const std::string& place, std::byte found,
                                  std::byte expected) const;

  CollectiveRequest request_;
  int sets_;
  bool workspace_;
  std::unique_ptr<Operator> op_;  ///< calls keep its address
  std::vector<BlockList> sends_, receives_;
  std::vector<Buffers> buffers_;
  std::uint64_t largest_ = 0;
  mutable std::vector<std::vector<std::byte>> reduced_;  ///< of all ranks, per set
};

}  // namespace corewise::lab
