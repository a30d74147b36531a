#pragma once
// Encoder and decoder of zfp 1.0's fixed-rate format, with the same bytes: P. Lindstrom, "Fixed-rate compressed
// floating-point arrays", IEEE TVCG 20(12), 2014, and "Algorithm" in zfp's documentation. A block's values become whole
// numbers with one exponent. They are transformed along each axis, sorted by total sequency and written in base -2.
// Their bits are sent plane by plane, the most significant first, until the block is full.
//
// Several lanes code a block. The encoder assigns one plane at a time to each lane. The length of a plane follows from
// the numbers with a bit in the planes above, and its position is a prefix sum of lengths. In the decoder the first
// lane of a block finds all planes, because each position depends on all bits before it. No block of zfp has the
// exponent 0: here it says that a value of the block is not finite.
#include <bit>
#include <cstdint>
#include <type_traits>

#include <slipstream/device/bits.hpp>

#include "coding/block_cells.hpp"

namespace slipstream {

namespace zfp {

/// Writes `bits` at bit position `at` of a block's code, and drops those from `end` on; at most 32 * words - 31 bits.
template <bool sequential, int words = 3>
SLIP_FN void put_bits(std::uint64_t* code, int at, int end, std::uint64_t bits) {
  if constexpr (sequential) {
    const int word = at >> 6, shift = at & 63;
    if (at >= end) return;
    code[word] |= bits << shift;
    if (shift && at + 64 - shift < end) code[word + 1] |= bits >> (64 - shift);
  } else {
    auto* const to = reinterpret_cast<std::uint32_t*>(code) + (at >> 5);
    const int left = end - (at & ~31), shift = at & 31;
    const std::uint64_t low = (bits & 0xffffffff) << shift, high = (bits >> 32) << shift;
    const std::uint32_t word[3] = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32 | high),
                                   static_cast<std::uint32_t>(high >> 32)};
    for (int n = 0; n < words; ++n)
      if (word[n] && 32 * n < left) set_bits(to + n, word[n]);
  }
}
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

/// zfp's lifting transform of four numbers along an axis, and its inverse below.
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
  // Invalid codes may overflow, so the arithmetic wraps round.
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

/// Positions in sequency order of the four cells of a thread along the last axis, one byte each. They are selected by
/// code and not by a table, which a GPU would keep in memory.
template <int dimensions>
SLIP_FN std::uint32_t places_of(int row) {
  using Places = std::uint32_t;
  const auto choose = [](int bit, Places a, Places b) { return bit ? b : a; };
  const auto of_four = [&](Places a, Places b, Places c, Places d) {
    return choose(row & 2, choose(row & 1, a, b), choose(row & 1, c, d));
  };
  if constexpr (dimensions == 1) return 0x03020100;
  if constexpr (dimensions == 2) return of_four(0x09050200, 0x0c070301, 0x0e0a0604, 0x0f0d0b08);
  return choose(row & 8,
                choose(row & 4, of_four(0x13090300, 0x1e0f0501, 0x2a180c07, 0x34271b11),
                       of_four(0x1f100402, 0x25160a06, 0x3121140b, 0x3a2e231a)),
                choose(row & 4, of_four(0x2b170d08, 0x3220150e, 0x382c2219, 0x3d362d26),
                       of_four(0x33281c12, 0x392f241d, 0x3c373029, 0x3f3e3b35)));
}

