// The adjoint of the halo, on every route that supports it.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <thread>

#include <slipstream/device/host/launch.hpp>

#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

struct Shape {
  const char* name;
  Extent cells{12, 10, 8};
  Extent counts{2, 2, 2};  // numbers of blocks along each axis, for any number of devices
  std::array<bool, 3> periodic{true, true, true};
  Reach reach = Reach::all;
  Extent low{1, 1, 1}, high{1, 1, 1};
  Layout layout = Layout::soa;
  int components = 2;
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> list{
      {"its_own_neighbour", {6, 5, 4}, {1, 1, 1}},
      {"eight_blocks"},
      {"aos", {12, 10, 8}, {2, 2, 2}, {true, true, true}, Reach::all, {1, 1, 1}, {1, 1, 1}, Layout::aos, 3},
      {"soa_z", {12, 10, 8}, {2, 2, 2}, {true, true, true}, Reach::all, {1, 1, 1}, {1, 2, 1}, Layout::soa_z, 3},
      {"open_and_one_sided",
       {11, 13, 9},
       {3, 2, 2},
       {false, true, false},
       Reach::faces_and_edges,
       {2, 0, 1},
       {1, 3, 0}},
      {"thinner_than_ghosts", {6, 5, 7}, {3, 5, 2}, {true, true, true}, Reach::all, {3, 2, 2}, {3, 3, 1}},
      {"flat", {14, 9, 1}, {3, 2, 1}, {true, false, false}, Reach::faces, {2, 2, 0}, {1, 2, 0}},
  };
  return list;
}

template <class T>
T combined(Op op, T a, T b) {
  switch (op) {
    case Op::add:
      return static_cast<T>(a + b);
    case Op::multiply:
      return static_cast<T>(a * b);
    case Op::min:
      return std::min(a, b);
    case Op::max:
      return std::max(a, b);
    case Op::copy:
      break;
  }
  return b;
}

Halo::Options halo_of(const Shape& s) {
  Halo::Options options;
  options.reach = s.reach;
  options.low = s.low;
  options.high = s.high;
  return options;
}

FieldOptions field_of(const Shape& s, DType type) {
  FieldOptions options;
  options.name = "values";
  options.type = type;
  options.components = s.components;
  options.layout = s.layout;
  for (int a = 0; a < 3; ++a) options.ghost[a] = std::max(s.low[a], s.high[a]);
  options.shared = true;
  return options;
}

class Adjoint : public testing::TestWithParam<std::tuple<Backend, std::size_t, std::size_t>> {
 protected:
  static inline const std::vector<Way> ways = all_ways();
  Backend backend = std::get<0>(GetParam());
  const Way& way = ways[std::get<1>(GetParam())];
  const Shape& s = shapes()[std::get<2>(GetParam())];
  Communicator comm = Communicator::world();

  /// Creates the grid. Returns why the exchange is unavailable here; empty if it is available.
  std::string lay_out() {
    if (auto missing = unavailable(backend, way); !missing.empty()) return missing;
    const Machine machine = machine_here(backend, way);
    GridOptions options;
    options.periodic = s.periodic;
    options.boxes = dealt_blocks(s.cells, s.counts, machine.devices());
    grid.emplace(s.cells, machine, comm.rank(), options);
    exchange_options.routes = way.routes;
    exchange_options.knobs.grouping = way.grouping;
    return refusal_of(*grid, {{&halo, field_of(s, DType::f64)}, {&sum, field_of(s, DType::f64)}}, exchange_options);
  }

  template <class T>
  T value(std::int64_t block, std::int64_t at, int round) const {
    const std::uint64_t bits = scrambled(static_cast<std::uint64_t>(block), static_cast<std::uint64_t>(at), round);
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(fraction(bits));
    return static_cast<T>(static_cast<std::int64_t>(bits % 7) - 3);
  }

  template <class T>
  std::vector<T> filled(const Field& field, std::int64_t block, int round) const {
    std::vector<T> values(
        static_cast<std::size_t>(block_shape(grid->block(block).box.extents(), field.options()).elements));
    for (std::size_t n = 0; n < values.size(); ++n) values[n] = value<T>(block, static_cast<std::int64_t>(n), round);
    return values;
  }

