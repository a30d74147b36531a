#pragma once
#include <cstdint>
#include <limits>
#include <string>

#include "io/hdf5/hdf5_handle.hpp"

namespace slipstream {

/// Numbers of the steps in a temporal VTKHDF file, for files of cells and of hexahedra alike.
struct VtkhdfSteps {
  std::int64_t count = 0;
  double last_time = -std::numeric_limits<double>::infinity();
};

/// Replaces the step count that readers see.
void write_step_count(const Hdf5Handle& file, std::int64_t steps);

/// Keeps a file's steps up to a time, within rounding. Data of later steps stay in the file and may be overwritten.
VtkhdfSteps keep_steps(const Hdf5Handle& file, double up_to);

/// Reads the entry of one step in a dataset that has one number per step.
std::int64_t number_of_step(const Hdf5Handle& file, const std::string& name, std::int64_t step);

}  // namespace slipstream
