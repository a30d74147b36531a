#include "geometry/mesh_edges.hpp"

#include <algorithm>
#include <tuple>

namespace slipstream {

std::vector<EdgeUse> edge_uses(const Mesh& mesh) {
  std::vector<EdgeUse> uses;
  uses.reserve(3 * mesh.triangles.size());
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    for (int corner = 0; corner < 3; ++corner) {
      const auto a = mesh.triangles[t][corner], b = mesh.triangles[t][(corner + 1) % 3];
      if (a != b) uses.push_back({std::min(a, b), std::max(a, b), static_cast<std::int32_t>(t), a < b});
    }
  std::sort(uses.begin(), uses.end(), [](const EdgeUse& a, const EdgeUse& b) {
    return std::tie(a.low, a.high, a.triangle) < std::tie(b.low, b.high, b.triangle);
  });
  return uses;
}

}  // namespace slipstream
