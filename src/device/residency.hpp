#pragma once
// Accounting of the resident thread blocks of kernels that wait for other devices.
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include <slipstream/device.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Waiting blocks on one device, by stream. Kernels of a stream run one after the other, so only the largest counts.
///
/// If a multiprocessor holds m blocks of a kernel at once, one block takes 1 / m of it. The distribution of blocks over
/// multiprocessors is unknown. A block of another kernel, of which one holds k, therefore counts as ceil(m / k) lost
/// places.
class ResidentBlocks {
 public:
  /// The largest unfinished launch of a stream.
  struct Waiting {
    std::uint64_t stream = 0;
    int blocks = 0;
    int resident = 1;  ///< number of the kernel's blocks that a multiprocessor holds
  };

  explicit ResidentBlocks(int processors) : processors_(processors) {}

  /// Number of blocks that may start while those of `others` wait. All that are wanted if nothing else waits; otherwise
  /// at most half of the free places, so that more exchanges may follow. Returns 0 if no place is free.
  int grant(int wanted, int resident, const std::vector<Waiting>& others) const;

 private:
  int processors_;
};

/// The accounting for one device of this process. Launches by replayed graphs are not included.
class Residency {
 public:
  explicit Residency(Device device);
  /// The accounting object of a device, never destroyed.
  static Residency& of(Device device);

  /// Calls launch(blocks) with at most `wanted` blocks, as many as fit. If none fits, the stream first waits for the
  /// oldest launches. All blocks are granted on the host, where each stream has its own thread, and during capture.
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
  std::map<std::uint64_t, Entry> entries_;  // launches in progress, by stream
  std::uint64_t launches_ = 0;
};

}  // namespace slipstream
