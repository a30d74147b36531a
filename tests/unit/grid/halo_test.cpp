#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include <slipstream/error.hpp>
#include <slipstream/pattern.hpp>

namespace slipstream {
namespace {

Machine machine_of(int ranks, int devices_per_rank) {
  std::vector<MachineDevice> devices;
  for (int d = 0; d < ranks * devices_per_rank; ++d) {
    MachineDevice device;
    device.rank = d / devices_per_rank;
    device.local = {Backend::host, d % devices_per_rank};
    device.uuid = std::to_string(d);
    device.memory = 1;
    devices.push_back(device);
  }
  std::vector<Link> links;
  for (std::size_t a = 0; a < devices.size(); ++a)
    for (std::size_t b = 0; b < devices.size(); ++b)
      links.push_back({a == b ? LinkKind::same : LinkKind::memory, 10, true});
  return Machine("test", devices, links);
}

/// Cuts a box at random places until there are enough pieces, which are not aligned.
std::vector<Block> random_blocks(const Extent& extent, int count, int devices, std::mt19937& random) {
  std::vector<Box> boxes{{{0, 0, 0}, extent}};
  for (int tries = 0; static_cast<int>(boxes.size()) < count && tries < 100 * count; ++tries) {
    Box& box = boxes[random() % boxes.size()];
    const int a = static_cast<int>(random() % 3);
    if (box.extent(a) < 2) continue;
    Box upper = box;
    upper.lo[a] = box.hi[a] = box.lo[a] + 1 + static_cast<std::int64_t>(random() % (box.extent(a) - 1));
    boxes.push_back(upper);
  }
  std::vector<Block> blocks;
  for (const Box& box : boxes) blocks.push_back({0, box, static_cast<int>(random() % devices)});
  return blocks;
}

/// The transfers by brute force: looks up the wrapped position of each ghost cell in each block. The order is the one
/// that all ranks agree on.
std::string by_brute_force(const Grid& grid, const Halo::Options& options, int rank) {
  std::ostringstream text;
  const Extent& e = grid.extent();
  for (const Block& target : grid.blocks())
    for (const Direction& d : directions(options.reach, grid.dimensions())) {
      Box region = target.box;
      for (int a = 0; a < 3; ++a) {
        if (d[a] < 0) region.hi[a] = target.box.lo[a], region.lo[a] -= options.low[a];
        if (d[a] > 0) region.lo[a] = target.box.hi[a], region.hi[a] += options.high[a];
      }
      // The order of images: unshifted, then shifted down and up along x; each of these along y, then z.
      for (int z = 0; z < 3; ++z)
        for (int y = 0; y < 3; ++y)
          for (int x = 0; x < 3; ++x) {
            const Extent step{x == 2 ? 1 : -x, y == 2 ? 1 : -y, z == 2 ? 1 : -z};
            bool possible = true;
            for (int a = 0; a < 3; ++a) possible = possible && (step[a] == 0 || grid.periodic()[a]);
            if (!possible) continue;
            const Extent shift{step[0] * e[0], step[1] * e[1], step[2] * e[2]};
            for (const Block& source : grid.blocks()) {
              const Box part = intersection(shifted(region, shift), source.box);
              if (part.empty() || (source.rank != rank && target.rank != rank)) continue;
              text << source.id << '>' << target.id;
              for (int a = 0; a < 3; ++a)
                text << ' ' << part.lo[a] - source.box.lo[a] << ':' << part.hi[a] - source.box.lo[a] << '@'
                     << part.lo[a] - shift[a] - target.box.lo[a];
              text << '\n';
            }
          }
    }
  return text.str();
}

std::string by_index(const Grid& grid, const Halo::Options& options, int rank) {
  std::ostringstream text;
  for (const Transfer& t : Halo(options).transfers(grid, 1, {3, 3, 3}, rank)) {
    text << t.source_block << '>' << t.target_block;
    for (int a = 0; a < 3; ++a)
      text << ' ' << t.source.box.lo[a] << ':' << t.source.box.hi[a] << '@' << t.target.box.lo[a];
    text << '\n';
  }
  return text.str();
}

struct Scenario {
  Extent extent;
  int blocks, ranks, devices_per_rank;
};

class HaloTransfers : public testing::TestWithParam<Scenario> {};

TEST_P(HaloTransfers, AreThoseOfASearchThroughAllBlocksInTheSameOrder) {
  const Scenario& c = GetParam();
  std::mt19937 random(7);
  const Machine machine = machine_of(c.ranks, c.devices_per_rank);
  for (int trial = 0; trial < 12; ++trial) {
    GridOptions grid_options;
    for (int a = 0; a < 3; ++a) grid_options.periodic[a] = random() % 2;
    if (c.extent[2] == 1) grid_options.dimensions = random() % 2 ? 2 : 3;
    grid_options.boxes = random_blocks(c.extent, c.blocks, machine.devices(), random);
    Halo::Options options;
    options.reach = std::array{Reach::faces, Reach::faces_and_edges, Reach::all}[random() % 3];
    for (int a = 0; a < 3; ++a) {
      options.low[a] = static_cast<std::int64_t>(random() % (std::min<std::int64_t>(3, c.extent[a]) + 1));
      options.high[a] = static_cast<std::int64_t>(random() % (std::min<std::int64_t>(3, c.extent[a]) + 1));
    }
    const Grid grid(c.extent, machine, 0, grid_options);
    for (int rank = 0; rank < c.ranks; ++rank) {
      const std::string expected = by_brute_force(grid, options, rank);
      ASSERT_EQ(by_index(grid, options, rank), expected) << "trial " << trial << ", rank " << rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, HaloTransfers,
                         testing::Values(Scenario{{16, 12, 9}, 1, 1, 1}, Scenario{{16, 12, 9}, 20, 3, 2},
                                         Scenario{{9, 30, 4}, 60, 2, 1}, Scenario{{33, 21, 1}, 25, 5, 1},
                                         Scenario{{200, 1, 1}, 40, 4, 1}, Scenario{{5, 5, 5}, 70, 6, 1}));

TEST(Grid, OverlappingFindsWhatASearchThroughAllBlocksFinds) {
  std::mt19937 random(11);
  const Extent extent{40, 25, 30};
  GridOptions options;
  options.boxes = random_blocks(extent, 200, 4, random);
  const Grid grid(extent, machine_of(2, 2), 0, options);
  const auto place = [&](int a) { return static_cast<std::int64_t>(random() % (extent[a] + 20)) - 10; };
  for (int trial = 0; trial < 500; ++trial) {
    Box box{{place(0), place(1), place(2)}, {place(0), place(1), place(2)}};
    std::vector<std::int64_t> expected;
    for (const Block& block : grid.blocks())
      if (!intersection(block.box, box).empty()) expected.push_back(block.id);
    ASSERT_EQ(grid.overlapping(box), expected);
  }
}

TEST(Grid, BlocksOfARankAreItsOwn) {
  std::mt19937 random(2);
  GridOptions options;
  options.boxes = random_blocks({12, 12, 12}, 30, 6, random);
  const Grid grid({12, 12, 12}, machine_of(3, 2), 1, options);
  std::size_t count = 0;
  for (int rank = 0; rank < 3; ++rank)
    for (const std::int64_t id : grid.blocks_of(rank)) {
      EXPECT_EQ(grid.block(id).rank, rank);
      ++count;
    }
  EXPECT_EQ(count, grid.blocks().size());
  EXPECT_EQ(&grid.local(), &grid.blocks_of(1));
  EXPECT_TRUE(grid.blocks_of(3).empty());
}

}  // namespace
}  // namespace slipstream
