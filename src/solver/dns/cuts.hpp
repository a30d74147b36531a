#pragma once
// Batches and memory of an out-of-core flow. A sweep is a pass of all batches through the devices. Allocates nothing.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <slipstream/dns.hpp>

#include "fft/batch_moves.hpp"

namespace slipstream::dns {

constexpr int own_buffers = 4;  ///< number of a device's work arrays, each as large as its buffer for a batch of planes

/// Number of fields that travel from planes y to planes z: u, v, w, the derivatives of u and v along z, and each scalar
/// with its derivative along z.
int fields_there(const Options& options);
/// Number of fields that a plane z computes: u and the vorticity, and three slopes of each scalar.
int fields_of_cells(const Options& options);

/// Number of parts of size `each` into which `all` is divided; the last one may be smaller.
inline std::int64_t parts(std::int64_t all, std::int64_t each) { return (all + each - 1) / each; }

struct Range {
  std::int64_t first = 0, number = 0;
};

struct Sizes {
  explicit Sizes(const Options& options);
  std::int64_t nx, ny, nz, mx, wide, highest_y;
  std::int64_t high() const { return 2 * highest_y + 1; }
  /// Number of modes in a plane. of_y(): plane of constant y; between(), of_z(): of constant z, with kept or all modes.
  std::int64_t of_y() const { return wide * nz; }
  std::int64_t between() const { return wide * high(); }
  std::int64_t of_z() const { return mx * ny; }
  /// index_y(): index along y of the kept mode at a position; kept_below(): number of kept modes at indices below y.
  std::int64_t index_y(std::int64_t place) const { return place <= highest_y ? place : place + ny - high(); }
  std::int64_t kept_below(std::int64_t y) const {
    return std::min(y, highest_y + 1) + std::max<std::int64_t>(0, y - (ny - highest_y));
  }
};

/// Planes of each device. `y`, `places`: range of its planes y, by index and by position among kept k_y; `z`: planes z.
struct Shares {
  Shares(const Machine& machine, const Options& options);
  std::vector<Range> y, places, z;
  std::int64_t most_places = 0, most_z = 0;
  int devices() const { return static_cast<int>(z.size()); }
};

/// Upper bound of the number of doubles for a plane of constant y: partial sums of statistics, or an energy spectrum.
std::int64_t doubles_of_plane(const Options& options);

/// Batches in which data of an out-of-core flow pass through device buffers. A plane of constant y holds Fourier modes,
/// cut into ranges along x. A plane of constant z that exceeds a buffer is transformed in three passes over all
/// batches. They go along y for a range of modes k_x, along x for some lines, and along y again.
struct FlowCuts {
  FlowCuts(const Shares& of, const Options& options, std::int64_t buffer);
  std::int64_t wide = 1;                  ///< number of modes along x in each range into which batches cut that axis
  bool splits = false;                    ///< whether a plane of constant z exceeds a device buffer and is cut
  std::int64_t deep = 1;                  ///< number of planes of constant z in a batch
  std::int64_t rows = 1;                  ///< number of lines along x in a batch, if planes z are cut
  std::int64_t count_y = 1, count_z = 1;  ///< out-of-core batches in a pass over all planes y; over all planes z
  /// Ranges of adjacent planes of constant y, [device][range]; empty at the end if other devices have more ranges.
  std::vector<std::vector<Range>> slabs;
  fft::BatchCut of_y, of_z;
};

/// For a budget of device memory: bytes of a batch's buffer, bytes in use, the least possible budget, and the batches.
std::int64_t buffer_of(const Machine& machine, const Shares& of, const Options& options, std::int64_t budget);
std::int64_t taken_budget(const Machine& machine, const Options& options, std::int64_t budget);
std::int64_t least_budget(const Machine& machine, const Options& options);
BatchPlan planned_batches(const Machine& machine, const Options& options, std::int64_t budget);
/// Lists all ranks' messages in a Runge-Kutta stage: devices, bytes and route of each. Requires several devices.
std::vector<fft::AlikeMessages> messages_of_stage(const Machine& machine, const Options& options, std::int64_t budget);
/// Bytes of pinned host memory, by device, for fields between the passes over planes y and z of an out-of-core flow.
std::vector<std::int64_t> bytes_between_sweeps(const Machine& machine, const Options& options, std::int64_t budget);

}  // namespace slipstream::dns