/// Mask of those columns of a bit matrix whose number n, from 0 on, has (n & bit) == 0; used to transpose it.
SLIP_FN constexpr std::uint32_t columns_without(int bit) {
  return bit == 16  ? 0x0000ffffu
         : bit == 8 ? 0x00ff00ffu
         : bit == 4 ? 0x0f0f0f0fu
         : bit == 2 ? 0x33333333u
                    : 0x55555555u;
}
/// Bit-matrix transpose step: swaps the upper half of a row with the lower half of the row that is `far` further.
SLIP_FN void swap_halves(std::uint32_t& row, std::uint32_t& farther, int far) {
  const std::uint32_t swapped = ((row >> far) ^ farther) & columns_without(far);
  row ^= swapped << far;
  farther ^= swapped;
}
/// Bit-matrix transpose step for rows whose threads are `far` apart in the warp.
template <bool sequential>
SLIP_FN void swap_among_lanes(const Warp<sequential>& lanes, OfLane<sequential, Four<std::uint32_t>>& rows, int far) {
  if constexpr (sequential) {
    for (int lane = 0; lane < lanes.busy; ++lane)
      if (!(lane & far))
        for (int j = 0; j < 4; ++j) swap_halves(rows[lane].of[j], rows[lane + far].of[j], far);
  } else {
    const bool farther = lanes.own & far;
    const std::uint32_t kept = farther ? ~columns_without(far) : columns_without(far);
    const int left = farther ? 32 - far : far;
    for (std::uint32_t& row : rows[lanes.own].of) {
      const std::uint32_t other = lanes.across(row, far);
      row = (row & kept) | ((other << left | other >> (32 - left)) & ~kept);
    }
  }
}
/// Transposes the 32-bit integers of a block of 4^d cells (zfp, d = `dimensions`) to bit planes, and back. Thread r
/// holds words r + j 4^(d-1), j = 0 to 3. In 3-D, word r < 32 becomes bit plane r of the first 32 integers, and word 32
/// + r that of the others. In 2-D word r holds planes r and r + 16, in 1-D planes r, r + 4, r + 8, ...
template <int dimensions, bool sequential>
SLIP_FN void turn_bits(const Warp<sequential>& lanes, OfLane<sequential, Four<std::uint32_t>>& rows) {
  constexpr int in_lane = dimensions == 3 ? 16 : dimensions == 2 ? 4 : 1;  // step between a thread's bit-matrix rows
  lanes.alone([&](int lane) {
    auto& r = rows[lane].of;
    if constexpr (dimensions < 3) {
      swap_halves(r[0], r[2], 2 * in_lane);
      swap_halves(r[1], r[3], 2 * in_lane);
    }
    swap_halves(r[0], r[1], in_lane);
    swap_halves(r[2], r[3], in_lane);
  });
  for (int far = in_lane / 2; far > 0; far /= 2) swap_among_lanes(lanes, rows, far);
}
/// Returns the bit plane that a thread codes in pass `round`: one bit of each of the block's 4^dimensions numbers.
template <int dimensions>
SLIP_FN std::uint64_t plane_of(const Four<std::uint32_t>& rows, int round) {
  const auto row = [&](int j) { return j == 0 ? rows.of[0] : j == 1 ? rows.of[1] : j == 2 ? rows.of[2] : rows.of[3]; };
  if constexpr (dimensions == 3)
    return round == 0 ? rows.of[1] | std::uint64_t{rows.of[3]} << 32 : rows.of[0] | std::uint64_t{rows.of[2]} << 32;
  if constexpr (dimensions == 2) return row(3 - (round & 3)) >> (round < 4 ? 16 : 0) & 0xffff;
  return row(3 - (round & 3)) >> (28 - (round & ~3)) & 15;
}

/// Bit planes of a block in memory, laid out for the bit-matrix transpose.
template <int dimensions>
struct Planes {
  static constexpr int size = 1 << 2 * dimensions;
  std::uint64_t* rows;
  SLIP_FN void put(int plane, std::uint64_t bits) const {
    if constexpr (dimensions == 3) {
      rows[plane] = bits;
    } else {
      rows[plane & (size - 1)] |= bits << (plane & ~(size - 1));
    }
  }
  /// The rows of a thread in the bit matrix that is transposed: parts of the 32 bit planes from `first` up.
  SLIP_FN Four<std::uint32_t> get(int lane, int first) const {
    Four<std::uint32_t> got;
    for (int j = 0; j < 4; ++j)
      got.of[j] = static_cast<std::uint32_t>(dimensions == 3   ? rows[first + lane + 16 * (j & 1)] >> (j & 2) * 16
                                             : dimensions == 2 ? rows[lane + 4 * j] >> first
                                                               : rows[j] >> first);
    return got;
  }
};

/// The lowest bit plane to code. For blocks of very small values zfp stops at the last bit of a subnormal number.
template <class Real>
SLIP_FN int lowest_plane(int exponent, int dimensions) {
  const int planes = exponent + 1074 + 2 * (dimensions + 1);
  return planes < Bits<Real>::width ? Bits<Real>::width - planes : 0;
}

