// Ranks with different arguments, and missing memory: errors with the reason on all ranks, and no deadlock.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"
#include "support/short_teardown.hpp"

namespace slipstream {
namespace {

struct NamedPieces {
  explicit NamedPieces(int devices, int ranks_per_node = 0)
      : machine(machine_here(Backend::host, devices, ranks_per_node)),
        grid({8 * machine.devices(), 6, 4}, machine, Communicator::world().rank(), periodic()) {}
  static GridOptions periodic() {
    GridOptions options;
    options.periodic = {true, true, true};
    return options;
  }
  static FieldOptions named(const std::string& name, int components = 1) {
    FieldOptions options;
    options.name = name;
    options.components = components;
    options.ghost = {1, 1, 1};
    options.shared = true;
    return options;
  }
  Communicator comm = Communicator::world();
  Machine machine;
  Grid grid;
  const Halo halo{Halo::Options{}};
};

TEST(Mismatch, OtherFieldsOnOneRankAreAnErrorOnAll) {
  NamedPieces p(1);
  if (p.comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  Field field(p.grid, NamedPieces::named("u", p.comm.rank() == 1 ? 2 : 1));
  const auto error = error_of([&] { Exchange(p.comm, p.grid, {{&p.halo, &field}}); });
  expect_error(error, ErrorCode::mismatch, {{"rank", 1}});
  EXPECT_EQ(error->fact("first").find("u (1 x f32"), 0u) << error->fact("first");
  EXPECT_EQ(error->fact("given").find("u (2 x f32"), 0u) << error->fact("given");
}

TEST(Mismatch, AnotherOrderOnOneRankIsAnErrorOnAll) {
  NamedPieces p(1);
  if (p.comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  Field u(p.grid, NamedPieces::named("u")), v(p.grid, NamedPieces::named("v"));
  Field& first = p.comm.rank() == 1 ? v : u;
  const auto error = error_of([&] { Exchange(p.comm, p.grid, {{&p.halo, &first}}); });
  expect_error(error, ErrorCode::mismatch, {{"rank", 1}});
  EXPECT_EQ(error->fact("first").find("u ("), 0u) << error->fact("first");
  EXPECT_EQ(error->fact("given").find("v ("), 0u) << error->fact("given");
}

TEST(Mismatch, OtherTransfersOnOneRankAreAnErrorOnAll) {
  NamedPieces p(1);
  if (p.comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  Field u(p.grid, NamedPieces::named("u"));
  Halo::Options narrow;
  if (p.comm.rank() == 1) narrow.low = {0, 0, 0};
  const Halo other(narrow);
  EXPECT_THROW(Exchange(p.comm, p.grid, {{&other, &u}}), Error);
}

/// A halo whose targets in the last block are one cell longer than their sources, or have another shape.
class Uneven final : public Pattern {
 public:
  explicit Uneven(bool turned) : turned_(turned) {}
  std::string name() const override { return "uneven"; }
  std::vector<Transfer> transfers(const Grid& grid, int components, const Extent& ghost, int rank) const override {
    std::vector<Transfer> all = Halo(Halo::Options{}).transfers(grid, components, ghost, rank);
    for (Transfer& t : all) {
      if (t.target_block + 1 != static_cast<std::int64_t>(grid.blocks().size())) continue;
      const Extent e = t.target.box.extents();
      for (int a = 0; a < 3; ++a) t.target.box.hi[a] = t.target.box.lo[a] + (turned_ ? e[2 - a] : e[a] + (a == 1));
    }
    return all;
  }

 private:
  bool turned_;
};

TEST(Mismatch, EndsThatListOtherNumbersOfValuesAreAnErrorOnAll) {
  NamedPieces p(1);
  Field u(p.grid, NamedPieces::named("u"));
  for (const bool turned : {false, true}) {
    const Uneven uneven(turned);
    const auto error = error_of([&] { Exchange(p.comm, p.grid, {{&uneven, &u}}); });
    expect_error(error, ErrorCode::invalid_argument, {{"pattern", "uneven"}, {"problem", turned ? "shape" : "count"}});
    EXPECT_TRUE(p.comm.all(error.has_value()));
  }
}

TEST(Mismatch, OtherRoutesOnOneRankAreAnErrorOnAll) {
  NamedPieces p(1);
  if (p.comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  Field u(p.grid, NamedPieces::named("u"));
  ExchangeOptions options;
  if (p.comm.rank() == 1) options.routes = {RouteKind::kernel, RouteKind::staged};
  const auto error = error_of([&] { Exchange(p.comm, p.grid, {{&p.halo, &u}}, options); });
  expect_error(error, ErrorCode::mismatch, {{"rank", 1}});
  EXPECT_EQ(error->fact("first"), error->fact("given")) << "they differ in what is not described";
}

/// Covers all routes of the host backend. Devices wait for other ranks, with a short timeout.
class RanksApart : public testing::TestWithParam<std::size_t> {
 protected:
  static inline const std::vector<Way> ways = all_ways();
  const Way& way = ways[GetParam()];

  ExchangeOptions with_short_timeout() const {
    ExchangeOptions options;
    options.routes = way.routes;
    options.knobs.grouping = way.grouping;
    options.wait_limit = 0.3;
    return options;
  }
  /// Says why the test's exchange cannot run on the available ranks, devices and routes; empty if it can.
  std::string missing() const {
    if (Communicator::world().size() == 1) return "needs two ranks";
    if (auto why = unavailable(Backend::host, way); !why.empty()) return why;
    const NamedPieces p(way.devices, way.ranks_per_node);
    return refusal_of(p.grid, {{&p.halo, NamedPieces::named("u")}}, with_short_timeout());
  }
};
TEST_P(RanksApart, TimeOutWhereOneIsAloneAndSayWhoWaitedForWhom) {
  if (const auto why = missing(); !why.empty()) GTEST_SKIP() << why;
  NamedPieces p(way.devices, way.ranks_per_node);
  Field u(p.grid, NamedPieces::named("u"));
  const ExchangeOptions options = with_short_timeout();
  {
    Exchange exchange(p.comm, p.grid, {{&p.halo, &u}}, options);
    std::vector<Stream> streams = streams_of(p.grid);
    if (p.comm.rank() == 0) {
      const auto begun = std::chrono::steady_clock::now();
      const auto error = error_of([&] {
        exchange.begin(streams);
        exchange.end(streams);
        finish(streams);
        exchange.check();
      });
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
      expect_error(error, ErrorCode::timeout, {{"rank", 0}, {"sequence", 1}, {"limit", options.wait_limit}});
      EXPECT_NE(error->fact("whom").find("rank "), std::string::npos) << error->what();
      EXPECT_GE(taken.count(), 0.25);
    }
    p.comm.barrier();
  }
}

/// Rank 0 alone sends, directly into its neighbours' ghost cells. They must first signal that it may overwrite these.
class LastExchange : public testing::Test {
 protected:
  static ExchangeOptions into_ghosts() {
    ExchangeOptions options;
    options.routes = {RouteKind::kernel, RouteKind::direct};
    options.wait_limit = 0.3;
    options.knobs.packet_limit = 0;
    options.knobs.in_place = 1;
    return options;
  }
  void SetUp() override {
    if (p.comm.size() == 1) GTEST_SKIP() << "needs two ranks";
    exchange.emplace(p.comm, p.grid, std::vector<ExchangeItem>{{&p.halo, &u}}, into_ghosts());
  }
  void TearDown() override { p.comm.barrier(); }

  NamedPieces p{1};
  Field u{p.grid, NamedPieces::named("u")};
  std::vector<Stream> streams = streams_of(p.grid);
  std::optional<Exchange> exchange;
};

TEST_F(LastExchange, ThatFailsInBeginIsToldByEnd) {
  if (p.comm.rank() > 0) return;
  exchange->begin(streams);
  synchronize(streams.front().device());
  EXPECT_THROW(exchange->end(streams), Timeout);
}

TEST_F(LastExchange, ThatFailsIsToldByCheckAndByItsTimes) {
  if (p.comm.rank() > 0) return;
  exchange->run(streams);
  finish(streams);
  EXPECT_THROW(exchange->check(), Timeout);
  EXPECT_THROW(exchange->arrival_us(), Timeout);
}

TEST_F(LastExchange, ThatFailsLeavesGhostsThatWereNotOpenAsTheyWere) {
  for (const std::int64_t id : p.grid.local())
    set_array(u, id, std::vector<float>(static_cast<std::size_t>(u.shape(id).elements), p.comm.rank() ? -7 : 5));
  p.comm.barrier();
  if (p.comm.rank() == 0) {
    exchange->run(streams);
    finish(streams);
    EXPECT_THROW(exchange->check(), Timeout);
  }
  p.comm.barrier();
  if (p.comm.rank() == 0) return;
  for (const std::int64_t id : p.grid.local())
    for (const float value : array_of<float>(u, id)) ASSERT_EQ(value, -7);
  exchange->run(streams);
  finish(streams);
  const bool beside = p.comm.rank() == 1 || p.comm.rank() == p.comm.size() - 1;
  if (beside) {
    EXPECT_THROW(exchange->check(), Timeout) << "nobody posted that the values were there";
  }
}

TEST_F(LastExchange, IsRefusedOnAStreamOfAnotherDevice) {
  const NamedPieces two(2);
  std::vector<Stream> others;
  others.emplace_back(two.machine.device(2 * p.comm.rank() + 1).local);
  expect_error([&] { exchange->begin(others); }, ErrorCode::mismatch,
               {{"stream", 0}, {"given", "host:1"}, {"needed", "host:0"}});
}

TEST_F(LastExchange, ThatFailsOnOneRankIsToldByTheReportOnAll) {
  if (p.comm.rank() == 0) exchange->run(streams);
  expect_error([&] { exchange->report(); }, ErrorCode::timeout, {{"rank", 0}, {"device", 0}, {"sequence", 1}});
}

TEST_P(RanksApart, TimeOutInAnotherOrderAndNameTheFieldsAndTheOrder) {
  if (const auto why = missing(); !why.empty()) GTEST_SKIP() << why;
  NamedPieces p(way.devices, way.ranks_per_node);
  Field u(p.grid, NamedPieces::named("u")), v(p.grid, NamedPieces::named("v"));
  const ExchangeOptions options = with_short_timeout();
  std::optional<Error> error;
  {
    Exchange of_u(p.comm, p.grid, {{&p.halo, &u}}, options), of_v(p.comm, p.grid, {{&p.halo, &v}}, options);
    std::vector<Stream> streams = streams_of(p.grid);
    const bool turned = p.comm.rank() == 1;
    try {
      for (Exchange* exchange : {turned ? &of_v : &of_u, turned ? &of_u : &of_v}) {
        exchange->run(streams);
        finish(streams);
        exchange->check();
      }
    } catch (const Timeout& timeout) {
      error = timeout;
    }
    p.comm.barrier();
  }
  if (p.comm.rank() > 1) return;
  expect_error(error, ErrorCode::timeout,
               {{"rank", p.comm.rank()}, {"sequence", 1}, {"fields", p.comm.rank() == 1 ? "v" : "u"}});
}
INSTANTIATE_TEST_SUITE_P(Routes, RanksApart, testing::Range<std::size_t>(0, all_ways().size()),
                         [](const auto& info) { return name_of(Backend::host, info.param); });

/// Bytes that exchanges hold on this rank's device.
std::size_t held(const NamedPieces& p) {
  return p.comm.arena(p.machine.device(p.machine.devices_of_rank(p.comm.rank()).front()).local).use().used;
}

TEST(End, WaitsForRanksThatComeLate) {
  const ShortTeardown one_second;
  NamedPieces p(1);
  if (p.comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  Field u(p.grid, NamedPieces::named("u"));
  const std::size_t before = held(p);
  std::optional<Exchange> exchange(std::in_place, p.comm, p.grid, std::vector<ExchangeItem>{{&p.halo, &u}});
  if (p.comm.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(2));
  exchange.reset();
  EXPECT_EQ(held(p), before);
}

TEST(End, KeepsTheMemoryThatRanksWhoDoNotComeMayStoreTo) {
  const ShortTeardown one_second;
  NamedPieces p(1);
  if (p.comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  Field u(p.grid, NamedPieces::named("u"));
  ExchangeOptions options;
  options.wait_limit = 0.3;
  const std::size_t before = held(p);
  std::optional<Exchange> exchange(std::in_place, p.comm, p.grid, std::vector<ExchangeItem>{{&p.halo, &u}}, options);
  EXPECT_GT(held(p), before);
  if (p.comm.rank() == 0) exchange.reset();
  EXPECT_GT(held(p), before);
  p.comm.barrier();
}

/// Pattern that moves each block to the next one.
class Onwards final : public Pattern {
 public:
  std::string name() const override { return "onwards"; }
  std::vector<Transfer> transfers(const Grid& grid, int, const Extent&, int rank) const override {
    const auto blocks = static_cast<std::int64_t>(grid.blocks().size());
    std::vector<Transfer> found;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t next = (block + 1) % blocks;
      if (grid.block(block).rank != rank && grid.block(next).rank != rank) continue;
      const IndexSet all{{{0, 0, 0}, grid.block(block).box.extents()}, {0}, nullptr};
      found.push_back({block, next, all, all});
    }
    return found;
  }
};

/// The error of an exchange on these routes, if any.
std::optional<Error> without_room(std::vector<RouteKind> routes, int devices, int ranks_per_node = 0) {
  NamedPieces p(devices, ranks_per_node);
  ExchangeOptions options;
  options.routes = std::move(routes);
  const Onwards onwards;
  constexpr std::int64_t side = std::int64_t{1} << 28;
  const Extent cells{side, side, p.machine.devices()};
  GridOptions planes;
  planes.boxes = dealt_blocks(cells, {1, 1, p.machine.devices()}, p.machine.devices());
  const Grid grid(cells, p.machine, p.comm.rank(), planes);
  FieldOptions values = NamedPieces::named("v");
  values.ghost = {0, 0, 0};
  std::vector<OwnArray> nowhere;  // invalid addresses: set-up fails before it reads arrays
  for (std::size_t n = 0; n < grid.local().size(); ++n)
    nowhere.push_back({reinterpret_cast<void*>((n + 1) << 59), {0, 0, 0}, 0});
  Field v = Field::adopt(p.comm, grid, values, nowhere);
  return error_of([&] { Exchange(p.comm, grid, {{&onwards, &v}}, options); });
}

TEST(OutOfMemory, NamesTheSlotsOnAllRanks) {
  const auto error = without_room({RouteKind::peer, RouteKind::colocated, RouteKind::staged}, 2);
  expect_error(error, ErrorCode::out_of_memory, {{"purpose", "receive slots"}});
  EXPECT_GE(std::stoull(error->fact("needed")), std::size_t{1} << 58);
}

TEST(OutOfMemory, NamesTheLandingPlacesInTheHostsMemory) {
  expect_error(without_room({RouteKind::staged}, 2), ErrorCode::out_of_memory, {{"purpose", "receive places"}});
}

TEST(OutOfMemory, NamesThePackingBuffersOfMessagesBetweenNodes) {
  if (Communicator::world().size() == 1) GTEST_SKIP() << "needs two ranks";
  const auto error = without_room({RouteKind::staged}, 1, 1);
  expect_error(error, ErrorCode::out_of_memory, {{"route", "staged"}});
  // The error names the buffer (for packing or unpacking) that the first failing rank could not allocate.
  EXPECT_TRUE(error->fact("purpose") == "packing" || error->fact("purpose") == "unpacking") << error->fact("purpose");
}

}  // namespace
}  // namespace slipstream
