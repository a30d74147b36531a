#pragma once
#include <slipstream/sem.hpp>

namespace slipstream::sem {

/// As gauss_lobatto(), without a limit of the order, for finer quadratures than the elements' own.
Rule lobatto_of_any_order(int order);

/// The largest eigenvalue e of D^T W D u = e W u on [-1, 1].
double largest_stiffness(const Rule& rule);

}  // namespace slipstream::sem
