// ShmPort: the port of a rank on this host. Copies are done when the call returns, a control line is a release
// store of its sequence number behind its payload, a wait looks with acquire loads. Everything inlines; there is no
// state beyond where the segment lies.
//
// Contract: port/port.hpp. The segment must outlive the port; every rank makes its own over its own view of the
// same block. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <utility>

#include "kernels/copy/copy.hpp"
#include "port/capabilities.hpp"
#include "port/port.hpp"
#include "shm/processes.hpp"
#include "shm/reach.hpp"
#include "shm/segment.hpp"
#include "shm/views.hpp"
#include "shm/wait_policy.hpp"

namespace corewise::shm {

class ShmPort {
 public:
  using UserAddress = std::byte*;
  using ConstUserAddress = const std::byte*;
  static constexpr std::uint32_t kCopyAlignment = 1;
  static constexpr bool kUserMemoryAtHand = true;
  /// A combination of so many bytes for two places makes one of them by a copy.
  static constexpr std::uint32_t kApartBytes = 8192;

  ShmPort(const Segment& segment, int rank) : ShmPort(segment, rank, WaitPolicy::for_ranks(segment.ranks())) {}
  /// `processes`: that of every rank; without them no rank's user memory can be reached. `mapped`: user memory of
  /// every rank that all have mapped.
  ShmPort(const Segment& segment, int rank, const WaitPolicy& policy, Processes processes = {}, Reach mapped = {})
      : segment_(segment),
        rank_(rank),
        policy_(policy),
        processes_(std::move(processes)),
        mapped_(std::move(mapped)) {
    assert(rank >= 0 && rank < segment.ranks());
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return segment_.ranks(); }
  [[nodiscard]] const port::Layout& layout() const { return segment_.layout(); }
  [[nodiscard]] std::span<std::byte> stage() { return {segment_.stage(rank_), layout().stage_bytes}; }

  template <class L>
  void put_line(int peer, L line, port::Sequence sequence, std::span<const std::byte> payload, port::Tag /*tag*/) {
    assert(payload.size() <= L::kPayloadBytes);
    auto& storage = line_of(peer, line);
    kernels::copy_short<L::kPayloadBytes>(storage.payload, payload.data(), payload.size());
    std::atomic_ref(storage.sequence).store(sequence, std::memory_order_release);
  }
  template <class L>
  [[nodiscard]] port::Sequence line_sequence(L line) const {
    return std::atomic_ref(line_of(rank_, line).sequence).load(std::memory_order_acquire);
  }
  template <class L>
  [[nodiscard]] std::span<const std::byte, L::kPayloadBytes> line_payload(L line) const {
    return std::span<const std::byte, L::kPayloadBytes>(line_of(rank_, line).payload);
  }
  template <class L, class Ready>
  void wait_lines(L /*first*/, std::uint32_t /*count*/, Ready&& ready,
                  const std::source_location& /*where*/ = std::source_location::current()) {
    wait_until(ready, policy_);
  }

  // port::LineRuns
  void put_run(int peer, port::Line128 first, std::span<const std::byte> data, port::Tag /*tag*/) {
    kernels::copy(run_at(peer, first), data.data(), data.size(), kernels::Audience::other_core_soon);
  }
  [[nodiscard]] std::span<const std::byte> run(port::Line128 first, std::uint32_t bytes) const {
    return {run_at(rank_, first), bytes};
  }

  void get(port::Remote from, port::StageOffset to, std::uint32_t bytes, port::Tag /*tag*/) {
    kernels::copy(segment_.stage(rank_) + to, remote(from, bytes), bytes, kernels::Audience::self);
  }
  void put(port::StageOffset from, port::Remote to, std::uint32_t bytes, port::Tag /*tag*/) {
    kernels::copy(remote(to, bytes), segment_.stage(rank_) + from, bytes, kernels::Audience::other_core_soon);
  }
  void copy_in(ConstUserAddress from, port::StageOffset to, std::uint32_t bytes, port::Tag /*tag*/) {
    copy(remote({rank_, to}, bytes), from, bytes, kernels::Audience::other_core_soon);
  }
  void copy_out(port::StageOffset from, UserAddress to, std::uint32_t bytes, port::Tag /*tag*/) {
    copy(to, remote({rank_, from}, bytes), bytes, kernels::Audience::self);
  }
  // port::PeerStageRead
  void get_user(port::Remote from, UserAddress to, std::uint32_t bytes, port::Tag /*tag*/) {
    copy(to, remote(from, bytes), bytes, kernels::Audience::self);
  }
  // port::UserCopy
  void copy_user(ConstUserAddress from, UserAddress to, std::uint64_t bytes, port::Tag /*tag*/) {
    copy(to, from, bytes, kernels::Audience::self);
  }
  /// User addresses of copies through stages, and of copy_user, may be of these; what is pushed and pulled may not,
  /// and is refused.
  [[nodiscard]] Views& views() { return views_; }
  [[nodiscard]] bool reaches_peers() const { return !processes_.none(); }

