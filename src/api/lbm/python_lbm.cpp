#include <algorithm>

#include <slipstream/vtkhdf.hpp>

#include <nanobind/stl/pair.h>

#include "api/lbm/python_lbm.hpp"
#include "api/solver/case_table.hpp"
#include "api/solver/python_solver.hpp"
#include "solver/lbm/keys.hpp"
#include "solver/lbm/step/stored_cells.hpp"

extern "C" const char* slipstream_lbm_build();

namespace slipstream::python {
namespace {

using lbm::Lbm;

lbm::Side side_from(const std::string& name) {
  return value_in(lbm::sides, name, "no side of the domain is named", "side");
}

lbm::Boundary boundary_from(const nb::dict& dict) {
  lbm::Boundary boundary;
  Reader reader(dict, "a side of the domain");
  std::string kind = "slip";
  nb::ndarray<const double, nb::c_contig, nb::device::cpu> profile;
  reader.read("kind", kind);
  reader.read("velocity", boundary.velocity);
  reader.read("profile", profile);
  reader.read("density", boundary.density);
  reader.read("speed", boundary.speed);
  reader.read("relaxation", boundary.relaxation);
  reader.finish();
  boundary.kind = one_of<lbm::BoundaryKind>(kind,
                                            {{"velocity", lbm::BoundaryKind::velocity},
                                             {"pressure", lbm::BoundaryKind::pressure},
                                             {"convective", lbm::BoundaryKind::convective},
                                             {"slip", lbm::BoundaryKind::slip}},
                                            "boundary");
  for (std::size_t n = 0; n + 2 < profile.size(); n += 3)
    boundary.profile.push_back({profile.data()[n], profile.data()[n + 1], profile.data()[n + 2]});
  return boundary;
}

lbm::Options options_from(const nb::dict& dict) {
  lbm::Options o;
  Reader reader(dict, "the solver");
  std::string lattice = "D3Q19", representation = "populations", collision = "TRT", precision = "f32",
              streaming = "two", solids = "auto", layout = "auto";
  std::map<std::string, std::array<double, 3>> walls;
  std::map<std::string, nb::dict> boundaries;
  reader.read("cells", o.cells);
  reader.read("periodic", o.periodic);
  reader.read("density_drop", o.density_drop);
  reader.read("lattice", lattice);
  reader.read("representation", representation);
  reader.read("collision", collision);
  reader.read("magic", o.magic);
  reader.read("viscosity", o.viscosity);
  reader.read("smagorinsky", o.smagorinsky);
  reader.read("force", o.force);
  reader.read("precision", precision);
  reader.read("streaming", streaming);
  reader.read("solids", solids);
  reader.read("flags_by_word", o.flags_by_word);
  reader.read("walls_in_step", o.walls_in_step);
  reader.read("layout", layout);
  reader.read("alignment", o.alignment);
  reader.read("tile", o.tile);
  reader.read("tile_planes", o.chunk);  // most planes of cells that one thread block computes
  reader.read("walls", walls);
  reader.read("boundaries", boundaries);
  read_cut_and_exchange(reader, o);
  reader.read("rim", o.rim);
  reader.read("rim_processors", o.rim_processors);
  reader.read("tune_rim", o.tune_rim);
  std::vector<std::array<std::int64_t, 7>> boxes;  // a box in numbers: low x, y, z, then high x, y, z, then its device
  reader.read("boxes", boxes);
  reader.finish();
  o.lattice = one_of(lattice, lbm::lattices, "lattice");
  o.collision = one_of(collision, lbm::collisions, "collision");
  o.representation = one_of(representation, lbm::representations, "representation");
  o.precision = dtype_from_string(precision);
  o.streaming = one_of(streaming, lbm::streamings, "streaming pattern");
  o.solids = one_of(solids, lbm::ways_of_solids, "way to keep solid cells");
  if (layout != "auto") o.layout = layout_from_string(layout);
  for (const auto& [name, velocity] : walls) o.walls[side_from(name)] = velocity;
  for (const auto& [name, boundary] : boundaries) o.boundaries[side_from(name)] = boundary_from(boundary);
  for (const auto& b : boxes) {
    Block block;
    block.box = {{b[0], b[1], b[2]}, {b[3], b[4], b[5]}};
    block.device = static_cast<int>(b[6]);
    o.grid.boxes.push_back(block);
  }
  return o;
}

nb::dict plan(const Machine& machine, const nb::dict& dict, const Bodies* bodies,
              const std::vector<std::string>& links) {
  const DecimalPoint point;
  const lbm::Options o = options_from(dict);
  lbm::check(o);
  const Grid grid(o.cells, machine, 0, lbm::grid_options(o));
  const auto needed = bodies ? lbm::memory_needed(grid, o, surfaces_of(*bodies, links)) : lbm::memory_needed(grid, o);
  return plan_dict(grid, needed, lbm::messages_needed(grid, o), lbm::layout_of(grid, o), lbm::bytes_per_cell(o));
}

nb::tuple largest_grid(const Machine& machine, const nb::dict& dict) {
  return largest_of(machine, options_from(dict), &lbm::Options::cells, [&](const lbm::Options& o) {
    return lbm::memory_needed(Grid(o.cells, machine, 0, lbm::grid_options(o)), o);
  });
}

nb::list local_arrays(nb::object self, const std::string& name) {
  const Field& field = nb::cast<Lbm&>(self).field(name);
  require(!field.options().later, ErrorCode::unsupported,
          "where only fluid cells are stored, the field " + name +
              " has no array that outlives the next step: gather it, or take solids = 'flags'",
          {{"field", name}});
  return block_arrays(field, self);
}

nb::dict split_dict(const lbm::Split& split) {
  nb::dict d = source_of(split);
  d["overlap"] = split.overlap;
  d["rim"] = triple(split.rim);
  d["rim_processors"] = split.rim_processors;
  return d;
}

nb::dict teams_dict(const lbm::Teams& teams) {
  nb::dict d = source_of(teams);
  d["tile"] = nb::make_tuple(teams.tile[0], teams.tile[1]);
  d["chunk"] = teams.chunk;
  return d;
}

nb::dict solid_blocks_dict(const lbm::SolidBlocks& blocks) {
  nb::dict d, ways;
  d["source"] = blocks.source;
  ways["dense"] = blocks.dense;
  ways["flags"] = blocks.flags;
  ways["sparse"] = blocks.sparse;
  d["blocks"] = ways;
  d["seconds"] = blocks.seconds;
  d["notes"] = nb::cast(blocks.notes);
  return d;
}

void set_solid(Lbm& self, const nb::ndarray<const bool, nb::c_contig, nb::device::cpu>& mask) {
  const Extent& cells = self.grid().extent();
  require(
      mask.ndim() == 3 && static_cast<std::int64_t>(mask.shape(0)) == cells[2] &&
          static_cast<std::int64_t>(mask.shape(1)) == cells[1] && static_cast<std::int64_t>(mask.shape(2)) == cells[0],
      ErrorCode::mismatch, "the mask of solid cells must have the shape [z][y][x] of the grid", {{"option", "solid"}});
  self.set_solid(std::vector<std::uint8_t>(mask.data(), mask.data() + mask.size()));
}

/// Sets the flow. `flow`: called with a box's corners, returns density less 1 and velocity as [z][y][x][4].
void start_from(Lbm& self, const nb::object& flow) {
  self.start_from([&](const Box& box) {
    using Values = nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
    const auto values = nb::cast<Values>(flow(triple(box.lo), triple(box.hi)));
    require(values.shape(3) == 4 && static_cast<std::int64_t>(values.size()) == 4 * box.volume(), ErrorCode::mismatch,
            "a flow to start from must have the shape [z][y][x][4] of the box that was asked for",
            {{"option", "flow"}});
    std::vector<std::array<double, 4>> all(static_cast<std::size_t>(box.volume()));
    std::copy_n(values.data(), values.size(), all.front().data());
    return all;
  });
}

nb::tuple energy(Lbm& self) {
  lbm::Energy sums;
  {
    Released release;
    sums = self.energy();
  }
  return nb::make_tuple(sums.kinetic, sums.dissipation);
}

nb::dict zigzag(Lbm& self) {
  lbm::Zigzag found;
  {
    Released release;
    found = self.zigzag();
  }
  nb::dict d;
  d["amplitude"] = found.amplitude;
  d["cells"] = found.cells;
  d["mean_speed"] = found.mean_speed;
  return d;
}

/// Writes velocity, density, pressure and flags to a VTKHDF file, with the array that hides solid cells from VTK.
class Series {
 public:
  Series(Lbm& lbm, const std::string& path, const std::array<double, 3>& spacing, const std::array<double, 3>& origin,
         bool overwrite, std::optional<double> up_to)
      : lbm_(lbm), series_(lbm.communicator(), lbm.grid(), path, options(spacing, origin, overwrite, up_to)) {}

