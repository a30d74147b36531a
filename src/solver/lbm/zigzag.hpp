#pragma once
// Kernels that measure oscillations of the velocity from cell to cell; the output arrays are their scratch memory.
#include <slipstream/lbm.hpp>

#include "solver/lbm/lattice/kernels.hpp"

namespace slipstream {
class Together;
}

namespace slipstream::lbm {

/// Number of ghost layers of the density: a fourth difference reaches two cells to either side. Differences count where
/// all their cells lie farther than that from solid cells.
constexpr std::int64_t zigzag_reach = 2;
/// Number of doubles that sum_zigzags() writes for a row of cells: along x, y and z, the sum of squared fourth
/// differences and their number.
constexpr std::size_t zigzag_sums = 6;

/// Sets the density of fluid cells to 0, and that of solid cells and all ghosts to NaN.
void mark_solids(Together& together, const Box& cells, const BlockArrays& block);
/// Sets the velocity to NaN near cells whose density is NaN.
void mark_margins(Together& together, const Box& cells, const BlockArrays& block);
/// Copies velocity component number `component` to the density's memory, where sum_zigzags() takes fourth differences.
void take_component(Together& together, const Box& cells, const BlockArrays& block, int component);
/// For each row of cells, sums squared fourth differences of the density along x, y, z, and counts them. Reads ghosts.
void sum_zigzags(Together& together, const Box& cells, const BlockArrays& block, double* sums);
/// Computes sums[row], the sum over fluid cells of the magnitude of the velocity.
void sum_speeds(Together& together, const Box& cells, const BlockArrays& block, double* sums);

}  // namespace slipstream::lbm
