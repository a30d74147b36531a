#include "exchange/transfer_checks.hpp"

#include <algorithm>

#include <slipstream/error.hpp>

#include "grid/cell_text.hpp"

namespace slipstream {
namespace {

bool is_packed(const FieldOptions& field, std::int64_t block) {
  return field.packed && field.packed->at(static_cast<std::size_t>(block)) >= 0;
}

/// Tells which elements of a block's array are values of cells or ghosts, and which are padding between rows.
class Values {
 public:
  Values(const Grid& grid, std::int64_t block, const FieldOptions& field)
      : shape_(block_shape(grid, block, field)), packed_(is_packed(field, block)) {
    if (packed_) return;
    const bool apart = field.layout != Layout::aos;
    const int fastest = shape_.row_axis;
    axes_ = {2 - fastest, 1, fastest};
    components_ = apart ? field.components : 1;
    all_ = apart ? shape_.component_stride : shape_.elements;
    for (int a = 0; a < 3; ++a) {
      before_ += shape_.ghost[a] * shape_.stride[a];
      count_[a] = shape_.extent[a] + 2 * shape_.ghost[a];
    }
  }

  /// Whether memory element `element` holds a value of the field, not padding; element 0 is interior cell (0, 0, 0).
  bool has(std::int64_t element) const {
    if (packed_) return element >= 0 && element < shape_.elements;
    std::int64_t rest = element + before_;
    if (rest < 0 || rest / all_ >= components_) return false;
    rest %= all_;
    for (const int a : axes_) {
      if (rest / shape_.stride[a] >= count_[a]) return false;
      rest %= shape_.stride[a];
    }
    return true;
  }

 private:
  BlockShape shape_;
  bool packed_;
  std::array<int, 3> axes_{};  // axes of the block, the slowest in memory first
  Extent count_{};
  std::int64_t components_ = 1, all_ = 1;  // number of components; elements between successive components
  std::int64_t before_ = 0;
};

/// Checks the transfers of one exchanged field against the blocks and fields at source and target.
class TransferChecks {
 public:
  TransferChecks(const Grid& grid, const PlannedItem& item)
      : item_(item), source_{"source", grid, item.source}, target_{"target", item.pattern->target(grid), item.to()} {}

  void check(const Transfer& t) const {
    check_block(t, source_, t.source_block);
    check_block(t, target_, t.target_block);
    check_shapes(t);
    check_values(t, source_, t.source_block, t.source);
    check_values(t, target_, t.target_block, t.target);
  }

 private:
  struct End {
    const char* name;
    const Grid& grid;
    const FieldOptions& field;
  };

  [[noreturn]] void refuse(const Transfer& t, const std::string& what, Facts facts) const {
    facts.insert(
        facts.end(),
        {{"pattern", item_.pattern->name()}, {"source_block", t.source_block}, {"target_block", t.target_block}});
    throw Error(ErrorCode::invalid_argument,
                "the pattern '" + item_.pattern->name() + "' moves values from block " +
                    std::to_string(t.source_block) + " to block " + std::to_string(t.target_block) + ", and " + what,
                std::move(facts));
  }

  void check_block(const Transfer& t, const End& end, std::int64_t block) const {
    const auto blocks = static_cast<std::int64_t>(end.grid.blocks().size());
    if (block < 0 || block >= blocks)
      refuse(t, std::string("the ") + end.name + "'s grid has blocks 0 to " + std::to_string(blocks - 1),
             {{"end", end.name}, {"problem", "block"}});
  }

  void check_shapes(const Transfer& t) const {
    if (t.op != item_.pattern->op())
      refuse(t, "the transfer has another operation than the pattern's op(): give all transfers the pattern's",
             {{"problem", "op"}});
    if (t.source.size() != t.target.size())
      refuse(t,
             "lists " + std::to_string(t.source.size()) + " at the source and " + std::to_string(t.target.size()) +
                 " at the target",
             {{"problem", "count"}});
    if (t.source.ids || t.target.ids) {
      if (item_.produced)
        refuse(t, "lists elements: windows for the caller's kernels are boxes of cells; let the exchange pack",
               {{"problem", "produced"}});
      return;
    }
    std::array<int, 3> sorted = t.axes;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != std::array<int, 3>{0, 1, 2})
      refuse(t, "its axes are no permutation of 0, 1 and 2", {{"problem", "axes"}});
    for (int a = 0; a < 3; ++a)
      if (t.source.box.extent(a) != t.target.box.extent(t.axes[static_cast<std::size_t>(a)]))
        refuse(t,
               "its boxes of " + to_string(t.source.box.extents()) + " and " + to_string(t.target.box.extents()) +
                   " cells have other shapes",
               {{"problem", "shape"}});
  }

  void check_values(const Transfer& t, const End& end, std::int64_t block, const IndexSet& set) const {
    if (set.ids) return check_elements(t, end, block, set);
    if (set.size() > 0) check_cells(t, end, block, set);
  }

  void check_cells(const Transfer& t, const End& end, std::int64_t block, const IndexSet& set) const {
    const auto of = [&] { return " of block " + std::to_string(block) + " of " + named(end.field); };
    if (is_packed(end.field, block))
      refuse(t,
             std::string("its ") + end.name + " is a box of cells" + of() +
                 ", whose values are stored in an order of its owner's: list elements there",
             {{"end", end.name}, {"block", block}, {"problem", "packed"}});
    const Extent cells = end.grid.block(block).box.extents(), &ghost = end.field.ghost;
    for (int a = 0; a < 3; ++a)
      if (set.box.lo[a] < -ghost[a] || set.box.hi[a] > cells[a] + ghost[a]) {
        Box all{{0, 0, 0}, cells};
        all = grown(all, ghost);
        refuse(t,
               std::string("its ") + end.name + ", from cell " + cell_text(set.box.lo) + " to before " +
                   cell_text(set.box.hi) + ", leaves the cells and ghosts" + of() + ", from " + cell_text(all.lo) +
                   " to before " + cell_text(all.hi),
               {{"end", end.name},
                {"block", block},
                {"problem", "cells"},
                {"lo", cell_text(all.lo)},
                {"hi", cell_text(all.hi)}});
      }
    for (const int component : set.components)
      if (component < 0 || component >= end.field.components)
        refuse(t,
               std::string("its ") + end.name + " names component " + std::to_string(component) + of() +
                   ", which has " + std::to_string(end.field.components),
               {{"end", end.name},
                {"block", block},
                {"problem", "component"},
                {"given", component},
                {"limit", end.field.components}});
  }

  void check_elements(const Transfer& t, const End& end, std::int64_t block, const IndexSet& set) const {
    const Values values(end.grid, block, end.field);
    for (const std::int64_t element : *set.ids)
      if (!values.has(element))
        refuse(t,
               std::string("its ") + end.name + " lists element " + std::to_string(element) + " of block " +
                   std::to_string(block) + " of " + named(end.field) +
                   ", which is no value of the block's cells and ghosts: elements are counted from cell (0, 0, 0)",
               {{"end", end.name}, {"block", block}, {"problem", "element"}, {"given", element}});
  }

  const PlannedItem& item_;
  End source_, target_;
};

}  // namespace

void check_transfers(const Grid& grid, const PlannedItem& item, const std::vector<Transfer>& transfers) {
  const TransferChecks checks(grid, item);
  for (const Transfer& t : transfers) checks.check(t);
}

}  // namespace slipstream
