#pragma once
// The metric of an element with straight edges, from its corners.
#include <slipstream/device/function.hpp>

namespace slipstream::sem {

/// Computes the metric of x(r, s, t), the trilinear map of eight corners, [component][corner] with r changing fastest.
/// `g` becomes w |J| grad a . grad b in the order rr rs rt ss st tt. Returns w |J|.
SLIP_FN double trilinear_products(const double* corners, double r, double s, double t, double w, double* g) {
  double along[3][3];
  for (int d = 0; d < 3; ++d) {
    const double* x = corners + 8 * d;
    // Differences of coordinates along the four edges of each direction. Derivatives are weighted means of the
    // differences.
    const double r0 = x[1] - x[0], r1 = x[3] - x[2], r2 = x[5] - x[4], r3 = x[7] - x[6];
    const double s0 = x[2] - x[0], s1 = x[3] - x[1], s2 = x[6] - x[4], s3 = x[7] - x[5];
    const double t0 = x[4] - x[0], t1 = x[5] - x[1], t2 = x[6] - x[2], t3 = x[7] - x[3];
    along[0][d] = 0.125 * ((1 - t) * ((1 - s) * r0 + (1 + s) * r1) + (1 + t) * ((1 - s) * r2 + (1 + s) * r3));
    along[1][d] = 0.125 * ((1 - t) * ((1 - r) * s0 + (1 + r) * s1) + (1 + t) * ((1 - r) * s2 + (1 + r) * s3));
    along[2][d] = 0.125 * ((1 - s) * ((1 - r) * t0 + (1 + r) * t1) + (1 + s) * ((1 - r) * t2 + (1 + r) * t3));
  }
  double across[3][3];  // gradients of r, s and t times |J|
  for (int a = 0; a < 3; ++a) {
    const double *p = along[(a + 1) % 3], *q = along[(a + 2) % 3];
    for (int d = 0; d < 3; ++d) across[a][d] = p[(d + 1) % 3] * q[(d + 2) % 3] - p[(d + 2) % 3] * q[(d + 1) % 3];
  }
  const double determinant = along[0][0] * across[0][0] + along[0][1] * across[0][1] + along[0][2] * across[0][2];
  const double factor = w / determinant;
  int at = 0;
  for (int a = 0; a < 3; ++a)
    for (int b = a; b < 3; ++b, ++at)
      g[at] = factor * (across[a][0] * across[b][0] + across[a][1] * across[b][1] + across[a][2] * across[b][2]);
  return w * determinant;
}

}  // namespace slipstream::sem
