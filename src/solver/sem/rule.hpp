#pragma once
#include <slipstream/sem.hpp>

namespace slipstream::sem {

/// gauss_lobatto() without a highest order: for quadratures that are finer than the elements' own.
Rule lobatto_of_any_order(int order);

}  // namespace slipstream::sem
