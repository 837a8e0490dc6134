// The serial sweep. SPDX-License-Identifier: BSD-3-Clause
#include "problem.hpp"

namespace sweep3d {
namespace {

struct Sweep {
  const Extents& extents;
  const Material& material;
  const std::vector<double>& emission;
  std::vector<double>& flux;
  double leakage = 0;

  int place(int step, int count, int way) const { return way > 0 ? step : count - 1 - step; }

  void direction(const Octant& octant, const Direction& direction) {
    std::vector<double> into_x(static_cast<std::size_t>(extents.y) * static_cast<std::size_t>(extents.z));
    for (int a = 0; a < extents.x; ++a) {
      std::vector<double> into_y(static_cast<std::size_t>(extents.z));
      for (int b = 0; b < extents.y; ++b) {
        double into_z = 0;
        for (int c = 0; c < extents.z; ++c) {
          const int k = place(c, extents.z, octant.z);
          const int j = place(b, extents.y, octant.y);
          const std::size_t cell = extents.at(place(a, extents.x, octant.x), j, k);
          double& face_x = into_x[static_cast<std::size_t>(j) * static_cast<std::size_t>(extents.z) +
                                  static_cast<std::size_t>(k)];
          double& face_y = into_y[static_cast<std::size_t>(k)];
          Faces faces{face_x, face_y, into_z};
          flux[cell] += direction.weight * solve_cell(material, direction, emission[cell], faces);
          face_x = faces.x;
          face_y = faces.y;
          into_z = faces.z;
        }
        leakage += direction.weight * direction.z * into_z;
      }
      for (const double out : into_y) leakage += direction.weight * direction.y * out;
    }
    for (const double out : into_x) leakage += direction.weight * direction.x * out;
  }
};

}  // namespace

std::vector<double> solve_serially(const Extents& extents, const Material& material, int iterations,
                                   double& leakage) {
  std::vector<double> flux(extents.cells());
  for (int iteration = 0; iteration < iterations; ++iteration) {
    std::vector<double> emission(flux.size());
    for (std::size_t cell = 0; cell < flux.size(); ++cell) {
      emission[cell] = material.source + material.scattering * flux[cell];
    }
    flux.assign(flux.size(), 0);
    Sweep sweep{extents, material, emission, flux};
    for (const Octant& octant : kOctants) {
      for (const Direction& direction : kDirections) sweep.direction(octant, direction);
    }
    leakage = sweep.leakage * material.width * material.width;
  }
  return flux;
}

}  // namespace sweep3d
