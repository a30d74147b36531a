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
#include <slipstream/simulation.hpp>
#include <slipstream/stencil.hpp>
#include <slipstream/tuner.hpp>

namespace slipstream::lbm {

/// What a cell holds: its populations, or the ten moments (density, momentum, second-order tensor) from which those of
/// a regularised collision follow. By moments a step moves 20 numbers a cell instead of 38.
enum class Representation : std::uint8_t { populations, moments };
/// two: a step reads one array of populations and writes another. in_place: esoteric pull, in one array; the same bits.
enum class Streaming : std::uint8_t { two, in_place };
/// How blocks with cells inside of bodies are kept. All of them give the same bits.
///   dense      all cells are stored and computed
///   flags      all are stored; of those inside a step reads nothing but their flag
///   sparse     only fluid cells and the layer of a body beside them are stored; a step runs along a list
///   automatic  by the share of solid cells in each block, or with `tune` by measurement
enum class Solids : std::uint8_t { dense, flags, sparse, automatic };
std::string to_string(Representation representation);
std::string to_string(Solids solids);
std::string to_string(Streaming streaming);

/// Sides of the domain, in the order in which two that meet are given the corner: later ones win, unless only
/// one of the two rests, which then wins.
enum class Side : std::uint8_t { x_low, x_high, y_low, y_high, z_low, z_high };

std::string to_string(Side side);  ///< x-, x+, ...

/// What a side can be that is neither periodic nor a wall. Where two sides meet, walls win, then the earlier of these.
enum class BoundaryKind : std::uint8_t {
  velocity,  ///< the fluid flows in (or out) at a given velocity: bounce-back with its momentum
  pressure,  ///< the density, and so the pressure, is given; velocity and stress are those of the last cell
  /// What leaves, vortices too, is carried out at a speed: d/dt + speed d/dn = 0 of every population that comes in
  /// (Lou, Guo & Shi 2013). The pressure is drawn towards one far away: a weak wave of the amplitude K (p - p_far)
  /// comes in, K = relaxation c_s / L (Poinsot & Lele 1992). On one side at most.
  convective,
  slip  ///< a mirror: no flow across, no friction along
};
struct Boundary {
  BoundaryKind kind = BoundaryKind::slip;
  std::array<double, 3> velocity{0, 0, 0};  ///< of kind velocity
  /// Of kind velocity, instead of `velocity`: at points of the side half a cell apart, its edges among them, so
  /// 2 n + 1 along each of its two axes; [slower axis][faster axis].
  std::vector<std::array<double, 3>> profile = {};
  double density = 1;  ///< of kind pressure; of kind convective far away
  double speed = 0;    ///< of kind convective: cells per step, above 0, at most 1
  /// Of kind convective: how fast the mean density goes to that far away, in sound's ways through the domain (its
  /// length L across the side): it takes 1 / relaxation of them. 0: nothing holds the pressure.
  double relaxation = 0.25;
};

/// Named bodies as boundaries see them, in cells; what class Bodies computes from meshes.
struct Surfaces {
  std::vector<std::string> names;
  /// For each cell of a box in the domain [z][y][x]: 0, or 1 + the number of the body that holds it.
  std::function<std::vector<std::uint16_t>(const Box&)> solid;
  /// Where links from the fluid cells of a box meet surfaces, sorted by z, y, x, direction; left out: half-way.
  std::function<std::vector<Cut>(const Box&, const std::vector<Direction>&)> cuts;
  /// For each name, whether its links are half-way all the same; left out: none are.
  std::vector<bool> half_way = {};
};

/// A flow to start from: density less 1 and velocity of the cells of a box, [z][y][x]. The box may reach one cell
/// beyond sides that are periodic.
using FlowOfBox = std::function<std::vector<std::array<double, 4>>(const Box&)>;

/// Sums over the fluid: rho u^2 / 2, and what viscosity, that of eddies with it, takes of it in the coming step.
struct Energy {
  double kinetic = 0, dissipation = 0;
};

/// How far velocities go up and down from cell to cell, which they do not in a flow that the cells resolve. The measure
/// is the fourth difference of a component along an axis, over 16. For a zigzag that is its amplitude; waves of L cells
/// leave sin(pi / L)^4 of theirs. Five cells make a difference. Each lies three or more from solid cells and from sides
/// of the domain that are not periodic, where velocities bend.
struct Zigzag {
  /// [axis][component]: root of the mean square, in cells a step.
  std::array<std::array<double, 3>, 3> amplitude{};
  std::array<std::int64_t, 3> cells{};  ///< that have a difference along each axis
  double mean_speed = 0;                ///< of the fluid
};

/// What the fluid does to a wall or a body in a step: force, and moment about a point. The pressure of the fluid at
/// rest is left out: it adds nothing to a body that the fluid surrounds.
struct Load {
  std::string name;  ///< of the body, or of the side
  std::array<double, 3> force{0, 0, 0}, moment{0, 0, 0};
};

/// Everything that a lattice Boltzmann run is made of, in lattice units (cell = time step = 1, density = 1).
struct Options {
  Extent cells{0, 0, 0};
  std::array<bool, 3> periodic{false, false, false};
  /// Of a periodic axis: the density at its low end less that at its high end, three times the pressure. What crosses
  /// from one to the other changes its density at the same momentum (as Kim & Pitsch 2007, who keep the velocity).
  std::array<double, 3> density_drop{0, 0, 0};
  Lattice lattice = Lattice::d3q19;
  Representation representation = Representation::populations;
  Collision collision = Collision::trt;
  /// (tau+ - 1/2)(tau- - 1/2) of TRT and MRT; 3/16 puts a half-way wall exactly half-way (Ginzburg & d'Humieres 2003).
  double magic = 3.0 / 16.0;
  double viscosity = 0;
  /// Smagorinsky's constant C times the filter's width, 0 to 1: eddies add C^2 |S| to the viscosity, S the rate of
  /// strain (Hou, Sterling, Chen & Doolen 1996). None: no eddies are modelled.
  std::optional<double> smagorinsky;
  /// On every cell, per volume: the acceleration at density 1 (Guo, Zheng & Shi 2002).
  std::array<double, 3> force{0, 0, 0};
  /// Of the populations in memory: f16, f32 or f64. Collisions compute in f32 for f16, and fields that are computed
  /// from populations are f32 then.
  DType precision = DType::f32;
  Streaming streaming = Streaming::two;
  Solids solids = Solids::automatic;
  /// Where a step looks at flags: four of them in one word, instead of one byte. The same bits; for measurements.
  bool flags_by_word = false;
  /// Whether the step itself knows which cells lie beside resting walls of the domain, or links are applied before it.
  /// It can with two arrays in f32 or f64 and rows along an axis (soa, soa_z), else there are links. None: on GPUs. The
  /// same bits; for measurements.
  std::optional<bool> walls_in_step;
  /// Of the populations; none: suited_layout(grid). The same bits.
  std::optional<Layout> layout;
  int alignment = 0;  ///< bytes, of the first interior cell of every row; 0: 256 on GPUs, 64 on the host
  /// Velocity of the wall on each side that is not periodic; sides left out rest.
  std::map<Side, std::array<double, 3>> walls;
  std::map<Side, Boundary> boundaries;  ///< sides that are neither periodic nor walls
  GridOptions grid;                     ///< `periodic` is taken from above
  ExchangeOptions exchange;             ///< its trace records the steps, too
  Coding coding = {};                   ///< of populations that travel between blocks
  /// By moments: the cells along x and y that a team of threads takes, {64, 4} or {32, 8}, in f16 {64, 8} or {32, 16},
  /// and the planes along z that it goes through at most. On the host a team takes whole rows, as many as the tile is
  /// high. 0: what suits the number format, or where `tune` is given the fastest. A GPU takes the usual tile where the
  /// step knows walls. The same bits.
  std::array<int, 2> tile{0, 0};
  int chunk = 0;
  std::optional<TuneOptions> tune;  ///< given: the exchange's routes are measured, or taken from the cache
  Overlap overlap = Overlap::automatic;
  /// Width of the rim per axis, where a neighbour is. 0: one layer; on GPUs along rows as many cells as fill 32 bytes,
  /// which memory moves at least.
  Extent rim{0, 0, 0};
  /// Multiprocessors of a GPU that the rim's kernels may fill at once, about; the interior has the others. 0: all. The
  /// same bits.
  int rim_processors = 0;
  /// The rim is measured (unless overlap is off), or taken from the cache, and with Overlap::automatic whether to
  /// overlap, too; rim_processors only where none are given above. No bit of the flow depends on it.
  bool tune_rim = false;
};

/// How a step is split round its exchange, and where that is from.
struct Split {
  bool overlap = false;
  Extent rim{1, 1, 1};
  int rim_processors = 0;
  std::string source = "options";  ///< or "measured", "cache"
  std::string file;                ///< of the cache; empty where there is none
  double seconds = 0;
  std::vector<std::string> notes;  ///< on rank 0
};

/// How a step by moments is shared out to teams, and where that is from.
struct Teams {
  std::array<int, 2> tile{0, 0};  ///< 0: as suits the number format
  int chunk = 0;
  std::string source = "options";  ///< or "measured", "cache"
  std::string file;                ///< of the cache; empty where there is none
  double seconds = 0;
  std::vector<std::string> notes;  ///< on rank 0
};

/// How blocks with solid cells are kept, where that was measured; of all ranks.
struct SolidBlocks {
  std::string source = "rules";  ///< or "measured", "cache"
  std::int64_t dense = 0, flags = 0, sparse = 0;
  double seconds = 0;
  std::vector<std::string> notes;  ///< of all ranks, each once
};

/// options.grid, periodic as the options say, and of two dimensions for D2Q9.
GridOptions grid_options(const Options& options);
/// By device; computed without allocating.
std::vector<ArrayBytes> memory_needed(const Grid& grid, const Options& options);

/// The messages that a run would send in every step; computed without allocating.
std::vector<MessageInfo> messages_needed(const Grid& grid, const Options& options);
/// Of the populations: what the options say, or what suits how the grid is cut.
Layout layout_of(const Grid& grid, const Options& options);

/// What collisions compute in, and velocity and density are stored as.
DType arithmetic(DType precision);

/// Bytes that one cell update must move: every population, or moment, read and written once.
int bytes_per_cell(const Options& options);
/// Components of the populations: 9, 19 or 27.
int population_count(Lattice lattice);
/// Numbers that a cell holds: its populations, or ten moments.
int state_count(const Options& options);
/// Throws Error where the options cannot make a run: relaxation out of range, extents or a collision that do not fit
/// the lattice.
void check(const Options& options);

/// A lattice Boltzmann run: pull streaming between two arrays of populations, or in one, stored as deviations from the
/// weights; whatever reads or sets the field `populations` between steps sees what pull leaves in its array. By moments
/// the field is `moments`: excess of density, momentum x y z, tensor xx yy zz xy xz yz of what cells sent. Units are
/// the lattice's (cell = step = 1, density 1). Starts at rest.
class Lbm final : public Simulation {
 public:
  /// Collective. The machine must be discovered, not described. `bodies`: as for set_bodies; known from the start, they
  /// cost no memory for cells that are not stored.
  Lbm(const Communicator& comm, const Machine& machine, Options options, Surfaces bodies = {});
  ~Lbm() override;

