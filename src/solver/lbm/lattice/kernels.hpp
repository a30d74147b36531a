#pragma once
// Interface of the kernels of one lattice and number format.
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include <slipstream/collision.hpp>
#include <slipstream/field.hpp>

#include "solver/lbm/lattice/kinds.hpp"
#include "solver/lbm/lattice/numbering.hpp"

namespace slipstream {
class Together;
struct RowFinding;
}  // namespace slipstream

namespace slipstream::lbm {

struct Options;

/// Extents of a block along axes on which it is its own periodic neighbour, 0 along the others.
struct Wrap {
  int extent[3] = {0, 0, 0};
};
/// Bit for a side of a block in masks of sides: bit number 2 axis, plus 1 for the high side.
constexpr std::uint8_t side_bit(int axis, bool high) { return static_cast<std::uint8_t>(1 << (2 * axis + high)); }

/// Storage of a cell's populations between steps.
///   apart    each in the cell that it left, as its own component
///   shared   the even ones so, the odd ones in the cell that they go to: a step may then write where it has read
///            (esoteric pull, Lehmann 2022)
///   turned   the same, each as the component of its opposite
/// An in-place step reads `shared` and writes `turned`, or the reverse. It replaces population i, at the same place, by
/// the population that leaves the cell along -c_i.
enum class Form : std::uint8_t { apart, shared, turned };

/// Populations that came in through a convective side, at the last step and at this one.
struct OutletArrays {
  BlockData before, after;
  int axis = 0;
  bool first = true;
};

/// A cell beside a wall, a body or an opening, in the moment representation.
struct BoundaryCell {
  Cell cell;
  std::uint32_t resting = 0;   ///< bit i is set if population i comes back from a resting wall
  std::int32_t arrivals = -1;  ///< index of the cell in the array of populations from boundary links; -1: it gets none
};
/// The boundary cells of a block, for kernels of the moment representation.
struct BoundaryArrays {
  const BoundaryCell* cells = nullptr;  ///< boundary cells of the block in ascending order of their number, or null
  Numbering numbering;
  /// populations that links bring, [population][cell], in the number format of collisions
  void* arrivals = nullptr;
  std::int64_t count = 0;               ///< number of cells that get populations from links
  std::span<const std::uint32_t> list;  ///< indices of the boundary cells that a kernel processes
};

/// The arrays of one block that kernels read and write.
struct BlockArrays {
  Extent low{}, domain{};  ///< coordinates of the block's first cell in the domain; the domain's extent
  BlockData populations;   ///< populations that a kernel reads, or reads and writes; or the moments of all cells
  BlockData populations_out;
  BlockData velocity;  ///< output array of the velocity; its origin is null if unwanted
  BlockData density;
  BlockData flags;
  OutletArrays outlet;
  Wrap wrap;
  /// bit 2 a + (1 for the high side) is set if the side across axis a is a resting wall that the step handles itself
  std::uint8_t walls = 0;
  Form form = Form::apart;
  Numbering numbering;                   ///< numbering of stored cells in packed blocks (without deep solid cells)
  std::span<const std::uint32_t> cells;  ///< packed blocks: coded list of cells that a step updates (CellGroups)
  bool has_solids = false;               ///< whether some interior cell of the block is not fluid
  bool flags_by_word = false;            ///< whether the step reads the flags of four cells at once
  Together* together = nullptr;          ///< collects small kernels into one launch; null: one launch for each
  bool alone = false;                    ///< whether nothing may run on the device concurrently with the step
  bool past_caches = false;              ///< whether results of a step bypass the caches, on the host with two arrays
  bool leave_solids = false;             ///< whether solid cells stay unwritten; else they are put at rest
  bool skip_solids = false;              ///< whether the step does not even read solid cells
  BoundaryArrays boundary;               ///< cells beside walls, for the moment representation
  bool recursive = false;                ///< whether populations of the moment representation have terms of third order
  std::array<int, 2> tile{};             ///< moment representation: width and height in cells of a thread block's tile
  int chunk = 0;
};

/// A given flow in some cells of a block and around them, in device memory: density less 1 and velocity, [z][y][x][4].
struct FlowValues {
  const double* values = nullptr;
  /// box of cells with values, in local coordinates: the cells to set, and one layer wherever the domain continues
  Box around;
};

/// Collision model of a run, with its rates.
struct Model {
  Collision collision = Collision::trt;
  double viscosity = 0;
  double plus = 1;   ///< relaxation rate of the stress: 1 / (3 viscosity + 1/2)
  double minus = 1;  ///< relaxation rate of the odd moments, from the magic number; for SRT equal to that of the stress
  std::optional<double> smagorinsky;
  std::array<double, 3> force{0, 0, 0};

