#pragma once
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// The operation values[left] += values[right].
struct Addition {
  std::int32_t left = 0, right = 0;
};

/// Additions by level; those of one level are independent.
using Levels = std::vector<std::vector<Addition>>;

/// Copies a sum to its place in the results.
struct Delivery {
  std::int32_t from = 0, to = 0;
};

/// Additions on one device, for several sums at once.
class TreeOnDevice {
 public:
  /// `values`: inputs per sum; `results`: outputs per sum. Results without a delivery become 0.
  TreeOnDevice(Device device, int values, const Levels& levels, const std::vector<Delivery>& deliveries, int results,
               int sums);
  /// Sum s reads its values at from + s * values and writes its results to to + s * results.
  void run(Stream& stream, const double* from, double* to) const;

 private:
  int values_, results_, sums_, levels_, deliveries_;
  mutable Buffer<double> work_;
  Buffer<Addition> additions_;
  Buffer<std::int32_t> starts_;
  Buffer<Delivery> delivered_;
};

}  // namespace slipstream
