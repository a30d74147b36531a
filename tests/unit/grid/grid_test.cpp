#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include <slipstream/field.hpp>
#include <slipstream/grid.hpp>

#include "support/expect_error.hpp"

namespace slipstream {
namespace {

Machine described(int nodes, int per_node, double near = 100, double far = 10) {
  std::vector<MachineDevice> devices;
  for (int d = 0; d < nodes * per_node; ++d) {
    MachineDevice device;
    device.node = d / per_node;
    device.rank = d / per_node;
    device.local = {Backend::host, d % per_node};
    device.name = "test device";
    device.uuid = "test-" + std::to_string(d);
    device.memory = 1 << 30;
    devices.push_back(device);
  }
  std::vector<Link> links;
  for (int a = 0; a < nodes * per_node; ++a)
    for (int b = 0; b < nodes * per_node; ++b) {
      const bool together = a / per_node == b / per_node;
      links.push_back({a == b     ? LinkKind::same
                       : together ? LinkKind::nvlink
                                  : LinkKind::network,
                       together ? near : far, together});
    }
  return Machine("test", devices, links);
}

TEST(PrimeFactors, AreLargestFirst) {
  EXPECT_EQ(prime_factors(12), (std::vector<int>{3, 2, 2}));
  EXPECT_EQ(prime_factors(1), std::vector<int>{});
  EXPECT_EQ(prime_factors(97), std::vector<int>{97});
}

// Pearson et al. 2020, fig. 4: 4 x 24 x 2 cells on 12 nodes of 4 GPUs.
TEST(Partition, CutsThePapersExampleAsThePaperDoes) {
  PartitionOptions options;
  options.tie = Tie::x_first;
  const Partition p = partition({4, 24, 2}, 12, 4, options);
  EXPECT_EQ(p.nodes, (Extent{2, 6, 1}));
  EXPECT_EQ(p.devices, (Extent{2, 2, 1}));
  ASSERT_EQ(p.boxes.size(), 48u);
  for (const Box& box : p.boxes) EXPECT_EQ(box.extents(), (Extent{1, 2, 2}));
  // Node [1, 2, 0] of the partition begins at x = 2, y = 8.
  EXPECT_EQ(p.boxes[(2 * 2 + 1) * 4].lo, (Extent{2, 8, 0}));
}

TEST(Partition, TiesCutTheSlowestAxisUnlessToldOtherwise) {
  EXPECT_EQ(bisect({8, 8, 8}, 2), (Extent{1, 1, 2}));
  EXPECT_EQ(bisect({8, 8, 8}, 2, Tie::x_first), (Extent{2, 1, 1}));
  EXPECT_EQ(bisect({4, 24, 2}, 12, Tie::x_first), (Extent{2, 6, 1}));
  EXPECT_EQ(bisect({4, 24, 2}, 12), (Extent{1, 12, 1}));
}

TEST(Partition, CutsTheSummitExampleIntoSixOf720x484x700) {
  const Partition p = partition({1440, 1452, 700}, 1, 6);
  ASSERT_EQ(p.boxes.size(), 6u);
  for (const Box& box : p.boxes) EXPECT_EQ(box.extents(), (Extent{720, 484, 700}));
}

TEST(Partition, SpreadsRemaindersAndCoversTheGrid) {
  PartitionOptions options;
  options.blocks_per_device = {2, 1, 3};
  const Partition p = partition({17, 13, 29}, 2, 3, options);
  std::int64_t cells = 0, smallest = 1 << 30, largest = 0;
  for (const Box& box : p.boxes) {
    cells += box.volume();
    smallest = std::min(smallest, box.extent(0));
    largest = std::max(largest, box.extent(0));
  }
  EXPECT_EQ(cells, 17 * 13 * 29);
  EXPECT_LE(largest - smallest, 1);
  for (std::size_t i = 0; i < p.boxes.size(); ++i)
    for (std::size_t j = i + 1; j < p.boxes.size(); ++j) ASSERT_TRUE(intersection(p.boxes[i], p.boxes[j]).empty());
}

TEST(Partition, RefusesMoreBlocksThanCells) {
  EXPECT_THROW(partition({2, 2, 1}, 1, 8), Error);
  PartitionOptions options;
  options.blocks_per_device = {5, 1, 1};
  EXPECT_THROW(partition({4, 4, 4}, 1, 1, options), Error);
}

TEST(Partition, TakesAGivenProcessGrid) {
  PartitionOptions options;
  options.devices = {1, 4, 1};
  EXPECT_EQ(partition({64, 64, 64}, 1, 4, options).boxes.front().extents(), (Extent{64, 16, 64}));
  options.devices = {3, 1, 1};
  EXPECT_THROW(partition({64, 64, 64}, 1, 4, options), Error);
}

// Two fast pairs, {0, 2} and {1, 3}: subdomains with large messages must share a fast pair.
TEST(Placement, PutsHeavyFlowsOnFastLinks) {
  const std::vector<double> flow{0, 9, 1, 1, 9, 0, 1, 1, 1, 1, 0, 9, 1, 1, 9, 0};
  std::vector<double> distance(16, 10.0);
  for (const auto& [a, b] : {std::pair{0, 2}, std::pair{1, 3}}) distance[a * 4 + b] = distance[b * 4 + a] = 1;
  const auto place = quadratic_assignment(flow, distance, 4);
  EXPECT_EQ((place[0] + 2) % 4, place[1] % 4);
  EXPECT_DOUBLE_EQ(assignment_cost(flow, distance, place), 2 * (2 * 9 * 1 + 4 * 10));
}

TEST(Placement, HeuristicIsNoWorseThanTrivialBeyondEight) {
  const int n = 12;
  std::vector<double> flow(n * n), distance(n * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      flow[i * n + j] = i == j ? 0 : 1 + (i * j) % 7;
      distance[i * n + j] = i == j ? 0 : 1 + (i + j) % 5;
    }
  std::vector<int> trivial(n);
  std::iota(trivial.begin(), trivial.end(), 0);
  auto place = quadratic_assignment(flow, distance, n);
  EXPECT_LT(assignment_cost(flow, distance, place), assignment_cost(flow, distance, trivial));
  std::sort(place.begin(), place.end());
  EXPECT_EQ(place, trivial);
}

TEST(Grid, GivesBlocksToTheDevicesOfTheirNode) {
  const Grid grid({32, 32, 32}, described(2, 4), 1);
  ASSERT_EQ(grid.blocks().size(), 8u);
  for (const Block& block : grid.blocks()) EXPECT_EQ(block.rank, block.id / 4);
  EXPECT_EQ(grid.local().size(), 4u);
  EXPECT_LE(grid.placement_cost(), grid.trivial_cost());
}

TEST(Grid, HasTwoDimensionsWhereItIsToldSoAndHasOneCellAlongZ) {
  GridOptions options;
  EXPECT_EQ(Grid({8, 8, 1}, described(1, 2), 0, options).dimensions(), 3);
  options.dimensions = 2;
  EXPECT_EQ(Grid({8, 8, 1}, described(1, 2), 0, options).dimensions(), 2);
  const auto refused = [&](const Extent& cells, int dimensions) {
    options.dimensions = dimensions;
    expect_error([&] { Grid(cells, described(1, 2), 0, options); }, ErrorCode::unsupported,
                 {{"option", "dimensions"}, {"given", dimensions}});
  };
  refused({8, 8, 2}, 2);
  refused({8, 1, 1}, 1);
}

TEST(Grid, TakesTheUsersBoxesAndChecksThem) {
  const Machine machine = described(1, 2);
  GridOptions options;
  options.boxes = {{0, {{0, 0, 0}, {3, 4, 4}}, 1}, {0, {{3, 0, 0}, {4, 4, 4}}, 0}};
  const Grid grid({4, 4, 4}, machine, 0, options);
  EXPECT_EQ(grid.block(0).device, 1);
  const auto refused = [&](const Box& second) {
    options.boxes[1].box = second;
    return error_of([&] { Grid({4, 4, 4}, machine, 0, options); });
  };
  expect_error(refused({{2, 0, 0}, {4, 4, 4}}), ErrorCode::invalid_argument,
               {{"block", 0}, {"other", 1}, {"cell", "(2, 0, 0)"}});
  expect_error(refused({{3, 0, 0}, {4, 4, 3}}), ErrorCode::invalid_argument, {{"given", 60}, {"needed", 64}});
  expect_error(refused({{3, 0, 0}, {5, 4, 4}}), ErrorCode::invalid_argument,
               {{"block", 1}, {"lo", "(3, 0, 0)"}, {"hi", "(5, 4, 4)"}});
}

TEST(Placement, NamesAreReadBack) {
  for (const auto method :
       {PlacementMethod::trivial, PlacementMethod::random, PlacementMethod::theoretical, PlacementMethod::measured})
    EXPECT_EQ(placement_from_string(to_string(method)), method);
  EXPECT_THROW(placement_from_string("node_aware"), Error);
}

/// One node of six devices in two triads: 50 GB/s within a triad, 20 between them (Pearson et al. 2020, fig. 10).
Machine triads() {
  const Machine alike = described(1, 6);
  std::vector<MachineDevice> devices;
  std::vector<Link> links;
  for (int a = 0; a < 6; ++a) {
    devices.push_back(alike.device(a));
    for (int b = 0; b < 6; ++b)
      links.push_back(a == b           ? Link{LinkKind::same, 400, true}
                      : a / 3 == b / 3 ? Link{LinkKind::nvlink, 50, true}
                                       : Link{LinkKind::numa, 20, false});
  }
  return Machine("triads", devices, links);
}

GridOptions placed(PlacementMethod method, std::uint64_t seed = 0) {
  GridOptions options;
  options.periodic = {true, true, true};
  options.placement = method;
  options.placement_seed = seed;
  return options;
}

std::vector<int> devices_of(const Grid& grid) {
  std::vector<int> devices;
  for (const Block& block : grid.blocks()) devices.push_back(block.device);
  return devices;
}

// The large faces of 720 x 484 x 700 are between the three blocks of equal x.
TEST(Placement, TheoreticalKeepsThePapersLargeFacesWithinTriads) {
  const Grid grid({1440, 1452, 700}, triads(), 0, placed(PlacementMethod::theoretical));
  for (const Block& a : grid.blocks())
    for (const Block& b : grid.blocks())
      EXPECT_EQ(a.device / 3 == b.device / 3, a.box.lo[0] == b.box.lo[0]) << a.id << ' ' << b.id;
  EXPECT_LT(grid.placement_cost(), grid.trivial_cost());
}

TEST(Placement, RandomGivesEachDeviceItsPartAndHangsOnTheSeedOnly) {
  const auto with_seed = [](std::uint64_t seed) {
    return devices_of(Grid({64, 64, 64}, described(3, 4), 0, placed(PlacementMethod::random, seed)));
  };
  std::vector<int> devices = with_seed(5), other = with_seed(6);
  EXPECT_EQ(devices, with_seed(5));
  EXPECT_NE(devices, other);
  for (std::size_t i = 0; i < devices.size(); ++i) EXPECT_EQ(devices[i] / 4, devices[i / 4 * 4] / 4);
  std::sort(devices.begin(), devices.end());
  std::vector<int> all(12);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(devices, all);
}

// Equal rated links, but 0-2 and 1-3 were measured ten times as fast: neighbours in a row must use these.
TEST(Placement, MeasuredFollowsTheMeasuredRates) {
  GridOptions options = placed(PlacementMethod::measured);
  options.periodic = {false, false, false};
  options.partition.devices = {4, 1, 1};
  options.measured_gb_per_s.assign(16, 10.0);
  for (const auto& [a, b] : {std::pair{0, 2}, std::pair{1, 3}})
    options.measured_gb_per_s[a * 4 + b] = options.measured_gb_per_s[b * 4 + a] = 100;
  const Grid grid({32, 8, 8}, described(1, 4), 0, options);
  EXPECT_EQ((grid.block(0).device + 2) % 4, grid.block(1).device);
  EXPECT_EQ((grid.block(2).device + 2) % 4, grid.block(3).device);
  EXPECT_LT(grid.placement_cost(), grid.trivial_cost());
}

TEST(Placement, MeasuredWithoutRatesOrWithTooFewIsAnError) {
  GridOptions options = placed(PlacementMethod::measured);
  EXPECT_THROW(Grid({32, 8, 8}, described(1, 4), 0, options), Error);
  options.measured_gb_per_s.assign(4, 1.0);
  EXPECT_THROW(Grid({32, 8, 8}, described(1, 4), 0, options), Error);
}

/// Nodes of one device on two switches: nodes with numbers of equal parity are close.
Machine two_switches(int nodes) {
  const Machine alike = described(nodes, 1);
  std::vector<MachineDevice> devices;
  std::vector<Link> links;
  for (int a = 0; a < nodes; ++a) {
    devices.push_back(alike.device(a));
    for (int b = 0; b < nodes; ++b)
      links.push_back(a == b ? Link{LinkKind::same, 400, true} : Link{LinkKind::network, (a - b) % 2 ? 1.0 : 10.0});
  }
  return Machine("two switches", devices, links);
}

class NodePlacement : public testing::TestWithParam<int> {};

// The search for the best placement of blocks on nodes is exhaustive for up to 8 nodes, and local for more.
TEST_P(NodePlacement, PutsNeighboursAmongNodesThatAreNear) {
  GridOptions options = placed(PlacementMethod::theoretical);
  options.periodic = {false, false, false};
  options.partition.nodes = {GetParam(), 1, 1};
  const Grid grid({GetParam() * 4, 8, 8}, two_switches(GetParam()), 0, options);
  int crossings = 0;
  for (int i = 1; i < GetParam(); ++i) crossings += (grid.block(i).device - grid.block(i - 1).device) % 2 != 0;
  EXPECT_EQ(crossings, 1);
}

INSTANTIATE_TEST_SUITE_P(Counts, NodePlacement, testing::Values(4, 8, 12));

TEST(Placement, DescentFindsTheExactAnswerOfASmallProblem) {
  // Assigns nine blocks to nine devices. The ninth has no traffic: an exact search over the others gives the optimum.
  std::mt19937 random(3);
  std::vector<double> flow(81, 0.0), distance(81, 0.0), small_flow, small_distance;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      flow[i * 9 + j] = i == j ? 0 : 1 + random() % 9;
      distance[i * 9 + j] = i == j ? 0 : 1 + random() % 9;
      small_flow.push_back(flow[i * 9 + j]);
      small_distance.push_back(distance[i * 9 + j]);
    }
  for (int i = 0; i < 9; ++i) distance[i * 9 + 8] = distance[8 * 9 + i] = 1e3;
  const double exact = assignment_cost(small_flow, small_distance, quadratic_assignment(small_flow, small_distance, 8));
  EXPECT_LE(assignment_cost(flow, distance, quadratic_assignment(flow, distance, 9)), 1.05 * exact);
}

struct ShapeCase {
  Layout layout;
  DType type;
  int components, alignment;
  Extent ghost;
};

class FieldShape : public testing::TestWithParam<ShapeCase> {};

TEST_P(FieldShape, AlignsRowsAndGivesEveryValueItsOwnElement) {
  const ShapeCase& c = GetParam();
  FieldOptions options;
  options.type = c.type;
  options.components = c.components;
  options.layout = c.layout;
  options.alignment = c.alignment;
  options.ghost = c.ghost;
  const Extent extent{7, 5, 3};
  const BlockShape shape = block_shape(extent, options);
  std::vector<bool> used(shape.elements, false);
  for (int comp = 0; comp < c.components; ++comp)
    for (std::int64_t z = -c.ghost[2]; z < extent[2] + c.ghost[2]; ++z)
      for (std::int64_t y = -c.ghost[1]; y < extent[1] + c.ghost[1]; ++y) {
        const std::int64_t row =
            shape.origin + comp * shape.component_stride + y * shape.stride[1] + z * shape.stride[2];
        for (std::int64_t x = -c.ghost[0]; x < extent[0] + c.ghost[0]; ++x) {
          const std::int64_t at = row + x * shape.stride[0];
          if ((c.layout == Layout::soa_z ? z : x) == 0 && (c.layout != Layout::aos || comp == 0)) {
            EXPECT_EQ(at * static_cast<std::int64_t>(size_of(c.type)) % std::max<std::int64_t>(1, c.alignment), 0);
          }
          ASSERT_GE(at, 0);
          ASSERT_LT(at, shape.elements);
          ASSERT_FALSE(used[at]);
          used[at] = true;
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Shapes, FieldShape,
                         testing::Values(ShapeCase{Layout::soa, DType::f32, 4, 128, {1, 1, 1}},
                                         ShapeCase{Layout::aos, DType::f32, 4, 128, {1, 1, 1}},
                                         ShapeCase{Layout::soa, DType::f64, 19, 128, {3, 3, 3}},
                                         ShapeCase{Layout::aos, DType::f64, 19, 64, {2, 0, 1}},
                                         ShapeCase{Layout::soa_z, DType::f32, 19, 128, {2, 1, 3}},
                                         ShapeCase{Layout::soa, DType::u8, 1, 1, {1, 1, 1}},
                                         ShapeCase{Layout::soa, DType::f32, 1, 0, {0, 0, 0}}));

TEST(FieldShape, SizesAre64Bit) {
  FieldOptions options;
  options.type = DType::f32;
  options.components = 19;
  options.ghost = {1, 1, 1};
  EXPECT_GT(block_shape({1024, 1024, 1024}, options).elements, std::int64_t{19} << 30);
}

TEST(Field, ReadGivesBackWhatWriteStored) {
  for (const Layout layout : {Layout::soa, Layout::aos, Layout::soa_z}) {
    GridOptions options;
    options.partition.blocks_per_device = {2, 1, 2};
    const Grid grid({6, 5, 4}, described(1, 1), 0, options);
    FieldOptions field_options;
    field_options.components = 3;
    field_options.ghost = {1, 1, 1};
    field_options.layout = layout;
    Field field(grid, field_options);
    std::vector<float> values(6 * 5 * 4 * 3), back(4 * 3 * 2 * 3, -1);
    std::iota(values.begin(), values.end(), 1.0f);
    field.write(grid.box(), values.data());
    const Box part{{1, 1, 1}, {5, 4, 3}};
    field.read(part, back.data());
    std::size_t n = 0;
    for (int z = 1; z < 3; ++z)
      for (int y = 1; y < 4; ++y)
        for (int x = 1; x < 5; ++x)
          for (int c = 0; c < 3; ++c) EXPECT_EQ(back[n++], values[((z * 5 + y) * 6 + x) * 3 + c]);
  }
}

}  // namespace
}  // namespace slipstream
