#include "route/tiles.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace slipstream {
namespace {

Mover box(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t pitch) {
  Mover mover;
  const std::int64_t extent[] = {x, y, z}, stride[] = {1, pitch, pitch * (y + 1)};
  std::copy(extent, extent + 3, mover.extent);
  std::copy(stride, stride + 3, mover.source_stride);
  std::copy(stride, stride + 3, mover.target_stride);
  return mover;
}

/// The batches' only binding, cut for some teams.
Table cut_for(int teams, const std::vector<Batch>& batches, double to = 1) {
  std::vector<Scheduled> scheduled;
  double at = 0;
  for (const Batch& batch : batches) scheduled.push_back({&batch, at, at + to, 0}), at += 1;
  return cut(scheduled, 0, teams);
}

/// How often each word of a work's target is moved, by its distance from the base.
void count(const Work& w, std::uint32_t x, std::uint32_t row, std::int64_t words, std::map<std::int64_t, int>& moved) {
  for (std::int64_t n = 0; n < words; ++n) {
    const std::uint32_t flat = x + static_cast<std::uint32_t>(n), rows = w.width.of(flat), folded = row + rows;
    const std::uint32_t all_y = folded >> w.fold_shift, z = w.height.of(all_y);
    ++moved[(flat - rows * w.width.by) * w.target.stride[0] + (all_y - z * w.height.by) * w.target.stride[1] +
            z * w.target.stride[2] + (folded & w.fold_shift) * w.target.fold];
  }
}

std::map<std::int64_t, int> moved_by(const Table& table) {
  std::map<std::int64_t, int> moved;
  for (const Tile& tile : table.tiles) {
    if (tile.count) count(tile.work, tile.x, tile.row, tile.count, moved);
    for (int s = 0; s < tile.smalls; ++s) {
      const Work& w = table.smalls[static_cast<std::size_t>(tile.first_small + s)];
      count(w, 0, 0, w.words, moved);
    }
  }
  return moved;
}

TEST(Tiles, EveryWordOfABoxIsMovedOnce) {
  std::mt19937 random(5);
  const auto draw = [&](int most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
  for (int trial = 0; trial < 50; ++trial) {
    const std::int64_t x = draw(trial % 2 ? 3 : 3000), y = draw(40), z = draw(20);
    Batch batch;
    batch.movers = {{box(x, y, z, x + 5)}};
    const auto moved = moved_by(cut_for(static_cast<int>(draw(100)), {batch}));
    ASSERT_EQ(static_cast<std::int64_t>(moved.size()), x * y * z) << x << " x " << y << " x " << z;
    for (const auto& [place, times] : moved) ASSERT_EQ(times, 1) << "word " << place;
  }
}

TEST(Tiles, BothEndsOfThinRowsTakeTurns) {
  constexpr std::int64_t pitch = 600, far = 512;
  Mover left = box(3, 100, 50, pitch), right = left;
  std::vector<std::byte> memory(1);
  left.source = right.source = left.target = right.target = memory.data();
  right.source += far * 4;
  right.target += far * 4;
  Batch batch;
  batch.movers = {{left, right}};
  const Table table = cut_for(4, {batch});
  for (const Tile& tile : table.tiles) EXPECT_EQ(tile.work.fold_shift, 1u);
  const auto moved = moved_by(table);
  EXPECT_EQ(moved.size(), 2u * 3 * 100 * 50);
  EXPECT_EQ(moved.count(far + 2), 1u);
}

TEST(Tiles, HoldWholeRowsWhereSeveralFit) {
  Batch batch;
  batch.movers = {{box(100, 300, 1, 100)}};
  const Table table = cut_for(3, {batch});
  ASSERT_GT(table.tiles.size(), 1u);
  for (const Tile& tile : table.tiles) {
    EXPECT_EQ(tile.x, 0u);
    EXPECT_EQ(tile.count % 100, 0);
  }
}

TEST(Tiles, SmallBoxesShareATile) {
  Batch batch;
  batch.movers = {{box(3, 3, 3, 3), box(4, 4, 4, 4), box(5, 1, 1, 5)}};
  const Table table = cut_for(8, {batch});
  ASSERT_EQ(table.tiles.size(), 1u);
  EXPECT_EQ(table.tiles[0].smalls, 3);
}

TEST(Tiles, ABatchWithoutMoversIsOneTileForItsCounters) {
  Signal signal = 0;
  Batch batch;
  batch.after = {&signal, &signal};
  const Table table = cut_for(8, {batch});
  ASSERT_EQ(table.tiles.size(), 1u);
  EXPECT_EQ(table.tiles[0].count, 0);
  EXPECT_EQ(table.tiles[0].info.posts, 2);
}

TEST(Tiles, OfBatchesAtTheSameTimeTakeTurns) {
  Batch a, b;
  a.movers = b.movers = {{box(1024, 64, 1, 1024)}};
  const std::vector<Batch> batches{a, b};
  const std::vector<Scheduled> together{{&batches[0], 0, 1, 0}, {&batches[1], 0, 1, 0}};
  const Table table = cut(together, 0, 4);
  ASSERT_GE(table.tiles.size(), 4u);
  EXPECT_NE(table.tiles[0].batch, table.tiles[1].batch);
  EXPECT_NE(table.tiles[2].batch, table.tiles[3].batch);
}

}  // namespace
}  // namespace slipstream
