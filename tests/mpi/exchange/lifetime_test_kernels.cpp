// Lifetimes of an exchange and of the work that it queued.
#include <gtest/gtest.h>

#include <optional>

#include <slipstream/block_sums.hpp>
#include <slipstream/gather_scatter.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

#include "route/route.hpp"
#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"
#include "support/on_devices.hpp"
#include "support/pause.hpp"

namespace slipstream {
inline namespace lifetime_test_kernels {

class Lifetime : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  static inline const std::vector<Way> ways = all_ways();

  /// Makes an exchange. Returns why it is unavailable; empty on success.
  std::string make() {
    const Backend backend = std::get<0>(GetParam());
    const Way& way = ways[std::get<1>(GetParam())];
    if (auto why = unavailable(backend, way); !why.empty()) return why;
    const Communicator comm = Communicator::world();
    const Machine machine = machine_here(backend, way);
    GridOptions grid_options;
    grid_options.periodic = {true, true, true};
    grid.emplace(Extent{16, 12, 10}, machine, comm.rank(), grid_options);
    FieldOptions field_options;
    field_options.ghost = {1, 1, 1};
    field_options.shared = true;
    ExchangeOptions options;
    options.routes = way.routes;
    options.knobs.grouping = way.grouping;
    if (auto why = refusal_of(*grid, {{&halo, field_options}}, options); !why.empty()) return why;
    field.emplace(*grid, field_options);
    streams = streams_of(*grid);
    exchange.emplace(comm, *grid, std::vector<ExchangeItem>{{&halo, &*field}}, options);
    return {};
  }

  /// Captures the exchange's begin() and end() as one graph per stream.
  std::vector<Graph> captured() {
    for (Stream& stream : streams) stream.begin_capture();
    exchange->begin(streams);
    exchange->end(streams);
    std::vector<Graph> graphs;
    for (Stream& stream : streams) graphs.push_back(stream.end_capture());
    return graphs;
  }

  const Halo halo{Halo::Options{}};
  std::optional<Grid> grid;
  std::optional<Field> field;
  std::vector<Stream> streams;
  std::optional<Exchange> exchange;
};

TEST_P(Lifetime, AnExchangeEndsAfterWhatItsRunQueuedOnTheCallersStreams) {
  if (const auto why = make(); !why.empty()) GTEST_SKIP() << why;
  pause(streams, 50'000'000);
  exchange->run(streams);
  exchange.reset();
  for (const Stream& stream : streams) EXPECT_TRUE(stream.idle()) << to_string(stream.device());
}

TEST_P(Lifetime, AnExchangeEndsAfterReplaysOfItsBeginAndEnd) {
  if (const auto why = make(); !why.empty()) GTEST_SKIP() << why;
  if (!exchange->capturable()) GTEST_SKIP() << "the host drives this route";
  const std::vector<Graph> graphs = captured();
  for (int n = 0; n < 3; ++n)
    for (std::size_t i = 0; i < streams.size(); ++i) graphs[i].launch(streams[i]);
  exchange.reset();
  for (const Stream& stream : streams) EXPECT_TRUE(stream.idle()) << to_string(stream.device());
}

TEST_P(Lifetime, AnotherExchangeRunsWhileGraphsOfTheFirstLiveAndWhenTheyAreGone) {
  if (const auto why = make(); !why.empty()) GTEST_SKIP() << why;
  if (!exchange->capturable()) GTEST_SKIP() << "the host drives this route";
  std::vector<Graph> graphs = captured();
  for (std::size_t i = 0; i < streams.size(); ++i) graphs[i].launch(streams[i]);
  exchange.reset();
  for (const bool live : {true, false}) {
    if (!live) graphs.clear();
    ASSERT_EQ(make(), "");
    exchange->run(streams);
    exchange.reset();
  }
}

/// A graph captured from a destroyed exchange must not run again: it would store into memory of the next exchange.
TEST_P(Lifetime, AGraphIsNotReplayedAfterTheEndOfItsExchange) {
  if (const auto why = make(); !why.empty()) GTEST_SKIP() << why;
  if (!exchange->capturable()) GTEST_SKIP() << "the host drives this route";
  const std::vector<Graph> graphs = captured();
  for (std::size_t i = 0; i < streams.size(); ++i) graphs[i].launch(streams[i]);
  exchange.reset();
  std::vector<Stream> first;
  first.swap(streams);
  ASSERT_EQ(make(), "");
  for (std::size_t i = 0; i < first.size(); ++i)
    expect_error([&] { graphs[i].launch(first[i]); }, ErrorCode::wrong_state, {{"holds", "an exchange"}});
  for (const Stream& stream : first) EXPECT_TRUE(stream.idle()) << to_string(stream.device());
  for (const int round : {0, 1}) exchange_once(*exchange, streams, round);
}

TEST_P(Lifetime, IsRepeatedWithinAGraphWhereItsRoutesSayThatTheyAre) {
  if (const auto why = make(); !why.empty()) GTEST_SKIP() << why;
  bool said = true;
  for (const MessageInfo& message : exchange->messages())
    for (const auto& [question, answer] : route(message.route).capability())
      if (question == "repeated within a graph") said &= answer == "yes";
  EXPECT_EQ(exchange->loopable(), Communicator::world().all(said));
}

/// A graph that repeats a captured exchange in a loop cannot be launched any more after the exchange is destroyed.
TEST_P(Lifetime, ALoopIsNotReplayedAfterTheEndOfItsExchange) {
  if (const auto why = make(); !why.empty()) GTEST_SKIP() << why;
  if (!exchange->loopable()) GTEST_SKIP() << "this route cannot be repeated";
  std::vector<Buffer<std::int32_t>> again;
  std::vector<Graph> loops;
  const std::vector<Graph> graphs = captured();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    again.emplace_back(streams[i].device(), 1);
    fill(streams[i], again.back().data(), 0, again.back().bytes());
    loops.push_back(repeat(streams[i].device(), graphs[i], again.back().data()));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) loops[i].launch(streams[i]);
  for (Stream& stream : streams) stream.synchronize();
  exchange.reset();
  for (std::size_t i = 0; i < streams.size(); ++i)
    expect_error([&] { loops[i].launch(streams[i]); }, ErrorCode::wrong_state, {{"holds", "an exchange"}});
}

