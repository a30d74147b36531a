#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <slipstream/mesh.hpp>

namespace slipstream {

/// Triangulates a polygon into n - 2 triangles. If it is planar and simple, the diagonals are inside its outline. The
/// triangles always have the same outline, so a closed surface of polygons gives a closed surface of triangles.
void triangulate(const std::vector<Point>& vertices, std::span<const std::int32_t> polygon,
                 std::vector<std::array<std::int32_t, 3>>& triangles);

}  // namespace slipstream
