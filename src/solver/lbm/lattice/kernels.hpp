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

/// The block's extent on the axes where it is its own periodic neighbour, 0 on the others.
struct Wrap {
  int extent[3] = {0, 0, 0};
};
/// The bit of a side of a block.
constexpr std::uint8_t side_bit(int axis, bool high) { return static_cast<std::uint8_t>(1 << (2 * axis + high)); }

/// Storage of a cell's populations between steps.
///   apart    each in the cell that it left, as its own component
///   shared   the even ones so, the odd ones in the cell that they go to: a step may then write where it has read
///            (esoteric pull, Lehmann 2022)
///   turned   the same, each as the component of its opposite
/// An in-place step reads `shared` and writes `turned`, or the reverse. It replaces population i, at the same place, by
/// the population that leaves the cell along -c_i.
enum class Form : std::uint8_t { apart, shared, turned };

/// State of a convective side: the populations that came in through it.
struct OutletArrays {
  BlockData before, after;
  int axis = 0;
  bool first = true;
};

/// A cell beside a wall, a body or an opening, by moments.
struct BoundaryCell {
  Cell cell;
  std::uint32_t resting = 0;   ///< bit i: population i comes back from a resting wall
  std::int32_t arrivals = -1;  ///< index in the block's `arrivals` if links bring populations; else -1
};
/// Boundary cells of a block.
struct BoundaryArrays {
  const BoundaryCell* cells = nullptr;  ///< in the order of the numbering; null: there are none
  Numbering numbering;
  void* arrivals = nullptr;             ///< [population][cell], in the numbers that collisions compute in
  std::int64_t count = 0;               ///< cells that have arrivals
  std::span<const std::uint32_t> list;  ///< cells that a kernel processes
};

/// Arrays of one block.
struct BlockArrays {
  Extent low{}, domain{};  ///< place of the block's first cell in the domain, and the domain's extent
  BlockData populations;   ///< the array that a kernel reads, or both reads and writes; or the array of moments
  BlockData populations_out;
  BlockData velocity;  ///< origin null if not wanted
  BlockData density;
  BlockData flags;
  OutletArrays outlet;
  Wrap wrap;
  std::uint8_t walls = 0;  ///< bit 2 a + (high): a resting wall at that side, which the step handles itself
  Form form = Form::apart;
  Numbering numbering;                   ///< of a packed block
  std::span<const std::uint32_t> cells;  ///< of a packed block: cells of the step, in groups
  bool has_solids = false;               ///< some interior cell of the block is not fluid
  bool flags_by_word = false;            ///< the step reads four flags at once
  Together* together = nullptr;          ///< collects launches of small blocks; null: launch directly
  bool alone = false;                    ///< nothing may run on the device concurrently with the step
  bool past_caches = false;              ///< host, two arrays: results of a step do not stay in the caches
  bool leave_solids = false;             ///< the step does not write solid cells; else it puts them at rest
  bool skip_solids = false;              ///< the step does not read them either
  BoundaryArrays boundary;               ///< moment representation
  bool recursive = false;                ///< moment representation: populations have terms of third order
  std::array<int, 2> tile{};             ///< moment representation: as in Options
  int chunk = 0;
};

/// A flow in some cells of a block and around them: density less 1 and velocity, [z][y][x][4], on the device.
struct FlowValues {
  const double* values = nullptr;
  Box around;  ///< the cells, and one more on each side where the domain goes on; local coordinates
};

/// Collision model of a run, with its rates.
struct Model {
  Collision collision = Collision::trt;
  double viscosity = 0;
  double plus = 1;   ///< rate of the stress: 1 / (3 viscosity + 1/2)
  double minus = 1;  ///< rate of the odd moments, by the magic number; equal to plus for SRT
  std::optional<double> smagorinsky;
  std::array<double, 3> force{0, 0, 0};

