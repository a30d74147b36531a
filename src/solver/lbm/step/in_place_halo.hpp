#pragma once
// Halo pattern for in-place streaming with one array of populations.
#include <slipstream/lbm.hpp>
#include <slipstream/pattern.hpp>

#include "solver/lbm/lattice/kernels.hpp"

namespace slipstream::lbm {

/// Transfers of populations between blocks, by the form of the array. An odd population lies at its destination: a
/// ghost in its source block, an interior cell in the target. An even one lies at its origin: interior in the source, a
/// ghost in the target. So half of the populations go from ghosts to cells and half from cells to ghosts, in one
/// exchange before each step.
///
/// Since cells are written, only populations that the source wrote may travel. A population travels from cells from
/// which it ends in the target. It also travels if it ends beyond a side of the domain at the target, where slip reads
/// it. Along an outlet the outlet reads populations that its cells sent inwards. They travel even if the target is one
/// cell thick there, and then lie in ghosts of both blocks.
class InPlaceHalo final : public Pattern {
 public:
  /// `form`: storage of populations at the step after the exchange: Form::shared or Form::turned (opposites swapped).
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