  bool forced() const { return force != std::array<double, 3>{0, 0, 0}; }
  /// Whether the model has two relaxation rates and nothing else, neither force nor LES model.
  bool plain() const {
    return (collision == Collision::srt || collision == Collision::trt) && !smagorinsky && !forced();
  }
};

class Kernels {
 public:
  virtual ~Kernels() = default;
  /// Whether a step can handle resting walls itself (see `walls` of BlockArrays).
  virtual bool knows_walls(bool in_place, Layout layout) const = 0;
  /// Writes the populations of a fluid at rest under the model's force, for fluid cells of a box (local coordinates).
  virtual void start(Stream& stream, const Box& box, const BlockArrays& block, const Model& model) const = 0;
  /// Writes the populations of a flow, with its stress, for the fluid cells of a box.
  virtual void start_from(Stream& stream, const Box& box, const BlockArrays& block, const Model& model,
                          const FlowValues& flow) const = 0;
  /// Streams and collides the cells of a box (of a packed block, the listed ones). Writes to populations_out, or in
  /// place.
  virtual void stream_collide(Stream& stream, const Box& box, const BlockArrays& block, Layout layout,
                              const Model& model) const = 0;
  /// Converts a block's populations in memory from one order of storage to another one (see Form). In one of both, the
  /// order `apart`, each population lies in the cell that it left. `spare`: memory for one population per cell.
  virtual void rearrange(Stream& stream, const BlockArrays& block, Form to, std::byte* spare) const = 0;
  /// Copies fluid cells from one array of a block to another, in any form, packed or not; solid cells are put at rest.
  virtual void transcribe(Stream& stream, const BlockArrays& from, const BlockArrays& to) const = 0;
  /// Sets solid cells to populations at rest, in an array where each population lies in the cell that it left.
  virtual void rest_solids(Stream& stream, const BlockArrays& block) const = 0;
  /// Finds the two elements of the population array that bounce-back at each resting wall link reads and writes. In
  /// esoteric pull, every other step swaps both. An array has up to 2^32 elements.
  virtual void place_links(Stream& stream, std::span<const Link> links, const BlockArrays& block,
                           Bounce* places) const = 0;
  /// Moment representation: applies boundary links to cells at walls, bodies and openings, once populations arrived.
  virtual void apply_links(Stream& stream, const LinkSpans& links, const BlockArrays& block,
                           const Model& model) const = 0;
  /// Moment representation: redoes the step of cells at walls, bodies and openings, which stream_collide gets wrong.
  virtual void step_boundary(Stream&, const BlockArrays&, const Model&) const {}
  /// Computes force and moment of links on a surface: six partial sums for each of load_teams(links.size()) thread
  /// teams. `corner`: vector from the reference point of moments to the centre of the block's first cell.
  virtual void loads(Together& together, std::span<const LoadLink> links, const std::array<double, 3>& corner,
                     const BlockArrays& block, double* sums) const = 0;
  /// Computes velocity and density of fluid cells, and the largest change of a velocity component in each row of cells,
  /// change[row]. Rows are the CellRows of the box, along the row axis of the populations. A team of threads computes
  /// each, as in all sums by rows.
  virtual void macroscopic(Together& together, const Box& box, const BlockArrays& block, const Model& model,
                           double* change) const = 0;
  /// Computes sum[row] = the row's sum over fluid cells of density less 1.
  virtual void excess_mass(Together& together, const Box& box, const BlockArrays& block, double* sum) const = 0;
  /// Computes sums[2 row ...] = the row's sums over fluid cells of rho u^2 / 2 and of the dissipation in the next step.
  /// All populations must have arrived.
  virtual void energy(Together& together, const Box& box, const BlockArrays& block, const Model& model,
                      double* sums) const = 0;
  /// Finds the first fluid cell of each row of the block whose density is out of range.
  virtual void inspect_density(Together& together, const BlockArrays& block, double lowest, double highest,
                               RowFinding* rows) const = 0;
};

constexpr int links_per_team = 1024;
inline std::int64_t load_teams(std::size_t links) {
  return (static_cast<std::int64_t>(links) + links_per_team - 1) / links_per_team;
}

const Kernels& kernels(const Options& options);

// Return the kernels of a lattice and number format. Defined in instances/; the most used have units of their own.
const Kernels& kernels_d2q9_f16();
const Kernels& kernels_d2q9_f32();
const Kernels& kernels_d2q9_f64();
const Kernels& kernels_d3q19_f16();
const Kernels& kernels_d3q19_f32();
const Kernels& kernels_d3q19_f64();
const Kernels& kernels_d3q27_f16();
const Kernels& kernels_d3q27_f32();
const Kernels& kernels_d3q27_f64();
const Kernels& moment_kernels_f16();
const Kernels& moment_kernels_f32();
const Kernels& moment_kernels_f64();

}  // namespace slipstream::lbm
