#pragma once
// Fourier transforms within one device, by the library of its backend. The rest of the folder does not depend on the
// backend.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/field.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::fft {

class Pointwise;
/// Operation on the modes of a block, one per device; null if the device has no block.
using Operation = std::shared_ptr<const Pointwise>;

enum class Kind : std::uint8_t { forward, backward, real_to_complex, complex_to_real };

/// Layout of the values of `count` transforms along one to three axes. In transform b, value (i_2, i_1, i_0) is at b *
/// distance + ((i_2 * n_1 + i_1) * row + i_0) * stride, in values.
struct Side {
  std::int64_t row = 0;  ///< distance between rows of a multi-dimensional transform, in units of `stride`
  std::int64_t stride = 1;
  std::int64_t distance = 0;
};
struct LineBatch {
  Kind kind = Kind::forward;
  bool twice = false;               ///< whether numbers are f64, else f32
  std::vector<std::int64_t> sizes;  ///< lengths of the real or complex transform along each axis, slowest first
  std::int64_t count = 0;
  std::int64_t rows = 0;  ///< lines per plane of a one-dimensional transform; 0: all lines are in one plane
  Side from, to;
  bool in_place = false;  ///< whether `from` and `to` are the same array
  /// Whether output is transposed in each plane, which only own kernels do, along one axis. Value k of line i goes
  /// to index k * rows + i. Input planes have from.row lines, or `rows` if from.row is 0.
  bool permuted = false;
  /// For permuted lines: the highest |k| that is read, and the number of lines read per plane; -1: all. Other values
  /// count as zero.
  std::int64_t highest = -1, read = -1;
};

class Lines {
 public:
  virtual ~Lines() = default;
  /// Queues all transforms. Keeps the input, except in place and for complex_to_real.
  virtual void run(Stream& stream, const void* from, void* to) = 0;
  /// Applies an operation on modes along the first axis of the block. A forward transform applies it to its result, a
  /// backward one to its input. Requires applies().
  virtual void run_with(Stream&, const void*, void*, const Operation&);
  virtual bool applies(const Pointwise&) const { return false; }
  /// Bytes of workspace that run() uses; use_workspace() sets its address.
  virtual std::size_t workspace() const { return 0; }
  virtual void use_workspace(void*) {}
};

/// Reason why the backend cannot transform on this machine; empty if it can.
std::string missing(Backend backend);
std::unique_ptr<Lines> make_lines(Device device, const LineBatch& batch);
/// Estimate of Lines::workspace() in bytes, without a plan.
std::size_t workspace_estimate(Backend backend, const LineBatch& batch);

}  // namespace slipstream::fft
