#pragma once
// State and tasks of a lattice Boltzmann run; parts are in blocks.cpp, forms.cpp, splitting.cpp and sums.cpp.
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <slipstream/lbm.hpp>

#include "device/together.hpp"
#include "device/upload.hpp"
#include "solver/common/cell_rows.hpp"
#include "solver/common/fork_join.hpp"
#include "solver/common/part_sums.hpp"
#include "solver/lbm/lattice/fields.hpp"
#include "solver/lbm/lattice/kernels.hpp"
#include "solver/lbm/links/boundary_cells.hpp"
#include "solver/lbm/links/links.hpp"
#include "solver/lbm/step/stored_cells.hpp"

namespace slipstream::lbm {

/// The lists of links of a block, in device memory.
struct LinkBuffers {
  LinkBuffers() = default;
  LinkBuffers(Stream& stream, const LinkLists& lists)
      : added(upload(stream, lists.added)),
        half_way(upload(stream, lists.half_way)),
        resting(stream.device(), lists.resting.size()),
        copied(upload(stream, lists.copied)),
        pressure(upload(stream, lists.pressure)),
        convective(upload(stream, lists.convective)),
        held(upload(stream, lists.held)),
        interpolated(upload(stream, lists.interpolated)) {}
  LinkSpans spans() const {
    return {{added.data(), added.size()},       {half_way.data(), half_way.size()},
            {resting.data(), resting.size()},   {copied.data(), copied.size()},
            {pressure.data(), pressure.size()}, {convective.data(), convective.size()},
            {held.data(), held.size()},         {interpolated.data(), interpolated.size()}};
  }
  bool empty() const {
    return added.size() + half_way.size() + resting.size() + copied.size() + pressure.size() + convective.size() +
               interpolated.size() ==
           0;
  }
  Buffer<Link> added;
  Buffer<Link> half_way;
  Buffer<Bounce> resting;
  std::size_t known = 0;  ///< number of links to resting walls that the step's kernel applies itself; they come first
  Buffer<CopiedLink> copied;
  Buffer<PressureCell> pressure;
  Buffer<ConvectiveLink> convective;
  Buffer<HeldCell> held;  ///< cells at convective sides, whose density is drawn to a given one
  Buffer<InterpolatedCell> interpolated;
};

/// The data of a block on its device: links, lists of cells, and the split of the block around the exchange.
struct BlockWork {
  std::int64_t id = 0;
  std::size_t device = 0;  // index of the device among those of this rank
  Box cells;               // interior cells of the block in local coordinates
  InteriorAndBoundary split;
  LinkBuffers local, exchanged;
  Buffer<double> shares;                  // weights of interpolated links, by cell
  BoundaryCells boundary;                 // cells next to walls, for the moment representation
  std::map<int, Buffer<LoadLink>> loads;  // links that bear loads, by surface
  Kept kept = Kept::all;
  Numbering numbering;  // maps cells to their storage indices; uses the bit masks `words` if only some cells are stored
  Buffer<CellWord> words;
  // compressed list of the fluid cells of a block that stores only these: interior, then boundary region
  Buffer<std::uint32_t> fluid;
  std::size_t interior_words = 0;
  std::uint8_t walls = 0;  // bits of sides with resting walls that the step handles without links
  bool has_solids = false;
  std::int64_t fluid_cells = 0;
  std::vector<std::int64_t> through;  // number of links between fluid cells through each body
};

/// Populations of a convective outlet, stored on separate blocks.
struct Outlet {
  Outlet(const Grid& flow, const Options& options, const GridOptions& blocks)
      : grid(flow.extent(), flow.machine(), flow.rank(), blocks), field(grid, outlet_field(options)) {}
  /// Makes the populations of an outlet; null if no side is convective.
  static std::unique_ptr<Outlet> make(const Grid& flow, const Options& options) {
    GridOptions blocks;
    blocks.dimensions = flow.dimensions();
    blocks.covered = false;
    for (Block block : flow.blocks()) {
      block.box = near_outlet(flow, options, block.box);
      if (!block.box.empty()) blocks.boxes.push_back(block);
    }
    return blocks.boxes.empty() ? nullptr : std::make_unique<Outlet>(flow, options, blocks);
  }
  Grid grid;
  Field field;
};

/// One block's contribution to the sum of a quantity over the domain, such as a force and its moment.
struct Partial {
  std::int64_t block = 0, quantity = 0;
  std::array<double, 6> values{};
};

/// Gathers all blocks' terms of a sum, such as forces on bodies, in block order: its bits do not depend on the ranks.
std::vector<Partial> by_block(const Communicator& comm, const Grid& grid, const std::vector<Partial>& mine);

struct Lbm::Impl : SolverParts {
  Impl(const Communicator& comm, const Machine& machine, Options wanted, Surfaces bodies);

