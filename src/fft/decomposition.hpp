#pragma once
// Computes how each stage of a transform is decomposed. The functions compute numbers and allocate no fields.
#include <array>
#include <cstdint>
#include <vector>

#include <slipstream/fft.hpp>
#include <slipstream/transpose.hpp>

#include "fft/lines.hpp"

namespace slipstream::fft {

/// Stages between transforms. Axes are in the order of memory, fastest first:
///
/// - `physical`: x, y, z, with x whole.
/// - `middle`: y, x, z, with y whole; pencils only.
/// - `spectral`: z, x, y, with z whole.
/// - `natural`: as `physical`.
///
/// The first number of the process grid cuts a stage's second axis, the second number its third. A move therefore stays
/// within a row or a column of the process grid.
enum class Stage : std::uint8_t { physical, middle, spectral, natural };

struct Decomposition {
  Decomposition(const Machine& machine, const Extent& cells, const FftOptions& options);

  Extent cells{}, modes{};     ///< extents along x, y, z: `cells` of physical space, `modes` of the spectrum
  Extent highest{-1, -1, -1};  ///< highest wavenumber |k| in use along each axis
  std::array<int, 2> process{1, 1};
  int devices = 1;
  int lanes = 1;  ///< number of components that are in progress at the same time
  bool real = false, twice = false, transposed = true;

  bool alone() const { return devices == 1; }
  bool pencils() const { return process[0] > 1; }
  DType complex_type() const { return twice ? DType::c128 : DType::c64; }
  /// Bytes of a real number; a complex value takes twice as many.
  std::int64_t word() const { return twice ? 8 : 4; }

  /// For each array axis in this stage of the FFT, the coordinate axis stored along it: 0, 1 or 2 for x, y or z.
  static const std::array<int, 3>& axes(Stage stage);
  /// Extent of all modes, or with `of_cells` of all values in physical space.
  Extent extent(Stage stage, bool of_cells = false) const;
  /// Blocks of the devices that hold values in this stage.
  std::vector<Block> blocks(Stage stage, bool of_cells = false) const;
  /// Number of values in a device's block; 0 if the device has no block.
  std::int64_t volume_on(int device, Stage stage, bool of_cells = false) const;
  /// Data layouts (stages) to which the transposes of a forward transform bring values, in order; none on one device.
  std::vector<Stage> path() const;
  /// Index ranges along each axis of a stage that a move carries. The next forward move takes them from the stage; a
  /// backward move brings them to it. Along transformed axes these are the modes in use.
  std::array<std::vector<Transpose::Range>, 3> kept(Stage stage) const;
  bool truncates(Stage stage) const;
  /// Process grids worth measuring, slabs first. Their largest part is at most 1.5 times that of the best grid.
  std::vector<std::array<int, 2>> candidates() const;
  /// Bytes of both work arrays of a device.
  std::array<std::int64_t, 2> work_bytes(int device) const;

  /// Lines to transform in a block of given extent, with all modes. The function first() gives those along x, and along
  /// y for slabs; in_place() along the block's first axis; alone_along_z() along z, on a single device.
  LineBatch first(const Extent& block, bool forward) const;
  LineBatch in_place(const Extent& block, bool forward) const;
  /// Lines of the backward transform of a slab. The function first_two() gives complex values along z and x of the
  /// spectrum; permuted() along y, from order y, x, z to x, y, z; back_along_x() real values along x.
  LineBatch first_two(const Extent& block) const;
  LineBatch permuted(const Extent& block) const;
  LineBatch back_along_x(const Extent& block) const;
  LineBatch last(const Extent& block, bool forward) const;  ///< 1D FFTs along the block's first axis, out of place
  LineBatch alone_along_z(bool forward) const;
  /// Lines that are transformed backward from a transposed spectrum, by our own GPU kernels. These can apply an
  /// operation to modes while they read.
  LineBatch alone_permuted() const;

 private:
  void choose(std::array<int, 2> wanted);
  /// Cells or modes that a device holds in a stage of the transform (between transposes); empty if it has none.
  Block block_of(int device, Stage stage, bool of_cells) const;
  double largest_share(std::array<int, 2> process) const;
  LineBatch complex(bool forward) const;
};

}  // namespace slipstream::fft
