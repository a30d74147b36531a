#pragma once
#include "solver/lbm/collision/trt.hpp"

namespace slipstream::lbm {

/// Single-relaxation-time collision (Bhatnagar, Gross & Krook 1954; Qian, d'Humieres & Lallemand 1992): TRT of one
/// rate.
template <class L, class T>
struct Srt : Trt<L, T> {
  explicit Srt(double rate) : Trt<L, T>(rate, rate) { this->single = true; }
};

}  // namespace slipstream::lbm
