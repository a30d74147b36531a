// Patterns with transfers listed by the user: invalid ones are errors on all ranks, and empty ones are omitted.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include <slipstream/tuner.hpp>

#include <slipstream/device/host/launch.hpp>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"
#include "support/listed_pattern.hpp"

namespace slipstream {
namespace {

/// Two devices per rank, each with a block of 8 x 8 x 4 cells; transfers connect the first and the last.
struct Slabs {
  Slabs() {
    FieldOptions options;
    options.name = "u";
    options.type = DType::f64;
    options.ghost = {1, 1, 1};
    options.shared = true;
    u.emplace(grid, options);
  }
  GridOptions slabs() const {
    GridOptions options;
    options.boxes = dealt_blocks({8, 8, 4 * machine.devices()}, {1, 1, machine.devices()}, machine.devices());
    return options;
  }
  Communicator comm = Communicator::world();
  Machine machine = machine_here(Backend::host, 2);
  std::int64_t last = machine.devices() - 1;
  Grid grid{{8, 8, 4 * machine.devices()}, machine, comm.rank(), slabs()};
  std::optional<Field> u;
  const IndexSet plane = cells_of({{0, 0, 0}, {8, 8, 1}});
};

class ListedRefuses : public testing::Test, protected Slabs {
 protected:
  void expect_refused(const std::vector<Transfer>& transfers, const Facts& facts) {
    const Listed pattern(transfers);
    for (const bool tuned : {false, true}) {
      const auto error = error_of([&] {
        if (tuned)
          tune(comm, grid, {{&pattern, &*u}}, {}, {});
        else
          Exchange(comm, grid, {{&pattern, &*u}});
      });
      EXPECT_TRUE(comm.all(error.has_value())) << "tuned: " << tuned;
      expect_error(error, ErrorCode::invalid_argument, facts);
    }
  }
};

TEST_F(ListedRefuses, WhatLeavesItsBlock) {
  const Fact pattern{"pattern", "listed"}, from{"source_block", 0}, to{"target_block", last};
  const IndexSet beyond = cells_of({{0, 0, 1000000}, {8, 8, 1000001}});
  expect_refused({{0, last, plane, beyond}}, {pattern, from, to, {"end", "target"}, {"problem", "cells"}});
  expect_refused({{0, last, beyond, plane}}, {pattern, from, to, {"end", "source"}, {"problem", "cells"}});
  expect_refused({{0, last, plane, cells_of(plane.box, {77})}},
                 {pattern, from, to, {"problem", "component"}, {"given", 77}, {"limit", 1}});
  expect_refused({{0, last, elements_of({0}), elements_of({1 << 30})}},
                 {pattern, from, to, {"end", "target"}, {"problem", "element"}, {"given", 1073741824}});
  expect_refused({{0, 99, plane, plane}}, {pattern, {"target_block", 99}, {"end", "target"}, {"problem", "block"}});
}

TEST_F(ListedRefuses, TwoThatCopyToOneValue) {
  const Listed pattern({{0, last, plane, plane}, {1, last, plane, plane}});
  const auto error = error_of([&] { Exchange(comm, grid, {{&pattern, &*u}}); });
  EXPECT_TRUE(comm.all(error.has_value()));
  expect_error(error, ErrorCode::unsupported,
               {{"pattern", "listed"},
                {"source_block", 0},
                {"target_block", last},
                {"field", "u"},
                {"place", "cell (0, 0, 0)"}});
}

TEST_F(ListedRefuses, WhatOneRankAloneLists) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const Listed pattern(comm.rank() == 0 ? std::vector<Transfer>{{0, last, plane, plane}} : std::vector<Transfer>{});
  const auto error = error_of([&] { Exchange(comm, grid, {{&pattern, &*u}}); });
  EXPECT_TRUE(comm.all(error.has_value()));
  expect_error(error, ErrorCode::mismatch);
  EXPECT_NE(error->fact("device"), error->fact("peer"));
}

/// If an empty message counted as a reply, receive buffers would be reused before they are read.
TEST(ListedTransfers, OfNoValuesAreNoAnswer) {
  Slabs s;
  const IndexSet nothing = cells_of({{0, 0, 0}, {8, 8, 0}});
  const Listed pattern({{0, s.last, s.plane, s.plane}, {s.last, 0, nothing, nothing}});
  for (const std::int64_t packet_limit : {-1, 0}) {
    ExchangeOptions options;
    options.routes = {RouteKind::kernel, RouteKind::direct};
    options.knobs.packet_limit = packet_limit;
    options.knobs.in_place = 0;
    Exchange exchange(s.comm, s.grid, {{&pattern, &*s.u}}, options);
    for (const MessageInfo& message : exchange.messages()) EXPECT_EQ(message.source, 0);
    std::vector<Stream> streams = streams_of(s.grid);
    const bool sends = s.grid.block(0).rank == s.comm.rank(), receives = s.grid.block(s.last).rank == s.comm.rank();
    std::vector<double> found;
    const auto first_cell = [&](std::int64_t block) { return s.u->view<double>(block).origin; };
    for (int round = 1; round <= 5; ++round) {
      if (sends) detail::submit(streams.front().impl(), [at = first_cell(0), round] { *at = round; });
      const auto late = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
      if (receives) detail::submit(streams.back().impl(), late);
      exchange.run(streams);
      if (!receives) continue;
      detail::submit(streams.back().impl(), [=, &found, at = first_cell(s.last)] {
        late();
        found.push_back(*at);
      });
    }
    finish(streams);
    exchange.check();
    if (receives) {
      EXPECT_EQ(found, (std::vector<double>{1, 2, 3, 4, 5})) << "packet_limit " << packet_limit;
    }
    s.comm.barrier();
  }
}

}  // namespace
}  // namespace slipstream
