// The guard finds the cell where a run becomes invalid, and all ranks report it.
#include <slipstream/guard.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <slipstream/lbm.hpp>

#include "solver/lbm/by_moments/cells.hpp"
#include "solver/lbm/storage/storage.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream {
namespace {

using lbm::Lbm;

/// Parameter: how a flow is stored. The test corrupts population 5, or the density excess of moments.
struct Held {
  const char* name;
  Layout layout = Layout::soa;
  lbm::Streaming streaming = lbm::Streaming::two;
  bool moments = false;
};

class GuardOnRanks : public testing::TestWithParam<std::tuple<Backend, DType, Held>> {
 protected:
  GuardOnRanks() : comm(Communicator::world()) {
    const auto& [backend, type, held] = GetParam();
    options.cells = {13, 12, 11};
    options.periodic = {true, true, true};
    options.viscosity = 0.02;
    options.precision = type;
    options.layout = held.layout;
    options.streaming = held.streaming;
    if (held.moments) {
      options.representation = lbm::Representation::moments;
      options.collision = lbm::Collision::recursive;
    }
    options.grid.partition.blocks_per_device = {2, 1, 2};
    run.emplace(comm, machine_here(backend, 1), options);
  }

  /// Adds a number to the density of a cell at rest.
  void spoil(const Extent& cell, double value) {
    const bool moments = std::get<2>(GetParam()).moments;
    Field& field = run->field(to_string(options.representation));
    const Box box{cell, {cell[0] + 1, cell[1] + 1, cell[2] + 1}};
    std::vector<double> f64(moments ? 10 : 19, 0);
    f64[moments ? 0 : 5] = value;
    const std::vector<float> f32(f64.begin(), f64.end());
    std::vector<Half> f16(f32.size());
    if (moments)
      lbm::store_moments<lbm::StoredMomentsF16>(f16.data(), 1, {f32[0], 0, 0, 0, 0, 0, 0, 0, 0, 0});
    else
      std::transform(f32.begin(), f32.end(), f16.begin(), [](float one) { return lbm::StoredF16::store(one); });
    field.write(box, options.precision == DType::f16   ? static_cast<const void*>(f16.data())
                     : options.precision == DType::f32 ? static_cast<const void*>(f32.data())
                                                       : f64.data());
  }
  /// The finding that advance() throws, the same on all ranks.
  std::optional<Finding> finding(std::int64_t steps) {
    try {
      run->advance(steps);
    } catch (const Diverged& diverged) {
      for (const std::string& other : comm.all_gather(std::string(diverged.what()))) EXPECT_EQ(other, diverged.what());
      return diverged.finding;
    }
    return {};
  }
  GuardOptions every(std::int64_t steps) const {
    GuardOptions o;
    o.every = steps;
    o.ranges["density"] = {0.5, 2};
    o.spacing = {0.5, 0.5, 0.5};
    return o;
  }

  Communicator comm;
  lbm::Options options;
  std::optional<Lbm> run;
};

TEST_P(GuardOnRanks, LetsASoundRunPass) {
  run->time_loop().guard(comm, every(2));
  EXPECT_FALSE(finding(9));
  run->time_loop().inspect();
}

TEST_P(GuardOnRanks, NamesTheCellItsPositionAndItsRank) {
  run->time_loop().guard(comm, every(1000));
  for (const Extent& cell : {Extent{0, 0, 0}, Extent{12, 11, 10}, Extent{6, 5, 3}}) {
    spoil(cell, 1.5);
    std::optional<Finding> found;
    try {
      run->time_loop().inspect();
    } catch (const Diverged& diverged) {
      found = diverged.finding;
      expect_error(Error(diverged), ErrorCode::diverged,
                   {{"quantity", "density"}, {"value", 2.5}, {"step", 0}, {"rank", found->rank}});
    }
    ASSERT_TRUE(found);
    EXPECT_EQ(found->cell, cell);
    EXPECT_EQ(found->quantity, "density");
    EXPECT_EQ(found->value, 2.5);
    EXPECT_EQ(found->position[1], (static_cast<double>(cell[1]) + 0.5) / 2);
    const Grid& grid = run->grid();
    EXPECT_EQ(found->rank, grid.block(grid.overlapping({cell, {cell[0] + 1, cell[1] + 1, cell[2] + 1}}).front()).rank);
    spoil(cell, 0);
  }
  run->time_loop().inspect();
}

TEST_P(GuardOnRanks, FindsWhatIsNoNumberAtTheStepOfItsInspection) {
  run->time_loop().guard(comm, every(4));
  EXPECT_FALSE(finding(3));
  spoil({3, 4, 5}, std::numeric_limits<double>::quiet_NaN());
  const auto found = finding(50);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 4);
  EXPECT_TRUE(std::isnan(found->value));
  EXPECT_EQ(run->state().step, 8) << "it stops at the next inspection, not at the end";
}

