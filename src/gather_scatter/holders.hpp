#pragma once
// Holders of an id: the blocks that have it. The lists of gather-scatters are compiled from them.
#include <cstdint>
#include <tuple>
#include <vector>

#include <slipstream/gather_scatter.hpp>

#include "device/in_parallel.hpp"
#include "gather_scatter/copies.hpp"

namespace slipstream {

/// Maximum number of points of a device, because lists hold 32-bit indices.
constexpr std::int64_t most_points = std::int64_t{1} << 32;

struct Point {
  std::int64_t id;
  std::uint32_t index;
  bool operator<(const Point& other) const { return std::tie(id, index) < std::tie(other.id, other.index); }
};

/// An array of points whose memory is not zeroed: threads write the points first.
using Points = Unset<Point>;

/// A point's global id, and a block (with its device) that has a copy of this point.
struct Holder {
  std::int64_t id, block, device;
  bool operator<(const Holder& other) const { return std::tie(id, block) < std::tie(other.id, other.block); }
};

/// Calls f(first, last) for each run of items with equal ids.
template <class Items, class F>
void each_id(const Items& items, const F& f) {
  for (std::size_t first = 0; first < items.size();) {
    std::size_t last = first + 1;
    while (last < items.size() && items[last].id == items[first].id) ++last;
    f(first, last);
    first = last;
  }
}

inline std::int64_t block_of(const SharedPoints& points, const Point& point) {
  return points.first_block + point.index / points.block;
}

class SortedPoints;

/// Makes a device's gather-scatter lists: which points to combine, send and receive. `asked`: points whose ids other
/// devices may have. `shared`: for ids that several devices have, the blocks with them, sorted by id, then block.
Copies copies_of(int device, const SharedPoints& points, SortedPoints& sorted, const Points& asked,
                 const std::vector<Holder>& shared, bool unique, bool host_packed);

}  // namespace slipstream
