#include <slipstream/stencil.hpp>

#include <cstdlib>

namespace slipstream {

std::vector<Direction> directions(Reach reach, int dimensions) {
  const int most = reach == Reach::faces ? 1 : reach == Reach::faces_and_edges ? 2 : 3;
  const int deep = dimensions == 2 ? 0 : 1;
  std::vector<Direction> found;
  for (int z = -deep; z <= deep; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x) {
        const int distance = std::abs(x) + std::abs(y) + std::abs(z);
        if (distance >= 1 && distance <= most) found.push_back({x, y, z});
      }
  return found;
}

}  // namespace slipstream
