#pragma once
// What blocks exchange where only some of their cells are stored.
#include <memory>

#include <slipstream/pattern.hpp>

#include "solver/lbm/step/stored_cells.hpp"

namespace slipstream::lbm {

/// The transfers of another pattern, less cells that one of the two blocks does not store; as lists of elements where
/// one of them is packed.
class PackedHalo final : public Pattern {
 public:
  /// `field`: the options of the field of populations, its packed blocks among them.
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
