#pragma once
// Options of the fields, ghost layers and halo patterns that a run's options imply.
#include <memory>

#include <slipstream/lbm.hpp>

#include "solver/lbm/lattice/kernels.hpp"
#include "solver/lbm/lattice/lattice.hpp"

namespace slipstream::lbm {

Model model_of(const Options& options);

/// Calls f with an object of the type of the chosen lattice.
template <class F>
auto with_lattice(Lattice lattice, const F& f) {
  if (lattice == Lattice::d2q9) return f(D2Q9{});
  if (lattice == Lattice::d3q19) return f(D3Q19{});
  return f(D3Q27{});
}

/// Axes on which every block is its own periodic neighbour, so that kernels wrap and no ghosts are needed. For the row
/// axis only on GPUs, and not with aos.
std::array<bool, 3> wrapped_axes(const Grid& grid, const Options& options);
/// Number of ghost layers by axis: 1 if the axis needs ghosts, else 0.
Extent ghost_layers(const Grid& grid, const Options& options);
bool on_gpus(const Grid& grid);
int alignment_of(const Options& options, bool gpu);
FieldOptions population_field(const Grid& grid, const Options& options, bool shared);
/// Options of an unpacked field of populations, for output from packed blocks.
FieldOptions whole_field(const Grid& grid, const Options& options);
/// Bytes of the temporary memory that converts an array of populations in place.
std::int64_t spare_bytes(const Extent& extent, DType precision);
FieldOptions flag_field(const Grid& grid, const Options& options);
/// State of a convective side: the populations of its cells, on a grid of their own.
FieldOptions outlet_field(const Options& options);
/// The cells of a block that lie along the convective side; empty where there are none.
Box near_outlet(const Grid& grid, const Options& options, Box box);
FieldOptions velocity_field(const Options& options);
FieldOptions density_field(const Options& options);
/// Halo of populations: ghosts in direction d are read only for populations that move from there into the block.
Halo population_halo(const Grid& grid, const Options& options);
/// Patterns of the exchange before a step: one, or one for each of two forms of the array that alternate.
std::vector<std::unique_ptr<Pattern>> population_patterns(const Grid& grid, const Options& options);

/// Number of moments that a cell stores in the moment representation.
constexpr int moment_count = 10;

/// Flag of a cell: 0 fluid, 1 + Side a wall of the domain, 7 a solid cell.
constexpr std::uint8_t fluid = 0;
constexpr std::uint8_t solid = 7;

}  // namespace slipstream::lbm
