// The flow that the program computes: a Taylor-Green vortex in the x-y plane of a periodic box, an exact solution
// of the incompressible Navier-Stokes equations whose velocity decays as exp(-nu k^2 t) (Taylor and Green 1937).
// With wave numbers kx, ky and k^2 = kx^2 + ky^2,
//   u = -U ky/k cos(kx x) sin(ky y) d,   v = U kx/k sin(kx x) cos(ky y) d,   d = exp(-nu k^2 t),
//   p = p0 - rho U^2/4 ((ky/k)^2 cos(2 kx x) + (kx/k)^2 cos(2 ky y)) d^2.
//
// Every rank computes the start of its own cells from this; nothing is communicated.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "lattice.hpp"

namespace lbm {

class TaylorGreen {
 public:
  TaylorGreen(const Vector& size, double tau)
      : size_(size), tau_(tau), kx_(2 * std::numbers::pi / size[0]), ky_(2 * std::numbers::pi / size[1]) {}

  /// U, well below the speed of sound: the error of compressibility goes with its square.
  static constexpr double kAmplitude = 0.03;

  [[nodiscard]] double wave_number_squared() const { return kx_ * kx_ + ky_ * ky_; }

  [[nodiscard]] RealVector velocity(const Vector& at, double time) const {
    const double decay = std::exp(-viscosity(tau_) * wave_number_squared() * time);
    const double x = kx_ * at[0];
    const double y = ky_ * at[1];
    return {u_amplitude() * std::cos(x) * std::sin(y) * decay, v_amplitude() * std::sin(x) * std::cos(y) * decay,
            0};
  }

  /// Populations at time 0, before their collision: equilibrium, the first-order term of Chapman and Enskog
  /// (without it the stress has to build up first, and the vortex decays too slowly for some steps), and noise.
  [[nodiscard]] Cell start(const Vector& at) const {
    const double density = 1 + pressure(at) / kSoundSpeedSquared;
    const RealVector u = velocity(at, 0);
    const double uu = u[0] * u[0] + u[1] * u[1];
    Cell cell;
    for (std::size_t direction = 0; direction < kDirections; ++direction) {
      const Vector& c = kVelocities[direction];
      const double cu = c[0] * u[0] + c[1] * u[1];
      const double equilibrium = 1 + 3 * cu + 4.5 * cu * cu - 1.5 * uu;
      const double stress = -tau_ / kSoundSpeedSquared * strain(c, at);
      cell[direction] = weight(direction) * density * (equilibrium + stress + kNoise * noise(at, direction));
    }
    return cell;
  }

 private:
  /// The vortex is uniform in z and symmetric; noise makes each population unlike every other, so that one
  /// which lands in a wrong place cannot go unseen. Small against any error of the discretisation.
  static constexpr double kNoise = 1e-6;

  [[nodiscard]] double u_amplitude() const { return -kAmplitude * ky_ / std::sqrt(wave_number_squared()); }
  [[nodiscard]] double v_amplitude() const { return kAmplitude * kx_ / std::sqrt(wave_number_squared()); }

  [[nodiscard]] double pressure(const Vector& at) const {
    return -0.25 * (u_amplitude() * u_amplitude() * std::cos(2 * kx_ * at[0]) +
                    v_amplitude() * v_amplitude() * std::cos(2 * ky_ * at[1]));
  }

  /// c_a c_b du_b/dx_a; the trace that the theory subtracts is the divergence, which is zero.
  [[nodiscard]] double strain(const Vector& c, const Vector& at) const {
    const double x = kx_ * at[0];
    const double y = ky_ * at[1];
    const double stretch = std::sin(x) * std::sin(y);
    const double shear = std::cos(x) * std::cos(y);
    return -c[0] * c[0] * u_amplitude() * kx_ * stretch - c[1] * c[1] * v_amplitude() * ky_ * stretch +
           c[0] * c[1] * (u_amplitude() * ky_ + v_amplitude() * kx_) * shear;
  }

  /// In [-1, 1), a hash of the global cell and the direction (the finaliser of SplitMix64).
  [[nodiscard]] double noise(const Vector& at, std::size_t direction) const {
    std::uint64_t key = 0;
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      key = key * static_cast<std::uint64_t>(size_[axis]) + static_cast<std::uint64_t>(at[axis]);
    }
    key = (key * kDirections + direction + 1) * 0x9e3779b97f4a7c15U;
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9U;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebU;
    return static_cast<double>((key ^ (key >> 31)) >> 11) * 0x1p-52 - 1;
  }

  Vector size_;
  double tau_;
  double kx_;
  double ky_;
};

}  // namespace lbm
