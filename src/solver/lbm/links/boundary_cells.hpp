#pragma once
// Moment representation: cells next to walls, bodies and openings, which have a step of their own.
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

#include "solver/lbm/lattice/kernels.hpp"
#include "solver/lbm/links/links.hpp"

namespace slipstream::lbm {

/// Bytes of one boundary cell, including lists; `brought`: including populations that links bring.
std::int64_t boundary_cell_bytes(DType precision, bool brought);
/// Bytes of a block's boundary cells along its sides and of `near_bodies` cells next to bodies, including bits that
/// locate them. `cut`: links of bodies are interpolated, else half-way.
std::int64_t boundary_bytes(const Grid& grid, const Block& block, const Options& options, std::int64_t near_bodies,
                            bool cut);

/// Numbers of a block's links to bodies, and of the cells that these links come from.
struct NearBodies {
  std::int64_t links = 0, cells = 0;
};
/// Bytes of the links to bodies, and of the links whose loads are summed.
std::int64_t body_link_bytes(const NearBodies& beside, Representation representation, bool interpolated);
NearBodies count_near_bodies(const Grid& grid, const Block& block, const Options& options, const Surroundings& s);

class BoundaryCells {
 public:
  BoundaryCells() = default;
  /// Makes the boundary cells of all links of a block with these cells and ghosts. `waiting` sides (low and high) have
  /// ghosts that an exchange fills. `number`: bytes of a number in collisions. Removes links of resting walls that the
  /// step handles from the lists, and puts those of cells that wait for the exchange into `exchanged`.
  BoundaryCells(Stream& stream, const Box& cells, const Extent& ghost, const Margins& waiting, std::size_t number,
                Links& links);

  /// Divides the cells next to walls and openings into those of the block's interior and those of its outer layers.
  void split(Stream& stream, const Box& interior);

  bool empty() const { return cells_.empty(); }
  /// Bytes of device memory that the boundary cells take.
  std::int64_t bytes() const;
  BoundaryArrays arrays() const;
  /// Indices of the cells to which links bring populations, before or after the exchange.
  std::span<const std::uint32_t> brought_to(bool exchanged) const;
  std::span<const std::uint32_t> stepped(bool interior, bool boundary) const;

 private:
  void number_words(Stream& stream, const Box& cells, const Extent& ghost);
  std::vector<BoundaryCell> cells_;
  Buffer<BoundaryCell> on_device_;
  Buffer<CellWord> words_;
  Numbering numbering_;
  Buffer<std::byte> arrivals_;
  std::int64_t arriving_ = 0;
  // brought_: cells with populations from links, those that need no exchange first; stepped_: all, interior cells first
  Buffer<std::uint32_t> brought_, stepped_;
  std::size_t local_ = 0, interior_ = 0;
};

}  // namespace slipstream::lbm
