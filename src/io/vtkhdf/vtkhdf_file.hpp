#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/box.hpp>
#include <slipstream/field.hpp>

#include "io/hdf5/hdf5_file.hpp"
#include "io/vtkhdf/vtkhdf_steps.hpp"

namespace slipstream {

/// A dataset of /Series, [row][z][y][x] or [row][z][y][x][component], that /VTKHDF/CellData refers to. A time step
/// refers to one of its rows; several steps may share a row.
struct VtkhdfArray {
  std::string name;
  DType type = DType::f32;
  int components = 1;
  std::string unit{};
  std::int64_t row = 0;  ///< row of the dataset that the step refers to
  bool fresh = true;     ///< whether the time step writes a new row of the dataset, instead of sharing an earlier one
};

/// The serial operations on a temporal VTKHDF file: everything except the values. Each opens and closes the file
/// without locks, so that a viewer with an open file does not stop a run.

/// Creates a file without steps; replaces an existing file if `overwrite` is set.
void create_vtkhdf(const std::string& path, const Extent& extent, const std::array<double, 3>& origin,
                   const std::array<double, 3>& spacing, bool overwrite);

/// Prepares a file to be continued after its steps up to a time, with the arrays of the last of them. Throws Error for
/// a damaged file or another grid, and leaves the file unchanged.
VtkhdfSteps go_on_with_vtkhdf(const std::string& path, const Extent& extent, double up_to,
                              std::vector<VtkhdfArray>& arrays);

/// Extends the datasets by the new rows and reserves disk space. If the disk is too full, throws and leaves the file
/// unchanged.
void reserve_rows(const std::string& path, const Extent& extent, const std::vector<VtkhdfArray>& arrays);

/// Makes a completely written step visible to readers.
void commit_step(const std::string& path, std::int64_t step, double time, const std::vector<VtkhdfArray>& arrays);

/// Path of the dataset with an array's values.
std::string values_path(const std::string& name);
/// Hyperslab of a box of cells, [z][y][x][component], in the dataset's row to which the step refers.
Hdf5Slab slab_of(const VtkhdfArray& array, const Box& box);

}  // namespace slipstream
