#pragma once
// Halo pattern for in-place streaming with one array of populations.
#include <slipstream/lbm.hpp>
#include <slipstream/pattern.hpp>

#include "solver/lbm/lattice/kernels.hpp"

namespace slipstream::lbm {

/// Transfers between blocks of lattice Boltzmann populations that stream in place (esoteric pull, in one array). Before
/// a step, populations of odd index are stored in the cell that they move to: a ghost in the source block, an interior
/// cell in the target. Those of even index are stored in the cell that they left: an interior cell in the source, a
/// ghost in the target. One exchange before each step moves both kinds.
///
/// The exchange overwrites interior cells, so it sends only populations that the source block wrote. These move from
/// its cells into the target. It also sends those that move to ghosts of the target beyond a side of the domain,
/// where a slip side reads them. Along an outlet it sends populations that leave the outlet's cells inwards, because
/// the outlet reads them. If the target is one cell thick there, these lie in ghosts of both blocks.
class InPlaceHalo final : public Pattern {
 public:
  /// `form`: Form::shared (odd populations are in the cell that they move to), or Form::turned (also swapped in pairs).
  InPlaceHalo(const Grid& grid, const Options& options, Form form);
  std::string name() const override { return form_ == Form::turned ? "turned halo in place" : "halo in place"; }
  std::uint64_t fingerprint() const override { return halo_.fingerprint(); }
  std::vector<Transfer> transfers(const Grid& grid, int components, const Extent& ghost, int rank) const override;

 private:
  void add(const Grid& grid, const Extent& ghost, const Transfer& crossing, int population,
           std::vector<Transfer>& found, std::size_t first) const;

  Halo halo_;
  std::vector<Direction> velocities_;
  std::vector<bool> outlets_;  ///< whether each side is an outlet
  Form form_;
};

}  // namespace slipstream::lbm
