#pragma once
// Helpers of finite difference tests: pseudo-random values, the whole field, options.
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include <slipstream/gather.hpp>
#include <slipstream/stencil_solver.hpp>

namespace slipstream::stencil {

constexpr double pi = std::numbers::pi;

inline double scrambled(std::int64_t i, std::int64_t j, std::int64_t k) {
  const auto n = static_cast<std::uint32_t>(i * 73856093 ^ j * 19349663 ^ k * 83492791);
  return static_cast<double>((n * 2654435761u) >> 16 & 4095) / 4096;
}

inline Values of(const std::function<double(std::int64_t, std::int64_t, std::int64_t)>& value) {
  return [value](const Box& box) {
    std::vector<double> all;
    for (std::int64_t k = box.lo[2]; k < box.hi[2]; ++k)
      for (std::int64_t j = box.lo[1]; j < box.hi[1]; ++j)
        for (std::int64_t i = box.lo[0]; i < box.hi[0]; ++i) all.push_back(value(i, j, k));
    return all;
  };
}

/// The whole field as f64, on all ranks.
inline std::vector<double> whole(Stencil& run) {
  const Field& field = run.field("u");
  const std::vector<std::byte> bytes = gather(run.communicator(), field, run.grid().box());
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text = run.communicator().broadcast(text, 0);
  std::vector<double> values(static_cast<std::size_t>(run.grid().box().volume()));
  for (std::size_t n = 0; n < values.size(); ++n)
    values[n] = field.options().type == DType::f32 ? reinterpret_cast<const float*>(text.data())[n]
                                                   : reinterpret_cast<const double*>(text.data())[n];
  return values;
}

inline Options heat(Extent cells, std::array<bool, 3> periodic) {
  Options options;
  options.cells = cells;
  options.periodic = periodic;
  options.precision = DType::f64;
  options.diffusivity = 0.7;
  options.spacing = 0.5;
  return options;
}

/// Value at a cell of the whole grid, or at one beyond its sides by the boundary condition.
inline double value_at(const Options& options, const std::vector<double>& u, Extent p) {
  const Extent& n = options.cells;
  double sign = 1;
  for (int a = 0; a < 3; ++a) {
    if (n[a] == 1) p[a] = 0;
    if (options.periodic[a]) p[a] = (p[a] + n[a]) % n[a];
    if (p[a] >= 0 && p[a] < n[a]) continue;
    // Beyond a side with a fixed value, values are odd about the first ghost cell's centre; else even about the side.
    const bool fixed = options.sides.of[a][p[a] < 0 ? 0 : 1] == Sides::fixed;
    if (fixed && (p[a] == -1 || p[a] == n[a])) return 0;
    if (fixed) sign = -sign;
    p[a] = (p[a] < 0 ? -1 : 2 * n[a] - 1) - p[a] + (!fixed ? 0 : p[a] < 0 ? -1 : 1);
  }
  return sign * u[static_cast<std::size_t>((p[2] * n[1] + p[1]) * n[0] + p[0])];
}
/// The 27-point Laplacian times the square of the spacing: weights by the squared distance of a neighbour.
constexpr double cube_weights[] = {-128. / 30, 14. / 30, 3. / 30, 1. / 30};

inline double largest_off(const std::vector<double>& a, const std::vector<double>& b) {
  double off = 0;
  for (std::size_t n = 0; n < a.size(); ++n) off = std::max(off, std::abs(a[n] - b[n]));
  return off;
}

}  // namespace slipstream::stencil
