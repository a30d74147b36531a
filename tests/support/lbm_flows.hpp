#pragma once
// Test flows, and the ways in which each can be cut, stored, routed and overlapped.
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/gather.hpp>
#include <slipstream/lbm.hpp>

#include "lbm_run.hpp"
#include "machine_rig.hpp"

namespace slipstream::lbm {

inline Options cavity(Lattice lattice, DType precision, Collision collision = Collision::trt) {
  Options o;
  o.lattice = lattice;
  o.collision = collision;
  o.precision = precision;
  o.cells = lattice == Lattice::d2q9 ? Extent{26, 21, 1} : Extent{22, 19, 17};
  o.viscosity = 0.02;
  o.walls[Side::y_high] = {0.08, 0, lattice == Lattice::d2q9 ? 0 : 0.01};
  return o;
}

/// A channel with walls along one axis and two periodic axes.
inline Options channel(DType precision, Lattice lattice = Lattice::d3q19, Collision collision = Collision::srt) {
  Options o = cavity(lattice, precision, collision);
  o.periodic = {true, false, lattice != Lattice::d2q9};
  return o;
}

/// Options of a channel flow driven by a moving wall and by a body force, with a Smagorinsky subgrid model (LES).
inline Options driven(DType precision, Lattice lattice, Collision collision) {
  Options o = channel(precision, lattice, collision);
  o.force = {2e-4, -1e-4, lattice == Lattice::d2q9 ? 0 : 5e-5};
  o.smagorinsky = 0.15;
  return o;
}

/// A flow from an inlet to an outlet past slip sides; in three dimensions also between walls.
inline Options open(DType precision, Lattice lattice, Collision collision) {
  Options o = cavity(lattice, precision, collision);
  o.walls.clear();
  Boundary inlet{BoundaryKind::velocity};
  for (std::int64_t n = 0; n < (2 * o.cells[1] + 1) * (2 * o.cells[2] + 1); ++n)
    inlet.profile.push_back({0.04 + 1e-4 * static_cast<double>(n % 17), 1e-4 * static_cast<double>(n % 5), 0});
  o.boundaries[Side::x_low] = inlet;
  o.boundaries[Side::x_high] = {BoundaryKind::pressure, {}, {}, 1.001};
  o.boundaries[Side::y_low] = o.boundaries[Side::y_high] = {BoundaryKind::slip};
  return o;
}

/// A flow from an inlet to a convective outlet past slip sides.
inline Options outflow(DType precision, Lattice lattice, Collision collision) {
  Options o = open(precision, lattice, collision);
  o.boundaries[Side::x_high] = {BoundaryKind::convective, {}, {}, 1, 0.04};
  return o;
}

/// A flow driven by a pressure drop along the periodic axes, with a slip side.
inline Options dropping(DType precision, Lattice lattice, Collision collision) {
  Options o = channel(precision, lattice, collision);
  o.walls.clear();
  o.boundaries[Side::y_low] = {BoundaryKind::slip};
  o.density_drop = {4e-3, 0, lattice == Lattice::d2q9 ? 0 : -2e-3};
  return o;
}

/// Changes the options `o` of a flow: cells store moments instead of populations, for the given collision model.
inline Options by_moments(Options o, Collision collision) {
  o.representation = Representation::moments;
  o.collision = collision;
  return o;
}

/// A flow large enough for the tiles of the GPU's marching kernel, with a partial last tile.
inline Options wide(Options o) {
  o.cells = {70, 10, 9};
  return o;
}

/// Solid cells, or round bodies with cut links, which block boundaries intersect.
enum class Obstacles : std::uint8_t { none, cells, round };

struct SampleFlow {
  const char* name;
  Options (*options)(DType);
  Obstacles obstacles;
};

inline const std::vector<SampleFlow> flows = [] {
  using L = Lattice;
  using C = Collision;
  return std::vector<SampleFlow>{
      {"cavity_d3q19_trt", [](DType t) { return cavity(L::d3q19, t); }, Obstacles::none},
      {"cavity_d2q9_trt", [](DType t) { return cavity(L::d2q9, t); }, Obstacles::none},
      {"cavity_d3q27_cumulant", [](DType t) { return cavity(L::d3q27, t, C::cumulant); }, Obstacles::none},
      {"channel_d3q19_srt", [](DType t) { return channel(t); }, Obstacles::cells},
      {"channel_d3q27_trt", [](DType t) { return channel(t, L::d3q27, C::trt); }, Obstacles::cells},
      {"driven_d2q9_srt", [](DType t) { return driven(t, L::d2q9, C::srt); }, Obstacles::none},
      {"driven_d3q19_mrt", [](DType t) { return driven(t, L::d3q19, C::mrt); }, Obstacles::cells},
      {"driven_d3q27_cumulant", [](DType t) { return driven(t, L::d3q27, C::cumulant); }, Obstacles::cells},
      {"open_d2q9_trt", [](DType t) { return open(t, L::d2q9, C::trt); }, Obstacles::round},
      {"open_d3q19_trt", [](DType t) { return open(t, L::d3q19, C::trt); }, Obstacles::round},
      {"open_d3q27_mrt", [](DType t) { return open(t, L::d3q27, C::mrt); }, Obstacles::round},
      {"outflow_d2q9_trt", [](DType t) { return outflow(t, L::d2q9, C::trt); }, Obstacles::round},
      {"outflow_d3q19_mrt", [](DType t) { return outflow(t, L::d3q19, C::mrt); }, Obstacles::round},
      {"dropping_d2q9_trt", [](DType t) { return dropping(t, L::d2q9, C::trt); }, Obstacles::round},
      {"dropping_d3q19_trt", [](DType t) { return dropping(t, L::d3q19, C::trt); }, Obstacles::cells},
      {"channel_d3q19_round", [](DType t) { return channel(t); }, Obstacles::round},
      {"cavity_moments", [](DType t) { return by_moments(cavity(L::d3q19, t), C::regularised); }, Obstacles::none},
      {"wide_cavity_moments", [](DType t) { return wide(by_moments(cavity(L::d3q19, t), C::recursive)); },
       Obstacles::none},
      {"wide_channel_moments", [](DType t) { return wide(by_moments(channel(t), C::regularised)); }, Obstacles::none},
      {"wide_driven_moments", [](DType t) { return wide(by_moments(driven(t, L::d3q19, C::trt), C::recursive)); },
       Obstacles::round},
      {"driven_moments", [](DType t) { return by_moments(driven(t, L::d3q19, C::trt), C::recursive); },
       Obstacles::cells},
      {"open_moments", [](DType t) { return by_moments(open(t, L::d3q19, C::trt), C::recursive); }, Obstacles::round},
      {"outflow_moments", [](DType t) { return by_moments(outflow(t, L::d3q19, C::trt), C::regularised); },
       Obstacles::round},
      {"dropping_moments", [](DType t) { return by_moments(dropping(t, L::d3q19, C::trt), C::recursive); },
       Obstacles::cells},
  };
}();

inline std::vector<std::uint8_t> bodies(const Extent& e) {
  std::vector<std::uint8_t> mask(volume(e), 0);
  for (std::int64_t z = 0; z < e[2]; ++z)
    for (std::int64_t y = 0; y < e[1]; ++y)
      for (std::int64_t x = 0; x < e[0]; ++x) {
        const bool ball = (x - 10) * (x - 10) + (y - 8) * (y - 8) + (z - 8) * (z - 8) < 20;
        const bool at_the_seam = x < 2 && y > 3 && y < 7;
        mask[(z * e[1] + y) * e[0] + x] = ball || at_the_seam;
      }
  return mask;
}

struct Way {
  const char* name;
  Backend backend = Backend::host;
  int devices_per_rank = 1;
  int ranks_per_node = 0;
  Extent blocks{1, 1, 1};
  Layout layout = Layout::soa;
  int alignment = 128;
  std::vector<RouteKind> routes = all_routes();
  Overlap overlap = Overlap::off;
  Extent rim{1, 1, 1};
  Streaming streaming = Streaming::two;
  Solids solids = Solids::dense;
  std::optional<bool> walls_in_step = {};
  int rim_processors = 0;
};

inline Surfaces round_bodies(const Extent& e) {
  return Round{{10.3, 8.2, 0.5 * e[2]}, 4.4, true}.surfaces("ball", true);
}

inline void set(Lbm& lbm, Obstacles obstacles) {
  const Extent& e = lbm.options().cells;
  if (obstacles == Obstacles::cells) lbm.set_solid(bodies(e));
  if (obstacles == Obstacles::round) lbm.set_bodies(round_bodies(e));
}

inline std::unique_ptr<Lbm> made(const Communicator& comm, Options o, const Way& way, Obstacles obstacles) {
  const Machine machine = machine_here(way.backend, way.devices_per_rank, way.ranks_per_node, comm);
  o.grid.partition.blocks_per_device = way.blocks;
  if (o.lattice == Lattice::d2q9) o.grid.partition.blocks_per_device[2] = 1;
  o.layout = o.lattice == Lattice::d2q9 && way.layout == Layout::soa_z ? Layout::soa : way.layout;
  o.alignment = way.alignment;
  o.exchange.routes = way.routes;
  o.overlap = way.overlap;
  o.rim = way.rim;
  o.streaming = way.streaming;
  o.solids = way.solids;
  o.flags_by_word = way.layout == Layout::aos;
  o.walls_in_step = way.walls_in_step;
  o.rim_processors = way.rim_processors;
  auto lbm = std::make_unique<Lbm>(comm, machine, o);
  set(*lbm, obstacles);
  return lbm;
}

/// Whether a flow supports this storage and streaming: moments need two arrays with rows along x, and all cells.
inline bool suits(const Way& way, const Options& o) {
  return o.representation == Representation::populations ||
         (way.layout == Layout::soa && way.streaming == Streaming::two && way.solids != Solids::sparse);
}

inline std::vector<std::byte> run(const Communicator& comm, const Options& o, const Way& way, Obstacles obstacles,
                                  int steps) {
  const auto lbm = made(comm, o, way, obstacles);
  lbm->advance(steps);
  return gather(comm, lbm->field(to_string(o.representation)), lbm->grid().box());
}

inline std::vector<Way> ways(Backend backend) {
  using R = RouteKind;
  std::vector<Way> all{
      {"one_block", backend},
      {"blocks_27", backend, 1, 0, {3, 3, 3}},
      {"aos", backend, 1, 0, {2, 1, 1}, Layout::aos, 16},
      {"staged", backend, 1, 0, {1, 2, 1}, Layout::soa, 64, {R::kernel, R::staged}},
      {"direct_overlapped", backend, 1, 0, {1, 1, 2}, Layout::soa, 128, {R::kernel, R::direct, R::staged}, Overlap::on},
      {"colocated_overlapped_wide_rim",
       backend,
       1,
       0,
       {1, 1, 1},
       Layout::soa,
       128,
       {R::kernel, R::colocated, R::staged},
       Overlap::on,
       {4, 2, 3}},
      {"along_z", backend, 1, 0, {2, 2, 1}, Layout::soa_z},
      {"along_z_cut_overlapped", backend, 1, 0, {1, 2, 2}, Layout::soa_z, 64, all_routes(), Overlap::on, {2, 1, 4}},
  };
  if (unavailable(backend, 2).empty()) {
    all.push_back(
        {"two_devices_peer", backend, 2, 0, {1, 2, 1}, Layout::soa, 128, {R::kernel, R::peer, R::staged}, Overlap::on});
    all.push_back(
        {"two_devices_all", backend, 2, 0, {1, 1, 1}, Layout::aos, 128, all_routes(), Overlap::on, {2, 2, 2}});
  }
  // In-place streaming gives the results of two arrays, whatever the cuts, overlap and layout.
  constexpr auto in_place = [](Way way, const char* name) {
    way.name = name;
    way.streaming = Streaming::in_place;
    return way;
  };
  for (const auto& [number, name] : {std::pair{0, "in_place"},
                                     {1, "in_place_blocks_27"},
                                     {2, "in_place_aos"},
                                     {3, "in_place_staged"},
                                     {4, "in_place_direct_overlapped"},
                                     {6, "in_place_along_z"},
                                     {7, "in_place_along_z_cut_overlapped"},
                                     {5, "in_place_wide_rim"}})
    all.push_back(in_place(all[number], name));
  all.back().blocks = {2, 2, 1};
  // Blocks that do not store or compute solid cells must give the results of blocks with all cells.
  constexpr auto with_solids = [](Way way, Solids solids, Streaming streaming, const char* name) {
    way.name = name;
    way.solids = solids;
    way.streaming = streaming;
    return way;
  };
  for (const auto& [number, solids, streaming, name] :
       {std::tuple{0, Solids::flags, Streaming::two, "flags"},
        {1, Solids::flags, Streaming::in_place, "flags_in_place_blocks_27"},
        {2, Solids::flags, Streaming::two, "flags_by_word_aos"},
        {4, Solids::flags, Streaming::two, "flags_direct_overlapped"},
        {6, Solids::flags, Streaming::two, "flags_along_z"},
        {6, Solids::flags, Streaming::in_place, "flags_in_place_along_z"},
        {7, Solids::sparse, Streaming::two, "sparse_along_z_cut_overlapped"},
        {0, Solids::sparse, Streaming::two, "sparse"},
        {1, Solids::sparse, Streaming::in_place, "sparse_in_place_blocks_27"},
        {2, Solids::sparse, Streaming::in_place, "sparse_in_place_aos"},
        {3, Solids::sparse, Streaming::two, "sparse_staged"},
        {4, Solids::sparse, Streaming::two, "sparse_direct_overlapped"},
        {5, Solids::sparse, Streaming::in_place, "sparse_in_place_wide_rim"},
        {1, Solids::automatic, Streaming::two, "auto_blocks_27"}})
    all.push_back(with_solids(all[number], solids, streaming, name));
  // Sets whether walls are applied by links or in the step, contrary to the default.
  constexpr auto with_walls = [](Way way, bool in_step, Solids solids, const char* name) {
    way.name = name;
    way.solids = solids;
    way.walls_in_step = in_step;
    return way;
  };
  for (const auto& [number, in_step, solids, name] : {std::tuple{0, false, Solids::dense, "walls_by_links"},
                                                      {0, true, Solids::dense, "walls_in_step"},
                                                      {1, true, Solids::flags, "walls_in_step_blocks_27"},
                                                      {2, true, Solids::flags, "walls_in_step_aos"},
                                                      {4, true, Solids::dense, "walls_in_step_direct_overlapped"},
                                                      {7, true, Solids::flags, "walls_in_step_along_z"}})
    all.push_back(with_walls(all[number], in_step, solids, name));
  // Cuts a block's cells that wait for halos into boxes for one multiprocessor each, processed one after the other.
  constexpr auto in_pieces = [](Way way, const char* name, Streaming streaming = Streaming::two) {
    way.name = name;
    way.streaming = streaming;
    way.rim_processors = 1;
    return way;
  };
  all.push_back(in_pieces(all[4], "pieces_direct_overlapped"));
  all.push_back(in_pieces(all[5], "pieces_colocated_overlapped_wide_rim"));
  all.push_back(in_pieces(all[7], "pieces_along_z_cut_overlapped"));
  all.push_back(in_pieces(all[7], "pieces_in_place_along_z_cut_overlapped", Streaming::in_place));
  const int ranks = Communicator::world().size();
  if (ranks % 2 == 0) all.push_back({"two_nodes", backend, 1, ranks / 2, {2, 1, 1}});
  return all;
}

}  // namespace slipstream::lbm
