// Blocks, faces and messages of the sweep. SPDX-License-Identifier: BSD-3-Clause
#include "sweeper.hpp"

#include <algorithm>
#include <cmath>

namespace sweep3d {
namespace {

std::size_t product(int a, int b, int c) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

int tag_of(Axis axis) {
  return axis + 1;
}

}  // namespace

Sweeper::Sweeper(MPI_Comm grid, const Extents& whole, const Material& material, const Blocking& blocking,
                 Traffic& traffic)
    : grid_(grid), whole_(whole), material_(material), blocking_(blocking), traffic_(traffic) {
  int periods[2];
  MPI_Cart_get(grid, 2, dims_, periods, coords_);
  x_ = part(whole.x, dims_[0], coords_[0]);
  y_ = part(whole.y, dims_[1], coords_[1]);
  own_ = {x_.count, y_.count, whole.z};
  flux_.resize(own_.cells());
  emission_.resize(own_.cells());
  flux_memory_.emplace(flux_.data(), flux_.size() * sizeof(double));
  emission_memory_.emplace(emission_.data(), emission_.size() * sizeof(double));
  face_x_.resize(product(own_.y, blocking.planes, blocking.directions));
  face_y_.resize(product(own_.x, blocking.planes, blocking.directions));
  face_z_.resize(product(own_.x, own_.y, blocking.directions));
  if (blocking.group > 0) courier_.emplace(grid, blocking.group, whole, traffic);
}

Sweeper::Neighbours Sweeper::neighbours(const Octant& octant) const {
  Neighbours around{};
  MPI_Cart_shift(grid_, 0, octant.x, &around.up_x, &around.down_x);
  MPI_Cart_shift(grid_, 1, octant.y, &around.up_y, &around.down_y);
  return around;
}

double Sweeper::iterate() {
  const std::vector<double> before = flux_;
  const std::size_t bytes = flux_.size() * sizeof(double);
  const computing::MainMemory before_memory(before.data(), bytes);
  computing::reads(flux_.data(), bytes);
  computing::writes(before.data(), bytes);
  computing::writes(flux_.data(), bytes);
  computing::writes(emission_.data(), bytes);
  for (std::size_t cell = 0; cell < flux_.size(); ++cell) {
    emission_[cell] = material_.source + material_.scattering * flux_[cell];
    flux_[cell] = 0;
  }
  leakage_ = 0;
  for (const Octant& octant : kOctants) {
    for (int first = 0; first < static_cast<int>(kDirections.size()); first += blocking_.directions) {
      sweep(octant, first);
    }
  }
  double change = 0;
  computing::reads(flux_.data(), bytes);
  computing::reads(before.data(), bytes);
  for (std::size_t cell = 0; cell < flux_.size(); ++cell) {
    change = std::max(change, std::abs(flux_[cell] - before[cell]) / flux_[cell]);
  }
  MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, grid_);
  return change;
}

void Sweeper::sweep(const Octant& octant, int first_direction) {
  std::fill(face_z_.begin(), face_z_.end(), 0);
  std::vector<int> planes;
  for (int done = 0; done < own_.z; done += planes.back())
    planes.push_back(std::min(blocking_.planes, own_.z - done));
  if (courier_) courier_->begin(octant, planes, blocking_.directions);
  block_ = 0;
  for (int done = 0; done < own_.z; ++block_) {
    const int count = planes[static_cast<std::size_t>(block_)];
    block(octant, first_direction, {octant.z > 0 ? done : own_.z - done - count, count});
    done += count;
  }
  if (courier_) courier_->end();
  for (int m = 0; m < blocking_.directions; ++m) {
    const Direction& direction = kDirections[static_cast<std::size_t>(first_direction + m)];
    const std::size_t columns = product(own_.x, own_.y, 1);
    for (std::size_t c = 0; c < columns; ++c) {
      leakage_ += direction.weight * direction.z * face_z_[static_cast<std::size_t>(m) * columns + c];
    }
  }
}

void Sweeper::block(const Octant& octant, int first_direction, Range planes) {
  const Neighbours around = neighbours(octant);
  const std::span<double> x(face_x_.data(), product(own_.y, planes.count, blocking_.directions));
  const std::span<double> y(face_y_.data(), product(own_.x, planes.count, blocking_.directions));
  receive(kX, around.up_x, x);
  receive(kY, around.up_y, y);
  solve(octant, first_direction, planes);
  leak(first_direction, planes.count, around);
  send(kX, around.down_x, x);
  send(kY, around.down_y, y);
}

void Sweeper::solve(const Octant& octant, int first_direction, Range planes) {
  for (int m = 0; m < blocking_.directions; ++m) {
    const Direction& direction = kDirections[static_cast<std::size_t>(first_direction + m)];
    double* const face_z = face_z_.data() + product(m, own_.x, own_.y);
    for (int a = 0; a < own_.x; ++a) {
      const int i = octant.x > 0 ? a : own_.x - 1 - a;
      double* const face_y = face_y_.data() + product(m * own_.x + i, planes.count, 1);
      for (int b = 0; b < own_.y; ++b) {
        const int j = octant.y > 0 ? b : own_.y - 1 - b;
        double* const face_x = face_x_.data() + product(m * own_.y + j, planes.count, 1);
        double& into_z =
            face_z[static_cast<std::size_t>(i) * static_cast<std::size_t>(own_.y) + static_cast<std::size_t>(j)];
        into_z = solve_column(octant, direction, i, j, planes, into_z, face_x, face_y);
      }
    }
  }
  const std::size_t cells = product(own_.x, own_.y, planes.count * blocking_.directions);
  solved_ += static_cast<long long>(cells);
  computing::operations(kOperationsPerCell * static_cast<double>(cells));
}

