#include "solver/lbm/step/stored_cells.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "device/work_items.hpp"
#include "solver/lbm/lattice/fields.hpp"
#include "solver/lbm/links/boundary_cells.hpp"
#include "solver/lbm/links/neighbours.hpp"

namespace slipstream::lbm {

Solidity solidity_of(const Block& block, const Surroundings& s, int row_axis) {
  constexpr std::int64_t stretch = 32;
  const Extent n = block.box.extents();
  const int across = row_axis == 0 ? 1 : 0, planes = 3 - row_axis - across;
  std::vector<std::int64_t> solids(n[planes]), in_stretches(n[planes]);
  const auto plane = [&](std::int64_t k) {
    Extent at = block.box.lo;
    at[planes] += k;
    for (std::int64_t j = 0; j < n[across]; ++j) {
      at[across] = block.box.lo[across] + j;
      std::int64_t here = 0;  // number of solid cells in this stretch of the row
      for (std::int64_t i = 0; i < n[row_axis]; ++i) {
        at[row_axis] = block.box.lo[row_axis] + i;
        here = i % stretch == 0 ? 0 : here;
        here += s.flags[index_in(s.around, at)] != fluid;
        if (here == stretch) in_stretches[k] += stretch;
        solids[k] += s.flags[index_in(s.around, at)] != fluid;
      }
    }
  };
  for_each_item(n[planes], plane, n[row_axis] * n[across]);
  const auto all = static_cast<double>(std::accumulate(solids.begin(), solids.end(), std::int64_t{0}));
  const auto whole = static_cast<double>(std::accumulate(in_stretches.begin(), in_stretches.end(), std::int64_t{0}));
  return {all / static_cast<double>(block.box.volume()), all > 0 ? whole / all : 0};
}

namespace {

/// Share of solid cells from which `automatic` stores fluid cells only. On GPUs this is as fast as other storages
/// (H200, f32: packings of spheres); on the host the saved work must outweigh vectorisation.
double packing_share(bool gpu) { return gpu ? 0.3 : 0.85; }

}  // namespace

Kept kept_by(const Options& options, bool gpu, const Solidity& solidity) {
  if (options.representation == Representation::moments) {
    // A flag takes one byte beside 80 of moments: reading it saves time if solid cells fill long stretches of rows.
    const bool skipped = options.solids == Solids::flags ||
                         (options.solids == Solids::automatic && solidity.share * solidity.long_share > 0.02);
    return skipped ? Kept::fluid : Kept::all;
  }
  // A block without fluid stores no cells at all.
  if (solidity.share == 1 && options.solids != Solids::dense) return Kept::packed;
  switch (options.solids) {
    case Solids::dense:
      return Kept::all;
    case Solids::flags:
      return Kept::fluid;
    case Solids::sparse:
      return Kept::packed;
    case Solids::automatic:
      break;
  }
  if (solidity.share >= packing_share(gpu)) return Kept::packed;
  // On the host all cells are computed, because a decision for each cell would prevent vectorisation.
  return gpu && solidity.share > 0 ? Kept::fluid : Kept::all;
}

namespace {

/// Whether a cell touches a pressure or convective side.
bool along_outlet(const Grid& grid, const Options& options, const Extent& x) {
  for (const auto& [side, boundary] : options.boundaries) {
    const int number = static_cast<int>(side), a = number / 2;
    if (is_outlet(boundary) && x[a] == (number % 2 == 0 ? 0 : grid.extent()[a] - 1)) return true;
  }
  return false;
}

/// Whether a step of the block's fluid cells may read or write cell p.
template <class L>
bool touched(const Grid& grid, const Options& options, const Box& box, const Neighbours& neighbours, const Extent& p) {
  const bool in_place = options.streaming == Streaming::in_place;
  const std::uint8_t own = neighbours.flag(p);
  if (own == fluid && box.contains(p)) return true;
  for (int i = 1; i < L::q; ++i) {
    const auto& c = L::velocity[i];
    const Extent x = neighbours.wrapped({p[0] + c[0], p[1] + c[1], p[2] + c[2]});
    if (!box.contains(x) || neighbours.flag(x) != fluid) continue;
    // In-place streaming keeps what returns from a solid cell in an odd direction in the fluid cell, so the solid cell
    // needs no memory. Along an outlet it does: the outlet's condition reads populations that were sent to it.
    if (in_place && i % 2 == 1 && own == solid && !along_outlet(grid, options, x)) continue;
    return true;
  }
  return false;
}

/// Divides a list of stored cells into groups: tells which cells begin one, and how many more cells fit into it.
template <class Groups>
class Grouping {
 public:
  /// Appends a stored cell's number, in ascending order, to the list. Returns whether the cell begins a new group.
  bool begins(std::uint32_t number) {
    const bool full = held_ == Groups::size || number - first_ >= Groups::reach;
    if (full) first_ = number;
    held_ = full ? 1 : held_ + 1;
    return full;
  }
  /// Number of cells that still fit into the last group. The list of a block's cells consists of groups of fixed size.
  int left() const { return Groups::size - held_; }
  std::uint32_t first() const { return first_; }

