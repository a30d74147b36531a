#pragma once
// How lanes find the cells of blocks. A lane holds four cells side by side: those of one to four rows of a run, of a
// row of a square or of a cube. All lanes together hold 128, of 32, 8 or 2 blocks.
#include <bit>
#include <cstdint>

#include <slipstream/device/function.hpp>
#include <slipstream/device/warp.hpp>

#include "coding/wire.hpp"

namespace slipstream {

constexpr int cells_of_lane = 4;

/// Memory that lanes share while they code blocks: 128 cells, the words of their codes, and a number of each lane.
struct BlockScratch {
  std::uint64_t cells[128];
  std::uint64_t words[128];
  std::int32_t marks[32];
};

/// The lanes that hold a block, and the part of it that each holds.
struct LanesOfBlock {
  int rows;  ///< lanes
  SLIP_FN explicit LanesOfBlock(const CellBlock& block) : rows(block.cells() / cells_of_lane) {}
  SLIP_FN int at_once() const { return 32 / rows; }
  SLIP_FN int block(int lane) const { return lane / rows; }
  SLIP_FN int row(int lane) const { return lane & (rows - 1); }
  SLIP_FN int first(int lane) const { return lane & ~(rows - 1); }
};

/// The four cells of a lane: where the first lies in the box, and along which axis the others follow.
struct LaneCells {
  std::int32_t at[3];
  int axis;
  int start;    ///< of the lane's, in its block's row
  int valid;    ///< cells of that row that lie in the box
  bool inside;  ///< whether the row does

  SLIP_FN bool has(int i) const { return inside && start + i < valid; }
  /// From the lane's first cell to the i-th, or to the one that stands for it where it lies beside the box. As in zfp,
  /// the second cell of a row repeats the first, the third the second, the fourth the first.
  SLIP_FN int step(int i) const { return stand_in(start + i, valid) - start; }
  SLIP_FN static int stand_in(int place, int valid) { return place < valid ? place : (place & 3) == 3 ? 0 : valid - 1; }
};

/// `block` counts blocks along each axis; `row`: which of the block's lanes.
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

/// Four numbers of a lane.
template <class T>
struct Four {
  T of[cells_of_lane];
};

/// The blocks that lanes code at once.
template <bool sequential>
struct BlockTurn {
  Warp<sequential> lanes;
  LanesOfBlock split;
  Wire wire;
  CellBlock shape;
  int blocks;            ///< that there are; lanes of others rest
  int words;             ///< of a block's code
  std::uint64_t* codes;  ///< of the first block
  BlockScratch* scratch;

  SLIP_FN bool rests(int lane) const { return split.block(lane) >= blocks; }
  SLIP_FN std::uint64_t* code(int lane) const { return codes + split.block(lane) * words; }
  /// Calls f(lane) on those that have a block.
  template <class F>
  SLIP_FN void each(F f) const {
    lanes.each([&](int lane) {
      if (!rests(lane)) f(lane);
    });
  }
  /// The greatest of a block's lanes.
  SLIP_FN int greatest_mark(int lane) const {
    int greatest = 0;
    for (int r = 0; r < split.rows; ++r) {
      const int mark = scratch->marks[split.first(lane) + r];
      greatest = mark > greatest ? mark : greatest;
    }
    return greatest;
  }
};

/// Widths of the fields of a number.
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

/// 1 + the exponent's field of a number, which lies below 2^(this - bias); 0 of zero, more than `most_mark` of what is
/// not finite.
template <class Real>
SLIP_FN int mark_of(Real value) {
  using B = Bits<Real>;
  const auto magnitude = std::bit_cast<typename B::UInt>(value) << 1;
  return magnitude == 0 ? 0 : 1 + static_cast<int>(magnitude >> (B::mantissa + 1));
}
template <class Real>
constexpr int most_mark = (1 << Bits<Real>::exponents) - 1;

/// value 2^exponent, rounded once where the result is subnormal.
template <class Real>
SLIP_FN Real scaled(Real value, int exponent) {
  using B = Bits<Real>;
  const auto power = [](int of) {
    return std::bit_cast<Real>(static_cast<typename B::UInt>(of + B::bias) << B::mantissa);
  };
  if (exponent > -B::bias && exponent <= B::bias) return value * power(exponent);
  // Three steps: 2^-1074 to 2^1023 lie further apart than twice the powers that numbers have.
  const int third = exponent / 3;
  return value * power(third) * power(third) * power(exponent - 2 * third);
}

template <class Real>
SLIP_FN Real no_number() {
  return std::bit_cast<Real>(static_cast<typename Bits<Real>::UInt>((most_mark<Real> * 2 + 1))
                             << (Bits<Real>::mantissa - 1));
}

}  // namespace slipstream
