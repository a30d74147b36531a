// Halos of grids and fields of every shape, on every route, compared with a formula of the global cell.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

struct Values {
  DType type = DType::f64;
  int components = 1;
  Layout layout = Layout::soa;
  Extent low{1, 1, 1}, high{1, 1, 1};
  Reach reach = Reach::all;
  Extent spare{0, 0, 0};  // number of additional ghost layers that the halo does not fill
};

struct Shape {
  const char* name;
  Extent cells;
  // number of blocks along each axis; they are distributed round-robin, so a device may have several or none
  Extent counts;
  std::array<bool, 3> periodic{true, true, true};
  std::vector<Values> fields{{}};
};

Values three_wide(Layout layout) { return {DType::f32, 2, layout, {3, 3, 3}, {3, 3, 3}}; }

/// Number of shapes, the last ones in the list, whose messages are too large to be tested on every route.
constexpr std::size_t large_messages = 2;

const std::vector<Shape>& shapes() {
  const Values wide{DType::i32, 3, Layout::aos, {3, 2, 0}, {0, 1, 3}, Reach::faces_and_edges, {1, 0, 2}},
      bytes{DType::u8, 2, Layout::soa, {1, 1, 1}, {2, 2, 2}, Reach::faces},
      longs{DType::i64, 1, Layout::soa, {1, 1, 1}, {1, 1, 1}, Reach::all},
      halves{DType::f16, 3, Layout::soa, {1, 1, 1}, {1, 2, 1}, Reach::all},
      singles{DType::f32, 5, Layout::aos, {2, 2, 2}, {2, 2, 2}, Reach::all},
      along_z{DType::f32, 2, Layout::soa_z, {3, 1, 2}, {1, 2, 2}, Reach::all, {1, 0, 2}};
  static const std::vector<Shape> list{
      {"more_devices_than_blocks", {9, 8, 7}, {1, 1, 1}},
      {"one_cell_thick", {1, 9, 8}, {1, 2, 3}},
      {"blocks_of_one_cell", {3, 4, 2}, {3, 4, 2}},
      {"blocks_thinner_than_ghosts",
       {7, 9, 8},
       {5, 4, 3},
       {true, false, true},
       {{DType::f64, 1, Layout::soa, {3, 4, 3}, {4, 3, 3}}}},
      {"wider_below_than_above", {12, 10, 8}, {2, 2, 2}, {true, true, false}, {wide}},
      {"fields_of_every_kind",
       {12, 10, 8},
       {2, 3, 2},
       {true, true, true},
       {{}, wide, bytes, longs, halves, singles, along_z}},
      {"rows_along_z", {15, 12, 10}, {3, 2, 2}, {true, true, false}, {along_z, longs}},
      {"halves_aos", {11, 9, 7}, {2, 2, 2}, {true, true, true}, {{DType::f16, 5, Layout::aos, {1, 1, 1}, {1, 1, 1}}}},
      {"faces_open", {12, 10, 8}, {2, 2, 3}, {false, false, false}, {bytes}},
      {"flat_and_uneven",
       {17, 11, 1},
       {3, 4, 1},
       {true, false, true},
       {{DType::f32, 2, Layout::soa, {2, 1, 1}, {1, 3, 1}}, {DType::u8, 1, Layout::soa, {1, 1, 0}, {1, 1, 1}}}},
      // More than 8 MB of messages per device: their copies run in another order than those of smaller messages.
      {"rows_along_x_of_large_messages", {12, 700, 600}, {2, 2, 1}, {true, true, true}, {three_wide(Layout::soa)}},
      {"rows_along_z_of_large_messages", {12, 700, 600}, {2, 2, 1}, {true, true, true}, {three_wide(Layout::soa_z)}},
  };
  return list;
}

class Shapes : public testing::TestWithParam<std::tuple<Backend, std::size_t, std::size_t>> {
 protected:
  static constexpr std::int64_t untouched = 250;
  static inline const std::vector<Way> ways = all_ways();
  Backend backend = std::get<0>(GetParam());
  const Way& way = ways[std::get<1>(GetParam())];
  const Shape& s = shapes()[std::get<2>(GetParam())];

