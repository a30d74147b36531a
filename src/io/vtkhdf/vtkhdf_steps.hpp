#pragma once
#include <cstdint>
#include <limits>
#include <string>

#include "io/hdf5/hdf5_handle.hpp"

namespace slipstream {

/// Steps of a temporal VTKHDF file, of either kind.
struct VtkhdfSteps {
  std::int64_t count = 0;
  double last_time = -std::numeric_limits<double>::infinity();
};

/// Replaces the number of steps that readers see.
void write_step_count(const Hdf5Handle& file, std::int64_t steps);

/// Leaves the steps up to a time, give or take rounding; what the later ones wrote stays behind and may be overwritten.
VtkhdfSteps keep_steps(const Hdf5Handle& file, double up_to);

/// A number of a dataset that has one for each step.
std::int64_t number_of_step(const Hdf5Handle& file, const std::string& name, std::int64_t step);

}  // namespace slipstream
