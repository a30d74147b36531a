#pragma once
#include <slipstream/field.hpp>
#include <slipstream/launch.hpp>

namespace slipstream {

SLIP_FN std::int64_t at(const View<double>& v, int i, int j, int k) {
  return i * v.stride[0] + j * v.stride[1] + k * v.stride[2];
}

/// Kernel that adds the contribution of a block to a dot product, cell by cell.
struct Dot {
  View<double> a, b;
  Extent extent;
  double* part;
  SLIP_FN void operator()(int, int, int) const {
    double sum = 0;
    for (int k = 0; k < extent[2]; ++k)
      for (int j = 0; j < extent[1]; ++j)
        for (int i = 0; i < extent[0]; ++i) sum += a.origin[at(a, i, j, k)] * b.origin[at(b, i, j, k)];
    *part = sum;
  }
};

}  // namespace slipstream
