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

/// Transform of values in host memory by two sweeps: planes of x and y, then lines along z. If a plane is longer than a
/// buffer, modes along x are cut into pieces, and lines along x and along y have a sweep each. Between sweeps the
/// values lie in the array of the spectrum. On several devices the spectrum is permuted. There the first sweep of
/// backward, and that of forward along y, sends its results batch by batch. Backward then has an array of its own
/// between sweeps, as has forward if planes are cut.
class OutOfCore {
 public:
  /// Allocates buffers of FftOptions::device_memory bytes per device. Throws Error if the FFT needs more. Collective.
  OutOfCore(const Communicator& comm, const Machine& machine, const Decomposition& cut, const FftOptions& options);

  /// Transform arrays, one per local device; null if the device has no block. `factor` scales the result of backward().
  /// On one device a transform modifies the input.
  void forward(std::vector<Stream>& streams, const std::vector<const void*>& from, const std::vector<void*>& to);
  void backward(std::vector<Stream>& streams, const std::vector<const void*>& from, const std::vector<void*>& to,
                double factor);
  /// Allocates, once, the host array of intermediate values of a forward or backward transform on several devices.
  void make_room_between(bool forward);

  std::int64_t bytes(std::size_t device) const;
  const Batches& batches() const { return *batches_; }
  void check();
  std::string describe() const;

  /// The smallest memory limit per device, in bytes, that suffices.
  static std::int64_t least_budget(const Machine& machine, const Decomposition& cut, const FftOptions& options);
  /// The smallest memory limit per device, in bytes, at which planes stay whole.
  static std::int64_t plane_budget(const Machine& machine, const Decomposition& cut, const FftOptions& options);
  /// Whether planes are cut at a given memory limit. Throws the same errors as the constructor.
  static bool splits(const Machine& machine, const Decomposition& cut, const FftOptions& options);
  /// Bytes of device memory that are used at a given memory limit. Throws the same errors as the constructor.
  static std::int64_t taken(const Machine& machine, const Decomposition& cut, const FftOptions& options);

 private:
  /// Direction and scale of a transform.
  struct Way {
    bool forward;
    double factor = 1;
  };
  /// Arrays and workspace of one local device.
  struct Own {
    int device = 0;             ///< index of the device in the machine
    std::int64_t y = 0, z = 0;  ///< number of the device's planes: of modes at constant y, of cells at constant z
    std::unique_ptr<BatchWork> work;
    Buffer<std::byte> between;
  };
  struct Range {
    std::int64_t first = 0, number = 0;
  };
  struct Part {
    Range x, y, z;
  };
  using Arrays = std::vector<std::byte*>;
  void run(std::vector<Stream>& streams, std::int64_t count, const Batches::Rows& rows, const Batches::Work& work,
           BatchMove* move = nullptr);
  void planes(std::vector<Stream>& streams, Way way, const Arrays& from, const Arrays& to);
  void rows_along_x(std::vector<Stream>& streams, Way way, const Arrays& from, const Arrays& to);
  void columns_along_y(std::vector<Stream>& streams, Way way, const Arrays& values, const Arrays& to);
  void lines_along_z(std::vector<Stream>& streams, Way way, const Arrays& values, const Arrays& to);
  /// Lists the copies of a box of modes, `part`, between a host array with `all_z` planes of constant z and a device
  /// buffer. The box begins at byte `at` of the buffer, which has `z_of_buffer` such planes; 0: as many as the box.
  std::vector<HostRows> modes(std::byte* array, std::int64_t all_z, const Part& part, std::int64_t at = 0,
                              std::int64_t z_of_buffer = 0) const;
  std::vector<HostRows> received_permuted(std::size_t d, std::int64_t batch, std::byte* to, Range x,
                                          std::int64_t first) const;
  std::vector<HostRows> received_back(std::size_t d, std::int64_t batch, std::byte* to, Range x,
                                      std::int64_t first) const;
  /// Range of modes along x in the n-th batch, for planes that are cut along x because they exceed a device buffer.
  Range piece(std::int64_t n) const;
  std::int64_t pieces() const { return (mx_ + wide_ - 1) / wide_; }
  /// Arrays for values between two FFT passes over host data: the object's own, or on one device the caller's `other`.
  Arrays between_or(const Arrays& other) const;
  /// Largest number of planes of modes at constant y that any device has.
  std::int64_t most_y() const;
  std::int64_t most_z() const;
  Kind along_x(bool forward) const;
  void plan();

  bool planned_ = false;
  Decomposition cut_;
  std::int64_t nx_, mx_, ny_, nz_;
  std::int64_t value_;        ///< bytes of a complex value
  std::int64_t row_, plane_;  ///< bytes of a row and of a plane of complex values
  std::int64_t cells_;        ///< bytes of a row of real values in physical space
  std::optional<Batches> batches_;
  std::vector<Own> own_;
  std::vector<Device> devices_;
  std::int64_t deep_ = 1, high_ = 1;  ///< number of planes z and of planes y in a batch
  std::int64_t wide_ = 1;             ///< number of modes along x in a batch; fewer than all if planes exceed a buffer
  bool splits_ = false;
  std::optional<BatchMoves> forth_, back_;  ///< transposes between devices: of batches of planes z, and of planes y
};

}  // namespace slipstream::fft
