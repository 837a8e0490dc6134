// SPDX-License-Identifier: BSD-3-Clause
#include "halo.hpp"

#include "../common/traffic.hpp"

namespace lbm {

namespace {

enum class Side { leaving, ghost };

/// A velocity leads across `offset` for some cells if it agrees with it on every axis that the offset crosses.
bool crosses(const Vector& velocity, const Vector& offset) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (offset[axis] != 0 && velocity[axis] != offset[axis]) return false;
  }
  return true;
}

/// The cells from which `velocity` crosses exactly `offset`: the last layer on a crossed axis, and elsewhere all
/// whose target stays inside. Side::ghost gives the same cells in the coordinates of the receiving rank, which
/// agrees with the sender on the extents that it needs: those of the axes not crossed.
Box crossing_cells(const Vector& velocity, const Vector& offset, const Vector& extent, Side side) {
  Box box{};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (offset[axis] == 0) {
      box.begin[axis] = velocity[axis] < 0 ? 1 : 0;
      box.extent[axis] = extent[axis] - (velocity[axis] != 0 ? 1 : 0);
      continue;
    }
    const bool high_end = (offset[axis] > 0) == (side == Side::leaving);
    const int high = side == Side::leaving ? extent[axis] - 1 : extent[axis];
    const int low = side == Side::leaving ? 0 : -1;
    box.begin[axis] = high_end ? high : low;
    box.extent[axis] = 1;
  }
  return box;
}

std::vector<std::ptrdiff_t> crossing(const Populations& layout, const Vector& offset, Side side) {
  std::vector<std::ptrdiff_t> indices;
  for (std::size_t direction = 0; direction < kDirections; ++direction) {
    if (!crosses(kVelocities[direction], offset)) continue;
    const Box cells = crossing_cells(kVelocities[direction], offset, layout.extent(), side);
    for_each_cell(cells, [&](const Vector& cell) { indices.push_back(layout.index(direction, cell)); });
  }
  return indices;
}

}  // namespace

Halo::Halo(const Decomposition& decomposition, const Populations& layout, Traffic& traffic)
    : communicator_(decomposition.communicator()), traffic_(traffic) {
  for (const Vector& offset : kVelocities) {  // the neighbours of a rank are those of a cell
    if (square(offset) != 0) add_link(decomposition, layout, offset);
  }
  translate_to_world();
}

void Halo::add_link(const Decomposition& decomposition, const Populations& layout, const Vector& offset) {
  Link link;
  link.send_rank = decomposition.neighbour(offset);
  link.receive_rank = decomposition.neighbour({-offset[0], -offset[1], -offset[2]});
  link.tag = static_cast<int>(remote_.size() + own_.size());  // offsets come in the same order on every rank
  link.send_from = crossing(layout, offset, Side::leaving);
  link.receive_to = crossing(layout, offset, Side::ghost);
  link.outgoing.resize(link.send_from.size());
  link.incoming.resize(link.receive_to.size());
  (link.send_rank == decomposition.rank() ? own_ : remote_).push_back(std::move(link));
}

void Halo::translate_to_world() {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Comm_group(communicator_, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (Link& link : remote_) MPI_Group_translate_ranks(group, 1, &link.send_rank, world, &link.send_world_rank);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

void Halo::start(Populations& populations) {
  double* values = populations.data();
  requests_.assign(2 * remote_.size(), MPI_REQUEST_NULL);
  std::size_t request = 0;
  for (Link& link : remote_) {
    MPI_Irecv(link.incoming.data(), static_cast<int>(link.incoming.size()), MPI_DOUBLE, link.receive_rank, link.tag,
              communicator_, &requests_[request++]);
  }
  for (Link& link : remote_) {
    for (std::size_t i = 0; i < link.outgoing.size(); ++i) link.outgoing[i] = values[link.send_from[i]];
    MPI_Isend(link.outgoing.data(), static_cast<int>(link.outgoing.size()), MPI_DOUBLE, link.send_rank, link.tag,
              communicator_, &requests_[request++]);
    traffic_.count(link.send_world_rank, link.outgoing.size() * sizeof(double));
  }
  for (const Link& link : own_) {
    for (std::size_t i = 0; i < link.send_from.size(); ++i) values[link.receive_to[i]] = values[link.send_from[i]];
  }
}

void Halo::finish(Populations& populations) {
  double* values = populations.data();
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  for (const Link& link : remote_) {
    for (std::size_t i = 0; i < link.incoming.size(); ++i) values[link.receive_to[i]] = link.incoming[i];
  }
}

}  // namespace lbm
