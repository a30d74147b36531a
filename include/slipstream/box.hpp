#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace slipstream {

/// Three cell counts or cell coordinates, x first (x is the contiguous axis of a `soa` field, z that of `soa_z`).
using Extent = std::array<std::int64_t, 3>;

constexpr std::int64_t volume(const Extent& e) { return e[0] * e[1] * e[2]; }
/// Numbers of cells along x, y and z as text, such as "4 x 4 x 2".
std::string to_string(const Extent& e);

// A half-open box of cells [lo, hi). Its members are constexpr, so that kernels may call them, too. Two-dimensional
// boxes have one layer in z.
struct Box {
  Extent lo{0, 0, 0};
  Extent hi{0, 0, 0};

  constexpr std::int64_t extent(int axis) const { return hi[axis] - lo[axis]; }
  constexpr Extent extents() const { return {extent(0), extent(1), extent(2)}; }
  constexpr std::int64_t volume() const { return empty() ? 0 : extent(0) * extent(1) * extent(2); }
  constexpr bool empty() const { return extent(0) <= 0 || extent(1) <= 0 || extent(2) <= 0; }
  bool contains(const Extent& p) const;
  bool operator==(const Box&) const = default;
};

Box intersection(const Box& a, const Box& b);
Box shifted(const Box& box, const Extent& by);
/// The box grown by `width[axis]` on both sides of every axis.
Box grown(const Box& box, const Extent& width);

/// Widths in cells of a box's boundary region at the low and high end of each axis; the rest is the box's interior.
struct Margins {
  Extent low{0, 0, 0};
  Extent high{0, 0, 0};
};

/// Splits a box into its interior and at most six slabs of the boundary region. Together they cover every cell exactly
/// once. Margins that meet or cross leave an empty interior. Empty slabs are left out.
struct InteriorAndBoundary {
  Box interior;
  std::vector<Box> boundary;
};
InteriorAndBoundary split_boundary(const Box& box, const Margins& margins);

}  // namespace slipstream
