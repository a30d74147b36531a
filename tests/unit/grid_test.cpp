#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include <slipstream/field.hpp>
#include <slipstream/grid.hpp>

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
  // Node [1, 2, 0] begins at x = 2, y = 8.
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

// Two fast pairs, {0, 2} and {1, 3}: subdomains that exchange much must share a fast pair.
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

TEST(Grid, TakesTheUsersBoxesAndChecksThem) {
  const Machine machine = described(1, 2);
  GridOptions options;
  options.boxes = {{0, {{0, 0, 0}, {3, 4, 4}}, 1}, {0, {{3, 0, 0}, {4, 4, 4}}, 0}};
  const Grid grid({4, 4, 4}, machine, 0, options);
  EXPECT_EQ(grid.block(0).device, 1);
  options.boxes[1].box.lo[0] = 2;
  EXPECT_THROW(Grid({4, 4, 4}, machine, 0, options), Error);
  options.boxes[1].box = {{3, 0, 0}, {4, 4, 3}};
  EXPECT_THROW(Grid({4, 4, 4}, machine, 0, options), Error);
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
        if (c.layout == Layout::soa || comp == 0) {
          EXPECT_EQ(row * static_cast<std::int64_t>(size_of(c.type)) % std::max<std::int64_t>(1, c.alignment), 0);
        }
        for (std::int64_t x = -c.ghost[0]; x < extent[0] + c.ghost[0]; ++x) {
          const std::int64_t at = row + x * shape.stride[0];
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
  for (const Layout layout : {Layout::soa, Layout::aos}) {
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
