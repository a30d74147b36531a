#pragma once
#include <slipstream/sem.hpp>

namespace slipstream::sem {

/// gauss_lobatto() without a highest order: for quadratures that are finer than the elements' own.
Rule lobatto_of_any_order(int order);

/// The largest eigenvalue of D^T W D u = e W u on [-1, 1].
double largest_stiffness(const Rule& rule);

}  // namespace slipstream::sem
