#pragma once
// What the solver asks of the kernels of one lattice and number format.
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

/// Where the populations of a cell lie between steps.
///   apart    each in the cell that it left, as its own component
///   shared   the even ones so, the odd ones in the cell that they go to: a step may then write where it has read
///            (esoteric pull, Lehmann 2022)
///   turned   the same, each as the component of its opposite
/// A step by one array reads shared and leaves turned, or the other way round: what it reads in one place as population
/// i it replaces there by what leaves the cell along -c_i.
enum class Form : std::uint8_t { apart, shared, turned };

/// What a convective side remembers of the populations that came in through it.
struct OutletArrays {
  BlockData before, after;
  int axis = 0;
  bool first = true;
};

/// A cell beside a wall, a body or an opening, by moments.
struct BoundaryCell {
  Cell cell;
  std::uint32_t resting = 0;   ///< bit i: what comes in as population i is what the cell sent, at a wall that rests
  std::int32_t arrivals = -1;  ///< where links bring populations to: among those arrays of the block; -1: they do not
};
/// Those of a block.
struct BoundaryArrays {
  const BoundaryCell* cells = nullptr;  ///< in the order of the numbering; null: there are none
  Numbering numbering;
  void* arrivals = nullptr;             ///< [population][cell], in the numbers that collisions compute in
  std::int64_t count = 0;               ///< cells that have them
  std::span<const std::uint32_t> list;  ///< of cells, that a kernel takes
};

/// Arrays of one block.
struct BlockArrays {
  Extent low{}, domain{};  ///< place of the block's first cell in the domain, and the domain's extent
  BlockData populations;   ///< the array that a kernel reads, or both reads and writes; by moments that of the moments
  BlockData populations_out;
  BlockData velocity;  ///< origin null where not asked for
  BlockData density;
  BlockData flags;
  OutletArrays outlet;
  Wrap wrap;
  std::uint8_t walls = 0;  ///< bit 2 a + (high): a resting wall at that side of the block, which the step knows itself
  Form form = Form::apart;
  Numbering numbering;                   ///< of a packed block
  std::span<const std::uint32_t> cells;  ///< of a packed block: those that the step takes, in groups
  bool has_solids = false;               ///< some interior cell of the block is not fluid
  bool flags_by_word = false;            ///< the step looks at four flags at once
  Together* together = nullptr;          ///< takes what small blocks launch; null: it goes to the stream
  bool alone = false;                    ///< nothing else shall run on the device beside the step
  bool past_caches = false;              ///< on the host, by two arrays: what a step writes falls out of the caches
  bool leave_solids = false;  ///< the step leaves them as they are, whatever they hold; else they are put at rest
  bool skip_solids = false;   ///< then it does not read them, either
  BoundaryArrays boundary;    ///< by moments
  bool recursive = false;     ///< by moments: what cells send has terms of third order
  std::array<int, 2> tile{};  ///< by moments, of Options
  int chunk = 0;
};

/// A flow in and beside some cells of a block: density less 1 and velocity, [z][y][x][4], on the device.
struct FlowValues {
  const double* values = nullptr;
  Box around;  ///< the cells, and one more on each side where the domain goes on; local coordinates
};

/// What collides the populations of a run.
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
  /// Whether a step can know resting walls itself (walls of BlockArrays).
  virtual bool knows_walls(bool in_place, Layout layout) const = 0;
  /// Writes the populations of a fluid at rest under the model's force, for fluid cells of a box (local coordinates).
  virtual void start(Stream& stream, const Box& box, const BlockArrays& block, const Model& model) const = 0;
  /// Writes the populations of a flow, with its stress, for the fluid cells of a box.
  virtual void start_from(Stream& stream, const Box& box, const BlockArrays& block, const Model& model,
                          const FlowValues& flow) const = 0;
  /// Reads what arrives, collides and writes, for the cells of a box (of a packed block, for the listed ones): into
  /// populations_out, or in place by the form.
  virtual void stream_collide(Stream& stream, const Box& box, const BlockArrays& block, Layout layout,
                              const Model& model) const = 0;
  /// Brings an array from its form into another; one of the two is apart. `spare`: memory for one population of every
  /// cell.
  virtual void rearrange(Stream& stream, const BlockArrays& block, Form to, std::byte* spare) const = 0;
  /// Fluid cells from one array of a block into another, whatever form they have and whether they are packed; solid
  /// cells are put at rest.
  virtual void transcribe(Stream& stream, const BlockArrays& from, const BlockArrays& to) const = 0;
  /// Puts the populations of solid cells at rest, in an array whose form is apart.
  virtual void rest_solids(Stream& stream, const BlockArrays& block) const = 0;
  /// Where the populations of links of resting walls lie in the block's array, which has at most 2^32 elements, as form
  /// apart or shared has it; the turned form has both places exchanged.
  virtual void place_links(Stream& stream, std::span<const Link> links, const BlockArrays& block,
                           Bounce* places) const = 0;
  /// By moments, for the listed cells, which wait for what neighbours send.
  virtual void apply_links(Stream& stream, const LinkSpans& links, const BlockArrays& block,
                           const Model& model) const = 0;
  /// By moments: the step of the listed cells, after stream_collide has written something else there.
  virtual void step_boundary(Stream&, const BlockArrays&, const Model&) const {}
  /// sums[6 team ...] = force and moment by links that have been applied; `corner`: from where moments are taken about,
  /// to the centre of the block's first cell. There are load_teams(links.size()) teams.
  virtual void loads(Together& together, std::span<const LoadLink> links, const std::array<double, 3>& corner,
                     const BlockArrays& block, double* sums) const = 0;
  /// Velocity and density of the fluid cells; change[team] is the largest change of a velocity component.
  /// There is a team for each of the CellRows of the box along the axis of the populations' rows; so for all sums by
  /// rows.
  virtual void macroscopic(Together& together, const Box& box, const BlockArrays& block, const Model& model,
                           double* change) const = 0;
  /// sum[row] = the row's sum over fluid cells of density less 1.
  virtual void excess_mass(Together& together, const Box& box, const BlockArrays& block, double* sum) const = 0;
  /// sums[2 row ...] = the row's sums over fluid cells of rho u^2 / 2 and of the dissipation in the coming step, for
  /// which everything has been brought.
  virtual void energy(Together& together, const Box& box, const BlockArrays& block, const Model& model,
                      double* sums) const = 0;
  /// For a guard: the first fluid cell of each row of the block whose density is not within the range.
  virtual void inspect_density(Together& together, const BlockArrays& block, double lowest, double highest,
                               RowFinding* rows) const = 0;
};

constexpr int links_per_team = 1024;
inline std::int64_t load_teams(std::size_t links) {
  return (static_cast<std::int64_t>(links) + links_per_team - 1) / links_per_team;
}

const Kernels& kernels(const Options& options);

// Units of instances/; the variants that most cases use have one alone.
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
