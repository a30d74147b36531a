#pragma once
// Device code of an all-reduce, a reduction whose result all devices get.
#include <cstddef>
#include <cstdint>

#include <slipstream/field.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/stream.hpp>
#include <slipstream/transfer.hpp>

namespace slipstream {

/// Bytes of shared memory that every GPU provides for a thread block.
constexpr std::size_t most_shared_bytes = 48 * 1024;

/// Parameters of a reduction of `values` numbers over `devices` devices, in chunks of `chunk` numbers.
struct Fold {
  DType type = DType::f64;
  Op op = Op::add;
  std::int32_t devices = 0;
  std::int32_t values = 0;
  std::int32_t chunk = 0;

  Fold() = default;
  Fold(DType type, Op op, int devices, int values);
  /// Number of pairs of words in one half of the double receive buffer.
  SLIP_FN std::int64_t pairs() const { return std::int64_t{devices} * values; }
};

/// A device's count of reductions. It is kept in device memory, so that a replayed graph continues to count.
struct alignas(16) ReduceState {
  std::uint64_t done = 0;    ///< number of completed reductions
  std::uint64_t broken = 0;  ///< 1 after a timeout: the device then neither sends nor waits
};

/// Record of a timed-out wait in a reduction, in pinned memory.
struct MissedWords {
  std::uint64_t set = 0;  ///< 1 if a wait has timed out; the other members are valid then
  std::uint64_t sequence = 0;
  std::int64_t from = -1;  ///< number of the device that did not send in time
};

/// Arguments of one device in an all-reduce through peer memory.
///
/// A value travels as two words, each with 32 bits of data and 32 bits of the reduction's number. A word with the
/// expected number has arrived, so no fence or flag is needed. Receive buffers are double buffers, indexed by parity.
/// They are free: a device sends in reduction n + 2 only after it has received all words of n + 1. Others send those
/// after they have read the words of n.
struct PeerReduce {
  Fold fold;
  std::int32_t me = 0;
  ReduceState* state = nullptr;
  const WordPair* receive_buffer = nullptr;  ///< this device's receive buffer, [even or odd reduction][sender][value]
  WordPair* const* remote = nullptr;  ///< where each device receives this one's values in reductions of even number
  MissedWords* missed = nullptr;
  std::uint64_t limit_ns = 0;
  int resident = 1;  ///< number of the kernel's thread blocks that fit on a multiprocessor, from resident_reduce()
};

/// All-reduce of `values` in place: sends, waits and reduces, in one launch of one thread block.
void launch_reduce(Stream& stream, const PeerReduce& reduce, void* values);
/// Number of launches of launch_reduce() that fit on a multiprocessor at once.
int resident_reduce(Device device, const Fold& fold);
/// Reduces `gathered` = [device][value] into `values`, without messages. The stream's device must be able to read it.
void launch_fold(Stream& stream, const Fold& fold, const void* gathered, void* values);

}  // namespace slipstream
