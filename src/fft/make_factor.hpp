#pragma once
#include <memory>

#include <slipstream/fft.hpp>

#include <slipstream/fft/modes.hpp>

namespace slipstream::fft {

/// On a block; `real` and `complex` are its arrays where the factor has any. `times`: a further factor.
std::shared_ptr<const Pointwise> make_factor(const FftFactor& factor, const ModeBlock& block, bool twice,
                                             const void* real, const void* complex, double times);

}  // namespace slipstream::fft
