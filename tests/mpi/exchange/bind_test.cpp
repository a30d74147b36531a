// Replacing the arrays of an exchange: without planning, between exchanges and between replays of a graph.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <optional>

#include <slipstream/buffer.hpp>
#include <slipstream/graph.hpp>
#include <slipstream/transpose.hpp>

#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

constexpr std::int64_t untouched = -1;

/// Arrays of the caller for the blocks of a grid.
class OwnArrays {
 public:
  OwnArrays(const Grid& grid, const FieldOptions& options) : grid_(grid) {
    for (const std::int64_t id : grid.local()) {
      const BlockShape shape = block_shape(grid, id, options);
      buffers_.emplace_back(grid.machine().device(grid.block(id).device).local,
                            static_cast<std::size_t>(shape.elements));
    }
  }
  std::vector<void*> addresses() {
    std::vector<void*> all;
    for (auto& buffer : buffers_) all.push_back(buffer.data());
    return all;
  }
  std::vector<OwnArray> own() {
    std::vector<OwnArray> all;
    for (auto& buffer : buffers_) all.push_back({buffer.data(), {0, 0, 0}, 0});
    return all;
  }
  void set(std::size_t n, const std::vector<double>& values, Stream& stream) {
    copy(stream, buffers_[n].data(), values.data(), buffers_[n].bytes());
    stream.synchronize();
  }
  std::vector<double> get(std::size_t n) {
    std::vector<double> values(buffers_[n].size());
    Stream stream(grid_.machine().device(grid_.block(grid_.local()[n]).device).local);
    copy(stream, values.data(), buffers_[n].data(), buffers_[n].bytes());
    stream.synchronize();
    return values;
  }

 private:
  const Grid& grid_;
  std::deque<Buffer<double>> buffers_;
};

class Bound : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  Backend backend = std::get<0>(GetParam());
  const Way way = all_ways()[std::get<1>(GetParam())];
  Communicator comm = Communicator::world();
  ExchangeOptions options;
  FieldOptions field_options;
  std::optional<Grid> grid;
  std::vector<Stream> streams;
  static constexpr Extent cells{24, 11, 40};

  std::string set_up(const Pattern& pattern) {
    if (auto why = unavailable(backend, way); !why.empty()) return why;
    const Machine machine = machine_here(backend, way);
    GridOptions grid_options;
    grid_options.boxes = dealt_blocks(cells, {1, 1, 2 * machine.devices()}, machine.devices());
    grid_options.periodic = {true, true, true};
    grid.emplace(cells, machine, comm.rank(), grid_options);
    field_options.name = "values";
    field_options.type = DType::f64;
    field_options.ghost = {1, 1, 1};
    field_options.alignment = 1;
    options.routes = way.routes;
    options.knobs.grouping = way.grouping;
    if (auto why = refusal_of(*grid, {{&pattern, field_options}}, options); !why.empty()) return why;
    streams = streams_of(*grid);
    return {};
  }

  /// Expected values of a block: interior cells, and the ghosts that the halo fills.
  std::vector<double> values(std::int64_t id, int round, bool ghosts) const {
    const BlockShape shape = block_shape(*grid, id, field_options);
    const Block& block = grid->block(id);
    std::vector<double> all(static_cast<std::size_t>(shape.elements), untouched);
    each_in(shape, everything(block.box.extents(), field_options), [&](const Extent& p, int, std::int64_t at) {
      Extent q{};
      bool inside = true;
      for (std::size_t a = 0; a < 3; ++a) {
        q[a] = (p[a] + block.box.lo[a] + cells[a]) % cells[a];
        inside = inside && p[a] >= 0 && p[a] < block.box.extent(static_cast<int>(a));
      }
      if (inside || ghosts)
        all[at] = fraction(scrambled(static_cast<std::uint64_t>(q[0] + 100 * q[1]), static_cast<std::uint64_t>(q[2]),
                                     static_cast<std::uint64_t>(round)));
    });
    return all;
  }

  Stream& stream_of(std::int64_t id) {
    for (Stream& stream : streams)
      if (stream.device() == grid->machine().device(grid->block(id).device).local) return stream;
    return streams.front();
  }
  void fill(OwnArrays& arrays, int round) {
    for (std::size_t n = 0; n < grid->local().size(); ++n) {
      const std::int64_t id = grid->local()[n];
      arrays.set(n, values(id, round, false), stream_of(id));
    }
    finish(streams);
    comm.barrier();
  }
  void expect(OwnArrays& arrays, int round, bool ghosts) {
    for (std::size_t n = 0; n < grid->local().size(); ++n)
      EXPECT_TRUE(arrays.get(n) == values(grid->local()[n], round, ghosts))
          << "block " << grid->local()[n] << " in round " << round << (ghosts ? "" : ": was touched");
  }
};

