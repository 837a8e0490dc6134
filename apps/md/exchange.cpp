// Packing, six messages, unpacking. SPDX-License-Identifier: BSD-3-Clause
#include "exchange.hpp"

namespace md {
namespace {

constexpr std::size_t kAtomFields = 7;
constexpr int kTagAtoms = 0;
constexpr int kTagGhosts = 2;

void pack(const Atom& atom, std::size_t axis, double shift, std::vector<double>& out) {
  Vector position = atom.position;
  position[axis] += shift;
  out.push_back(static_cast<double>(atom.id));
  out.insert(out.end(), position.begin(), position.end());
  out.insert(out.end(), atom.velocity.begin(), atom.velocity.end());
}

Atom unpack(const double* fields) {
  Atom atom;
  atom.id = static_cast<std::int64_t>(fields[0]);
  atom.position = {fields[1], fields[2], fields[3]};
  atom.velocity = {fields[4], fields[5], fields[6]};
  return atom;
}

void pack(Vector position, std::size_t axis, double shift, std::vector<double>& out) {
  position[axis] += shift;
  out.insert(out.end(), position.begin(), position.end());
}

}  // namespace

Exchange::Exchange(const Counts& dims, const Vector& edges, Traffic& traffic)
    : dims_(dims), edges_(edges), traffic_(traffic) {
  const int slowest_first[kAxes] = {dims[2], dims[1], dims[0]};
  const int periodic[kAxes] = {1, 1, 1};
  MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(kAxes), slowest_first, periodic, 0, &grid_);
  int rank = 0;
  int coords[kAxes];
  MPI_Comm_rank(grid_, &rank);
  MPI_Cart_coords(grid_, rank, static_cast<int>(kAxes), coords);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    coords_[axis] = coords[kAxes - 1 - axis];
    low_[axis] = edges[axis] * coords_[axis] / dims[axis];
    high_[axis] = edges[axis] * (coords_[axis] + 1) / dims[axis];
    MPI_Cart_shift(grid_, static_cast<int>(kAxes - 1 - axis), 1, &neighbours_[axis][kLower],
                   &neighbours_[axis][kHigher]);
  }
}

Exchange::~Exchange() {
  MPI_Comm_free(&grid_);
}

double Exchange::shift(std::size_t axis, Side side) const {
  if (side == kLower) return coords_[axis] == 0 ? edges_[axis] : 0;
  return coords_[axis] == dims_[axis] - 1 ? -edges_[axis] : 0;
}

Exchange::BothWays Exchange::swap(std::size_t axis, const BothWays& out, int tag) {
  if (dims_[axis] == 1) return {out[kHigher], out[kLower]};
  const std::array<int, 2>& neighbours = neighbours_[axis];
  MPI_Request sends[2];
  for (const Side side : {kLower, kHigher}) {
    MPI_Isend(out[side].data(), static_cast<int>(out[side].size()), MPI_DOUBLE, neighbours[side],
              tag + static_cast<int>(side), grid_, &sends[side]);
    traffic_.count(neighbours[side], out[side].size() * sizeof(double));
  }
  BothWays in;
  for (const Side side : {kLower, kHigher}) {
    // With two ranks along the axis both neighbours are one rank: the tag says which way a message went.
    const int other_way = tag + 1 - static_cast<int>(side);
    MPI_Status status;
    int length = 0;
    MPI_Probe(neighbours[side], other_way, grid_, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &length);
    in[side].resize(static_cast<std::size_t>(length));
    MPI_Recv(in[side].data(), length, MPI_DOUBLE, neighbours[side], other_way, grid_, MPI_STATUS_IGNORE);
  }
  MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
  return in;
}

void Exchange::migrate(std::vector<Atom>& atoms) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    BothWays out;
    std::size_t kept = 0;
    for (const Atom& atom : atoms) {
      if (atom.position[axis] < low_[axis]) {
        pack(atom, axis, shift(axis, kLower), out[kLower]);
      } else if (atom.position[axis] >= high_[axis]) {
        pack(atom, axis, shift(axis, kHigher), out[kHigher]);
      } else {
        atoms[kept++] = atom;
      }
    }
    atoms.resize(kept);
    for (const Message& in : swap(axis, out, kTagAtoms)) {
      for (std::size_t at = 0; at < in.size(); at += kAtomFields) atoms.push_back(unpack(in.data() + at));
    }
  }
}

std::vector<Vector> Exchange::ghosts(const std::vector<Atom>& atoms) {
  std::vector<Vector> known;
  for (const Atom& atom : atoms) known.push_back(atom.position);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    BothWays out;
    for (const Vector& position : known) {
      if (position[axis] < low_[axis] + kCutoff) pack(position, axis, shift(axis, kLower), out[kLower]);
      if (position[axis] >= high_[axis] - kCutoff) pack(position, axis, shift(axis, kHigher), out[kHigher]);
    }
    for (const Message& in : swap(axis, out, kTagGhosts)) {
      for (std::size_t at = 0; at < in.size(); at += kAxes) known.push_back({in[at], in[at + 1], in[at + 2]});
    }
  }
  known.erase(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(atoms.size()));
  return known;
}

}  // namespace md
