// Smooth loads and work: what moves do to them against an evaluation from scratch, on machines with ties and with
// links of different speed, with phases and weights.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "../machines.hpp"
#include "base/rng.hpp"
#include "place/portfolio/neighbourhood.hpp"
#include "place/portfolio/pair_annealing.hpp"
#include "place/portfolio/smooth_loads.hpp"
#include "place/references.hpp"

namespace corewise::place {
namespace {

machine::Machine tree() {
  return machine::from_synthetic("pack:2 l3:3 core:4").value();
}

/// Two phases, the second of three times the weight.
Workload phased(int ranks, Rng& rng) {
  pattern::Pattern first{"first", ranks, {{"a", testing::random_matrix(ranks, 3, 1000, rng).entries}}};
  pattern::Pattern second{"second", ranks, {{"b", testing::random_matrix(ranks, 2, 5000, rng).entries}}};
  const std::vector<pattern::Pattern> both{first, second};
  return workload(both, std::vector<double>{1, 3}).value();
}

/// Times of all links of a phase, by the plain evaluation.
std::vector<double> times(const RoutedShares& shares, const Workload& work, std::size_t phase, Assignment units) {
  const Workload one{work.ranks, {work.phases[phase]}, {}};
  const Evaluation found = evaluate(shares, one, units);
  std::vector<double> all;
  for (int link = 0; link < shares.links(); ++link) {
    all.push_back(shares.time_ns(found.load_parts[static_cast<std::size_t>(link)], link));
  }
  return all;
}

double smooth_by_definition(const RoutedShares& shares, const Workload& work, Assignment units, int doublings) {
  const double power = std::exp2(doublings);
  double sum = 0;
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    double terms = 0;
    for (const double time : times(shares, work, phase, units)) terms += std::pow(time, power);
    sum += work.weight(phase) * std::pow(terms, 1 / power);
  }
  return sum;
}

/// The rank goes to the unit, and who is there, if anybody, the other way.
std::vector<Relocation> exchange(const SmoothLoads& loads, int rank, machine::UnitId unit) {
  std::vector<Relocation> moves{{rank, unit}};
  const int other = loads.rank_on(unit);
  if (other >= 0 && other != rank) moves.push_back({other, loads.assignment()[static_cast<std::size_t>(rank)]});
  return moves;
}

TEST(SmoothLoads, MovesGiveWhatTheDefinitionSays) {
  Rng rng(5);
  for (const machine::Machine& made :
       {tree(), testing::full_ring(24), machine::from_synthetic("mesh:4x3 core:2").value()}) {
    const RoutedShares shares = RoutedShares::of(made).value().merged();
    const Workload work = phased(20, rng);
    for (const int doublings : {0, 2, 5}) {
      SmoothLoads loads(shares, work);
      loads.set_power(doublings);
      for (int step = 0; step < 60; ++step) {
        const int rank = static_cast<int>(rng.below(20));
        const int unit = static_cast<int>(rng.below(24));
        const double proposed = loads.propose(exchange(loads, rank, unit));
        if (step % 3 == 0) continue;  // a proposal that is dropped leaves nothing behind
        loads.accept();
        const double truth = smooth_by_definition(shares, work, loads.assignment(), doublings);
        ASSERT_NEAR(proposed, truth, 1e-6 * truth);
        ASSERT_NEAR(loads.smooth(), truth, 1e-6 * truth);
        ASSERT_NEAR(loads.bottleneck_ns(), evaluate(shares, work, loads.assignment()).bottleneck_ns, 1e-6 * truth);
      }
    }
  }
}

TEST(SmoothLoads, AProposalEndsEarlyOnlyWhereItIsTooMuch) {
  Rng rng(9);
  for (const machine::Machine& made : {tree(), testing::full_ring(24)}) {
    const RoutedShares shares = RoutedShares::of(made).value().merged();
    const Workload work = workload(testing::random_matrix(24, 4, 1000, rng)).value();
    for (const int doublings : {0, 2, 5}) {
      SmoothLoads whole(shares, work), early(shares, work);
      whole.set_power(doublings);
      early.set_power(doublings);
      int ended = 0;
      for (int step = 0; step < 300; ++step) {
        const int rank = static_cast<int>(rng.below(24));
        const int unit = static_cast<int>(rng.below(24));
        if (whole.rank_on(unit) == rank) continue;
        const Relocation moves[] = {{rank, unit},
                                    {whole.rank_on(unit), whole.assignment()[static_cast<std::size_t>(rank)]}};
        const double most = whole.smooth() * (1 + 0.002 * rng.uniform());
        const double truth = whole.propose(moves);
        const double said = early.propose(moves, most);
        if (std::isinf(said)) {
          ASSERT_GT(truth, most);
          ++ended;
        } else {
          ASSERT_DOUBLE_EQ(said, truth);
        }
        if (truth > most) continue;
        whole.accept();
        early.accept();
        ASSERT_DOUBLE_EQ(early.smooth(), whole.smooth());
      }
      EXPECT_GT(ended, doublings == 5 ? 20 : -1);
    }
  }
}

/// The bottleneck, then the loads of all phases from the worst down, each with its weight.
std::vector<double> flatness_by_definition(const RoutedShares& shares, const Workload& work, Assignment units) {
  double bottleneck = 0;
  std::vector<double> all;
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    double most = 0;
    for (const double time : times(shares, work, phase, units)) {
      most = std::max(most, time);
      all.push_back(work.weight(phase) * time);
    }
    bottleneck += work.weight(phase) * most;
  }
  std::sort(all.begin(), all.end(), std::greater<>());
  all.insert(all.begin(), bottleneck);
  return all;
}

