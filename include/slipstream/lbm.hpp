#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/collision.hpp>
#include <slipstream/cut.hpp>
#include <slipstream/exchange.hpp>
#include <slipstream/field.hpp>
#include <slipstream/solver.hpp>
#include <slipstream/stencil.hpp>
#include <slipstream/tuner.hpp>

namespace slipstream::lbm {

/// The numbers stored in a cell: its populations, or the ten moments (density, momentum, second-order tensor) from
/// which a regularised collision computes them. With moments a step moves 20 numbers a cell instead of 38.
enum class Representation : std::uint8_t { populations, moments };
/// two: a step reads one array of populations and writes another. in_place: esoteric pull, in one array; the same bits.
enum class Streaming : std::uint8_t { two, in_place };
/// Storage of blocks with cells inside of bodies. All kinds give the same bits.
///   dense      all cells are stored and computed
///   flags      all are stored; of solid cells a step reads only the flag
///   sparse     only fluid cells and the layer of a body next to them are stored; a step runs along a list
///   automatic  chosen by the share of solid cells in each block, or with `tune` by measurement
enum class Solids : std::uint8_t { dense, flags, sparse, automatic };
std::string to_string(Representation representation);
std::string to_string(Solids solids);
std::string to_string(Streaming streaming);

/// Sides of the domain. Where two walls meet, the later one determines the corner; a resting wall has precedence over a
/// moving one.
enum class Side : std::uint8_t { x_low, x_high, y_low, y_high, z_low, z_high };

std::string to_string(Side side);  ///< name of a side: x-, x+, ...

/// Kinds of sides that are neither periodic nor walls. Where two sides meet, walls have precedence, then the earlier of
/// these.
enum class BoundaryKind : std::uint8_t {
  velocity,  ///< inflow (or outflow) at a given velocity: by bounce-back with the momentum of the side
  pressure,  ///< given density, and so pressure; velocity and stress are those of the last cell
  /// Convective outlet, which lets vortices leave: d/dt + speed d/dn = 0 of every incoming population (Lou, Guo & Shi
  /// 2013). The pressure relaxes to that of the far field by a weak incoming wave (Poinsot & Lele 1992). Its amplitude
  /// is K (p - p_far), with K = relaxation c_s / L. On one side at most.
  convective,
  slip  ///< symmetry: no flow across the side, no friction along it
};
struct Boundary {
  BoundaryKind kind = BoundaryKind::slip;
  std::array<double, 3> velocity{0, 0, 0};  ///< velocity at a side of BoundaryKind::velocity
  /// For kind velocity, replaces `velocity`: velocities at points of the side half a cell apart, including its edges.
  /// So there are 2 n + 1 along each of its two axes; [slower axis][faster axis].
  std::vector<std::array<double, 3>> profile = {};
  double density = 1;  ///< density at a side of BoundaryKind::pressure; far away at one of BoundaryKind::convective
  double speed = 0;    ///< speed of a convective outlet in cells per step, above 0, at most 1
  /// For kind convective: rate at which the mean density relaxes to the far field's. It takes 1 / relaxation acoustic
  /// crossing times of the domain (its length L across the side). 0: the pressure is free.
  double relaxation = 0.25;
};

/// Named bodies as boundaries need them, in cells. Class Bodies computes them from meshes.
struct Surfaces {
  std::vector<std::string> names;
  /// Function that returns for each cell of a box in the domain [z][y][x]: 0, or 1 + the number of the body that holds
  /// the cell.
  std::function<std::vector<std::uint16_t>(const Box&)> solid;
  /// Surface cuts of the lattice links from a box's fluid cells, by z, y, x, direction. Unset: links are cut half-way.
  std::function<std::vector<Cut>(const Box&, const std::vector<Direction>&)> cuts;
  /// For each body's name, whether its lattice links count as cut half-way although `cuts` is given; left out: none do.
  std::vector<bool> half_way = {};
};

/// An initial flow: density less 1, and velocity, of the cells of a box, [z][y][x]. The box may reach one cell beyond
/// periodic sides.
using FlowOfBox = std::function<std::vector<std::array<double, 4>>(const Box&)>;

/// Sums over the fluid: rho u^2 / 2, and its dissipation by viscosity in the next step, including the viscosity of the
/// LES model.
struct Energy {
  double kinetic = 0, dissipation = 0;
};

/// Measure of grid-scale oscillations of the velocity, which a resolved flow does not have. It is the fourth difference
/// of a component along an axis, over 16. For a zigzag from cell to cell that is its amplitude; of waves of L cells it
/// keeps the fraction sin(pi / L)^4. A difference has five cells. Each of them is at least three cells away from solid
/// cells and from sides that are not periodic, where velocities bend.
struct Zigzag {
  /// Root mean square oscillation from cell to cell of each velocity component, [axis][component], in cells a step.
  std::array<std::array<double, 3>, 3> amplitude{};
  std::array<std::int64_t, 3> cells{};  ///< number of cells averaged, by axis: where velocity has a fourth difference
  double mean_speed = 0;                ///< mean speed of the fluid
};

/// Load of the fluid on a wall or a body in a step: force, and moment about a point. The pressure of the fluid at rest
/// is left out; it does not change the load on a body surrounded by fluid.
struct Load {
  std::string name;  ///< name of the body, or of the side of the domain
  std::array<double, 3> force{0, 0, 0}, moment{0, 0, 0};
};

/// Options of a lattice Boltzmann run, in lattice units (cell = time step = 1, density = 1).
struct Options {
  Extent cells{0, 0, 0};
  std::array<bool, 3> periodic{false, false, false};
  /// Along a periodic axis: density at the low end less that at the high end. With the lattice pressure density / 3, it
  /// is three times the pressure drop. Populations that cross the periodic sides change their density at the same
  /// momentum (as Kim & Pitsch 2007, who keep the velocity).
  std::array<double, 3> density_drop{0, 0, 0};
  Lattice lattice = Lattice::d3q19;
  Representation representation = Representation::populations;
  Collision collision = Collision::trt;
  /// Magic number (tau+ - 1/2)(tau- - 1/2) of TRT and MRT; 3/16 puts a half-way wall exactly half-way (Ginzburg &
  /// d'Humieres 2003).
  double magic = 3.0 / 16.0;
  double viscosity = 0;
  /// LES model: Smagorinsky's constant C times the filter's width, 0 to 1. It adds C^2 |S| to the viscosity, S the rate
  /// of strain (Hou, Sterling, Chen & Doolen 1996). None: no LES model.
  std::optional<double> smagorinsky;
  /// Body force per volume on every cell; the acceleration at density 1 (Guo, Zheng & Shi 2002).
  std::array<double, 3> force{0, 0, 0};
  /// Number format of the populations in memory: f16, f32 or f64. With f16, collisions compute in f32, and fields
  /// derived from populations are f32.
  DType precision = DType::f32;
  Streaming streaming = Streaming::two;
  Solids solids = Solids::automatic;
  /// For measurements: a step reads the flags of four cells in one word, not in one byte each. The bits are the same.
  bool flags_by_word = false;
  /// For measurements: whether the stream-collide kernel handles resting walls of the domain itself, or a pass over the
  /// boundary links precedes it. The kernel can with two arrays in f32 or f64 and rows along an axis (soa, soa_z).
  /// None: the kernel does so on GPUs. Results have the same bits.
  std::optional<bool> walls_in_step;
  /// Layout of the populations; none: suited_layout(grid). Results have the same bits.
  std::optional<Layout> layout;
  int alignment = 0;  ///< alignment of the first interior cell of every row in bytes; 0: 256 on GPUs, 64 on the host
  /// Velocity of the wall on each side that is not periodic; sides left out rest.
  std::map<Side, std::array<double, 3>> walls;
  std::map<Side, Boundary> boundaries;  ///< sides that are neither periodic nor walls
  GridOptions grid;                     ///< options of the grid; Options::periodic replaces its `periodic`
  ExchangeOptions exchange;             ///< options of the exchange, whose trace records the steps, too
  Coding coding = {};                   ///< coding of populations between blocks
  /// With moments: the cells along x and y that a team of threads updates, {64, 4} or {32, 8}, in f16 {64, 8} or {32,
  /// 16}. `chunk` is the largest number of planes along z of a team. On the host a team takes whole rows of cells, as
  /// many as the tile has along y. 0: the default of the number format, or with `tune` the fastest. A GPU takes the
  /// default tile where the step handles walls. Results have the same bits.
  std::array<int, 2> tile{0, 0};
  int chunk = 0;
  std::optional<TuneOptions> tune;  ///< if set, the exchange's routes are measured, or taken from the cache
  Overlap overlap = Overlap::automatic;
  /// Width of the boundary region per axis, on sides with a neighbour. 0: one layer; on GPUs along rows as many cells
  /// as fill 32 bytes, the least that memory moves.
  Extent rim{0, 0, 0};
  /// Approximate number of a GPU's multiprocessors for the kernels of the boundary region; the interior has the others.
  /// 0: all. Results have the same bits.
  int rim_processors = 0;
  /// Measures which width of the blocks' boundary region is fastest (unless overlap is off), or takes it from the
  /// cache. With Overlap::automatic it also tunes whether to overlap. If rim_processors is 0, it tunes the number of
  /// multiprocessors for the region. Results keep their bits.
  bool tune_rim = false;
};

/// Split of a step into interior and boundary region, and the source of this choice.
struct Split {
  bool overlap = false;
  Extent rim{1, 1, 1};
  int rim_processors = 0;
  std::string source = "options";  ///< source of the blocks' boundary-region width: "options", "measured" or "cache"
  std::string file;                ///< file of the tuner's cache; empty where there is none
  double seconds = 0;
  std::vector<std::string> notes;  ///< notes on timing how to split a step into interior and boundary, on rank 0
};

/// How the cells of a step with moments are distributed to teams of threads, and the source of this choice.
struct Teams {
  std::array<int, 2> tile{0, 0};  ///< cells of a thread block along x and y; 0: the default of the number format
  int chunk = 0;
  std::string source = "options";  ///< how cells per thread block were chosen: "options", "measured" or "cache"
  std::string file;                ///< file of the tuner's cache; empty where there is none
  double seconds = 0;
  std::vector<std::string> notes;  ///< remarks of the tuner that measured tile sizes of thread blocks, on rank 0
};

/// Numbers of blocks with solid cells, over all ranks, that store all cells or only fluid ones; how this was chosen.
struct SolidBlocks {
  std::string source = "rules";  ///< how the storage was chosen: "rules", "measured" or "cache"
  std::int64_t dense = 0, flags = 0, sparse = 0;
  double seconds = 0;
  std::vector<std::string> notes;  ///< remarks of all ranks on the choice of storage for blocks with solid cells
};

/// Returns options.grid with `periodic` of the run's options, and two dimensions for the lattice D2Q9.
GridOptions grid_options(const Options& options);
/// Memory that a run needs, by device; computed without allocating.
std::vector<ArrayBytes> memory_needed(const Grid& grid, const Options& options);

/// The messages that a run would send in every step; computed without allocating.
std::vector<MessageInfo> messages_needed(const Grid& grid, const Options& options);
/// Layout of the populations: the option, or the one suited to the partition of the grid.
Layout layout_of(const Grid& grid, const Options& options);

/// Number format of collisions and of the fields velocity and density.
DType arithmetic(DType precision);

/// Memory traffic of one cell update in bytes: every population, or moment, is read and written once.
int bytes_per_cell(const Options& options);
/// Number of populations of a lattice: 9, 19 or 27.
int population_count(Lattice lattice);
/// Number of values that a cell holds: its populations, or ten moments.
int state_count(const Options& options);
/// Throws Error where the options cannot make a run. Examples are a relaxation out of range, and extents or a collision
/// that do not fit the lattice.
void check(const Options& options);

/// A lattice Boltzmann run: pull streaming between two arrays of populations, or in one. Populations are stored as
/// deviations from the weights. Readers and writers of the field `populations` between steps see the array that pull
/// streaming leaves. With moments the field is `moments`: excess of density, momentum x y z, tensor xx yy zz xy xz yz,
/// all of post-collision populations. Units are the lattice's (cell = step = 1, density 1). Starts at rest.
class Lbm final : public Solver {
 public:
  /// Collective. The machine must be discovered, not described. `bodies`: as for set_bodies. Bodies given here save the
  /// memory of cells that are not stored, from the start.
  Lbm(const Communicator& comm, const Machine& machine, Options options, Surfaces bodies = {});

