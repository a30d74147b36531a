#pragma once
// Sixteen values with one exponent. The head of a block has 16 bits: the exponent of its unit, a power of two. Values
// are multiples of the unit in `rate` - 1 bits, sign included. Each of a block's four lanes writes four bits of the
// head and its own four values: 4 `rate` bits.
#include <cmath>
#include <cstdint>

#include "coding/block_cells.hpp"

namespace slipstream {

namespace blockfloat {

/// Heads beside exponents: of a block with a value that cannot be written, and of memory that nobody has written
/// (poison_byte).
constexpr std::uint32_t refused = 0xfffe, unwritten = 0xffff;
constexpr int zero_exponent = 8192;

/// The nearest multiple of 2^exponent.
template <class Real>
SLIP_FN Real multiple(Real value, int exponent) {
  return std::rint(scaled(value, -exponent));
}
SLIP_FN std::int64_t most_multiple(int bits) { return (std::int64_t{1} << (bits - 1)) - 1; }
template <class Real>
SLIP_FN bool fits(Real multiple, int bits) {
  const auto most = static_cast<Real>(most_multiple(bits));
  return multiple >= -most && multiple <= most;  // and is a number
}

/// A lane's part of a block's code.
struct LaneCode {
  std::uint64_t word[3] = {0, 0, 0};

  // Words are chosen, and not found by a number: so they stay in registers.
  SLIP_FN void put(std::uint64_t bits, int at) {
    const int first = at >> 6, shift = at & 63;
    const std::uint64_t low = bits << shift, high = shift ? bits >> (64 - shift) : 0;
    word[0] |= first == 0 ? low : 0;
    word[1] |= first == 1 ? low : first == 0 ? high : 0;
    word[2] |= first == 2 ? low : first == 1 ? high : 0;
  }
  /// 64 bits from there on.
  SLIP_FN std::uint64_t get(int at) const {
    const int first = at >> 6, shift = at & 63;
    const std::uint64_t low = first == 0   ? word[0]
                              : first == 1 ? word[1]
                                           : word[2],
                        high = first == 0   ? word[1]
                               : first == 1 ? word[2]
                                            : 0;
    return low >> shift | (shift ? high << (64 - shift) : 0);
  }

  /// A part of 4 `rate` bits starts on as many bytes as divide it.
  template <class Unit, class F>
  SLIP_FN static void each_unit(int rate, F f) {
    constexpr int bits = 8 * static_cast<int>(sizeof(Unit)), in_word = 64 / bits;
    for (int w = 0; w < 3; ++w)
      for (int u = 0; u < in_word; ++u)
        if (const int n = w * in_word + u; n * bits < 4 * rate) f(n, w, u * bits);
  }
  template <class Unit>
  SLIP_FN void store_as(void* to, int rate) const {
    each_unit<Unit>(rate,
                    [&](int n, int w, int shift) { static_cast<Unit*>(to)[n] = static_cast<Unit>(word[w] >> shift); });
  }
  template <class Unit>
  SLIP_FN void load_as(const void* from, int rate) {
    each_unit<Unit>(rate, [&](int n, int w, int shift) {
      word[w] |= static_cast<std::uint64_t>(static_cast<const Unit*>(from)[n]) << shift;
    });
  }
  SLIP_FN void store(std::uint64_t* block, int row, int rate) const {
    void* const to = reinterpret_cast<std::uint8_t*>(block) + row * rate / 2;
    if (rate % 16 == 0) return store_as<std::uint64_t>(to, rate);
    if (rate % 8 == 0) return store_as<std::uint32_t>(to, rate);
    store_as<std::uint16_t>(to, rate);
  }
  SLIP_FN void load(const std::uint64_t* block, int row, int rate) {
    const void* const from = reinterpret_cast<const std::uint8_t*>(block) + row * rate / 2;
    if (rate % 16 == 0) return load_as<std::uint64_t>(from, rate);
    if (rate % 8 == 0) return load_as<std::uint32_t>(from, rate);
    load_as<std::uint16_t>(from, rate);
  }
};

/// `lost`: whether some value cannot be written.
template <bool sequential, class Real>
SLIP_FN void encode(const BlockTurn<sequential>& turn, OfLane<sequential, Four<Real>>& values, bool& lost) {
  const int rate = turn.wire.rate(turn.shape), bits = rate - 1, fixed = turn.wire.quantum;
  const bool floats = fixed == Wire::floating;
  turn.each([&](int lane) {
    int mark = 0;
    for (int i = 0; i < cells_of_lane; ++i) {
      const Real value = values[lane].of[i];
      const int of = !floats && !fits(multiple(value, fixed), bits) ? most_mark<Real> + 1 : mark_of(value);
      mark = of > mark ? of : mark;
    }
    turn.scratch->marks[lane] = mark;
  });
  turn.each([&](int lane) {
    const int mark = turn.greatest_mark(lane), row = turn.split.row(lane);
    const bool bad = mark > most_mark<Real>;
    lost |= bad;
    // Subnormal numbers have the unit of the least normal ones.
    const int exponent = floats ? (mark > 1 ? mark : 1) - Bits<Real>::bias - (bits - 1) : fixed;
    const std::uint32_t head = bad ? refused : static_cast<std::uint32_t>(exponent + zero_exponent);
    LaneCode code;
    code.put(head >> 4 * row & 15, 0);
    for (int i = 0; i < cells_of_lane; ++i) {
      auto whole = bad ? std::int64_t{0} : static_cast<std::int64_t>(multiple(values[lane].of[i], exponent));
      // A value that rounds up to the next power of two is left a unit below it.
      const std::int64_t most = most_multiple(bits);
      whole = whole > most ? most : whole < -most ? -most : whole;
      code.put(static_cast<std::uint64_t>(whole) & ((std::uint64_t{1} << bits) - 1), 4 + i * bits);
    }
    code.store(turn.code(lane), row, rate);
  });
}

template <bool sequential, class Real>
SLIP_FN void decode(const BlockTurn<sequential>& turn, OfLane<sequential, Four<Real>>& values, bool& lost) {
  const int rate = turn.wire.rate(turn.shape), bits = rate - 1;
  OfLane<sequential, LaneCode> codes{};
  turn.each([&](int lane) {
    codes[lane].load(turn.code(lane), turn.split.row(lane), rate);
    turn.scratch->marks[lane] = static_cast<std::int32_t>(codes[lane].word[0] & 15);
  });
  turn.each([&](int lane) {
    std::uint32_t head = 0;
    for (int r = 0; r < 4; ++r)
      head |= static_cast<std::uint32_t>(turn.scratch->marks[turn.split.first(lane) + r]) << 4 * r;
    lost |= head == refused;
    for (int i = 0; i < cells_of_lane; ++i) {
      const auto shifted = static_cast<std::int64_t>(codes[lane].get(4 + i * bits) << (64 - bits));
      values[lane].of[i] =
          head >= refused ? no_number<Real>()
                          : scaled(static_cast<Real>(shifted >> (64 - bits)), static_cast<int>(head) - zero_exponent);
    }
  });
}

}  // namespace blockfloat

/// A value as it travels where all have one unit; what does not fit stays as it is.
template <class Real>
SLIP_FN Real rounded_to_unit(Real value, int quantum, int rate) {
  const Real whole = blockfloat::multiple(value, quantum);
  // There is one zero among the multiples.
  return blockfloat::fits(whole, rate - 1) ? scaled(whole, quantum) + Real{0} : value;
}

}  // namespace slipstream
