// AG (paper 001, section 6.1): all ranks learn all addresses; then each gets its part of the data from the source
// and writes it to every destination, double buffered. A part is at least min_piece bytes, so of few data only some
// ranks have one: workers, the root first. Where all are workers, parts go by the weights that ranks tell with
// their addresses (Parameters::far_percent).
//
// With the paper's closing barrier the addresses are gathered by all before anything else. Without it they go to
// the workers alone, and every worker acknowledges to all others: its part is there, and their entries are read.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "coll/broadcast/distribute.hpp"
#include "coll/broadcast/double_buffering.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::broadcast {

/// What a rank tells: where its data lie, and the weight of its part.
template <class Address>
struct Stated {
  Address address{};
  std::uint32_t weight = 100;

  using Bytes = std::array<std::byte, port::Line16::kPayloadBytes>;
  static_assert(sizeof(Address) + sizeof(std::uint32_t) <= port::Line16::kPayloadBytes);
  [[nodiscard]] Bytes bytes() const {
    Bytes made{};
    std::memcpy(made.data(), &address, sizeof(Address));
    std::memcpy(made.data() + sizeof(Address), &weight, sizeof(weight));
    return made;
  }
  static Stated from(std::span<const std::byte, port::Line16::kPayloadBytes> bytes) {
    Stated stated;
    std::memcpy(&stated.address, bytes.data(), sizeof(Address));
    std::memcpy(&stated.weight, bytes.data() + sizeof(Address), sizeof(stated.weight));
    return stated;
  }
};

/// Which part of `bytes` is whose; how many workers there are is equal on all ranks, where their parts begin is
/// known to the workers.
class Shares {
 public:
  Shares(std::uint64_t bytes, int ranks, std::uint32_t least)
      : bytes_(bytes),
        workers_(std::clamp<std::uint64_t>(bytes / std::max(1U, least), 1, static_cast<std::uint64_t>(ranks))),
        share_((bytes + workers_ * kLine - 1) / (workers_ * kLine) * kLine) {}

  [[nodiscard]] int workers() const { return static_cast<int>(workers_); }
  /// Where the part of the worker at `place` begins, with inner bounds on lines of a source of this skew.
  [[nodiscard]] std::uint64_t begin(int place, std::uint32_t skew) const {
    if (place >= workers()) return bytes_;
    const std::uint64_t at =
        weighed_.empty() ? static_cast<std::uint64_t>(place) * share_ : weighed_[static_cast<std::size_t>(place)];
    return std::min(bytes_, at - std::min<std::uint64_t>(at, skew));
  }
  /// The weights of all places; equal ones change nothing, and neither do any where not all ranks work.
  void weigh(const std::vector<std::uint32_t>& weights) {
    const bool equal = std::adjacent_find(weights.begin(), weights.end(), std::not_equal_to<>()) == weights.end();
    if (equal || weights.size() != workers_) return;
    const std::uint64_t total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
    std::uint64_t before = 0;
    for (const std::uint32_t weight : weights) {
      weighed_.push_back(bytes_ / kLine * before / total * kLine);
      before += weight;
    }
  }

 private:
  static constexpr std::uint64_t kLine = port::Line128::kBytes;
  std::uint64_t bytes_, workers_, share_;
  std::vector<std::uint64_t> weighed_;  ///< where each part begins, if not one share after the other
};

template <port::Port P>
  requires port::DirectRead<P> && port::DirectWrite<P>
class PieceBroadcast {
 public:
  PieceBroadcast(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        call_(call),
        parameters_(parameters),
        shares_(call.bytes, me.size(), parameters.min_piece),
        place_(place_of(me.rank())) {}

  void operator()() {
    tell_all();
    if (works(place_)) {
      work();
    } else if (!counters()) {
      me_.for_others(me_.rank(), [this](int rank) { me_.announcements.hear(rank); });
    }
    if (!counters()) return;
    for (int place = 0; place < shares_.workers(); ++place) {
      if (place == place_) continue;
      me_.port.compute(cost::kPeer);
      me_.acknowledgements.hear(rank_at(place));
    }
  }

 private:
  using Address = typename P::UserAddress;
  using ConstAddress = typename P::ConstUserAddress;

  [[nodiscard]] bool counters() const { return parameters_.closing == Closing::counters; }
  [[nodiscard]] bool works(int place) const { return place < shares_.workers(); }
  [[nodiscard]] int place_of(int rank) const { return (rank - call_.root + me_.size()) % me_.size(); }
  [[nodiscard]] int rank_at(int place) const { return (place + call_.root) % me_.size(); }

  template <class Data>
  [[nodiscard]] Stated<Data> stated(Data address) const {
    std::uint32_t weight = 100;
    if constexpr (port::NearAndFar<P>) {
      if (me_.port.far(address)) weight = static_cast<std::uint32_t>(parameters_.far_percent);
    }
    return {address, weight};
  }

  void tell_all() {
    port::TagMask tags = 0;
    me_.for_others(me_.rank(), [&](int rank) {
      if (counters() && !works(place_of(rank))) return;
      me_.announcements.tell(rank,
                             is_root(me_, call_) ? stated(call_.send).bytes() : stated(call_.receive).bytes());
      tags |= port::mask_of(metadata_tag(rank));
    });
    if (parameters_.waits) me_.port.wait(tags);
  }

  void work() {
    ConstAddress source = call_.send;
    std::vector<Destination<Address>> destinations;
    std::vector<std::uint32_t> weights(static_cast<std::size_t>(me_.size()));
    const auto weigh = [&](int rank, std::uint32_t weight) {
      weights[static_cast<std::size_t>(place_of(rank))] = weight;
    };
    me_.for_others(me_.rank(), [&](int rank) {
      const auto payload = me_.announcements.hear(rank);
      if (rank == call_.root) {
        const auto from = Stated<ConstAddress>::from(payload);
        source = from.address;
        weigh(rank, from.weight);
      } else {
        const auto to = Stated<Address>::from(payload);
        destinations.push_back({rank, to.address});
        weigh(rank, to.weight);
      }
    });
    weigh(me_.rank(), stated(ConstAddress(own_data(me_, call_))).weight);
    shares_.weigh(weights);
    if (!is_root(me_, call_)) destinations.push_back({me_.rank(), call_.receive});
    const std::uint32_t skew = skew_of<P>(source);
    const std::uint64_t begin = shares_.begin(place_, skew);
    const std::uint64_t end = shares_.begin(place_ + 1, skew);
    for (auto& destination : destinations) destination.at += begin;
    const Cuts cuts(end - begin, piece_limit(me_, parameters_), skew_of<P>(source + begin));
    distribute(me_, call_.root, source + begin, cuts, parameters_, destinations);
    if (counters() && !is_root(me_, call_)) me_.acknowledgements.tell(call_.root);
  }

  Rank<P>& me_;
  const Call<P>& call_;
  const Parameters& parameters_;
  Shares shares_;
  int place_;  ///< from the root on
};

template <port::Port P>
  requires port::DirectRead<P> && port::DirectWrite<P>
void pieces(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes > 0 && me.size() > 1) PieceBroadcast<P>(me, call, parameters)();
  me.close(parameters);
}

}  // namespace corewise::coll::broadcast
