// A form of the transform: its memory, and one run after another. Forms differ in who does what when, not in
// results. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "overlap/overlap.hpp"
#include "problem.hpp"

namespace fft2d {

/// Everything that a form may be told.
struct Settings {
  corewise::overlap::Knobs knobs;
  bool collective = false;        ///< dataflow: non-blocking all-to-alls instead of messages
  std::size_t row_blocks = 0;     ///< dataflow: blocks that a rank's rows are cut into; 0: 4 for each thread
  std::size_t rows_at_once = 16;  ///< shared: rows of a pass that are turned together
  corewise::overlap::Wire wire;   ///< slows messages down
};

class Transform {
 public:
  Transform(const Problem& problem, MPI_Comm comm) : problem_(problem), comm_(comm) {
    int ranks = 1, rank = 0;
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &rank);
    ranks_ = static_cast<std::size_t>(ranks);
    rank_ = static_cast<std::size_t>(rank);
  }
  virtual ~Transform() = default;
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  /// This rank's rows. A run uses them up.
  virtual Complex* input() = 0;
  /// This rank's part of the result of the last run.
  virtual const Complex* output() const = 0;
  virtual void run() = 0;

  /// What the last run did when; empty for forms without a flow and unless the knob is on.
  virtual const corewise::overlap::Flow* flow() const { return nullptr; }

  Parts rows() const { return {problem_.rows, ranks_}; }
  Parts columns() const { return {problem_.columns, ranks_}; }
  std::size_t input_elements() const { return rows().size(rank_) * problem_.columns; }
  std::size_t output_elements() const {
    return problem_.natural ? input_elements() : columns().size(rank_) * problem_.rows;
  }

 protected:
  Problem problem_;
  MPI_Comm comm_;
  std::size_t ranks_ = 1, rank_ = 0;
};

inline constexpr std::array<std::string_view, 6> form_names = {"serial",      "blocking", "silent",
                                                               "nonblocking", "dataflow", "shared"};

/// Throws std::invalid_argument, on all ranks alike, where a form cannot do what is asked of it.
std::unique_ptr<Transform> make_transform(std::string_view form, const Problem& problem, const Settings& settings,
                                          MPI_Comm comm);

std::unique_ptr<Transform> make_serial(const Problem& problem, MPI_Comm comm);
/// `silent`: without the calls that communicate, so that the result is wrong (paper 004, section 8.4).
std::unique_ptr<Transform> make_blocking(const Problem& problem, const Settings& settings, MPI_Comm comm,
                                         bool silent);
std::unique_ptr<Transform> make_dataflow(const Problem& problem, const Settings& settings, MPI_Comm comm);
std::unique_ptr<Transform> make_shared_memory(const Problem& problem, const Settings& settings, MPI_Comm comm);

}  // namespace fft2d
