// Paper 000, Table 1: bandwidth between local stores under contention through the whole simulator: programs on the
// SPEs, four gets of 16 KB and a wait, each SPE timing itself. Not quite the paper's recipe: 25 repetitions instead
// of 100, no barrier before them, no decrementer; `corewise paper affinity` and its tests have all of that. Delays
// were fitted to the rows of set C; of set H row 10 was looked at (docs/decisions/0006).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cell/system.hpp"

namespace corewise::cell {
namespace {

struct Flow {
  int to, from;
  double gb_per_s, sd;
};

struct Row {
  const char* id;
  bool calibration;
  std::vector<Flow> flows;
};

/// As printed, but for the second flow of row 7 ("0 <- 2"): its rate and the paper's comment ("similar to #4") are
/// those of 2 <- 0.
std::vector<Row> table() {
  return {
      {"1", true, {{6, 4, 24.3, 0.04}}},
      {"2", true, {{2, 0, 24.2, 0.03}, {6, 4, 24.3, 0.02}}},
      {"3", true, {{2, 0, 23.6, 0.06}, {5, 7, 23.9, 0.01}, {6, 4, 23.8, 0.13}}},
      {"4", true, {{1, 3, 22.8, 0.17}, {2, 0, 22.9, 0.18}, {5, 7, 22.7, 0.09}, {6, 4, 23.0, 0.17}}},
      {"5", true, {{0, 1, 19.3, 0.3}, {1, 3, 20.1, 0.4}, {2, 0, 19.3, 0.5}, {5, 7, 19.1, 0.2}, {6, 4, 19.8, 0.4}}},
      {"6", false, {{2, 0, 24.3, 0.02}, {4, 2, 24.7, 0.01}}},
      {"7",
       false,
       {{1, 3, 22.9, 0.3}, {2, 0, 22.9, 0.3}, {5, 7, 22.7, 0.09}, {6, 4, 22.9, 0.09}, {7, 1, 24.5, 0.06}}},
      {"8", true, {{4, 2, 24.7, 0.01}, {6, 0, 24.5, 0.02}}},
      {"9", true, {{5, 4, 17.1, 0.4}, {6, 0, 23.4, 0.3}, {7, 2, 18.1, 1.3}}},
      {"10",
       false,
       {{0, 7, 24.4, 0.1}, {1, 6, 19.0, 0.3}, {3, 4, 17.0, 1.1}, {5, 2, 17.5, 1.0}, {7, 0, 24.3, 0.3}}},
      {"11a", false, {{3, 4, 24.7, 0.01}, {5, 2, 24.6, 0.02}, {6, 0, 24.5, 0.02}}},
      {"11b", false, {{3, 4, 24.6, 0.02}, {5, 2, 24.6, 0.02}, {0, 6, 24.6, 0.02}}},
  };
}

constexpr int kRepetitions = 25;
constexpr std::uint32_t kPiece = 16384;

/// GB/s of every flow of a row.
std::vector<double> simulate(const Row& row, const Parameters& parameters) {
  System system(parameters);
  std::vector<double> rates(row.flows.size());
  for (std::size_t i = 0; i < row.flows.size(); ++i) {
    const Flow flow = row.flows[i];
    double* rate = &rates[i];
    system.run_on_spe(flow.to, "reader", [flow, rate](Spu& spu) {
      const sim::Time start = spu.now();
      for (int repetition = 0; repetition < kRepetitions; ++repetition) {
        for (LsAddress at = 0x10000; at < 0x20000; at += kPiece) {
          spu.mfc_get(at + 0x10000, ls_address(flow.from) + at, kPiece, 3);
        }
        spu.mfc_write_tag_mask(1U << 3);
        spu.mfc_read_tag_status_all();
      }
      *rate = kRepetitions * 65536.0 / spu.engine().to_ns(spu.now() - start);
    });
  }
  const Status status = system.run();
  EXPECT_TRUE(status.ok()) << status.message();
  return rates;
}

struct Score {
  double sum = 0, worst = 0;
  int values = 0;
  void add(double error) {
    sum += error;
    worst = std::max(worst, error);
    ++values;
  }
  [[nodiscard]] double mean() const { return sum / values; }
};

TEST(Table1, MeanAndWorstErrorAreSmall) {
  Score calibration, held_out, all;
  for (const Row& row : table()) {
    const std::vector<double> rates = simulate(row, Parameters{});
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const Flow& flow = row.flows[i];
      const double error = std::abs(rates[i] - flow.gb_per_s) / flow.gb_per_s;
      (row.calibration ? calibration : held_out).add(error);
      all.add(error);
      EXPECT_LE(error, 0.106) << "row " << row.id << ": " << flow.to << " <- " << flow.from << ' ' << rates[i];
    }
  }
  EXPECT_EQ(all.values, 38);
  EXPECT_LE(all.mean(), 0.032);
  EXPECT_LE(calibration.mean(), 0.026);
  EXPECT_LE(held_out.mean(), 0.038);
  RecordProperty("mean_percent_C", std::to_string(100 * calibration.mean()));
  RecordProperty("mean_percent_H", std::to_string(100 * held_out.mean()));
  RecordProperty("worst_percent", std::to_string(100 * all.worst));
}

// Flows whose rates are clearly apart: more than two standard deviations (of both together), and by more than the 5
// % by which flows in like positions differ in the paper for no known reason (24.2 to 24.7 GB/s alone; 19.1 to 20.1
// in row 5). Within a row all pairs must be right; between rows nearly all.
TEST(Table1, FlowsThatAreClearlyApartComeInTheRightOrder) {
  std::vector<Flow> measured;
  std::vector<double> simulated;
  std::vector<std::string> of_row;
  for (const Row& row : table()) {
    const std::vector<double> rates = simulate(row, Parameters{});
    measured.insert(measured.end(), row.flows.begin(), row.flows.end());
    simulated.insert(simulated.end(), rates.begin(), rates.end());
    of_row.insert(of_row.end(), rates.size(), row.id);
  }
  int pairs = 0, wrong = 0;
  for (std::size_t a = 0; a < measured.size(); ++a) {
    for (std::size_t b = 0; b < measured.size(); ++b) {
      const double apart = measured[a].gb_per_s - measured[b].gb_per_s;
      if (apart <= 2 * std::hypot(measured[a].sd, measured[b].sd) || apart <= 0.05 * measured[a].gb_per_s) continue;
      ++pairs;
      if (simulated[a] > simulated[b]) continue;
      ++wrong;
      EXPECT_NE(of_row[a], of_row[b]) << measured[a].to << " <- " << measured[a].from << " must be faster than "
                                      << measured[b].to << " <- " << measured[b].from << " in row " << of_row[a];
    }
  }
  EXPECT_GT(pairs, 250);
  EXPECT_LE(wrong, pairs / 24) << "of " << pairs;  // row 10's fastest against rows 4 and 7
}

TEST(Table1, OneFlowReachesTheSameRateFromEveryPositionWithNobodyElse) {
  double least = 100, most = 0;
  for (int to = 0; to < kSpesPerChip; ++to) {
    for (int from = 0; from < kSpesPerChip; ++from) {
      if (from == to) continue;
      const double rate = simulate({"", false, {{to, from, 0, 0}}}, Parameters{})[0];
      least = std::min(least, rate);
      most = std::max(most, rate);
    }
  }
  EXPECT_GT(least, 23.9);
  EXPECT_LT(most, 25.0);
  EXPECT_LT(most / least, 1.025);
}

TEST(Table1, TheSeedScattersContendedFlowsAndTheDefaultIsTheSameEveryTime) {
  const std::vector<Row> rows = table();
  const Row& contended = rows[8];
  EXPECT_EQ(simulate(contended, Parameters{}), simulate(contended, Parameters{}));
  Parameters one, two;
  one.jitter_seed = 1;
  two.jitter_seed = 2;
  EXPECT_NE(simulate(contended, one), simulate(contended, two));
  EXPECT_EQ(simulate(contended, one), simulate(contended, one));
}

}  // namespace
}  // namespace corewise::cell
