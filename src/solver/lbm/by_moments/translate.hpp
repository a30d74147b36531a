#pragma once
// From populations to the ten moments of the same cells and back, for checkpoints of the other representation.
#include <slipstream/lbm.hpp>
#include <slipstream/state.hpp>

namespace slipstream::lbm {

/// How the state of D3Q19 by this representation follows from the other one, in the same number format. To moments:
/// density, momentum and tensor are kept, the nine other numbers of a cell lost. To populations: the Hermite series of
/// second order, from which the same moments follow; terms of third order are lost. In 16 bits what was stored is
/// rounded once more.
Translation translation_to(Representation representation, DType precision);

}  // namespace slipstream::lbm
