// Storage of this rank's blocks: which cells are kept, and how links are made from bodies.
#include <algorithm>

#include "device/streaming_stores.hpp"
#include "device/work_items.hpp"
#include "solver/lbm/impl.hpp"
#include "solver/lbm/links/neighbours.hpp"
#include "solver/lbm/step/boundary_pieces.hpp"
#include "solver/lbm/step/packed_halo.hpp"
#include "solver/lbm/step/solids_tuner.hpp"

namespace slipstream::lbm {

void Lbm::Impl::make_populations() {
  exchanges.clear();
  populations.reset();
  whole.reset();
  KeptBlocks kept;
  if (options.tune && options.solids == Solids::automatic && surfaces.solid)
    kept = measure_kept(comm, grid, options, surfaces);
  solid_blocks = std::move(kept.told);
  keeping = std::make_shared<Keeping>(grid, options, surfaces, std::move(kept.of));
  FieldOptions field = population_field(grid, options, comm.size() > 1);
  if (const auto packed = keeping->packed(comm)) {
    whole.emplace(grid, whole_field(grid, options));
    field.packed = packed;
  }
  populations.emplace(grid, field);
  // Size of the last cache from which streaming stores pay. This cache is shared with others. On two cores streaming
  // stores are faster from 16 MB on with a cache of 32 MB, and between 75 and 300 MB with one of 480 MB.
  std::size_t bytes = 0;
  for (const std::int64_t id : grid.local())
    bytes += populations->shape(id).elements * field.copies * size_of(field.type);
  past_caches = bytes > std::max<std::size_t>(16 << 20, last_level_cache() / 4);
  patterns = population_patterns(grid, options);
  if (field.packed)
    for (auto& pattern : patterns) pattern = std::make_unique<PackedHalo>(std::move(pattern), keeping, field);
  const auto moved = [&](const Pattern& pattern) {
    return ExchangeItem{&pattern, &*populations, nullptr, false, options.coding};
  };
  tuning = {};
  tuning.options = options.exchange;
  tuning.source = "rules";
  if (options.tune) tuning = tune(comm, grid, {moved(*patterns.front())}, options.exchange, *options.tune);
  for (const auto& pattern : patterns)
    exchanges.push_back(std::make_unique<Exchange>(comm, grid, std::vector{moved(*pattern)}, tuning.options));
  state.fields[field.name] = whole ? &*whole : &*populations;
  list_tasks();
  keeping->settle();
}

void Lbm::Impl::make_blocks() {
  blocks.clear();
  for (const std::int64_t id : grid.local()) {
    const Block& block = grid.block(id);
    BlockWork work;
    work.id = id;
    const Device device = populations->device(id);
    work.device = std::find(devices.begin(), devices.end(), device) - devices.begin();
    Stream& stream = waited[work.device];
    work.cells = {{0, 0, 0}, block.box.extents()};
    work.split = split_boundary(work.cells, margins(block));
    const Surroundings s = surroundings_of(grid, block, options, flags.options().ghost, surfaces);
    flags_of(stream, id, s.around, s.flags);
    work.fluid_cells = count_fluid(s, block.box);
    work.has_solids = work.fluid_cells < block.box.volume();
    work.through = count_through(grid, options, s, surfaces.names.size());
    work.kept = keeping->of(id);
    work.walls = known_walls(work);
    Links links = make_links(grid, block, options, s, by_moments() ? work.walls : 0);
    for (const auto& [bearer, list] : links.loads) work.loads.emplace(bearer, upload(stream, list));
    if (work.kept == Kept::packed) list_cells(work, s, links);
    if (by_moments()) {
      work.boundary = BoundaryCells(stream, work.cells, populations->options().ghost, margins(block),
                                    size_of(arithmetic(options.precision)), links);
      work.boundary.split(stream, work.split.interior);
    }
    work.shares = upload(stream, links.shares);
    work.local = links_of(work, std::move(links.local));
    work.exchanged = links_of(work, std::move(links.exchanged));
    blocks.push_back(std::move(work));
  }
}

/// Sides of a block that are resting walls which the step handles without links. On the host this is only done on
/// request, because the decision prevents vectorisation of loops along rows.
std::uint8_t Lbm::Impl::known_walls(const BlockWork& work) const {
  const bool gpu = devices[work.device].backend != Backend::host;
  if (!options.walls_in_step.value_or(gpu) || work.kept == Kept::packed) return 0;
  if (!kernel.knows_walls(in_place(), populations->options().layout)) return 0;
  const Box& box = grid.block(work.id).box;
  std::uint8_t walls = 0;
  for (int side = 0; side < 2 * grid.dimensions(); ++side) {
    const int a = side / 2;
    if (lies_along(grid, box, side) && !grid.periodic()[a] && is_resting_wall(options, side))
      walls |= side_bit(a, side % 2 != 0);
  }
  return walls;
}

LinkBuffers Lbm::Impl::links_of(const BlockWork& work, LinkLists lists) {
  if (populations->shape(work.id).elements > std::int64_t{1} << 32) {  // links at resting walls have 32-bit indices
    lists.half_way.insert(lists.half_way.end(), lists.resting.begin(), lists.resting.end());
    lists.resting.clear();
  }
  Stream& stream = waited[work.device];
  const auto known = [&](const Link& link) {
    const std::int32_t at[] = {link.cell.x, link.cell.y, link.cell.z};
    const std::int8_t in[] = {link.in.x, link.in.y, link.in.z};
    for (int a = 0; a < 3; ++a)
      if (in[a] != 0 && at[a] == (in[a] > 0 ? 0 : work.cells.extent(a) - 1) && work.walls & side_bit(a, in[a] < 0))
        return true;
    return work.kept == Kept::packed;
  };
  const auto others = std::stable_partition(lists.resting.begin(), lists.resting.end(), known);
  LinkBuffers buffers(stream, lists);
  buffers.known = static_cast<std::size_t>(others - lists.resting.begin());
  if (lists.resting.empty()) return buffers;
  const Buffer<Link> links = upload(stream, lists.resting);
  kernel.place_links(stream, {links.data(), links.size()}, own_arrays(work), buffers.resting.data());
  stream.synchronize();
  return buffers;
}

void Lbm::Impl::list_cells(BlockWork& work, const Surroundings& s, const Links& links) {
  const StoredCells& stored = keeping->stored(work.id);
  Stream& stream = waited[work.device];
  const Box& cells = grid.block(work.id).box;
  work.words = upload(stream, stored.words());
  work.numbering = stored.numbering();
  work.numbering.words = work.words.data();
  const auto walls = resting_walls_of(cells, links);
  auto listed = listed_words(fluid_cells_of(cells, {work.split.interior}, s, walls), options.lattice);
  work.interior_words = listed.size();
  const auto boundary = listed_words(fluid_cells_of(cells, work.split.boundary, s, walls), options.lattice);
  listed.insert(listed.end(), boundary.begin(), boundary.end());
  work.fluid = upload(stream, listed);
}

void Lbm::Impl::set(Surfaces bodies) {
  require(state.step == 0, ErrorCode::wrong_state, "bodies and solid cells are set before the first step");
  surfaces = checked(std::move(bodies));
  interpolated = interpolates(surfaces);
  // Unless all cells are stored, new bodies change the set of stored cells, so populations are made anew.
  const bool anew = options.solids != Solids::dense;
  if (anew) make_populations();
  make_blocks();
  anew ? start() : rest();
  ++serial;
  forget_bodies();
  macroscopic_step.first = -1;
}

std::int64_t Lbm::Impl::usual_rim(int axis) const {
  const Layout layout = populations->options().layout;
  if (axis != row_axis(layout) || layout == Layout::aos || devices.front().backend == Backend::host) return 1;
  return 32 / static_cast<std::int64_t>(size_of(options.precision));
}

std::vector<Lbm::Impl::Piece> Lbm::Impl::pieces_of(std::size_t device, Part part) const {
  std::vector<Piece> pieces;
  for (const BlockWork& work : blocks) {
    if (work.device != device) continue;
    std::vector<Box> boxes{work.cells};
    if (work.kept != Kept::packed && part == Part::interior) boxes = {work.split.interior};
    if (work.kept != Kept::packed && part == Part::boundary) boxes = boundary_launches(work);
    for (const Box& box : boxes)
      if (!box.empty()) pieces.push_back({&work, box});
  }
  return pieces;
}

bool Lbm::Impl::go_together(std::size_t device, std::size_t lists) const {
  return devices[device].backend != Backend::host && lists >= 4;
}

bool Lbm::Impl::go_together(std::size_t device, const std::vector<Piece>& pieces, Part part) const {
  // Few slabs of boundary cells are launched on separate streams, by kernels that process rows faster than a joint one.
  if (part == Part::boundary && pieces.size() <= 2 * ForkJoin::most_on_gpu) return false;
  return go_together(device, pieces.size()) && mean_cells(pieces) < 1 << 16 &&
         std::none_of(pieces.begin(), pieces.end(),
                      [](const Piece& piece) { return piece.work->kept == Kept::packed; });
}

std::int64_t Lbm::Impl::mean_cells(const std::vector<Piece>& pieces) {
  std::int64_t cells = 0;
  for (const Piece& piece : pieces) cells += piece.box.volume();
  return cells / static_cast<std::int64_t>(pieces.size());
}

std::size_t Lbm::Impl::streams_for(std::size_t device, const std::vector<Piece>& pieces) const {
  if (pieces.size() < 2) return 1;
  const std::int64_t mean = mean_cells(pieces);
  // Few streams suffice for large blocks: a million cells fill a GPU, and 8192 occupy all threads of a host.
  if (devices[device].backend != Backend::host) return mean < 1 << 20 ? ForkJoin::most_on_gpu : 1;
  return mean < 8192 ? static_cast<std::size_t>(host_threads()) : 1;
}

std::vector<Box> Lbm::Impl::boundary_launches(const BlockWork& work) const {
  if (options.rim_processors == 0) return work.split.boundary;
  // On the host boundary boxes are cut into small ones. This is only for tests, as no other work runs concurrently.
  const std::int64_t cells_a_processor = devices[work.device].backend == Backend::host ? 64 : 1024;
  return boundary_pieces(work.split.boundary, options.rim_processors * cells_a_processor,
                         row_axis(populations->options().layout));
}

Margins Lbm::Impl::margins(const Block& block) const {
  Margins m;
  for (int a = 0; a < 3; ++a) {
    if (populations->options().ghost[a] == 0) continue;
    const std::int64_t width = std::max(least_rim(), options.rim[a] > 0 ? options.rim[a] : usual_rim(a));
    if (grid.periodic()[a] || block.box.lo[a] > 0) m.low[a] = width;
    if (grid.periodic()[a] || block.box.hi[a] < grid.extent()[a]) m.high[a] = width;
  }
  return m;
}

void Lbm::Impl::flags_of(Stream& stream, std::int64_t id, const Box& around, const std::vector<std::uint8_t>& values) {
  const BlockShape& shape = flags.shape(id);
  Buffer<std::uint8_t> host(flags.device(id), shape.elements, Memory::pinned);
  std::fill_n(host.data(), host.size(), fluid);
  const Extent& g = flags.options().ghost;
  const auto plane = [&](std::int64_t z) {
    for (std::int64_t y = 0; y < around.extent(1); ++y) {
      const std::uint8_t* const from = values.data() + (z * around.extent(1) + y) * around.extent(0);
      std::uint8_t* const to = host.data() + shape.origin + (y - g[1]) * shape.stride[1] + (z - g[2]) * shape.stride[2];
      for (std::int64_t x = 0; x < around.extent(0); ++x) to[(x - g[0]) * shape.stride[0]] = from[x];
    }
  };
  for_each_item(around.extent(2), plane, around.extent(0) * around.extent(1));
  copy(stream, flags.data(id), host.data(), host.bytes());
  stream.synchronize();
}

}  // namespace slipstream::lbm
