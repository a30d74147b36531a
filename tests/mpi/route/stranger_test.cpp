// A route defined outside of the library: it is complete in this file and registers only through its KnownRoute.
#include <gtest/gtest.h>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

#include "route/copy_ends.hpp"

namespace slipstream {
namespace {

/// A route that packs, copies and unpacks between any two devices of a node.
class StrangersRoute final : public CopyRoute {
 public:
  StrangersRoute() : CopyRoute(static_cast<RouteKind>(40), "stranger", {.streams = true}) {}
  std::string refusal(const Pair& pair) const override {
    if (pair.same_device) return "the blocks lie on one device";
    return pair.same_node && pair.peer ? "" : "the devices are strangers";
  }
};

const StrangersRoute strangers_route;

TEST(StrangersRoute, IsKnownWhileItsFileSaysSo) {
  const auto named = [] { return route_from_string("stranger"); };
  const std::vector<RouteKind> before = all_routes();
  expect_error(named, ErrorCode::invalid_argument, {{"option", "route"}, {"given", "stranger"}});
  {
    const KnownRoute known(strangers_route);
    EXPECT_EQ(named(), strangers_route.kind());
    EXPECT_EQ(to_string(strangers_route.kind()), "stranger");
    EXPECT_EQ(all_routes().back(), strangers_route.kind());  // the automatic choice prefers all built-in routes
    EXPECT_EQ(routes_from_string("-stranger"), before);
    EXPECT_TRUE(traits_of(strangers_route.kind()).streams);
    expect_error([] { KnownRoute again(strangers_route); }, ErrorCode::internal);
  }
  EXPECT_EQ(all_routes(), before);
  expect_error(named, ErrorCode::invalid_argument);
}

TEST(StrangersRoute, BringsGhostsToDevicesOfARankAndOfOthers) {
  const KnownRoute known(strangers_route);
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 2);
  GridOptions periodic;
  periodic.periodic = {true, true, true};
  const Grid grid({8 * machine.devices(), 9, 7}, machine, comm.rank(), periodic);
  FieldOptions options;
  options.name = "u";
  options.type = DType::f64;
  options.ghost = {2, 1, 1};
  options.shared = true;
  Field field(grid, options);
  const auto value = [&](const Extent& p, const Box& box, int round) {
    double sum = 0.5 * round;
    for (int a = 2; a >= 0; --a)
      sum = 100 * sum + static_cast<double>((box.lo[a] + p[a] + grid.extent()[a]) % grid.extent()[a]);
    return sum;
  };
  const Halo halo({.low = {2, 1, 1}, .high = {2, 1, 1}});
  ExchangeOptions how;
  how.routes = routes_from_string("kernel,stranger");
  Exchange exchange(comm, grid, {{&halo, &field}}, how);
  const auto by_stranger = [](const MessageInfo& m) { return m.route == strangers_route.kind(); };
  for (const MessageInfo& m : exchange.messages()) EXPECT_EQ(by_stranger(m), m.source != m.target);
  EXPECT_FALSE(exchange.needs_host());
  std::vector<Stream> streams = streams_of(grid);
  for (int round = 0; round < 3; ++round) {
    for (const std::int64_t id : grid.local()) {
      const Box& box = grid.block(id).box;
      std::vector<double> values(static_cast<std::size_t>(field.shape(id).elements), -1);
      each_in(field.shape(id), {{{0, 0, 0}, box.extents()}, {0}, nullptr}, [&](const Extent& p, int, std::int64_t at) {
        values[static_cast<std::size_t>(at)] = value(p, box, round);
      });
      set_array(field, id, values);
    }
    exchange_once(exchange, streams, round);
    for (const std::int64_t id : grid.local()) {
      const Box& box = grid.block(id).box;
      const std::vector<double> have = array_of<double>(field, id);
      each_in(field.shape(id), everything(box.extents(), options), [&](const Extent& p, int, std::int64_t at) {
        ASSERT_EQ(have[static_cast<std::size_t>(at)], value(p, box, round)) << "block " << id;
      });
    }
  }
}

}  // namespace
}  // namespace slipstream
