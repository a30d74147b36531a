#include <cmath>

#include "solver/lbm/fields.hpp"
#include "solver/lbm/lattice.hpp"

namespace slipstream::lbm {

std::string to_string(Lattice lattice) { return lattice == Lattice::d2q9 ? "D2Q9" : "D3Q19"; }
std::string to_string(Collision collision) { return collision == Collision::srt ? "SRT" : "TRT"; }
int population_count(Lattice lattice) { return lattice == Lattice::d2q9 ? D2Q9::q : D3Q19::q; }

int bytes_per_cell(Lattice lattice, DType precision) {
  return 2 * population_count(lattice) * static_cast<int>(size_of(precision));
}

void check(const Options& o) {
  require(o.precision == DType::f32 || o.precision == DType::f64, "populations are f32 or f64");
  for (int a = 0; a < 3; ++a) require(o.cells[a] >= 1, "the grid needs at least one cell on every axis");
  require((o.lattice == Lattice::d2q9) == (o.cells[2] == 1),
          "D2Q9 runs on grids of one layer in z and D3Q19 on deeper ones; the grid has " + std::to_string(o.cells[2]));
  require(o.viscosity > 0 && std::isfinite(o.viscosity), "the viscosity must be positive");
  require(o.magic > 0 && std::isfinite(o.magic), "the magic number of TRT must be positive");
  for (const auto& [side, velocity] : o.walls)
    require(!o.periodic[static_cast<int>(side) / 2], "a wall was given on a side of a periodic axis");
}

Rates rates(const Options& o) {
  const double plus = 3 * o.viscosity;  // tau+ - 1/2
  const double minus = o.collision == Collision::srt ? plus : o.magic / plus;
  return {1 / (plus + 0.5), 1 / (minus + 0.5)};
}

std::array<bool, 3> wrapped_axes(const Grid& grid, const Options& o) {
  const bool gpu = grid.machine().device(0).local.backend == Backend::cuda;
  std::array<bool, 3> wrapped{};
  for (int a = 0; a < grid.dimensions(); ++a) {
    wrapped[a] = grid.periodic()[a] && (a > 0 || (gpu && o.layout == Layout::soa));
    for (const Block& block : grid.blocks()) wrapped[a] &= block.box.extent(a) == grid.extent()[a];
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
  field.name = "populations";
  field.type = o.precision;
  field.components = population_count(o.lattice);
  field.ghost = ghost_layers(grid, o);
  field.layout = o.layout;
  field.alignment = o.alignment;
  field.copies = 2;
  field.shared = shared;
  return field;
}

FieldOptions flag_field(const Grid& grid, const Options& o) {
  FieldOptions field;
  field.name = "flags";
  field.type = DType::u8;
  field.ghost = ghost_layers(grid, o);
  field.alignment = 1;
  return field;
}

FieldOptions velocity_field(const Options& o) {
  FieldOptions field;
  field.name = "velocity";
  field.type = o.precision;
  field.components = 3;
  field.alignment = o.alignment;
  return field;
}

FieldOptions density_field(const Options& o) {
  FieldOptions field = velocity_field(o);
  field.name = "density";
  field.components = 1;
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

}  // namespace

Halo population_halo(const Grid& grid, const Options& o) {
  Halo::Options options;
  options.low = options.high = ghost_layers(grid, o);
  options.reach = Reach::faces_and_edges;  // no population of either lattice moves across a corner of a cube
  options.components = o.lattice == Lattice::d2q9 ? crossing<D2Q9> : crossing<D3Q19>;
  return Halo(options);
}

std::vector<MessageInfo> messages_needed(const Grid& grid, const Options& options) {
  const Halo halo = population_halo(grid, options);
  return plan_messages(grid, {{&halo, population_field(grid, options, true)}}, options.exchange);
}

std::vector<ArrayBytes> memory_needed(const Grid& grid, const Options& options) {
  struct Bytes {
    std::int64_t populations = 0, flags = 0, macroscopic = 0, partial = 0, slots = 0;
  };
  std::vector<Bytes> bytes(grid.machine().devices());
  for (const Block& block : grid.blocks()) {
    Bytes& b = bytes[block.device];
    const Extent extent = block.box.extents();
    b.populations += Field::bytes_needed(extent, population_field(grid, options, false));
    b.flags += Field::bytes_needed(extent, flag_field(grid, options));
    b.macroscopic +=
        Field::bytes_needed(extent, velocity_field(options)) + Field::bytes_needed(extent, density_field(options));
    b.partial += rows(block.box) * static_cast<std::int64_t>(sizeof(double));
  }
  for (const auto& m : messages_needed(grid, options)) {
    if (m.route == RouteKind::kernel || m.route == RouteKind::direct) continue;
    bytes[m.target].slots += 2 * m.bytes;
    bytes[m.source].slots += m.bytes;
  }
  std::vector<ArrayBytes> arrays;
  for (int device = 0; device < grid.machine().devices(); ++device) {
    const Bytes& b = bytes[device];
    arrays.push_back({device, "populations, two arrays", b.populations});
    arrays.push_back({device, "flags", b.flags});
    arrays.push_back({device, "velocity and density", b.macroscopic});
    arrays.push_back({device, "partial sums", b.partial});
    arrays.push_back({device, "message slots", b.slots});
  }
  return arrays;
}

}  // namespace slipstream::lbm
