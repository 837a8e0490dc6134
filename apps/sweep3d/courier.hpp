// Courier: the modified sweep of paper 003 (section 4.2.1). Consecutive ranks form groups, a Cell's SPEs each. The
// first of a group, its root, alone exchanges faces with other groups: it gathers what its group sends to another,
// sends that to the other's root in one message, and hands out what comes from there.
//
// A root solves cells like everybody. Whenever it waits it forwards whatever has arrived, for any block of the
// present sweep, so members may be blocks ahead of it or behind. A sweep's messages depend on no later sweep, and
// groups are rectangles of the ranks' grid, so in every octant one group is upstream of another or not at all:
// nobody waits in a circle. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../common/traffic.hpp"
#include "problem.hpp"

namespace sweep3d {

enum Axis : int { kX = 0, kY = 1 };

class Courier {
 public:
  Courier(MPI_Comm grid, int group, const Extents& whole, Traffic& traffic);

  /// Why groups of that size cannot be served, if so.
  static std::optional<std::string> misfit(MPI_Comm grid, int group);

  /// What comes between is one sweep: blocks of so many planes each, in this order.
  void begin(const Octant& octant, const std::vector<int>& planes, int directions);
  void end();

  /// As MPI_Recv and MPI_Send of the block's face; neither peer is MPI_PROC_NULL.
  void receive(Axis axis, int block, int from, std::span<double> face);
  void send(Axis axis, int block, int to, std::span<const double> face);

 private:
  enum class Kind { face, gathered, piece };
  struct Arrival {
    Kind kind;
    Axis axis;
    int block;
  };
  /// What a group's members exchange with the next group of an axis, in the order of ranks.
  struct Route {
    std::vector<int> members;
    int root = MPI_PROC_NULL;  ///< of the other group
  };
  struct Bundle {
    std::vector<double> data;
    std::size_t missing = 0;  ///< pieces, or the one message
  };
  using Bundles = std::array<std::vector<Bundle>, 2>;

  [[nodiscard]] int root() const { return rank_ / group_ * group_; }
  [[nodiscard]] bool leads() const { return rank_ == root(); }
  [[nodiscard]] bool stays(int peer) const { return peer / group_ == rank_ / group_; }
  [[nodiscard]] Route route(Axis axis, int way) const;
  [[nodiscard]] std::size_t length(int member, Axis axis, int block) const;
  [[nodiscard]] std::size_t start(const Route& route, int member, Axis axis, int block) const;
  void expect(double* into, std::size_t length, int from, int tag, const Arrival& arrival);
  void post(const double* data, std::size_t length, int to, int tag);
  void expect_all(Axis axis);
  void forward_one();
  void hand_out(Axis axis, int block);
  void pass_on(Axis axis, int block);
  void count(int to, std::size_t length);

  MPI_Comm grid_;
  int group_, rank_ = 0;
  int dims_[2]{};
  Extents whole_;
  Traffic& traffic_;
  std::vector<int> planes_;
  int directions_ = 0;
  std::array<Route, 2> up_, down_;  ///< of the present octant
  Bundles in_, out_;                ///< of the present sweep, by block
  std::vector<MPI_Request> open_;   ///< receives, and what each is
  std::vector<Arrival> arrivals_;
  std::vector<MPI_Request> sends_;
  std::deque<std::vector<double>> copies_;  ///< faces under way, which the sweep overwrites
  bool face_came_ = false;
};

}  // namespace sweep3d
