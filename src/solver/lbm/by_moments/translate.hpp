#pragma once
// Converts populations to moments and back, for checkpoints of the other representation.
#include <slipstream/lbm.hpp>
#include <slipstream/state.hpp>

namespace slipstream::lbm {

/// Conversion of D3Q19 states to this representation from the other one, in the same number format. To moments:
/// density, momentum and tensor are kept, the nine other numbers of a cell are lost. To populations: the second-order
/// Hermite series, which has the same moments; terms of third order are lost. In 16 bits values are rounded once more.
Translation translation_to(Representation representation, DType precision);

}  // namespace slipstream::lbm
