#pragma once
// Sorts and sums of many numbers in the memory of a device, for set-up.
#include <cstdint>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Keys, and a value of each.
struct KeyedValues {
  Buffer<std::uint64_t> keys;
  Buffer<std::uint32_t> values;
};

/// Sorts by key; values of one key stay in their order. Needs as much memory again for a while. Waits for the stream.
void sort_by_key(Stream& stream, KeyedValues& pairs);

/// Replaces each number by the sum of those before it: the last place, whose number does not count, has that of all.
/// The sum must fit. Waits for the stream.
void sum_before(Stream& stream, Buffer<std::uint32_t>& numbers);

}  // namespace slipstream
