#pragma once
// The bytes that zfp 1.0 writes at a fixed rate, and their values: P. Lindstrom, "Fixed-rate compressed floating-point
// arrays", IEEE TVCG 20(12), 2014, and "Algorithm" in zfp's documentation. A block's values become whole numbers with
// one exponent. They are transformed along each axis, sorted by total sequency and written in base -2. Their bits are
// sent plane by plane, the most significant first, until the block is full.
//
// Lanes share a block until its planes lie in memory; then its first lane alone writes them, whose places depend on all
// that came before. No block of zfp has the exponent 0: here it says that a value of the block is not finite.
#include <cstdint>

#include "coding/block_cells.hpp"

namespace slipstream {

namespace zfp {

/// Bits of a code, the lowest of a word first.
struct BitWriter {
  std::uint64_t* to;
  std::uint64_t word = 0;
  int have = 0;
  /// `bits` has no bits beyond those.
  SLIP_FN void put(std::uint64_t bits, int count) {
    word |= bits << have;
    if (have + count < 64) {
      have += count;
      return;
    }
    *to++ = word;
    word = have ? bits >> (64 - have) : 0;
    have += count - 64;
  }
  SLIP_FN void fill(const std::uint64_t* end) {
    while (to < end) {
      *to++ = word;
      word = 0;
    }
  }
};
struct BitReader {
  const std::uint64_t* from;
  std::uint64_t word = 0;
  int left = 0;
  SLIP_FN std::uint64_t get(int count) {
    if (count == 0) return 0;
    std::uint64_t bits = word;
    if (left < count) {
      const int had = left;
      word = *from++;
      bits |= had < 64 ? word << had : 0;
      const int taken = count - had;
      word = taken < 64 ? word >> taken : 0;
      left = 64 - taken;
    } else {
      word = count < 64 ? word >> count : 0;
      left -= count;
    }
    return count < 64 ? bits & ((std::uint64_t{1} << count) - 1) : bits;
  }
};

/// The transform along an axis, and back.
template <class Int>
SLIP_FN void lift(Four<Int>& p) {
  Int x = p.of[0], y = p.of[1], z = p.of[2], w = p.of[3];
  x = (x + w) >> 1;
  w -= x;
  z = (z + y) >> 1;
  y -= z;
  x = (x + z) >> 1;
  z -= x;
  w = (w + y) >> 1;
  y -= w;
  w += y >> 1;
  y -= w >> 1;
  p = {{x, y, z, w}};
}
template <class Int, class UInt>
SLIP_FN void unlift(Four<Int>& p) {
  // Codes that no block has may go round beyond the largest number.
  const auto plus = [](Int a, Int b) { return static_cast<Int>(static_cast<UInt>(a) + static_cast<UInt>(b)); };
  const auto minus = [](Int a, Int b) { return static_cast<Int>(static_cast<UInt>(a) - static_cast<UInt>(b)); };
  Int x = p.of[0], y = p.of[1], z = p.of[2], w = p.of[3];
  y = plus(y, w >> 1);
  w = minus(w, y >> 1);
  y = plus(y, w);
  w = minus(plus(w, w), y);
  z = plus(z, x);
  x = minus(plus(x, x), z);
  y = plus(y, z);
  z = minus(plus(z, z), y);
  w = plus(w, x);
  x = minus(plus(x, x), w);
  p = {{x, y, z, w}};
}

template <class UInt>
constexpr UInt negabinary_mask = static_cast<UInt>(0xaaaaaaaaaaaaaaaau);

/// Places in the order of sequency of the four cells of a lane along the last axis, one a byte.
SLIP_FN std::uint32_t places_of(int dimensions, int row) {
  constexpr std::uint32_t square[4] = {0x09050200, 0x0c070301, 0x0e0a0604, 0x0f0d0b08};
  constexpr std::uint32_t cube[16] = {0x13090300, 0x1e0f0501, 0x2a180c07, 0x34271b11, 0x1f100402, 0x25160a06,
                                      0x3121140b, 0x3a2e231a, 0x2b170d08, 0x3220150e, 0x382c2219, 0x3d362d26,
                                      0x33281c12, 0x392f241d, 0x3c373029, 0x3f3e3b35};
  if (dimensions == 1) return 0x03020100;
  return dimensions == 2 ? square[row & 3] : cube[row];
}

/// Bits of one matrix, or of several beside one another, of `side` numbers: rows become columns, in steps.
template <bool sequential>
SLIP_FN void turn_bits(const BlockTurn<sequential>& turn, int side) {
  std::uint64_t mask = ~std::uint64_t{0};
  for (int j = 32; j >= side; j >>= 1) mask ^= mask << j;
  for (int j = side / 2; j > 0; j >>= 1) {
    mask ^= mask << j;
    turn.each([&](int lane) {
      std::uint64_t* const cells = turn.scratch->cells + cells_of_lane * turn.split.first(lane);
      for (int n = 0; n < 2; ++n) {
        const int pair = 2 * turn.split.row(lane) + n, i = (pair & ~(j - 1)) << 1 | (pair & (j - 1));
        const std::uint64_t a = cells[i], b = cells[i + j], swapped = ((a >> j) ^ b) & mask;
        cells[i] = a ^ swapped << j;
        cells[i + j] = b ^ swapped;
      }
    });
  }
}

/// Where the bits of a plane lie when they have been turned.
struct Planes {
  std::uint64_t* cells;
  int size, side;
  SLIP_FN std::uint64_t mask() const { return side < 64 ? (std::uint64_t{1} << side) - 1 : ~std::uint64_t{0}; }
  SLIP_FN std::uint64_t get(int plane) const {
    const int row = plane & (side - 1), shift = plane & ~(side - 1);
    std::uint64_t bits = cells[row] >> shift & mask();
    if (size > side) bits |= cells[side + row] << side;
    return bits;
  }
  SLIP_FN void put(int plane, std::uint64_t bits) const {
    const int row = plane & (side - 1), shift = plane & ~(side - 1);
    cells[row] |= (bits & mask()) << shift;
    if (size > side) cells[side + row] = bits >> side;
  }
};

template <class Real>
SLIP_FN int side_of(int size) {
  return size < Bits<Real>::width ? size : Bits<Real>::width;
}

/// The lowest plane of blocks that are so small that zfp ends them with the last bit of a subnormal number.
template <class Real>
SLIP_FN int lowest_plane(int exponent, int dimensions) {
  const int planes = exponent + 1074 + 2 * (dimensions + 1);
  return planes < Bits<Real>::width ? Bits<Real>::width - planes : 0;
}

template <class Real>
SLIP_FN void write_planes(const Planes& planes, BitWriter& out, int bits, int lowest) {
  const int size = planes.size;
  int known = 0;  // numbers that have had a bit
  for (int k = Bits<Real>::width; bits && k-- > lowest;) {
    std::uint64_t x = planes.get(k);
    const int verbatim = known < bits ? known : bits;
    if (verbatim) {
      out.put(verbatim < 64 ? x & ((std::uint64_t{1} << verbatim) - 1) : x, verbatim);
      x = verbatim < 64 ? x >> verbatim : 0;
      bits -= verbatim;
    }
    while (bits && known < size) {
      --bits;
      out.put(x != 0, 1);
      if (x == 0) break;
      // Zeros, then a one, which goes without saying where one number is left.
      const int zeros = trailing_zeros(x), room = size - 1 - known, skipped = zeros < room ? zeros : room;
      int steps = zeros < room ? zeros + 1 : room;
      if (steps > bits) steps = bits;
      out.put(zeros < steps ? std::uint64_t{1} << zeros : 0, steps);
      bits -= steps;
      known += skipped + 1;
      x = skipped < 63 ? x >> (skipped + 1) : 0;
    }
  }
}

template <class Real>
SLIP_FN void read_planes(const Planes& planes, BitReader& in, int bits, int lowest) {
  const int size = planes.size;
  int known = 0;
  for (int k = Bits<Real>::width; bits && k-- > lowest;) {
    const int verbatim = known < bits ? known : bits;
    std::uint64_t x = in.get(verbatim);
    bits -= verbatim;
    while (bits && known < size) {
      --bits;
      if (!in.get(1)) break;
      // Zeros, then a one, which goes without saying where one number is left: all that is there at once.
      const int left = size - 1 - known, room = left < bits ? left : bits;
      const std::uint64_t next = BitReader(in).get(room);
      const int zeros = next ? trailing_zeros(next) : room, steps = zeros < room ? zeros + 1 : room;
      in.get(steps);
      bits -= steps;
      known += zeros;
      x |= std::uint64_t{1} << known++;
    }
    planes.put(k, x);
  }
}

/// A lane's four cells along the last axis of a block.
SLIP_FN int cell_along_last(int dimensions, int row, int j) {
  return dimensions == 1 ? j : dimensions == 2 ? 4 * j + row : 16 * j + row;
}

/// `lost`: whether some value is not finite.
template <bool sequential, class Real>
SLIP_FN void encode(const BlockTurn<sequential>& turn, OfLane<sequential, Four<Real>>& values, bool& lost) {
  using B = Bits<Real>;
  using Int = typename B::Int;
  using UInt = typename B::UInt;
  const int dimensions = turn.shape.dimensions(), size = turn.shape.cells();
  BlockScratch& scratch = *turn.scratch;
  OfLane<sequential, Four<Int>> whole;
  turn.each([&](int lane) {
    int mark = 0;
    for (const Real value : values[lane].of) {
      const int of = mark_of(value);
      mark = of > mark ? of : mark;
    }
    scratch.marks[lane] = mark;
  });
  turn.each([&](int lane) {
    const int mark = turn.greatest_mark(lane);
    const bool bad = mark > most_mark<Real>;
    lost |= bad;
    Four<Int>& p = whole[lane];
    for (int i = 0; i < cells_of_lane; ++i)
      p.of[i] = bad ? 0 : static_cast<Int>(scaled(values[lane].of[i], B::width - 2 - (mark - B::bias)));
    lift(p);
    for (int i = 0; i < cells_of_lane; ++i) scratch.cells[cells_of_lane * lane + i] = static_cast<UInt>(p.of[i]);
  });
  for (int axis = 1; axis < dimensions; ++axis)
    turn.each([&](int lane) {
      const int row = turn.split.row(lane);
      std::uint64_t* const cells =
          scratch.cells + cells_of_lane * turn.split.first(lane) + (axis == 1 ? 16 * (row >> 2) + (row & 3) : row);
      Four<Int>& p = whole[lane];
      for (int j = 0; j < 4; ++j) p.of[j] = static_cast<Int>(cells[j << 2 * axis]);
      lift(p);
      for (int j = 0; j < 4; ++j) cells[j << 2 * axis] = static_cast<UInt>(p.of[j]);
    });
  turn.each([&](int lane) {
    const std::uint32_t places = places_of(dimensions, turn.split.row(lane));
    std::uint64_t* const cells = scratch.cells + cells_of_lane * turn.split.first(lane);
    constexpr UInt mask = negabinary_mask<UInt>;
    for (int j = 0; j < 4; ++j) cells[places >> 8 * j & 63] = (static_cast<UInt>(whole[lane].of[j]) + mask) ^ mask;
  });
  turn_bits(turn, side_of<Real>(size));
  turn.each([&](int lane) {
    if (turn.split.row(lane) != 0) return;
    const int mark = turn.greatest_mark(lane), head = 1 + B::exponents;
    const bool bad = mark > most_mark<Real>;
    BitWriter out{turn.code(lane)};
    if (bad) {
      out.put(1, head);
    } else if (mark == 0) {
      out.put(0, 1);
    } else {
      out.put(2 * static_cast<std::uint64_t>(mark) + 1, head);
      const Planes planes{scratch.cells + cells_of_lane * lane, size, side_of<Real>(size)};
      write_planes<Real>(planes, out, 64 * turn.words - head, lowest_plane<Real>(mark - B::bias, dimensions));
    }
    out.fill(turn.code(lane) + turn.words);
  });
}

template <bool sequential, class Real>
SLIP_FN void decode(const BlockTurn<sequential>& turn, OfLane<sequential, Four<Real>>& values, bool& lost) {
  using B = Bits<Real>;
  using Int = typename B::Int;
  using UInt = typename B::UInt;
  const int dimensions = turn.shape.dimensions(), size = turn.shape.cells();
  BlockScratch& scratch = *turn.scratch;
  constexpr int not_finite = most_mark<Real> + 1, unwritten = not_finite + 1;
  turn.each([&](int lane) {
    for (int i = 0; i < cells_of_lane; ++i) scratch.cells[cells_of_lane * lane + i] = 0;
  });
  turn.each([&](int lane) {
    if (turn.split.row(lane) != 0) return;
    BitReader in{turn.code(lane)};
    int mark = 0;
    if (*in.from == ~std::uint64_t{0}) {
      mark = unwritten;  // of numbers below 2^(width - 2) no plane above has a bit
    } else if (in.get(1)) {
      mark = static_cast<int>(in.get(B::exponents));
      const Planes planes{scratch.cells + cells_of_lane * lane, size, side_of<Real>(size)};
      if (mark == 0) {
        mark = not_finite;
      } else {
        read_planes<Real>(planes, in, 64 * turn.words - 1 - B::exponents,
                          lowest_plane<Real>(mark - B::bias, dimensions));
      }
    }
    scratch.marks[lane] = mark;
  });
  turn_bits(turn, side_of<Real>(size));
  OfLane<sequential, Four<Int>> whole;
  turn.each([&](int lane) {
    const std::uint32_t places = places_of(dimensions, turn.split.row(lane));
    const std::uint64_t* const cells = scratch.cells + cells_of_lane * turn.split.first(lane);
    constexpr UInt mask = negabinary_mask<UInt>;
    for (int j = 0; j < 4; ++j)
      whole[lane].of[j] = static_cast<Int>((static_cast<UInt>(cells[places >> 8 * j & 63]) ^ mask) - mask);
    unlift<Int, UInt>(whole[lane]);
  });
  turn.each([&](int lane) {
    std::uint64_t* const cells = scratch.cells + cells_of_lane * turn.split.first(lane);
    for (int j = 0; j < 4; ++j)
      cells[cell_along_last(dimensions, turn.split.row(lane), j)] = static_cast<UInt>(whole[lane].of[j]);
  });
  for (int axis = dimensions - 2; axis >= 0; --axis)
    turn.each([&](int lane) {
      const int row = turn.split.row(lane);
      std::uint64_t* const cells =
          scratch.cells + cells_of_lane * turn.split.first(lane) + (axis == 1 ? 16 * (row >> 2) + (row & 3) : 4 * row);
      Four<Int>& p = whole[lane];
      for (int j = 0; j < 4; ++j) p.of[j] = static_cast<Int>(cells[j << 2 * axis]);
      unlift<Int, UInt>(p);
      for (int j = 0; j < 4; ++j) cells[j << 2 * axis] = static_cast<UInt>(p.of[j]);
    });
  turn.each([&](int lane) {
    const int mark = scratch.marks[turn.split.first(lane)];
    lost |= mark == not_finite;
    for (int i = 0; i < cells_of_lane; ++i) {
      const Real value = scaled(static_cast<Real>(whole[lane].of[i]), mark - B::bias - (B::width - 2));
      values[lane].of[i] = mark > most_mark<Real> ? no_number<Real>() : mark == 0 ? Real{0} : value;
      lost |= value - value != 0;
    }
  });
}

}  // namespace zfp

}  // namespace slipstream
