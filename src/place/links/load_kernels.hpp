// Load kernels: how the enumeration adds up link loads when one more rank is placed; private to the room.
// DenseKernel keeps one lane per link in vector registers (one phase, links of equal bandwidth, few of them);
// SparseKernel follows the routes and takes any machine and any number of phases.
//
// Invariant: loads are exact integers in both. The dense kernel's lanes hold parts per `unit_bytes` bytes, where
// unit_bytes divides every message; its value type is chosen so that the sum of all traffic fits.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "place/links/objective.hpp"

namespace corewise::place {

/// Shares of every ordered pair of units, one lane per link, padded with zeros to `lanes`.
template <class Value>
struct DenseShares {
  std::size_t lanes = 0;
  std::vector<Value> parts;

  DenseShares() = default;
  DenseShares(const RoutedShares& shares, std::size_t lane_count) : lanes(lane_count) {
    const int units = shares.units();
    parts.assign(static_cast<std::size_t>(units) * static_cast<std::size_t>(units) * lanes, Value{});
    Value* row = parts.data();
    for (int from = 0; from < units; ++from) {
      for (int to = 0; to < units; ++to, row += lanes) {
        for (const Share& share : shares.shares(from, to)) row[share.link] = static_cast<Value>(share.parts);
      }
    }
  }
};

/// Traffic between a rank and one that is placed before it.
struct Exchange {
  int peer = 0;
  bool outgoing = false;  ///< from the later rank to the peer
  std::uint64_t bytes = 0;
};

/// Per rank, the traffic with lower ranks.
inline std::vector<std::vector<Exchange>> exchanges_with_lower(int ranks, const std::vector<Traffic>& traffic) {
  std::vector<std::vector<Exchange>> exchanges(static_cast<std::size_t>(ranks));
  for (const Traffic& entry : traffic) {
    const int later = std::max(entry.from, entry.to);
    const int peer = std::min(entry.from, entry.to);
    exchanges[static_cast<std::size_t>(later)].push_back({peer, entry.from == later, entry.bytes});
  }
  return exchanges;
}

inline double hop_bytes(const RoutedShares& shares, const Workload& work, const int* unit_of_rank) {
  std::uint64_t sum = 0;
  for (const auto& phase : work.phases) {
    for (const Traffic& entry : phase) {
      sum +=
          entry.bytes * static_cast<std::uint64_t>(shares.hops(unit_of_rank[entry.from], unit_of_rank[entry.to]));
    }
  }
  return static_cast<double>(sum);
}

template <class Value, std::size_t lanes>
class DenseKernel {
 public:
  using Primary = Value;

  DenseKernel(const RoutedShares& shares, const DenseShares<Value>& dense, const Workload& work,
              std::uint64_t unit_bytes)
      : shares_(shares),
        work_(work),
        parts_(dense.parts.data()),
        loads_(static_cast<std::size_t>(work.ranks) + 1, Lanes{}) {
    const auto units = static_cast<std::size_t>(shares.units());
    first_term_.push_back(0);
    for (const auto& exchanges : exchanges_with_lower(work.ranks, work.phases.front())) {
      for (const Exchange& exchange : exchanges) {
        const auto weight = static_cast<Value>(exchange.bytes / unit_bytes);
        terms_.push_back({static_cast<std::size_t>(exchange.peer), lanes * (exchange.outgoing ? 1 : units),
                          lanes * (exchange.outgoing ? units : 1), weight});
      }
      first_term_.push_back(terms_.size());
    }
  }

  void extend(int depth, const int* unit_of_rank) {
    const auto at = static_cast<std::size_t>(depth);
    const auto unit = static_cast<std::size_t>(unit_of_rank[depth]);
    Lanes load = loads_[at];
    for (std::size_t t = first_term_[at]; t < first_term_[at + 1]; ++t) {
      const Term& term = terms_[t];
      const auto peer_unit = static_cast<std::size_t>(unit_of_rank[term.peer]);
      add(load, parts_ + peer_unit * term.peer_stride + unit * term.unit_stride, term.weight);
    }
    loads_[at + 1] = load;
  }

