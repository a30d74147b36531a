#pragma once
// A pattern whose transfers a test lists explicitly.
#include <memory>
#include <utility>
#include <vector>

#include <slipstream/pattern.hpp>

namespace slipstream {

class Listed final : public Pattern {
 public:
  explicit Listed(std::vector<Transfer> transfers, Op op = Op::copy) : transfers_(std::move(transfers)), op_(op) {}
  std::string name() const override { return "listed"; }
  Op op() const override { return op_; }
  /// Listed transfers from or to blocks of this rank, and those with ids of blocks that the grid lacks.
  std::vector<Transfer> transfers(const Grid& grid, int, const Extent&, int rank) const override {
    const auto blocks = static_cast<std::int64_t>(grid.blocks().size());
    const auto touches = [&](std::int64_t block) {
      return block < 0 || block >= blocks || grid.block(block).rank == rank;
    };
    std::vector<Transfer> found;
    for (const Transfer& t : transfers_)
      if (touches(t.source_block) || touches(t.target_block)) found.push_back(t);
    return found;
  }
  const std::vector<Transfer>& all() const { return transfers_; }

 private:
  std::vector<Transfer> transfers_;
  Op op_;
};

inline IndexSet cells_of(const Box& box, std::vector<int> components = {0}) {
  return {box, std::move(components), nullptr};
}
/// Index set from a list of array indices, counted from interior cell (0, 0, 0) of component 0.
inline IndexSet elements_of(std::vector<std::int64_t> ids) {
  return {{}, {}, std::make_shared<const std::vector<std::int64_t>>(std::move(ids))};
}

}  // namespace slipstream
