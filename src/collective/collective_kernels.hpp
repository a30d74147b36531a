#pragma once
// The device's part of an all-reduce.
#include <cstddef>
#include <cstdint>

#include <slipstream/field.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/stream.hpp>
#include <slipstream/transfer.hpp>

namespace slipstream {

/// Shared memory that a team gets on any GPU.
constexpr std::size_t most_shared_bytes = 48 * 1024;

/// What is folded: `values` numbers of each of `devices` devices, `chunk` of them at a time.
struct Fold {
  DType type = DType::f64;
  Op op = Op::add;
  std::int32_t devices = 0;
  std::int32_t values = 0;
  std::int32_t chunk = 0;

  Fold() = default;
  Fold(DType type, Op op, int devices, int values);
  /// Pairs of words in one parity of a landing place.
  SLIP_FN std::int64_t pairs() const { return std::int64_t{devices} * values; }
};

/// Where a device stands; in its own memory, so that a graph that replays goes on counting.
struct alignas(16) ReduceState {
  std::uint64_t done = 0;    ///< reductions
  std::uint64_t broken = 0;  ///< 1 after a wait gave up: neither sends nor waits any more
};

/// What a wait that gave up leaves behind, in pinned memory.
struct MissedWords {
  std::uint64_t set = 0;  ///< 1 once the rest is written
  std::uint64_t sequence = 0;
  std::int64_t from = -1;  ///< device
};

/// One device in an all-reduce by peer memory.
///
/// A value travels as two words of 32 bits of data and 32 bits of the reduction's number: a word that bears the number
/// has arrived, so that neither fence nor flag is needed. Landing places are rings of two, by parity: who sends in
/// reduction n + 2 has every device's words of n + 1, which they send when they have read those of n.
struct PeerReduce {
  Fold fold;
  std::int32_t me = 0;
  ReduceState* state = nullptr;
  const WordPair* landing = nullptr;  ///< here: [parity][device][value]
  WordPair* const* remote = nullptr;  ///< [device]: row `me` of its landing place, parity 0
  MissedWords* missed = nullptr;
  std::uint64_t limit_ns = 0;
  int resident = 1;  ///< resident_reduce()
};

/// Sends, waits and folds in place, in one launch of one team.
void launch_reduce(Stream& stream, const PeerReduce& reduce, void* values);
/// Such launches that a multiprocessor holds at once.
int resident_reduce(Device device, const Fold& fold);
/// Folds `gathered` = [device][value], memory that the stream's device reads, into `values`.
void launch_fold(Stream& stream, const Fold& fold, const void* gathered, void* values);

}  // namespace slipstream
