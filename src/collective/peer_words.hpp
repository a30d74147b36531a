#pragma once
// Device functions by which a thread block sends and receives the values of an all-reduce through peer memory.
#include <cstdint>

#include <slipstream/signal.hpp>

#include "collective/collective_kernels.hpp"

namespace slipstream {

/// Stores value v of this device into the receive buffer of device `to`.
SLIP_FN void send_words(const PeerReduce& reduce, std::int32_t to, std::int32_t v, std::uint64_t number,
                        std::uint64_t bits) {
  const std::uint64_t tag = number << 32;
  store_relaxed(reduce.remote[to] + (number & 1) * reduce.fold.pairs() + v,
                {tag | (bits & 0xffffffffu), tag | (bits >> 32)});
}

/// Waits for both words of value v from device `from`. Reads the clock only every 64 polls, because it is slower than
/// memory. After a timeout it sets `failed` to 1 + from. If `failed` is set already, it does not wait.
SLIP_FN std::uint64_t receive_words(const PeerReduce& reduce, std::int32_t from, std::int32_t v, std::uint64_t number,
                                    std::uint64_t* failed) {
  if (*failed) return 0;
  const auto tag = static_cast<std::uint32_t>(number);
  const WordPair* at = reduce.receive_buffer + (number & 1) * reduce.fold.pairs() + from * reduce.fold.values + v;
  std::uint64_t start = 0;
  for (unsigned round = 0;; ++round) {
    const WordPair pair = load_relaxed(at);
    if (static_cast<std::uint32_t>(pair.first >> 32) == tag && static_cast<std::uint32_t>(pair.second >> 32) == tag)
      return (pair.first & 0xffffffffu) | pair.second << 32;
    if (round % 64 == 63) {
      const std::uint64_t now = clock_ns();
      if (start == 0) start = now;
      if (now - start > reduce.limit_ns) break;
    }
    spin(round);
  }
  *failed = static_cast<std::uint64_t>(from) + 1;
  return 0;
}

/// Counts the reduction and records its timeout. Called by one thread, after all others.
SLIP_FN void end_reduction(const PeerReduce& reduce, std::uint64_t number, std::uint64_t failed) {
  reduce.state->done = number;
  if (!failed) return;
  reduce.state->broken = 1;
  reduce.missed->sequence = number;
  reduce.missed->from = static_cast<std::int64_t>(failed) - 1;
  store_release(&reduce.missed->set, 1);
}

/// Reduces one value over the devices by a binary tree, in place. Device d's value is column[d * stride].
template <class T, class Join>
SLIP_FN T fold_column(std::int32_t devices, T* column, std::int64_t stride, const Join& join) {
  for (std::int64_t apart = 1; apart < devices; apart *= 2)
    for (std::int64_t d = 0; d + apart < devices; d += 2 * apart)
      column[d * stride] = join(column[d * stride], column[(d + apart) * stride]);
  return column[0];
}

}  // namespace slipstream