  using Unit = std::pair<double, std::string>;  ///< factor from lattice units to the file's unit, and that unit's name

  /// Writes the fields at a time. Solid cells are the same at all times, so they are written with the first.
  void write(double time, const Unit& velocity, const Unit& density, const Unit& pressure) {
    const Field& flags = lbm_.field("flags");
    const Field& densities = lbm_.field("density");
    std::vector<VtkhdfSeries::Item> items{{"velocity", &lbm_.field("velocity"), velocity.first, velocity.second},
                                          {"density", &densities, density.first, density.second}};
    const auto above_rest = densities.options().type == DType::f64 ? to_pressure<double> : to_pressure<float>;
    items.push_back({"pressure", &densities, pressure.first, pressure.second,
                     [&flags, above_rest](const Box& box, void* values) { above_rest(flags, box, values); }});
    if (series_.steps() == 0) {
      items.push_back({"flags", &flags});
      const auto& cells = lbm_.grid().extent();
      if (lbm_.fluid_cells() < volume(cells)) items.push_back({"vtkGhostType", &flags, 1, "", hide_solid});
    }
    series_.write(time, items);
  }
  double last_time() const { return series_.last_time(); }
  void close() { series_.close(); }

 private:
  /// Replaces density by pressure above that at density 1: (density - 1) / 3 in lattice units, and 0 in solid cells.
  template <class T>
  static void to_pressure(const Field& flags, const Box& box, void* values) {
    std::vector<std::uint8_t> solid(box.volume());
    flags.read(box, solid.data());
    T* const value = static_cast<T*>(values);
    for (std::size_t i = 0; i < solid.size(); ++i) value[i] = solid[i] != 0 ? T(0) : (value[i] - T(1)) / T(3);
  }
  /// Marks solid cells by VTK's vtkDataSetAttributes::HIDDENCELL, so that filters and renderings leave them out.
  static void hide_solid(const Box& box, void* values) {
    constexpr std::uint8_t hidden = 32;
    auto* const flag = static_cast<std::uint8_t*>(values);
    for (std::int64_t i = 0; i < box.volume(); ++i) flag[i] = flag[i] != 0 ? hidden : 0;
  }
  static VtkhdfSeries::Options options(const std::array<double, 3>& spacing, const std::array<double, 3>& origin,
                                       bool overwrite, std::optional<double> up_to) {
    VtkhdfSeries::Options o;
    o.spacing = spacing;
    o.origin = origin;
    o.overwrite = overwrite;
    o.up_to = up_to;
    return o;
  }
  Lbm& lbm_;
  VtkhdfSeries series_;
};

void bind_lbm(nb::module_& m) {
  bind_case_tables(m, &lbm::case_tables);
  using Release = nb::call_guard<Released>;
  nb::class_<Lbm, Solver>(m, "Lbm", "A lattice Boltzmann run, in lattice units.")
      .def_static("plan", &plan, nb::arg("machine"), nb::arg("options"), nb::arg("bodies") = nb::none(),
                  nb::arg("links") = std::vector<std::string>())
      .def_static("largest_grid", &largest_grid, nb::arg("machine"), nb::arg("options"))
      .def(
          "__init__",
          [](Lbm* self, const Machine& machine, const nb::dict& options, Trace* trace, const Bodies* bodies,
             const std::vector<std::string>& links, const Communicator* comm) {
            lbm::Options o = options_from(options);
            if (trace) o.exchange.trace = trace;
            Released release;
            new (self) Lbm(comm ? *comm : world(), machine, std::move(o),
                           bodies ? surfaces_of(*bodies, links) : lbm::Surfaces{});
          },
          nb::arg("machine"), nb::arg("options"), nb::arg("trace") = nb::none(), nb::arg("bodies") = nb::none(),
          nb::arg("links") = std::vector<std::string>(), nb::arg("comm").none() = nb::none(), nb::keep_alive<1, 4>())
      .def("set_solid", &set_solid, nb::arg("mask"))
      .def("start_from", &start_from, nb::arg("flow"))
      .def("energy", &energy)
      .def("zigzag", &zigzag)
      .def("residual", &Lbm::update_macroscopic, Release())
      .def(
          "mass", [](Lbm& self) { return self.excess_mass() + static_cast<double>(self.fluid_cells()); }, Release())
      .def("fluid_cells", &Lbm::fluid_cells)
      .def("bytes_of_cells", &Lbm::bytes_of_cells)
      .def("links_through_bodies", &Lbm::links_through_bodies, Release())
      .def("populations", [](Lbm& self) { return gathered(self, "populations", self.grid().box()); })
      .def("moments", [](Lbm& self) { return gathered(self, "moments", self.grid().box()); })
      .def(
          "arrays", [](nb::object self, const std::string& name) { return local_arrays(self, name); }, nb::arg("field"))
      .def("split", [](Lbm& self) { return split_dict(self.split()); })
      .def("teams", [](Lbm& self) { return teams_dict(self.teams()); })
      .def("solid_blocks", [](Lbm& self) { return solid_blocks_dict(self.solid_blocks()); });

  nb::class_<Series>(m, "Series", "A VTKHDF time series of velocity, density, pressure and flags.")
      .def(nb::init<Lbm&, const std::string&, const std::array<double, 3>&, const std::array<double, 3>&, bool,
                    std::optional<double>>(),
           nb::arg("lbm"), nb::arg("path"), nb::arg("spacing"), nb::arg("origin"), nb::arg("overwrite"),
           nb::arg("up_to") = nb::none(), nb::keep_alive<1, 2>())
      .def("write", &Series::write, nb::arg("time"), nb::arg("velocity"), nb::arg("density"), nb::arg("pressure"),
           Release())
      .def_prop_ro("last_time", &Series::last_time)
      .def("close", &Series::close, Release());
}

}  // namespace
}  // namespace slipstream::python

NB_MODULE(_lbm, m) {
  using namespace slipstream::python;
  begin_module(m, "lbm", slipstream_lbm_build());
  bind_lbm(m);
  bind_bodies_of_lbm(m);
}
