#pragma once
// All permutations of three axes.
#include <array>

namespace slipstream {

using Axes = std::array<int, 3>;
constexpr std::array<Axes, 6> permutations{{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {1, 0, 2}, {0, 2, 1}}};

}  // namespace slipstream
