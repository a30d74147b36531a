// The same case gives the same bits however it is cut, stored, routed and overlapped.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <set>

#include <slipstream/gather.hpp>
#include <slipstream/lbm.hpp>

#include "../support/lbm_run.hpp"
#include "../support/machine_rig.hpp"
#include "solver/lbm/solids_tuner.hpp"

namespace slipstream::lbm {
namespace {

using R = RouteKind;

Options cavity(Lattice lattice, DType precision, Collision collision = Collision::trt) {
  Options o;
  o.lattice = lattice;
  o.collision = collision;
  o.precision = precision;
  o.cells = lattice == Lattice::d2q9 ? Extent{26, 21, 1} : Extent{22, 19, 17};
  o.viscosity = 0.02;
  o.walls[Side::y_high] = {0.08, 0, lattice == Lattice::d2q9 ? 0 : 0.01};
  return o;
}

/// A wall-bounded axis and two periodic ones.
Options channel(DType precision, Lattice lattice = Lattice::d3q19, Collision collision = Collision::srt) {
  Options o = cavity(lattice, precision, collision);
  o.periodic = {true, false, lattice != Lattice::d2q9};
  return o;
}

/// The same, driven by a force, too, with large eddies only.
Options driven(DType precision, Lattice lattice, Collision collision) {
  Options o = channel(precision, lattice, collision);
  o.force = {2e-4, -1e-4, lattice == Lattice::d2q9 ? 0 : 5e-5};
  o.smagorinsky = 0.15;
  return o;
}

/// From an inlet to an outlet past sides that slip, and between walls where there is a third axis.
Options open(DType precision, Lattice lattice, Collision collision) {
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

/// The same to a side through which it is carried out.
Options outflow(DType precision, Lattice lattice, Collision collision) {
  Options o = open(precision, lattice, collision);
  o.boundaries[Side::x_high] = {BoundaryKind::convective, {}, {}, 1, 0.04};
  return o;
}

/// Driven by a drop of the pressure along the periodic axes, with a side that slips.
Options dropping(DType precision, Lattice lattice, Collision collision) {
  Options o = channel(precision, lattice, collision);
  o.walls.clear();
  o.boundaries[Side::y_low] = {BoundaryKind::slip};
  o.density_drop = {4e-3, 0, lattice == Lattice::d2q9 ? 0 : -2e-3};
  return o;
}

/// Solid cells, or round ones that cut links, which blocks cut through.
enum class Obstacles : std::uint8_t { none, cells, round };

struct Flow {
  const char* name;
  Options (*options)(DType);
  Obstacles obstacles;
};

using L = Lattice;
using C = Collision;
const Flow flows[] = {
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
};

std::vector<std::uint8_t> bodies(const Extent& e) {
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
  std::vector<R> routes = all_routes();
  Overlap overlap = Overlap::off;
  Extent rim{1, 1, 1};
  Streaming streaming = Streaming::two;
  Solids solids = Solids::dense;
  std::optional<bool> walls_in_step = {};
  int rim_processors = 0;
};

Surfaces ball(const Extent& e) { return Round{{10.3, 8.2, 0.5 * e[2]}, 4.4, true}.surfaces("ball", true); }

void set(Lbm& lbm, Obstacles obstacles) {
  const Extent& e = lbm.options().cells;
  if (obstacles == Obstacles::cells) lbm.set_solid(bodies(e));
  if (obstacles == Obstacles::round) lbm.set_bodies(ball(e));
}

std::unique_ptr<Lbm> made(const Communicator& comm, Options o, const Way& way, Obstacles obstacles) {
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

std::vector<std::byte> run(const Communicator& comm, const Options& o, const Way& way, Obstacles obstacles, int steps) {
  const auto lbm = made(comm, o, way, obstacles);
  lbm->advance(steps);
  return gather(comm, lbm->field("populations"), lbm->grid().box());
}

std::vector<Way> ways(Backend backend) {
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
  // In place: what two arrays hold, whatever is cut, overlapped or laid out.
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
  // Without the solid cells: what all cells give, in either form.
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
  // Walls by links where the step usually knows them, and the other way round.
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
  // With a rim in pieces.
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

class Sameness : public testing::TestWithParam<std::tuple<Flow, Backend, DType>> {};

TEST_P(Sameness, OfAllBitsHoweverAFlowIsRun) {
  const auto& [flow, backend, precision] = GetParam();
  const Communicator world = Communicator::world(), self(MPI_COMM_SELF);
  const Options o = flow.options(precision);
  const auto alone = run(self, o, {"alone", backend}, flow.obstacles, 25);
  for (const Way& way : ways(backend)) {
    const auto cut = run(world, o, way, flow.obstacles, 25);
    if (world.rank() != 0) continue;
    ASSERT_EQ(cut.size(), alone.size());
    EXPECT_EQ(std::memcmp(cut.data(), alone.data(), alone.size()), 0) << way.name;
  }
}

std::string name_of(const testing::TestParamInfo<Sameness::ParamType>& info) {
  const auto& [flow, backend, precision] = info.param;
  return std::string(flow.name) + "_" + to_string(backend) + "_" + to_string(precision);
}

INSTANTIATE_TEST_SUITE_P(Lbm, Sameness,
                         testing::Combine(testing::ValuesIn(flows), testing::ValuesIn(backends_here()),
                                          testing::Values(DType::f16, DType::f32, DType::f64)),
                         name_of);

/// What a run says of all its cells and links, after few steps: under a sanitizer each takes long.
std::vector<double> sums(Lbm& lbm) {
  lbm.advance(2);
  lbm.update_macroscopic();
  lbm.advance(1);
  const Energy energy = lbm.energy();
  std::vector<double> all{lbm.update_macroscopic(), lbm.excess_mass(), energy.kinetic, energy.dissipation};
  for (const Load& load : lbm.loads({5, 6, 7}))
    for (const auto& vector : {load.force, load.moment}) all.insert(all.end(), vector.begin(), vector.end());
  return all;
}

class Sums : public testing::TestWithParam<Backend> {};

/// Only the order in which blocks are added differs.
TEST_P(Sums, AreTheSameHoweverAFlowIsRun) {
  const Communicator world = Communicator::world(), self(MPI_COMM_SELF);
  const std::set<std::string> chosen{"in_place_direct_overlapped",
                                     "along_z_cut_overlapped",
                                     "flags_by_word_aos",
                                     "flags_in_place_along_z",
                                     "sparse_direct_overlapped",
                                     "sparse_in_place_wide_rim",
                                     "walls_in_step_direct_overlapped",
                                     "pieces_in_place_along_z_cut_overlapped"};
  std::size_t ran = 0;
  for (const int number : {3, 9, 12}) {
    const Flow& flow = flows[number];
    const Options o = flow.options(DType::f32);
    const auto alone = sums(*made(self, o, {"alone", GetParam()}, flow.obstacles));
    for (const Way& way : ways(GetParam())) {
      if (!chosen.contains(way.name)) continue;
      SCOPED_TRACE(std::string(flow.name) + " " + way.name);
      const auto cut = sums(*made(world, o, way, flow.obstacles));
      ASSERT_EQ(cut.size(), alone.size());
      for (std::size_t n = 0; n < cut.size(); ++n) EXPECT_NEAR(cut[n], alone[n], 1e-9) << n;
      ++ran;
    }
    for (const std::size_t n : {0, 2, 3}) EXPECT_GT(alone[n], 1e-6) << n;
  }
  EXPECT_EQ(ran, 3 * chosen.size());
}

INSTANTIATE_TEST_SUITE_P(Lbm, Sums, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

/// Rims measured with a cache of their own.
class MeasuredRim : public testing::TestWithParam<Backend> {
 protected:
  MeasuredRim() {
    namespace fs = std::filesystem;
    folder =
        world.broadcast((fs::temp_directory_path() / ("slipstream-rim-" + std::to_string(::getpid()))).string(), 0);
  }
  ~MeasuredRim() override {
    world.barrier();
    if (world.rank() == 0) std::filesystem::remove_all(folder);
  }

  Options measured(Options o) const {
    o.grid.partition.blocks_per_device = {2, 1, 1};
    o.tune_rim = true;
    o.tune.emplace().cache_folder = folder;
    return o;
  }

  /// After 25 steps.
  void expect_bits(Lbm& lbm, const std::vector<std::byte>& alone) const {
    lbm.advance(25);
    const auto cut = gather(world, lbm.field("populations"), lbm.grid().box());
    if (world.rank() != 0) return;
    ASSERT_EQ(cut.size(), alone.size());
    EXPECT_EQ(std::memcmp(cut.data(), alone.data(), alone.size()), 0);
  }

  const Communicator world = Communicator::world();
  std::string folder;
};

TEST_P(MeasuredRim, ChangesNoBit) {
  const Communicator self(MPI_COMM_SELF);
  for (const int number : {0, 6, 9}) {
    SCOPED_TRACE(flows[number].name);
    const Options plain = flows[number].options(DType::f32);
    const auto alone = run(self, plain, {"alone", GetParam()}, flows[number].obstacles, 25);
    for (const Streaming streaming : {Streaming::two, Streaming::in_place}) {
      Options o = measured(plain);
      o.streaming = streaming;
      Lbm lbm(world, machine_here(GetParam(), 1), o);
      EXPECT_EQ(lbm.split().source, "measured");
      EXPECT_EQ(lbm.state().step, 0);
      set(lbm, flows[number].obstacles);
      expect_bits(lbm, alone);
    }
  }
}

/// In place links that a body cuts need two layers, whenever the rim is decided and the body given.
TEST_P(MeasuredRim, IsWideEnoughForBodiesThatCutLinks) {
  const Communicator self(MPI_COMM_SELF);
  const Options plain = channel(DType::f32);
  enum class Given : std::uint8_t { at_once, later, solid_later };
  for (const auto& [given, tuned] :
       {std::pair{Given::at_once, true}, {Given::at_once, false}, {Given::later, true}, {Given::solid_later, true}}) {
    SCOPED_TRACE(std::to_string(static_cast<int>(given)) + (tuned ? " tuned" : " asked"));
    const Obstacles obstacles = given == Given::solid_later ? Obstacles::cells : Obstacles::round;
    const auto alone = run(self, plain, {"alone", GetParam()}, obstacles, 25);
    Options o = measured(plain);
    o.streaming = Streaming::in_place;
    o.solids = Solids::dense;
    o.overlap = Overlap::on;
    o.tune_rim = tuned;
    // Too thin for any rim but the least.
    o.grid.partition.blocks_per_device = {3, 1, 1};
    Lbm lbm(world, machine_here(GetParam(), 1), o, given == Given::later ? Surfaces{} : ball(o.cells));
    if (given != Given::at_once) set(lbm, obstacles);
    expect_bits(lbm, alone);
  }
}

TEST_P(MeasuredRim, IsTheSameOnAllRanksAndRemembered) {
  const Options o = measured(channel(DType::f32));
  const Machine machine = machine_here(GetParam(), 1);
  const auto shown = [&](const Split& split) {
    std::string text = split.overlap ? "overlap" : "none";
    for (const std::int64_t width : split.rim) text += ' ' + std::to_string(width);
    return text + " on " + std::to_string(split.rim_processors);
  };
  const Split first = Lbm(world, machine, o).split(), second = Lbm(world, machine, o).split();
  EXPECT_EQ(first.source, "measured");
  EXPECT_EQ(second.source, "cache");
  EXPECT_EQ(shown(first), shown(second));
  for (const std::string& other : world.all_gather(shown(first))) EXPECT_EQ(other, shown(first));
}

TEST_P(MeasuredRim, FillsTheMultiprocessorsThatAreAskedFor) {
  Options o = measured(channel(DType::f32));
  const Machine machine = machine_here(GetParam(), 1);
  for (const int processors : {3, 5}) {
    o.rim_processors = processors;
    const Split split = Lbm(world, machine, o).split();
    EXPECT_EQ(split.source, "measured");
    EXPECT_EQ(split.rim_processors, processors);
  }
}

TEST_P(MeasuredRim, OverlapsOnlyWhereItMay) {
  Options o = measured(channel(DType::f32));
  const Machine machine = machine_here(GetParam(), 1);
  o.overlap = Overlap::off;
  EXPECT_FALSE(Lbm(world, machine, o).split().overlap);
  o.overlap = Overlap::on;
  EXPECT_TRUE(Lbm(world, machine, o).split().overlap);
}

INSTANTIATE_TEST_SUITE_P(Lbm, MeasuredRim, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

/// Ways of keeping solid cells, measured with a cache of their own.
class MeasuredSolids : public MeasuredRim {
 protected:
  static std::string shown(const SolidBlocks& kept) {
    return std::to_string(kept.dense) + " dense, " + std::to_string(kept.flags) + " flags, " +
           std::to_string(kept.sparse) + " sparse";
  }
  static std::int64_t blocks(const SolidBlocks& kept) { return kept.dense + kept.flags + kept.sparse; }
};

TEST_P(MeasuredSolids, ChangeNoBit) {
  const Communicator self(MPI_COMM_SELF);
  for (const int number : {3, 7, 9, 15}) {
    SCOPED_TRACE(flows[number].name);
    const Options plain = flows[number].options(DType::f32);
    const auto alone = run(self, plain, {"alone", GetParam()}, flows[number].obstacles, 25);
    for (const Streaming streaming : {Streaming::two, Streaming::in_place}) {
      Options o = measured(plain);
      o.streaming = streaming;
      Lbm lbm(world, machine_here(GetParam(), 1), o);
      EXPECT_EQ(lbm.solid_blocks().source, "rules");
      set(lbm, flows[number].obstacles);
      EXPECT_EQ(lbm.solid_blocks().source, "measured");
      EXPECT_GT(blocks(lbm.solid_blocks()), 0);
      expect_bits(lbm, alone);
    }
  }
}

TEST_P(MeasuredSolids, AreTheSameOnAllRanksAndRemembered) {
  const Options o = measured(channel(DType::f32));
  const auto kept = [&](const Options& options) {
    Lbm lbm(world, machine_here(GetParam(), 1), options);
    set(lbm, Obstacles::cells);
    return lbm.solid_blocks();
  };
  const SolidBlocks first = kept(o), second = kept(o);
  EXPECT_EQ(first.source, "measured");
  EXPECT_EQ(second.source, "cache");
  EXPECT_EQ(shown(first), shown(second));
  for (const std::string& other : world.all_gather(shown(first))) EXPECT_EQ(other, shown(first));
  Options again = o;
  again.tune->retune = true;
  EXPECT_EQ(kept(again).source, "measured");
}

TEST_P(MeasuredSolids, AreLeftWhereTheyAreGivenOrThereAreNone) {
  Options o = measured(channel(DType::f32));
  Lbm without(world, machine_here(GetParam(), 1), o);
  EXPECT_EQ(without.solid_blocks().source, "rules");
  EXPECT_EQ(blocks(without.solid_blocks()), 0);
  o.solids = Solids::flags;
  Lbm given(world, machine_here(GetParam(), 1), o);
  set(given, Obstacles::cells);
  EXPECT_EQ(given.solid_blocks().source, "rules");
}

/// A device that cannot hold all cells of its blocks keeps them by the rules, and says so.
TEST_P(MeasuredSolids, AreLeftToTheRulesWithoutMemoryForAllCells) {
  if (GetParam() != Backend::host) GTEST_SKIP() << "asks for memory of the host";
  const Machine here = machine_here(GetParam(), 1);
  std::vector<MachineDevice> devices;
  std::vector<slipstream::Link> links;
  for (int a = 0; a < here.devices(); ++a) {
    devices.push_back(here.device(a));
    devices.back().memory = 1000;
    for (int b = 0; b < here.devices(); ++b) links.push_back(here.link(a, b));
  }
  Options o = measured(channel(DType::f32));
  Lbm lbm(world, Machine(here.name(), devices, links), o);
  set(lbm, Obstacles::cells);
  EXPECT_EQ(lbm.solid_blocks().source, "rules");
  ASSERT_EQ(lbm.solid_blocks().notes.size(), here.devices()) << "every rank knows what any of them found";
  for (int device = 0; device < here.devices(); ++device) {
    const std::string said = "device " + std::to_string(device) + " has no room for all cells of its blocks";
    EXPECT_NE(lbm.solid_blocks().notes[device].find(said), std::string::npos);
  }
}

/// Where one rank fails all throw, and none waits for it.
TEST_P(MeasuredSolids, FailOnAllRanksWhereOneHasNoMemory) {
  const Options o = measured(channel(DType::f32));
  GridOptions blocks = o.grid;
  blocks.periodic = o.periodic;
  const Grid grid(o.cells, machine_here(GetParam(), 1), world.rank(), blocks);
  Surfaces failing = ball(o.cells);
  if (world.rank() == world.size() - 1)
    failing.solid = [](const Box&) -> std::vector<std::uint16_t> { throw std::bad_alloc(); };
  EXPECT_THROW(measure_kept(world, grid, o, failing), Error);
}

TEST(WaysThatDiffer, AreTwoOnGpusByModelsThatAreNotPlain) {
  Model model;
  EXPECT_EQ(ways_that_differ(model, true, Layout::soa).size(), 3u);
  model.force = {1e-5, 0, 0};
  EXPECT_EQ(ways_that_differ(model, true, Layout::soa), (std::vector{Solids::flags, Solids::sparse}));
  EXPECT_EQ(ways_that_differ(model, true, Layout::soa_z), (std::vector{Solids::flags, Solids::sparse}));
  EXPECT_EQ(ways_that_differ(model, true, Layout::aos).size(), 3u);
  EXPECT_EQ(ways_that_differ(model, false, Layout::soa).size(), 3u);
}

/// Without a force TRT has kernels of its own: what was found with one says nothing of them.
TEST_P(MeasuredSolids, AreMeasuredAnewForAnotherKernel) {
  Options o = measured(channel(DType::f32, L::d3q19, C::trt));
  const auto source = [&] {
    Lbm lbm(world, machine_here(GetParam(), 1), o);
    set(lbm, Obstacles::cells);
    return lbm.solid_blocks().source;
  };
  EXPECT_EQ(source(), "measured");
  o.force = {1e-5, 0, 0};
  EXPECT_EQ(source(), "measured");
  o.flags_by_word = true;
  EXPECT_EQ(source(), "measured");
  EXPECT_EQ(source(), "cache");
}

INSTANTIATE_TEST_SUITE_P(Lbm, MeasuredSolids, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

TEST(HostAgainstCuda, PopulationsAgreeAfter100StepsInF64) {
  if (!available(Backend::cuda)) GTEST_SKIP() << "needs a GPU";
  const Communicator self(MPI_COMM_SELF);
  for (const Flow& flow : flows) {
    SCOPED_TRACE(flow.name);
    const Options o = flow.options(DType::f64);
    const auto host = run(self, o, {"host"}, flow.obstacles, 100);
    const auto cuda = run(self, o, {"cuda", Backend::cuda}, flow.obstacles, 100);
    const auto *a = reinterpret_cast<const double*>(host.data()), *b = reinterpret_cast<const double*>(cuda.data());
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < host.size() / sizeof(double); ++i) {
      largest = std::max(largest, std::abs(a[i]));
      difference = std::max(difference, std::abs(a[i] - b[i]));
    }
    EXPECT_LE(difference, 1e-12 * largest);
    EXPECT_GT(largest, 1e-4);
  }
}

TEST(Mass, IsConservedInAClosedCavityInF64) {
  const Communicator world = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  for (const auto lattice : {L::d2q9, L::d3q19, L::d3q27}) {
    Lbm lbm(world, machine, cavity(lattice, DType::f64));
    lbm.advance(200);
    EXPECT_LT(std::abs(lbm.excess_mass()) / static_cast<double>(lbm.fluid_cells()), 1e-13) << to_string(lattice);
  }
}

TEST(Mass, SumDoesNotDependOnTheRanks) {
  const Communicator world = Communicator::world(), self(MPI_COMM_SELF);
  const Machine machine = machine_here(Backend::host, 1), alone = machine_here(Backend::host, 1, 0, self);
  Options o = channel(DType::f32);
  Options single = o;
  single.grid.partition.blocks_per_device = slipstream::partition(o.cells, 1, world.size()).devices;
  Lbm many(world, machine, o), one(self, alone, single);
  many.advance(20);
  one.advance(20);
  EXPECT_EQ(many.excess_mass(), one.excess_mass());
}

TEST(Loads, DoNotDependOnTheRanks) {
  const Communicator world = Communicator::world(), self(MPI_COMM_SELF);
  const Machine machine = machine_here(Backend::host, 1), alone = machine_here(Backend::host, 1, 0, self);
  for (const auto obstacles : {Obstacles::cells, Obstacles::round}) {
    Options o = open(DType::f32, L::d3q19, C::trt), single = o;
    single.grid.partition.blocks_per_device = slipstream::partition(o.cells, 1, world.size()).devices;
    Lbm many(world, machine, o), one(self, alone, single);
    for (Lbm* lbm : {&many, &one}) {
      set(*lbm, obstacles);
      lbm->advance(20);
    }
    const auto of_many = many.loads({5, 6, 7}), of_one = one.loads({5, 6, 7});
    ASSERT_EQ(of_many.size(), 3u);
    ASSERT_EQ(of_one.size(), 3u);
    for (std::size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(of_many[n].name, of_one[n].name);
      EXPECT_EQ(of_many[n].force, of_one[n].force);
      EXPECT_EQ(of_many[n].moment, of_one[n].moment);
    }
    EXPECT_NE(of_many.back().force[0], 0);
  }
}

}  // namespace
}  // namespace slipstream::lbm
