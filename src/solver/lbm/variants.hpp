#pragma once
#include <slipstream/lbm.hpp>

#include "solver/lbm/lattice/kernels.hpp"

namespace slipstream::lbm {

/// Type of the function slipstream_lbm_variant, which the library of variants exports.
using VariantLookup = const Kernels* (*)(Representation, Lattice, DType);

}  // namespace slipstream::lbm
