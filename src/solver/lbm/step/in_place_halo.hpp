#pragma once
// What blocks exchange where one array of populations is streamed in place.
#include <slipstream/lbm.hpp>
#include <slipstream/pattern.hpp>

#include "solver/lbm/lattice/kernels.hpp"

namespace slipstream::lbm {

/// The populations that cross from one block into another, by the form of the array: an odd one lies where it goes to,
/// which at its source is a ghost and at its target an interior cell; an even one lies where it comes from, interior at
/// its source and a ghost at its target. So half of what crosses goes from ghosts to cells, the other half from cells
/// to ghosts, in one exchange before each step.
///
/// Since cells are written, nothing may travel that the source did not write: each population takes the cells from
/// which it ends in the target, or beyond a side of the domain that the target touches (where slip reads it), and from
/// cells along an outlet inwards (where the outlet reads it), even if the target is one cell thick there and ends
/// before the population does. That one lies in ghosts of both blocks then.
class InPlaceHalo final : public Pattern {
 public:
  /// `form`: shared or turned, that of the step that follows the exchange.
  InPlaceHalo(const Grid& grid, const Options& options, Form form);
  std::string name() const override { return form_ == Form::turned ? "turned halo in place" : "halo in place"; }
  std::uint64_t fingerprint() const override { return halo_.fingerprint(); }
  std::vector<Transfer> transfers(const Grid& grid, int components, const Extent& ghost, int rank) const override;

 private:
  void add(const Grid& grid, const Extent& ghost, const Transfer& crossing, int population,
           std::vector<Transfer>& found, std::size_t first) const;

  Halo halo_;
  std::vector<Direction> velocities_;
  std::vector<bool> outlets_;  ///< by Side
  Form form_;
};

}  // namespace slipstream::lbm
