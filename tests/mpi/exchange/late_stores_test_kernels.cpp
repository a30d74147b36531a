// Peers must not store into memory after it was returned to its owner: after a failed exchange, and after a field got
// new arrays.
#include <gtest/gtest.h>

#include <optional>

#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"
#include "support/on_devices.hpp"
#include "support/short_teardown.hpp"

namespace slipstream {
inline namespace late_stores_test_kernels {

/// Blocks a stream until the host opens the gate, at most for a minute.
struct Gate {
  const Signal* opened;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const Signal* const signal = opened;
    team.each([signal](int) { static_cast<void>(wait_for(signal, 1, 60'000'000'000)); });
  }
};

class LateStores : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (comm.size() < 2) GTEST_SKIP() << "needs two ranks";
    if (const auto why = unavailable(GetParam(), Way{"", {}, 1}); !why.empty()) GTEST_SKIP() << why;
    machine.emplace(machine_here(GetParam(), 1, 0));
    GridOptions periodic;
    periodic.periodic = {true, true, true};
    grid.emplace(Extent{8, 8, 8 * machine->devices()}, *machine, comm.rank(), periodic);
    options.routes = {RouteKind::kernel, RouteKind::direct};
    options.knobs.in_place = 0;
    options.knobs.packet_limit = 0;
    options.wait_limit = 0.5;
    if (const auto why = refusal_of(*grid, {{&halo, shared()}}, options); !why.empty()) GTEST_SKIP() << why;
    field.emplace(*grid, shared());
    streams = streams_of(*grid);
  }
  static FieldOptions shared() {
    FieldOptions options;
    options.name = "u";
    options.type = DType::f64;
    options.ghost = {1, 1, 1};
    options.shared = true;
    return options;
  }
  /// Sets all values of this rank's blocks, including ghosts.
  void set_all(double value) {
    for (const std::int64_t id : grid->local())
      set_array(*field, id, std::vector<double>(static_cast<std::size_t>(field->shape(id).elements), value));
  }

  const Communicator comm = Communicator::world();
  const Halo halo{Halo::Options{}};
  std::optional<Machine> machine;
  std::optional<Grid> grid;
  std::optional<Field> field;
  ExchangeOptions options;
  std::vector<Stream> streams;
};

/// Rank 1 is delayed in an exchange that rank 0 has timed out and destroyed. Rank 0 then uses its field.
TEST_P(LateStores, DoNotReachAFieldWhoseExchangeHasEnded) {
  const ShortTeardown one_second;
  const Buffer<Signal> gate(streams.front().device(), 1, Memory::pinned);
  gate.data()[0] = 0;
  auto exchange = std::make_unique<Exchange>(comm, *grid, std::vector<ExchangeItem>{{&halo, &*field}}, options);
  set_all(1 + comm.rank());
  comm.barrier();
  const bool waits = comm.rank() == 0;
  if (!waits) launch_teams(streams.front(), 1, 1, 0, Gate{gate.data()});
  exchange->run(streams);
  if (waits) {
    finish(streams);
    EXPECT_THROW(exchange->check(), Timeout);
    exchange.reset();
    set_all(7);
  }
  comm.barrier();
  if (!waits) {
    store_release(gate.data(), 1);
    finish(streams);
    EXPECT_THROW(exchange->check(), Timeout) << "it is told that nothing was moved";
  }
  comm.barrier();
  for (const std::int64_t id : grid->local())
    for (const double value : array_of<double>(*field, id)) ASSERT_EQ(value, waits ? 7 : 2) << "nobody's changed";
  comm.barrier();
}

TEST_P(LateStores, AnExchangeRefusesArraysThatWereRemade) {
  Exchange exchange(comm, *grid, {{&halo, &*field}}, options);
  for (const int round : {0, 1}) exchange_once(exchange, streams, round);
  comm.barrier();
  field->drop_arrays();
  expect_error([&] { exchange.run(streams); }, ErrorCode::wrong_state, {{"field", "u"}});
  field->make_arrays();
  expect_error([&] { exchange.begin(streams); }, ErrorCode::wrong_state, {{"field", "u"}});
  comm.barrier();
}

/// An array that other processes store into is freed only after all have destroyed the exchange.
TEST_P(LateStores, ArraysThatOthersStoreToOutliveTheirField) {
  std::optional<Exchange> exchange;
  exchange.emplace(comm, *grid, std::vector<ExchangeItem>{{&halo, &*field}}, options);
  const std::int64_t id = grid->local().front();
  const std::weak_ptr<const void> array = field->owner(id, 0);
  field->drop_arrays();
  EXPECT_FALSE(array.expired());
  exchange.reset();
  EXPECT_TRUE(array.expired());
}

INSTANTIATE_TEST_SUITE_P(Backends, LateStores, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace late_stores_test_kernels
}  // namespace slipstream