  State& state() override;
  const std::vector<Device>& devices() const override;
  const Tasks& tasks() const override;
  const Tasks& tasks_at(int phase) const override;
  void begin_steps() override;
  void finish_step() override;
  Recording recording() const override;
  std::vector<Watched> watched() override;  ///< the density

  /// Makes cells solid (resting walls): mask[z][y][x] of the whole grid, non-zero is solid. Before the first step, and
  /// before start_from: the fluid is at rest after it. Collective.
  void set_solid(const std::vector<std::uint8_t>& mask);
  /// The bodies in the flow, at rest: cells inside are solid, links that are cut follow Bouzidi, Firdaouss & Lallemand
  /// 2001 (linear). In a flow without openings the cell's population at rest takes the mass that they lose. A link with
  /// q < 1/2 needs a second fluid cell behind the first, or counts as cut half-way. A wall thinner than a link, between
  /// two fluid cells, is not seen. Replaces what was set before, and asks `bodies` nothing after its return. Before the
  /// first step, and before start_from: the fluid is at rest after it. Collective.
  void set_bodies(Surfaces bodies);
  /// By body in the order of their names: links between two fluid cells that go right through it, where it is too thin
  /// to be seen (Cut::through). Collective.
  std::vector<std::int64_t> links_through_bodies() const;
  /// Force on each wall of the domain and each body by the exchange of momentum along its links (Ladd 1994), and
  /// its moment about a point (the domain's low corner is the origin), in the coming step. Sums have the same bits on
  /// any number of ranks and devices. Cells made solid by set_solid are one body, "solid". Collective.
  std::vector<Load> loads(const std::array<double, 3>& about = {0, 0, 0});
  /// Sets the flow, instead of rest, with the stress that belongs to its velocities. Before the first step, after
  /// bodies.
  void start_from(const FlowOfBox& flow);
  /// Of this step; sums have the same bits on any number of ranks and devices. Collective.
  Energy energy();
  /// The zigzags of this step. Takes the memory of velocity and density, which it brings up to this step again: the
  /// change that update_macroscopic() returns counts from here. Sums have the same bits on any number of ranks and
  /// devices. Collective.
  Zigzag zigzag();
  /// Runs steps and waits for them.
  void advance(std::int64_t steps);
  /// For measuring what the exchange costs: from now on steps leave it out, or do it again; alike on all ranks. Without
  /// it ghosts keep what they hold, which is right only for a fluid at rest.
  void leave_out_exchange(bool left_out);

  /// A field of the state by name; `velocity` and `density` are brought up to the current step first, which is
  /// collective.
  Field& field(const std::string& name);
  /// Brings the fields `velocity` (3 components) and `density` up to the current step; makes them at the first call.
  /// Returns the largest change of a velocity component over all cells of all ranks since they were last brought up
  /// (infinity at the first time, NaN where the flow has none): collective.
  double update_macroscopic();
  /// Sum of density less 1 over fluid cells, in a fixed order of rows and blocks; collective.
  double excess_mass();
  std::int64_t fluid_cells() const;
  /// Bytes of populations, flags and lists of cells on this rank.
  std::int64_t bytes_of_cells() const;

  const Grid& grid() const;
  const Options& options() const;
  const Communicator& communicator() const;
  Exchange& exchange();
  /// What the tuner found; its source is "rules" where it was not asked.
  const Tuning& tuning() const;
  /// How steps are split round the exchange.
  const Split& split() const;
  const Teams& teams() const;
  /// How blocks with solid cells are kept; its source is "rules" where nothing was measured.
  const SolidBlocks& solid_blocks() const;
  TimeLoop& time_loop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream::lbm
