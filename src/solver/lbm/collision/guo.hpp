#pragma once
#include "solver/lbm/collision/force.hpp"

namespace slipstream::lbm {

/// Runs another collision under a force that is the same in every cell.
template <class L, class T, class Collision>
struct Guo {
  Collision collision;
  Force<T> force;

  Guo(const Collision& inner, double x, double y, double z)
      : collision(inner), force{static_cast<T>(x), static_cast<T>(y), static_cast<T>(z)} {}

  SLIP_FN void operator()(T (&g)[L::q]) const { collision(g, force); }
};

}  // namespace slipstream::lbm
