#pragma once
#include <slipstream/device/function.hpp>

namespace slipstream::lbm {

/// Replaces the force in a collision without one, so that nothing is computed.
struct NoForce {
  static constexpr bool acts = false;
};

/// The force per volume on a cell, applied as in Guo, Zheng & Shi 2002. The velocity u = (sum of c_i g_i + F / 2) / rho
/// enters equilibria and output. Each moment gets (1 - rate / 2) of its part of the source w_i (3 (c_i - u) + 9 (c_i .
/// u) c_i) . F. That is half of the source before a collision about u, and half after it: the momentum grows by F. In
/// two dimensions z is zero.
template <class T>
struct Force {
  static constexpr bool acts = true;
  T x, y, z;
};

}  // namespace slipstream::lbm
