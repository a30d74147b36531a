#pragma once
#include <vector>

#include <slipstream/fft.hpp>

namespace slipstream::fft {

/// Throws Error, with the largest transform that fits, if one of `devices` cannot hold a plan that needs the memory
/// `needed`, listed by device of the machine. The caller's arrays may be allocated already.
void require_room(const Machine& machine, const std::vector<int>& devices, const Extent& cells,
                  const FftOptions& options, const std::vector<FftMemory>& needed);

}  // namespace slipstream::fft
