#pragma once
#include <slipstream/sem.hpp>

namespace slipstream::sem {

/// Gauss-Lobatto rule of an order without upper limit, for finer quadratures than the elements' own.
Rule lobatto_of_any_order(int order);

/// The largest eigenvalue e of D^T W D u = e W u on [-1, 1], with derivative matrix D and quadrature weights W.
double largest_stiffness(const Rule& rule);

}  // namespace slipstream::sem