  /// The oracle: applies transfers in the order of block ids. A cell's own value counts at the position of its block.
  template <class T>
  std::map<std::int64_t, std::vector<T>> by_hand(const Field& field, const Pattern& pattern, int round) const {
    std::map<std::int64_t, std::vector<T>> source, result;
    auto transfers = pattern.transfers(*grid, s.components, field.options().ghost, grid->rank());
    std::stable_sort(transfers.begin(), transfers.end(),
                     [](const Transfer& a, const Transfer& b) { return a.source_block < b.source_block; });
    // bits of a cell: 1: has a value from another block; 2: includes its own value
    std::map<std::int64_t, std::vector<char>> begun;
    for (const std::int64_t id : grid->local()) {
      result[id] = filled<T>(field, id, round);
      begun[id].assign(result[id].size(), 0);
    }
    for (const Transfer& t : transfers) {
      if (!result.contains(t.target_block)) continue;
      if (!source.contains(t.source_block)) source[t.source_block] = filled<T>(field, t.source_block, round);
      const BlockShape from = block_shape(grid->block(t.source_block).box.extents(), field.options());
      const BlockShape& to = field.shape(t.target_block);
      std::vector<T> values;
      each_in(from, t.source,
              [&](const Extent&, int, std::int64_t at) { values.push_back(source[t.source_block][at]); });
      std::size_t n = 0;
      each_in(to, t.target, [&](const Extent&, int, std::int64_t at) {
        T& mine = result[t.target_block][at];
        char& state = begun[t.target_block][at];
        const T own = value<T>(t.target_block, at, round);
        if (state == 0 && t.source_block < t.target_block) {
          mine = values[n++];
          state = 1;
          return;
        }
        if (state == 1 && t.source_block >= t.target_block) mine = combined(pattern.op(), mine, own);
        if (t.source_block >= t.target_block) state = 2;
        mine = combined(pattern.op(), mine, values[n++]);
      });
    }
    for (auto& [id, states] : begun)
      for (std::size_t n = 0; n < states.size(); ++n)
        if (states[n] == 1)
          result[id][n] = combined(pattern.op(), result[id][n], value<T>(id, static_cast<std::int64_t>(n), round));
    return result;
  }

  template <class T>
  void expect_bits(const Field& field, const Pattern& pattern, int round) const {
    for (const auto& [id, want] : by_hand<T>(field, pattern, round)) {
      const std::vector<T> have = array_of<T>(field, id);
      // Padding may change. All values that no transfer names must be unchanged, including ghosts.
      int wrong = 0;
      each_in(field.shape(id), everything(grid->block(id).box.extents(), field.options()),
              [&](const Extent& p, int c, std::int64_t at) {
                if (std::memcmp(&have[at], &want[at], sizeof(T)) != 0 && wrong++ < 3)
                  ADD_FAILURE() << "block " << id << " cell " << p[0] << ' ' << p[1] << ' ' << p[2] << " component "
                                << c << ": " << +have[at] << ", not " << +want[at] << ", in round " << round;
              });
    }
  }

  template <class T>
  void run_rounds(Op op, int rounds) {
    const HaloAdjoint pattern(halo_of(s), op);
    Field field(*grid, field_of(s, dtype_of<T>()));
    Exchange exchange(comm, *grid, {{&pattern, &field}}, exchange_options);
    std::vector<Stream> streams = streams_of(*grid);
    for (int round = 1; round <= rounds; ++round) {
      for (const std::int64_t id : grid->local()) set_array(field, id, filled<T>(field, id, round));
      exchange_once(exchange, streams, round);
      expect_bits<T>(field, pattern, round);
    }
  }

  /// Dot product over interiors, or over interiors and ghosts, summed over all ranks.
  double dot(const Field& a, const Field& b, bool ghosts) const {
    double sum = 0;
    for (const std::int64_t id : grid->local()) {
      const auto x = array_of<double>(a, id), y = array_of<double>(b, id);
      const Extent e = grid->block(id).box.extents();
      IndexSet all = everything(e, a.options());
      if (!ghosts) all.box = {{0, 0, 0}, e};
      each_in(a.shape(id), all, [&](const Extent&, int, std::int64_t at) { sum += x[at] * y[at]; });
    }
    return comm.sum_in_rank_order(sum);
  }