/// Writes the bit planes of blocks. First begin_planes() writes the start of each plane. Then add_first_bits() adds the
/// bits of each number in the plane of its first one bit.
template <int dimensions, bool sequential, class Turn>
struct PlaneWriter {
  static constexpr int size = 1 << 2 * dimensions, side = size / 4;
  /// Number of blocks whose bit planes fit into the scratch memory at once.
  static constexpr int at_once = dimensions == 1 ? 4 : 16, words_each = dimensions == 3 ? 2 : 1;

  const Turn& turn;
  OfLane<sequential, int> used;    ///< number of bits written to the code of a thread's block
  OfLane<sequential, int> known;   ///< number of the block's numbers that have shown a one bit so far
  OfLane<sequential, int> lowest;  ///< the last bit plane to write, by block

  SLIP_FN int end() const { return 64 * turn.words; }
  SLIP_FN bool done() const {
    return !turn.lanes.any([&](int lane) { return turn.row(lane) == 0 && used[lane] < end(); });
  }
  SLIP_FN std::uint64_t* note(int lane, int plane) const {
    return turn.scratch->cells + words_each * (turn.block(lane) * at_once + (plane & (at_once - 1)));
  }

  /// Sequential version for the host: writes 32 planes from `first` on, block by block.
  SLIP_FN void write_in_order(OfLane<sequential, Four<std::uint32_t>>& half, int first) {
    for (int lane = 0; lane < turn.lanes.busy; lane += side)
      for (int k = 31; k >= 0 && used[lane] < end() && first + k >= lowest[lane]; --k) {
        const std::uint64_t x = plane_of<dimensions>(half[lane + (k & (side - 1))], (31 - k) / side);
        const int n = known[lane], top = bit_length(x);
        std::uint64_t left = n < 64 ? x >> n : 0;
        const std::uint64_t mask = n < 64 ? (std::uint64_t{1} << n) - 1 : ~std::uint64_t{0};
        int at = used[lane];
        put_bits<sequential>(turn.code(lane), at, end(), (x & mask) | (left ? mask + 1 : 0));
        at += n + (n < size);
        while (left) {
          // In the zfp code of a bit plane, a flag follows each one bit: 1 if another one bit follows, else 0.
          // The block's last number has no flag.
          const int zeros = trailing_zeros(left);
          left = left >> zeros >> 1;
          at += zeros + 2;
          const int ones = left ? 3 : top < size ? 1 : 0;
          put_bits<sequential>(turn.code(lane), at - 2, end(), static_cast<std::uint64_t>(ones));
        }
        used[lane] = top == size && n < size ? at - 2 : at;
        known[lane] = greater(n, top);
      }
  }

  /// Writes a plane's bits of numbers that have shown a one bit, then a bit that says whether the others have a one.
  /// Lane r has plane `first` + r.
  SLIP_FN void begin_planes(OfLane<sequential, std::uint64_t>& planes, int first) {
    OfLane<sequential, int> before, bits, all;
    turn.lanes.alone([&](int lane) { before[lane] = bit_length(planes[lane]); });
    turn.lanes.template from_above<side>(before, all, [](int a, int b) { return greater(a, b); });
    turn.lanes.alone([&](int lane) {
      const std::uint64_t x = planes[lane];
      const int top = bit_length(x), n = before[lane] = greater(known[lane], before[lane]);
      known[lane] = greater(known[lane], all[lane]);
      // While numbers are left, the code has a bit that says whether a one follows, then zeros and the one. With a
      // single number left, the one is implied.
      int length = n + (n < size);
      if (top > n) length = top + bits_set(x >> n) + (top < size ? 1 : -1);
      bits[lane] = first + turn.row(lane) < lowest[lane] ? 0 : length;
    });
    OfLane<sequential, int> from = bits;
    turn.lanes.template from_above<side>(from, all, [](int a, int b) { return a + b; });
    turn.lanes.alone([&](int lane) {
      const int at = bits[lane] ? used[lane] + from[lane] : end(), n = before[lane];
      used[lane] += all[lane];
      const std::uint64_t x = planes[lane];
      std::uint64_t* const noted = note(lane, first + turn.row(lane));
      if constexpr (dimensions == 3) {
        noted[0] = x;
        noted[1] = static_cast<std::uint64_t>(at << 8 | n);
      } else {
        noted[0] = static_cast<std::uint64_t>(at << 8 | n) << 16 | x;
      }
      if (at >= end()) return;
      const std::uint64_t one = n < 64 ? std::uint64_t{x >> n != 0} << n : 0,
                          mask = n < 64 ? (std::uint64_t{1} << n) - 1 : ~std::uint64_t{0};
      put_bits<sequential>(turn.code(lane), at, end(), (x & mask) | one);
    });
  }

