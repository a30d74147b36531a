#pragma once
// Account of the thread blocks of kernels that wait for other devices.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <slipstream/device.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Blocks that wait on one device, by stream. Kernels of one stream follow one another, so that only the largest
/// counts.
///
/// A block of a kernel of which a multiprocessor holds m at once takes 1 / m of it. Blocks lie on multiprocessors in an
/// order that nobody knows, so each of another kernel, of which one holds k, is counted as ceil(m / k) places lost.
class ResidentBlocks {
 public:
  /// The largest launch that one stream has queued.
  struct Waiting {
    std::uint64_t stream = 0;
    int blocks = 0;
    int resident = 1;  ///< blocks of this kernel that a multiprocessor holds at once
  };

  explicit ResidentBlocks(int processors) : processors_(processors) {}

  /// Blocks that may start beside those of `others`: all that are wanted where nothing else waits, else at most half of
  /// the places left. Half, so that more exchanges may follow. 0: no place is left.
  int grant(int wanted, int resident, const std::vector<Waiting>& others) const;

 private:
  int processors_;
};

/// The account of one device of this process. Launches of graphs that are replayed are not in it.
class Residency {
 public:
  explicit Residency(Device device);
  /// One for each device, as long as the process lives.
  static Residency& of(Device device);

  /// Calls launch(blocks) with as many blocks as find a place, `wanted` at most. Where none does, the stream is first
  /// ordered behind the launches that have been there longest. On the host every stream has a thread of its own, and a
  /// captured launch runs elsewhere: all blocks are granted.
  void launch(Stream& stream, int wanted, int resident, const std::function<void(int)>& launch);

 private:
  struct Entry {
    ResidentBlocks::Waiting waiting;
    Event end;
    std::uint64_t since = 0;
  };
  std::vector<ResidentBlocks::Waiting> others(std::uint64_t stream);
  void follow_oldest(Stream& stream, std::vector<ResidentBlocks::Waiting>& others);

  Device device_;
  ResidentBlocks blocks_;
  std::mutex mutex_;
  std::map<std::uint64_t, Entry> entries_;  // by stream
  std::uint64_t launches_ = 0;
};

}  // namespace slipstream
