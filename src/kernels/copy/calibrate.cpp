// Which copy kernel is quickest on this core.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/copy/calibrate.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <memory>
#include <vector>

#include "kernels/copy/race.hpp"

namespace corewise::kernels {
namespace {

constexpr std::size_t least_rounds = 3;
constexpr std::uint64_t confirming_rounds = 7;
constexpr double clearly_quicker = 0.95;
constexpr std::size_t batch_bytes = std::size_t{1} << 16;
constexpr std::size_t first_bit = 7;  ///< smaller copies are inline

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// One octave, one alignment: what every contestant took at 2^k and at 1.5 * 2^k, round by round.
struct Cell {
  std::size_t bit = 0;
  CopyAlignment alignment = CopyAlignment::same;
  std::array<std::vector<std::vector<double>>, 2> times;  ///< by size, contestant, round

  std::size_t bytes(std::size_t which) const { return (std::size_t{1} << bit) / 2 * (2 + which); }
};

class Calibration {
 public:
  Calibration(const CopyCalibration& wanted, CopyRace& race)
      : deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(std::max(wanted.seconds, 0.0)))),
        race_(race) {
    for (const CopyKernel& kernel : copy_kernels())
      // The word loops of the paper are for comparison.
      if (kernel.available() && (kernel.instructions != "any" || kernels_.empty())) kernels_.push_back(&kernel);
    for (std::size_t bit = first_bit; (std::size_t{1} << bit) <= wanted.largest; ++bit)
      for (std::size_t alignment = 0; alignment < alignment_names.size(); ++alignment)
        cells_.push_back({bit, static_cast<CopyAlignment>(alignment), {}});
  }

  CopyTuning run() {
    for (std::uint64_t number = 0; number < least_rounds || Clock::now() < deadline_; ++number)
      for (Cell& cell : cells_) measure(cell, kernels_, false, number);
    CopyTuning tuning;
    for (Cell& cell : cells_) decide(cell, tuning);
    return tuning;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Kernels = std::vector<const CopyKernel*>;

  void measure(Cell& cell, const Kernels& kernels, bool read_back, std::uint64_t number) {
    std::vector<CopyContestant> contestants;
    for (const CopyKernel* kernel : kernels) contestants.push_back(CopyContestant::of(*kernel));
    std::vector<double> times(kernels.size());
    for (std::size_t which = 0; which < cell.times.size(); ++which) {
      cell.times[which].resize(kernels.size());
      race_.round(contestants, {cell.bytes(which), cell.alignment, read_back, batch_bytes}, number, times);
      for (std::size_t i = 0; i < times.size(); ++i) cell.times[which][i].push_back(times[i]);
    }
  }

  /// The index of what beats contestant 0 clearly at both sizes and by most, among those that may stand; else 0.
  static std::size_t winner(const Cell& cell, const Kernels& kernels, bool streams) {
    std::size_t best = 0;
    double best_share = 1;
    for (std::size_t i = 1; i < kernels.size(); ++i) {
      if (kernels[i]->streams && !streams) continue;
      double worst = 0;
      for (const auto& times : cell.times) worst = std::max(worst, median(times[i]) / median(times[0]));
      if (worst > clearly_quicker || worst >= best_share) continue;
      best = i;
      best_share = worst;
    }
    return best;
  }

  /// The best of many is partly the luckiest: a winner has to win again, alone against memcpy.
  const CopyKernel* confirmed(const Cell& cell, std::size_t won) {
    if (won == 0) return kernels_[0];
    const Kernels pair = {kernels_[0], kernels_[won]};
    Cell again{cell.bit, cell.alignment, {}};
    for (std::uint64_t number = 0; number < confirming_rounds; ++number) measure(again, pair, false, number);
    return pair[winner(again, pair, true)];
  }

  void decide(Cell& cell, CopyTuning& tuning) {
    const std::size_t won_through = winner(cell, kernels_, false);
    const std::size_t won = winner(cell, kernels_, true);
    const CopyKernel* through = confirmed(cell, won_through);
    const CopyKernel* any = won == won_through ? through : confirmed(cell, won);
    set(tuning, Audience::nobody_soon, cell, any);
    set(tuning, Audience::other_core_soon, cell, through);
    if (any->streams) {
      Cell again{cell.bit, cell.alignment, {}};
      for (std::uint64_t number = 0; number < least_rounds; ++number) measure(again, {through, any}, true, number);
      if (winner(again, {through, any}, true) == 1) through = any;
    }
    set(tuning, Audience::self, cell, through);
  }

  static void set(CopyTuning& tuning, Audience audience, const Cell& cell, const CopyKernel* kernel) {
    auto& rows = tuning.rows[static_cast<std::size_t>(audience)];
    rows[static_cast<std::size_t>(cell.alignment)][cell.bit + 1] = kernel;
  }

  Clock::time_point deadline_;
  CopyRace& race_;
  Kernels kernels_;
  std::vector<Cell> cells_;
};

}  // namespace

CopyTuning calibrate_copy(const CopyCalibration& calibration) {
  const std::unique_ptr<CopyRace> race = CopyRace::make(calibration.largest * 2);
  if (race == nullptr) return {};
  return Calibration(calibration, *race).run();
}

}  // namespace corewise::kernels
