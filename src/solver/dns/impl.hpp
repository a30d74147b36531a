#pragma once
// State and tasks of a pseudo-spectral flow.
#include <algorithm>
#include <array>
#include <complex>
#include <map>
#include <optional>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/dns.hpp>

#include "solver/dns/kernels.hpp"
#include "solver/dns/out_of_core.hpp"
#include "solver/dns/terms.hpp"

namespace slipstream::dns {

/// Contributions to the energy budget of the current step.
struct Budget {
  double before = 0;  ///< energy of the fluctuation at the beginning of the step
  double lost = 0, work = 0;
};

/// Energies and mean of the velocity, as sums over its Fourier modes.
struct ModeSums {
  double energy = 0;                ///< kinetic energy of the fluctuation about the mean velocity
  double squares = 0;               ///< sum over modes of k^2 times energy
  double low = 0;                   ///< energy of the lowest shells without the mean velocity
  std::array<double, 3> mean = {};  ///< mean velocity over the box
};

/// Distance, in real numbers, from one component to the next in memory that modes and cells share.
std::int64_t numbers_apart(const Machine& machine, const Options& options);
/// Whether the flow stores a field `next`: a later stage needs the modes at which the right-hand side was computed.
bool keeps_next(const Options& options);
/// Device memory in bytes for an out-of-core transform, which only the start of a run needs.
std::int64_t budget_of_transform(const Machine& machine, const Options& options);
/// Bytes of Options::device_memory that are left to pass an out-of-core flow through device buffers in batches.
std::int64_t budget_of_batches(const Machine& machine, const Options& options);
/// Throws Error if Options::device_memory is too small for batches or impossible.
void check_batches(const Machine& machine, const Options& options);
/// Throws Error if Options::device_memory, or the memory of the host, is too small or impossible.
void check_device_memory(const Machine& machine, const Options& options);
inline int scalars_of(const Options& o) { return static_cast<int>(o.scalars.size()); }
/// Number of fields in modes: three of the velocity and one per scalar.
inline int components_of(const Options& o) { return 3 + scalars_of(o); }
inline double diffusivity(const Options& o, int scalar) {
  return o.viscosity / o.scalars[static_cast<std::size_t>(scalar)].schmidt;
}
/// Number of components in the array of products: three for the vorticity, then u x w; three more for scalar slopes.
inline int products_of(const Options& o) { return o.scalars.empty() ? 3 : 6; }
/// Upper bound, in bytes, of the device memory for the accelerations of a stochastic forcing.
std::int64_t bytes_of_accelerations(const Options& options);
/// Options::largest_courant, or its default if it is not set.
double largest_courant(const Options& options);
/// Uniform random number in [0, 1), the same on all ranks.
double uniform(std::uint64_t seed, std::uint64_t number, std::uint64_t which);
/// Options of the transform; throws Error if these options of a flow are inconsistent.
FftOptions transform_options(const Options& options);

struct ModeBlock {
  std::int64_t id = 0;
  std::size_t device = 0;  ///< index of the block's device among those of this rank
  ModeGrid grid{};
};
struct CellBlock {
  std::int64_t id = 0;
  std::size_t device = 0;
  Box box;
};

struct Dns::Impl : SolverParts {
  Options options;
  Fft fft;
  Field modes, sum;
  std::optional<Field> next;  // velocity modes for which the next Runge-Kutta stage is evaluated, if they are stored
  // Each device has two buffers of three components, of modes or of cells, `apart` numbers from one to the next.
  // The first has the velocity of a stage. The second has its vorticity, then u x w.
  std::int64_t apart = 0;
  std::vector<Buffer<std::byte>> velocity_memory, product_memory;
  Field u;  // velocity in cells: at the end of a step, that of its last stage; out of core, computed on request
  std::unique_ptr<OutOfCore> out_of_core;
  std::int64_t seen_by_sweeps = 0;
  bool opened = false;  // out of core: whether the fields for the next step's pass over planes z are already computed
  std::int64_t looks_every = 0;
  std::vector<std::vector<double>> speeds;  // out of core: largest sum_a |u_a| dt / dx_a by device and line along x
  std::vector<Stream> streams;
  std::vector<ModeBlock> spectral;
  std::vector<CellBlock> physical;
  StageNumbers numbers{};
  // modes with a stochastic forcing: first the `drawn` ones that get random numbers, then their conjugates
  std::vector<std::array<int, 3>> accelerated;
  std::size_t drawn = 0;
  std::vector<Buffer<int>> accelerated_there;       // wave numbers of forced modes, by device
  std::vector<Buffer<double>> accelerations_there;  // accelerations of forced modes, by device
  Budget budget;
  Carried carried;
  std::int64_t held_since = 0;  // value of State's count of restarts when the forcing's energy was set
  double scale = 1;             // factor of the forced modes in the last step
  bool velocity_is_new = false;
  std::int64_t seen_restarts = 0;

