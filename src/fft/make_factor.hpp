#pragma once
#include <memory>

#include <slipstream/fft.hpp>

#include <slipstream/fft/modes.hpp>

namespace slipstream::fft {

/// Makes the operation that multiplies the modes of a block by a factor. `real` and `complex` are the factor's arrays,
/// if it has any. `times`: an additional factor.
std::shared_ptr<const Pointwise> make_factor(const FftFactor& factor, const ModeBlock& block, bool twice,
                                             const void* real, const void* complex, double times);

/// Throws Error if a factor for Fourier modes of real or complex values is invalid on a rank with `blocks` blocks.
void check_factor(const FftFactor& factor, bool real, std::size_t blocks);
/// Hash of a spectral factor (numbers that modes are multiplied by); equal on all ranks if they pass the same factor.
std::uint64_t number_of(const FftFactor& factor);

}  // namespace slipstream::fft
