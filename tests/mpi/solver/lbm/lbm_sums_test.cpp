// Sums over all cells and links are the same for any decomposition, storage, route and overlap.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "solver/lbm/links/links.hpp"
#include "support/lbm_flows.hpp"

namespace slipstream::lbm {
namespace {

const SampleFlow& flow_called(const std::string& name) {
  const auto found =
      std::find_if(flows.begin(), flows.end(), [&](const SampleFlow& flow) { return flow.name == name; });
  require(found != flows.end(), "no flow is called " + name);
  return *found;
}

/// All sums of a run, after only a few steps, because sanitizers are slow.
std::vector<double> sums(Lbm& lbm) {
  lbm.advance(2);
  lbm.update_macroscopic();
  lbm.advance(1);
  const Energy energy = lbm.energy();
  std::vector<double> all{lbm.update_macroscopic(), lbm.excess_mass(), energy.kinetic, energy.dissipation};
  for (const Load& load : lbm.loads({5, 6, 7}))
    for (const auto& vector : {load.force, load.moment}) all.insert(all.end(), vector.begin(), vector.end());
  const Zigzag zigzag = lbm.zigzag();
  for (const auto& along : zigzag.amplitude) all.insert(all.end(), along.begin(), along.end());
  all.push_back(zigzag.mean_speed);
  return all;
}

class Sums : public testing::TestWithParam<Backend> {};

/// Sums over the domain, such as mass, energy and forces, differ only by the order in which blocks are added.
TEST_P(Sums, AreTheSameHoweverAFlowIsRun) {
  const Communicator world = Communicator::world(), self(MPI_COMM_SELF);
  const std::set<std::string> chosen{"in_place_direct_overlapped",
                                     "along_z_cut_overlapped",
                                     "flags_by_word_aos",
                                     "flags_in_place_along_z",
                                     "sparse_direct_overlapped",
                                     "sparse_in_place_wide_rim",
                                     "walls_in_step_direct_overlapped",
                                     "pieces_in_place_along_z_cut_overlapped"},
      chosen_by_moments{"blocks_27", "flags_direct_overlapped", "pieces_colocated_overlapped_wide_rim"};
  std::size_t ran = 0;
  for (const char* name : {"channel_d3q19_srt", "open_d3q19_trt", "outflow_d3q19_mrt", "driven_moments", "open_moments",
                           "outflow_moments"}) {
    const SampleFlow& flow = flow_called(name);
    const Options o = flow.options(DType::f32);
    const bool moments = o.representation == Representation::moments;
    const auto alone = sums(*made(self, o, {"alone", GetParam()}, flow.obstacles));
    for (const Way& way : ways(GetParam())) {
      if (!(moments ? chosen_by_moments : chosen).contains(way.name)) continue;
      SCOPED_TRACE(std::string(flow.name) + " " + way.name);
      const auto cut = sums(*made(world, o, way, flow.obstacles));
      ASSERT_EQ(cut.size(), alone.size());
      for (std::size_t n = 0; n < cut.size(); ++n) EXPECT_NEAR(cut[n], alone[n], 1e-9) << n;
      ++ran;
    }
    for (const std::size_t n : {0, 2, 3}) EXPECT_GT(alone[n], 1e-6) << n;
  }
  EXPECT_EQ(ran, 3 * (chosen.size() + chosen_by_moments.size()));
}

INSTANTIATE_TEST_SUITE_P(Lbm, Sums, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

TEST(Mass, IsConservedInAClosedCavityInF64) {
  const Communicator world = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  for (const char* name : {"cavity_d2q9_trt", "cavity_d3q19_trt", "cavity_d3q27_cumulant", "cavity_moments"}) {
    Lbm lbm(world, machine, flow_called(name).options(DType::f64));
    lbm.advance(200);
    EXPECT_LT(std::abs(lbm.excess_mass()) / static_cast<double>(lbm.fluid_cells()), 1e-13) << name;
  }
}

/// A flow on all ranks, and the same flow on this rank only, cut into the same blocks.
struct ManyAndOne {
  Lbm many, one;

  explicit ManyAndOne(const Options& options)
      : many(Communicator::world(), machine_here(Backend::host, 1), options),
        one(self(), machine_here(Backend::host, 1, 0, self()), alone(options)) {}

 private:
  static Communicator self() { return Communicator(MPI_COMM_SELF); }
  static Options alone(Options options) {
    options.grid.partition.blocks_per_device =
        slipstream::partition(options.cells, 1, Communicator::world().size()).devices;
    return options;
  }
};

TEST(Mass, SumDoesNotDependOnTheRanks) {
  for (const Options& o : {channel(DType::f32), by_moments(channel(DType::f32), Collision::recursive)}) {
    ManyAndOne runs(o);
    Lbm &many = runs.many, &one = runs.one;
    many.advance(20);
    one.advance(20);
    EXPECT_EQ(many.excess_mass(), one.excess_mass()) << to_string(o.representation);
  }
}

TEST(Zigzag, DoesNotDependOnTheRanks) {
  for (const Options& o : {channel(DType::f32), by_moments(channel(DType::f32), Collision::recursive)}) {
    ManyAndOne runs(o);
    Lbm &many = runs.many, &one = runs.one;
    const auto rough = [&](const Box& box) {
      std::vector<std::array<double, 4>> flow;
      for_each_cell(box, [&](const Extent& cell) {
        std::array<double, 3> u{};
        for (int a = 0; a < 3; ++a) {
          const std::int64_t n = o.cells[a], at = (cell[a] + n) % n;
          for (int c = 0; c < 3; ++c) u[c] += 0.01 * std::sin(static_cast<double>((7 + a + 3 * c) * at * at));
        }
        flow.push_back({0, u[0], u[1], u[2]});
      });
      return flow;
    };
    many.start_from(rough);
    one.start_from(rough);
    const Zigzag of_many = many.zigzag(), of_one = one.zigzag();
    EXPECT_EQ(of_many.amplitude, of_one.amplitude) << to_string(o.representation);
    EXPECT_EQ(of_many.cells, of_one.cells);
    EXPECT_EQ(of_many.mean_speed, of_one.mean_speed);
    for (const auto& along : of_one.amplitude)
      for (const double amplitude : along) EXPECT_GT(amplitude, 1e-3);
  }
}

TEST(Loads, DoNotDependOnTheRanks) {
  const Options populations = open(DType::f32, Lattice::d3q19, Collision::trt),
                moments = by_moments(populations, Collision::recursive);
  for (const auto& [o, obstacles] : {std::pair{populations, Obstacles::cells},
                                     {populations, Obstacles::round},
                                     {moments, Obstacles::cells},
                                     {moments, Obstacles::round}}) {
    SCOPED_TRACE(to_string(o.representation));
    ManyAndOne runs(o);
    Lbm &many = runs.many, &one = runs.one;
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
