#pragma once
#include <slipstream/device/function.hpp>

namespace slipstream::lbm {

/// What a collision is told of forces: that none acts, so that nothing is computed for it, ...
struct NoForce {
  static constexpr bool acts = false;
};

/// ... or the force per volume on this cell. Collisions take it up as Guo, Zheng & Shi 2002 do: u = (sum of c_i g_i +
/// F / 2) / rho is the velocity of the flow, in equilibria and in output, and each moment gets (1 - rate / 2) of its
/// part of the source w_i (3 (c_i - u) + 9 (c_i . u) c_i) . F. That is half of the source before a collision about u,
/// and half after it: the momentum grows by F. In two dimensions z is zero.
template <class T>
struct Force {
  static constexpr bool acts = true;
  T x, y, z;
};

}  // namespace slipstream::lbm