 private:
  std::uint32_t first_ = 0;
  int held_ = Groups::size;
};

}  // namespace

StoredCells::StoredCells(const Grid& grid, const Block& block, const Options& options, const Surroundings& s) {
  const Extent extent = s.around.extents();
  const std::int64_t row = (extent[0] + 31) / 32;
  require(row * extent[1] * extent[2] < (std::int64_t{1} << 31) && s.around.volume() < (std::int64_t{1} << 32),
          ErrorCode::unsupported,
          "block " + std::to_string(block.id) + " has " + std::to_string(block.box.volume()) +
              " cells, too many to be numbered: take more blocks");
  numbering_.row = static_cast<std::int32_t>(row);
  numbering_.plane = static_cast<std::int32_t>(row * extent[1]);
  for (int a = 0; a < 3; ++a) numbering_.ghost[a] = static_cast<std::int32_t>(block.box.lo[a] - s.around.lo[a]);
  words_.resize(row * extent[1] * extent[2]);
  const Neighbours neighbours(grid, block, s);
  with_lattice(options.lattice, [&]<class L>(L) {
    const auto plane = [&](std::int64_t z) {
      for (std::int64_t y = 0; y < extent[1]; ++y)
        for (std::int64_t x = 0; x < extent[0]; ++x)
          if (touched<L>(grid, options, block.box, neighbours,
                         {s.around.lo[0] + x, s.around.lo[1] + y, s.around.lo[2] + z}))
            words_[(z * extent[1] + y) * row + x / 32].stored |= std::uint32_t{1} << (x % 32);
    };
    for_each_item(extent[2], plane, extent[0] * extent[1]);
  });
  count_ = count_stored(words_);
}

std::int64_t StoredCells::number(const Extent& local) const {
  Numbering numbering = numbering_;
  numbering.words = words_.data();
  const auto part = [&](int a) { return static_cast<std::int32_t>(local[a]); };
  const Numbering::Found found = numbering.find(part(0), part(1), part(2));
  return found.stored != 0 ? static_cast<std::int64_t>(found.number) : -1;
}

std::int64_t StoredCells::list_bytes(Lattice lattice) const {
  std::int64_t words = 0;
  with_lattice(lattice, [&]<class L>(L) {
    using Groups = CellGroups<L::q>;
    Grouping<Groups> grouping;
    for (std::size_t n = 0; n < words_.size(); ++n)
      for (std::uint32_t x = 0; x < 32; ++x)
        if ((words_[n].stored >> x & 1) != 0 && grouping.begins(static_cast<std::uint32_t>(32 * n + x)))
          words += Groups::size + 1;
    // Adds one group of listed cells: the lists of interior and of boundary cells may each end with a partial group.
    words += Groups::size + 1;
  });
  return words * std::int64_t{sizeof(std::uint32_t)};
}

Keeping::Keeping(const Grid& grid, const Options& options, const Surfaces& surfaces,
                 std::map<std::int64_t, Kept> chosen)
    : grid_(grid), options_(options), surfaces_(surfaces), chosen_(std::move(chosen)) {
  surfaces_.cuts = {};
}

const Keeping::Entry& Keeping::entry(std::int64_t id) {
  if (const auto known = entries_.find(id); known != entries_.end()) return known->second;
  Entry& entry = entries_[id];
  if (options_.solids == Solids::dense || (!surfaces_.solid && options_.solids != Solids::sparse)) {
    entry.kept = kept_by(options_, false, {});
    return entry;
  }
  const Block& block = grid_.block(id);
  const Surroundings s = surroundings_of(grid_, block, options_, ghost_layers(grid_, options_), surfaces_);
  const bool gpu = grid_.machine().device(block.device).local.backend == Backend::cuda;
  const auto chosen = chosen_.find(id);
  entry.kept = chosen != chosen_.end()
                   ? chosen->second
                   : kept_by(options_, gpu, solidity_of(block, s, row_axis(layout_of(grid_, options_))));
  if (entry.kept == Kept::packed) entry.stored.emplace(grid_, block, options_, s);
  return entry;
}

Kept Keeping::of(std::int64_t block) { return entry(block).kept; }
const StoredCells& Keeping::stored(std::int64_t block) { return *entry(block).stored; }

std::int64_t Keeping::values(std::int64_t block) {
  const auto size = static_cast<std::int64_t>(size_of(options_.precision));
  const std::int64_t unit = std::max<std::int64_t>(1, alignment_of(options_, on_gpus(grid_)) / size);
  return (stored(block).count() + unit - 1) / unit * unit;
}

std::shared_ptr<const std::vector<std::int64_t>> Keeping::packed(const Communicator& comm) {
  std::vector<std::int64_t> mine;  // pairs: id of a block that leaves out most solid cells, values per component
  for (const std::int64_t id : grid_.local())
    if (of(id) == Kept::packed) {
      mine.push_back(id);
      mine.push_back(values(id));
    }
  auto all = std::make_shared<std::vector<std::int64_t>>(grid_.blocks().size(), -1);
  const std::string bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(std::int64_t));
  for (const std::string& text : comm.all_gather(bytes))
    for (std::size_t at = 0; at < text.size(); at += 2 * sizeof(std::int64_t)) {
      std::int64_t pair[2];
      std::memcpy(pair, text.data() + at, sizeof(pair));
      all->at(pair[0]) = pair[1];
      any_packed_ = true;
    }
  if (!any_packed_) return nullptr;
  return all;
}

