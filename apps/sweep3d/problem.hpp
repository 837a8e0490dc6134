// The problem: a homogeneous box with a constant source and vacuum around it, in discrete ordinates. Owns the grid,
// the directions and the diamond difference of one cell; knows no rank.
//
// Source: Lewis and Miller, Computational Methods of Neutron Transport (1993), sections 4-1 (level-symmetric
// quadrature S6) and 4-3 (diamond difference). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace sweep3d {

struct Extents {
  int x = 0, y = 0, z = 0;

  [[nodiscard]] std::size_t cells() const {
    return static_cast<std::size_t>(x) * static_cast<std::size_t>(y) * static_cast<std::size_t>(z);
  }
  /// z runs fastest: the ranks' columns are contiguous.
  [[nodiscard]] std::size_t at(int i, int j, int k) const {
    return (static_cast<std::size_t>(i) * static_cast<std::size_t>(y) + static_cast<std::size_t>(j)) *
               static_cast<std::size_t>(z) +
           static_cast<std::size_t>(k);
  }
};

/// Cells or planes that follow each other.
struct Range {
  int first, count;
};

/// One of so many parts of as equal a size as can be, the longer ones first.
inline Range part(int cells, int parts, int number) {
  const int each = cells / parts;
  const int longer = cells % parts;
  return {number * each + (number < longer ? number : longer), each + (number < longer ? 1 : 0)};
}

/// A direction of the first octant and its weight; the weights of all octants sum to 1.
struct Direction {
  double x, y, z, weight;
};

/// S6: six directions per octant.
inline constexpr double kNear = 0.2666355, kMiddle = 0.6815076, kFar = 0.9261808;
inline constexpr double kCorner = 0.1761263 / 8, kEdge = (1.0 / 3 - 0.1761263) / 8;  // 24 of each: 1 together
inline constexpr std::array<Direction, 6> kDirections{{
    {kNear, kNear, kFar, kCorner},
    {kNear, kMiddle, kMiddle, kEdge},
    {kNear, kFar, kNear, kCorner},
    {kMiddle, kNear, kMiddle, kEdge},
    {kMiddle, kMiddle, kNear, kEdge},
    {kFar, kNear, kNear, kCorner},
}};

struct Octant {
  int x, y, z;  ///< 1 or -1: which way particles fly
};

/// In the order in which they are swept: pairs that start in the same corner of the ranks' grid follow each other.
inline constexpr std::array<Octant, 8> kOctants{
    {{1, 1, 1}, {1, 1, -1}, {-1, 1, 1}, {-1, 1, -1}, {1, -1, 1}, {1, -1, -1}, {-1, -1, 1}, {-1, -1, -1}}};

struct Material {
  double total = 1.0;  ///< cross sections per unit of length
  double scattering = 0.5;
  double source = 1.0;
  double width = 0.5;  ///< of a cell, the same in all dimensions
};

/// Angular flux into a cell through its three faces upstream; becomes that out of it.
struct Faces {
  double x, y, z;
};

/// The cell's mean angular flux by diamond difference; `emission` is source and scattering per unit of solid angle.
inline double solve_cell(const Material& material, const Direction& direction, double emission, Faces& faces) {
  const double cx = 2 * direction.x / material.width;
  const double cy = 2 * direction.y / material.width;
  const double cz = 2 * direction.z / material.width;
  const double flux = (emission + cx * faces.x + cy * faces.y + cz * faces.z) / (material.total + cx + cy + cz);
  faces = {2 * flux - faces.x, 2 * flux - faces.y, 2 * flux - faces.z};
  return flux;
}

/// Floating-point operations of solve_cell and of adding its flux up.
inline constexpr double kOperationsPerCell = 20;

/// The whole problem on one rank, cell by cell, without blocks: what the parallel sweep must reproduce to the last
/// bit. Scalar flux after `iterations`; `leakage` is what leaves the box per unit of time in the last one.
std::vector<double> solve_serially(const Extents& extents, const Material& material, int iterations,
                                   double& leakage);

}  // namespace sweep3d
