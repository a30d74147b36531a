// Set-up cost of one rank on a described machine with many ranks.
#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>

#include <slipstream/exchange.hpp>

#include "exchange/plan.hpp"

namespace slipstream {
namespace {

/// A machine with one device per rank and eight ranks per node.
Machine machine_of(int ranks) {
  std::vector<MachineDevice> devices;
  for (int rank = 0; rank < ranks; ++rank)
    devices.push_back({rank / 8, rank, {Backend::cuda, 0}, "GPU", std::to_string(rank), std::int64_t{1} << 34, 900});
  Links links{
      {{8, std::vector<Link>(64, {LinkKind::nvlink, 450, true})}}, {}, {1, {{LinkKind::network, 50, false}}}, {}};
  for (int i = 0; i < 8; ++i) links.within[0].links[static_cast<std::size_t>(9 * i)] = {LinkKind::same, 1500, true};
  links.kind.assign(static_cast<std::size_t>(ranks / 8), 0);
  links.group.assign(static_cast<std::size_t>(ranks), 0);
  return {"of classes", std::move(devices), std::move(links)};
}

struct Cost {
  std::size_t messages = 0, legs = 0, bytes = 0;
};

std::size_t held() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// Set-up of the halo exchange of a rank in the interior of a cube of blocks.
Cost cost_of(int ranks) {
  GridOptions options;
  options.periodic = {true, true, true};
  options.placement = PlacementMethod::trivial;
  const Grid grid({1024, 1024, 1024}, machine_of(ranks), ranks / 2, options);
  const Halo halo({});
  FieldOptions field;
  field.ghost = {1, 1, 1};
  const std::vector<PlannedItem> items{{&halo, field}};
  const std::size_t before = held();
  const Bundles bundles = bundle(grid, items, grid.rank());
  const Pairs pairs(grid.machine(), items);
  Cost cost;
  cost.bytes = held() - before;
  cost.messages = bundles.by_pair.size();
  for (const auto& [devices, b] : bundles.by_pair) {
    cost.legs += b.legs.size();
    EXPECT_EQ(pairs.of(b.source, b.target).same_node, b.source / 8 == b.target / 8);
  }
  return cost;
}

TEST(SetUp, OfAHaloCostsARankTheSameAmong64And4096) {
  cost_of(64);  // a first set-up, whose one-time costs do not count
  const Cost few = cost_of(64), many = cost_of(4096);
  EXPECT_EQ(many.messages, 52u);  // one message in each direction for each of 26 neighbours
  EXPECT_EQ(many.messages, few.messages);
  EXPECT_EQ(many.legs, few.legs);
  if (few.bytes == 0) GTEST_SKIP() << "this allocator does not count bytes";
  EXPECT_LE(static_cast<double>(many.bytes), 1.1 * static_cast<double>(few.bytes));
}

}  // namespace
}  // namespace slipstream
