// Exchanges allocate from one arena per device and return their memory.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>

#include <slipstream/gather_scatter.hpp>
#include <slipstream/transpose.hpp>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"
#include "support/failing_allocations.hpp"
#include "support/short_teardown.hpp"

namespace slipstream {
namespace {

constexpr std::array kinds{Memory::device, Memory::message, Memory::pinned, Memory::pinned_shared};

/// Makes a halo exchange, a transpose and a gather-scatter that share one memory arena (buffer) per device.
class SharedArena : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  static constexpr Extent cells{12, 18, 26};

  void SetUp() override {
    const Way& way = ways[std::get<1>(GetParam())];
    const Backend backend = std::get<0>(GetParam());
    if (auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
    machine.emplace(machine_here(backend, way));
    GridOptions slabs, bricks;
    slabs.boxes = dealt_blocks(cells, {1, 1, machine->devices()}, machine->devices());
    bricks.boxes = dealt_blocks(cells, {1, machine->devices(), 1}, machine->devices());
    along_z.emplace(cells, *machine, comm.rank(), slabs);
    along_y.emplace(cells, *machine, comm.rank(), bricks);
    FieldOptions options;
    options.shared = true;
    options.ghost = {1, 1, 1};
    FieldOptions bare = options;
    bare.ghost = {0, 0, 0};
    transpose = std::make_unique<Transpose>(*along_z, *along_y);
    by.routes = way.routes;
    by.knobs.grouping = way.grouping;
    if (auto why = refusal_of(*along_z, {{&halo, options}, {transpose.get(), bare, bare}}, by); !why.empty())
      GTEST_SKIP() << why;
    u.emplace(*along_z, options);
    v.emplace(*along_z, bare);
    w.emplace(*along_y, bare);
    for (const int device : machine->devices_of_rank(comm.rank())) {
      arenas.push_back(comm.arena(machine->device(device).local));
      std::vector<std::int64_t>& own = ids.emplace_back(3000);
      for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<std::int64_t>(1 + i + 2000 * device);
    }
    streams = streams_of(*along_z);
  }

  Exchange halos() { return Exchange(comm, *along_z, {{&halo, &*u}}, by); }
  Exchange transposes() { return Exchange(comm, *along_z, {{transpose.get(), &*v, &*w}}, by); }
  GatherScatter sums() const {
    std::vector<SharedPoints> points;
    for (std::size_t d = 0; d < ids.size(); ++d)
      points.push_back({ids[d], machine->devices_of_rank(comm.rank())[d] * std::int64_t{3000}, 1});
    GatherScatterOptions options;
    options.exchange = by;
    return {comm, *machine, points, options};
  }

  std::vector<std::size_t> all(std::size_t Arena::Use::*of) const {
    std::vector<std::size_t> found;
    for (const Arena& arena : arenas)
      for (const Memory memory : kinds) found.push_back(arena.use(memory).*of);
    return found;
  }
  std::vector<std::size_t> used() const { return all(&Arena::Use::used); }

  const Communicator comm = Communicator::world();
  static inline const std::vector<Way> ways = all_ways();
  const Halo halo{Halo::Options{}};
  ExchangeOptions by;
  std::optional<Machine> machine;
  std::optional<Grid> along_z, along_y;
  std::unique_ptr<Transpose> transpose;
  std::optional<Field> u, v, w;
  std::vector<std::vector<std::int64_t>> ids;
  std::vector<Arena> arenas;
  std::vector<Stream> streams;
};

TEST_P(SharedArena, GrowsNoChunkForWhatComesAfterTheLikes) {
  const std::vector<std::size_t> before = used();
  std::vector<std::size_t> chunks, bytes;
  for (int round = 0; round < 3; ++round) {
    {
      Exchange a = halos();
      exchange_once(a, streams, round);
    }
    {
      Exchange b = transposes();
      exchange_once(b, streams, round);
    }
    { const GatherScatter c = sums(); }
    EXPECT_EQ(used(), before) << "not all was given back in round " << round;
    if (round == 0) {
      chunks = all(&Arena::Use::chunks);
      bytes = all(&Arena::Use::bytes);
    }
    EXPECT_EQ(all(&Arena::Use::chunks), chunks) << round;
    EXPECT_EQ(all(&Arena::Use::bytes), bytes) << round;
  }
}

TEST_P(SharedArena, GivesEachExchangeSpansOfItsOwn) {
  const std::vector<std::size_t> none = used();
  std::optional<Exchange> first(halos());
  const std::vector<std::size_t> one = used();
  std::optional<Exchange> second(halos());
  const std::vector<std::size_t> two = used();
  for (std::size_t i = 0; i < none.size(); ++i) EXPECT_EQ(two[i] - one[i], one[i] - none[i]);
  EXPECT_GT(one[0], none[0]);
  first.reset();
  for (std::size_t i = 0; i < none.size(); ++i) EXPECT_EQ(used()[i] - none[i], one[i] - none[i]);
  exchange_once(*second, streams, 0);
  second.reset();
  EXPECT_EQ(used(), none);
}

std::vector<SharedArena::ParamType> ways_of_arenas() {
  std::vector<SharedArena::ParamType> found;
  for (const Backend backend : backends_here())
    for (std::size_t way = 0; way < all_ways().size(); ++way) found.emplace_back(backend, way);
  return found;
}

INSTANTIATE_TEST_SUITE_P(Routes, SharedArena, testing::ValuesIn(ways_of_arenas()),
                         [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

/// Rank 0 destroys an exchange while other ranks may still store into its memory; they end it only later.
TEST(ArenaAfterAFailure, NeverGivesAwayWhatOthersMayStillStoreTo) {
  const ShortTeardown one_second;
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const Machine machine = machine_here(Backend::host, 1);
  const Grid grid({8 * machine.devices(), 6, 4}, machine, comm.rank());
  FieldOptions options;
  options.ghost = {1, 1, 1};
  options.shared = true;
  Field field(grid, options);
  const Halo halo(Halo::Options{});
  ExchangeOptions short_timeout;
  short_timeout.routes = {RouteKind::kernel, RouteKind::direct};
  short_timeout.knobs.in_place = std::int64_t{1} << 40;  // forces all messages through receive buffers
  short_timeout.wait_limit = 0.2;
  const Arena arena = comm.arena(machine.device(machine.devices_of_rank(comm.rank()).front()).local);
  const std::size_t before = arena.use().used;
  std::optional<Exchange> exchange(std::in_place, comm, grid, std::vector<ExchangeItem>{{&halo, &field}},
                                   short_timeout);
  const std::size_t with = arena.use().used;
  EXPECT_GT(with, before);
  std::vector<Stream> streams = streams_of(grid);
  if (comm.rank() == 0) {
    // The exchange times out, because the other ranks do not take part.
    expect_error([&] { exchange_once(*exchange, streams, 1); }, ErrorCode::timeout, {{"rank", 0}});
    exchange.reset();
    EXPECT_GT(arena.use().used, before) << "slots and counters";
  }
  comm.barrier();
  exchange.reset();
  if (comm.rank() == 0) {
    EXPECT_GT(arena.use().used, before);
  } else {
    EXPECT_EQ(arena.use().used, before) << "rank 0 has left: nobody stores here any more";
  }
}

}  // namespace
}  // namespace slipstream
