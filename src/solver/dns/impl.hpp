#pragma once
// What a pseudo-spectral flow holds.
#include <array>
#include <complex>
#include <map>
#include <optional>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/dns.hpp>

#include "solver/dns/kernels.hpp"

namespace slipstream::dns {

/// What has gone in and out in the step under way.
struct Budget {
  double before = 0;  ///< energy of the fluctuation at its beginning
  double lost = 0, work = 0;
};

/// Sums over the modes of a field.
struct ModeSums {
  double energy = 0;                ///< of the fluctuation about the mean
  double squares = 0;               ///< sum of k^2 times energy
  double low = 0;                   ///< energy of the lowest shells, without the mean
  std::array<double, 3> mean = {};  ///< velocity
};

/// Throws Error where the options cannot make a run.
FftOptions transform_options(const Options& options);

struct ModeBlock {
  std::int64_t id = 0;
  std::size_t device = 0;  ///< of this rank's
  ModeGrid grid{};
};
struct CellBlock {
  std::int64_t id = 0;
  std::size_t device = 0;
  Box box;
};

struct Dns::Impl {
  Communicator comm;
  Options options;
  Fft fft;
  Field modes, next, sum, rhs;  // of Fourier coefficients, but for rhs: transforms that are not normalised
  Field u, w;                   // u at the end of a step: of its last stage; w: between transforms u x w
  std::vector<Stream> streams;
  std::vector<ModeBlock> spectral;
  std::vector<CellBlock> physical;
  std::vector<Device> places;
  Tasks tasks;  // rhs = transform of u x w, then a stage of the scheme, as often as it has stages
  StageNumbers numbers{};
  Budget budget;
  Carried carried;
  std::int64_t held_since = 0;  // restart
  double scale = 1;             // of the forced modes, in the last step
  std::optional<TimeLoop> loop;
  State state;
  bool velocity_is_new = false;
  std::int64_t seen_restarts = 0;

  Impl(const Communicator& comm, const Machine& machine, Options options);
  void synchronize();
  void list_tasks();
  Task transform(const std::string& name, bool forward, const Field& from, Field& to);
  /// Work of the host between tasks: it waits for the devices, and no step can be recorded.
  Task host_task(const std::string& name, std::function<void()> work);
  /// Adds what a stage with the modes `now` and the weight `share` (a time) has lost and won.
  void account(const Field& now, double share, bool first);
  void close_budget();
  template <class Queue>
  void each_mode_block(std::size_t device, Queue queue);
  const Field& velocity();
  double courant();
  ModeSums sums(const Field& of);
  /// Energy of the forced shells. Throws Error where there is none.
  double low_energy();
  /// Tasks before and behind the stages of a step, by the kind of forcing.
  void list_forcing_before();
  void list_forcing_behind();
  /// Energy of each shell of the fluctuation; shell 0 has none.
  std::vector<double> spectrum();
  /// Skewness and flatness of the longitudinal derivatives.
  std::array<double, 2> shape_of_gradients();
  /// Shells that some mode which is kept belongs to, from 0 on.
  int shells() const;
  /// The sums over all blocks, in their order, of what this rank has for its own, by block: the same bits on any number
  /// of ranks.
  std::vector<double> over_blocks(const std::map<std::int64_t, std::vector<double>>& mine, std::size_t count) const;
  void begin_from_modes();
  /// The sums over all blocks, in their order, of numbers that `queue(block, value of the type, to)` leaves for each
  /// line of a block: number n % count belongs to sum n % count. `lines(block)`: how many lines.
  template <std::size_t count, class Blocks, class Lines, class Queue>
  std::array<double, count> summed(const Blocks& blocks, const Lines& lines, const Queue& queue);

  template <class F>
  void with_type(const F& f) const {
    if (options.type == DType::f64) {
      f(double{});
    } else {
      f(float{});
    }
  }
  template <class T>
  static T* data(const Field& field, std::int64_t block) {
    return reinterpret_cast<T*>(field.data(block));
  }
  /// Doubles that `queue` leaves on the device.
  template <class Queue>
  static std::vector<double> from_device(Stream& stream, std::size_t count, const Queue& queue) {
    const Buffer<double> there(stream.device(), count), here(stream.device(), count, Memory::pinned);
    queue(there.data());
    copy(stream, here.data(), there.data(), here.bytes());
    stream.synchronize();
    return {here.data(), here.data() + count};
  }
};

/// Calls f(i, j, k) for every mode of a block.
template <class F>
void each_mode(const ModeGrid& grid, const F& f) {
  for (int k = 0; k < grid.extent[2]; ++k)
    for (int j = 0; j < grid.extent[1]; ++j)
      for (int i = 0; i < grid.extent[0]; ++i) f(i, j, k);
}

}  // namespace slipstream::dns
