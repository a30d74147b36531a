// An option that differs on one rank is an error on all ranks if messages depend on it.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

/// All arguments of an exchange.
struct Asked {
  FieldOptions field;
  ExchangeOptions options;
  bool rebinds = false;
  Coding coding = {};
};

struct Change {
  std::string name;
  std::function<void(Asked&)> make;
};

const std::vector<Change>& changes() {
  static const std::vector<Change> all{
      {"pack", [](Asked& a) { a.options.knobs.pack = Pack::per_direction; }},
      {"streams", [](Asked& a) { a.options.knobs.streams = Lanes::one; }},
      {"grouping", [](Asked& a) { a.options.knobs.grouping = Grouping::nodes; }},
      {"mpi", [](Asked& a) { a.options.knobs.mpi = MpiCalls::alltoallv; }},
      {"sync", [](Asked& a) { a.options.knobs.sync = true; }},
      {"in_place", [](Asked& a) { a.options.knobs.in_place = 0; }},
      {"sealed", [](Asked& a) { a.options.knobs.sealed = 0; }},
      {"chunk", [](Asked& a) { a.options.knobs.chunk = 256; }},
      {"ring", [](Asked& a) { a.options.knobs.ring = 1024; }},
      {"routes",
       [](Asked& a) {
         a.options.routes = {RouteKind::kernel, RouteKind::staged};
       }},
      {"chosen",
       [](Asked& a) {
         a.options.chosen[{0, 1}] = RouteKind::staged;
       }},
      {"throttle", [](Asked& a) { a.options.throttle = throttle_from_string("1GB/s"); }},
      {"measure_errors", [](Asked& a) { a.options.measure_errors = true; }},
      {"poison", [](Asked& a) { a.options.poison = true; }},
      {"rebinds", [](Asked& a) { a.rebinds = true; }},
      {"coding", [](Asked& a) { a.coding = coding_from_string("cast"); }},
      {"type", [](Asked& a) { a.field.type = DType::i64; }},
      {"layout", [](Asked& a) { a.field.layout = Layout::aos; }},
      {"ghost",
       [](Asked& a) {
         a.field.ghost = {2, 1, 1};
       }},
      {"alignment", [](Asked& a) { a.field.alignment = 8; }},
      {"padding",
       [](Asked& a) {
         a.field.padding = {0, 1, 0};
       }},
      {"copies", [](Asked& a) { a.field.copies = 2; }},
      {"shared", [](Asked& a) { a.field.shared = false; }},
  };
  return all;
}

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

TEST_P(SameOptions, OnOneRankAloneAreAnErrorOnAll) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  if (comm.rank() == 1) changes()[GetParam()].make(asked);
  expect_error(exchange(), ErrorCode::mismatch, {{"rank", 1}});
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