TEST(SmoothLoads, FlatterComparesAllLoadsFromTheWorstDown) {
  Rng rng(6);
  const RoutedShares shares = RoutedShares::of(tree()).value().merged();
  for (const Workload& work : {workload(testing::random_matrix(24, 4, 3, rng)).value(), phased(24, rng)}) {
    SmoothLoads loads(shares, work);
    int flatter = 0;
    int tied_at_the_worst = 0;
    for (int step = 0; step < 400; ++step) {
      const int rank = static_cast<int>(rng.below(24));
      const int unit = static_cast<int>(rng.below(24));
      if (loads.rank_on(unit) == rank) continue;
      const std::vector<double> before = flatness_by_definition(shares, work, loads.assignment());
      const Relocation moves[] = {{rank, unit},
                                  {loads.rank_on(unit), loads.assignment()[static_cast<std::size_t>(rank)]}};
      const bool says = loads.propose_flatter(moves);
      if (step % 5 == 0) continue;
      if (!says) loads.propose(moves);
      loads.accept();
      const std::vector<double> after = flatness_by_definition(shares, work, loads.assignment());
      ASSERT_EQ(says, after < before);
      flatter += says;
      tied_at_the_worst += says && after.front() == before.front();
    }
    EXPECT_GT(flatter, 50);
    EXPECT_GT(tied_at_the_worst, 5);
  }
}

TEST(SmoothLoads, RanksAtALinkAreThoseWhoseMessagesCrossIt) {
  Rng rng(8);
  for (const machine::Machine& made : {tree(), testing::full_ring(24)}) {
    const RoutedShares shares = RoutedShares::of(made).value().merged();
    const Workload work = phased(20, rng);
    SmoothLoads loads(shares, work);
    const auto units = random_placement(20, 24, rng).unit_of_rank;
    loads.assign(units);
    for (int place = 0; place < 2 * shares.links(); ++place) {
      std::set<int> expected;
      for (const Traffic& each : work.phases[static_cast<std::size_t>(place / shares.links())]) {
        for (const Share& share :
             shares.shares(units[static_cast<std::size_t>(each.from)], units[static_cast<std::size_t>(each.to)])) {
          if (share.link == place % shares.links()) expected.insert({each.from, each.to});
        }
      }
      EXPECT_EQ(loads.ranks_at(place), std::vector<int>(expected.begin(), expected.end()));
    }
  }
}

