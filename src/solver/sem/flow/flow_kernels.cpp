// Pointwise kernels: forces on sides and running means of a flow.
#include <cmath>

#include <slipstream/launch.hpp>

#include "solver/sem/kernels.hpp"

namespace slipstream::sem {
inline namespace flow_kernels {

/// Number of points in a row of a launch, because cell coordinates are int and points may exceed 2^31.
constexpr std::int64_t row_of_flow = 256;
Box rows_of_flow(std::int64_t points) {
  return {{0, 0, 0}, {row_of_flow, (points + row_of_flow - 1) / row_of_flow, 1}};
}

struct Traction {
  TractionCall of;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t n = j * row_of_flow + i;
    if (n >= of.count) return;
    const std::int64_t point = of.points[n];
    for (int c = 0; c < 3; ++c) {
      double sum = 0;
      for (int a = 0; a < 3; ++a)
        sum = fma(of.gradients[c][a][point] + of.gradients[a][c][point], of.areas[a * of.count + n], sum);
      of.out[c * of.count + n] = of.p[point] * of.areas[c * of.count + n];
      of.out[(3 + c) * of.count + n] = -of.nu * sum;
    }
  }
};

struct AddToMeans {
  MeansCall of;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t p = j * row_of_flow + i;
    if (p >= of.points) return;
    const double u[3] = {of.u[0][p], of.u[1][p], of.u[2][p]};
    const auto add = [&](double* mean, double value) { mean[p] = fma(of.share, value - mean[p], mean[p]); };
    add(of.mean_p, of.p[p]);
    for (int c = 0; c < 3; ++c) {
      add(of.mean_u[c], u[c]);
      add(of.squares[c], u[c] * u[c]);
      add(of.products[c], u[c == 2 ? 1 : 0] * u[c == 0 ? 1 : 2]);
    }
  }
};

}  // namespace flow_kernels

void traction(Stream& stream, const TractionCall& call) {
  if (call.count > 0) launch(stream, rows_of_flow(call.count), Traction{call});
}

void add_to_means(Stream& stream, const MeansCall& call) {
  launch(stream, rows_of_flow(call.points), AddToMeans{call});
}

}  // namespace slipstream::sem