  /// Expected value of a cell, before an exchange or `after` it.
  std::int64_t value(const Values& v, const Block& block, const Extent& p, int c, int round, bool after) const {
    Extent global{};
    int away = 0;
    for (int a = 0; a < 3; ++a) {
      const std::int64_t e = block.box.extent(a);
      if (p[a] < -v.low[a] || p[a] >= e + v.high[a]) return untouched;
      away += p[a] < 0 || p[a] >= e;
      global[a] = block.box.lo[a] + p[a];
      if (global[a] >= 0 && global[a] < s.cells[a]) continue;
      if (!s.periodic[a]) return untouched;
      global[a] = (global[a] + s.cells[a]) % s.cells[a];
    }
    const int reach = v.reach == Reach::faces ? 1 : v.reach == Reach::faces_and_edges ? 2 : 3;
    if (away > (after ? reach : 0)) return untouched;
    return (((global[2] * 13 + global[1]) * 11 + global[0]) * 7 + c * 3 + round * 101) % 240;
  }

  std::vector<std::byte> array(const Values& v, const Field& field, const Block& block, int round, bool after) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(field.shape(block.id).elements) * size_of(v.type));
    const IndexSet all = everything(block.box.extents(), field.options());
    each_in(field.shape(block.id), all, [&](const Extent& p, int c, std::int64_t at) {
      store(v.type, bytes.data(), at, value(v, block, p, c, round, after));
    });
    return bytes;
  }
};

TEST_P(Shapes, FillTheGhostsAndNothingElse) {
  if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, way);
  GridOptions grid_options;
  grid_options.periodic = s.periodic;
  grid_options.boxes = dealt_blocks(s.cells, s.counts, machine.devices());
  const Grid grid(s.cells, machine, comm.rank(), grid_options);
  std::deque<Field> fields;
  std::deque<Halo> halos;
  std::vector<ExchangeItem> items;
  std::vector<PlannedItem> planned;
  for (const Values& v : s.fields) {
    FieldOptions options;
    options.name = "field " + std::to_string(fields.size());
    options.type = v.type;
    options.components = v.components;
    options.layout = v.layout;
    options.shared = true;
    for (int a = 0; a < 3; ++a) options.ghost[a] = std::max(v.low[a], v.high[a]) + v.spare[a];
    fields.emplace_back(grid, options);
    Halo::Options halo;
    halo.low = v.low;
    halo.high = v.high;
    halo.reach = v.reach;
    halos.emplace_back(halo);
    items.push_back({&halos.back(), &fields.back()});
    planned.push_back({&halos.back(), options});
  }
  ExchangeOptions options;
  options.routes = way.routes;
  options.knobs.grouping = way.grouping;
  if (const auto why = refusal_of(grid, planned, options); !why.empty()) GTEST_SKIP() << why;
  Exchange exchange(comm, grid, items, options);
  std::vector<Stream> streams = streams_of(grid);
  // Exchanges twice by run() and twice by begin() and end(); only once by each if messages are large, to save seconds.
  const int rounds = volume(s.cells) > 1'000'000 ? 2 : 4;
  for (int round = 1; round <= rounds; ++round) {
    for (std::size_t f = 0; f < fields.size(); ++f)
      for (const std::int64_t id : grid.local())
        set_array(fields[f], id, array(s.fields[f], fields[f], grid.block(id), round, false));
    exchange_once(exchange, streams, round);
    for (std::size_t f = 0; f < fields.size(); ++f)
      for (const std::int64_t id : grid.local())
        EXPECT_TRUE(array_of<std::byte>(fields[f], id) == array(s.fields[f], fields[f], grid.block(id), round, true))
            << "field " << f << ", block " << id << ", round " << round;
  }
}

std::string name_of_shape(const testing::TestParamInfo<Shapes::ParamType>& info) {
  return name_of(std::get<0>(info.param), std::get<1>(info.param), shapes()[std::get<2>(info.param)].name);
}

INSTANTIATE_TEST_SUITE_P(Routes, Shapes,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size()),
                                          testing::Range<std::size_t>(0, shapes().size() - large_messages)),
                         name_of_shape);

std::vector<std::size_t> ways_by_rules() {
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < all_ways().size(); ++n)
    if (all_ways()[n].name.starts_with("rules")) found.push_back(n);
  return found;
}

