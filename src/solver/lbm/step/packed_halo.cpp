#include "solver/lbm/step/packed_halo.hpp"

namespace slipstream::lbm {
namespace {

/// Maps a cell and a component of a block to an element of its array.
class Elements {
 public:
  Elements(const Grid& grid, std::int64_t block, const FieldOptions& field, Keeping& keeping)
      : shape_(block_shape(grid, block, field)),
        stored_(keeping.of(block) == Kept::packed ? &keeping.stored(block) : nullptr) {}
  bool packed() const { return stored_ != nullptr; }
  bool has(const Extent& cell) const { return stored_ == nullptr || stored_->number(cell) >= 0; }
  /// Offset of a cell's first value in its block's array, from the first interior cell; negative for some ghosts.
  std::int64_t of(const Extent& cell) const {
    if (stored_ != nullptr) return stored_->number(cell) * shape_.stride[0];
    return cell[0] * shape_.stride[0] + cell[1] * shape_.stride[1] + cell[2] * shape_.stride[2];
  }
  std::int64_t component() const { return shape_.component_stride; }

 private:
  BlockShape shape_;
  const StoredCells* stored_;
};

}  // namespace

std::vector<Transfer> PackedHalo::transfers(const Grid& grid, int components, const Extent& ghost, int rank) const {
  std::vector<Transfer> found;
  for (Transfer& t : boxes_->transfers(grid, components, ghost, rank)) {
    const Elements from(grid, t.source_block, field_, *keeping_), to(grid, t.target_block, field_, *keeping_);
    if (!from.packed() && !to.packed()) {
      found.push_back(std::move(t));
      continue;
    }
    std::vector<std::int64_t> source, target;
    Extent apart{};
    for (int a = 0; a < 3; ++a) apart[a] = t.target.box.lo[a] - t.source.box.lo[a];
    for_each_cell(t.source.box, [&](const Extent& cell) {
      const Extent there{cell[0] + apart[0], cell[1] + apart[1], cell[2] + apart[2]};
      if (!from.has(cell) || !to.has(there)) return;
      source.push_back(from.of(cell));
      target.push_back(to.of(there));
    });
    if (source.empty()) continue;
    const auto listed = [](const std::vector<std::int64_t>& cells, const std::vector<int>& parts, std::int64_t stride) {
      auto ids = std::make_shared<std::vector<std::int64_t>>();
      for (const int part : parts)
        for (const std::int64_t cell : cells) ids->push_back(part * stride + cell);
      return ids;
    };
    t.source = {{}, {}, listed(source, t.source.components, from.component())};
    t.target = {{}, {}, listed(target, t.target.components, to.component())};
    found.push_back(std::move(t));
  }
  return found;
}

}  // namespace slipstream::lbm
