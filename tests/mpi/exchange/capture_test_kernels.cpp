// Exchanges in a captured step: same values as without capture, and an error where capture is impossible.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include <slipstream/launch.hpp>

#include "device/faults.hpp"
#include "exchange/plan.hpp"
#include "route/route.hpp"
#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
inline namespace capture_test_kernels {

/// Averages each interior cell with its neighbours, so that a stale ghost has a lasting effect.
struct Mean {
  View<double> from, to;
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = i * from.stride[0] + j * from.stride[1] + k * from.stride[2];
    double sum = from.origin[at];
    for (int a = 0; a < 3; ++a) sum += from.origin[at - from.stride[a]] + from.origin[at + from.stride[a]];
    to.origin[at] = sum / 7;
  }
};

struct Assign {
  View<double> from, to;
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = i * from.stride[0] + j * from.stride[1] + k * from.stride[2];
    to.origin[at] = from.origin[at];
  }
};

class Captured : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  static constexpr int steps = 20;
  static inline const std::vector<Way> ways = all_ways();
  Backend backend = std::get<0>(GetParam());
  const Way& way = ways[std::get<1>(GetParam())];
  Communicator comm = Communicator::world();

  /// Creates the grid. Returns why the exchange is unavailable here; empty if it is available.
  std::string lay_out() {
    if (auto missing = unavailable(backend, way); !missing.empty()) return missing;
    const Machine machine = machine_here(backend, way);
    GridOptions grid_options;
    grid_options.periodic = {true, false, true};
    grid_options.partition.blocks_per_device = {2, 1, 1};
    grid.emplace(Extent{20, 14, 12}, machine, comm.rank(), grid_options);
    field_options.name = "values";
    field_options.type = DType::f64;
    field_options.ghost = {1, 1, 1};
    field_options.shared = true;
    options.routes = way.routes;
    options.knobs.grouping = way.grouping;
    return refusal_of(*grid, {{&halo, field_options}}, options);
  }

  void start(Field& field) const {
    for (const std::int64_t id : grid->local()) {
      std::vector<double> values(static_cast<std::size_t>(field.shape(id).elements), 0.5);
      const Box& box = grid->block(id).box;
      each_in(field.shape(id), {{{0, 0, 0}, box.extents()}, {0}, nullptr}, [&](const Extent& p, int, std::int64_t at) {
        values[at] = fraction(scrambled(static_cast<std::uint64_t>(p[0] + box.lo[0]),
                                        static_cast<std::uint64_t>(p[1] + box.lo[1]),
                                        static_cast<std::uint64_t>(p[2] + box.lo[2])));
      });
      set_array(field, id, values);
    }
  }

  template <class Kernel>
  void compute(std::vector<Stream>& streams, const Field& from, const Field& to) const {
    for (const std::int64_t id : grid->local())
      for (Stream& stream : streams)
        if (stream.device() == from.device(id)) {
          const Box box{{0, 0, 0}, from.shape(id).extent};
          launch(stream, box, Kernel{from.view<double>(id), to.view<double>(id)});
        }
  }

  /// One step: exchange of ghost cells (with concurrent work if `split`), mean over adjacent cells, copy to `field`.
  void step(std::vector<Stream>& streams, Exchange& exchange, Field& field, Field& next, Field& other, bool split) {
    if (split) {
      exchange.begin(streams);
      compute<Assign>(streams, other, other);
      exchange.end(streams);
    } else {
      exchange.run(streams);
    }
    compute<Mean>(streams, field, next);
    compute<Assign>(streams, next, field);
  }

  std::vector<std::vector<double>> march(bool split, bool replayed) {
    Field field(*grid, field_options), next(*grid, field_options), other(*grid, field_options);
    start(field);
    start(next);
    start(other);
    Exchange exchange(comm, *grid, {{&halo, &field}}, options);
    EXPECT_TRUE(exchange.capturable());
    std::vector<Stream> streams = streams_of(*grid);
    // Uncaptured exchanges may precede and follow replayed ones.
    step(streams, exchange, field, next, other, split);
    if (replayed) {
      finish(streams);
      for (Stream& stream : streams) stream.begin_capture();
      step(streams, exchange, field, next, other, split);
      std::vector<Graph> graphs;
      for (Stream& stream : streams) graphs.push_back(stream.end_capture());
      for (int n = 0; n < steps; ++n)
        for (std::size_t i = 0; i < streams.size(); ++i) graphs[i].launch(streams[i]);
      finish(streams);
    } else {
      for (int n = 0; n < steps; ++n) step(streams, exchange, field, next, other, split);
    }
    step(streams, exchange, field, next, other, split);
    finish(streams);
    exchange.check();
    std::vector<std::vector<double>> values;
    for (const std::int64_t id : grid->local()) values.push_back(array_of<double>(field, id));
    return values;
  }

  bool can_be_captured() {
    Field field(*grid, field_options);
    return Exchange(comm, *grid, {{&halo, &field}}, options).capturable();
  }

  std::optional<Grid> grid;
  FieldOptions field_options;
  ExchangeOptions options;
  const Halo halo{Halo::Options{}};
};

