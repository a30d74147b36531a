#pragma once
#include <slipstream/buffer.hpp>

#include <slipstream/fft/radix.hpp>
#include "fft/stores.hpp"

namespace slipstream::fft {

/// Transforms along the first axis, or the first two, of a block, of lengths that a backend has kernels for; complex,
/// or real to complex along the first.
bool radix_holds(Backend backend, const LineBatch& batch);
/// Of batches that are turned.
std::unique_ptr<Lines> make_radix_lines(Device device, const LineBatch& batch);
std::unique_ptr<StoredLines> make_radix_stored_lines(Device device, const LineBatch& batch, const Extent& block);

}  // namespace slipstream::fft
