#pragma once
// Transforms of values in host memory, by one device that holds batches of them alone.
#include <cstdint>
#include <string>

#include <slipstream/batches.hpp>

#include "fft/batch_work.hpp"
#include "fft/decomposition.hpp"

namespace slipstream::fft {

/// Two sweeps over the values: planes of x and y, then lines along z. Where a plane is longer than a buffer, lines
/// along x and along y have a sweep each. Between sweeps the values lie in the spectrum's array.
class OutOfCore {
 public:
  /// `budget`: bytes of the device. Throws Error where that is too little, with the least that works.
  OutOfCore(Device device, const Decomposition& cut, std::int64_t budget, BatchOptions options);

  /// `factor`: of what backward() leaves, which changes what it reads.
  void forward(Stream& stream, const void* from, void* to);
  void backward(Stream& stream, void* from, void* to, double factor);

  std::int64_t bytes() const { return batches_.bytes() + work_.bytes(); }
  const Batches& batches() const { return batches_; }
  std::string describe() const;

  /// Bytes of the device without which there is no sweep.
  static std::int64_t least_budget(Backend backend, const Decomposition& cut);
  /// Bytes of a buffer. Throws as the constructor.
  static std::int64_t buffer_bytes(Backend backend, const Decomposition& cut, std::int64_t budget);

 private:
  /// A direction.
  struct Way {
    bool forward;
    double factor = 1;
  };
  void run(Stream& stream, std::int64_t count, const Batches::Rows& rows, const Batches::Work& work);
  void planes(Stream& stream, Way way, std::byte* from, std::byte* to);
  void rows_along_x(Stream& stream, Way way, std::byte* from, std::byte* to);
  void columns_along_y(Stream& stream, Way way, std::byte* values);
  void lines_along_z(Stream& stream, Way way, std::byte* values);
  bool splits() const { return plane_ > batches_.bytes_of_buffer(); }
  Kind along_x(bool forward) const;

  Decomposition cut_;
  std::int64_t nx_, mx_, ny_, nz_;
  std::int64_t value_;        ///< bytes of a complex one
  std::int64_t row_, plane_;  ///< bytes of complex values
  std::int64_t cells_;        ///< bytes of a row in physical space
  Batches batches_;
  BatchWork work_;
};

}  // namespace slipstream::fft
