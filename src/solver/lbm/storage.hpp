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
};

using StoredF32 = Stored<float>;
using StoredF64 = Stored<double>;

/// Halves as they are, for collisions that compute in multiples of the unit: a conversion less, and the same bits.
struct RawF16 {
  using Word = Half;
  using Number = float;
  static constexpr int unit = 32768;
  static SLIP_FN float load(Half word) { return float_of(word); }
  static SLIP_FN Half store(float number) { return half_of(number); }
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
};

}  // namespace slipstream::lbm
