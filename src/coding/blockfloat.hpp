#pragma once
// Block floating point: sixteen values with one exponent. The head of a block has 16 bits: the exponent of its unit, a
// power of two. Values are multiples of the unit in `rate` - 1 bits, sign included. Each of a block's four lanes writes
// four bits of the head and its own four values: 4 `rate` bits.
//
// Floats are coded as doubles, in which all of them are normal numbers.
#include <bit>
#include <cstdint>

#include "coding/block_cells.hpp"

namespace slipstream {

namespace blockfloat {

/// Special exponents: for a block with a value that cannot be encoded, and for memory that was never written
/// (poison_byte).
constexpr std::uint32_t refused = 0xfffe, unwritten = 0xffff;
constexpr int zero_exponent = 8192;

SLIP_FN double most_multiple(int bits) { return static_cast<double>((std::int64_t{1} << (bits - 1)) - 1); }
SLIP_FN double magnitude(double value) { return value < 0 ? -value : value; }
/// Whether a value, in units of its block, rounds to a whole number of this many bits. False for NaN.
SLIP_FN bool fits(double units, int bits) { return magnitude(units) < most_multiple(bits) + 0.5; }
/// A number that, added to one below 2^51, leaves the nearest whole number, ties to even, in the lowest bits.
constexpr double whole_in_low_bits = 0x1.8p52;

/// The upper half of a double without the sign, which contains the exponent field.
SLIP_FN int upper_half(double value) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 32) & 0x7fffffff;
}
constexpr int not_finite = 0x7ff00000;

SLIP_FN std::uint32_t upper_word(std::uint32_t high, std::uint32_t low, int left) {
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) << left >> 32);
}
SLIP_FN std::uint32_t lower_word(std::uint32_t high, std::uint32_t low, int right) {
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> right);
}

/// A thread's part of a block's code: a shift register of four words, or of six if a number has more than 32 bits.
template <int words>
struct LaneCode {
  static constexpr bool wide = words > 4;
  std::uint32_t word[words] = {};

  /// Appends `count` bits, fewer than 32, to a block's code: shifts its register up, and puts them at the low end.
  SLIP_FN void push_few(std::uint32_t bits, int count) {
    for (int k = words - 1; k > 0; --k) word[k] = upper_word(word[k], word[k - 1], count);
    word[0] = word[0] << count | bits;
  }
  /// Shifts the code up and puts a value at its low end: `count` bits, fewer than 32, or more if the code is wide.
  SLIP_FN void push(std::uint64_t bits, int count) {
    if constexpr (!wide) {
      push_few(static_cast<std::uint32_t>(bits), count);
    } else {
      for (int k = words - 1; k > 1; --k) word[k] = upper_word(word[k - 1], word[k - 2], count - 32);
      word[1] = word[0] << (count - 32) | static_cast<std::uint32_t>(bits >> 32);
      word[0] = static_cast<std::uint32_t>(bits);
    }
  }
  SLIP_FN void pop_few(int count) {
    for (int k = 0; k + 1 < words; ++k) word[k] = lower_word(word[k + 1], word[k], count);
    word[words - 1] >>= count;
  }
  /// Removes the lowest `count` bits and returns them as a signed number.
  SLIP_FN double pop(int count) {
    if constexpr (!wide) {
      const auto whole = static_cast<std::int32_t>(word[0] << (32 - count)) >> (32 - count);
      pop_few(count);
      return whole;
    } else {
      const std::uint64_t low = std::uint64_t{word[1]} << 32 | word[0];
      const auto whole = static_cast<std::int64_t>(low << (64 - count)) >> (64 - count);
      for (int k = 0; k + 2 < words; ++k) word[k] = lower_word(word[k + 2], word[k + 1], count - 32);
      word[words - 2] = word[words - 1] >> (count - 32);
      word[words - 1] = 0;
      return static_cast<double>(whole);
    }
  }

  // Stores a thread's 4 `rate` bits of a block's code. Words have 4 bytes if `rate` is a multiple of 8, else 2 bytes.
  SLIP_FN void store(std::uint64_t* block, int row, int rate) const {
    void* const to = reinterpret_cast<std::uint8_t*>(block) + row * rate / 2;
    if (rate % 8 == 0) {
      for (int k = 0; k < words; ++k)
        if (k < rate / 8) static_cast<std::uint32_t*>(to)[k] = word[k];
    } else {
      for (int k = 0; k < 2 * words; ++k)
        if (k < rate / 4) static_cast<std::uint16_t*>(to)[k] = static_cast<std::uint16_t>(word[k / 2] >> k % 2 * 16);
    }
  }
  SLIP_FN void load(const std::uint64_t* block, int row, int rate) {
    const void* const from = reinterpret_cast<const std::uint8_t*>(block) + row * rate / 2;
    if (rate % 8 == 0) {
      for (int k = 0; k < words; ++k)
        if (k < rate / 8) word[k] = static_cast<const std::uint32_t*>(from)[k];
    } else {
      for (int k = 0; k < 2 * words; ++k)
        if (k < rate / 4) word[k / 2] |= std::uint32_t{static_cast<const std::uint16_t*>(from)[k]} << k % 2 * 16;
    }
  }
};