  bool forced() const { return force != std::array<double, 3>{0, 0, 0}; }
  /// Two rates and nothing else.
  bool plain() const {
    return (collision == Collision::srt || collision == Collision::trt) && !smagorinsky && !forced();
  }
};

class Kernels {
 public:
  virtual ~Kernels() = default;
  /// Whether a step can handle resting walls itself (walls of BlockArrays).
  virtual bool knows_walls(bool in_place, Layout layout) const = 0;
  /// Writes the populations of a fluid at rest under the model's force, for fluid cells of a box (local coordinates).
  virtual void start(Stream& stream, const Box& box, const BlockArrays& block, const Model& model) const = 0;
  /// Writes the populations of a flow, with its stress, for the fluid cells of a box.
  virtual void start_from(Stream& stream, const Box& box, const BlockArrays& block, const Model& model,
                          const FlowValues& flow) const = 0;
  /// Streams and collides the cells of a box (of a packed block, the listed ones). Writes to populations_out, or in
  /// place by the form.
  virtual void stream_collide(Stream& stream, const Box& box, const BlockArrays& block, Layout layout,
                              const Model& model) const = 0;
  /// Converts an array from its form to another; one of the two is `apart`. `spare`: memory for one population of every
  /// cell.
  virtual void rearrange(Stream& stream, const BlockArrays& block, Form to, std::byte* spare) const = 0;
  /// Copies fluid cells from one array of a block to another, in any form, packed or not; solid cells are put at rest.
  virtual void transcribe(Stream& stream, const BlockArrays& from, const BlockArrays& to) const = 0;
  /// Puts the populations of solid cells at rest, in an array whose form is apart.
  virtual void rest_solids(Stream& stream, const BlockArrays& block) const = 0;
  /// Finds where the populations of resting walls' links lie in the block's array, for the forms apart and shared. The
  /// turned form swaps both places. The array has at most 2^32 elements.
  virtual void place_links(Stream& stream, std::span<const Link> links, const BlockArrays& block,
                           Bounce* places) const = 0;
  /// Moment representation: applies links to the listed cells, after their neighbours' populations arrived.
  virtual void apply_links(Stream& stream, const LinkSpans& links, const BlockArrays& block,
                           const Model& model) const = 0;
  /// Moment representation: the step of the listed cells, after stream_collide, which writes wrong values there.
  virtual void step_boundary(Stream&, const BlockArrays&, const Model&) const {}
  /// sums[6 team ...] = force and moment by the applied links. `corner`: vector from the reference point of moments to
  /// the centre of the block's first cell. There are load_teams(links.size()) teams.
  virtual void loads(Together& together, std::span<const LoadLink> links, const std::array<double, 3>& corner,
                     const BlockArrays& block, double* sums) const = 0;
  /// Velocity and density of the fluid cells; change[team] is the largest change of a velocity component. There is a
  /// team for each of the CellRows of the box along the row axis of the populations, as for all sums by rows.
  virtual void macroscopic(Together& together, const Box& box, const BlockArrays& block, const Model& model,
                           double* change) const = 0;
  /// sum[row] = the row's sum over fluid cells of density less 1.
  virtual void excess_mass(Together& together, const Box& box, const BlockArrays& block, double* sum) const = 0;
  /// sums[2 row ...] = the row's sums over fluid cells of rho u^2 / 2 and of the dissipation in the next step. All
  /// populations must have arrived.
  virtual void energy(Together& together, const Box& box, const BlockArrays& block, const Model& model,
                      double* sums) const = 0;
  /// Guard: the first fluid cell of each row of the block with a density out of range.
  virtual void inspect_density(Together& together, const BlockArrays& block, double lowest, double highest,
                               RowFinding* rows) const = 0;
};

constexpr int links_per_team = 1024;
inline std::int64_t load_teams(std::size_t links) {
  return (static_cast<std::int64_t>(links) + links_per_team - 1) / links_per_team;
}

const Kernels& kernels(const Options& options);

// Defined in instances/; the most used variants have units of their own.
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
