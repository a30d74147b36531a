#pragma once
// Kernels of optional terms: shifted grids, scalars, and accelerations of single modes.
#include <array>

#include "solver/dns/kernels.hpp"

namespace slipstream::dns {

/// Sums of a scalar over each line along z: its square, k^2 times its square, and its product with each velocity
/// component, all without the mean. Lines are indexed by ModeGrid::line().
constexpr int scalar_sums = 5;

template <class T>
struct Terms {
  /// Computes to = from * factor * exp(i angles.k), k in integers, and 0 for truncated modes. May work in place.
  static void turn(Stream& stream, const ModeGrid& grid, const Three<T>& from, const Three<T>& to, int components,
                   const std::array<double, 3>& angles, double factor);
  /// Computes slopes in modes, to_a = i k_a times component `component` of `of`, along each axis a.
  static void slopes(Stream& stream, const ModeGrid& grid, const Three<T>& of, int component, const Three<T>& to);
  /// Computes a component and its derivative along z, one after the other, from the modes of some planes of constant y.
  static void along_z(Stream& stream, const ModeGrid& grid, const Three<T>& of, int component, T* two);
  /// Computes a scalar's advection -u.(along + gradient) into along_0. `along`: its slopes. `gradient`: an imposed one.
  static void advection(Stream& stream, const Extent& cells, const Three<T>& u, const Three<T>& along,
                        const std::array<double, 3>& gradient);
  /// Advances a scalar's modes as queue_stage() does those of velocity, with a right-hand side that is not normalised.
  static void stage(Stream& stream, const ModeGrid& grid, const StageArrays<T>& arrays, int component, const T* rhs,
                    const StageFactors& factors, double diffusivity, double time_step);
  static void line_sums(Stream& stream, const ModeGrid& grid, const Three<T>& u, int component, double* sums);
  /// Adds the accelerations by a stochastic forcing to the modes of the momentum right-hand side, before normalisation.
  static void accelerate(Stream& stream, const ModeGrid& grid, const Three<T>& rhs, const Accelerations& of);
  /// Computes the work of stochastic forcing on velocity modes u, per time and mass, in each plane of constant k_y.
  static void work(Stream& stream, const ModeGrid& grid, const Three<T>& u, const Accelerations& of, double* sums);
};

}  // namespace slipstream::dns
