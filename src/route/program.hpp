#pragma once
// The batches of many messages as one launch of one device.
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/route.hpp>

namespace slipstream {

/// What a wait that gave up leaves behind, in pinned memory.
struct Failure {
  std::uint64_t set = 0;  ///< 1 once the rest is written
  std::uint64_t sequence = 0;
  std::int64_t peer = -1;
};

/// What the launches of one device share.
struct Pulse {
  Signal* sequence = nullptr;  ///< number of the exchange, in device memory
  Failure* failure = nullptr;
  Signal* broken = nullptr;         ///< in device memory: 1 once a wait gave up; later ones do so at once
  std::uint64_t limit_ns = 0;       ///< of a wait
  std::uint64_t* stamps = nullptr;  ///< device clock in ns: of the beginning, then of each batch's end
};

/// A batch, with its place in the order of the launch.
struct Scheduled {
  const Batch* batch = nullptr;
  double from = 0, to = 0;  ///< movers spread evenly between; lower numbers start earlier
  int stamp = 0;            ///< index into Pulse::stamps; 0: none
};

/// Batches cut into tiles of about equal work. Teams of a launch take tiles by number, so that a tile may wait for what
/// this device's earlier tiles make other devices do, however few teams run at once.
class Program {
 public:
  Program() = default;
  /// `binding` picks the movers; `teams` 0: as many as the device holds at once.
  Program(Device device, const std::vector<Scheduled>& batches, int binding, int teams);
  bool empty() const { return tile_count_ == 0; }
  std::int64_t bytes() const;
  /// Runs everything. `advance`: this launch starts a new exchange, and counts it when done.
  void run(Stream& stream, const Pulse& pulse, bool advance) const;

 private:
  template <bool combines>
  void start(Stream& stream, const Pulse& pulse, bool advance) const;

  Buffer<std::byte> smalls_, tiles_;
  Buffer<Wait> waits_;
  Buffer<Signal*> posts_;
  mutable Buffer<std::uint32_t> counters_;  // tiles drawn, then tiles done of each batch
  std::uint32_t tile_count_ = 0;
  int teams_ = 1;
  std::int64_t bytes_moved_ = 0;
  bool combines_ = false;
};

/// Sets a counter to the exchange's number, in stream order.
void post(Stream& stream, Signal* signal, const Signal* sequence);

}  // namespace slipstream
