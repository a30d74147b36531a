#pragma once
#include <cstdint>
#include <vector>

#include <slipstream/mesh.hpp>

namespace slipstream {

/// One side of a triangle. `forward`: whether the triangle traverses it from the smaller to the larger vertex number.
struct EdgeUse {
  std::int32_t low, high;
  std::int32_t triangle;
  bool forward;
  bool same_edge(const EdgeUse& other) const { return low == other.low && high == other.high; }
};

/// All sides of all triangles, grouped by edge. Sides from a vertex to itself are omitted; such a triangle contributes
/// its other two sides, which cancel.
std::vector<EdgeUse> edge_uses(const Mesh& mesh);

/// Calls visit(first, last) for each edge; its sides of triangles are uses[first] to uses[last - 1].
template <class Visit>
void for_each_edge(const std::vector<EdgeUse>& uses, const Visit& visit) {
  for (std::size_t first = 0, last = 0; first < uses.size(); first = last) {
    while (last < uses.size() && uses[last].same_edge(uses[first])) ++last;
    visit(first, last);
  }
}

}  // namespace slipstream
