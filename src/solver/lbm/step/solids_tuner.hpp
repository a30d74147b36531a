#pragma once
// Which way of keeping solid cells suits a block, by measurement.
#include <cstdint>
#include <map>

#include "solver/lbm/lattice/kernels.hpp"
#include "solver/lbm/step/stored_cells.hpp"

namespace slipstream::lbm {

/// What was found for blocks with solid cells, of all ranks.
struct KeptBlocks {
  std::map<std::int64_t, Kept> of;
  SolidBlocks told;  ///< how it was found
};

/// Ways of keeping solid cells whose steps are not the same: by models that are not plain a GPU leaves solid cells
/// alone at once, with `dense` as with `flags`, unless populations lie cell by cell. By moments all cells are stored.
std::vector<Solids> ways_that_differ(const Model& model, bool gpu, Layout layout,
                                     Representation representation = Representation::populations);

/// Runs steps of the fluid at rest in each block alone, as a periodic box on its own device, in all ways that differ,
/// and takes the fastest. A rank measures blocks of one shape and like solidity once; where several do, the slowest of
/// them counts. What is found is remembered on disk by machine, versions and that. Blocks of devices without memory for
/// all of their cells are left to the rules. Collective; needs no populations, and as much memory as the largest block
/// of a rank.
KeptBlocks measure_kept(const Communicator& comm, const Grid& grid, const Options& options, const Surfaces& surfaces);

}  // namespace slipstream::lbm
