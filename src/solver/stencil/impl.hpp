#pragma once
// State and tasks of a Stencil.
#include <optional>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/exchange.hpp>
#include <slipstream/field.hpp>
#include <slipstream/pattern.hpp>
#include <slipstream/stencil_solver.hpp>

#include "solver/stencil/implicit.hpp"
#include "solver/stencil/kernels.hpp"
#include "solver/stencil/pieces.hpp"

namespace slipstream::stencil {

/// Periodic axes along which each block holds the whole grid. They have no ghosts; neighbours wrap around.
Turns turns_of(const Grid& grid, const Options& options);
/// Width of the ghosts per axis.
Extent ghosts(const Grid& grid, const Options& options);
FieldOptions field_options(const Grid& grid, const Options& options, bool shared, const std::string& name);
Halo halo_of(const Grid& grid, const Options& options);
Numbers numbers_of(const Options& options);
inline bool is_implicit(const Options& o) { return o.scheme != Scheme::forward_euler; }
/// How an implicit run cuts its cells.
std::vector<Block> slabs(const Machine& machine, const Options& options);
/// Whether the u before needs ghosts, too, because steps without an exchange compute with it.
inline bool exchanges_both(const Options& o) { return o.equation == Equation::wave && o.steps_per_exchange > 1; }

struct Stencil::Impl : SolverParts {
  Impl(const Communicator& comm, const Machine& machine, Options options);

  struct LocalBlock {
    std::int64_t id = 0;
    BlockArrays arrays[2];    ///< by which field is u
    std::vector<Work> steps;  ///< 0: right after an exchange
    Buffer<Shot> shots;
    Buffer<std::int64_t> places;  ///< of receivers
    std::int64_t column = 0;      ///< of its first receiver in the device's table
  };
  struct OnDevice {
    std::vector<LocalBlock> blocks;
    Buffer<std::int64_t> done;         ///< steps
    Buffer<double> heard;              ///< a row a step, a column a receiver
    std::vector<std::size_t> columns;  ///< receivers by their numbers in the options
    Buffer<double> differences;        ///< what largest_change() works in, made at the first
  };

  void fill_speeds();
  void make_blocks();
  void place_points(LocalBlock& block, OnDevice& on, Stream& stream);
  void list_tasks();
  Work work_of(const Block& block, int ago) const;
  Pieces pieces_of(const Block& block, const Box& box) const;
  bool ghosts_at(const Block& block, int axis, bool high) const;
  void make_exchanges();
  void make_implicit(const Machine& machine);
  void solve(std::vector<Stream>& streams);
  void compute(Stream& stream, std::size_t device, Part part, std::size_t ago);
  void at_points(Stream& stream, std::size_t device);
  void set(Field& field, const Values& values);
  /// spacing^2 Lap u in a box, by the weights and the sides of a step.
  std::vector<double> differences(const Values& u, const Box& box) const;
  /// sigma time_step / 2 of a cell.
  double damping_at(const Extent& cell) const;
  /// u one time step before a start with this u and du/dt.
  std::vector<double> before_start(const Values& u, const Values& rate, const Box& box) const;
  void set_done();
  void drain();
  /// Rows of a device's table of receivers, for the steps from first to last, not included.
  std::vector<double> heard_between(std::size_t device, std::int64_t first, std::int64_t last);
  double largest_difference_in(const LocalBlock& block, std::size_t device);
  Overlap usual_overlap() const;

  int turn() const { return static_cast<int>((base + count) % 2); }
  Field& now() { return turn() == 0 ? first : second; }
  Field& other() { return turn() == 0 ? second : first; }
  int period() const {
    return options.steps_per_exchange % 2 == 0 ? options.steps_per_exchange : 2 * options.steps_per_exchange;
  }

  Options options;
  Grid grid;
  Turns turns;
  Numbers numbers;
  Halo halo;
  Field first, second;
  std::optional<Field> courant;
  Tuning tuning;
  std::vector<std::unique_ptr<Exchange>> exchanges;  ///< of the first field and of the second, or of both; explicit
  std::unique_ptr<Implicit> implicit;
  std::vector<Stream> waited;
  std::vector<OnDevice> on_devices;
  std::vector<Tasks> phases;
  std::int64_t base = 0, count = 0;  ///< which field was u when counting began; steps since
  std::uint64_t serial = 0;
  std::int64_t restarts = 0;
  std::int64_t drained = 0;  ///< step up to which the receivers' samples have been copied to the host
  std::vector<std::vector<double>> seismograms;
};

}  // namespace slipstream::stencil
