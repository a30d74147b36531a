#pragma once
// Measures which storage of solid cells is the fastest for each kind of block.
#include <cstdint>
#include <map>

#include "solver/lbm/lattice/kernels.hpp"
#include "solver/lbm/step/stored_cells.hpp"

namespace slipstream::lbm {

/// The chosen storage of blocks with solid cells, on all ranks.
struct KeptBlocks {
  std::map<std::int64_t, Kept> of;
  SolidBlocks told;  ///< report of how the storage of blocks was chosen
};

/// Ways to store solid cells, if steps differ. `dense` computes them, `flags` skips them. On GPUs both steps are equal
/// with a force, LES or collisions beyond SRT and TRT, except in layout aos. The moment representation stores all.
std::vector<Solids> ways_that_differ(const Model& model, bool gpu, Layout layout,
                                     Representation representation = Representation::populations);

/// Chooses how each block stores solid cells, by measurement. It runs steps of the fluid at rest in each block alone,
/// as a periodic box on its own device. It tries every storage whose step differs, and takes the fastest. A rank
/// measures blocks of one shape and similar solidity once; if several ranks do, the slowest time counts. Results are
/// cached on disk by machine, versions and kind of block. Fixed rules choose for devices without memory for all cells.
/// Collective. Needs no populations, and as much memory as the largest block of a rank.
KeptBlocks measure_kept(const Communicator& comm, const Grid& grid, const Options& options, const Surfaces& surfaces);

}  // namespace slipstream::lbm
