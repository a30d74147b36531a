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

/// Thread blocks on one device that wait for other devices. Kernels of a stream run one after the other, so only the
/// largest of each stream counts.
/// If a multiprocessor holds m blocks of a kernel at once, one block takes 1 / m of it. The distribution of blocks over
/// multiprocessors is unknown. If a multiprocessor holds k blocks of another kernel, each of these therefore counts as
/// ceil(m / k) lost places.
class ResidentBlocks {
 public:
  /// The unfinished kernel launch of a stream that occupies the most multiprocessors.
  struct Waiting {
    std::uint64_t stream = 0;
    int blocks = 0;
    int resident = 1;  ///< number of the kernel's blocks that a multiprocessor holds
  };

  explicit ResidentBlocks(int processors) : processors_(processors) {}

  /// Number of thread blocks that a kernel may start while those of `others` wait: all that it wants if nothing waits.
  /// Otherwise at most half of the free places, so that more exchanges may follow; 0 if no place is free.
  int grant(int wanted, int resident, const std::vector<Waiting>& others) const;

 private:
  int processors_;
};

/// Accounts for the thread blocks on one device that wait for other devices. Excludes launches by replayed graphs.
class Residency {
 public:
  explicit Residency(Device device);
  /// The object that accounts for a device's waiting thread blocks. It is never destroyed.
  static Residency& of(Device device);

  /// Calls launch(blocks) with as many of the `wanted` thread blocks as the device holds at once. If it can hold none,
  /// the stream first waits for the oldest launches. The host backend and captures get all that they want.
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