INSTANTIATE_TEST_SUITE_P(LargeMessages, Shapes,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::ValuesIn(ways_by_rules()),
                                          testing::Range<std::size_t>(shapes().size() - large_messages,
                                                                      shapes().size())),
                         name_of_shape);

/// If ranks outnumber GPUs, all tests share GPUs. This test checks which routes that allows. Each virtual host device
/// belongs to one rank.
TEST(SharedDevice, IsNotOneDeviceForTheRouteKernel) {
  if (!available(Backend::cuda)) GTEST_SKIP() << "host devices are never shared: there is no GPU";
  const Machine machine = machine_here(Backend::cuda, 1);
  const Grid grid({16, 16, 16}, machine, Communicator::world().rank());
  const Halo halo(Halo::Options{});
  FieldOptions field;
  field.name = "u";
  field.ghost = {1, 1, 1};
  field.shared = true;
  for (const MessageInfo& message : plan_messages(grid, {{&halo, field}}, {}))
    EXPECT_EQ(message.route == RouteKind::kernel, message.source == message.target) << message.reason;
}

TEST(WideHalo, ThatWrapsMoreThanOnceIsAnError) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  GridOptions options;
  options.periodic = {true, true, true};
  options.boxes = dealt_blocks({4, 4, 4}, {1, 1, 1}, machine.devices());
  const Grid grid({4, 4, 4}, machine, comm.rank(), options);
  FieldOptions field_options;
  field_options.name = "u";
  field_options.ghost = {5, 5, 5};
  Field field(grid, field_options);
  Halo::Options wide;
  wide.low = wide.high = {5, 1, 1};
  const Halo halo(wide);
  expect_error(
      [&] {
        Exchange(comm, grid, {{&halo, &field}});
      },
      ErrorCode::unsupported, {{"option", "width"}, {"limit", 4}, {"axis", "x"}});
}

class LargeField : public testing::TestWithParam<std::tuple<Backend, RouteKind>> {};

/// Boundary regions at elements beyond 2^31, of one block that is its own neighbour, or of two on two devices.
/// Untouched pages take no host memory, but GPU memory is allocated in full.
TEST_P(LargeField, IsAddressedBeyondTwoToThe31) {
  const auto [backend, kind] = GetParam();
  const Communicator comm = Communicator::world();
  const int devices = kind == RouteKind::direct ? 2 : 1;
  if (comm.size() > 1) GTEST_SKIP() << "one rank is enough";
  if (const auto missing = unavailable(backend, devices); !missing.empty()) GTEST_SKIP() << missing;
  const Machine machine = machine_here(backend, devices);
  const std::int64_t free = info(machine.device(0).local).memory_free;
  if (free < std::int64_t{6} << 30) GTEST_SKIP() << "needs 6 GB, " << free << " bytes are free";
  GridOptions grid_options;
  grid_options.periodic = {false, false, true};
  grid_options.partition.devices = {1, 1, devices};
  const Extent cells{1300, 1300, 1300};
  const Grid grid({cells[0], cells[1], cells[2] * devices}, machine, comm.rank(), grid_options);
  FieldOptions options;
  options.name = "bytes";
  options.type = DType::u8;
  options.ghost = {0, 0, 1};
  Field field(grid, options);
  const BlockShape& shape = field.shape(0);
  ASSERT_GT(shape.elements, std::int64_t{1} << 31);
  Halo::Options halo_options;
  halo_options.low = halo_options.high = {0, 0, 1};
  halo_options.reach = Reach::faces;
  const Halo halo(halo_options);
  ExchangeOptions exchange_options;
  exchange_options.routes = devices > 1 ? std::vector{RouteKind::kernel, kind} : std::vector{kind};
  Exchange exchange(comm, grid, {{&halo, &field}}, exchange_options);
  std::vector<Stream> streams = streams_of(grid);
  const auto plane = static_cast<std::size_t>(shape.stride[2] - shape.origin % shape.stride[1]);
  const auto value = [](std::int64_t block, bool high, std::size_t n) {
    return static_cast<std::uint8_t>((n % (high ? 241 : 251) + static_cast<std::size_t>(17 * block + 7 * high)) % 256);
  };
  const auto at = [&](std::int64_t block, std::int64_t z) {
    return field.data(block) + shape.origin + z * shape.stride[2];
  };
  std::vector<std::uint8_t> values(plane);
  for (int block = 0; block < devices; ++block)
    for (const bool high : {false, true}) {
      for (std::size_t n = 0; n < plane; ++n) values[n] = value(block, high, n);
      copy(streams[block], at(block, high ? cells[2] - 1 : 0), values.data(), plane);
      streams[block].synchronize();
    }
  exchange.run(streams);
  finish(streams);
  exchange.check();
  int wrong = 0;
  for (int block = 0; block < devices; ++block)
    for (const bool high : {false, true}) {
      copy(streams[block], values.data(), at(block, high ? cells[2] : -1), plane);
      streams[block].synchronize();
      const int other = (block + 1) % devices;  // the block's only neighbour, both above and below it
      for (std::int64_t y = 0; y < cells[1]; ++y)
        for (std::int64_t x = 0; x < cells[0]; ++x) {
          const auto n = static_cast<std::size_t>(y * shape.stride[1] + x);
          wrong += values[n] != value(other, !high, n);
        }
    }
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Routes, LargeField,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Values(RouteKind::kernel, RouteKind::direct, RouteKind::staged)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" + to_string(std::get<1>(info.param));
                         });

