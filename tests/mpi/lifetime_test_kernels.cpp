// What must outlive what: an exchange and the work that it queued.
#include <gtest/gtest.h>

#include <optional>

#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

#include "../support/exchange_rig.hpp"

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
};

TEST_P(Lifetime, AnExchangeEndsAfterWhatItsRunQueuedOnTheCallersStreams) {
  const Backend backend = std::get<0>(GetParam());
  const Way& way = ways[std::get<1>(GetParam())];
  if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, way);
  GridOptions grid_options;
  grid_options.periodic = {true, true, true};
  const Grid grid({16, 12, 10}, machine, comm.rank(), grid_options);
  FieldOptions field_options;
  field_options.ghost = {1, 1, 1};
  field_options.shared = true;
  const Halo halo(Halo::Options{});
  ExchangeOptions options;
  options.routes = way.routes;
  options.knobs.grouping = way.grouping;
  if (const auto why = refusal_of(grid, {{&halo, field_options}}, options); !why.empty()) GTEST_SKIP() << why;
  Field field(grid, field_options);
  std::vector<Stream> streams;
  for (const int device : machine.devices_of_rank(comm.rank())) streams.emplace_back(machine.device(device).local);
  std::optional<Exchange> exchange(std::in_place, comm, grid, std::vector<ExchangeItem>{{&halo, &field}}, options);
  for (Stream& stream : streams) launch_teams(stream, 1, 1, 0, Delay{50'000'000});
  exchange->run(streams);
  exchange.reset();
  for (const Stream& stream : streams) EXPECT_TRUE(stream.idle()) << to_string(stream.device());
}

INSTANTIATE_TEST_SUITE_P(Routes, Lifetime,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size())),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" + all_ways()[std::get<1>(info.param)].name;
                         });

}  // namespace
}  // namespace slipstream