INSTANTIATE_TEST_SUITE_P(Routes, Lifetime,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size())),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" + all_ways()[std::get<1>(info.param)].name;
                         });

/// Lifetimes of gather-scatters and block sums within devices, also with one device and no message.
class LifetimeOfSums : public OnDevices {
 protected:
  void SetUp() override {
    OnDevices::SetUp();
    if (IsSkipped()) return;
    here.emplace(machine());
    const std::vector<int> devices = here->devices_of_rank(comm.rank());
    std::vector<SharedPoints> points;
    std::vector<std::vector<std::int64_t>> blocks;
    for (const int device : devices) {
      points.push_back({ids, 2 * device, 2});
      blocks.push_back({2 * device, 2 * device + 1});
      streams.emplace_back(here->device(device).local);
      values.emplace_back(streams.back().device(), ids.size());
      results.emplace_back(streams.back().device(), 1);
      fill(streams.back(), values.back().data(), 0, values.back().bytes());
      streams.back().synchronize();
      arrays.push_back({values.back().data(), 0});
      parts.push_back(values.back().data());
      sums.push_back(results.back().data());
    }
    gather_scatter.emplace(comm, *here, points);
    block_sums.emplace(comm, *here, blocks);
    run();
    for (Stream& stream : streams) stream.synchronize();
  }

  void run() {
    gather_scatter->run(streams, arrays);
    block_sums->run(streams, parts, sums);
  }

  const std::vector<std::int64_t> ids{1, 2, 2, 3};
  std::optional<Machine> here;
  std::vector<Stream> streams;
  std::vector<Buffer<double>> values, results;
  std::vector<GatherScatter::Array> arrays;
  std::vector<const double*> parts;
  std::vector<double*> sums;
  std::optional<GatherScatter> gather_scatter;
  std::optional<BlockSums> block_sums;
};

TEST_P(LifetimeOfSums, AGatherScatterEndsAfterWhatItQueued) {
  pause(streams, 50'000'000);
  gather_scatter->run(streams, arrays);
  gather_scatter.reset();
  for (const Stream& stream : streams) EXPECT_TRUE(stream.idle()) << to_string(stream.device());
}

TEST_P(LifetimeOfSums, ASumOverBlocksEndsAfterWhatItQueued) {
  pause(streams, 50'000'000);
  block_sums->run(streams, parts, sums);
  block_sums.reset();
  for (const Stream& stream : streams) EXPECT_TRUE(stream.idle()) << to_string(stream.device());
}

TEST_P(LifetimeOfSums, AGraphIsNotReplayedAfterTheirEnd) {
  if (gather_scatter->exchange() && !gather_scatter->exchange()->capturable()) GTEST_SKIP() << "driven by the host";
  const auto refused = [&](const auto& record, const auto& end, const std::string& what) {
    for (Stream& stream : streams) stream.begin_capture();
    record();
    std::vector<Graph> graphs;
    for (Stream& stream : streams) graphs.push_back(stream.end_capture());
    for (std::size_t i = 0; i < streams.size(); ++i) graphs[i].launch(streams[i]);
    end();
    for (std::size_t i = 0; i < streams.size(); ++i) {
      EXPECT_TRUE(streams[i].idle());
      expect_error([&] { graphs[i].launch(streams[i]); }, ErrorCode::wrong_state, {{"holds", what}});
    }
  };
  refused([&] { gather_scatter->run(streams, arrays); }, [&] { gather_scatter.reset(); }, "a gather-scatter");
  if (!block_sums->capturable()) GTEST_SKIP() << "the host adds up what devices have";
  refused([&] { block_sums->run(streams, parts, sums); }, [&] { block_sums.reset(); }, "a sum over blocks");
}

INSTANTIATE_TEST_SUITE_P(Backends, LifetimeOfSums,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2)), OnDevices::name);

}  // namespace lifetime_test_kernels
}  // namespace slipstream
