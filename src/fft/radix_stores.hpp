#pragma once
#include <slipstream/buffer.hpp>

#include <slipstream/fft/radix.hpp>
#include "fft/stores.hpp"

namespace slipstream::fft {

/// Whether the backend has kernels for the lengths of these FFTs. They run along the first axis of a block or the first
/// two, from complex values or, along the first axis, from real to complex.
bool radix_holds(Backend backend, const LineBatch& batch);
/// Whether lines of this length with permuted output are transformed in narrow tiles (LineTiles). Lines of which only
/// some are read take longer so.
bool in_narrow_tiles(std::int64_t length);
/// Makes the transforms of a batch of lines with permuted output (`permuted`).
std::unique_ptr<Lines> make_radix_lines(Device device, const LineBatch& batch);
std::unique_ptr<StoredLines> make_radix_stored_lines(Device device, const LineBatch& batch, const Extent& block);

}  // namespace slipstream::fft
