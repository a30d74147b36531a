#pragma once
#include <memory>

#include <slipstream/fft.hpp>

#include <slipstream/fft/modes.hpp>

namespace slipstream::fft {

/// On a block; `real` and `complex` are its arrays where the factor has any. `times`: a further factor.
std::shared_ptr<const Pointwise> make_factor(const FftFactor& factor, const ModeBlock& block, bool twice,
                                             const void* real, const void* complex, double times);

/// Throws Error where no factor is meant: of modes of `real` values, on a rank with so many blocks.
void check_factor(const FftFactor& factor, bool real, std::size_t blocks);
/// The same on ranks whose factors have the same numbers.
std::uint64_t number_of(const FftFactor& factor);

}  // namespace slipstream::fft