  Impl(const Communicator& comm, const Machine& machine, Options options);
  std::span<Stream> own_streams() override { return streams; }
  /// Names of arrays with three components. Velocity modes, their Runge-Kutta sum and next stage come first. Velocity,
  /// product u x w and scalar gradients hold modes or cells. Some arrays also hold scalars.
  enum class Held : std::uint8_t { modes, sum, next, velocity, product, slopes };
  void synchronize();
  void list_tasks();
  void list_sweeps();
  void clear_truncated();
  void clear_scalars();
  /// Copies `count` components, from `first` on, to the velocity, from each block's array with `of` values per cell.
  void to_cells(const std::vector<const double*>& blocks, std::size_t of, std::size_t first, std::size_t count);
  void scale_lowest_shells();
  HostModes host_modes();
  /// Addresses of a field's arrays in host memory, one per device of this rank.
  HostArrays host_arrays(const Field& field) const;
  template <class T, class Block>
  Three<T> three(Held held, const Block& block) const;
  /// Addresses of the arrays that `held` selects, such as the velocity or its modes, by component, then by block.
  template <class Pointer, class Block>
  std::vector<std::vector<Pointer>> components(Held held, const std::vector<Block>& blocks, std::size_t count,
                                               std::size_t first) const;
  /// Transforms `count` components between modes and cells. `first`: index of the first one in `from` and in `to`.
  void transform(bool forward, Held from, Held to, std::vector<Stream>& on, std::size_t count = 3,
                 std::array<std::size_t, 2> first = {0, 0});
  Task transform_task(const std::string& name, bool forward, Held from, Held to, std::size_t count = 3);
  /// A task that runs on the host: it waits for the devices, and prevents recording of steps as graphs.
  Task host_task(const std::string& name, std::function<void()> work);
  /// Adds the energy that a stage dissipates and gains, at the modes `now`, times the weight `share` (a time).
  void account(Held now, double share, bool first);
  void close_budget();
  template <class Queue>
  void each_mode_block(std::size_t device, Queue queue);
  Field& velocity();
  /// Courant number of a step of length Options::time_step.
  double courant();
  double courant_of_cells();  ///< Courant number of a time step: its maximum over the cells in physical space
  /// Courant number from the largest speeds of lines of cells on this rank's devices.
  double courant_of(const std::vector<std::vector<double>>& speeds) const;
  double step_at(double courant_of_longest) const;  ///< length of the next step in time
  std::array<double, 3> steps_by_cells() const;     ///< dt / dx_a by axis, with dt = Options::time_step
  /// Phase angles of the shift of a stage's grid, per wave number; `sign` -1 undoes the shift.
  std::array<double, 3> shift(std::int64_t step, std::size_t stage, int sign) const;
  bool shifts() const { return options.dealiasing == Dealiasing::phase_shift; }
  /// A task that sets products to zero for truncated modes, and undoes the shift of a stage's grid.
  Task aliases_task(Held products, int components, std::size_t stage);
  void list_scalar(int scalar, Held now, std::size_t stage);
  StageFactors factors_of(std::size_t stage) const;
  /// Steps of stochastic forcing: list its modes, draw their random values, send those to the devices.
  void list_accelerated();
  void draw(std::uint64_t number, double keep, double add);
  void send_accelerations();
  Accelerations accelerations(std::size_t device) const;
  /// Work of the stochastic forcing on a flow, given by its Fourier modes, per time and mass.
  double work(Held of);
  ModeSums sums(Held of);
  /// Energy of the forced shells. Throws Error if it is zero.
  double low_energy();
  /// List the tasks before and after the stages of a step, which depend on the kind of forcing.
  void list_forcing_before();
  void list_forcing_behind();
  /// Spectrum: half the sum of Re(conj(u) v) in each shell, over `count` components from `first` on; shell 0 is 0.
  std::vector<double> spectrum(int first = 0, int count = 3);
  ScalarStatistics of_scalar(int scalar);
  /// Adds Re(conj(u).(u x w)) to the sum of each shell, where products are formed on a shifted grid.
  void add_transfer(const std::array<double, 3>& angles, std::vector<double>& sums);
  /// Skewness and flatness of the longitudinal derivatives.
  std::array<double, 2> shape_of_gradients();
  /// Number of shells |k| that contain kept modes.
  int shells() const;
  /// Sums each rank's values over all blocks in their order: the result has the same bits on any number of ranks.
  std::vector<double> over_blocks(const std::map<std::int64_t, std::vector<double>>& mine, std::size_t count) const;
  void begin_from_modes();
  /// Computes sums over modes on the devices and copies them to the host. The caller's `queue` queues the kernel that
  /// stores `of_plane(grid)` doubles to `to` for each plane k of a block of `spectral`.
  template <class OfPlane, class Queue>
  std::vector<std::vector<double>> from_modes(Held held, const OfPlane& of_plane, const Queue& queue);
  /// Adds up `count` sums from the partial sums found[block], over all blocks in their order. Partial sum n of a block
  /// belongs to sum n % count.
  template <class Blocks>
  std::vector<double> summed(const Blocks& blocks, const std::vector<std::vector<double>>& found, std::size_t count);

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
  /// Runs `queue`, which computes `count` doubles on the device, and copies them to the host.
  template <class Queue>
  static std::vector<double> from_device(Stream& stream, std::size_t count, const Queue& queue) {
    const Buffer<double> there(stream.device(), count), here(stream.device(), count, Memory::pinned);
    queue(there.data());
    copy(stream, here.data(), there.data(), here.bytes());
    stream.synchronize();
    return {here.data(), here.data() + count};
  }
};

template <class T, class Block>
Three<T> Dns::Impl::three(Held held, const Block& block) const {
  const auto of_field = [&](const Field& field, int numbers = 2) {
    return Three<T>{data<T>(field, block.id), numbers * field.shape(block.id).component_stride};
  };
  switch (held) {
    case Held::modes:
      return of_field(modes);
    case Held::sum:
      return of_field(sum);
    case Held::next:
      return next ? of_field(*next) : Three<T>{};
    case Held::velocity:
      if (out_of_core) return of_field(u, 1);
      return {reinterpret_cast<T*>(velocity_memory[block.device].data()), apart};
    case Held::slopes:
      return {reinterpret_cast<T*>(product_memory[block.device].data()) + 3 * apart, apart};
    default:
      return {reinterpret_cast<T*>(product_memory[block.device].data()), apart};
  }
}

template <class Pointer, class Block>
std::vector<std::vector<Pointer>> Dns::Impl::components(Held held, const std::vector<Block>& blocks, std::size_t count,
                                                        std::size_t first) const {
  std::vector<std::vector<Pointer>> found(count);
  with_type([&]<class T>(T) {
    for (std::size_t c = 0; c < count; ++c)
      for (const Block& block : blocks) {
        const Three<T> array = three<T>(held, block);
        found[c].push_back(array.at + static_cast<std::int64_t>(first + c) * array.step);
      }
  });
  return found;
}

template <class OfPlane, class Queue>
std::vector<std::vector<double>> Dns::Impl::from_modes(Held held, const OfPlane& of_plane, const Queue& queue) {
  std::vector<std::vector<double>> found;
  with_type([&]<class T>(T) {
    if (!out_of_core) {
      for (const ModeBlock& b : spectral)
        found.push_back(
            from_device(streams[b.device], static_cast<std::size_t>(of_plane(b.grid) * b.grid.extent[2]),
                        [&](double* to) { queue(streams[b.device], b.device, b.grid, three<T>(held, b), to); }));
      return;
    }
    ModeGrid of_batch = wave_numbers(options);
    of_batch.extent[1] = of_batch.highest[0] + 1;
    const std::vector<std::vector<double>> by_device = out_of_core->sums(
        streams, host_arrays(modes), of_plane(of_batch),
        [&](Stream& s, std::size_t device, const ModeGrid& grid, void* u, std::int64_t step, double* to) {
          queue(s, device, grid, Three<T>{static_cast<T*>(u), step}, to);
        });
    for (const ModeBlock& b : spectral) found.push_back(by_device[b.device]);
  });
  return found;
}

template <class Blocks>
std::vector<double> Dns::Impl::summed(const Blocks& blocks, const std::vector<std::vector<double>>& found,
                                      std::size_t count) {
  std::map<std::int64_t, std::vector<double>> mine;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    std::vector<double>& sums = mine[blocks[b].id];
    sums.resize(count);
    for (std::size_t n = 0; n < found[b].size(); ++n) sums[n % count] += found[b][n];
  }
  return over_blocks(mine, count);
}

/// Calls queue(block, t) for each block of Fourier modes on a device. The type of t is that of values, float or double.
template <class Queue>
void Dns::Impl::each_mode_block(std::size_t device, Queue queue) {
  with_type([&](auto t) {
    for (const ModeBlock& b : spectral)
      if (b.device == device) queue(b, t);
  });
}

/// Calls f(i, j, k) for each mode of a block.
template <class F>
void each_mode(const ModeGrid& grid, const F& f) {
  for (int k = 0; k < grid.extent[2]; ++k)
    for (int j = 0; j < grid.extent[1]; ++j)
      for (int i = 0; i < grid.extent[0]; ++i) f(i, j, k);
}

}  // namespace slipstream::dns
