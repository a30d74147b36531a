#pragma once
// Fourier transforms of one device's own values, by the library that its backend has. The only thing here that backends
// do differently.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/field.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::fft {

class Pointwise;
/// On the modes of a device's block; null where it has none.
using Operation = std::shared_ptr<const Pointwise>;

enum class Kind : std::uint8_t { forward, backward, real_to_complex, complex_to_real };

/// `count` transforms of one to three axes. Of the b-th, value (i_2, i_1, i_0) lies at
/// b * distance + ((i_2 * n_1 + i_1) * row + i_0) * stride, in values.
struct Side {
  std::int64_t row = 0;  ///< of several axes; of what is turned, see there
  std::int64_t stride = 1;
  std::int64_t distance = 0;
};
struct LineBatch {
  Kind kind = Kind::forward;
  bool twice = false;               ///< f64, not f32
  std::vector<std::int64_t> sizes;  ///< of the real or complex transform, slowest first
  std::int64_t count = 0;
  std::int64_t rows = 0;  ///< lines of a plane, of one axis alone: what is done at once ends with it; 0: count
  Side from, to;
  bool in_place = false;  ///< from and to are the same array
  /// Of one axis: value k of line i of a plane goes to k * rows + i of the plane, side by side with its neighbours'. By
  /// the kernels of GPUs, for the lines that these hold. A plane has from.row lines; 0: `rows`.
  bool turned = false;
  /// Turned lines alone: the highest |k| whose values are read, and how many lines of a plane are; -1: all. Others
  /// count as zero.
  std::int64_t highest = -1, read = -1;
};

class Lines {
 public:
  virtual ~Lines() = default;
  /// Queues all transforms. What it reads is kept where kind is not complex_to_real and it is not in place.
  virtual void run(Stream& stream, const void* from, void* to) = 0;
  /// With an operation on modes: of what a forward transform leaves, or of what a backward one reads, along the first
  /// axis of the block. Where applies() says so.
  virtual void run_with(Stream&, const void*, void*, const Operation&);
  virtual bool applies(const Pointwise&) const { return false; }
  /// Bytes of scratch memory that run() uses, given by use_workspace().
  virtual std::size_t workspace() const { return 0; }
  virtual void use_workspace(void*) {}
};

/// Why the backend cannot transform here; empty where it can.
std::string missing(Backend backend);
std::unique_ptr<Lines> make_lines(Device device, const LineBatch& batch);
/// What workspace() will about be.
std::size_t workspace_estimate(Backend backend, const LineBatch& batch);

}  // namespace slipstream::fft
