// The forms of one thread per rank: serial, and pure MPI with a blocking all-to-all (paper 004, section 8).
// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <stdexcept>

#include "buffer.hpp"
#include "engine.hpp"
#include "kernels/transpose/transpose.hpp"
#include "transform.hpp"
#include "turning.hpp"

namespace fft2d {
namespace {

void finish_columns(const Finish& finish, const Parts& columns, std::size_t rank, std::size_t rows,
                    Complex* values) {
  for (std::size_t column = columns.begin(rank); column < columns.end(rank); ++column, values += rows)
    finish.column(values, column);
}

/// Rows, transpose, rows, and back where the order is natural.
class Serial final : public Transform {
 public:
  Serial(const Problem& problem, MPI_Comm comm)
      : Transform(problem, comm),
        along_rows_(problem.columns, problem.inverse),
        along_columns_(problem.rows, problem.inverse),
        finish_(problem),
        matrix_(make_buffer(problem.elements())),
        turned_(make_buffer(problem.elements())) {
    if (ranks_ != 1) throw std::invalid_argument("--form serial: runs on 1 rank");
  }

  Complex* input() override { return matrix_.get(); }
  const Complex* output() const override { return problem_.natural ? matrix_.get() : turned_.get(); }

  void run() override {
    const std::size_t rows = problem_.rows, columns = problem_.columns;
    along_rows_.run(matrix_.get(), rows, columns);
    corewise::kernels::transpose({turned_.get(), rows, matrix_.get(), columns, rows, columns}, true);
    along_columns_.run(turned_.get(), columns, rows);
    finish_columns(finish_, this->columns(), 0, rows, turned_.get());
    if (problem_.natural)
      corewise::kernels::transpose({matrix_.get(), columns, turned_.get(), rows, columns, rows}, true);
  }

 private:
  Engine along_rows_, along_columns_;
  Finish finish_;
  Buffer matrix_, turned_;
};

class Blocking final : public Transform {
 public:
  Blocking(const Problem& problem, const Settings& settings, MPI_Comm comm, bool silent)
      : Transform(problem, comm),
        along_rows_(problem.columns, problem.inverse),
        along_columns_(problem.rows, problem.inverse),
        finish_(problem),
        turning_(problem.rows, problem.columns, comm, settings.wire, silent),
        matrix_(make_buffer(input_elements())),
        turned_(make_buffer(columns().size(rank_) * problem.rows)) {
    if (problem.natural)
      back_ = std::make_unique<Turning>(problem.columns, problem.rows, comm, settings.wire, silent);
  }

  Complex* input() override { return matrix_.get(); }
  const Complex* output() const override { return problem_.natural ? matrix_.get() : turned_.get(); }

  void run() override {
    along_rows_.run(matrix_.get(), rows().size(rank_), problem_.columns);
    turning_.run(matrix_.get(), turned_.get());
    along_columns_.run(turned_.get(), columns().size(rank_), problem_.rows);
    finish_columns(finish_, columns(), rank_, problem_.rows, turned_.get());
    if (back_) back_->run(turned_.get(), matrix_.get());
  }

 private:
  Engine along_rows_, along_columns_;
  Finish finish_;
  Turning turning_;
  std::unique_ptr<Turning> back_;
  Buffer matrix_, turned_;
};

}  // namespace

std::unique_ptr<Transform> make_serial(const Problem& problem, MPI_Comm comm) {
  return std::make_unique<Serial>(problem, comm);
}

std::unique_ptr<Transform> make_blocking(const Problem& problem, const Settings& settings, MPI_Comm comm,
                                         bool silent) {
  return std::make_unique<Blocking>(problem, settings, comm, silent);
}

std::unique_ptr<Transform> make_transform(std::string_view form, const Problem& problem, const Settings& settings,
                                          MPI_Comm comm) {
  if (form == "serial") return make_serial(problem, comm);
  if (form == "blocking" || form == "silent") return make_blocking(problem, settings, comm, form == "silent");
  if (form == "shared") return make_shared_memory(problem, settings, comm);
  Settings told = settings;
  if (form == "nonblocking") {
    // The textbook's way: one thread, which computes a block while the all-to-all of another is under way.
    told.collective = true;
    told.knobs.workers = 0;
    told.knobs.role = corewise::overlap::Role::mixed;
  }
  return make_dataflow(problem, told, comm);
}

}  // namespace fft2d