TEST_P(Captured, AreAllButWhatTheHostDrives) {
  if (const auto why = lay_out(); !why.empty()) GTEST_SKIP() << why;
  Field field(*grid, field_options);
  const Exchange exchange(comm, *grid, {{&halo, &field}}, options);
  const Pairs pairs(grid->machine(), {{&halo, field_options}});
  const auto& messages = exchange.messages();
  EXPECT_EQ(exchange.capturable(), std::all_of(messages.begin(), messages.end(), [&](const auto& m) {
              const bool driven = m.route == RouteKind::staged || m.route == RouteKind::gpu_mpi;
              return !driven && route(m.route).capturable(pairs.of(m.source, m.target));
            }));
}

TEST_P(Captured, RunGivesTheSameValues) {
  if (const auto why = lay_out(); !why.empty()) GTEST_SKIP() << why;
  if (!can_be_captured()) GTEST_SKIP() << "the host drives this route";
  EXPECT_EQ(march(false, true), march(false, false));
}

TEST_P(Captured, BeginComputeEndGivesTheSameValues) {
  if (const auto why = lay_out(); !why.empty()) GTEST_SKIP() << why;
  if (!can_be_captured()) GTEST_SKIP() << "the host drives this route";
  EXPECT_EQ(march(true, true), march(true, false));
}

TEST_P(Captured, SaysWhereWaitsInAGraphHaveNoLimit) {
  if (const auto why = lay_out(); !why.empty()) GTEST_SKIP() << why;
  Field field(*grid, field_options);
  const Exchange exchange(comm, *grid, {{&halo, &field}}, options);
  bool library = false;
  for (const MessageInfo& message : exchange.messages()) library |= message.route == RouteKind::nccl;
  EXPECT_EQ(exchange.limited_in_graphs(), exchange.capturable() && !library);
}

TEST_P(Captured, RefusesRoutesThatTheHostDrives) {
  if (const auto why = lay_out(); !why.empty()) GTEST_SKIP() << why;
  if (can_be_captured()) GTEST_SKIP() << "this route can be captured";
  Field field(*grid, field_options);
  start(field);
  Exchange exchange(comm, *grid, {{&halo, &field}}, options);
  std::vector<Stream> streams = streams_of(*grid);
  for (Stream& stream : streams) stream.begin_capture();
  for (const bool split : {false, true}) {
    expect_error([&] { split ? exchange.begin(streams) : exchange.run(streams); }, ErrorCode::unsupported,
                 {{"problem", "captured"}});
  }
  for (Stream& stream : streams) stream.end_capture();
  exchange.run(streams);  // the exchange still works outside of a capture
  finish(streams);
  EXPECT_EQ(exchange.sequence(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Routes, Captured,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size())),
                         [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

class StreamCapture : public testing::TestWithParam<Backend> {};

TEST_P(StreamCapture, IsTold) {
  Stream stream(Device{GetParam(), 0});
  EXPECT_FALSE(stream.capturing());
  stream.begin_capture();
  EXPECT_TRUE(stream.capturing());
  stream.end_capture();
  EXPECT_FALSE(stream.capturing());
}

/// No launch is expected: for a block that is its own neighbour an empty launch in every step would be measurable.
TEST_P(StreamCapture, OfAnExchangeWithoutMessagesIsEmpty) {
  const Communicator comm = Communicator::world();
  const Grid grid(Extent{8, 8, 16}, machine_here(GetParam(), Way{}), comm.rank(), GridOptions{});
  FieldOptions none;
  none.type = DType::f64;
  Field field(grid, none);
  Halo::Options layers;
  layers.low = layers.high = {0, 0, 0};
  const Halo halo{layers};
  Exchange exchange(comm, grid, {{&halo, &field}}, ExchangeOptions{});
  std::vector<Stream> streams = streams_of(grid);
  for (Stream& stream : streams) stream.begin_capture();
  exchange.run(streams);
  for (Stream& stream : streams) EXPECT_EQ(stream.end_capture().nodes(), 0u);
  exchange_once(exchange, streams, 0);
  EXPECT_EQ(exchange.sequence(), 2u);
}

/// run() records the exchange at its first use, and this capture fails.
TEST_P(StreamCapture, ThatFailsLeavesAnExchangeThatCanBeRun) {
  if (const auto why = unavailable(GetParam(), 2); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  const Grid grid(Extent{8, 8, 16}, machine_here(GetParam(), 2), comm.rank(), GridOptions{});
  FieldOptions values;
  values.type = DType::f64;
  values.ghost = {1, 1, 1};
  values.shared = true;
  Field field(grid, values);
  const Halo halo{Halo::Options{}};
  ExchangeOptions options;
  options.routes = {RouteKind::kernel, RouteKind::peer, RouteKind::colocated};
  faults::hold(faults::Lane::departure, [](Stream& stream) {
    require(!stream.capturing(), ErrorCode::unsupported, "cannot be recorded", {{"test", "departure"}});
  });
  Exchange exchange(comm, grid, {{&halo, &field}}, options);
  std::vector<Stream> streams = streams_of(grid);
  expect_error([&] { exchange.run(streams); }, ErrorCode::unsupported, {{"test", "departure"}});
  faults::hold(faults::Lane::departure, {});
  for (const int round : {0, 1, 2}) exchange_once(exchange, streams, round);
  EXPECT_EQ(exchange.sequence(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Backends, StreamCapture, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace capture_test_kernels
}  // namespace slipstream