void Keeping::settle() {
  surfaces_ = {};
  std::erase_if(entries_, [&](const auto& known) { return grid_.block(known.first).rank != grid_.rank(); });
}

namespace {

/// Bytes of the links to bodies by device; in the moment representation including the cells next to bodies.
std::vector<std::int64_t> bytes_of_links(const Grid& grid, const Options& options, const Surfaces& surfaces) {
  const bool cut = interpolates(surfaces), moments = options.representation == Representation::moments;
  Surfaces uncut = surfaces;
  uncut.cuts = {};
  std::vector<std::int64_t> bytes(grid.machine().devices(), 0);
  for (const Block& block : grid.blocks()) {
    const NearBodies beside = count_near_bodies(
        grid, block, options, surroundings_of(grid, block, options, ghost_layers(grid, options), uncut));
    bytes[block.device] += body_link_bytes(beside, options.representation, cut);
    if (moments)
      bytes[block.device] +=
          boundary_bytes(grid, block, options, beside.cells, cut) - boundary_bytes(grid, block, options, 0, cut);
  }
  return bytes;
}

}  // namespace

std::vector<ArrayBytes> memory_needed(const Grid& grid, const Options& options, const Surfaces& surfaces) {
  Keeping keeping(grid, options, surfaces);
  const FieldOptions field = population_field(grid, options, false);
  std::vector<std::int64_t> less(grid.machine().devices(), 0);
  for (const Block& block : grid.blocks()) {
    if (keeping.of(block.id) != Kept::packed) continue;
    const StoredCells& stored = keeping.stored(block.id);
    const std::int64_t packed =
        keeping.values(block.id) * field.components * field.copies * static_cast<std::int64_t>(size_of(field.type));
    const auto lists =
        static_cast<std::int64_t>(stored.words().size() * sizeof(CellWord)) + stored.list_bytes(options.lattice);
    less[block.device] += Field::bytes_needed(block.box.extents(), field) - packed - lists;
  }
  std::vector<ArrayBytes> arrays = memory_needed(grid, options);
  for (ArrayBytes& array : arrays)
    if (array.array.starts_with("populations")) array.bytes -= less[array.device];
  if (!surfaces.solid) return arrays;
  const std::vector<std::int64_t> links = bytes_of_links(grid, options, surfaces);
  for (int device = 0; device < grid.machine().devices(); ++device)
    arrays.push_back({device, "links of bodies", links[device]});
  return arrays;
}

