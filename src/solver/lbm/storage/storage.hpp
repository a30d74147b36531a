#pragma once
// How populations lie in memory and what they are computed with: kernels take one of these and nothing else of the
// number format.
#include <slipstream/device/half.hpp>

namespace slipstream::lbm {

template <class T>
struct Stored {
  using Word = T;
  using Number = T;
  using Raw = Stored;
  static constexpr int unit = 1;  ///< that a deviation of 1 is stored as, of Raw
  static SLIP_FN T load(T word) { return word; }
  static SLIP_FN T store(T number) { return number; }
  /// Of the populations that a cell has collided, by that of its rest.
  struct Rounding {
    explicit SLIP_FN Rounding(T) {}
    SLIP_FN T operator()(T number) const { return number; }
  };
};

using StoredF32 = Stored<float>;
using StoredF64 = Stored<double>;

/// Up or down with the probabilities that keep the mean: by 13 bits, drawn from the population at rest, that are added
/// to the 13 which are cut off. To the nearest, what a step changes by less than half a unit in the last digit is lost,
/// as often as it happens, and a flow that hardly changes any more stands still in the wrong place. What decides is a
/// function of the cell, so that the same flow has the same bits however it is run, and mirror images remain such.
class DitheredHalf {
 public:
  // `chance` counts, too. The NaN of GPUs draws zero, since more would be carried into its sign.
  explicit SLIP_FN DitheredHalf(float rest, std::uint32_t chance = 0)
      : dither_((std::bit_cast<std::uint32_t>(rest) - 0x7fffffffu) * (0x9e3779b9u ^ chance << 1) >> 19) {}
  SLIP_FN Half operator()(float number) const {
    return half_towards_zero(std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) + dither_));
  }

 private:
  std::uint32_t dither_;
};

/// Halves as they are, for collisions that compute in multiples of the unit: a conversion less, and the same bits.
struct RawF16 {
  using Word = Half;
  using Number = float;
  static constexpr int unit = 32768;
  static SLIP_FN float load(Half word) { return float_of(word); }
  static SLIP_FN Half store(float number) { return half_of(number); }
  using Rounding = DitheredHalf;
};

/// 16 bits in memory, f32 in registers (Lehmann et al. 2022). Times 2^15, so that the largest half, 65504, is a
/// deviation of 2, above all that a sound flow has, and only deviations below 2^-29 have fewer than 11 binary digits. A
/// power of two costs no digit.
struct StoredF16 {
  using Word = Half;
  using Number = float;
  using Raw = RawF16;
  static SLIP_FN float load(Half word) { return float_of(word) * (1.0f / RawF16::unit); }
  static SLIP_FN Half store(float number) { return half_of(number * RawF16::unit); }
  struct Rounding {
    DitheredHalf raw;
    explicit SLIP_FN Rounding(float rest) : raw(rest * RawF16::unit) {}
    SLIP_FN Half operator()(float number) const { return raw(number * RawF16::unit); }
  };
};

}  // namespace slipstream::lbm
