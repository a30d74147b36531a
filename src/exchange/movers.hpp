#pragma once
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
  std::int64_t phase = 0;  ///< 0 before sending, 1 on arrival
};

/// The movers of one launch on one device, cut into tiles of equal work, in device memory.
class MoverTable {
 public:
  MoverTable() = default;
  MoverTable(Device device, std::vector<Mover> movers);
  bool empty() const { return tiles_ == 0; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(movers_.bytes()); }
  /// Moves everything; slots of rings are picked by the parity of *sequence.
  void run(Stream& stream, const Signal* sequence) const;

 private:
  Buffer<Mover> movers_;
  std::int64_t tiles_ = 0;
};

/// Waits and posts of one launch on one device.
class SignalTable {
 public:
  SignalTable() = default;
  SignalTable(Device device, const std::vector<Wait>& waits, const std::vector<Signal*>& posts);
  /// Adds one to *sequence.
  static void advance(Stream& stream, Signal* sequence);
  /// Waits for every wait, at most `limit_ns`; what gives up writes *failure and later waits give up at once.
  void wait(Stream& stream, const Signal* sequence, std::uint64_t limit_ns, Failure* failure, int phase) const;
  /// Sets every post to *sequence.
  void post(Stream& stream, const Signal* sequence) const;

 private:
  Buffer<Wait> waits_;
  Buffer<Signal*> posts_;
};

}  // namespace slipstream
