#pragma once
// How far values are from what is decoded of them, measured on the device that encodes them.
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>

#include "route/mover.hpp"
#include "route/tiles.hpp"

namespace slipstream {

/// Over numbers that are finite before and after; of complex values both parts count.
struct ErrorSums {
  double largest = 0, squares = 0;
  std::int64_t numbers = 0;
  void add(const ErrorSums& other) {
    largest = other.largest > largest ? other.largest : largest;
    squares += other.squares;
    numbers += other.numbers;
  }
};

/// Arguments of a launch that measures.
struct ErrorMeasure {
  const Work* works = nullptr;
  std::size_t count = 0;
  std::byte* const* arrays = nullptr;
  ErrorSums* partial = nullptr;  ///< of every thread
  int threads = 1;               ///< of all teams
};
/// On a GPU.
constexpr int error_teams = 64, error_threads = 128;

/// Of the values that some movers encode.
class ErrorProbe {
 public:
  /// `arrays`: those that the movers know by number; must outlive this.
  ErrorProbe(Device device, const std::vector<Mover>& movers, const Arrays& arrays);
  /// Reads the values once more, behind what the stream holds.
  void run(Stream& stream) const;
  /// Of the last run. Waits for the device.
  ErrorSums sums() const;
  std::int64_t bytes() const;

 private:
  Device device_;
  const Arrays* arrays_;
  std::size_t count_ = 0;
  int threads_ = 1;
  int own_ = 0;  // a coding of the caller's own
  Buffer<Work> works_;
  Buffer<ErrorSums> partial_;  // of every thread
};

}  // namespace slipstream
