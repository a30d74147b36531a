#pragma once
// Measures the errors of codings on the device that encodes the values.
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>

#include "mover/mover.hpp"
#include "mover/tiles.hpp"

namespace slipstream {

/// Sums of coding errors over numbers that are finite before and after coding. Complex values count as two numbers.
struct ErrorSums {
  double largest = 0, squares = 0;
  std::int64_t numbers = 0;
  void add(const ErrorSums& other) {
    largest = other.largest > largest ? other.largest : largest;
    squares += other.squares;
    numbers += other.numbers;
  }
};

/// Arguments of the kernel that measures coding errors.
struct ErrorMeasure {
  const Work* works = nullptr;
  std::size_t count = 0;
  std::byte* const* arrays = nullptr;
  ErrorSums* partial = nullptr;  ///< partial sums of the errors, one per thread
  int threads = 1;               ///< total number of threads of the launch
};
/// Numbers of thread blocks, and of threads in each, that measure coding errors on a GPU.
constexpr int error_teams = 64, error_threads = 128;

/// Measures the coding errors of the values that some movers (copies of an exchange) encode.
class ErrorProbe {
 public:
  /// Measures these movers (copies). `arrays`: the table of arrays that they name by number; must outlive this object.
  ErrorProbe(Device device, const std::vector<Mover>& movers, const Arrays& arrays);
  /// Queues kernels that encode and decode the values of these copies, to measure the errors.
  void run(Stream& stream) const;
  /// Coding errors of the last run. Blocks until the device has finished.
  ErrorSums sums() const;
  std::int64_t bytes() const { return static_cast<std::int64_t>(works_.bytes() + partial_.bytes()); }

 private:
  Device device_;
  const Arrays* arrays_;
  std::size_t count_ = 0;
  int threads_ = 1;
  int own_ = 0;  // registered number of the caller's own coding; 0: none
  Buffer<Work> works_;
  Buffer<ErrorSums> partial_;  // sums of coding errors, one per thread
};

}  // namespace slipstream
