#include "io/vtkhdf/vtkhdf_steps.hpp"

#include <algorithm>
#include <cmath>
#include <slipstream/error.hpp>
#include <vector>

#include "io/hdf5/hdf5_file.hpp"

namespace slipstream {
namespace {

const std::string times = "/VTKHDF/Steps/Values";

Hdf5Handle open_steps(const Hdf5Handle& file) {
  return {H5Gopen2(file.get(), "/VTKHDF/Steps", H5P_DEFAULT), H5Gclose, "opening the group Steps"};
}

template <class T>
std::vector<T> read_numbers(const Hdf5Handle& file, const std::string& name, hid_t type) {
  const Hdf5Handle dataset = open_dataset(file, name);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose, "reading the size of " + name);
  std::vector<T> numbers(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
  hdf5_check(H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()), "reading " + name);
  return numbers;
}

}  // namespace

void write_step_count(const Hdf5Handle& file, std::int64_t steps) {
  const Hdf5Handle group = open_steps(file);
  if (H5Aexists(group.get(), "NSteps") <= 0) return write_attribute(group, "NSteps", H5T_NATIVE_INT64, {1}, &steps);
  const Hdf5Handle count(H5Aopen(group.get(), "NSteps", H5P_DEFAULT), H5Aclose, "opening the attribute NSteps");
  hdf5_check(H5Awrite(count.get(), H5T_NATIVE_INT64, &steps), "writing the attribute NSteps");
}

VtkhdfSteps keep_steps(const Hdf5Handle& file, double up_to) {
  const std::vector<double> all = read_numbers<double>(file, times, H5T_NATIVE_DOUBLE);
  const Hdf5Handle group = open_steps(file);
  const Hdf5Handle count(H5Aopen(group.get(), "NSteps", H5P_DEFAULT), H5Aclose, "opening the attribute NSteps");
  std::int64_t steps = 0;
  hdf5_check(H5Aread(count.get(), H5T_NATIVE_INT64, &steps), "reading the attribute NSteps");
  require(steps >= 0 && steps <= static_cast<std::int64_t>(all.size()), ErrorCode::bad_file, "its steps have no times");
  constexpr double rounding = 1e-9;
  VtkhdfSteps kept;
  while (kept.count < steps && all[static_cast<std::size_t>(kept.count)] <= up_to + rounding * std::abs(up_to))
    kept.last_time = all[static_cast<std::size_t>(kept.count++)];
  if (kept.count < steps) {
    write_step_count(file, kept.count);
    const auto size = static_cast<hsize_t>(kept.count);
    hdf5_check(H5Dset_extent(open_dataset(file, times).get(), &size), "shrinking the dataset " + times);
  }
  return kept;
}

std::int64_t number_of_step(const Hdf5Handle& file, const std::string& name, std::int64_t step) {
  const std::vector<std::int64_t> all = read_numbers<std::int64_t>(file, name, H5T_NATIVE_INT64);
  require(step >= 0 && step < static_cast<std::int64_t>(all.size()), ErrorCode::bad_file,
          "'" + name + "' ends before its step");
  return all[static_cast<std::size_t>(step)];
}

}  // namespace slipstream
