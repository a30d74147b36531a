#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <slipstream/box.hpp>

namespace slipstream {

/// How a received value changes the value at its destination: replaces it, or is combined with it.
enum class Op : std::uint8_t { copy, add, min, max, multiply };

/// A set of values of a block: a box of cells times some components, or a list of elements. Boxes have local
/// coordinates: 0 is the first interior cell, ghosts are negative or beyond. Their order is component slowest, then z,
/// y, x. Listed elements are counted from interior cell (0, 0, 0) of component 0, in the order of the list.
struct IndexSet {
  Box box;
  std::vector<int> components;
  std::shared_ptr<const std::vector<std::int64_t>> ids;

  std::int64_t size() const {
    return ids ? static_cast<std::int64_t>(ids->size()) : box.volume() * static_cast<std::int64_t>(components.size());
  }
};

/// Values that one block sends to another. Both sides list the same number, in the same order. For boxes, axis a of the
/// source is axis axes[a] of the target, and both have the same length.
struct Transfer {
  std::int64_t source_block = 0;
  std::int64_t target_block = 0;
  IndexSet source;
  IndexSet target;
  Op op = Op::copy;
  std::array<int, 3> axes{0, 1, 2};
};

}  // namespace slipstream
