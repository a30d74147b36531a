#include <slipstream/box.hpp>

#include <algorithm>

namespace slipstream {

std::string to_string(const Extent& e) {
  return std::to_string(e[0]) + " x " + std::to_string(e[1]) + " x " + std::to_string(e[2]);
}

bool Box::contains(const Extent& p) const {
  for (int a = 0; a < 3; ++a)
    if (p[a] < lo[a] || p[a] >= hi[a]) return false;
  return true;
}

Box intersection(const Box& a, const Box& b) {
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    box.lo[axis] = std::max(a.lo[axis], b.lo[axis]);
    box.hi[axis] = std::max(box.lo[axis], std::min(a.hi[axis], b.hi[axis]));
  }
  return box;
}

Box shifted(const Box& box, const Extent& by) {
  Box moved = box;
  for (int a = 0; a < 3; ++a) {
    moved.lo[a] += by[a];
    moved.hi[a] += by[a];
  }
  return moved;
}

Box grown(const Box& box, const Extent& width) {
  Box wide = box;
  for (int a = 0; a < 3; ++a) {
    wide.lo[a] -= width[a];
    wide.hi[a] += width[a];
  }
  return wide;
}

InteriorAndBoundary split_boundary(const Box& box, const Margins& margins) {
  InteriorAndBoundary split;
  Box rest = box;
  // Slabs along z come first: they are contiguous in memory. The noncontiguous x slabs are then the smallest.
  for (int a = 2; a >= 0; --a) {
    const std::int64_t low = std::min(rest.lo[a] + margins.low[a], rest.hi[a]);
    const std::int64_t high = std::max(low, rest.hi[a] - margins.high[a]);
    Box below = rest, above = rest;
    below.hi[a] = low;
    above.lo[a] = high;
    rest.lo[a] = low;
    rest.hi[a] = high;
    for (const Box& slab : {below, above})
      if (!slab.empty()) split.boundary.push_back(slab);
  }
  split.interior = rest.empty() ? Box{} : rest;
  return split;
}

}  // namespace slipstream
