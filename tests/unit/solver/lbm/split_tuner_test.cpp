// Candidates for splitting a lattice Boltzmann step into interior and boundary region, and the cache of the best one.
#include "solver/lbm/step/split_tuner.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream::lbm {
namespace {

using Rims = std::vector<Extent>;

Rims rims(const std::vector<Split>& splits) {
  Rims found;
  for (const Split& split : splits)
    if (split.overlap) found.push_back(split.rim);
  return found;
}

TEST(SplitCandidates, LeaveAnInteriorAndAreAllDifferent) {
  EXPECT_EQ(rims(split_candidates(Overlap::on, {64, 64, 64}, {true, true, true})),
            (Rims{{0, 0, 0}, {8, 0, 0}, {4, 4, 4}, {8, 8, 8}, {16, 16, 16}}));
  EXPECT_EQ(rims(split_candidates(Overlap::on, {12, 64, 64}, {true, true, true})), (Rims{{0, 0, 0}, {4, 4, 4}}));
  EXPECT_EQ(rims(split_candidates(Overlap::on, {64, 64, 20}, {true, true, true}, Layout::soa_z)),
            (Rims{{0, 0, 0}, {0, 0, 8}, {4, 4, 4}, {8, 8, 8}}));
  EXPECT_EQ(rims(split_candidates(Overlap::on, {12, 64, 64}, {false, true, false})),
            (Rims{{0, 0, 0}, {0, 4, 0}, {0, 8, 0}, {0, 16, 0}}));
}

TEST(SplitCandidates, DoWithoutOverlapUnlessItIsAskedFor) {
  const auto automatic = split_candidates(Overlap::automatic, {64, 64, 64}, {true, true, true});
  EXPECT_FALSE(automatic.front().overlap);
  EXPECT_EQ(automatic.size(), 6u);
  EXPECT_EQ(split_candidates(Overlap::off, {64, 64, 64}, {true, true, true}).size(), 1u);
}

TEST(SplitCandidates, LeaveMultiprocessorsOfAGpuToTheInterior) {
  const auto found = split_candidates(Overlap::on, {12, 64, 64}, {true, true, true}, Layout::soa, 132);
  ASSERT_EQ(rims(found), (Rims{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {4, 4, 4}}));
  EXPECT_EQ(found[0].rim_processors, 0);
  EXPECT_EQ(found[1].rim_processors, 66);
  EXPECT_EQ(found[2].rim_processors, 16);
  EXPECT_EQ(found[3].rim_processors, 0);
}

TEST(SplitCandidates, AreNeverNone) {
  for (const int processors : {0, 132}) {
    const auto found = split_candidates(Overlap::on, {2, 2, 2}, {true, true, true}, Layout::soa, processors);
    ASSERT_EQ(found.size(), 1u) << "no interior to leave multiprocessors to";
    EXPECT_TRUE(found[0].overlap);
    EXPECT_EQ(found[0].rim_processors, 0);
  }
}

TEST(SplitCandidates, AllHaveTheMultiprocessorsThatWereAskedFor) {
  const auto found = split_candidates(Overlap::automatic, {12, 64, 64}, {true, true, true}, Layout::soa, 132, 20);
  EXPECT_EQ(rims(found), (Rims{{0, 0, 0}, {4, 4, 4}}));
  ASSERT_EQ(found.size(), 3u);
  for (const Split& split : found) EXPECT_EQ(split.rim_processors, 20);
}

TEST(TeamCandidates, AreTheTilesThatFitABlockAndBesideWallsOfAGpuTheOneThatIsTaken) {
  const auto widths = [](const Extent& block, DType precision, bool gpu, bool walls) {
    std::set<int> found;
    for (const Teams& teams : team_candidates(block, precision, gpu, walls)) found.insert(teams.tile[0]);
    return found;
  };
  using Widths = std::set<int>;  // a tile width of 0: default
  EXPECT_EQ(widths({64, 64, 64}, DType::f32, true, false), (Widths{0, 32, 64}));
  EXPECT_EQ(widths({48, 64, 64}, DType::f32, true, false), (Widths{0, 32}));
  EXPECT_EQ(widths({64, 64, 64}, DType::f32, true, true), (Widths{0, 64}));
  EXPECT_EQ(widths({64, 64, 64}, DType::f16, true, true), (Widths{0, 64}));
  EXPECT_EQ(widths({64, 64, 64}, DType::f64, true, true), (Widths{0, 32}));
  EXPECT_EQ(widths({64, 64, 64}, DType::f32, false, true), (Widths{0, 32, 64}));
  EXPECT_EQ(widths({64, 64, 8}, DType::f32, true, false), (Widths{0}));
}

TEST(UsualOverlap, IsNoneWhereBlocksAreCutAcrossRowsOrSendLittleUnlessTheHostTakesPartOrSomebodySaysSo) {
  Options o;
  o.cells = {32, 16, 16};
  const auto on = [&](const Extent& blocks, bool by_devices, double bytes = 1e8) {
    GridOptions options;
    options.partition.blocks_per_device = blocks;
    return usual_overlap(Grid(o.cells, machine_here(Backend::host, 1), 0, options), o, by_devices, bytes);
  };
  EXPECT_EQ(on({1, 2, 2}, true, 1e6), Overlap::off);
  EXPECT_EQ(on({1, 2, 2}, false, 1e6), Overlap::automatic);
  EXPECT_EQ(on({2, 1, 1}, true), Overlap::off);
  EXPECT_EQ(on({2, 1, 1}, false), Overlap::automatic);
  EXPECT_EQ(on({1, 2, 2}, true), Overlap::automatic);
  o.layout = Layout::aos;
  EXPECT_EQ(on({2, 1, 1}, true), Overlap::automatic);
  o.layout = Layout::soa;
  o.rim = {8, 0, 0};
  EXPECT_EQ(on({2, 1, 1}, true), Overlap::automatic);
  o.rim = {0, 0, 0};
  o.layout = Layout::soa_z;
  EXPECT_EQ(on({2, 1, 1}, true), Overlap::automatic);
  EXPECT_EQ(on({1, 1, 2}, true), Overlap::off);
  o.layout = Layout::soa;
  o.overlap = Overlap::on;
  EXPECT_EQ(on({2, 1, 1}, true, 1e6), Overlap::on);
}

/// Array layout that the solver chooses on four simulated GPUs, each with `blocks` blocks of the domain along x, y, z.
Layout layout_on_gpus(const Extent& cells, const Extent& devices, const Extent& blocks = {1, 1, 1},
                      std::optional<Layout> asked = {}, Backend backend = Backend::cuda) {
  std::vector<MachineDevice> all(4);
  for (int d = 0; d < 4; ++d) {
    all[d].local = {backend, d};
    all[d].memory = 1 << 30;
  }
  std::vector<slipstream::Link> links(16, slipstream::Link{LinkKind::nvlink, 100, true});
  for (int d = 0; d < 4; ++d) links[5 * d].kind = LinkKind::same;
  const Machine machine("four", all, links);
  GridOptions options;
  options.partition.devices = devices;
  options.partition.blocks_per_device = blocks;
  Options o;
  o.cells = cells;
  o.layout = asked;
  return layout_of(Grid(cells, machine, 0, options), o);
}

TEST(LayoutOf, HasRowsAlongZWhereDevicesShareTheGridAlongXAndNotAlongZ) {
  const Extent cells{64, 64, 64};
  EXPECT_EQ(layout_on_gpus(cells, {2, 2, 1}), Layout::soa_z);
  EXPECT_EQ(layout_on_gpus(cells, {4, 1, 1}), Layout::soa_z);
  EXPECT_EQ(layout_on_gpus(cells, {2, 2, 1}, {2, 1, 1}), Layout::soa_z);
  EXPECT_EQ(layout_on_gpus(cells, {2, 2, 1}, {1, 1, 2}), Layout::soa) << "rows that end at another block";
  EXPECT_EQ(layout_on_gpus(cells, {1, 2, 2}), Layout::soa);
  EXPECT_EQ(layout_on_gpus(cells, {1, 2, 2}, {2, 1, 1}), Layout::soa);
  EXPECT_EQ(layout_on_gpus(cells, {2, 1, 2}), Layout::soa);
  EXPECT_EQ(layout_on_gpus({64, 64, 31}, {2, 2, 1}), Layout::soa) << "rows of less than a warp's cells";
  EXPECT_EQ(layout_on_gpus(cells, {2, 2, 1}, {1, 1, 1}, Layout::aos), Layout::aos);
  EXPECT_EQ(layout_on_gpus(cells, {1, 2, 2}, {1, 1, 1}, Layout::soa_z), Layout::soa_z);
  EXPECT_EQ(layout_on_gpus(cells, {2, 2, 1}, {1, 1, 1}, {}, Backend::host), Layout::soa);
}

TEST(LayoutOf, HasNoRowsAlongZInTwoDimensions) {
  Options o;
  o.lattice = Lattice::d2q9;
  o.cells = {16, 16, 1};
  o.viscosity = 0.1;
  o.layout = Layout::soa_z;
  expect_error([&] { check(o); }, ErrorCode::unsupported, {{"option", "layout"}, {"lattice", "D2Q9"}});
}

/// Tunes the split of a step into interior and boundary, with invented times instead of measured ones, and a cache.
class SplitTuner : public testing::Test {
 protected:
  SplitTuner() {
    how.cache_folder =
        (std::filesystem::temp_directory_path() / ("slipstream-split-" + std::to_string(::getpid()))).string();
  }
  ~SplitTuner() override { std::filesystem::remove_all(how.cache_folder); }

