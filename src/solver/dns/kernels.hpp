#pragma once
// Kernels on modes and cells between transforms. A complex amplitude is two numbers, real part first.
#include <array>
#include <vector>

#include <slipstream/stream.hpp>

#include "solver/dns/mode_grid.hpp"

namespace slipstream::dns {

/// Pointer to a vector field of modes or cells: three components, `step` numbers apart.
template <class T>
struct Three {
  T* at = nullptr;
  std::int64_t step = 0;
};

/// Factors of a stage of a Runge-Kutta step. Velocity modes u decay by e = exp(-nu k^2 dt / 2) in half a step. With n
/// the projected right-hand side, a stage computes the arrays `sum` and `next` (the velocity in the next stage):
///     sum  = (first stage: e^2 u, else sum) + sum_n e^sum_e n,
///     next = e^next_e u + next_n e^next_n_e n,      or, in the last stage, u = sum.
/// The other symbols are members of this struct. `pushes`: whether n includes the forcing. `ahead`: time for which the
/// stage adds the next stage's forcing to `sum`, so that the next stage needs none.
struct StageFactors {
  bool first = false, last = false;
  double sum_n = 0;
  int sum_e = 0;
  int next_e = 0;
  double next_n = 0;
  int next_n_e = 0;
  double ahead = 0;
  bool pushes = true;
};

/// Arrays of Fourier modes of a Runge-Kutta stage. The first stage starts from the velocity u; the last only writes u.
template <class T>
struct StageArrays {
  Three<T> u, sum;
  Three<T> next;  ///< modes of the next stage, zero if truncated; u in the last stage
  /// modes of the velocity from which the right-hand side was computed; those of the next stage overwrite them. Empty
  /// without forcing, except in the first stage
  Three<T> now;
  Three<T> rhs;  ///< transform of u x w before normalisation
};

/// Accelerations of stored modes by a stochastic forcing, in device memory.
struct Accelerations {
  const int* modes = nullptr;      ///< wave numbers k_x, k_y, k_z of each mode
  const double* values = nullptr;  ///< acceleration of each mode, three complex numbers
  int count = 0;
};

struct StageNumbers {
  double viscosity, time_step;
  double forcing = 0;  ///< linear forcing: this factor times velocity
  int forced = 0;      ///< number of the lowest shells, whose modes are forced
};

template <class T>
void queue_stage(Stream& stream, const ModeGrid& grid, const StageArrays<T>& arrays, const StageFactors& factors,
                 const StageNumbers& numbers);
/// Computes curl = i k x u; truncated modes count as zero.
template <class T>
void queue_curl(Stream& stream, const ModeGrid& grid, const Three<T>& u, const Three<T>& curl);
/// Computes derivatives of the first two components along their own axes: gradient_a = i k_a u_a, for a = 0, 1.
template <class T>
void queue_gradient(Stream& stream, const ModeGrid& grid, const Three<T>& u, const Three<T>& gradient);
/// Computes w = u x (w + 2 rotation) in every cell.
template <class T>
void queue_cross(Stream& stream, const Extent& cells, const Three<T>& u, const Three<T>& w,
                 const std::array<double, 3>& rotation);
/// Multiplies modes by a factor, projects them to divergence-free ones, and clears truncated modes.
template <class T>
void queue_project(Stream& stream, const ModeGrid& grid, const Three<T>& u, double factor);
/// Multiplies the modes of the lowest shells, except the mean velocity, by a factor.
template <class T>
void queue_scale(Stream& stream, const ModeGrid& grid, const Three<T>& u, int shells, double factor);

/// Computes sums over each line along z: energy, sum of k^2 times energy, and energy of the lowest shells, all without
/// the mean. Then comes the mean velocity, zero on all other lines. Lines are indexed by ModeGrid::line().
constexpr int line_sums = 6;
template <class T>
void queue_line_sums(Stream& stream, const ModeGrid& grid, const Three<T>& u, int shells, double* sums);
/// Computes sums[k * shells + s], half the sum of Re(conj(u) v) in plane k and shell s, over `components` components.
/// Shell s has s - 1/2 <= |k| < s + 1/2, in units of the shells' width. With u = v that is the energy. The sums of a
/// piece of planes continue those of the pieces before.
template <class T>
void queue_shell_sums(Stream& stream, const ModeGrid& grid, const Three<T>& u, const Three<T>& v, int components,
                      int shells, double* sums);
/// Computes sums of g^2, g^3 and g^4 over each line along x, for g = g_0, g_1 and -(g_0 + g_1) in turn. The third is
/// the longitudinal derivative along z of a divergence-free flow. Line j of plane k has the index k * cells[1] + j.
constexpr int line_moments = 9;
template <class T>
void queue_line_moments(Stream& stream, const Extent& cells, const Three<T>& gradient, double* moments);
/// Computes the maximum of sum_a |u_a| scale_a over each line along x; NaN if the line has a NaN.
template <class T>
void queue_line_speeds(Stream& stream, const Extent& cells, const Three<T>& u, const std::array<double, 3>& scale,
                       double* speeds);
/// Maximum over this rank's devices of the largest scaled flow speed on each grid line; NaN if one is NaN.
double fastest(const std::vector<std::vector<double>>& of_lines);

}  // namespace slipstream::dns