TEST(SmoothLoads, ADetourIsInHopBytesOfARank) {
  Rng rng(8);
  const RoutedShares shares = RoutedShares::of(testing::full_ring(24)).value().merged();
  Workload work;
  work.ranks = 24;
  work.phases = {{{0, 1, 600}, {1, 2, 200}, {2, 0, 400}}};
  SmoothLoads loads(shares, work);  // rank on unit: 1 + 1 + 2 hops, each message at two ranks
  const double mean = 2 * (600 * 1 + 200 * 1 + 400 * 2) / 24.0;
  const Relocation alone[] = {{0, 6}, {6, 0}};
  EXPECT_DOUBLE_EQ(loads.detour(alone), (600 * (5 - 1) + 400 * (4 - 2)) / mean);
  const Relocation both[] = {{0, 1}, {1, 0}};  // what they exchange goes as far as before
  EXPECT_DOUBLE_EQ(loads.detour(both), (200 * (2 - 1) + 400 * (1 - 2)) / mean);
  const Relocation turn[] = {{0, 1}, {1, 2}, {2, 0}};  // each message at both of its ranks
  EXPECT_DOUBLE_EQ(loads.detour(turn), 2 * (200 * (2 - 1) + 400 * (1 - 2)) / mean);
}

TEST(SmoothLoads, ADetourDropsWhatWasProposed) {
  Rng rng(8);
  const RoutedShares shares = RoutedShares::of(tree()).value().merged();
  const Workload work = phased(20, rng);
  SmoothLoads loads(shares, work);
  SmoothLoads fresh(shares, work);
  const Relocation one[] = {{0, 9}, {9, 0}};
  const Relocation other[] = {{3, 21}};
  const double smooth = loads.smooth();
  ASSERT_NE(loads.propose(one), smooth);
  EXPECT_EQ(loads.detour(other), fresh.detour(other));
  loads.accept();
  EXPECT_EQ(loads.smooth(), smooth);
  EXPECT_EQ(loads.assignment()[0], 0);
  EXPECT_EQ(loads.propose(other), fresh.propose(other));
}

std::vector<Relocation> drawn_exchange(const SmoothLoads& loads, Rng& rng) {
  const int rank = static_cast<int>(rng.below(static_cast<std::uint64_t>(loads.ranks())));
  const int left = loads.assignment()[static_cast<std::size_t>(rank)];
  int unit = left;
  while (unit == left) unit = static_cast<int>(rng.below(static_cast<std::uint64_t>(loads.units())));
  return exchange(loads, rank, unit);
}

TEST(SmoothLoads, DetoursAreTheSameWhereManyWereRefused) {
  Rng rng(12);
  for (const machine::Machine& made : {tree(), testing::one_way_ring(24)}) {
    const RoutedShares shares = RoutedShares::of(made).value().merged();
    const Workload work = phased(20, rng);
    SmoothLoads many(shares, work);
    for (int step = 0; step < 6000; ++step) {
      const std::vector<Relocation> moves = drawn_exchange(many, rng);
      const double detour = many.detour(moves);
      if (step % 50 != 49) continue;
      // Hop-bytes of a rank in the mean are those of the first placement.
      SmoothLoads fresh(shares, work);
      const auto start = fresh.assignment();
      std::vector<Relocation> there;
      for (int rank = 0; rank < 20; ++rank) {
        const int unit = many.assignment()[static_cast<std::size_t>(rank)];
        if (unit != start[static_cast<std::size_t>(rank)]) there.push_back({rank, unit});
      }
      fresh.propose(there);
      fresh.accept();
      ASSERT_DOUBLE_EQ(detour, fresh.detour(moves)) << made.name << " " << step;
      many.propose(moves);
      many.accept();
    }
  }
}

