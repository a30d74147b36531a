#pragma once
#include <vector>

#include <slipstream/fft.hpp>

namespace slipstream::fft {

/// Throws Error, with the largest transform that fits, where one of these devices does not hold a plan. Its caller's
/// arrays may be there already.
void require_room(const Machine& machine, const std::vector<int>& devices, const Extent& cells,
                  const FftOptions& options);

}  // namespace slipstream::fft