TEST_P(Bound, HalosFillTheArraysThatAreThere) {
  const Halo halo(Halo::Options{});
  if (const auto why = set_up(halo); !why.empty()) GTEST_SKIP() << why;
  std::deque<OwnArrays> arrays;
  for (int n = 0; n < 3; ++n) arrays.emplace_back(*grid, field_options);
  Field field = Field::adopt(comm, *grid, field_options, arrays[0].own());
  Exchange exchange(comm, *grid, {{&halo, &field, nullptr, true}}, options);
  for (int round = 0; round < 8; ++round) {
    const auto now = static_cast<std::size_t>(round % 3);
    for (auto& a : arrays) fill(a, round);
    if (round) exchange.bind(0, ItemEnd::source, arrays[now].addresses(), streams);
    exchange_once(exchange, streams, round % 4 == 3 ? 0 : 1);
    comm.barrier();
    for (std::size_t n = 0; n < arrays.size(); ++n) expect(arrays[n], round, n == now);
    comm.barrier();
  }
}

TEST_P(Bound, GraphsFillTheArraysThatAreThere) {
  const Halo halo(Halo::Options{});
  if (const auto why = set_up(halo); !why.empty()) GTEST_SKIP() << why;
  std::deque<OwnArrays> arrays;
  for (int n = 0; n < 2; ++n) arrays.emplace_back(*grid, field_options);
  Field field = Field::adopt(comm, *grid, field_options, arrays[0].own());
  Exchange exchange(comm, *grid, {{&halo, &field, nullptr, true}}, options);
  if (!exchange.capturable()) GTEST_SKIP() << "some message travels by a route that no graph replays";
  for (auto& a : arrays) fill(a, 0);
  exchange_once(exchange, streams, 1);  // a first exchange, in which libraries connect the ranks
  for (Stream& stream : streams) stream.begin_capture();
  exchange.run(streams);
  std::vector<Graph> graphs;
  for (Stream& stream : streams) graphs.push_back(stream.end_capture());
  for (int round = 1; round < 6; ++round) {
    const auto now = static_cast<std::size_t>(round % 2);
    for (auto& a : arrays) fill(a, round);
    exchange.bind(0, ItemEnd::source, arrays[now].addresses(), streams);
    for (std::size_t i = 0; i < streams.size(); ++i) graphs[i].launch(streams[i]);
    finish(streams);
    exchange.check();
    comm.barrier();
    for (std::size_t n = 0; n < arrays.size(); ++n) expect(arrays[n], round, n == now);
    comm.barrier();
  }
}

/// Exchanges alternate between two pairs of arrays on the same blocks: source and target both change.
TEST_P(Bound, BothEndsOfATransposeChange) {
  const Halo halo(Halo::Options{});
  if (const auto why = set_up(halo); !why.empty()) GTEST_SKIP() << why;
  const Transpose transpose(*grid, *grid);
  std::deque<OwnArrays> arrays;
  for (int n = 0; n < 3; ++n) arrays.emplace_back(*grid, field_options);
  Field from = Field::adopt(comm, *grid, field_options, arrays[0].own());
  Field to = Field::adopt(comm, *grid, field_options, arrays[1].own());
  Exchange exchange(comm, *grid, {{&transpose, &from, &to, true}}, options);
  for (int round = 0; round < 6; ++round) {
    const auto source = static_cast<std::size_t>(round % 3), target = (source + 1) % 3;
    for (std::size_t n = 0; n < 3; ++n) fill(arrays[n], 10 * round + static_cast<int>(n));
    exchange.bind(0, ItemEnd::source, arrays[source].addresses(), streams);
    exchange.bind(0, ItemEnd::target, arrays[target].addresses(), streams);
    exchange_once(exchange, streams, round);
    comm.barrier();
    for (std::size_t n = 0; n < 3; ++n)
      expect(arrays[n], 10 * round + static_cast<int>(n == target ? source : n), false);
    comm.barrier();
  }
}

INSTANTIATE_TEST_SUITE_P(Routes, Bound,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range(std::size_t{0}, all_ways().size())),
                         [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace slipstream
