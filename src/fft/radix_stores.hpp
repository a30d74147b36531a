#pragma once
#include <slipstream/buffer.hpp>

#include "fft/radix.hpp"
#include "fft/stores.hpp"

namespace slipstream::fft {

/// Complex transforms along the first axis, or the first two, of a block, of lengths that Radices hold.
bool radix_holds(const LineBatch& batch);
std::unique_ptr<StoredLines> make_radix_stored_lines(Device device, const LineBatch& batch, const Extent& block);

}  // namespace slipstream::fft
