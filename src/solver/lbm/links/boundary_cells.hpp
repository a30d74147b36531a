#pragma once
// By moments: the cells of a block beside walls, bodies and openings, which a step takes by themselves.
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

#include "solver/lbm/lattice/kernels.hpp"
#include "solver/lbm/links/links.hpp"

namespace slipstream::lbm {

/// Of one of them, with its numbers in lists, and with what arrives where links bring it.
std::int64_t boundary_cell_bytes(DType precision, bool brought);
/// Of those of a block along its sides, and of so many beside bodies that are `cut` or lie half-way, with the bits that
/// find them.
std::int64_t boundary_bytes(const Grid& grid, const Block& block, const Options& options, std::int64_t beside_bodies,
                            bool cut);

/// The links of a block that meet bodies, and the cells that they come from.
struct BesideBodies {
  std::int64_t links = 0, cells = 0;
};
/// Bytes of those links and of the loads on them.
std::int64_t body_link_bytes(const BesideBodies& beside, Representation representation, bool interpolated);
BesideBodies count_beside_bodies(const Grid& grid, const Block& block, const Options& options, const Surroundings& s);

class BoundaryCells {
 public:
  BoundaryCells() = default;
  /// Those of all the links of a block with so many cells and ghosts. `waiting` sides (low and high) have ghosts that
  /// an exchange fills. `number`: bytes of a number that collisions compute in. Takes the links at walls that rest from
  /// the lists, which the step itself knows, and leaves in `exchanged` those of cells that wait for the exchange.
  BoundaryCells(Stream& stream, const Box& cells, const Extent& ghost, const Margins& waiting, std::size_t number,
                Links& links);

  /// Cells of the interior are stepped with it, the others with the rim.
  void split(Stream& stream, const Box& interior);

  bool empty() const { return cells_.empty(); }
  /// On the device.
  std::int64_t bytes() const;
  BoundaryArrays arrays() const;
  /// That links bring populations to: before the exchange, or after it.
  std::span<const std::uint32_t> brought_to(bool exchanged) const;
  std::span<const std::uint32_t> stepped(bool interior, bool rim) const;

 private:
  void number_words(Stream& stream, const Box& cells, const Extent& ghost);
  std::vector<BoundaryCell> cells_;
  Buffer<BoundaryCell> on_device_;
  Buffer<CellWord> words_;
  Numbering numbering_;
  Buffer<std::byte> arrivals_;
  std::int64_t arriving_ = 0;
  Buffer<std::uint32_t> brought_, stepped_;  // local ones first, the interior's first
  std::size_t local_ = 0, interior_ = 0;
};

}  // namespace slipstream::lbm