  Value primary(int placed) const {
    const Lanes& load = loads_[static_cast<std::size_t>(placed)];
    Pack most = load.pack[0];
    for (std::size_t p = 1; p < packs; ++p) most = load.pack[p] > most ? load.pack[p] : most;
    std::array<Value, per_pack> values;
    __builtin_memcpy(values.data(), &most, sizeof(most));
    Value highest = values[0];
    for (const Value value : values) highest = std::max(highest, value);
    return highest;
  }

  double secondary(const int* unit_of_rank) const { return hop_bytes(shares_, work_, unit_of_rank); }

 private:
  // 16 bytes: the registers that every x86-64 and every 64-bit Arm has.
  typedef Value Pack __attribute__((vector_size(16)));
  static constexpr std::size_t per_pack = sizeof(Pack) / sizeof(Value);
  static constexpr std::size_t packs = lanes / per_pack;
  struct Lanes {
    Pack pack[packs];
  };

  struct Term {
    std::size_t peer;
    std::size_t peer_stride;
    std::size_t unit_stride;
    Value weight;
  };

  static void add(Lanes& load, const Value* parts, Value weight) {
    for (std::size_t p = 0; p < packs; ++p) {
      Pack share;
      __builtin_memcpy(&share, parts + p * per_pack, sizeof(share));
      load.pack[p] += share * weight;
    }
  }

  const RoutedShares& shares_;
  const Workload& work_;
  const Value* parts_;
  std::vector<Term> terms_;
  std::vector<std::size_t> first_term_;
  std::vector<Lanes> loads_;  ///< after the first k ranks at [k]
};

class SparseKernel {
 public:
  using Primary = double;

  SparseKernel(const RoutedShares& shares, const Workload& work)
      : shares_(shares), work_(work), links_(static_cast<std::size_t>(shares.links())) {
    for (const auto& phase : work.phases) exchanges_.push_back(exchanges_with_lower(work.ranks, phase));
    loads_.assign((static_cast<std::size_t>(work.ranks) + 1) * loads_per_depth(), 0);
  }

  void extend(int depth, const int* unit_of_rank) {
    const std::uint64_t* before = loads_at(depth);
    std::uint64_t* after = loads_at(depth + 1);
    std::copy(before, before + loads_per_depth(), after);
    for (std::size_t phase = 0; phase < exchanges_.size(); ++phase, after += links_) {
      for (const Exchange& exchange : exchanges_[phase][static_cast<std::size_t>(depth)]) {
        add(after, exchange, unit_of_rank[depth], unit_of_rank[exchange.peer]);
      }
    }
  }

  double primary(int placed) const {
    const std::uint64_t* load = loads_at(placed);
    double sum_ns = 0;
    for (std::size_t phase = 0; phase < exchanges_.size(); ++phase, load += links_) {
      sum_ns += work_.weight(phase) * most_ns(load);
    }
    return sum_ns;
  }

  double secondary(const int* unit_of_rank) const { return hop_bytes(shares_, work_, unit_of_rank); }

 private:
  double most_ns(const std::uint64_t* load) const {
    if (links_ == 0) return 0;
    if (shares_.has_uniform_bandwidth()) return shares_.time_ns(*std::max_element(load, load + links_), 0);
    double most = 0;
    for (int link = 0; link < shares_.links(); ++link) most = std::max(most, shares_.time_ns(load[link], link));
    return most;
  }
  std::size_t loads_per_depth() const { return exchanges_.size() * links_; }
  std::uint64_t* loads_at(int placed) {
    return loads_.data() + static_cast<std::size_t>(placed) * loads_per_depth();
  }
  const std::uint64_t* loads_at(int placed) const {
    return loads_.data() + static_cast<std::size_t>(placed) * loads_per_depth();
  }
  void add(std::uint64_t* load, const Exchange& exchange, int unit, int peer_unit) const {
    const int from = exchange.outgoing ? unit : peer_unit;
    const int to = exchange.outgoing ? peer_unit : unit;
    for (const Share& share : shares_.shares(from, to)) load[share.link] += exchange.bytes * share.parts;
  }

  const RoutedShares& shares_;
  const Workload& work_;
  std::size_t links_;
  std::vector<std::vector<std::vector<Exchange>>> exchanges_;  ///< [phase][rank]
  std::vector<std::uint64_t> loads_;                           ///< [ranks placed][phase][link]
};

}  // namespace corewise::place
