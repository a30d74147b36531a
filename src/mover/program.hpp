#pragma once
// Batches of copies of many messages, run as one launch per device.
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>

#include "mover/ends.hpp"

namespace slipstream {

/// A batch of an exchange's copies, and the order in which one kernel launch for all batches starts it.
struct Scheduled {
  const Batch* batch = nullptr;
  /// range of positions in the launch over which the copies of `batch` are spread evenly; lower positions start earlier
  double from = 0, to = 0;
  int stamp = 0;  ///< index of the end time of this batch of copies in the launch's array of times; 0: not timed
};

/// Number conversions that copies need: none, of single values, or also of blocks of cells that are encoded together.
enum class Coded : std::uint8_t { none, by_value, in_blocks };

/// Kernel arguments of a Program (the copies of an exchange, cut into tiles of equal work), in device memory.
struct ProgramParts {
  const void *tiles = nullptr, *smalls = nullptr;
  const Wait* waits = nullptr;
  Signal* const* posts = nullptr;
  std::uint32_t* counters = nullptr;
  std::uint32_t tile_count = 0;
  int teams = 1;
  std::int64_t cost = 0;  ///< bytes that a thread block copies per launch
  bool transposes = true;
};
/// Functions for one kernel that copies and converts values: its launch, and how many of its thread blocks fit.
struct ProgramKernels {
  int (*resident)(Device device, bool combines);  ///< number of thread blocks that a multiprocessor holds at once
  void (*start)(Stream& stream, const ProgramParts& parts, bool combines, const Pulse& pulse, bool advance);
};

/// Batches that are cut into tiles of about equal work. Teams (thread blocks) take tiles in order of their numbers. A
/// tile may therefore wait for another device that depends on earlier tiles, however few teams run at once.
class Program {
 public:
  Program() = default;
  /// Cuts batches of copies into tiles. `arrays`: table of the arrays that movers name by number; it must outlive the
  /// program. `teams`: number of thread blocks; at most, and by default (0), as many as the device holds at once. If
  /// `users` processes share the device, each gets its share. More blocks would not fit under MPS, and those of all
  /// processes may wait for one another.
  Program(Device device, const std::vector<Scheduled>& batches, const Arrays* arrays, int teams, int users = 1);
  bool empty() const { return tile_count_ == 0; }
  std::int64_t bytes() const;
  /// Runs all batches, on as many thread blocks as the device has room for (Residency); runs nothing if the exchange
  /// has failed. A wait that times out makes the exchange fail. Its batch, and all later work of the thread block,
  /// moves nothing and sets no counter. Batches whose waits held are completed. `advance`: this launch starts a new
  /// exchange and counts it when done.
  void run(Stream& stream, const Pulse& pulse, bool advance) const;

 private:
  Buffer<std::byte> smalls_, tiles_;
  Buffer<Wait> waits_;
  Buffer<Signal*> posts_;
  mutable Buffer<std::uint32_t> counters_;  // numbers of work items taken by thread blocks, then of those done by batch
  std::uint32_t tile_count_ = 0;
  int teams_ = 1;
  int resident_ = 1;  // number of thread blocks that a multiprocessor holds at once
  std::int64_t bytes_moved_ = 0;
  const Arrays* arrays_ = nullptr;
  bool combines_ = false, transposes_ = false;
  ProgramKernels kernels_ = {};
};

ProgramKernels kernels_by_value();
ProgramKernels kernels_in_blocks();

/// Sets a counter to the exchange's number in stream order, unless the exchange has failed.
void post(Stream& stream, Signal* signal, const Pulse& pulse);

}  // namespace slipstream
