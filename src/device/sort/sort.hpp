#pragma once
// Sorting and prefix sums in device memory, for set-up.
#include <cstdint>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Keys to sort by, with one value each, in device memory.
struct KeyedValues {
  Buffer<std::uint64_t> keys;
  Buffer<std::uint32_t> values;
};

/// Stable sort by key. Temporarily needs the same amount of memory again. Waits for the stream.
void sort_by_key(Stream& stream, KeyedValues& pairs);

/// Exclusive prefix sum in place. The last entry is ignored and receives the total, which must fit its type. Waits for
/// the stream.
void sum_before(Stream& stream, Buffer<std::uint32_t>& numbers);

}  // namespace slipstream
