#pragma once
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// values[left] += values[right].
struct Addition {
  std::int32_t left = 0, right = 0;
};

/// Additions by level: those of one level do not meet.
using Levels = std::vector<std::vector<Addition>>;

/// Where a value goes once all is added.
struct Delivery {
  std::int32_t from = 0, to = 0;
};

/// The additions of one device, for several sums at once.
class TreeOnDevice {
 public:
  /// `values`: that are added, `results`: that come out; what no delivery writes becomes 0.
  TreeOnDevice(Device device, int values, const Levels& levels, const std::vector<Delivery>& deliveries, int results,
               int sums);
  /// Sum s finds its values at from + s * values, and leaves results at to + s * results.
  void run(Stream& stream, const double* from, double* to) const;

 private:
  int values_, results_, sums_, levels_, deliveries_;
  mutable Buffer<double> work_;
  Buffer<Addition> additions_;
  Buffer<std::int32_t> starts_;
  Buffer<Delivery> delivered_;
};

}  // namespace slipstream
