#pragma once
// Wave numbers of a block of modes.
#include <cstdint>

#include <slipstream/box.hpp>

#include <slipstream/device/function.hpp>

namespace slipstream::dns {

/// A block of the spectrum of real fields, with axes transposed: index i counts k_z, j counts k_x, k counts k_y.
struct ModeGrid {
  int cells[3];                ///< number of cells of the whole box along x, y, z
  int first[3];                ///< index of the block's first mode along x, y, z
  int extent[3];               ///< number of modes of the block along i, j, k
  int highest[3];              ///< largest |k_a| of a mode that is kept
  double wave[3] = {1, 1, 1};  ///< 2 pi over the box's edges along x, y, z
  double shell = 1;            ///< width of a spectral shell: the smallest wave number 2 pi / edge of the box
  int before = 0;              ///< if planes are cut along x into pieces: number of modes in the pieces before
  int of_all = 0;              ///< if planes are cut along x into pieces: number of modes in all of them; else 0
  bool round = false;          ///< whether only modes with sum of (k_a / n_a)^2 < 2/9 are kept

  SLIP_FN static int wrapped(int index, int n) { return 2 * index > n ? index - n : index; }
  SLIP_FN int kx(int j) const { return first[0] + j; }
  SLIP_FN int ky(int k) const { return wrapped(first[1] + k, cells[1]); }
  SLIP_FN int kz(int i) const { return wrapped(first[2] + i, cells[2]); }
  SLIP_FN std::int64_t at(int i, int j, int k) const {
    return (static_cast<std::int64_t>(k) * extent[1] + j) * extent[0] + i;
  }
  /// Index of a line of modes along z in whole planes of constant k_y, also if this block has only some of their k_x.
  SLIP_FN std::int64_t line(int j, int k) const {
    return static_cast<std::int64_t>(k) * (of_all > 0 ? of_all : extent[1]) + before + j;
  }
  SLIP_FN std::int64_t volume() const { return static_cast<std::int64_t>(extent[0]) * extent[1] * extent[2]; }
  SLIP_FN bool kept(int kx, int ky, int kz) const {
    return kx <= highest[0] && ky <= highest[1] && -ky <= highest[1] && kz <= highest[2] && -kz <= highest[2];
  }
  /// Whether a Fourier mode is not truncated: kept() holds, and with `round` its wave numbers lie in an ellipsoid.
  SLIP_FN bool holds(int kx, int ky, int kz) const {
    if (!kept(kx, ky, kz)) return false;
    if (!round) return true;
    const double x = static_cast<double>(kx) / cells[0], y = static_cast<double>(ky) / cells[1],
                 z = static_cast<double>(kz) / cells[2];
    return 9 * (x * x + y * y + z * z) < 2 * (1 - 1e-12);
  }
  SLIP_FN bool stretched() const { return wave[0] != 1 || wave[1] != 1 || wave[2] != 1; }
  /// |k|^2 from integer wave numbers; exact where it is an integer.
  SLIP_FN double square(int kx, int ky, int kz) const {
    const double x = kx * wave[0], y = ky * wave[1], z = kz * wave[2];
    return x * x + y * y + z * z;
  }
  /// |k|^2 in units of the squared width of a shell.
  SLIP_FN double shell_square(int kx, int ky, int kz) const {
    const double x = kx * (wave[0] / shell), y = ky * (wave[1] / shell), z = kz * (wave[2] / shell);
    return x * x + y * y + z * z;
  }
  /// Number of modes that a stored one represents: itself and its conjugate.
  SLIP_FN int weight(int kx) const { return kx == 0 || 2 * kx == cells[0] ? 1 : 2; }
  Box box() const { return {{0, 0, 0}, {extent[0], extent[1], extent[2]}}; }
};

}  // namespace slipstream::dns
