#pragma once
// A flow whose arrays lie in host memory, on one device. Two sweeps a stage: planes y with all of z, where modes are
// advanced, and planes z, where the product u x w is formed. Between them travel the velocity and its derivatives along
// z of u and v there, and the transform of the product back: 11 fields each way a stage of rk2.
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/dns.hpp>

#include "solver/dns/kernels.hpp"

namespace slipstream::dns {

/// The highest |k| of a mode that is kept along an axis, in whole numbers.
int highest_mode(const Options& options, std::size_t axis);
/// Wave numbers of these options; the block is for the caller to fill in.
ModeGrid wave_numbers(const Options& options);

/// Arrays of modes in pinned memory, components one after the other, [y][x][z] each. `sum` may be `modes` with rk2.
struct HostModes {
  void *modes = nullptr, *sum = nullptr, *next = nullptr;
};

class OutOfCore {
 public:
  virtual ~OutOfCore() = default;
  /// By wave numbers: how a shift of the grid turns modes. Zeros: it is not shifted.
  using Angles = std::array<double, 3>;
  /// Leaves between the sweeps what planes z need of these modes.
  virtual void open(Stream& stream, void* modes, const Angles& turn) = 0;
  /// Replaces it by the transform of u x w, and of -u.(grad theta + G) of each scalar, along x and y. With a scale it
  /// waits, and speeds() has the largest sum of |u_a| scale_a of each line along x.
  virtual void products(Stream& stream, const std::optional<std::array<double, 3>>& scale) = 0;
  virtual const std::vector<double>& speeds() const = 0;
  /// The rest of the transform, which `back` turns, a stage, and what planes z need of the next one's modes.
  virtual void stage(Stream& stream, const StageFactors& factors, const StageNumbers& numbers, const HostModes& arrays,
                     const Angles& back, const Angles& turn) = 0;
  /// Doubles that `queue` leaves for planes y of modes, so many a plane; in the order of the planes that are kept.
  /// Waits.
  using OfModes = std::function<void(Stream&, const ModeGrid&, void* u, std::int64_t step, double* to)>;
  virtual std::vector<double> sums(Stream& stream, void* modes, std::int64_t of_plane, const OfModes& queue) = 0;
  /// The same behind products(), with the rest of the transform of u x w, of which nothing remains.
  using OfProducts =
      std::function<void(Stream&, const ModeGrid&, void* u, std::int64_t step, void* product, double* to)>;
  virtual std::vector<double> with_products(Stream& stream, void* modes, std::int64_t of_plane,
                                            const OfProducts& queue) = 0;
  /// Replaces modes by what `queue` makes of them in place. Those that no sweep reads stay.
  using Change = std::function<void(Stream&, const ModeGrid&, void* u, std::int64_t step)>;
  virtual void change(Stream& stream, void* modes, const Change& queue) = 0;
  /// u in cells, three components `apart` numbers from one another; of each line along x the largest sum of |u_a|
  /// scale_a. Waits. Nothing remains between the sweeps.
  virtual std::vector<double> velocity(Stream& stream, void* modes, void* u, std::int64_t apart,
                                       const std::array<double, 3>& scale) = 0;
  /// queue_line_moments() of the derivatives. Waits. Nothing remains between the sweeps.
  virtual std::vector<double> moments(Stream& stream, void* modes) = 0;
  virtual std::int64_t bytes() const = 0;  ///< of the device
  virtual std::int64_t moved() const = 0;  ///< bytes from and to host memory
  virtual std::string describe() const = 0;
};

/// Throws Error where the device's memory of the options is too little, with the least that works.
std::unique_ptr<OutOfCore> make_out_of_core(Device device, const Options& options, std::int64_t budget);
/// Bytes of the device that it takes at most of a budget, and without which it cannot be.
std::int64_t most_budget(const Options& options, std::int64_t budget);
std::int64_t least_budget(const Options& options);
/// Bytes in pinned memory between the sweeps.
std::int64_t bytes_between_sweeps(const Options& options);

}  // namespace slipstream::dns
