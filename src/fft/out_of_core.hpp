#pragma once
// Out-of-core transforms: values stay in host memory, and devices hold batches.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/batches.hpp>

#include "fft/batch_moves.hpp"
#include "fft/batch_work.hpp"
#include "fft/decomposition.hpp"

namespace slipstream::fft {

/// Two sweeps over the values: planes of x and y, then lines along z. If a plane is longer than a buffer, lines along x
/// and y get a sweep each. Between sweeps the values are in the spectrum's array.
///
/// On several devices the first sweep moves its results batch by batch, and the spectrum is permuted. The backward
/// transform then has its own array between sweeps.
class OutOfCore {
 public:
  /// Uses FftOptions::device_memory bytes per device. Throws Error with the minimum if that is too little. Collective.
  OutOfCore(const Communicator& comm, const Machine& machine, const Decomposition& cut, const FftOptions& options);

  /// Arrays by local device; null if the device has no block. `factor` scales the result of backward(). On one device
  /// this modifies the input.
  void forward(std::vector<Stream>& streams, const std::vector<const void*>& from, const std::vector<void*>& to);
  void backward(std::vector<Stream>& streams, const std::vector<const void*>& from, const std::vector<void*>& to,
                double factor);
  /// Allocates, once, the array that backward() needs between its sweeps on several devices.
  void make_room_between();

  std::int64_t bytes(std::size_t device) const;
  const Batches& batches() const { return *batches_; }
  void check();
  std::string describe() const;

  /// The smallest memory limit per device that works.
  static std::int64_t least_budget(const Machine& machine, const Decomposition& cut, const FftOptions& options);
  /// Bytes of the given budget that are used, per device. Throws like the constructor.
  static std::int64_t taken(const Machine& machine, const Decomposition& cut, const FftOptions& options);

 private:
  /// Direction and scale of a transform.
  struct Way {
    bool forward;
    double factor = 1;
  };
  /// Part of one local device.
  struct Own {
    int device = 0;             ///< index in the machine
    std::int64_t y = 0, z = 0;  ///< planes of the spectrum and of physical space
    std::unique_ptr<BatchWork> work;
    Buffer<std::byte> between;
  };
  using Arrays = std::vector<std::byte*>;
  void run(std::vector<Stream>& streams, std::int64_t count, const Batches::Rows& rows, const Batches::Work& work,
           BatchMove* move = nullptr);
  void planes(std::vector<Stream>& streams, Way way, const Arrays& from, const Arrays& to);
  void rows_along_x(std::vector<Stream>& streams, Way way, const Arrays& from, const Arrays& to);
  void columns_along_y(std::vector<Stream>& streams, Way way, const Arrays& values);
  void lines_along_z(std::vector<Stream>& streams, Way way, const Arrays& values, const Arrays& to);
  bool splits() const { return plane_ > batches_->bytes_of_buffer(); }
  Kind along_x(bool forward) const;
  void plan();

  bool planned_ = false;
  Decomposition cut_;
  std::int64_t nx_, mx_, ny_, nz_;
  std::int64_t value_;        ///< bytes of a complex value
  std::int64_t row_, plane_;  ///< bytes of a row and of a plane of complex values
  std::int64_t cells_;        ///< bytes of a row in physical space
  std::optional<Batches> batches_;
  std::vector<Own> own_;
  std::vector<Device> devices_;
  std::int64_t deep_ = 1, high_ = 1;        ///< planes z and planes y per batch
  std::optional<BatchMoves> forth_, back_;  ///< moves of planes z, and of planes y
};

}  // namespace slipstream::fft
