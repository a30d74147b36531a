#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/krylov.hpp>
#include <slipstream/solver.hpp>

namespace slipstream::stencil {

/// Equations. `heat`: du/dt = kappa Lap u. `wave`: d2u/dt2 + sigma du/dt = c^2 Lap u, leapfrog; sigma is 0 outside of
/// the absorbing layer.
enum class Equation : std::uint8_t { heat, wave };
/// Conditions at sides that are not periodic. `fixed` means u = 0 at the centres of the first cells beyond. `insulated`
/// (heat) and `free` (waves) mean du/dn = 0 at the faces of the outermost cells. Waves are extended by mirroring, odd
/// at fixed sides and even at free ones. They keep their order where the speed has no gradient normal to the side.
enum class Sides : std::uint8_t { fixed, insulated, free };
/// The condition of each side of the box: [axis][0] at the low end, [axis][1] at the high end.
struct SidesOfBox {
  std::array<std::array<Sides, 2>, 3> of;
  SidesOfBox(Sides all = Sides::fixed) : of{{{all, all}, {all, all}, {all, all}}} {}  // NOLINT: one for all sides
};

/// Time integration of the heat equation. `backward_euler` (order 1) and `crank_nicolson` (order 2) solve a linear
/// system a step by conjugate gradients, and are stable for all time steps.
enum class Scheme : std::uint8_t { forward_euler, backward_euler, crank_nicolson };
Scheme scheme_from_string(const std::string& name);

/// Ricker's wavelet at a cell: adds (1 - 2 a) exp(-a) amplitude, a = (pi frequency (t - delay))^2, to d2u/dt2.
struct Source {
  std::string name;
  Extent cell{0, 0, 0};
  double frequency = 1, amplitude = 1, delay = 0;
};
/// A cell whose values are recorded at each step.
struct Receiver {
  std::string name;
  Extent cell{0, 0, 0};
};

/// Function that returns the values of a field in a box of cells of the whole grid, as [z][y][x].
using Values = std::function<std::vector<double>(const Box&)>;

/// Options of a finite-difference run (heat or wave equation). Lengths and times are in any consistent units.
struct Options {
  Extent cells{0, 0, 0};  ///< number of cells along each axis; unused axes come last and have one
  std::array<bool, 3> periodic{false, false, false};
  Equation equation = Equation::heat;
  /// Points of the heat equation's stencil in three dimensions: 7, or 27 for the isotropic stencil. Its weights are
  /// 1/30 of -128 at the centre, 14 at faces, 3 at edges and 1 at corners. With one cell along an axis 27 is the
  /// isotropic stencil in two dimensions, (-20, 4, 1)/6.
  int points = 7;
  Scheme scheme = Scheme::forward_euler;
  krylov::Options krylov;  ///< options of conjugate gradients in implicit schemes
  /// order of the wave equation in space: 2, 4, 6 or 8, by central differences of radius order / 2
  int order = 2;
  DType precision = DType::f32;
  double spacing = 1;      ///< length of a cell's edge
  double time_step = 0;    ///< length of a step; 0: 0.9 of the largest stable one; implicit schemes need a value
  double diffusivity = 1;  ///< diffusivity kappa of the heat equation
  double speed = 1;        ///< wave speed c everywhere; with `speeds`, its largest value
  /// Wave speed c of each cell. The function is called for boxes that reach beyond the grid. Beyond periodic sides
  /// these are the cells of the other end. Beyond others the value has no effect, but must be finite and in range.
  Values speeds;
  SidesOfBox sides;
  /// Thickness in cells of the absorbing layer in front of fixed sides. The damping sigma grows with the square of the
  /// depth, so that a thousandth of a wave normal to the side returns. The change of sigma itself reflects some of a
  /// long wave: 0.2 % with layers of two wavelengths, 4.5 % with one.
  int absorbing = 0;
  std::vector<Source> sources;
  std::vector<Receiver> receivers;
  /// Communication avoidance: steps per exchange. Ghosts are this many times as wide, and neighbours compute the cells
  /// in them redundantly.
  int steps_per_exchange = 1;
  GridOptions grid;  ///< options of the grid; Options::periodic replaces its `periodic`; implicit runs allow slabs only
  ExchangeOptions exchange;
  /// coding of values that travel between blocks; bits depend on the partition, except with raw
  Coding coding = {};
  std::optional<TuneOptions> tune;  ///< if set, the exchange's routes are measured, or taken from the cache
  Overlap overlap = Overlap::automatic;
};

/// Radius of the stencil: the number of neighbouring cells that an update reads on each side along an axis.
int radius(const Options& options);
/// The largest time step for which no wave on the grid grows: 2 / (kappa m) for heat, 2 / (c sqrt(m)) for waves. Here m
/// is the largest eigenvalue of the stencil of -Lap.
double stable_time_step(const Options& options);
/// Memory traffic of one cell update in bytes. heat reads and writes u. wave reads u of two steps and c, and writes u.
/// An iteration of an implicit scheme moves 16 B for the operator and 104 B for the vectors of conjugate gradients.
int bytes_per_cell(const Options& options);
/// Throws Error where the options cannot make a run.
void check(const Options& options);
/// The partition of a run's cells.
Grid plan_grid(const Machine& machine, const Options& options, int rank = 0);
/// Throws Error where a block is shorter than its neighbours' ghosts.
void check_blocks(const Grid& grid, const Options& options);

/// Memory that a run needs, by device; computed without allocating.
std::vector<ArrayBytes> memory_needed(const Grid& grid, const Options& options);
/// The messages of one exchange; computed without allocating.
std::vector<MessageInfo> messages_needed(const Grid& grid, const Options& options);

/// Result of tune_steps: the number of steps per exchange.
struct StepsTuning {
  int steps = 1;
  std::vector<std::pair<int, double>> tried;  ///< candidates: steps per exchange, and the measured seconds per step
  std::string source;                         ///< how the steps per exchange were chosen: "measured" or "cache"
  std::string file;                           ///< file of the tuner's cache; empty where there is none
  std::vector<std::string> notes;             ///< notes on a cache that was not read or not written; on rank 0
};
/// Measures a step with several numbers of steps per exchange. It skips numbers for which blocks are too thin or
/// devices have too little memory. The result is cached on disk by machine, version, equation and shape. Throws Error
/// where values are coded, because bits would depend on the measurement. Collective; rank 0 decides.
StepsTuning tune_steps(const Communicator& comm, const Machine& machine, Options options, const TuneOptions& how = {});

/// Finite differences on a box of cells. The state has u; for the wave equation also "before", u of the step before.
/// Bits do not depend on cuts, devices, routes, overlap or steps per exchange.
class Stencil final : public Solver {
 public:
  /// Makes a solver whose values are zero. Collective.
  Stencil(const Communicator& comm, const Machine& machine, Options options);

