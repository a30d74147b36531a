#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <slipstream/box.hpp>

namespace slipstream {

/// What the target does with an arriving value.
enum class Op : std::uint8_t { copy, add, min, max, multiply };

/// Which values of a block: the cells of a box (local coordinates: 0 is the first interior cell, ghosts are negative
/// or beyond) times some components, component slowest, then z, y, x; or a list of elements, counted from interior
/// cell (0, 0, 0) of component 0, in the order of the list.
struct IndexSet {
  Box box;
  std::vector<int> components;
  std::shared_ptr<const std::vector<std::int64_t>> ids;

  std::int64_t size() const {
    return ids ? static_cast<std::int64_t>(ids->size()) : box.volume() * static_cast<std::int64_t>(components.size());
  }
};

/// Values that go from one block to another; both sides list equally many, in the same order. Of boxes: axis a of the
/// source's is axis axes[a] of the target's, so that both are equally long.
struct Transfer {
  std::int64_t source_block = 0;
  std::int64_t target_block = 0;
  IndexSet source;
  IndexSet target;
  Op op = Op::copy;
  std::array<int, 3> axes{0, 1, 2};
};

}  // namespace slipstream