TEST_P(GuardOnRanks, FindsInfinity) {
  GuardOptions o;
  o.every = 1;
  run->time_loop().guard(comm, o);
  spoil({3, 4, 5}, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(finding(1));
}

TEST_P(GuardOnRanks, ChangesNoBit) {
  const auto sum = [&] { return run->excess_mass(); };
  spoil({3, 4, 5}, 0.25);
  run->advance(6);
  const double without = sum();
  run.emplace(comm, machine_here(std::get<0>(GetParam()), 1), options);
  spoil({3, 4, 5}, 0.25);
  run->time_loop().guard(comm, every(1));
  EXPECT_FALSE(finding(6));
  EXPECT_EQ(sum(), without);
}

INSTANTIATE_TEST_SUITE_P(
    Guard, GuardOnRanks,
    testing::Combine(testing::ValuesIn(backends_here()), testing::Values(DType::f16, DType::f32, DType::f64),
                     testing::Values(Held{"soa_two"}, Held{"aos_two", Layout::aos}, Held{"soa_z_two", Layout::soa_z},
                                     Held{"soa_in_place", Layout::soa, lbm::Streaming::in_place},
                                     Held{"aos_in_place", Layout::aos, lbm::Streaming::in_place},
                                     Held{"soa_z_in_place", Layout::soa_z, lbm::Streaming::in_place},
                                     Held{.name = "moments", .moments = true})),
    [](const auto& info) {
      return to_string(std::get<0>(info.param)) + "_" + to_string(std::get<1>(info.param)) + "_" +
             std::get<2>(info.param).name;
    });

TEST(Guard, RefusesRangesOfWhatNobodyWatches) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  const Grid grid({16, 16, 16}, machine, comm.rank());
  const Field field(grid, {.name = "f"});
  GuardOptions options;
  options.ranges["pressure"] = {0, 1};
  expect_error(
      [&] {
        Guard(comm, {{"density", &field}, {"f", &field}}, options);
      },
      ErrorCode::not_found, {{"quantity", "pressure"}, {"choices", "density, f"}});
}

/// The devices alone complete messages by these routes, so the host must ask them for values too large for the coding.
TEST(Guard, TellsOfAValueThatWasTooLargeForItsCodingBeforeWhatBecameOfIt) {
  const Communicator comm = Communicator::world();
  lbm::Options options;
  options.cells = {13, 12, 11};
  options.periodic = {true, true, true};
  options.viscosity = 0.02;
  options.precision = DType::f32;
  options.coding = coding_from_string("cast");
  options.exchange.routes = {RouteKind::kernel, RouteKind::direct};
  Lbm run(comm, machine_here(Backend::host, 2), options);
  GuardOptions every_four;
  every_four.every = 4;
  run.time_loop().guard(comm, every_four);
  run.advance(4);
  std::vector<float> large(19, 1e6F);
  for (std::int64_t x = 0; x < 13; ++x)
    for (std::int64_t y = 0; y < 12; ++y)
      for (std::int64_t z = 0; z < 11; ++z)
        run.field(to_string(options.representation)).write({{x, y, z}, {x + 1, y + 1, z + 1}}, large.data());
  const auto error = error_of([&] { run.advance(50); });
  expect_error(error, ErrorCode::overflow, {{"coding", "cast"}});
  const std::string said = error ? error->what() : "";
  for (const std::string& other : comm.all_gather(said)) EXPECT_EQ(other, said);
  EXPECT_LE(run.state().step, 12);
}

/// A Simulation without guard support.
class Plain final : public Simulation {
 public:
  explicit Plain(const Grid& grid) : field(grid, {.name = "u", .type = DType::f64, .components = 2}) {
    of_state.fields["u"] = &field;
    for (const std::int64_t id : grid.local())
      if (all.empty() || !(all.back() == field.device(id))) all.push_back(field.device(id));
  }
  State& state() override { return of_state; }
  const std::vector<Device>& devices() const override { return all; }
  const Tasks& tasks() const override { return none; }
  void finish_step() override { ++of_state.step; }
  Field field;
  State of_state;
  std::vector<Device> all;
  Tasks none;
};

TEST(Guard, ServesASimulationThatSaysNothingOfIt) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  const Grid grid({16, 8, 8}, machine, comm.rank());
  Plain plain(grid);
  TimeLoop loop(plain, Overlap::off);
  GuardOptions options;
  options.every = 3;
  loop.guard(comm, options);
  loop.run(5);
  const std::array<double, 2> values{0, std::nan("")};
  plain.field.write({{9, 2, 1}, {10, 3, 2}}, values.data());
  expect_error([&] { loop.run(5); }, ErrorCode::diverged,
               {{"quantity", "u"}, {"value", std::nan("")}, {"step", 6}, {"cell", "(9, 2, 1)"}});
}

}  // namespace
}  // namespace slipstream
