#pragma once
#include <array>
#include <cstdint>

namespace slipstream {

/// A lattice link that a body's surface cuts. It starts at the centre of a fluid cell and leads along one direction of
/// the caller's list. Interpolated bounce-back uses it (Bouzidi, Firdaouss & Lallemand 2001).
struct Cut {
  std::array<std::int32_t, 3> cell{0, 0, 0};  ///< global coordinates of the fluid cell, x first
  std::uint16_t direction = 0;                ///< direction of the link: an index in the caller's list
  std::uint16_t body = 0;                     ///< number of the first body along the link
  std::int32_t triangle = -1;  ///< triangle of that body's mesh; -1: one end of the link only touches the surface
  float q = 1;                 ///< position of the surface, as a fraction of the link in (0, 1]
  /// Whether the link passes through the whole body into fluid, where its surface faces the opposite way. False for a
  /// link that clips an edge or grazes a round body: both surfaces that it crosses face much the same way.
  bool through = false;
  bool operator==(const Cut&) const = default;
};

}  // namespace slipstream
