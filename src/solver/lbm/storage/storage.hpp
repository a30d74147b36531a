#pragma once
// Number formats of populations in memory and in computation. Kernels take one of these types, and know nothing else
// about the format.
#include <slipstream/device/half.hpp>

namespace slipstream::lbm {

template <class T>
struct Stored {
  using Word = T;
  using Number = T;
  using Raw = Stored;
  static constexpr int unit = 1;  ///< value in memory of a population that deviates by 1 from its weight
  static SLIP_FN T load(T word) { return word; }
  static SLIP_FN T store(T number) { return number; }
  /// Rounding of a cell's populations after a collision, seeded by its population at rest.
  struct Rounding {
    explicit SLIP_FN Rounding(T) {}
    SLIP_FN T operator()(T number) const { return number; }
  };
};

using StoredF32 = Stored<float>;
using StoredF64 = Stored<double>;

/// Stochastic rounding, up or down with probabilities that keep the mean. It adds 13 random bits, drawn from the
/// population at rest, to the 13 bits that are cut off. Rounding to nearest would lose changes below half a unit in the
/// last digit in every step. A nearly steady flow would then stop at a wrong state. The random bits are a function of
/// the cell. So the same flow has the same bits in any run, and mirror images keep their symmetry.
class DitheredHalf {
 public:
  // `chance`: additional random bits for rounding. A NaN on GPUs gets none, because a carry would change its sign.
  explicit SLIP_FN DitheredHalf(float rest, std::uint32_t chance = 0)
      : dither_((std::bit_cast<std::uint32_t>(rest) - 0x7fffffffu) * (0x9e3779b9u ^ chance << 1) >> 19) {}
  SLIP_FN Half operator()(float number) const {
    return half_towards_zero(std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) + dither_));
  }

 private:
  std::uint32_t dither_;
};

/// f16 populations without scaling, for collisions in multiples of 2^-15: one conversion less, same bits.
struct RawF16 {
  using Word = Half;
  using Number = float;
  static constexpr int unit = 32768;
  static SLIP_FN float load(Half word) { return float_of(word); }
  static SLIP_FN Half store(float number) { return half_of(number); }
  using Rounding = DitheredHalf;
};

/// Populations with 16 bits in memory and f32 in registers (Lehmann et al. 2022). The factor 2^15 makes the largest
/// half, 65504, a deviation of 2, above all values of a sound flow. Only deviations below 2^-29 have fewer than 11
/// binary digits. A power of two loses no digit.
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
