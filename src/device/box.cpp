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

namespace {

Extent plus(const Extent& a, std::int64_t factor, const Extent& b) {
  return {a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]};
}

}  // namespace

Box shifted(const Box& box, const Extent& by) { return {plus(box.lo, 1, by), plus(box.hi, 1, by)}; }

Box grown(const Box& box, const Extent& width) { return {plus(box.lo, -1, width), plus(box.hi, 1, width)}; }

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