  /// Random interiors. Ghosts in y are random; those in x, which the halo does not read, are zero.
  void set_for_dot(Field& field, int salt, bool ghosts, bool whole_numbers) {
    for (const std::int64_t id : grid->local()) {
      const Extent e = grid->block(id).box.extents();
      std::vector<double> values(static_cast<std::size_t>(field.shape(id).elements), 0.0);
      each_in(field.shape(id), everything(e, field.options()), [&](const Extent& p, int, std::int64_t at) {
        bool inside = true;
        for (int a = 0; a < 3; ++a) inside &= p[a] >= 0 && p[a] < e[a];
        if (!inside && !ghosts) return;
        const std::uint64_t bits = scrambled(static_cast<std::uint64_t>(id), static_cast<std::uint64_t>(at), salt);
        values[at] = whole_numbers ? static_cast<double>(bits % 19) - 9 : fraction(bits);
      });
      set_array(field, id, values);
    }
  }

  void expect_adjoint(bool whole_numbers) {
    Field x(*grid, field_of(s, DType::f64)), y(*grid, field_of(s, DType::f64)), hx(*grid, field_of(s, DType::f64)),
        hty(*grid, field_of(s, DType::f64));
    set_for_dot(x, 1, false, whole_numbers);
    set_for_dot(hx, 1, false, whole_numbers);
    set_for_dot(y, 2, true, whole_numbers);
    set_for_dot(hty, 2, true, whole_numbers);
    std::vector<Stream> streams = streams_of(*grid);
    Exchange forwards(comm, *grid, {{&halo, &hx}}, exchange_options);
    Exchange backwards(comm, *grid, {{&sum, &hty}}, exchange_options);
    forwards.run(streams);
    backwards.run(streams);
    finish(streams);
    const double left = dot(hx, y, true), right = dot(x, hty, false), scale = dot(hx, hx, true) + dot(y, y, true);
    if (whole_numbers) {
      EXPECT_EQ(left, right);
    } else {
      EXPECT_NEAR(left, right, 1e-14 * scale);
    }
  }

  std::optional<Grid> grid;
  ExchangeOptions exchange_options;
  const Halo halo{halo_of(s)};
  const HaloAdjoint sum{halo_of(s), Op::add};
};

TEST_P(Adjoint, IsTheTransposeOfTheHalo) {
  if (const auto why = lay_out(); !why.empty()) GTEST_SKIP() << why;
  expect_adjoint(true);
  expect_adjoint(false);
}

TEST_P(Adjoint, AddsInTheOrderOfTheBlocks) {
  if (const auto why = lay_out(); !why.empty()) GTEST_SKIP() << why;
  run_rounds<double>(Op::add, 6);
  run_rounds<float>(Op::add, 2);
}

TEST_P(Adjoint, KnowsAllTypesAndOperations) {
  if (const auto why = lay_out(); !why.empty()) GTEST_SKIP() << why;
  run_rounds<std::int32_t>(Op::add, 2);
  run_rounds<std::int64_t>(Op::max, 2);
  run_rounds<std::uint8_t>(Op::add, 2);
  run_rounds<std::uint8_t>(Op::min, 2);
  run_rounds<float>(Op::max, 2);
  run_rounds<double>(Op::min, 2);
  run_rounds<double>(Op::multiply, 2);
}

INSTANTIATE_TEST_SUITE_P(Routes, Adjoint,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size()),
                                          testing::Range<std::size_t>(0, shapes().size())),
                         [](const auto& info) {
                           return name_of(std::get<0>(info.param), std::get<1>(info.param),
                                          shapes()[std::get<2>(info.param)].name);
                         });

/// A NaN in a ghost or in the cell itself gives NaN: neither the order of operands nor the block decides.
TEST(HaloAdjoint, KeepsNaNInMinimaAndMaxima) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  GridOptions grid_options;
  grid_options.periodic = {true, true, true};
  grid_options.partition.blocks_per_device = {2, 1, 1};
  const Grid grid({4 * comm.size() * 2, 1, 1}, machine, comm.rank(), grid_options);
  FieldOptions options;
  options.type = DType::f64;
  options.ghost = {1, 0, 0};
  options.shared = true;
  Field field(grid, options);
  Halo::Options faces;
  faces.low = faces.high = {1, 0, 0};
  faces.reach = Reach::faces;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Op op : {Op::min, Op::max})
    for (const bool in_ghosts : {false, true}) {
      const HaloAdjoint adjoint(faces, op);
      for (const std::int64_t id : grid.local()) {
        std::vector<double> values(static_cast<std::size_t>(field.shape(id).elements), 1);
        const std::int64_t width = grid.block(id).box.extent(0);
        for (const std::int64_t x : {std::int64_t{-1}, width})
          values[element(field.shape(id), 0, {x, 0, 0})] = in_ghosts ? nan : 2;
        for (const std::int64_t x : {std::int64_t{0}, width - 1})
          values[element(field.shape(id), 0, {x, 0, 0})] = in_ghosts ? 2 : nan;
        set_array(field, id, values);
      }
      Exchange exchange(comm, grid, {{&adjoint, &field}});
      std::vector<Stream> streams = streams_of(grid);
      exchange_once(exchange, streams, 1);
      for (const std::int64_t id : grid.local()) {
        const std::vector<double> values = array_of<double>(field, id);
        const std::int64_t width = grid.block(id).box.extent(0);
        for (const std::int64_t x : {std::int64_t{0}, width - 1})
          EXPECT_TRUE(std::isnan(values[element(field.shape(id), 0, {x, 0, 0})])) << in_ghosts;
      }
    }
}