  // port::PeerUserCopy
  std::uint64_t pull(int peer, ConstUserAddress from, UserAddress to, std::uint64_t bytes) {
    if (Views::is(from) || Views::is(to)) return 0;
    const std::byte* const here = mapped_.find(peer, reinterpret_cast<std::uintptr_t>(from), bytes);
    if (here == nullptr) return processes_.read(peer, from, to, bytes);
    kernels::copy(to, here, bytes, kernels::Audience::self);
    ++copies_in_reach_;
    return bytes;
  }
  std::uint64_t push(int peer, ConstUserAddress from, UserAddress to, std::uint64_t bytes) {
    if (Views::is(from) || Views::is(to)) return 0;
    std::byte* const here = mapped_.find(peer, reinterpret_cast<std::uintptr_t>(to), bytes);
    if (here == nullptr) return processes_.write(peer, from, to, bytes);
    kernels::copy(here, from, bytes, kernels::Audience::other_core_soon);
    ++copies_in_reach_;
    return bytes;
  }
  /// How many of both went through a mapping.
  [[nodiscard]] std::uint64_t copies_in_reach() const { return copies_in_reach_; }

  // port::MappedUserMemory. Shorter data are as quick through stages.
  static constexpr std::uint64_t kLeastLent = 4096;
  static constexpr std::uint64_t kLeastShared = 16384;
  Reach& mapped() { return mapped_; }
  [[nodiscard]] std::uint64_t offer(ConstUserAddress at, std::uint64_t bytes) const {
    const auto place = reinterpret_cast<std::uintptr_t>(at);
    return place < port::kOffersEnd && mapped_.find(rank_, place, bytes) != nullptr ? place : 0;
  }
  [[nodiscard]] UserAddress reach(int peer, std::uint64_t offered, std::uint64_t bytes) const {
    std::byte* const here = mapped_.find(peer, static_cast<std::uintptr_t>(offered), bytes);
    assert(here != nullptr);
    return here;
  }
  void combine_reached(ConstUserAddress theirs, ConstUserAddress own, UserAddress to,
                       std::optional<UserAddress> too, const port::Combination& how, std::uint32_t bytes,
                       port::Tag /*tag*/) {
    combine(theirs, own, to, too.value_or(nullptr), how, bytes);
  }
  void give(ConstUserAddress own, UserAddress to, std::uint64_t bytes, port::Tag /*tag*/) {
    kernels::copy(to, own, bytes, kernels::Audience::other_core_soon);
  }
  // port::PeerStageCombine
  void combine_user(port::Remote theirs, ConstUserAddress own, UserAddress to, std::optional<port::StageOffset> too,
                    const port::Combination& how, std::uint32_t bytes, port::Tag /*tag*/) {
    combine(remote(theirs, bytes), own, to, too ? remote({rank_, *too}, bytes) : nullptr, how, bytes);
  }
  void wait(port::TagMask /*mask*/) {}
  [[nodiscard]] port::TagMask test(port::TagMask mask) { return mask; }
  void compute(std::int64_t /*cycles*/) {}

  // port::AtomicWords
  std::uint32_t fetch_add(std::uint32_t word, std::uint32_t value) {
    return word_of(word).fetch_add(value, std::memory_order_acq_rel);
  }
  [[nodiscard]] std::uint32_t load_word(std::uint32_t word) {
    return word_of(word).load(std::memory_order_acquire);
  }
  // port::WordWaits
  template <class Ready>
  void wait_word(std::uint32_t /*word*/, Ready&& ready) {
    wait_until(ready, policy_);
  }

 private:
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes, kernels::Audience audience) {
    if (Views::is(to) || Views::is(from)) [[unlikely]]
      return views_.copy(to, from, bytes);
    kernels::copy(to, from, bytes, audience);
  }
  /// `too` is where others look. Long pieces are copied there: past the caches that is quicker to read for a peer,
  /// and to write where a peer has it (AMD); and two streams of stores in one loop take up to twice the time of a
  /// loop and a copy (an Intel Xeon, family 6, model 207).
  static void combine(const std::byte* theirs, const std::byte* own, std::byte* to, std::byte* too,
                      const port::Combination& how, std::uint32_t bytes) {
    const bool apart =
        too != nullptr && bytes > kernels::copy_inline_limit &&
        (bytes >= kApartBytes || kernels::chosen_copy(too, to, bytes, kernels::Audience::other_core_soon).streams);
    how.run(how.context, theirs, own, to, apart ? nullptr : too, bytes);
    if (apart) kernels::copy(too, to, bytes, kernels::Audience::other_core_soon);
  }
  auto& line_of(int rank, port::Line16 line) const {
    assert(line.index < layout().lines16);
    return segment_.line(rank, line);
  }
  auto& line_of(int rank, port::Line128 line) const {
    assert(line.index < layout().lines128);
    return segment_.line(rank, line);
  }
  std::byte* run_at(int peer, port::Line128 first) const {
    return reinterpret_cast<std::byte*>(&line_of(peer, first));
  }
  std::byte* remote(port::Remote place, [[maybe_unused]] std::uint32_t bytes) const {
    assert(place.peer >= 0 && place.peer < size());
    assert(std::uint64_t{place.at} + bytes <= layout().stage_bytes);
    return segment_.stage(place.peer) + place.at;
  }
  std::atomic_ref<std::uint32_t> word_of(std::uint32_t word) const {
    assert(word < layout().atomic_words);
    return std::atomic_ref(*segment_.word(word));
  }

  Segment segment_;
  int rank_;
  WaitPolicy policy_;
  Processes processes_;
  Reach mapped_;
  Views views_;
  std::uint64_t copies_in_reach_ = 0;
};

static_assert(port::Port<ShmPort> && port::WordWaits<ShmPort>);
static_assert(port::PeerStageRead<ShmPort> && port::PeerStageCombine<ShmPort> && port::UserCopy<ShmPort> &&
              port::PeerUserCopy<ShmPort> && port::MappedUserMemory<ShmPort>);
static_assert(std::atomic_ref<std::uint32_t>::is_always_lock_free, "ranks may be processes");

}  // namespace corewise::shm
