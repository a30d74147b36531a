// What must outlive what: an exchange and the work that it queued.
#include <gtest/gtest.h>

#include <optional>

#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

/// Keeps a stream busy for a while.
struct Delay {
  std::uint64_t nanoseconds;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const std::uint64_t wanted = nanoseconds;
    team.each([wanted](int) {
      const std::uint64_t start = clock_ns();
      for (int round = 0; clock_ns() - start < wanted; ++round) backoff(round);
    });
  }
};

class Lifetime : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  static inline const std::vector<Way> ways = all_ways();

  /// Makes an exchange. Why there is none; empty where there is.
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

  /// A graph for each stream, of begin and end.
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
  for (Stream& stream : streams) launch_teams(stream, 1, 1, 0, Delay{50'000'000});
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

/// The memory that it would store to is the second exchange's.
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
    EXPECT_NE(error_of([&] { graphs[i].launch(first[i]); }).find("holds an exchange was launched after the end of it"),
              std::string::npos);
  for (const Stream& stream : first) EXPECT_TRUE(stream.idle()) << to_string(stream.device());
  for (const int round : {0, 1}) exchange_once(*exchange, streams, round);
}

/// Nor within a graph that repeats it.
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
    EXPECT_NE(error_of([&] { loops[i].launch(streams[i]); }).find("after the end of it"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Routes, Lifetime,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size())),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" + all_ways()[std::get<1>(info.param)].name;
                         });

}  // namespace
}  // namespace slipstream