  const Tasks& tasks() const override;
  const Tasks& tasks_at(int phase) const override;
  void begin_steps() override;
  void finish_step() override;
  Recording recording() const override;
  std::vector<Watched> watched() override;  ///< the density, which a guard checks for invalid values

  /// Makes cells solid (resting walls): mask[z][y][x] of the whole grid, non-zero is solid. Call it before the first
  /// step, and before start_from, because it resets the fluid to rest. Collective.
  void set_solid(const std::vector<std::uint8_t>& mask);
  /// Sets the bodies in the flow, at rest. Cells inside are solid; links that are cut follow Bouzidi, Firdaouss &
  /// Lallemand 2001 (linear). In a flow without openings the cell's population at rest absorbs the mass that they lose.
  /// A link with q < 1/2 needs a second fluid cell behind the first, or counts as cut half-way. A wall thinner than a
  /// link, between two fluid cells, has no effect. Replaces the bodies set before, and does not use `bodies` after its
  /// return. Call it before the first step, and before start_from, because it resets the fluid to rest. Collective.
  void set_bodies(Surfaces bodies);
  /// For each body, in the order of their names: the number of links between two fluid cells that pass right through
  /// it. There it is too thin to have an effect (Cut::through). Collective.
  std::vector<std::int64_t> links_through_bodies() const;
  /// Force on each wall of the domain and each body in the coming step, by momentum exchange along its links (Ladd
  /// 1994). The moment is about `about`; the domain's low corner is the origin. Sums are reproducible: they do not
  /// depend on the number of ranks or devices. Cells made solid by set_solid are one body, "solid". Collective.
  std::vector<Load> loads(const std::array<double, 3>& about = {0, 0, 0});
  /// Sets the initial flow, with the stress that belongs to its velocities. Call it before the first step, after bodies
  /// are set.
  void start_from(const FlowOfBox& flow);
  /// Kinetic energy and dissipation after the current step. Sums are reproducible: they do not depend on the number of
  /// ranks or devices. Collective.
  Energy energy();
  /// Grid-scale oscillations after the current step. Needs the memory of velocity and density, which it updates to this
  /// step. So the change that update_macroscopic() returns counts from here. Sums are reproducible: they do not depend
  /// on the number of ranks or devices. Collective.
  Zigzag zigzag();

  /// A field of the state by name. `velocity` and `density` are first updated to the current step, which is collective.
  Field& field(const std::string& name) override;
  /// Updates the fields `velocity` (3 components) and `density` to the current step; allocates them at the first call.
  /// Returns the largest change of a velocity component since their last update, over all cells of all ranks. It is
  /// infinity at the first time, and NaN where the flow has NaN. Collective.
  double update_macroscopic();
  /// Sum of density less 1 over fluid cells, in a fixed order of rows and blocks; collective.
  double excess_mass();
  std::int64_t fluid_cells() const;
  /// Bytes of populations, flags and lists of cells on this rank.
  std::int64_t bytes_of_cells() const;

  const Grid& grid() const override;
  const Options& options() const;
  Exchange& exchange();
  std::vector<ReportRow> report() override { return exchange().report(); }
  const Tuning& tuning() const override;
  /// How a step is split into interior and boundary regions of blocks, so that messages overlap with computation.
  const Split& split() const;
  const Teams& teams() const;
  /// Storage chosen for blocks with solid cells, and whether fixed rules, a measurement or a cache chose it.
  const SolidBlocks& solid_blocks() const;

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace slipstream::lbm
