#pragma once
#include "solver/lbm/collision/trt.hpp"

namespace slipstream::lbm {

/// Single-relaxation-time collision (Bhatnagar, Gross & Krook 1954; Qian, d'Humieres & Lallemand 1992).
template <class L, class T>
struct Srt {
  T omega;

  explicit Srt(double rate) : omega(static_cast<T>(rate)) {}

  SLIP_FN Srt with_tau(T tau) const {
    Srt changed = *this;
    changed.omega = T(1) / tau;
    return changed;
  }

  template <class F = NoForce>
  SLIP_FN void operator()(T (&g)[L::q], const F& force = {}) const {
    Trt<L, T>::relax(g, omega, omega, force);
  }
};

}  // namespace slipstream::lbm
