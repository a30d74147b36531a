// An option that differs on one rank is an error on all ranks if messages depend on it.
#include <gtest/gtest.h>

#include <optional>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"
#include "support/option_changes.hpp"

namespace slipstream {
namespace {

class OptionsOfRanks : public testing::Test {
 protected:
  OptionsOfRanks() {
    GridOptions periodic;
    periodic.periodic = {true, true, true};
    grid.emplace(Extent{8, 6, 4 * machine.devices()}, machine, comm.rank(), periodic);
    asked.field.name = "u";
    asked.field.type = DType::f64;
    asked.field.components = 2;
    asked.field.ghost = {1, 1, 1};
    asked.field.shared = true;
    asked.options.wait_limit = 5;
  }
  std::optional<Error> exchange() {
    Field u(*grid, asked.field);
    ExchangeItem item{&halo, &u};
    item.rebinds = asked.rebinds;
    item.coding = asked.coding;
    return error_of([&] {
      Exchange made(comm, *grid, {item}, asked.options);
      std::vector<Stream> streams = streams_of(*grid);
      for (const int round : {0, 1}) exchange_once(made, streams, round);
    });
  }

  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1, 0);
  const Halo halo{Halo::Options{}};
  std::optional<Grid> grid;
  Asked asked;
};

class SameOptions : public OptionsOfRanks, public testing::WithParamInterface<std::size_t> {};

/// Each option changes the hash that ranks compare; see PlanHash of the unit tests.
TEST_F(OptionsOfRanks, OneThatOneRankAloneChangesIsAnErrorOnAll) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  if (comm.rank() == 1) changes().front().make(asked);
  expect_error(exchange(), ErrorCode::mismatch, {{"rank", 1}});
}

TEST_F(OptionsOfRanks, ARouteThatOneEndAloneChoosesIsAnErrorOnAll) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  if (comm.rank() == 1) asked.options.chosen[{0, 1}] = RouteKind::staged;
  expect_error(exchange(), ErrorCode::mismatch, {{"device", 0}, {"peer", 1}, {"problem", "route"}});
}

TEST_P(SameOptions, OnAllRanksMakeAnExchangeOrOneErrorOnAll) {
  changes()[GetParam()].make(asked);
  const bool made = !exchange();
  EXPECT_EQ(comm.all(made), !comm.all(!made)) << "one rank made it, another did not";
}

TEST_F(OptionsOfRanks, TeamsAndLimitsOfWaitsMayDiffer) {
  if (comm.rank() == 1) {
    asked.options.knobs.teams = 1;
    asked.options.wait_limit = 6;
  }
  EXPECT_FALSE(exchange());
}

INSTANTIATE_TEST_SUITE_P(Options, SameOptions, testing::Range<std::size_t>(0, changes().size()),
                         [](const auto& info) { return changes()[info.param].name; });

}  // namespace
}  // namespace slipstream
