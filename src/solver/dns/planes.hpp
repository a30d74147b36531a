#pragma once
// Kernels between the two sweeps of an out-of-core flow. Planes z hold kept modes along x and y only: k_x ascends from
// 0, k_y ascends from 0 and then from the lowest negative one.
#include <slipstream/stream.hpp>

#include "solver/dns/kernels.hpp"

namespace slipstream::dns {

/// Extents of a sweep over planes of constant z, or over a piece of them with some modes along x.
struct PlaneGrid {
  int cells[2];   ///< number of cells along x and y
  int first;      ///< wave number k_x of the first Fourier mode along x that is processed
  int wide;       ///< number of modes along x that are processed; truncated ones are not counted
  int highest_y;  ///< largest |k_y| of a mode that is kept
  int planes;
  double wave[2] = {1, 1};  ///< 2 pi over the box's edges along x, y

  SLIP_FN int high() const { return 2 * highest_y + 1; }
  /// Index along y of the kept mode at position c.
  SLIP_FN int index_y(int c) const { return c <= highest_y ? c : c + cells[1] - high(); }
  /// Position of an index along y among the kept modes; -1: the mode is not kept.
  SLIP_FN int place_y(int y) const {
    return y <= highest_y ? y : y >= cells[1] - highest_y ? y - cells[1] + high() : -1;
  }
  SLIP_FN int ky(int y) const { return 2 * y > cells[1] ? y - cells[1] : y; }
  /// Offset of a mode in a field with layout [c][z][x].
  SLIP_FN std::int64_t at(int x, int c, int z) const { return (static_cast<std::int64_t>(c) * planes + z) * wide + x; }
  std::int64_t volume() const { return static_cast<std::int64_t>(high()) * planes * wide; }
};

/// Computes u, v, w and the derivatives of u and v along z, one field after the other, from the modes of some planes y.
template <class T>
void queue_along_z(Stream& stream, const ModeGrid& grid, const Three<T>& u, T* five);
/// Computes modes [z][x][y] of one component from kept modes [k_y][z][x]. Components: velocity, vorticity, then the
/// scalar gradients. They need velocity, scalars and some of their z derivatives.
template <class T>
void queue_columns(Stream& stream, const PlaneGrid& grid, int component, const T* fields, T* to);
/// Transposes [z][x][y] with kept modes along x to [z][y][x] with all modes along x.
template <class T>
void queue_rows(Stream& stream, const Extent& cells, int wide, const T* from, T* to);
/// Transposes Fourier modes from the layout [z][k_x][k_y] to [k_y][z][k_x], and keeps only modes with small |k_y|.
template <class T>
void queue_kept(Stream& stream, const PlaneGrid& grid, const T* from, T* to);

}  // namespace slipstream::dns
