// Gathering, forwarding and handing out. SPDX-License-Identifier: BSD-3-Clause
#include "courier.hpp"

#include <algorithm>

namespace sweep3d {
namespace {

/// Tags carry the block, since a root may complete its receives in any order.
enum class Leg : int { direct = 0, to_root = 2, across = 4, from_root = 6 };

constexpr int kBlocksPerTag = 4096;  // as many as planes

int tag_of(Leg leg, Axis axis, int block) {
  return (static_cast<int>(leg) + axis) * kBlocksPerTag + block;
}

}  // namespace

Courier::Courier(MPI_Comm grid, int group, const Extents& whole, Traffic& traffic)
    : grid_(grid), group_(group), whole_(whole), traffic_(traffic) {
  int periods[2];
  int coords[2];
  MPI_Cart_get(grid, 2, dims_, periods, coords);
  MPI_Comm_rank(grid, &rank_);
}

std::optional<std::string> Courier::misfit(MPI_Comm grid, int group) {
  int dims[2];
  int periods[2];
  int coords[2];
  MPI_Cart_get(grid, 2, dims, periods, coords);
  if (dims[1] % group == 0 || group % dims[1] == 0) return std::nullopt;
  return "--group: found " + std::to_string(group) + "; allowed: a divisor or a multiple of " +
         std::to_string(dims[1]) + ", the ranks in y";
}

// ---- what belongs to whom --------------------------------------------------------------------------------

Courier::Route Courier::route(Axis axis, int way) const {
  Route found;
  int ranks = 0;
  MPI_Comm_size(grid_, &ranks);
  for (int member = root(); member < std::min(root() + group_, ranks); ++member) {
    int coords[2];
    MPI_Cart_coords(grid_, member, 2, coords);
    coords[axis] += way;
    if (coords[axis] < 0 || coords[axis] >= dims_[axis]) continue;
    int peer = 0;
    MPI_Cart_rank(grid_, coords, &peer);
    if (stays(peer)) continue;
    found.members.push_back(member);
    found.root = peer / group_ * group_;
  }
  return found;
}

std::size_t Courier::length(int member, Axis axis, int block) const {
  int coords[2];
  MPI_Cart_coords(grid_, member, 2, coords);
  const int cells =
      axis == kX ? part(whole_.y, dims_[1], coords[1]).count : part(whole_.x, dims_[0], coords[0]).count;
  return static_cast<std::size_t>(cells) * static_cast<std::size_t>(directions_) *
         static_cast<std::size_t>(planes_[static_cast<std::size_t>(block)]);
}

/// Where a member's piece begins in its group's message; for MPI_PROC_NULL the whole message's length.
std::size_t Courier::start(const Route& route, int member, Axis axis, int block) const {
  std::size_t at = 0;
  for (const int each : route.members) {
    if (each == member) break;
    at += length(each, axis, block);
  }
  return at;
}

// ---- a sweep ---------------------------------------------------------------------------------------------

void Courier::begin(const Octant& octant, const std::vector<int>& planes, int directions) {
  planes_ = planes;
  directions_ = directions;
  if (!leads()) return;
  const int ways[2] = {octant.x, octant.y};
  for (const Axis axis : {kX, kY}) {
    up_[axis] = route(axis, -ways[axis]);
    down_[axis] = route(axis, ways[axis]);
    expect_all(axis);
  }
}

void Courier::expect_all(Axis axis) {
  in_[axis].assign(planes_.size(), {});
  out_[axis].assign(planes_.size(), {});
  for (int block = 0; block < static_cast<int>(planes_.size()); ++block) {
    if (up_[axis].root != MPI_PROC_NULL) {
      Bundle& in = in_[axis][static_cast<std::size_t>(block)];
      in.data.resize(start(up_[axis], MPI_PROC_NULL, axis, block));
      in.missing = 1;
      expect(in.data.data(), in.data.size(), up_[axis].root, tag_of(Leg::across, axis, block),
             {Kind::gathered, axis, block});
    }
    if (down_[axis].root == MPI_PROC_NULL) continue;
    Bundle& out = out_[axis][static_cast<std::size_t>(block)];
    out.data.resize(start(down_[axis], MPI_PROC_NULL, axis, block));
    out.missing = down_[axis].members.size();
    for (const int member : down_[axis].members) {
      if (member == rank_) continue;
      expect(out.data.data() + start(down_[axis], member, axis, block), length(member, axis, block), member,
             tag_of(Leg::to_root, axis, block), {Kind::piece, axis, block});
    }
  }
}

void Courier::end() {
  while (!open_.empty()) forward_one();
  MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
  sends_.clear();
  copies_.clear();
}

void Courier::receive(Axis axis, int block, int from, std::span<double> face) {
  const int length = static_cast<int>(face.size());
  if (!leads()) {
    const int tag = tag_of(stays(from) ? Leg::direct : Leg::from_root, axis, block);
    MPI_Recv(face.data(), length, MPI_DOUBLE, stays(from) ? from : root(), tag, grid_, MPI_STATUS_IGNORE);
    return;
  }
  if (stays(from)) {
    face_came_ = false;
    expect(face.data(), face.size(), from, tag_of(Leg::direct, axis, block), {Kind::face, axis, block});
    while (!face_came_) forward_one();
    return;
  }
  const Bundle& in = in_[axis][static_cast<std::size_t>(block)];
  while (in.missing > 0) forward_one();
  std::copy_n(in.data.begin() + static_cast<std::ptrdiff_t>(start(up_[axis], rank_, axis, block)), face.size(),
              face.begin());
}

void Courier::send(Axis axis, int block, int to, std::span<const double> face) {
  if (!leads()) {
    const int peer = stays(to) ? to : root();
    const int tag = tag_of(stays(to) ? Leg::direct : Leg::to_root, axis, block);
    MPI_Send(face.data(), static_cast<int>(face.size()), MPI_DOUBLE, peer, tag, grid_);
    count(peer, face.size());
    return;
  }
  if (stays(to)) {
    const std::vector<double>& copy = copies_.emplace_back(face.begin(), face.end());
    post(copy.data(), copy.size(), to, tag_of(Leg::direct, axis, block));
    return;
  }
  Bundle& out = out_[axis][static_cast<std::size_t>(block)];
  std::copy(face.begin(), face.end(),
            out.data.begin() + static_cast<std::ptrdiff_t>(start(down_[axis], rank_, axis, block)));
  if (--out.missing == 0) pass_on(axis, block);
}

// ---- the root forwards -----------------------------------------------------------------------------------

void Courier::expect(double* into, std::size_t length, int from, int tag, const Arrival& arrival) {
  MPI_Request& request = open_.emplace_back();
  MPI_Irecv(into, static_cast<int>(length), MPI_DOUBLE, from, tag, grid_, &request);
  arrivals_.push_back(arrival);
}

void Courier::post(const double* data, std::size_t length, int to, int tag) {
  MPI_Isend(data, static_cast<int>(length), MPI_DOUBLE, to, tag, grid_, &sends_.emplace_back());
  count(to, length);
}

/// Waits for the next message, whichever, and does what it calls for.
void Courier::forward_one() {
  int index = 0;
  MPI_Waitany(static_cast<int>(open_.size()), open_.data(), &index, MPI_STATUS_IGNORE);
  const auto at = static_cast<std::size_t>(index);
  const Arrival arrival = arrivals_[at];
  open_[at] = open_.back();
  arrivals_[at] = arrivals_.back();
  open_.pop_back();
  arrivals_.pop_back();
  const auto block = static_cast<std::size_t>(arrival.block);
  switch (arrival.kind) {
    case Kind::face:
      face_came_ = true;
      break;
    case Kind::gathered:
      in_[arrival.axis][block].missing = 0;
      hand_out(arrival.axis, arrival.block);
      break;
    case Kind::piece:
      if (--out_[arrival.axis][block].missing == 0) pass_on(arrival.axis, arrival.block);
      break;
  }
}

void Courier::hand_out(Axis axis, int block) {
  const Bundle& in = in_[axis][static_cast<std::size_t>(block)];
  for (const int member : up_[axis].members) {
    if (member == rank_) continue;
    post(in.data.data() + start(up_[axis], member, axis, block), length(member, axis, block), member,
         tag_of(Leg::from_root, axis, block));
  }
}

void Courier::pass_on(Axis axis, int block) {
  const Bundle& out = out_[axis][static_cast<std::size_t>(block)];
  post(out.data.data(), out.data.size(), down_[axis].root, tag_of(Leg::across, axis, block));
}

void Courier::count(int to, std::size_t length) {
  traffic_.count(to, length * sizeof(double));
}

}  // namespace sweep3d
