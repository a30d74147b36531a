#pragma once
// Helpers of spectral element tests: copy the values of a vector to and from a device.
#include <vector>

#include <slipstream/sem.hpp>

namespace slipstream::sem {

/// Copies the values of a vector to this rank's first device.
inline void set(Space& space, Vector& vector, const std::vector<double>& values) {
  copy(space.streams()[0], vector[0].data(), values.data(), vector[0].bytes());
  space.streams()[0].synchronize();
}

/// Copies the values of a vector from this rank's device d, which may have none.
inline std::vector<double> get(Space& space, const Vector& vector, std::size_t d = 0) {
  std::vector<double> values(vector[d].size());
  if (!values.empty()) copy(space.streams()[d], values.data(), vector[d].data(), vector[d].bytes());
  space.streams()[d].synchronize();
  return values;
}

}  // namespace slipstream::sem