  const Tasks& tasks() const override;
  const Tasks& tasks_at(int phase) const override;
  void begin_steps() override;
  void finish_step() override;
  Recording recording() const override;

  /// Sets u and, for the wave equation, u one time step before. Without `before` a wave starts from rest. Collective.
  void start_from(const Values& u, const Values& before = {});
  /// Sets u and du/dt of the wave equation; u one time step before follows by the differences of a step. Collective.
  void start_moving(const Values& u, const Values& rate);
  /// Runs steps and waits for them. Throws krylov::NotSolved where conjugate gradients do not converge, unless
  /// options.krylov allows that.
  void advance(std::int64_t steps) override;
  /// The largest |u - u of the step before| / time step over all cells. Collective.
  double largest_change();
  /// Values of u at receiver `receiver` after each step in (since, now]. Steps before the last start or restart are not
  /// included. All ranks get the values. Collective.
  std::vector<double> seismogram(std::size_t receiver, std::int64_t since = 0);

  const Grid& grid() const override;
  const Options& options() const;  ///< options of the run, with the time step in use
  Exchange& exchange();
  std::vector<ReportRow> report() override { return exchange().report(); }
  const Tuning& tuning() const override;
  /// Counts of the linear solves since the last start or restart.
  const krylov::Effort& effort() const;

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace slipstream::stencil
