#pragma once
// The batches of many messages as one launch of one device.
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>

#include "route/ends.hpp"

namespace slipstream {

/// A batch, with its place in the order of the launch.
struct Scheduled {
  const Batch* batch = nullptr;
  double from = 0, to = 0;  ///< movers spread evenly between; lower numbers start earlier
  int stamp = 0;            ///< index into Pulse::stamps; 0: none
};

/// The movers of a program encode or decode nothing, values one by one, or blocks of them, too.
enum class Coded : std::uint8_t { none, by_value, in_blocks };

/// Batches cut into tiles of about equal work. Teams of a launch take tiles by number, so that a tile may wait for what
/// this device's earlier tiles make other devices do, however few teams run at once.
class Program {
 public:
  Program() = default;
  /// `arrays`: those that movers know by number; must outlive this. `teams` 0, and at most: as many as the device holds
  /// at once, or this process's share of them where `users` processes use it. Teams of all of these may wait for one
  /// another: more than the device holds, where it runs them side by side (MPS), would keep out those that are waited
  /// for.
  Program(Device device, const std::vector<Scheduled>& batches, const Arrays* arrays, int teams, int users = 1);
  bool empty() const { return tile_count_ == 0; }
  std::int64_t bytes() const;
  /// Runs everything, on as many teams as the device has room for (Residency), but nothing where the exchange is
  /// broken. A wait that gives up breaks it: its batch, and all that the team would have done after it, moves nothing
  /// and posts nothing; batches whose waits held are completed. `advance`: this launch starts a new exchange, and
  /// counts it when done.
  void run(Stream& stream, const Pulse& pulse, bool advance) const;

 private:
  Buffer<std::byte> smalls_, tiles_;
  Buffer<Wait> waits_;
  Buffer<Signal*> posts_;
  mutable Buffer<std::uint32_t> counters_;  // tiles drawn, then tiles done of each batch
  std::uint32_t tile_count_ = 0;
  int teams_ = 1;
  int resident_ = 1;  // teams that a multiprocessor holds at once
  std::int64_t bytes_moved_ = 0;
  const Arrays* arrays_ = nullptr;
  bool combines_ = false, transposes_ = false;
  Coded coded_ = Coded::none;
  int own_ = 0;  // the coding of the caller's own that its movers have
};

/// What a program's kernel works with, in device memory.
struct ProgramParts {
  const void *tiles = nullptr, *smalls = nullptr;
  const Wait* waits = nullptr;
  Signal* const* posts = nullptr;
  std::uint32_t* counters = nullptr;
  std::uint32_t tile_count = 0;
  int teams = 1;
  std::int64_t cost = 0;  ///< bytes that a team moves
};
/// Teams of a program that encodes or decodes values, or blocks too, that a multiprocessor holds at once.
int resident_coded(Device device, bool combines);
int resident_in_blocks(Device device, bool combines);
/// Starts such a program.
void start_coded(Stream& stream, const ProgramParts& parts, bool combines, const Pulse& pulse, bool advance);
void start_in_blocks(Stream& stream, const ProgramParts& parts, bool combines, const Pulse& pulse, bool advance);

/// Sets a counter to the exchange's number, in stream order, unless the exchange is broken.
void post(Stream& stream, Signal* signal, const Pulse& pulse);

}  // namespace slipstream
