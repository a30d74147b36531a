// Tuning the width of blocks' boundary regions (cells beside ghosts) or the storage of solid cells changes no bit.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <new>

#include "solver/lbm/step/solids_tuner.hpp"
#include "support/lbm_flows.hpp"

namespace slipstream::lbm {
namespace {

/// Widths of boundary regions (cells beside ghosts), tuned by measurements; a separate folder caches the results.
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
    o.tune.emplace(quick_look());
    return o;
  }
  /// Options with few trials: the choice may be any, but all ranks must make the same.
  TuneOptions quick_look() const {
    TuneOptions how;
    how.cache_folder = folder;
    how.warm_ups = 1;
    how.trials = 1;
    return how;
  }

  /// Compares the bits after 25 steps with those of a flow on one rank.
  void expect_bits(Lbm& lbm, const std::vector<std::byte>& alone) const {
    lbm.advance(25);
    const auto cut = gather(world, lbm.field("populations"), lbm.grid().box());
    if (world.rank() != 0) return;
    ASSERT_EQ(cut.size(), alone.size());
    EXPECT_EQ(std::memcmp(cut.data(), alone.data(), alone.size()), 0);
  }

  /// Compares sample flows to the bit with runs on one rank. Two functions check a run before and after bodies are set.
  void expect_no_bit_changed(std::initializer_list<int> numbers, void (*look_before)(Lbm&),
                             void (*look_after)(Lbm&)) const {
    const Communicator self(MPI_COMM_SELF);
    for (const int number : numbers) {
      const SampleFlow& flow = flows[number];
      SCOPED_TRACE(flow.name);
      const Options plain = flow.options(DType::f32);
      const auto alone = run(self, plain, {"alone", GetParam()}, flow.obstacles, 25);
      for (const Streaming streaming : {Streaming::two, Streaming::in_place}) {
        Options o = measured(plain);
        o.streaming = streaming;
        Lbm lbm(world, machine_here(GetParam(), 1), o);
        look_before(lbm);
        set(lbm, flow.obstacles);
        look_after(lbm);
        expect_bits(lbm, alone);
      }
    }
  }

  const Communicator world = Communicator::world();
  std::string folder;
};

TEST_P(MeasuredRim, ChangesNoBit) {
  expect_no_bit_changed(
      {0, 6, 9},
      [](Lbm& lbm) {
        EXPECT_EQ(lbm.split().source, "measured");
        EXPECT_EQ(lbm.state().step, 0);
      },
      [](Lbm&) {});
}

/// In-place streaming at cut links needs boundary regions of two cells, also for bodies that are set after the tuning.
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
    // Blocks so narrow that only the least width of their boundary regions (cells beside ghosts) is possible.
    o.grid.partition.blocks_per_device = {3, 1, 1};
    Lbm lbm(world, machine_here(GetParam(), 1), o, given == Given::later ? Surfaces{} : round_bodies(o.cells));
    if (given != Given::at_once) set(lbm, obstacles);
    expect_bits(lbm, alone);
  }
}

