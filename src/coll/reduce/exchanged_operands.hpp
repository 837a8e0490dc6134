// Exchanged operands: what a rank combines where it meets one peer after the other, with EagerOperands' names. The
// operands stay in user memory, where that is at hand: nothing is loaded, and each combination leaves its result
// where the call's result goes. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "coll/rank.hpp"
#include "kernels/copy/copy.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::reduce {

template <port::UserMemoryAtHand P>
class ExchangedOperands {
 public:
  /// Whether a call's operands can stay where they are; the rank must have a receive buffer.
  static bool fits(const Call<P>& call) {
    return call.operation->combine_into != nullptr && call.send_stride.contiguous() &&
           call.receive_stride.contiguous();
  }

  ExchangedOperands(Rank<P>& me, const Call<P>& call) : me_(me), call_(call), own_(call.send) {}

  void load() {}
  void store() {
    if (own_ != call_.receive) kernels::copy(call_.receive, own_, bytes(), kernels::Audience::self);
  }
  void finish() {}

  [[nodiscard]] std::span<const std::byte> own() const { return {own_, bytes()}; }
  [[nodiscard]] std::span<std::byte> result() {
    own_ = call_.receive;
    return {call_.receive, bytes()};
  }
  [[nodiscard]] std::span<std::byte> other() { return me_.stage.bytes(0, bytes()); }
  void append() { combine(own_, other().data()); }
  void prepend() { combine(other().data(), own_); }

 private:
  [[nodiscard]] std::uint32_t bytes() const { return static_cast<std::uint32_t>(call_.bytes); }
  void combine(const std::byte* low, const std::byte* high) {
    call_.operation->combine_into(low, high, call_.receive, bytes() / call_.operation->element_bytes);
    own_ = call_.receive;
  }

  Rank<P>& me_;
  const Call<P>& call_;
  const std::byte* own_;
};

}  // namespace corewise::coll::reduce
