#pragma once
// A flow whose arrays lie in host memory. Each stage has two sweeps. Planes y with all of z advance modes; planes z
// form the product u x w. Between them travel the velocity and the z-derivatives of u and v there, and the transform of
// the product back: 11 fields each way per stage of rk2. On several devices each sweep sends its results, batch by
// batch, to the devices that read them. If a buffer cannot hold a plane, modes along x are cut into pieces, and planes
// z need three sweeps.
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/dns.hpp>

#include "solver/dns/kernels.hpp"

namespace slipstream::dns {

/// The largest integer wave number of a kept mode along an axis.
int highest_mode(const Options& options, std::size_t axis);
/// Wave numbers and extents of the Fourier modes for the solver's options; the caller fills in the block's own range.
ModeGrid wave_numbers(const Options& options);

/// Addresses of a flow's modes or velocities in host memory: an array per device of this rank, null without a block.
using HostArrays = std::vector<void*>;

/// Fourier modes of a flow in pinned host memory: the state, a sum over Runge-Kutta stages, and the next stage's state.
/// Each has its components one after the other, [y][x][z]. `sum` may be `modes` with rk2; `next` may be empty.
struct HostModes {
  HostArrays modes, sum, next;
};

/// A flow whose arrays lie in host memory. All calls are collective; streams are those of this rank's devices.
class OutOfCore {
 public:
  using Streams = std::vector<Stream>;

  virtual ~OutOfCore() = default;
  /// Phase per wave number by which a shift of the grid multiplies modes; zeros: no shift.
  using Angles = std::array<double, 3>;
  /// Computes velocity and derivatives in planes of constant z, for products(), from modes of velocity and scalars.
  virtual void open(Streams& streams, const HostArrays& modes, const Angles& turn) = 0;
  /// Computes u x w (w = curl u) and -u.(grad theta + G) of scalars theta with mean gradient G, in planes of constant
  /// z. Transforms them in x and y. With `scale` it waits; speeds() has the largest sum of |u_a| scale_a on x lines.
  virtual void products(Streams& streams, const std::optional<std::array<double, 3>>& scale) = 0;
  virtual const std::vector<std::vector<double>>& speeds() const = 0;
  /// Transforms nonlinear terms along z, undoes the grid shift of phase angles `undo`, advances modes by a stage, and
  /// computes the fields for the next products(). `accelerations`: by device, empty without stochastic forcing.
  virtual void stage(Streams& streams, const StageFactors& factors, const StageNumbers& numbers,
                     const HostModes& arrays, const std::vector<Accelerations>& accelerations, const Angles& undo,
                     const Angles& turn) = 0;
  /// Computes sums over Fourier modes, such as energy. `queue` queues a kernel that stores `of_plane` partial sums for
  /// each plane of modes at constant y. Returns them by device, in order of the planes that truncation keeps. Waits.
  using OfModes =
      std::function<void(Stream&, std::size_t device, const ModeGrid&, void* u, std::int64_t step, double* to)>;
  virtual std::vector<std::vector<double>> sums(Streams& streams, const HostArrays& modes, std::int64_t of_plane,
                                                const OfModes& queue) = 0;
  /// Computes sums over modes, like sums(), by a kernel that also reads the modes of the product u x w of velocity and
  /// vorticity. Call it after products(); it discards the modes of u x w.
  using OfProducts =
      std::function<void(Stream&, const ModeGrid&, void* u, std::int64_t step, void* product, double* to)>;
  virtual std::vector<std::vector<double>> with_products(Streams& streams, const HostArrays& modes,
                                                         std::int64_t of_plane, const OfProducts& queue) = 0;
  /// Changes modes in place by the kernel that `queue` queues for each batch. Truncated modes stay unchanged.
  using Change = std::function<void(Stream&, const ModeGrid&, void* u, std::int64_t step)>;
  virtual void change(Streams& streams, const HostArrays& modes, const Change& queue) = 0;
  /// Transforms the velocity to cells; its components in `u` lie `apart` numbers apart. Returns for each line along x,
  /// by device, the largest sum over axes a of |u_a| scale_a. Waits, and overwrites intermediate host arrays.
  virtual std::vector<std::vector<double>> velocity(Streams& streams, const HostArrays& modes, const HostArrays& u,
                                                    const std::vector<std::int64_t>& apart,
                                                    const std::array<double, 3>& scale) = 0;
  /// Returns sums of the 2nd to 4th powers of velocity derivatives over each line along x, by device. Waits for the
  /// devices. Discards the fields that a stage leaves in host memory between its two passes through the devices.
  virtual std::vector<std::vector<double>> moments(Streams& streams, const HostArrays& modes) = 0;
  /// Throws Timeout if a device waited too long for another one.
  virtual void check() = 0;
  virtual std::int64_t bytes(std::size_t device) const = 0;  ///< bytes of device memory in use
  /// bytes copied between the devices and the host memory of this rank
  virtual std::int64_t moved() const = 0;
  virtual std::string describe() const = 0;
};

/// Makes an out-of-core flow. `budget`: bytes of memory on each device. Throws Error if a device, or pinned memory, is
/// too small. Collective.
std::unique_ptr<OutOfCore> make_out_of_core(const Communicator& comm, const Machine& machine, const Options& options,
                                            std::int64_t budget);

}  // namespace slipstream::dns
