#pragma once
#include <slipstream/lbm.hpp>

#include "solver/lbm/step/kernels.hpp"

namespace slipstream::lbm {

/// What the library of variants exports as slipstream_lbm_variant.
using VariantLookup = const Kernels* (*)(Representation, Lattice, DType);

}  // namespace slipstream::lbm