  Split tune(const std::string& key = "a key") {
    asked = 0;
    return tune_split(Communicator::world(), key,
                      split_candidates(Overlap::automatic, {64, 64, 64}, {true, true, true}), how,
                      [&](const Split& split) {
                        ++asked;
                        return split.rim == Extent{4, 4, 4} ? 1.0 : 2.0;
                      });
  }

  TuneOptions how;
  int asked = 0;
};

TEST_F(SplitTuner, TakesTheFastest) {
  const Split split = tune();
  EXPECT_TRUE(split.overlap);
  EXPECT_EQ(split.rim, (Extent{4, 4, 4}));
  EXPECT_EQ(split.source, "measured");
  EXPECT_EQ(asked, 6);
}

TEST_F(SplitTuner, AsksOnceAKey) {
  tune();
  const Split again = tune();
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(again.source, "cache");
  EXPECT_EQ(again.rim, (Extent{4, 4, 4}));
  tune("another key");
  EXPECT_EQ(asked, 6);
  how.retune = true;
  tune();
  EXPECT_EQ(asked, 6);
}

TEST_F(SplitTuner, MeasuresAgainWhereTheCacheIsDamaged) {
  const std::string file = tune().file;
  std::ofstream(file, std::ios::app) << "x";
  const Split split = tune();
  EXPECT_EQ(split.source, "measured");
  ASSERT_EQ(split.notes.size(), 1u);
  EXPECT_NE(split.notes[0].find(file + " is damaged"), std::string::npos);
}

TEST_F(SplitTuner, SaysWhereItCouldNotKeepTheAnswer) {
  how.cache_folder = "/proc/no/such/folder";
  const Split split = tune();
  EXPECT_EQ(split.rim, (Extent{4, 4, 4}));
  ASSERT_EQ(split.notes.size(), 1u);
  EXPECT_NE(split.notes[0].find("/proc/no/such/folder"), std::string::npos);
}

TEST_F(SplitTuner, MeasuresNothingWhereThereIsNoChoice) {
  const Split only = tune_split(Communicator::world(), "a key", {{}}, how,
                                [](const Split&) -> double { throw Error(ErrorCode::internal, "asked"); });
  EXPECT_EQ(only.source, "options");
}

}  // namespace
}  // namespace slipstream::lbm