/// A grid of 30 x 31 x 37 cells in blocks of random sizes, with 1 to 8 devices per rank and by several routes.
class BricksOfSomeDevices : public testing::TestWithParam<std::size_t> {};

TEST_P(BricksOfSomeDevices, FillTheGhosts) {
  const Way way = ways_of_some_devices()[GetParam()];
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, way);
  const Extent cells{30, 31, 37};
  const auto value = [](const Extent& p) { return static_cast<double>((p[2] * 31 + p[1]) * 30 + p[0]); };
  for (unsigned seed = 0; seed < 4; ++seed) {
    std::mt19937 random(seed);
    GridOptions grid_options;
    grid_options.boxes = random_blocks(cells, machine.devices(), random);
    grid_options.periodic = {true, seed % 2 == 0, true};
    const Grid grid(cells, machine, comm.rank(), grid_options);
    FieldOptions options;
    options.name = "values";
    options.type = DType::f64;
    options.ghost = {2, 2, 2};
    Field field(grid, options);
    Halo::Options widths;
    widths.low = {2, 1, 2};
    widths.high = {1, 2, 2};
    const Halo halo(widths);
    ExchangeOptions exchange_options;
    exchange_options.routes = way.routes;
    Exchange exchange(comm, grid, {{&halo, &field}}, exchange_options);
    std::vector<Stream> streams = streams_of(grid);
    std::map<std::int64_t, std::vector<double>> wanted;
    for (const std::int64_t id : grid.local()) {
      std::vector<double> start(static_cast<std::size_t>(field.shape(id).elements), -1), want = start;
      const Box& box = grid.block(id).box;
      each_in(field.shape(id), everything(box.extents(), options), [&](const Extent& p, int, std::int64_t at) {
        Extent q{};
        bool inside = true, filled = true;
        for (int a = 0; a < 3; ++a) {
          q[a] = p[a] + box.lo[a];
          inside &= p[a] >= 0 && p[a] < box.extent(a);
          filled &= p[a] >= -widths.low[a] && p[a] < box.extent(a) + widths.high[a];
          filled &= grid.periodic()[a] || (q[a] >= 0 && q[a] < cells[a]);
          q[a] = (q[a] + cells[a]) % cells[a];
        }
        if (inside) start[at] = value(q);
        if (filled) want[at] = value(q);
      });
      set_array(field, id, start);
      wanted[id] = want;
    }
    exchange_once(exchange, streams, static_cast<int>(seed));
    for (const std::int64_t id : grid.local())
      ASSERT_TRUE(array_of<double>(field, id) == wanted.at(id)) << "block " << id << ", seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Routes, BricksOfSomeDevices, testing::Range<std::size_t>(0, ways_of_some_devices().size()),
                         [](const auto& info) { return ways_of_some_devices()[info.param].name; });

}  // namespace
}  // namespace slipstream
