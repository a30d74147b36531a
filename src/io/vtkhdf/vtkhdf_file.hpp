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

/// A dataset of /Series, [row][z][y][x] or [row][z][y][x][component], which /VTKHDF/CellData shows. A time step shows
/// one of its rows; several steps may show the same.
struct VtkhdfArray {
  std::string name;
  DType type = DType::f32;
  int components = 1;
  std::string unit{};
  std::int64_t row = 0;  ///< that the step shows
  bool fresh = true;     ///< the step also writes that row
};

/// The parts of a temporal VTKHDF file that one rank writes alone: all but the values. In each, the file is opened
/// and closed, without locks: a viewer that holds it open must not stop a run.

/// Makes a file with no steps (replacing an existing one with `overwrite`).
void create_vtkhdf(const std::string& path, const Extent& extent, const std::array<double, 3>& origin,
                   const std::array<double, 3>& spacing, bool overwrite);

/// Takes a file for one that goes on behind its steps up to a time, with the arrays as the last of them shows them.
/// Throws Error where it is damaged or of another grid, and leaves it as it is.
VtkhdfSteps go_on_with_vtkhdf(const std::string& path, const Extent& extent, double up_to,
                              std::vector<VtkhdfArray>& arrays);

/// Makes room for the fresh rows, on the disk too: throws with the file as it was where the disk is too full.
void reserve_rows(const std::string& path, const Extent& extent, const std::vector<VtkhdfArray>& arrays);

/// Makes a step whose values are all written visible to readers.
void commit_step(const std::string& path, std::int64_t step, double time, const std::vector<VtkhdfArray>& arrays);

/// The dataset with an array's values.
std::string values_path(const std::string& name);
/// Where a box of cells, [z][y][x][component], lies in it, in the row that the step shows.
Hdf5Slab slab_of(const VtkhdfArray& array, const Box& box);

}  // namespace slipstream
