#pragma once
// Maps the threads (lanes) of a warp to cells of the blocks that are coded together. A thread holds four adjacent cells
// of a row. A run of 4 cells takes one thread; a run of 16 or a square of 4 x 4 takes 4; a cube of 4^3 cells takes 16.
// A warp holds 128 cells: 32, 8 or 2 blocks.
//
// On a GPU a lane's numbers are in registers, and pass from lane to lane without memory where possible.
#include <bit>
#include <cstdint>

#include <slipstream/device/function.hpp>
#include <slipstream/device/warp.hpp>

#include "coding/wire.hpp"

namespace slipstream {

constexpr int cells_of_lane = 4;

/// Scratch memory of the threads of a warp while they code blocks: 128 cells, and the words of their codes.
struct BlockScratch {
  std::uint64_t cells[128];
  std::uint64_t words[128];
};

/// The four cells of a thread: the position of the first in the box, and the axis along which the others follow.
struct LaneCells {
  std::int32_t at[3];
  int axis;
  int start;    ///< position of this thread's first cell in a row of the coded block
  int valid;    ///< number of cells in a row of the coded block that hold values; cells beyond pad the block
  bool inside;  ///< whether the row of cells lies in the box of values; false: it only pads the block

  SLIP_FN bool has(int i) const { return inside && start + i < valid; }
  /// Offset from the lane's first cell to the i-th. A cell outside of the box is padded by one inside. As in zfp, the
  /// second cell of a row repeats the first, the third the second, the fourth the first.
  SLIP_FN int step(int i) const { return stand_in(start + i, valid) - start; }
  SLIP_FN static int stand_in(int place, int valid) { return place < valid ? place : (place & 3) == 3 ? 0 : valid - 1; }
};

/// The cells that a thread codes. `block`: the block's number along each axis; `row`: the thread's number in it.
SLIP_FN LaneCells cells_of(const CellBlock& shape, const std::int32_t (&box)[3], const std::uint32_t (&block)[3],
                           int row) {
  LaneCells cells{};
  cells.inside = true;
  int seen = 0;
  for (int a = 0; a < 3; ++a) {
    const int wide = shape.extent[a];
    const std::int32_t first = static_cast<std::int32_t>(block[a]) * wide;
    cells.at[a] = first;
    if (wide == 1) continue;
    const int left = box[a] - first, valid = left < wide ? left : wide;
    if (seen++ == 0) {
      cells.axis = a;
      cells.start = wide > cells_of_lane ? cells_of_lane * row : 0;
      cells.valid = valid;
      cells.at[a] += cells.start;
      continue;
    }
    const int place = seen == 2 ? row & 3 : row >> 2;
    cells.inside &= place < valid;
    cells.at[a] += LaneCells::stand_in(place, valid);
  }
  return cells;
}

/// The four numbers that one thread of a warp codes.
template <class T>
struct Four {
  T of[cells_of_lane];
};

/// The blocks that a warp codes at once, with `rows` threads for each block.
template <bool sequential, int rows>
struct BlockTurn {
  static constexpr int at_once = 32 / rows;
  Warp<sequential> lanes;
  int rate, quantum;     ///< bits per coded value; values become multiples of 2^quantum, unless each block has its own
  int words;             ///< number of 64-bit words in the code of a block
  int blocks;            ///< number of blocks to code; threads without a block move no values
  std::uint64_t* codes;  ///< address of the first block's code
  BlockScratch* scratch;

  SLIP_FN static int block(int lane) { return lane / rows; }
  SLIP_FN static int row(int lane) { return lane & (rows - 1); }
  SLIP_FN bool rests(int lane) const { return block(lane) >= blocks; }
  SLIP_FN std::uint64_t* code(int lane) const { return codes + block(lane) * words; }
  SLIP_FN std::uint64_t* cells(int lane) const { return scratch->cells + cells_of_lane * (lane & ~(rows - 1)); }
};

/// Widths of the bit fields of a floating-point number.
template <class Real>
struct Bits;
template <>
struct Bits<float> {
  using Int = std::int32_t;
  using UInt = std::uint32_t;
  static constexpr int width = 32, mantissa = 23, exponents = 8, bias = 127;
};
template <>
struct Bits<double> {
  using Int = std::int64_t;
  using UInt = std::uint64_t;
  static constexpr int width = 64, mantissa = 52, exponents = 11, bias = 1023;
};

/// Largest exponent field of a finite number, plus 1.
template <class Real>
constexpr int most_mark = (1 << Bits<Real>::exponents) - 1;

SLIP_FN int greater(int a, int b) { return a > b ? a : b; }

/// 2^exponent as a product of two numbers; the second is 1 where one number can represent it.
template <class Real>
struct PowerOfTwo {
  Real near, rest;
  SLIP_FN explicit PowerOfTwo(int exponent) {
    using B = Bits<Real>;
    const auto power = [](int of) {
      return std::bit_cast<Real>(static_cast<typename B::UInt>(of + B::bias) << B::mantissa);
    };
    const int most = exponent < B::bias ? exponent : B::bias, first = greater(most, 1 - B::bias);
    near = power(first);
    rest = power(exponent - first);
  }
  /// Returns value * 2^exponent. A subnormal result is rounded only once, if the value is 1 or more.
  SLIP_FN Real times(Real value) const { return value * near * rest; }
};

template <class Real>
SLIP_FN Real no_number() {
  return std::bit_cast<Real>(static_cast<typename Bits<Real>::UInt>((most_mark<Real> * 2 + 1))
                             << (Bits<Real>::mantissa - 1));
}

}  // namespace slipstream