  /// Creates the arrays and exchanges, after the storage of cells was chosen.
  void make_populations();
  void make_blocks();
  void list_cells(BlockWork& work, const Surroundings& s, const Links& links);
  LinkBuffers links_of(const BlockWork& work, LinkLists lists);
  std::uint8_t known_walls(const BlockWork& work) const;
  void set(Surfaces bodies);
  /// Releases the bodies' solid cells and cuts, which only the set-up of blocks needs.
  void forget_bodies() {
    surfaces.solid = {};
    surfaces.cuts = {};
  }

  bool by_moments() const { return options.representation == Representation::moments; }
  bool in_place() const { return options.streaming == Streaming::in_place; }
  /// Order of populations in the array that the next step reads (Form), unless they were converted for output.
  Form form() const {
    if (!in_place()) return Form::apart;
    return state.step % 2 == 0 ? Form::shared : Form::turned;
  }
  /// The exchange that runs before the next step.
  Exchange& exchange() const { return *exchanges[static_cast<std::size_t>(state.step) % exchanges.size()]; }
  /// Tasks of a step; they alternate with the exchanges.
  const Tasks& tasks_at(std::int64_t step) const { return phases[static_cast<std::size_t>(step) % exchanges.size()]; }
  void list_tasks();

  /// Converts populations to the form that output reads, or back: all cells, each population in the cell that it left.
  void rearrange(bool to_apart);
  void rearrange_in_place(Stream& stream, const BlockWork& work, BlockArrays block, bool to_apart);
  void begin_steps() { rearrange(false); }

  /// Puts the fluid of new arrays at rest. They hold zeros, which already are the state of rest without a force or
  /// random seeds.
  void start();
  /// Sets a block's populations from a given flow, slab by slab, to save memory.
  void start_from(const BlockWork& work, const FlowOfBox& flow);
  /// Least width of the boundary region in cells. In place, an outlet or an interpolated link that waits for the
  /// exchange reads outgoing populations of its cell. The cell behind must not have replaced them yet.
  std::int64_t least_rim() const { return in_place() && (interpolated || !options.boundaries.empty()) ? 2 : 1; }

  std::int64_t usual_rim(int axis) const;
  /// Widths of the layers of a block to which the halo brings values from another block, or from itself if periodic.
  Margins margins(const Block& block) const;
  void flags_of(Stream& stream, std::int64_t id, const Box& around, const std::vector<std::uint8_t>& values);

  BlockData place(const Field& field, std::int64_t block, int copy = 0) const {
    const BlockShape& shape = field.shape(block);
    return {field.data(block, copy) + shape.origin * static_cast<std::int64_t>(size_of(field.options().type)), shape,
            field.options().type};
  }

  const BlockWork& work(std::int64_t block) const {
    return *std::find_if(blocks.begin(), blocks.end(), [&](const BlockWork& work) { return work.id == block; });
  }

  /// Arrays of a block for kernels, with the array that holds populations now.
  BlockArrays arrays(const BlockWork& work) const {
    if (!apart) return own_arrays(work);
    if (whole) return whole_arrays(work);
    BlockArrays a = own_arrays(work);
    a.form = Form::apart;
    return a;
  }

  BlockArrays own_arrays(const BlockWork& work) const {
    BlockArrays a = other_arrays(work);
    a.populations = place(*populations, work.id, 0);
    a.populations_out = place(*populations, work.id, in_place() ? 0 : 1);
    a.form = form();
    a.numbering = work.numbering;
    return a;
  }

  BlockArrays whole_arrays(const BlockWork& work) const {
    BlockArrays a = other_arrays(work);
    a.populations = place(*whole, work.id);
    return a;
  }

  /// Arguments of kernels for a block (velocity, density, flags, walls, options), without its populations.
  BlockArrays other_arrays(const BlockWork& work) const {
    BlockArrays a;
    a.low = grid.block(work.id).box.lo;
    a.domain = grid.extent();
    a.flags = place(flags, work.id);
    if (velocity) a.velocity = place(*velocity, work.id);
    if (density) a.density = place(*density, work.id);
    if (outlet) a.outlet = outlet_arrays(grid.block(work.id).box);
    const auto wrapped = wrapped_axes(grid, options);
    for (int axis = 0; axis < 3; ++axis)
      if (wrapped[axis]) a.wrap.extent[axis] = static_cast<int>(work.cells.extent(axis));
    a.walls = work.walls;
    a.has_solids = work.has_solids;
    // On GPUs, writing solid cells costs more than testing for them.
    const bool gpu = devices[work.device].backend != Backend::host;
    a.skip_solids = work.kept == Kept::fluid;
    a.leave_solids =
        a.skip_solids || by_moments() || (gpu && work.kept == Kept::all && layout_of(grid, options) != Layout::aos);
    a.boundary = work.boundary.arrays();
    a.recursive = options.collision == Collision::recursive;
    a.tile = options.tile;
    a.chunk = options.chunk;
    a.flags_by_word = options.flags_by_word;
    return a;
  }