TEST(SmoothLoads, AProposalEndsEarlyOnlyWhereItIsTooMuchAlsoWhereManyWere) {
  Rng rng(13);
  for (const machine::Machine& made : {tree(), testing::full_ring(24), testing::one_way_ring(24)}) {
    const RoutedShares shares = RoutedShares::of(made).value().merged();
    Workload work = workload(testing::random_matrix(22, 4, 1000, rng)).value();
    work.weights = {0.4};
    SmoothLoads whole(shares, work), early(shares, work);
    for (int step = 0; step < 24'000; ++step) {
      if (step % 1750 == 0) {
        const int doublings = step / 1750 % 3 * 5 / 2;  // 0, 2, 5
        whole.set_power(doublings);
        early.set_power(doublings);
      }
      std::vector<Relocation> moves = drawn_exchange(whole, rng);
      if (step % 3000 == 2999) {  // a group: five change places in turn
        moves.clear();
        for (int k = 0; k < 5; ++k) {
          moves.push_back({k, whole.assignment()[static_cast<std::size_t>((k + 1) % 5)]});
        }
      }
      const bool wanted = step % 100 == 99;
      const double truth = whole.propose(moves);
      const double most = wanted ? std::max(truth, whole.smooth()) : whole.smooth();
      const double said = early.propose(moves, most);
      if (std::isinf(said)) {
        ASSERT_GT(truth, most * (1 - 1e-12)) << made.name << " " << step;
        ASSERT_FALSE(wanted);
      } else {
        ASSERT_NEAR(said, truth, 1e-9 * truth) << made.name << " " << step;
      }
      if (!wanted) continue;
      whole.accept();
      early.accept();
    }
  }
}

