// What a run says: its times and checks in one line, its result and its timeline in files.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "options.hpp"
#include "transform.hpp"

namespace fft2d {

struct Errors {
  double identity = 0;  ///< largest distance of forward and back from the input, over the input's largest element
  double parseval = 0;  ///< relative difference of the two sums
};

/// After one run on the input that the seed makes. Collective.
Errors check(const Transform& transform, const Options& options);

/// Every rank's part, one after another. Collective; false where rank 0 could not write, which has said why.
bool write_result(const Transform& transform, const std::string& path);

/// Rank 0's timeline as JSON of trace events; false where it could not be written. Collective.
bool write_timeline(const Transform& transform, const std::string& path);

class Report {
 public:
  Report(const Options& options, std::string engine) : options_(options), engine_(std::move(engine)) {}
  void timed(double ms) { times_ms_.push_back(ms); }
  void checked(const Errors& errors) { errors_.assign(1, errors); }
  /// Whether what was checked is right; true where nothing was.
  bool passed() const;
  /// By rank 0, but collective.
  void print(const Transform& transform) const;

 private:
  const Options& options_;
  std::string engine_;
  std::vector<double> times_ms_;
  std::vector<Errors> errors_;  ///< one, or none
};

}  // namespace fft2d
