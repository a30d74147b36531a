#pragma once
#include <slipstream/lbm.hpp>

#include "solver/lbm/lattice/kernels.hpp"

namespace slipstream::lbm {

/// Function of the second library that returns LBM kernels by cell representation, lattice and number type.
using VariantLookup = const Kernels* (*)(Representation, Lattice, DType);

}  // namespace slipstream::lbm
