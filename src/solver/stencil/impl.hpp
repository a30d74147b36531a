#pragma once
// State and tasks of the solver Stencil.
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
/// Width of the ghosts along each axis.
Extent ghosts(const Grid& grid, const Options& options);
FieldOptions field_options(const Grid& grid, const Options& options, bool shared, const std::string& name);
Halo halo_of(const Grid& grid, const Options& options);
Numbers numbers_of(const Options& options);
inline bool is_implicit(const Options& o) { return o.scheme != Scheme::forward_euler; }
/// Slabs into which an implicit run cuts its cells.
std::vector<Block> slabs(const Machine& machine, const Options& options);
/// Whether u of the step before needs ghosts, too, because steps without an exchange compute with it.
inline bool exchanges_both(const Options& o) { return o.equation == Equation::wave && o.steps_per_exchange > 1; }

struct Stencil::Impl : SolverParts {
  Impl(const Communicator& comm, const Machine& machine, Options options);

  struct LocalBlock {
    std::int64_t id = 0;
    BlockArrays arrays[2];    ///< arrays of the block for each of two fields: either may hold u
    std::vector<Work> steps;  ///< boxes to update, by number of steps since the last exchange
    Buffer<Shot> shots;
    Buffer<std::int64_t> places;  ///< offsets in the block's arrays of the cells where receivers record the field u
    std::int64_t column = 0;      ///< column of the block's first receiver (recorded cell) in the table of samples
  };
  struct OnDevice {
    std::vector<LocalBlock> blocks;
    Buffer<std::int64_t> done;         ///< number of time steps done
    Buffer<double> heard;              ///< samples of u, with a row per step and a column per receiver
    std::vector<std::size_t> columns;  ///< recording point of each column of samples, as an index in the options
    Buffer<double> differences;        ///< workspace of largest_change(), allocated at its first call
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
  /// Computes spacing^2 Lap u in a box, with the stencil weights and boundary conditions of a time step.
  std::vector<double> differences(const Values& u, const Box& box) const;
  /// Damping sigma time_step / 2 of a cell.
  double damping_at(const Extent& cell) const;
  /// Computes u one time step before the start, from u and du/dt at the start.
  std::vector<double> before_start(const Values& u, const Values& rate, const Box& box) const;
  void set_done();
  void drain();
  /// Samples of a device's receivers in steps `first` to `last`, without `last`, one row per step.
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
  /// exchanges of explicit steps: one each for the first and the second field, or one for both
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::unique_ptr<Implicit> implicit;
  std::vector<Stream> waited;
  std::vector<OnDevice> on_devices;
  std::vector<Tasks> phases;
  std::int64_t base = 0, count = 0;  ///< index of the field that held u at the start, and steps since
  std::uint64_t serial = 0;
  std::int64_t restarts = 0;
  std::int64_t drained = 0;  ///< step up to which the receivers' samples have been copied to the host
  std::vector<std::vector<double>> seismograms;
};

}  // namespace slipstream::stencil
