#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <slipstream/mesh.hpp>

namespace slipstream {

/// Appends the n - 2 triangles that a polygon is cut into, along diagonals inside of its outline where it is flat and
/// does not cross itself. Whatever its shape, its outline stays the outline of the triangles: a closed surface of
/// polygons becomes a closed surface of triangles.
void triangulate(const std::vector<Point>& vertices, std::span<const std::int32_t> polygon,
                 std::vector<std::array<std::int32_t, 3>>& triangles);

}  // namespace slipstream