TEST(PairAnnealing, CountsTheWorkOfAllLinks) {
  Rng rng(7);
  const RoutedShares shares = RoutedShares::of(tree()).value().merged();
  const Neighbourhood near = Neighbourhood::of(shares);
  const Workload work = phased(22, rng);
  PairAnnealing annealing = PairAnnealing::work_of(shares, work, near);
  const double before = annealing.sum();
  annealing.cool(40'000, 0.5, rng, {});
  EXPECT_LT(annealing.sum(), before);
  EXPECT_NEAR(annealing.sum(), smooth_by_definition(shares, work, annealing.assignment(), 0),
              1e-9 * annealing.sum());
  const std::set<int> used(annealing.assignment().begin(), annealing.assignment().end());
  EXPECT_EQ(used.size(), 22U);
}

TEST(PairAnnealing, WhereTheWayBackIsAnotherNoExchangeIsLeftThatPays) {
  Rng rng(14);
  const RoutedShares shares = RoutedShares::of(testing::one_way_ring(48)).value();
  const Neighbourhood near = Neighbourhood::of(shares);
  const Workload work = workload(testing::random_matrix(40, 3, 1000, rng)).value();
  PairAnnealing annealing = PairAnnealing::work_of(shares, work, near);
  annealing.assign(random_placement(40, 48, rng).unit_of_rank);
  annealing.cool(500'000, 1e-9, rng, {});
  SmoothLoads loads(shares, work);
  loads.assign(annealing.assignment());
  loads.set_power(0);
  for (int rank = 0; rank < 40; ++rank) {
    const int left = annealing.assignment()[static_cast<std::size_t>(rank)];
    for (int unit = 0; unit < 48; ++unit) {
      if (unit == left) continue;
      EXPECT_GE(loads.propose(exchange(loads, rank, unit)), (1 - 1e-9) * loads.smooth()) << rank << " to " << unit;
    }
  }
}

/// Grows until no stress is left; the most that was left before.
double grow_whole(PairAnnealing& stress, int rank, machine::UnitId unit) {
  Rng rng(3);
  double most = 0;
  for (int tries = 0; tries < 64; ++tries) {
    stress.grow(rank, unit, rng);
    most = std::max(most, stress.sum());
    if (stress.sum() < 1e-6) break;
  }
  return most;
}

TEST(PairAnnealing, AGridGrowsWholeOnItsTorus) {
  // Every rank of the scrambled torus at its true distances: no stress is left, and every message has one hop.
  const machine::Machine made = machine::from_synthetic("torus:8x8").value();
  const RoutedShares shares = RoutedShares::of(made).value();
  Rng rng(8);
  const std::vector<int> name = random_placement(64, 64, rng).unit_of_rank;
  pattern::Matrix matrix{64, {}};
  for (int at = 0; at < 64; ++at) {
    for (const int next : {at / 8 * 8 + (at + 1) % 8, (at + 8) % 64}) {
      matrix.entries.push_back({name[static_cast<std::size_t>(at)], name[static_cast<std::size_t>(next)], 512, 1});
      matrix.entries.push_back({name[static_cast<std::size_t>(next)], name[static_cast<std::size_t>(at)], 512, 1});
    }
  }
  const Workload work = workload(matrix).value();
  const Neighbourhood near = Neighbourhood::of(shares);
  PairAnnealing stress = PairAnnealing::stress_of(shares, work, near);
  EXPECT_GT(stress.sum(), 100);
  grow_whole(stress, 5, 17);
  EXPECT_NEAR(stress.sum(), 0, 1e-6);
  EXPECT_EQ(evaluate(shares, work, stress.assignment()).hop_bytes, work.total_bytes());
}

TEST(PairAnnealing, AnOpenGridGrowsFromACornerOnACorner) {
  const machine::Machine made = machine::from_synthetic("mesh:7x5").value();
  const RoutedShares shares = RoutedShares::of(made).value();
  Rng rng(10);
  const std::vector<int> name = random_placement(35, 35, rng).unit_of_rank;
  pattern::Matrix matrix{35, {}};
  for (int at = 0; at < 35; ++at) {
    for (const int next : {at % 7 < 6 ? at + 1 : -1, at + 7}) {
      if (next < 0 || next >= 35) continue;
      matrix.entries.push_back({name[static_cast<std::size_t>(at)], name[static_cast<std::size_t>(next)], 512, 1});
      matrix.entries.push_back({name[static_cast<std::size_t>(next)], name[static_cast<std::size_t>(at)], 512, 1});
    }
  }
  const Workload work = workload(matrix).value();
  const Neighbourhood near = Neighbourhood::of(shares);
  PairAnnealing stress = PairAnnealing::stress_of(shares, work, near);
  const auto [corner, unit] = stress.alike(1);
  // Not every way lays the long side along the long side.
  EXPECT_GT(grow_whole(stress, corner, unit), 10);
  EXPECT_NEAR(stress.sum(), 0, 1e-6);
  const auto [middle, centre] = stress.alike(0);
  EXPECT_EQ(middle, name[17]);
  EXPECT_EQ(made.stops[static_cast<std::size_t>(made.units[static_cast<std::size_t>(centre)].stop)],
            made.stops[17]);
}

TEST(PairAnnealing, StressMovesAddUp) {
  Rng rng(9);
  const RoutedShares shares = RoutedShares::of(tree()).value().merged();
  const Neighbourhood near = Neighbourhood::of(shares);
  const Workload work = phased(20, rng);
  PairAnnealing stress = PairAnnealing::stress_of(shares, work, near);
  const double before = stress.sum();
  stress.cool(20'000, 0.5, rng, {});
  const double after = stress.sum();
  EXPECT_LT(after, before);
  EXPECT_GE(after, 0);
  stress.assign(std::vector<int>(stress.assignment().begin(), stress.assignment().end()));
  EXPECT_NEAR(stress.sum(), after, 1e-9 * before);
}

}  // namespace
}  // namespace corewise::place
