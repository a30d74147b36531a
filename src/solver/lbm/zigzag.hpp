#pragma once
// The devices' part of Lbm::zigzag(), in the memory of velocity and density: cells that do not count hold no number.
#include <slipstream/lbm.hpp>

#include "solver/lbm/lattice/kernels.hpp"

namespace slipstream {
class Together;
}

namespace slipstream::lbm {

/// Layers of the density beyond a block, as many as a fourth difference reaches; cells that count lie one more from
/// solid ones.
constexpr std::int64_t zigzag_reach = 2;
/// Doubles that sum_zigzags() leaves for a row: the sums of squares and the numbers of terms along x, y and z.
constexpr std::size_t zigzag_sums = 6;

/// The density of fluid cells becomes 0, that of solid cells and of all ghosts no number.
void mark_solids(Together& together, const Box& cells, const BlockArrays& block);
/// The velocity near a cell whose density is no number becomes no number.
void mark_margins(Together& together, const Box& cells, const BlockArrays& block);
/// The density becomes a component of the velocity.
void take_component(Together& together, const Box& cells, const BlockArrays& block, int component);
/// sums[zigzag_sums row ...]: of the density, whose ghosts have been brought.
void sum_zigzags(Together& together, const Box& cells, const BlockArrays& block, double* sums);
/// sums[row] = the sum of speeds over fluid cells.
void sum_speeds(Together& together, const Box& cells, const BlockArrays& block, double* sums);

}  // namespace slipstream::lbm