TEST_P(MeasuredRim, IsTheSameOnAllRanksAndCached) {
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

/// Storage of solid cells (all, by flags or omitted), tuned by measurements; a separate folder caches the results.
class MeasuredSolids : public MeasuredRim {
 protected:
  static std::string shown(const SolidBlocks& kept) {
    return std::to_string(kept.dense) + " dense, " + std::to_string(kept.flags) + " flags, " +
           std::to_string(kept.sparse) + " sparse";
  }
  static std::int64_t blocks(const SolidBlocks& kept) { return kept.dense + kept.flags + kept.sparse; }
};

TEST_P(MeasuredSolids, ChangeNoBit) {
  expect_no_bit_changed(
      {3, 7, 9, 15}, [](Lbm& lbm) { EXPECT_EQ(lbm.solid_blocks().source, "rules"); },
      [](Lbm& lbm) {
        EXPECT_EQ(lbm.solid_blocks().source, "measured");
        EXPECT_GT(blocks(lbm.solid_blocks()), 0);
      });
}

TEST_P(MeasuredSolids, AreTheSameOnAllRanksAndCached) {
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

/// A device without memory for all cells chooses the storage of solid cells by rules, without a measurement.
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

/// If one rank fails, all ranks throw, and none waits for that rank.
TEST_P(MeasuredSolids, FailOnAllRanksWhereOneHasNoMemory) {
  const Options o = measured(channel(DType::f32));
  GridOptions blocks = o.grid;
  blocks.periodic = o.periodic;
  const Grid grid(o.cells, machine_here(GetParam(), 1), world.rank(), blocks);
  Surfaces failing = round_bodies(o.cells);
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

/// TRT without a force has separate kernels, so a cached result with a force does not apply.
TEST_P(MeasuredSolids, AreMeasuredAnewForAnotherKernel) {
  Options o = measured(channel(DType::f32, Lattice::d3q19, Collision::trt));
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

/// Tile sizes of the moment kernel (cells per block of GPU threads), tuned by measurements with a separate cache.
class MeasuredTiles : public MeasuredRim {
 protected:
  Options boxes() const {
    Options o = by_moments(channel(DType::f32), Collision::recursive);
    o.cells = {2 * 64, 8, 32};
    // If there are walls, a GPU allows only one tile size.
    o.periodic[1] = true;
    o.walls.clear();
    o.force = {2e-4, -1e-4, 5e-5};
    o.grid.partition.blocks_per_device = {2, 1, 1};
    o.tune.emplace(quick_look());
    return o;
  }
};

TEST_P(MeasuredTiles, AreTheSameOnAllRanksAndCachedAndChangeNoBit) {
  const Machine machine = machine_here(GetParam(), 1);
  const auto shown = [](const Teams& t) {
    return std::to_string(t.tile[0]) + " x " + std::to_string(t.tile[1]) + ", " + std::to_string(t.chunk);
  };
  Options plain = boxes();
  plain.tune.reset();
  Lbm untuned(world, machine, plain), first(world, machine, boxes()), second(world, machine, boxes());
  EXPECT_EQ(untuned.teams().source, "options");
  EXPECT_EQ(first.teams().source, "measured");
  EXPECT_EQ(second.teams().source, "cache");
  EXPECT_EQ(shown(first.teams()), shown(second.teams()));
  EXPECT_EQ(first.state().step, 0);
  for (const std::string& other : world.all_gather(shown(first.teams()))) EXPECT_EQ(other, shown(first.teams()));
  Options given = boxes();
  given.tile = {32, 8};
  given.chunk = 7;
  Lbm asked(world, machine, given);
  EXPECT_EQ(asked.teams().source, "options");
  EXPECT_EQ(shown(asked.teams()), "32 x 8, 7");
  const auto bits = [&](Lbm& lbm) {
    set(lbm, Obstacles::cells);
    lbm.advance(12);
    return gather(world, lbm.field("moments"), lbm.grid().box());
  };
  const auto right = bits(untuned);
  EXPECT_EQ(bits(first), right);
  EXPECT_EQ(bits(asked), right);
}

TEST_P(MeasuredTiles, OfBlocksBesideWallsAreTheUsualOnAGpuWhateverIsGiven) {
  Options o = boxes();
  o.periodic[1] = false;
  o.tile = {32, 8};
  Lbm lbm(world, machine_here(GetParam(), 1), o);
  const bool gpu = GetParam() != Backend::host;
  ASSERT_EQ(lbm.teams().notes.size(), gpu ? 1u : 0u);
  if (gpu) {
    EXPECT_NE(lbm.teams().notes[0].find("take tiles 64 cells wide"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Lbm, MeasuredTiles, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

INSTANTIATE_TEST_SUITE_P(Lbm, MeasuredSolids, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace slipstream::lbm
