#pragma once
#include <array>
#include <vector>

namespace slipstream {

/// A step to one of the 26 neighbours: each component -1, 0 or 1.
using Direction = std::array<int, 3>;

inline Direction opposite(const Direction& d) { return {-d[0], -d[1], -d[2]}; }

/// The neighbours of a block that a pattern reaches.
enum class Reach : unsigned char { faces, faces_and_edges, all };

/// The directions of a reach, fastest axis first, in a fixed order; `dimensions` = 2 leaves z alone.
std::vector<Direction> directions(Reach reach, int dimensions = 3);

}  // namespace slipstream