  /// Outlet arrays of a block; null if the block does not lie along the outlet.
  OutletArrays outlet_arrays(const Box& block) const {
    const Box beside = near_outlet(grid, options, block);
    if (beside.empty()) return {};
    const std::int64_t id = outlet->grid.overlapping(beside).front();
    return {place(outlet->field, id, 0), place(outlet->field, id, 1), convective_side(options) / 2, state.step == 0};
  }

  /// Cells of a block that one launch processes.
  struct Piece {
    const BlockWork* work;
    Box box;  ///< cells in local coordinates; unused for a packed block, which a launch processes whole
  };

  /// Code that reads populations after boundary links are applied: the next time step or other code. A step handles
  /// some links at resting walls itself, so these are applied for other code only.
  enum class Reader : std::uint8_t { step, others };
  void bounce(Stream& stream, std::size_t device, LinkBuffers BlockWork::*links, Reader reader, Part part = Part::all) {
    std::vector<Piece> linked;
    for (const BlockWork& work : blocks)
      if (work.device == device && !(work.*links).empty()) linked.push_back({&work, work.cells});
    const auto apply = [&](std::size_t n, Stream& lane, Together* together) {
      const LinkBuffers& buffers = linked[n].work->*links;
      LinkSpans spans = buffers.spans();
      if (reader == Reader::step) spans.resting = spans.resting.subspan(buffers.known);
      spans.shares = linked[n].work->shares.data();
      // Populations at rest make up for mass that interpolated links lose, but only in a step: output changes no cell.
      spans.keep_mass = reader == Reader::step && !is_open(options);
      BlockArrays block = arrays(*linked[n].work);
      block.together = together;
      block.boundary.list = linked[n].work->boundary.brought_to(links == &BlockWork::exchanged);
      kernel.apply_links(lane, spans, block, model);
    };
    spread(stream, device, part, linked.size(), streams_for(device, linked), go_together(device, linked.size()), apply);
  }

  void collide(Stream& stream, const Piece& piece, Part part, bool alone, Together* together) {
    const BlockWork& work = *piece.work;
    BlockArrays block = arrays(work);
    if (work.kept == Kept::packed) {
      const std::size_t first = part == Part::boundary ? work.interior_words : 0,
                        last = part == Part::interior ? work.interior_words : work.fluid.size();
      block.cells = {work.fluid.data() + first, last - first};
    } else {
      block.alone = alone;
      block.together = together;
      block.past_caches = past_caches;
    }
    kernel.stream_collide(stream, piece.box, block, populations->options().layout, model);
  }

  /// Steps slabs of boundary regions together, because they are small launches for any block size. If the boundary
  /// region must not fill the device, they run one after the other, in pieces.
  void compute(Stream& stream, std::size_t device, Part part) {
    if (part != Part::interior) bounce(stream, device, &BlockWork::exchanged, Reader::step, part);
    const std::vector<Piece> pieces = pieces_of(device, part);
    std::size_t most = streams_for(device, pieces);
    if (part == Part::boundary && devices[device].backend != Backend::host)
      most = options.rim_processors > 0 ? 1 : ForkJoin::most_on_gpu;
    const bool alone = part == Part::all && std::min(most, pieces.size()) < 2;
    spread(stream, device, part, pieces.size(), most, most > 1 && go_together(device, pieces, part),
           [&](std::size_t n, Stream& lane, Together* together) { collide(lane, pieces[n], part, alone, together); });
    step_boundary(stream, device, part);
  }

  /// Advances boundary cells of the moment representation, after the kernels that treat these cells as fluid.
  void step_boundary(Stream& stream, std::size_t device, Part part) {
    const auto cells = [&](const BlockWork& work) {
      return work.boundary.stepped(part != Part::boundary, part != Part::interior);
    };
    std::vector<Piece> listed;
    for (const BlockWork& work : blocks)
      if (work.device == device && !cells(work).empty()) listed.push_back({&work, work.cells});
    const auto step = [&](std::size_t n, Stream& lane, Together* together) {
      BlockArrays block = arrays(*listed[n].work);
      block.together = together;
      block.boundary.list = cells(*listed[n].work);
      kernel.step_boundary(lane, block, model);
    };
    spread(stream, device, part, listed.size(), streams_for(device, listed), go_together(device, listed.size()), step);
  }

