#pragma once
#include <array>
#include <vector>

namespace slipstream {

/// A step to one of the 26 neighbours: each component -1, 0 or 1.
using Direction = std::array<int, 3>;

inline Direction opposite(const Direction& d) { return {-d[0], -d[1], -d[2]}; }

/// Neighbours with which a block exchanges values: those at faces, those at edges, too, or those at corners, too.
enum class Reach : unsigned char { faces, faces_and_edges, all };

/// Directions to the neighbours that an exchange reaches (6, 18 or 26; in two dimensions 4 or 8), in a fixed order.
std::vector<Direction> directions(Reach reach, int dimensions = 3);

}  // namespace slipstream
