#pragma once
// Kernels between the two sweeps of an out-of-core flow. Planes z hold kept modes along x and y only: k_x from 0 on,
// k_y from 0 on and then from the lowest one on.
#include <slipstream/stream.hpp>

#include "solver/dns/kernels.hpp"

namespace slipstream::dns {

/// Some planes z, or a piece of them: some modes along x.
struct PlaneGrid {
  int cells[2];   ///< x, y
  int first;      ///< k_x
  int wide;       ///< kept modes along x
  int highest_y;  ///< |k_y|
  int planes;
  double wave[2] = {1, 1};  ///< 2 pi over the box's edges along x, y

  SLIP_FN int high() const { return 2 * highest_y + 1; }
  /// The index along y of place c among the kept ones.
  SLIP_FN int index_y(int c) const { return c <= highest_y ? c : c + cells[1] - high(); }
  /// The place of an index along y; -1: it is not kept.
  SLIP_FN int place_y(int y) const {
    return y <= highest_y ? y : y >= cells[1] - highest_y ? y - cells[1] + high() : -1;
  }
  SLIP_FN int ky(int y) const { return 2 * y > cells[1] ? y - cells[1] : y; }
  /// Index in a field [c][z][x].
  SLIP_FN std::int64_t at(int x, int c, int z) const { return (static_cast<std::int64_t>(c) * planes + z) * wide + x; }
  std::int64_t volume() const { return static_cast<std::int64_t>(high()) * planes * wide; }
};

/// Fields a, b, c and the derivatives of the first two along z, of the modes of some planes y, one after the other.
template <class T>
void queue_along_z(Stream& stream, const ModeGrid& grid, const Three<T>& u, T* five);
/// A component [z][x][y], all along y, from fields [c][z][x]: u, v, w and the vorticity from the first five, then the
/// three slopes of each scalar, from two fields each.
template <class T>
void queue_columns(Stream& stream, const PlaneGrid& grid, int component, const T* fields, T* to);
/// Transposes [z][x][y] with kept modes along x to [z][y][x] with all, for so many cells x, y, z.
template <class T>
void queue_rows(Stream& stream, const Extent& cells, int wide, const T* from, T* to);
/// Transposes [z][x][y] to [c][z][x].
template <class T>
void queue_kept(Stream& stream, const PlaneGrid& grid, const T* from, T* to);

}  // namespace slipstream::dns