namespace {

std::uint32_t number_in(const Extent& extent, std::int64_t x, std::int64_t y, std::int64_t z) {
  return static_cast<std::uint32_t>((z * extent[1] + y) * extent[0] + x);
}

void sort_by_number(std::vector<ListedCell>& cells) {
  const auto before = [](const auto& a, const auto& b) { return a.number < b.number; };
  // A list from a single box of cells is in order already, so it needs no sort.
  if (!std::is_sorted(cells.begin(), cells.end(), before)) std::sort(cells.begin(), cells.end(), before);
}

}  // namespace

std::vector<ListedCell> resting_walls_of(const Box& cells, const Links& links) {
  std::vector<ListedCell> walls;
  for (const LinkLists* lists : {&links.local, &links.exchanged})
    for (const Link& link : lists->resting)
      walls.push_back({number_in(cells.extents(), link.cell.x, link.cell.y, link.cell.z), 1u << link.in.i});
  sort_by_number(walls);
  return walls;
}

std::vector<ListedCell> fluid_cells_of(const Box& cells, const std::vector<Box>& boxes, const Surroundings& s,
                                       const std::vector<ListedCell>& walls) {
  std::vector<ListedCell> found;
  for (const Box& box : boxes)
    for_each_cell(box, [&](const Extent& local) {
      const Extent p{cells.lo[0] + local[0], cells.lo[1] + local[1], cells.lo[2] + local[2]};
      if (s.flags[index_in(s.around, p)] == fluid)
        found.push_back({number_in(cells.extents(), local[0], local[1], local[2])});
    });
  sort_by_number(found);
  auto wall = walls.begin();
  for (ListedCell& cell : found) {
    while (wall != walls.end() && wall->number < cell.number) ++wall;
    for (; wall != walls.end() && wall->number == cell.number; ++wall) cell.walls |= wall->walls;
  }
  return found;
}

std::vector<std::uint32_t> listed_words(const std::vector<ListedCell>& cells, Lattice lattice) {
  std::vector<std::uint32_t> words;
  with_lattice(lattice, [&]<class L>(L) {
    using Groups = CellGroups<L::q>;
    Grouping<Groups> grouping;
    for (const ListedCell& cell : cells) {
      const int left = grouping.left();
      if (grouping.begins(cell.number)) {
        words.resize(words.size() + left, Groups::none);
        words.push_back(cell.number);
      }
      words.push_back(Groups::word(cell.number - grouping.first(), cell.walls));
    }
    words.resize(words.size() + grouping.left(), Groups::none);
  });
  return words;
}

}  // namespace slipstream::lbm
