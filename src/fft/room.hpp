#pragma once
#include <vector>

#include <slipstream/fft.hpp>

namespace slipstream::fft {

/// Throws Error, with the largest transform that fits, if one of these devices cannot hold a plan that needs this
/// memory. The caller's arrays may be allocated already. `needed`: by device of the machine.
void require_room(const Machine& machine, const std::vector<int>& devices, const Extent& cells,
                  const FftOptions& options, const std::vector<FftMemory>& needed);

}  // namespace slipstream::fft
