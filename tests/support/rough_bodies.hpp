#pragma once
// Random solid cells with random cut links.
#include <cstdint>
#include <vector>

#include <slipstream/lbm.hpp>

#include "solver/lbm/links/links.hpp"

namespace slipstream::lbm {

/// One cell in six is solid and belongs to one of three bodies. The links of the last body are half-way.
inline Surfaces rough_bodies(const Extent& e, std::uint64_t seed) {
  const auto drawn = [e, seed](const Extent& p, std::uint64_t more) {
    std::uint64_t n = seed;
    for (int a = 2; a >= 0; --a) n = n * e[a] + (p[a] + e[a]) % e[a];
    n = (32 * n + more + 1) * 0x9e3779b97f4a7c15u;
    return (n ^ n >> 29) * 0xbf58476d1ce4e5b9u >> 40;
  };
  const auto holds = [drawn](const Extent& p) { return drawn(p, 0) % 6 == 0; };
  Surfaces s;
  s.names = {"first", "second", "half_way"};
  s.half_way = {false, false, true};
  s.solid = [=](const Box& box) {
    std::vector<std::uint16_t> found;
    for_each_cell(
        box, [&](const Extent& p) { found.push_back(static_cast<std::uint16_t>(holds(p) ? 1 + drawn(p, 1) % 3 : 0)); });
    return found;
  };
  s.cuts = [=](const Box& box, const std::vector<Direction>& directions) {
    std::vector<Cut> all;
    for_each_cell(box, [&](const Extent& p) {
      if (holds(p)) return;
      for (std::size_t n = 0; n < directions.size(); ++n) {
        const Direction& d = directions[n];
        if (!holds({p[0] + d[0], p[1] + d[1], p[2] + d[2]})) continue;
        Cut cut;
        for (int a = 0; a < 3; ++a) cut.cell[a] = static_cast<std::int32_t>(p[a]);
        cut.direction = static_cast<std::uint16_t>(n);
        cut.q = 0.02f + 0.01f * static_cast<float>(drawn(p, 2 + n) % 97);
        all.push_back(cut);
      }
    });
    return all;
  };
  return s;
}

}  // namespace slipstream::lbm
