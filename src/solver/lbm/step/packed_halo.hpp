#pragma once
// Halo pattern of blocks that store only some of their cells.
#include <memory>

#include <slipstream/pattern.hpp>

#include "solver/lbm/step/stored_cells.hpp"

namespace slipstream::lbm {

/// Takes the transfers of another communication pattern, and leaves out cells that one of both blocks does not store.
/// If a block is packed, that is stores only some cells, transfers are lists of array elements.
class PackedHalo final : public Pattern {
 public:
  /// `field`: options of the lattice Boltzmann populations' field, some of whose blocks may store only a list of cells.
  PackedHalo(std::unique_ptr<Pattern> boxes, std::shared_ptr<Keeping> keeping, FieldOptions field)
      : boxes_(std::move(boxes)), keeping_(std::move(keeping)), field_(std::move(field)) {}
  std::string name() const override { return "packed " + boxes_->name(); }
  std::uint64_t fingerprint() const override { return boxes_->fingerprint(); }
  std::vector<Transfer> transfers(const Grid& grid, int components, const Extent& ghost, int rank) const override;

 private:
  std::unique_ptr<Pattern> boxes_;
  std::shared_ptr<Keeping> keeping_;
  FieldOptions field_;
};

}  // namespace slipstream::lbm