  /// Runs independent pieces of work, on several streams or in few launches.
  template <class Run>
  void spread(Stream& stream, std::size_t device, Part part, std::size_t count, std::size_t most, bool by_few,
              Run run) {
    if (!by_few)
      return forks_of(device, part).run(stream, count, most, [&](std::size_t n, Stream& lane) {
        run(n, lane, nullptr);
      });
    Together together(stream);
    for (std::size_t n = 0; n < count; ++n) run(n, stream, &together);
    together.launch();
  }
  /// Whether to join many launches in one, for lists of links or cells: this pays if launches dominate the time.
  bool go_together(std::size_t device, std::size_t lists) const;
  bool go_together(std::size_t device, const std::vector<Piece>& pieces, Part part) const;

  std::vector<Piece> pieces_of(std::size_t device, Part part) const;
  static std::int64_t mean_cells(const std::vector<Piece>& pieces);
  /// Number of streams of a device on which kernels for different boxes of cells run at the same time.
  std::size_t streams_for(std::size_t device, const std::vector<Piece>& pieces) const;
  ForkJoin& forks_of(std::size_t device, Part part) {
    return (part == Part::boundary ? boundary_forks : forks)[device];
  }

  /// Boxes of a block's cells that wait for halos, small if a kernel for one may occupy only part of a GPU.
  std::vector<Box> boundary_launches(const BlockWork& work) const;

  void take(const Split& chosen);
  /// Largest number of bytes that a device sends to others in one exchange.
  double most_bytes_sent() const;
  /// Cache key of the measured split into interior and boundary region: all on which a time step's duration depends.
  std::string split_key() const;
  /// Measures how to split steps into interior cells and cells that wait for halos; then puts the fluid at rest again.
  void tune_rim(Lbm& owner);
  void tune_teams(Lbm& owner);
  /// Restores the fluid's state before the first step.
  void rest();
  std::pair<std::int64_t, std::int64_t> now() const { return {state.step, state.restarts}; }

  void make_macroscopic() {
    velocity.emplace(grid, velocity_field(options));
    FieldOptions exchanged = density_field(options);
    exchanged.shared = comm.size() > 1;
    density.emplace(grid, exchanged);
    state.fields["velocity"] = &*velocity;
    state.fields["density"] = &*density;
  }

  /// Sums over each row of cells, `each` doubles a row, on devices. Returns the sums on the host, by block. `run` adds
  /// to a group of launches the kernel that writes the sums of a block's rows to device memory.
  template <class Run>
  std::vector<std::span<const double>> per_row(Run run, std::size_t each = 1) {
    std::vector<PartSums::Part> parts;
    std::vector<BlockArrays> all;
    for (const BlockWork& work : blocks) {
      all.push_back(arrays(work));
      parts.push_back({work.device, each * CellRows(work.cells, all.back().populations.shape.row_axis).count()});
    }
    return sums.of(waited, parts, [&](std::size_t b, Together& together, double* place) {
      run(together, blocks[b].cells, all[b], place);
    });
  }

  /// Exchanges populations and applies links, so that all populations are available that the next step reads.
  void bring() {
    begin_steps();
    std::vector<Stream>& streams = loop->streams();
    for (std::size_t d = 0; d < streams.size(); ++d) bounce(streams[d], d, &BlockWork::local, Reader::others);
    exchange().run(streams);
    for (std::size_t d = 0; d < streams.size(); ++d) bounce(streams[d], d, &BlockWork::exchanged, Reader::others);
  }

  Options options;
  Surfaces surfaces;
  bool interpolated = false;  // whether any body has interpolated links; the bodies may have been released
  Grid grid;
  Model model;
  const Kernels& kernel;
  std::shared_ptr<Keeping> keeping;
  SolidBlocks solid_blocks;
  std::vector<std::unique_ptr<Pattern>> patterns;
  Field flags;
  std::optional<Field> populations;
  bool past_caches = false;
  // Unpacked populations for output from packed blocks. Their arrays do not exist during steps.
  std::optional<Field> whole;
  std::unique_ptr<Outlet> outlet;
  std::optional<Field> velocity, density;
  std::vector<Stream> waited;                   // streams by device for work that the host waits for
  std::vector<ForkJoin> forks, boundary_forks;  // streams by device for concurrent kernels; boundaries have priority
  PartSums sums;
  Tuning tuning;
  Split split;
  Teams teams;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::vector<BlockWork> blocks;
  std::vector<Tasks> phases;  // tasks of a time step, for each exchange that a step may use
  std::uint64_t serial = 0;   // counter that grows whenever recorded graphs of steps become invalid
  bool apart = false;         // whether populations lie in the cells that they left, for output
  // Step of which the arrays `velocity` and `density` hold the flow (-1: none), and number of restarts before it.
  std::pair<std::int64_t, std::int64_t> macroscopic_step{-1, 0};
};

}  // namespace slipstream::lbm
