#pragma once
// All collisions under test, by lattice and number format, and measurements in a cell.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>

#include "solver/lbm/collision/cumulant.hpp"
#include "solver/lbm/collision/guo.hpp"
#include "solver/lbm/collision/mrt.hpp"
#include "solver/lbm/collision/smagorinsky.hpp"
#include "solver/lbm/collision/srt.hpp"

namespace slipstream::lbm {

inline double rate_of(double viscosity) { return 1 / (3 * viscosity + 0.5); }

/// Relaxation rate of odd moments, from the rate `shear` that sets the viscosity, by the TRT magic number 3/16.
inline double odd_rate(double shear) { return 1 / (0.5 + 3.0 / 16 / (1 / shear - 0.5)); }

template <class L, class T>
Trt<L, T> trt_of(double viscosity) {
  return {rate_of(viscosity), odd_rate(rate_of(viscosity))};
}

template <class L, class T>
Mrt<L, T> mrt_of(double viscosity) {
  return {rate_of(viscosity), odd_rate(rate_of(viscosity)), 1.1, 1.3};
}

/// Calls f(name, collision) for each collision operator of a lattice without eddy viscosity: SRT, TRT, MRT, cumulant.
template <class L, class T, class F>
void each_plain_collision(double viscosity, F f) {
  f("srt", Srt<L, T>(rate_of(viscosity)));
  f("trt", trt_of<L, T>(viscosity));
  f("mrt", mrt_of<L, T>(viscosity));
  if constexpr (L::q == 27) f("cumulant", Cumulant<L, T>(rate_of(viscosity)));
}

/// Calls f(name, collision) for each plain collision, with and without an eddy viscosity.
template <class L, class T, class F>
void each_collision(double viscosity, double smagorinsky, F f) {
  each_plain_collision<L, T>(viscosity, [&](std::string name, auto collision) {
    f(name, collision);
    f(name + " and smagorinsky", Smagorinsky<L, T, decltype(collision)>(collision, viscosity, smagorinsky));
  });
}

/// Calls f(lattice) for each lattice.
template <class F>
void each_lattice(F f) {
  f(D2Q9{});
  f(D3Q19{});
  f(D3Q27{});
}

template <class L>
std::string name_of() {
  std::string name = "D";
  name += std::to_string(L::dimensions);
  name += "Q";
  return name += std::to_string(L::q);
}

/// Populations as deviations of up to `size` times the weights.
template <class L, class T>
class RandomCell {
 public:
  explicit RandomCell(double size, unsigned seed = 1) : random_(seed), part_(-size, size) {}
  void fill(T (&g)[L::q]) {
    for (int i = 0; i < L::q; ++i) g[i] = static_cast<T>(L::weight(i) * part_(random_));
  }

 private:
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> part_;
};

/// Density less 1 and momentum, summed in long double.
template <class L, class T>
std::array<long double, 4> conserved(const T (&g)[L::q]) {
  std::array<long double, 4> sum{};
  for (int i = 0; i < L::q; ++i) {
    sum[0] += g[i];
    for (int a = 0; a < 3; ++a) sum[1 + a] += static_cast<long double>(g[i]) * L::velocity[i][a];
  }
  return sum;
}

/// Populations of the equilibrium of second order in velocity, as deviations.
template <class L, class T>
void equilibrium(T (&g)[L::q], double rho, const std::array<double, 3>& u) {
  for (int i = 0; i < L::q; ++i) {
    double cu = 0, uu = 0;
    for (int a = 0; a < 3; ++a) {
      cu += L::velocity[i][a] * u[a];
      uu += u[a] * u[a];
    }
    g[i] = static_cast<T>(L::weight(i) * (rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * uu) - 1));
  }
}

template <class L, class T>
double largest(const T (&g)[L::q]) {
  double most = 0;
  for (const T value : g) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

template <class L, class T>
double difference(const T (&a)[L::q], const T (&b)[L::q]) {
  double most = 0;
  for (int i = 0; i < L::q; ++i) most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

/// Mirror image of a cell's populations; axes with sign -1 are reversed.
template <class L, class T>
void mirror(const T (&g)[L::q], T (&image)[L::q], int sx, int sy, int sz) {
  for (int i = 0; i < L::q; ++i) {
    const int* c = L::velocity[i];
    image[index_of<L>(sx * c[0], sy * c[1], sz * c[2])] = g[i];
  }
}

}  // namespace slipstream::lbm