double Sweeper::solve_column(const Octant& octant, const Direction& direction, int i, int j, Range planes,
                             double into_z, double* face_x, double* face_y) {
  const std::size_t column = own_.at(i, j, planes.first);
  const std::size_t bytes = static_cast<std::size_t>(planes.count) * sizeof(double);
  computing::reads(emission_.data() + column, bytes);
  computing::writes(flux_.data() + column, bytes);
  for (int c = 0; c < planes.count; ++c) {
    const int k = octant.z > 0 ? c : planes.count - 1 - c;
    const std::size_t cell = own_.at(i, j, planes.first + k);
    Faces faces{face_x[k], face_y[k], into_z};
    flux_[cell] += direction.weight * solve_cell(material_, direction, emission_[cell], faces);
    face_x[k] = faces.x;
    face_y[k] = faces.y;
    into_z = faces.z;
  }
  return into_z;
}

void Sweeper::receive(Axis axis, int from, std::span<double> face) {
  if (from == MPI_PROC_NULL) {
    std::fill(face.begin(), face.end(), 0);  // vacuum
    return;
  }
  if (courier_) return courier_->receive(axis, block_, from, face);
  MPI_Recv(face.data(), static_cast<int>(face.size()), MPI_DOUBLE, from, tag_of(axis), grid_, MPI_STATUS_IGNORE);
}

void Sweeper::send(Axis axis, int to, std::span<const double> face) {
  if (to == MPI_PROC_NULL) return;
  if (courier_) return courier_->send(axis, block_, to, face);
  MPI_Send(face.data(), static_cast<int>(face.size()), MPI_DOUBLE, to, tag_of(axis), grid_);
  traffic_.count(to, face.size_bytes());
}

void Sweeper::leak(int first_direction, int planes, const Neighbours& around) {
  for (int m = 0; m < blocking_.directions; ++m) {
    const Direction& direction = kDirections[static_cast<std::size_t>(first_direction + m)];
    const std::size_t per_x = product(own_.y, planes, 1);
    const std::size_t per_y = product(own_.x, planes, 1);
    for (std::size_t f = 0; around.down_x == MPI_PROC_NULL && f < per_x; ++f) {
      leakage_ += direction.weight * direction.x * face_x_[static_cast<std::size_t>(m) * per_x + f];
    }
    for (std::size_t f = 0; around.down_y == MPI_PROC_NULL && f < per_y; ++f) {
      leakage_ += direction.weight * direction.y * face_y_[static_cast<std::size_t>(m) * per_y + f];
    }
  }
}

std::vector<double> Sweeper::gather() const {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(grid_, &rank);
  MPI_Comm_size(grid_, &ranks);
  std::vector<int> counts(static_cast<std::size_t>(ranks));
  std::vector<int> starts(counts.size());
  int total = 0;
  for (int r = 0; r < ranks; ++r) {
    int coords[2];
    MPI_Cart_coords(grid_, r, 2, coords);
    const int columns = part(whole_.x, dims_[0], coords[0]).count * part(whole_.y, dims_[1], coords[1]).count;
    counts[static_cast<std::size_t>(r)] = columns * whole_.z;
    starts[static_cast<std::size_t>(r)] = total;
    total += columns * whole_.z;
  }
  std::vector<double> parts(rank == 0 ? static_cast<std::size_t>(total) : 0);
  MPI_Gatherv(flux_.data(), static_cast<int>(flux_.size()), MPI_DOUBLE, parts.data(), counts.data(), starts.data(),
              MPI_DOUBLE, 0, grid_);
  std::vector<double> flux(parts.size());
  for (int r = 0; rank == 0 && r < ranks; ++r) {
    int coords[2];
    MPI_Cart_coords(grid_, r, 2, coords);
    const Range x = part(whole_.x, dims_[0], coords[0]);
    const Range y = part(whole_.y, dims_[1], coords[1]);
    const double* from = parts.data() + starts[static_cast<std::size_t>(r)];
    for (int i = 0; i < x.count; ++i) {
      for (int j = 0; j < y.count; ++j, from += whole_.z) {
        std::copy_n(from, whole_.z,
                    flux.begin() + static_cast<std::ptrdiff_t>(whole_.at(x.first + i, y.first + j, 0)));
      }
    }
  }
  return flux;
}

double Sweeper::leakage() const {
  double all = leakage_ * material_.width * material_.width;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_SUM, grid_);
  return all;
}

long long Sweeper::solved() const {
  long long all = solved_;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_LONG_LONG, MPI_SUM, grid_);
  return all;
}

}  // namespace sweep3d
