// Calls of one exchange on streams without an order by the caller, and several exchanges in different orders.
#include <gtest/gtest.h>

#include <optional>

#include "support/exchange_rig.hpp"
#include "support/on_devices.hpp"
#include "support/pause.hpp"

namespace slipstream {
inline namespace order_test_kernels {

class Order : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  static inline const std::vector<Way> ways = all_ways();
  const Way& way = ways[std::get<1>(GetParam())];

  void SetUp() override {
    const Backend backend = std::get<0>(GetParam());
    if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
    machine.emplace(machine_here(backend, way));
    GridOptions periodic;
    periodic.periodic = {true, true, true};
    grid.emplace(Extent{12, 10, 8 * machine->devices()}, *machine, comm.rank(), periodic);
    options.routes = way.routes;
    options.knobs.grouping = way.grouping;
    options.wait_limit = 20;
    if (const auto why = refusal_of(*grid, {{&halo, fields()}}, options); !why.empty()) GTEST_SKIP() << why;
  }
  static FieldOptions fields() {
    FieldOptions options;
    options.type = DType::f64;
    options.ghost = {1, 1, 1};
    options.shared = true;
    return options;
  }
  double value(const Extent& p, int round) const {
    const Extent n = grid->extent();
    const auto wrapped = [&](int a) { return static_cast<std::uint64_t>((p[a] + n[a]) % n[a]); };
    return fraction(scrambled(wrapped(0) + 100 * wrapped(1), wrapped(2), static_cast<std::uint64_t>(round)));
  }
  /// Array of a block for exchange number `round`: test values in the interior and, with `ghosts`, in ghosts; else -1.
  std::vector<double> array(const Field& field, std::int64_t id, int round, bool ghosts) const {
    const Box& box = grid->block(id).box;
    std::vector<double> values(static_cast<std::size_t>(field.shape(id).elements), -1);
    each_in(field.shape(id), everything(box.extents(), field.options()), [&](const Extent& p, int, std::int64_t at) {
      const Extent global{p[0] + box.lo[0], p[1] + box.lo[1], p[2] + box.lo[2]};
      if (ghosts || box.contains(global)) values[static_cast<std::size_t>(at)] = value(global, round);
    });
    return values;
  }
  void set(Field& field, int round) const {
    for (const std::int64_t id : grid->local()) set_array(field, id, array(field, id, round, false));
  }
  /// Cells alone are compared, because the engine may write to the padding between rows.
  void expect(const Field& field, int round) const {
    for (const std::int64_t id : grid->local()) {
      const std::vector<double> found = array_of<double>(field, id), wanted = array(field, id, round, true);
      int wrong = 0;
      each_in(field.shape(id), everything(grid->block(id).box.extents(), field.options()),
              [&](const Extent&, int, std::int64_t at) {
                wrong += found[static_cast<std::size_t>(at)] != wanted[static_cast<std::size_t>(at)];
              });
      EXPECT_EQ(wrong, 0) << "block " << id << ", round " << round;
    }
  }

  const Communicator comm = Communicator::world();
  const Halo halo{Halo::Options{}};
  std::optional<Machine> machine;
  std::optional<Grid> grid;
  ExchangeOptions options;
};

TEST_P(Order, CallsOnStreamsThatTheCallerHasNotOrderedFollowOneAnother) {
  Field u(*grid, fields());
  Exchange exchange(comm, *grid, {{&halo, &u}}, options);
  std::vector<Stream> first = streams_of(*grid), second = streams_of(*grid);
  for (int round = 0; round < 6; ++round) {
    set(u, round);
    comm.barrier();
    // The first stream is delayed, so that the second call would overtake the first one.
    pause(first, 2'000'000);
    exchange.run(first);
    if (round % 3 == 0) {
      exchange.run(second);
    } else if (round % 3 == 1) {
      exchange.begin(second);
      exchange.end(second);
      exchange.run(first);
    } else {
      exchange.begin(second);
      exchange.end(first);
    }
    finish(first);
    finish(second);
    exchange.check();
    expect(u, round);
    comm.barrier();
  }
}

/// Each rank begins and ends the exchanges in its own order.
TEST_P(Order, ThreeExchangesInFlightMayBeBegunAndEndedInAnyOrder) {
  for (const RouteKind kind : {RouteKind::nccl, RouteKind::nvshmem})
    if (std::find(way.routes.begin(), way.routes.end(), kind) != way.routes.end() && way.routes.size() < 4)
      GTEST_SKIP() << "a library's calls come in one order on all ranks";
  constexpr int count = 3;
  std::vector<std::unique_ptr<Field>> u;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::vector<std::vector<Stream>> streams;
  for (int n = 0; n < count; ++n) {
    u.push_back(std::make_unique<Field>(*grid, fields()));
    exchanges.push_back(
        std::make_unique<Exchange>(comm, *grid, std::vector<ExchangeItem>{{&halo, u.back().get()}}, options));
    streams.push_back(streams_of(*grid));
  }
  for (int round = 0; round < 6; ++round) {
    for (int n = 0; n < count; ++n) set(*u[n], 10 * round + n);
    comm.barrier();
    std::vector<int> order{0, 1, 2};
    for (int n = 0; n < (round + comm.rank()) % 6; ++n) std::next_permutation(order.begin(), order.end());
    for (const int n : order) exchanges[n]->begin(streams[n]);
    for (int n = 0; n < round % 3 + comm.rank(); ++n) std::next_permutation(order.begin(), order.end());
    for (const int n : order) exchanges[n]->end(streams[n]);
    for (int n = 0; n < count; ++n) {
      finish(streams[n]);
      exchanges[n]->check();
      expect(*u[n], 10 * round + n);
    }
    comm.barrier();
  }
}

std::vector<Order::ParamType> every_way() {
  std::vector<Order::ParamType> found;
  for (const Backend backend : backends_here())
    for (std::size_t w = 0; w < all_ways().size(); ++w) found.emplace_back(backend, w);
  return found;
}

INSTANTIATE_TEST_SUITE_P(Routes, Order, testing::ValuesIn(every_way()),
                         [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace order_test_kernels
}  // namespace slipstream