/// The middle one of three devices adds the values of its second neighbour while the first neighbour is still busy.
TEST(HaloAdjoint, CombinesEachMessageWhenItHasCome) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 3);
  GridOptions grid_options;
  grid_options.partition.devices = {3 * comm.size(), 1, 1};
  const Grid grid({4 * 3 * comm.size(), 2, 1}, machine, comm.rank(), grid_options);
  FieldOptions options;
  options.type = DType::f64;
  options.ghost = {1, 0, 0};
  options.shared = true;
  Field field(grid, options);
  Halo::Options faces;
  faces.low = faces.high = {1, 0, 0};
  faces.reach = Reach::faces;
  const HaloAdjoint adjoint(faces);
  Exchange exchange(comm, grid, {{&adjoint, &field}});
  std::vector<Stream> streams = streams_of(grid);
  exchange.run(streams);
  finish(streams);
  comm.barrier();
  detail::submit(streams[0].impl(), [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); });
  exchange.run(streams);
  finish(streams);
  exchange.check();
  const int first = machine.devices_of_rank(comm.rank()).front(), middle = first + 1;
  const std::vector<double> arrivals = exchange.arrival_us();
  double late = 0, early = 0;
  for (std::size_t m = 0; m < arrivals.size(); ++m) {
    const MessageInfo& message = exchange.messages()[m];
    if (message.target == middle) (message.source == first ? late : early) = arrivals[m];
  }
  EXPECT_GT(late, 200e3);
  EXPECT_GT(early, 0);
  EXPECT_LT(early, 100e3);
}

TEST(HaloAdjoint, TravelsWithAHaloOfAnotherField) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 2);
  GridOptions grid_options;
  grid_options.periodic = {true, true, true};
  const Grid grid({8, 8, 8}, machine, comm.rank(), grid_options);
  FieldOptions options;
  options.ghost = {1, 1, 1};
  options.shared = true;
  options.name = "summed";
  options.type = DType::f64;
  Field summed(grid, options);
  options.name = "copied";
  options.type = DType::i32;
  Field copied(grid, options);
  for (const std::int64_t id : grid.local()) {
    set_array(summed, id, std::vector<double>(static_cast<std::size_t>(summed.shape(id).elements), 1));
    std::vector<std::int32_t> values(static_cast<std::size_t>(copied.shape(id).elements), -1);
    each_in(copied.shape(id), {{{0, 0, 0}, grid.block(id).box.extents()}, {0}, nullptr},
            [&](const Extent&, int, std::int64_t at) { values[at] = 7; });
    set_array(copied, id, values);
  }
  Halo::Options faces;
  faces.reach = Reach::faces;
  const Halo halo(faces);
  const HaloAdjoint adjoint(faces);
  Exchange exchange(comm, grid, {{&adjoint, &summed}, {&halo, &copied}});
  std::vector<Stream> streams = streams_of(grid);
  exchange.run(streams);
  finish(streams);
  exchange.check();
  for (const std::int64_t id : grid.local()) {
    const Extent e = grid.block(id).box.extents();
    const auto sums = array_of<double>(summed, id);
    const auto copies = array_of<std::int32_t>(copied, id);
    EXPECT_EQ(sums[element(summed.shape(id), 0, {0, 0, 0})], 4) << "a corner cell has three ghost cells";
    EXPECT_EQ(copies[element(copied.shape(id), 0, {-1, 0, 0})], 7);
    EXPECT_EQ(copies[element(copied.shape(id), 0, {e[0], e[1] - 1, e[2] - 1})], 7);
    EXPECT_EQ(copies[element(copied.shape(id), 0, {-1, -1, 0})], -1);
  }
}

}  // namespace
}  // namespace slipstream