/// Calls f with an empty shift register for a thread's part of a code, wide enough for `rate` bits per value.
template <class Real, class F>
SLIP_FN void with_code(int rate, F f) {
  if constexpr (sizeof(Real) > 4) {
    if (rate > 32) return f(LaneCode<6>{});
  }
  f(LaneCode<4>{});
}

}  // namespace blockfloat

struct BlockFloat {
  static constexpr int rows = 4;

  /// Encodes blocks. `lost` is set if some value cannot be encoded.
  template <bool sequential, class Real>
  SLIP_FN static void encode(const BlockTurn<sequential, rows>& turn, OfLane<sequential, Four<Real>>& values,
                             bool& lost) {
    using namespace blockfloat;
    const int rate = turn.rate, bits = rate - 1, fixed = turn.quantum;
    const bool floats = fixed == Wire::floating;
    const PowerOfTwo<double> to_fixed(floats ? 0 : -fixed);
    OfLane<sequential, int> upper;
    turn.lanes.alone([&](int lane) {
      int greatest = 0;
      for (const Real value : values[lane].of)
        greatest = greater(greatest, floats ? upper_half(value) : fits(to_fixed.times(value), bits) ? 0 : not_finite);
      upper[lane] = greatest;
    });
    turn.lanes.template reduce<rows>(upper, [](int a, int b) { return greater(a, b); });
    with_code<Real>(rate, [&]<class Code>(Code) {
      turn.lanes.each([&](int lane) {
        const bool bad = upper[lane] >= not_finite;
        lost |= bad;
        // Blocks of subnormal numbers use the unit of the smallest normal numbers.
        const int least = 1 - Bits<Real>::bias, above = (upper[lane] >> 20) + 1 - Bits<double>::bias;
        const int exponent = floats ? greater(above, least) - (bits - 1) : fixed;
        const PowerOfTwo<double> to_units(-exponent);
        const double most = most_multiple(bits);
        const std::uint64_t mask = bad ? 0 : (std::uint64_t{1} << bits) - 1;
        Code code;
        for (int i = cells_of_lane - 1; i >= 0; --i) {
          double units = to_units.times(values[lane].of[i]);
          // A value that would round up to the next power of two is clamped to a unit below it.
          if (magnitude(units) > most) units = units < 0 ? -most : most;
          code.push(std::bit_cast<std::uint64_t>(units + whole_in_low_bits) & mask, bits);
        }
        const std::uint32_t head = bad ? refused : static_cast<std::uint32_t>(exponent + zero_exponent);
        const int row = turn.row(lane);
        code.push_few(head >> 4 * row & 15, 4);
        code.store(turn.code(lane), row, rate);
      });
    });
  }

  template <bool sequential, class Real>
  SLIP_FN static void decode(const BlockTurn<sequential, rows>& turn, OfLane<sequential, Four<Real>>& values,
                             bool& lost) {
    using namespace blockfloat;
    const int rate = turn.rate, bits = rate - 1;
    with_code<Real>(rate, [&]<class Code>(Code) {
      OfLane<sequential, Code> codes{};
      OfLane<sequential, std::uint32_t> heads;
      turn.lanes.alone([&](int lane) {
        const int row = turn.row(lane);
        codes[lane].load(turn.code(lane), row, rate);
        heads[lane] = (codes[lane].word[0] & 15) << 4 * row;
        codes[lane].pop_few(4);
      });
      turn.lanes.template reduce<rows>(heads, [](std::uint32_t a, std::uint32_t b) { return a | b; });
      // A barrier precedes decoding: codes of other blocks overwrite this memory after all threads have read theirs.
      turn.lanes.each([&](int lane) {
        const std::uint32_t head = heads[lane];
        lost |= head == refused && !turn.rests(lane);
        const PowerOfTwo<double> unit(static_cast<int>(head) - zero_exponent);
        for (int i = 0; i < cells_of_lane; ++i) {
          const auto value = static_cast<Real>(unit.times(codes[lane].pop(bits)));
          values[lane].of[i] = head >= refused ? no_number<Real>() : value;
        }
      });
    });
  }
};

/// Rounds a value as block floating point with one unit for all values does. Too large values stay unchanged.
template <class Real>
SLIP_FN Real rounded_to_unit(Real value, int quantum, int rate) {
  const double units = PowerOfTwo<double>(-quantum).times(value);
  if (!blockfloat::fits(units, rate - 1)) return value;
  // Rounds to whole units by adding and subtracting a large number. A result of zero has no sign, as in codes.
  const double whole = (units + blockfloat::whole_in_low_bits) - blockfloat::whole_in_low_bits;
  return static_cast<Real>(PowerOfTwo<double>(quantum).times(whole));
}

}  // namespace slipstream
