#pragma once
// How the values of a transform are cut at each of its stages, as numbers: nothing here allocates.
#include <array>
#include <cstdint>
#include <vector>

#include <slipstream/fft.hpp>
#include <slipstream/transpose.hpp>

#include "fft/lines.hpp"

namespace slipstream::fft {

/// The stages between transforms. Axes in the order of memory, fastest first:
/// `physical` x, y, z with x whole; `middle` y, x, z with y whole, of pencils alone; `spectral` z, x, y with z whole;
/// `natural` is `physical` once more. Each is cut along its second axis by the first number of the process grid and
/// along its third by the second, so that what moves stays within a row or a column of it.
enum class Stage : std::uint8_t { physical, middle, spectral, natural };

struct Decomposition {
  Decomposition(const Machine& machine, const Extent& cells, const FftOptions& options);

  Extent cells{}, modes{};     ///< x, y, z
  Extent highest{-1, -1, -1};  ///< |k_a| of modes that are used
  std::array<int, 2> process{1, 1};
  int devices = 1;
  int lanes = 1;  ///< components under way at once
  bool real = false, twice = false, transposed = true;

  bool alone() const { return devices == 1; }
  bool pencils() const { return process[0] > 1; }
  DType complex_type() const { return twice ? DType::c128 : DType::c64; }
  /// Bytes of a number; a complex one has two.
  std::int64_t word() const { return twice ? 8 : 4; }

  /// Which axis of x, y, z lies along each axis of a stage.
  static const std::array<int, 3>& axes(Stage stage);
  /// Of all modes, or with `cells` of all values in physical space.
  Extent extent(Stage stage, bool of_cells = false) const;
  /// Blocks of those devices that hold something.
  std::vector<Block> blocks(Stage stage, bool of_cells = false) const;
  /// Values of a device's block; 0 where it has none.
  std::int64_t volume_on(int device, Stage stage, bool of_cells = false) const;
  /// The stages of a forward transform after its first lines; those that the values move to.
  std::vector<Stage> path() const;
  /// Along each axis of a stage, the cells that the next move of a forward transform takes from it, or that of a
  /// backward one brings to it: of axes that are transformed there, modes that are used.
  std::array<std::vector<Transpose::Range>, 3> kept(Stage stage) const;
  bool truncates(Stage stage) const;
  /// Process grids that are worth measuring, slabs first: those whose largest part is at most half as large again as
  /// that of the best.
  std::vector<std::array<int, 2>> candidates() const;
  /// Bytes of the two arrays between which a device's values go to and fro.
  std::array<std::int64_t, 2> work_bytes(int device) const;

  /// Lines of a block of a stage of all modes, by its extent: along x, and y where slabs hold it; then along the
  /// block's first axis in place; and along z where one device holds all.
  LineBatch first(const Extent& block, bool forward) const;
  LineBatch in_place(const Extent& block, bool forward) const;
  /// Of a slab, backward: of complex values along z and x of its spectrum; along y from y, x, z to x, y, z; and of real
  /// values along x.
  LineBatch first_two(const Extent& block) const;
  LineBatch turned(const Extent& block) const;
  LineBatch back_along_x(const Extent& block) const;
  LineBatch last(const Extent& block, bool forward) const;  ///< not in place
  LineBatch alone_along_z(bool forward) const;
  /// Backward, of a transposed spectrum, by the kernels of GPUs: through an operation on modes.
  LineBatch alone_turned() const;

 private:
  void choose(std::array<int, 2> wanted);
  Block block_of(int device, Stage stage, bool of_cells) const;  ///< empty where it has none
  double largest_share(std::array<int, 2> process) const;
  LineBatch complex(bool forward) const;
};

}  // namespace slipstream::fft