  /// Writes the leading one bit of each number that has it in bit plane `first` or in one coded after it. Another one
  /// bit follows if the plane holds the leading bit of a further number.
  SLIP_FN void add_first_bits(const OfLane<sequential, std::uint32_t>& lengths, int first) {
    turn.lanes.each([&](int lane) {
      for (int j = 0; j < 4; ++j) {
        const int plane = static_cast<int>(lengths[lane] >> 8 * j & 255) - 1 - first;
        if (plane < 0 || plane >= at_once) continue;
        const std::uint64_t* const noted = note(lane, plane);
        const std::uint64_t x = dimensions == 3 ? noted[0] : noted[0] & 0xffff;
        const auto place = static_cast<int>(dimensions == 3 ? noted[1] : noted[0] >> 16);
        const int at = place >> 8, n = place & 255, number = turn.row(lane) + side * j;
        if (number < n) continue;
        const int ones = bits_set((x & ((std::uint64_t{1} << number) - 1)) >> n);
        const bool last = x >> number == 1;
        put_bits<sequential, 2>(turn.code(lane), at + 1 + number + ones, end(), !last ? 3 : number + 1 < size ? 1 : 0);
      }
    });
  }
};

template <class Real, int dimensions>
SLIP_FN void read_planes(const Planes<dimensions>& planes, BitReader& in, int bits, int lowest) {
  constexpr int size = 1 << 2 * dimensions;
  int known = 0;
  for (int k = Bits<Real>::width; bits && k-- > lowest;) {
    const int verbatim = known < bits ? known : bits;
    std::uint64_t x = in.get(verbatim);
    bits -= verbatim;
    while (bits && known < size) {
      --bits;
      if (!in.get(1)) break;
      // Reads a run of 0 bits and the 1 bit that ends it at once. If a single number is left, its 1 bit is implied.
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

/// Position of a cell in scratch memory: threads read and write lines along any axis without bank conflicts.
SLIP_FN int slot(int cell) { return cell ^ 5 * (cell >> 4 & 3); }
/// Index of the j-th of a thread's four cells along an axis, among the cells of the warp.
SLIP_FN int cell_of(int dimensions, int axis, int lane, int j) {
  const int row = lane & ((1 << 2 * (dimensions - 1)) - 1), first = 4 * (lane - row);
  return first + (axis == 0 ? 4 * row + j : axis == 1 ? 16 * (row >> 2) + (row & 3) + 4 * j : row + 16 * j);
}

/// An integer that orders numbers by magnitude, at least if their exponents differ or one of them is zero.
SLIP_FN int order_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return static_cast<int>((bits >> 32 & 0x7fffffff) | (static_cast<std::uint32_t>(bits) != 0));
}
SLIP_FN int order_of(float value) { return static_cast<int>(std::bit_cast<std::uint32_t>(value) & 0x7fffffff); }
/// Mark of a number: 1 + its exponent field. Its magnitude is below 2^(mark - bias). The mark is 0 for zero, and more
/// than `most_mark` for values that are not finite.
template <class Real>
SLIP_FN int mark_of(int order) {
  constexpr int shift = sizeof(Real) == 4 ? 23 : 20;
  return order ? 1 + (order >> shift) : 0;
}

}  // namespace zfp

template <int dimensions>
struct Zfp {
  static constexpr int rows = 1 << 2 * (dimensions - 1), size = 4 * rows;
  template <bool sequential>
  using Turn = BlockTurn<sequential, rows>;

  /// Calls f(cell, number) for the four numbers of a thread along an axis.
  template <bool sequential, class Int, class F>
  SLIP_FN static void each_along(const Turn<sequential>& turn, int axis, int lane, Four<Int>& p, F f) {
    for (int j = 0; j < 4; ++j) f(turn.scratch->cells[zfp::slot(zfp::cell_of(dimensions, axis, lane, j))], p.of[j]);
  }
  template <bool sequential, class Int>
  SLIP_FN static void load_along(const Turn<sequential>& turn, int axis, int lane, Four<Int>& p) {
    each_along(turn, axis, lane, p, [](std::uint64_t& cell, Int& number) { number = static_cast<Int>(cell); });
  }
  template <bool sequential, class Int>
  SLIP_FN static void store_along(const Turn<sequential>& turn, int axis, int lane, Four<Int>& p) {
    using UInt = std::make_unsigned_t<Int>;
    each_along(turn, axis, lane, p, [](std::uint64_t& cell, Int& number) { cell = static_cast<UInt>(number); });
  }

  /// Encodes blocks. `lost` is set if some value is not finite.
  template <bool sequential, class Real>
  SLIP_FN static void encode(const Turn<sequential>& turn, OfLane<sequential, Four<Real>>& values, bool& lost) {
    using namespace zfp;
    using B = Bits<Real>;
    using Int = typename B::Int;
    using UInt = typename B::UInt;
    const auto& lanes = turn.lanes;
    const int end = 64 * turn.words;
    OfLane<sequential, int> marks;
    lanes.alone([&](int lane) {
      int order = 0;
      for (const Real value : values[lane].of) order = greater(order, order_of(value));
      marks[lane] = order;
    });
    lanes.template reduce<rows>(marks, [](int a, int b) { return greater(a, b); });
    OfLane<sequential, Four<Int>> whole;
    lanes.each([&](int lane) {
      const int mark = marks[lane] = mark_of<Real>(marks[lane]);
      const bool bad = mark > most_mark<Real>;
      lost |= bad;
      const PowerOfTwo<Real> scale(B::width - 2 - (mark - B::bias));
      Four<Int>& p = whole[lane];
      for (int i = 0; i < cells_of_lane; ++i) p.of[i] = bad ? 0 : static_cast<Int>(scale.times(values[lane].of[i]));
      lift(p);
      if constexpr (dimensions > 1) store_along(turn, 0, lane, p);
      if constexpr (sequential) {
        for (int n = turn.row(lane); n < turn.words; n += rows) turn.code(lane)[n] = 0;
      } else {
        for (int n = 0; n < 4; ++n) turn.codes[lane + 32 * n] = 0;
      }
    });
    for (int axis = 1; axis < dimensions; ++axis)
      lanes.each([&](int lane) {
        load_along(turn, axis, lane, whole[lane]);
        lift(whole[lane]);
        if (axis + 1 < dimensions) store_along(turn, axis, lane, whole[lane]);
      });
    OfLane<sequential, Four<UInt>> sorted;
    lanes.each([&](int lane) {
      constexpr UInt mask = negabinary_mask<UInt>;
      for (int j = 0; j < 4; ++j) sorted[lane].of[j] = (static_cast<UInt>(whole[lane].of[j]) + mask) ^ mask;
      if constexpr (dimensions > 1) {
        const std::uint32_t places = places_of<dimensions>(turn.row(lane));
        for (int j = 0; j < 4; ++j) turn.cells(lane)[places >> 8 * j & 63] = sorted[lane].of[j];
      }
    });
    PlaneWriter<dimensions, sequential, Turn<sequential>> writer{turn, {}, {}, {}};
    OfLane<sequential, std::uint32_t> lengths;
    lanes.each([&](int lane) {
      lengths[lane] = 0;
      for (int j = 0; j < 4; ++j) {
        UInt& number = sorted[lane].of[j];
        if constexpr (dimensions > 1) number = static_cast<UInt>(turn.cells(lane)[turn.row(lane) + rows * j]);
        lengths[lane] |= static_cast<std::uint32_t>(bit_length(number)) << 8 * j;
      }
      const int mark = marks[lane], head = 1 + B::exponents;
      const bool bad = mark > most_mark<Real>;
      if (turn.row(lane) == 0)
        put_bits<sequential, 2>(turn.code(lane), 0, end, bad ? 1 : mark ? 2 * static_cast<std::uint64_t>(mark) + 1 : 0);
      writer.used[lane] = bad || mark == 0 ? end : head;
      writer.known[lane] = 0;
      writer.lowest[lane] = lowest_plane<Real>(mark - B::bias, dimensions);
    });
    OfLane<sequential, Four<std::uint32_t>> half;
    OfLane<sequential, std::uint64_t> planes;
    for (int first = B::width; first > 0 && !writer.done();) {
      if (first % 32 == 0) {
        lanes.alone([&](int lane) {
          for (int j = 0; j < 4; ++j) half[lane].of[j] = static_cast<std::uint32_t>(sorted[lane].of[j] >> (first - 32));
        });
        turn_bits<dimensions>(lanes, half);
      }
      if constexpr (sequential) {
        first -= 32;
        writer.write_in_order(half, first);
        continue;
      }
      for (int left = writer.at_once; left > 0; left -= rows) {
        first -= rows;
        lanes.alone(
            [&](int lane) { planes[lane] = plane_of<dimensions>(half[lane], 32 / rows - 1 - first % 32 / rows); });
        writer.begin_planes(planes, first);
      }
      lanes.each([](int) {});
      writer.add_first_bits(lengths, first);
    }
  }

  template <bool sequential, class Real>
  SLIP_FN static void decode(const Turn<sequential>& turn, OfLane<sequential, Four<Real>>& values, bool& lost) {
    using namespace zfp;
    using B = Bits<Real>;
    using Int = typename B::Int;
    using UInt = typename B::UInt;
    constexpr int not_finite = most_mark<Real> + 1, unwritten = not_finite + 1;
    const auto& lanes = turn.lanes;
    OfLane<sequential, int> marks;
    lanes.each([&](int lane) {
      for (int i = 0; i < cells_of_lane; ++i) turn.scratch->cells[cells_of_lane * lane + i] = 0;
    });
    lanes.each([&](int lane) {
      marks[lane] = 0;
      if (turn.row(lane) != 0 || turn.rests(lane)) return;
      BitReader in{turn.code(lane)};
      if (*in.from == ~std::uint64_t{0}) {
        // A first word of ones is memory never written: numbers stay below 2^(width - 2), so upper planes are 0.
        marks[lane] = unwritten;
      } else if (in.get(1)) {
        const int mark = static_cast<int>(in.get(B::exponents));
        marks[lane] = mark ? mark : not_finite;
        if (mark)
          read_planes<Real>(Planes<dimensions>{turn.cells(lane)}, in, 64 * turn.words - 1 - B::exponents,
                            lowest_plane<Real>(mark - B::bias, dimensions));
      }
    });
    lanes.template reduce<rows>(marks, [](int a, int b) { return greater(a, b); });
    OfLane<sequential, Four<UInt>> sorted{};
    for (int first = 0; first < B::width; first += 32) {
      OfLane<sequential, Four<std::uint32_t>> half;
      lanes.each([&](int lane) { half[lane] = Planes<dimensions>{turn.cells(lane)}.get(turn.row(lane), first); });
      turn_bits<dimensions>(lanes, half);
      lanes.alone([&](int lane) {
        for (int j = 0; j < 4; ++j) sorted[lane].of[j] |= static_cast<UInt>(half[lane].of[j]) << first;
      });
    }
    OfLane<sequential, Four<Int>> whole;
    lanes.each([&](int lane) {
      constexpr UInt mask = negabinary_mask<UInt>;
      for (int j = 0; j < 4; ++j) {
        const UInt number = (sorted[lane].of[j] ^ mask) - mask;
        whole[lane].of[j] = static_cast<Int>(number);
        if constexpr (dimensions > 1) turn.cells(lane)[turn.row(lane) + rows * j] = number;
      }
    });
    if constexpr (dimensions > 1)
      lanes.each([&](int lane) {
        const std::uint32_t places = places_of<dimensions>(turn.row(lane));
        for (int j = 0; j < 4; ++j) whole[lane].of[j] = static_cast<Int>(turn.cells(lane)[places >> 8 * j & 63]);
      });
    for (int axis = dimensions - 1; axis >= 0; --axis)
      lanes.each([&](int lane) {
        if (axis + 1 < dimensions) load_along(turn, axis, lane, whole[lane]);
        unlift<Int, UInt>(whole[lane]);
        if (axis > 0) store_along(turn, axis, lane, whole[lane]);
      });
    lanes.alone([&](int lane) {
      const int mark = marks[lane];
      const PowerOfTwo<Real> scale(mark - B::bias - (B::width - 2));
      lost |= mark == not_finite;
      for (int i = 0; i < cells_of_lane; ++i) {
        const Real value = scale.times(static_cast<Real>(whole[lane].of[i]));
        values[lane].of[i] = mark > most_mark<Real> ? no_number<Real>() : mark == 0 ? Real{0} : value;
        lost |= value - value != 0;
      }
    });
  }
};

}  // namespace slipstream
