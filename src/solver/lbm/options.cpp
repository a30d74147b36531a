#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "solver/common/cell_rows.hpp"
#include "solver/lbm/by_moments/tiles.hpp"
#include "solver/lbm/keys.hpp"
#include "solver/lbm/lattice/fields.hpp"
#include "solver/lbm/lattice/lattice.hpp"
#include "solver/lbm/links/boundary_cells.hpp"
#include "solver/lbm/step/in_place_halo.hpp"
#include "solver/lbm/zigzag.hpp"

namespace slipstream::lbm {

std::string to_string(Lattice lattice) { return name_in(lattices, lattice); }
std::string to_string(Streaming streaming) { return name_in(streamings, streaming); }
std::string to_string(Solids solids) { return name_in(ways_of_solids, solids); }
std::string to_string(Collision collision) { return name_in(collisions, collision); }
std::string to_string(Representation representation) { return name_in(representations, representation); }
std::string to_string(Side side) { return name_in(sides, side); }

int population_count(Lattice lattice) {
  return with_lattice(lattice, []<class L>(L) { return L::q; });
}

DType arithmetic(DType precision) { return precision == DType::f64 ? DType::f64 : DType::f32; }

int state_count(const Options& o) {
  return o.representation == Representation::moments ? moment_count : population_count(o.lattice);
}

int bytes_per_cell(const Options& o) { return 2 * state_count(o) * static_cast<int>(size_of(o.precision)); }

namespace {

/// Least distance of a relaxation time from 1/2. Closer ones would change the viscosity by a part in 600, by rounding
/// of the rate (arithmetic in f32).
double least_distance(DType precision) { return arithmetic(precision) == DType::f32 ? 1e-5 : 1e-12; }

/// Refuses a relaxation time whose rate the number format cannot hold accurately; `distance`: relaxation time less 1/2.
void check_distance(const Options& o, double distance, double most, const char* option, const std::string& what,
                    const std::string& remedy) {
  const double least = least_distance(o.precision);
  if (distance >= least && distance <= most) return;
  std::ostringstream text;
  text << what << " is 1/2 + " << distance << "; in " << to_string(o.precision) << " it must lie between 1/2 + "
       << least << " and 1/2 + " << most << ": " << remedy;
  throw Error(ErrorCode::invalid_argument, text.str(),
              {{"option", option}, {"relaxation_time", 0.5 + distance}, {"least", 0.5 + least}, {"most", 0.5 + most}});
}

void check_rates(const Options& o) {
  require(o.viscosity > 0 && std::isfinite(o.viscosity), "the viscosity must be positive",
          {{"option", "viscosity"}, {"given", o.viscosity}});
  const bool single = arithmetic(o.precision) == DType::f32;
  check_distance(o, 3 * o.viscosity, 100, "viscosity", "the relaxation time of the stress, 3 viscosity + 1/2,",
                 std::string("take a viscosity from ") + (single ? "3.4e-6 (or f64)" : "3.4e-13") + " to 33");
  if (o.collision != Collision::trt && o.collision != Collision::mrt) return;
  require(o.magic > 0 && std::isfinite(o.magic), "the magic number of TRT and MRT must be positive",
          {{"option", "magic"}, {"given", o.magic}});
  check_distance(o, o.magic / (3 * o.viscosity), 1 / least_distance(o.precision), "magic",
                 "the relaxation time of the odd moments, magic / (3 viscosity) + 1/2,",
                 "take a magic number nearer to 3/16 or another viscosity");
}

/// Checks options that the moment representation excludes, and those that it requires.
void check_representation(const Options& o) {
  const bool regular = o.collision == Collision::regularised || o.collision == Collision::recursive;
  const std::string collision = "the collision " + to_string(o.collision);
  if (o.representation == Representation::populations)
    return require(!regular, ErrorCode::unsupported,
                   collision + " runs by moments alone: take the representation moments, or SRT, TRT or MRT",
                   {{"option", "representation"}, {"given", "populations"}, {"collision", to_string(o.collision)}});
  require(regular, ErrorCode::unsupported,
          collision +
              " needs more than the ten moments that a cell holds: take regularised or recursive, or "
              "the representation populations",
          {{"option", "representation"}, {"given", "moments"}, {"collision", to_string(o.collision)}});
  const std::string reason = o.lattice == Lattice::d2q9 ? "six numbers would stand for nine, where D3Q19 moves half"
                                                        : "ten moments say no more on it than on D3Q19";
  require(o.lattice == Lattice::d3q19, ErrorCode::unsupported,
          "the representation moments runs on D3Q19, not on " + to_string(o.lattice) + " (" + reason +
              "): take that lattice, or the representation populations",
          {{"option", "representation"}, {"given", "moments"}, {"lattice", to_string(o.lattice)}});
  require(o.streaming == Streaming::two, ErrorCode::unsupported,
          "moments are read and written in two arrays: take the streaming pattern two, or populations in place",
          {{"option", "streaming"}, {"given", "in_place"}});
  require(o.precision != DType::f16 || o.alignment % 4 == 0, ErrorCode::unsupported,
          "moments of 16 bits are loaded by pairs: take an alignment of 4 bytes or a multiple, not of " +
              std::to_string(o.alignment),
          {{"option", "alignment"}, {"given", o.alignment}});
  require(!o.layout || *o.layout == Layout::soa, ErrorCode::unsupported,
          "moments lie by rows along x: take the layout soa, or leave it out", {{"option", "layout"}});
  require(o.solids != Solids::sparse, ErrorCode::unsupported,
          "by moments all cells are stored: take the solids dense, flags or auto, or the representation populations",
          {{"option", "solids"}});
}

void check_teams(const Options& o) {
  const std::array<int, 2> none{0, 0};
  if (o.tile == none && o.chunk == 0) return;
  require(o.representation == Representation::moments, ErrorCode::unsupported,
          "tile and chunk share out a step by moments: take that representation, or leave them out",
          {{"option", "tile, chunk"}});
  const auto [wide, high] = tiles_of(size_of(o.precision));
  const auto text = [](const std::array<int, 2>& t) { return std::to_string(t[0]) + " x " + std::to_string(t[1]); };
  const std::string tile = "a tile of " + text(o.tile) + " cells";
  require(
      o.tile == none || o.tile == wide || o.tile == high,
      "there is no " + tile.substr(2) + " in " + to_string(o.precision) + ": take " + text(wide) + " or " + text(high),
      {{"option", "tile"},
       {"given", text(o.tile)},
       {"precision", to_string(o.precision)},
       {"choices", text(wide) + ", " + text(high)}});
  require(o.tile[0] <= o.cells[0] && o.tile[1] <= o.cells[1], ErrorCode::unsupported,
          tile + " does not fit a grid of " + slipstream::to_string(o.cells) + ": leave the tile out",
          {{"option", "tile"}, {"given", text(o.tile)}, {"cells", slipstream::to_string(o.cells)}});
  require(o.chunk >= 0 && o.chunk <= o.cells[2],
          "a team goes through 1 to " + std::to_string(o.cells[2]) + " planes of this grid; the chunk is " +
              std::to_string(o.chunk),
          {{"option", "chunk"}, {"given", o.chunk}, {"limit", o.cells[2]}});
}

void check_model(const Options& o) {
  check_representation(o);
  check_teams(o);
  require(o.collision != Collision::cumulant || o.lattice == Lattice::d3q27, ErrorCode::unsupported,
          "the cumulant collision runs on D3Q27, not on " + to_string(o.lattice) +
              ": take that lattice, or SRT, TRT or MRT, which run on every lattice",
          {{"option", "collision"}, {"given", to_string(o.collision)}, {"lattice", to_string(o.lattice)}});
  check_rates(o);
  if (o.smagorinsky)
    require(*o.smagorinsky >= 0 && *o.smagorinsky <= 1,
            "Smagorinsky's constant must lie between 0 and 1, and is mostly 0.1 to 0.2; it is " +
                std::to_string(*o.smagorinsky),
            {{"option", "smagorinsky"}, {"given", *o.smagorinsky}});
  for (const double part : o.force) require(std::isfinite(part), "the force must be finite", {{"option", "force"}});
  require(o.lattice != Lattice::d2q9 || o.force[2] == 0, ErrorCode::unsupported,
          "on D2Q9 the force has no part along z", {{"option", "force"}, {"axis", "z"}});
}

void check_profile(const Options& o, Side side, const Boundary& boundary) {
  const int axis = static_cast<int>(side) / 2;
  std::int64_t points = 1;
  for (int a = 0; a < 3; ++a)
    if (a != axis) points *= 2 * o.cells[a] + 1;
  require(boundary.profile.empty() || static_cast<std::int64_t>(boundary.profile.size()) == points, ErrorCode::mismatch,
          "the profile of side " + to_string(side) + " has " + std::to_string(boundary.profile.size()) +
              " velocities and needs " + std::to_string(points) + ": one at every half cell, edges among them",
          {{"side", to_string(side)}, {"option", "profile"}, {"given", boundary.profile.size()}, {"needed", points}});
  const auto check_velocity = [&](const std::array<double, 3>& u) {
    for (const double part : u)
      require(std::isfinite(part), "the velocity at side " + to_string(side) + " must be finite",
              {{"side", to_string(side)}, {"option", "velocity"}});
    require(o.lattice != Lattice::d2q9 || u[2] == 0, ErrorCode::unsupported,
            "on D2Q9 the velocity at side " + to_string(side) + " has no part along z",
            {{"side", to_string(side)}, {"option", "velocity"}, {"axis", "z"}});
  };
  check_velocity(boundary.velocity);
  for (const auto& u : boundary.profile) check_velocity(u);
}

void check_boundary(const Options& o, Side side, const Boundary& boundary) {
  const int axis = static_cast<int>(side) / 2;
  require(!o.periodic[axis], ErrorCode::unsupported,
          "side " + to_string(side) + " has a boundary, and its axis is periodic: drop one of them",
          {{"side", to_string(side)}, {"option", "periodic"}});
  require(!o.walls.contains(side), ErrorCode::unsupported,
          "side " + to_string(side) + " is a wall and has a boundary: drop one of them",
          {{"side", to_string(side)}, {"option", "walls"}});
  require(o.lattice != Lattice::d2q9 || axis != 2, ErrorCode::unsupported,
          "on D2Q9 there are no sides along z: drop that of " + to_string(side),
          {{"side", to_string(side)}, {"option", "boundaries"}});
  require(std::isfinite(boundary.density) && boundary.density > 0,
          "the density at side " + to_string(side) + " must be positive, and is 1 in a fluid at rest; it is " +
              std::to_string(boundary.density),
          {{"side", to_string(side)}, {"option", "density"}, {"given", boundary.density}});
  require(boundary.kind != BoundaryKind::convective || (boundary.speed > 0 && boundary.speed <= 1),
          "the speed at which side " + to_string(side) +
              " lets the flow out must lie above 0 and be at most 1 cell a step; it is " +
              std::to_string(boundary.speed) + ": take the mean velocity there",
          {{"side", to_string(side)}, {"option", "speed"}, {"given", boundary.speed}});
  require(boundary.kind != BoundaryKind::convective || (boundary.relaxation >= 0 && boundary.relaxation <= 2),
          "the relaxation of the pressure at side " + to_string(side) + " must lie between 0 (none) and 2; it is " +
              std::to_string(boundary.relaxation) + ": take 0.25",
          {{"side", to_string(side)}, {"option", "relaxation"}, {"given", boundary.relaxation}});
  check_profile(o, side, boundary);
}

void check_drop(const Options& o) {
  for (int a = 0; a < 3; ++a) {
    const double drop = o.density_drop[a];
    if (drop == 0) continue;
    const std::string axis(1, "xyz"[a]);
    require(o.periodic[a], ErrorCode::unsupported,
            "a drop of the density along " + axis + " needs that axis to be periodic",
            {{"option", "density_drop"}, {"axis", axis}, {"problem", "periodic"}});
    require(o.cells[a] >= 2, "a drop of the density along " + axis + " needs two cells there",
            {{"option", "density_drop"}, {"axis", axis}, {"problem", "cells"}});
    require(std::abs(drop) <= 0.5,
            "the density may fall by at most 0.5 along " + axis + ", and " + std::to_string(drop) +
                " is more: take a smaller Mach number",
            {{"option", "density_drop"}, {"axis", axis}, {"given", drop}, {"limit", 0.5}});
    for (const auto& [side, boundary] : o.boundaries)
      require(boundary.kind == BoundaryKind::slip, ErrorCode::unsupported,
              "a drop of the density along " + axis + " and the boundary on side " + to_string(side) +
                  " both say what drives the flow: drop one of them",
              {{"option", "density_drop"}, {"axis", axis}, {"side", to_string(side)}});
  }
}

}  // namespace

void check(const Options& o) {
  require(o.lattice != Lattice::d2q9 || o.layout != Layout::soa_z, ErrorCode::unsupported,
          "on D2Q9 rows along z are one cell long: take the layout soa or aos",
          {{"option", "layout"}, {"lattice", to_string(o.lattice)}});
  require(o.precision == DType::f16 || o.precision == DType::f32 || o.precision == DType::f64,
          "populations are f16, f32 or f64, not " + to_string(o.precision),
          {{"option", "precision"}, {"given", to_string(o.precision)}});
  for (int a = 0; a < 3; ++a)
    require(o.cells[a] >= 1, "the grid needs at least one cell on every axis",
            {{"option", "cells"}, {"axis", std::string(1, "xyz"[a])}});
  require((o.lattice == Lattice::d2q9) == (o.cells[2] == 1), ErrorCode::unsupported,
          "D2Q9 runs on grids of one layer in z, D3Q19 and D3Q27 on deeper ones; the lattice is " +
              to_string(o.lattice) + " and the grid has " + std::to_string(o.cells[2]),
          {{"option", "lattice"}, {"given", to_string(o.lattice)}, {"cells", o.cells[2]}});
  check_model(o);
  for (const auto& [side, velocity] : o.walls)
    require(!o.periodic[static_cast<int>(side) / 2], ErrorCode::unsupported,
            "a wall was given on a side of a periodic axis", {{"option", "walls"}, {"side", to_string(side)}});
  for (const auto& [side, boundary] : o.boundaries) check_boundary(o, side, boundary);
  require(std::count_if(o.boundaries.begin(), o.boundaries.end(),
                        [](const auto& b) { return b.second.kind == BoundaryKind::convective; }) <= 1,
          ErrorCode::unsupported, "more than one side is convective, and one may be: make the others pressure sides",
          {{"option", "boundaries"}, {"given", "convective"}});
  check_drop(o);
  require(o.rim_processors >= 0,
          "the multiprocessors for the boundary region must be 0, for all, or above; they are " +
              std::to_string(o.rim_processors),
          {{"option", "rim_processors"}, {"given", o.rim_processors}});
}

Model model_of(const Options& o) {
  const double plus = 3 * o.viscosity;  // relaxation time from the viscosity: 3 nu = tau+ - 1/2
  const bool two_rates =
      o.collision == Collision::trt || o.collision == Collision::mrt || o.collision == Collision::cumulant;
  const double minus = two_rates ? o.magic / plus : plus;
  return {o.collision, o.viscosity, 1 / (plus + 0.5), 1 / (minus + 0.5), o.smagorinsky, o.force};
}

GridOptions grid_options(const Options& o) {
  GridOptions grid = o.grid;
  grid.periodic = o.periodic;
  grid.dimensions = o.lattice == Lattice::d2q9 ? 2 : 3;
  return grid;
}

Layout layout_of(const Grid& grid, const Options& o) {
  if (o.representation == Representation::moments) return Layout::soa;
  return o.layout ? *o.layout : suited_layout(grid);
}

bool on_gpus(const Grid& grid) { return grid.machine().device(0).local.backend == Backend::cuda; }

/// Alignment of rows in bytes. On an H200 rows with ghosts aligned to 256 bytes are 3 to 5 % faster than with 128. A
/// host also fetches the gaps between rows, and loses an eighth or more with 128 instead of a line of 64.
int alignment_of(const Options& o, bool gpu) { return o.alignment > 0 ? o.alignment : gpu ? 256 : 64; }

std::array<bool, 3> wrapped_axes(const Grid& grid, const Options& o) {
  const Layout layout = layout_of(grid, o);
  std::array<bool, 3> wrapped{};
  for (int a = 0; a < grid.dimensions(); ++a) {
    wrapped[a] = grid.periodic()[a] && o.density_drop[a] == 0 && !grid.cuts_blocks(a) &&
                 (a != row_axis(layout) || (on_gpus(grid) && layout != Layout::aos));
  }
  return wrapped;
}

Extent ghost_layers(const Grid& grid, const Options& o) {
  const auto wrapped = wrapped_axes(grid, o);
  Extent ghost{1, 1, o.lattice == Lattice::d2q9 ? 0 : 1};
  for (int a = 0; a < 3; ++a)
    if (wrapped[a]) ghost[a] = 0;
  return ghost;
}

FieldOptions population_field(const Grid& grid, const Options& o, bool shared) {
  FieldOptions field;
  field.name = to_string(o.representation);
  field.type = o.precision;
  field.components = state_count(o);
  field.ghost = ghost_layers(grid, o);
  field.layout = layout_of(grid, o);
  field.alignment = alignment_of(o, on_gpus(grid));
  field.copies = o.streaming == Streaming::two ? 2 : 1;
  field.shared = shared;
  return field;
}

FieldOptions whole_field(const Grid& grid, const Options& o) {
  FieldOptions field = population_field(grid, o, false);
  field.copies = 1;
  field.later = true;
  return field;
}

FieldOptions flag_field(const Grid& grid, const Options& o) {
  FieldOptions field;
  field.name = "flags";
  field.type = DType::u8;
  field.ghost = ghost_layers(grid, o);
  field.layout = layout_of(grid, o) == Layout::soa_z ? Layout::soa_z : Layout::soa;
  field.alignment = 4;
  return field;
}

FieldOptions outlet_field(const Options& o) {
  FieldOptions field;
  field.name = "outlet";
  field.type = arithmetic(o.precision);
  field.components = population_count(o.lattice);
  field.alignment = 1;
  field.copies = 2;
  return field;
}

Box near_outlet(const Grid& grid, const Options& o, Box box) {
  const int side = convective_side(o), axis = side / 2;
  if (side < 0) return {};
  (side % 2 == 0 ? box.hi : box.lo)[axis] = side % 2 == 0 ? 1 : grid.extent()[axis] - 1;
  return box;
}

FieldOptions velocity_field(const Options& o) {
  FieldOptions field;
  field.name = "velocity";
  field.type = arithmetic(o.precision);
  field.components = 3;
  field.alignment = alignment_of(o, false);
  return field;
}

FieldOptions density_field(const Options& o) {
  FieldOptions field = velocity_field(o);
  field.name = "density";
  field.components = 1;
  for (int a = 0; a < (o.lattice == Lattice::d2q9 ? 2 : 3); ++a)
    if (o.cells[a] >= zigzag_reach) field.ghost[a] = zigzag_reach;
  return field;
}

namespace {

template <class L>
std::vector<int> crossing(const Direction& d) {
  std::vector<int> found;
  for (int i = 1; i < L::q; ++i) {
    bool enters = true;
    for (int a = 0; a < 3; ++a)
      if (d[a] != 0 && L::velocity[i][a] != -d[a]) enters = false;
    if (enters) found.push_back(i);
  }
  return found;
}

/// Indices of moments that cross a face or edge: all ten; none crosses a corner, because no population does.
std::vector<int> moments_crossing(const Direction& d) {
  std::vector<int> all(d[0] != 0 && d[1] != 0 && d[2] != 0 ? 0 : moment_count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

Halo population_halo(const Grid& grid, const Options& o) {
  Halo::Options options;
  options.low = options.high = ghost_layers(grid, o);
  options.components = [lattice = o.lattice,
                        moments = o.representation == Representation::moments](const Direction& d) {
    if (moments) return moments_crossing(d);
    return with_lattice(lattice, [&]<class L>(L) { return crossing<L>(d); });
  };
  return Halo(options);
}

std::vector<std::unique_ptr<Pattern>> population_patterns(const Grid& grid, const Options& o) {
  std::vector<std::unique_ptr<Pattern>> patterns;
  if (o.streaming == Streaming::two) {
    patterns.push_back(std::make_unique<Halo>(population_halo(grid, o)));
  } else {
    for (const Form form : {Form::shared, Form::turned})
      patterns.push_back(std::make_unique<InPlaceHalo>(grid, o, form));
  }
  return patterns;
}

std::int64_t spare_bytes(const Extent& extent, DType precision) {
  return volume(extent) * static_cast<std::int64_t>(size_of(precision));
}

std::vector<MessageInfo> messages_needed(const Grid& grid, const Options& options) {
  // Only messages of the first halo pattern are listed: the second one of in-place streaming has equal sizes.
  const auto patterns = population_patterns(grid, options);
  return plan_messages(grid,
                       {{patterns.front().get(), population_field(grid, options, true), {}, false, options.coding}},
                       options.exchange);
}

namespace {

/// Bytes of the links at a block's sides without bodies; links at edges are counted for both sides.
std::int64_t side_bytes(const Grid& grid, const Block& block, const Options& o) {
  const auto crossing_side = static_cast<std::int64_t>(with_lattice(o.lattice, []<class L>(L) {
    return crossing<L>({-1, 0, 0}).size();
  }));
  std::int64_t bytes = 0;
  for (int side = 0; side < 2 * grid.dimensions(); ++side) {
    const int a = side / 2;
    if (!lies_along(grid, block.box, side)) continue;
    const std::int64_t cells = block.box.volume() / block.box.extent(a), links = cells * crossing_side;
    const auto found = o.boundaries.find(static_cast<Side>(side));
    if (grid.periodic()[a]) {
      if (o.density_drop[a] != 0) bytes += links * static_cast<std::int64_t>(sizeof(Link));
    } else if (found == o.boundaries.end()) {
      bytes += links * static_cast<std::int64_t>(sizeof(Link) + sizeof(LoadLink));
    } else if (found->second.kind == BoundaryKind::velocity) {
      bytes += links * static_cast<std::int64_t>(sizeof(Link));
    } else if (found->second.kind == BoundaryKind::convective) {
      bytes += links * static_cast<std::int64_t>(sizeof(ConvectiveLink)) +
               (found->second.relaxation > 0 ? cells * static_cast<std::int64_t>(sizeof(HeldCell)) : 0) +
               Field::bytes_needed(near_outlet(grid, o, block.box).extents(), outlet_field(o));
    } else {
      bytes += links * static_cast<std::int64_t>(sizeof(CopiedLink));
      if (found->second.kind == BoundaryKind::pressure)
        bytes += cells * static_cast<std::int64_t>(sizeof(PressureCell));
    }
  }
  return bytes;
}

}  // namespace

std::vector<ArrayBytes> memory_needed(const Grid& grid, const Options& options) {
  struct Bytes {
    std::int64_t populations = 0, spare = 0, flags = 0, macroscopic = 0, partial = 0, slots = 0, links = 0;
  };
  std::vector<Bytes> bytes(grid.machine().devices());
  const FieldOptions populations = population_field(grid, options, false), flags = flag_field(grid, options),
                     velocity = velocity_field(options), density = density_field(options);
  for (const Block& block : grid.blocks()) {
    Bytes& b = bytes[block.device];
    const Extent extent = block.box.extents();
    b.populations += Field::bytes_needed(extent, populations);
    if (options.streaming == Streaming::in_place) b.spare = std::max(b.spare, spare_bytes(extent, options.precision));
    b.flags += Field::bytes_needed(extent, flags);
    b.macroscopic += Field::bytes_needed(extent, velocity) + Field::bytes_needed(extent, density);
    b.partial +=
        2 * CellRows(block.box, row_axis(populations.layout)).count() * static_cast<std::int64_t>(sizeof(double));
    b.links += side_bytes(grid, block, options);
    if (options.representation == Representation::moments) b.links += boundary_bytes(grid, block, options, 0, false);
  }
  for (const auto& m : messages_needed(grid, options)) {
    if (traits_of(m.route).stores) continue;
    const int exchanges = options.streaming == Streaming::two ? 1 : 2;
    bytes[m.target].slots += exchanges * 2 * m.bytes;
    bytes[m.source].slots += exchanges * m.bytes;
  }
  std::vector<ArrayBytes> arrays;
  for (int device = 0; device < grid.machine().devices(); ++device) {
    const Bytes& b = bytes[device];
    if (options.streaming == Streaming::two) {
      arrays.push_back({device, to_string(options.representation) + ", two arrays", b.populations});
    } else {
      arrays.push_back({device, "populations, one array", b.populations});
      arrays.push_back({device, "one population, for checkpoints", b.spare});
    }
    arrays.push_back({device, "flags", b.flags});
    arrays.push_back({device, "velocity and density", b.macroscopic});
    arrays.push_back({device, "partial sums", b.partial});
    arrays.push_back({device, "links of sides", b.links});
    arrays.push_back({device, "message slots", b.slots});
  }
  return arrays;
}

}  // namespace slipstream::lbm
