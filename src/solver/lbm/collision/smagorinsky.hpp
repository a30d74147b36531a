#pragma once
#include <cmath>
#include <optional>

#include "solver/lbm/collision/flow.hpp"

namespace slipstream::lbm {

/// Relaxation time of the stress with Smagorinsky's eddy viscosity; tau_0: that of the fluid alone. C: Smagorinsky's
/// constant; factor: 18 sqrt(2) C^2; norm: sqrt(Q:Q) / rho, with density rho and non-equilibrium stress Q.
template <class T>
SLIP_FN T tau_with_les(T tau_0, T factor, T norm) {
  return T(0.5) * (tau_0 + std::sqrt(tau_0 * tau_0 + factor * norm));
}

/// Adds large-eddy simulation to another collision (Hou, Sterling, Chen & Doolen 1996): the eddy viscosity is C^2 |S|,
/// |S| = sqrt(2 S:S), C Smagorinsky's constant times the filter's width of one cell. With S from the stress Q beyond
/// equilibrium, S = -3/2 Q / (rho tau), tau = tau_0 + 3 C^2 |S| is a quadratic equation for tau:
///
///   tau = (tau_0 + sqrt(tau_0^2 + 18 sqrt(2) C^2 sqrt(Q:Q) / rho)) / 2
///
/// Q excludes its trace, which is sound, and has its own relaxation rate in some collisions.
template <class L, class T, class Collision>
struct Smagorinsky {
  Collision collision;
  T tau_0;
  T factor;  ///< factor of the eddy viscosity: 18 sqrt(2) C^2

  Smagorinsky(const Collision& inner, double viscosity, double constant)
      : collision(inner),
        tau_0(static_cast<T>(3 * viscosity + 0.5)),
        factor(static_cast<T>(18 * std::sqrt(2.0) * constant * constant)) {}

  template <class F = NoForce>
  SLIP_FN void operator()(T (&g)[L::q], const F& force = {}) const {
    collision.with_tau(tau(g, force))(g, force);
  }

  /// Relaxation time of the stress; the total viscosity is (tau - 1/2) / 3.
  template <class F = NoForce>
  SLIP_FN T tau(const T (&g)[L::q], const F& force = {}) const {
    const Flow<T> u(moments<L>(g), force);
    const T norm = traceless_norm<L>(excess_stress<L>(g, u, force));
    return tau_with_les(tau_0, factor, norm * u.inverse);
  }
};

/// Adds LES if the run asks for it, so that one kernel serves both cases. On GPUs, memory hides the cost of the test;
/// on the host it would prevent vectorisation.
template <class L, class T, class Collision>
struct MaybeSmagorinsky {
  Smagorinsky<L, T, Collision> model;
  bool eddies;

  MaybeSmagorinsky(const Collision& inner, double viscosity, const std::optional<double>& constant)
      : model(inner, viscosity, constant.value_or(0)), eddies(constant.has_value()) {}

  template <class F = NoForce>
  SLIP_FN void operator()(T (&g)[L::q], const F& force = {}) const {
    Collision collision = model.collision;
    if (eddies) collision = collision.with_tau(model.tau(g, force));
    collision(g, force);
  }
};

}  // namespace slipstream::lbm
