// Tiles of a gather-scatter kernel: each copy of a shared point has one entry, which gives its shared-memory slot.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "device/upload.hpp"
#include "gather_scatter/group_tiles.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream {
namespace {

/// Disjoint groups of points, sorted by their first points.
Lists<std::uint32_t> random_rows(std::uint32_t points, unsigned seed, std::uint32_t most) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> all(points);
  for (std::uint32_t n = 0; n < points; ++n) all[n] = n;
  std::shuffle(all.begin(), all.end(), random);
  std::vector<std::vector<std::uint32_t>> groups;
  for (std::uint32_t at = 0; at + 2 <= points;) {
    const std::uint32_t size = std::min<std::uint32_t>(points - at, 2 + random() % (random() % 50 ? 7 : most));
    groups.emplace_back(all.begin() + at, all.begin() + at + size);
    std::sort(groups.back().begin(), groups.back().end());
    at += size;
  }
  std::sort(groups.begin(), groups.end());
  Lists<std::uint32_t> rows;
  for (const auto& group : groups) {
    rows.items.insert(rows.items.end(), group.begin(), group.end());
    rows.close();
  }
  return rows;
}

using Group = std::vector<std::uint32_t>;  // indices of one shared point's copies, ascending

/// Tables of the copies of shared points that a gather-scatter kernel combines; built on a device, copied to the host.
struct Tiles {
  std::vector<std::uint32_t> entries, bases, headers, starts;
  Lists<std::uint32_t> large;
};

Tiles tiles_of(Backend backend, const Lists<std::uint32_t>& rows, std::int64_t block) {
  Stream stream(Device{backend, 0});
  const GroupTiles made = group_tiles(stream, uploaded(stream, rows), block);
  const auto there = [&](const Buffer<std::uint32_t>& values) {
    std::vector<std::uint32_t> found(values.size());
    download(stream, values.data(), values.size(), found.data());
    return found;
  };
  Tiles tiles{there(made.entries), there(made.bases), there(made.headers), there(made.starts), {}};
  if (made.large.count > 0) tiles.large = {there(made.large.starts), there(made.large.items)};
  if (tiles.starts.empty()) tiles.starts = {0};
  EXPECT_EQ(made.tiles, static_cast<std::int64_t>(tiles.starts.size()) - 1);
  EXPECT_EQ(tiles.starts.back(), tiles.headers.size());
  EXPECT_EQ(static_cast<std::int64_t>(tiles.large.rows()), made.large.count);
  return tiles;
}

/// Returns the groups (copies of one shared point) of a tile, and checks the bits that mark copies in another block.
std::set<Group> groups_of(const Tiles& tiles, std::size_t tile, std::int64_t block) {
  std::vector<std::uint32_t> points, point_of_slot(GroupTiles::capacity, GroupTiles::none);
  for (std::size_t n = tile * GroupTiles::capacity; n < (tile + 1) * GroupTiles::capacity; ++n) {
    const std::uint32_t entry = tiles.entries.at(n);
    if (entry == GroupTiles::none) continue;
    points.push_back(tiles.bases.at(n / GroupTiles::chunk) + (entry & GroupTiles::most_point));
    std::uint32_t& of_slot = point_of_slot.at(entry >> GroupTiles::point_bits);
    EXPECT_EQ(of_slot, GroupTiles::none);
    of_slot = points.back();
  }
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end()));
  EXPECT_LE(tiles.starts.at(tile + 1) - tiles.starts.at(tile), GroupTiles::header_words);
  const std::uint32_t* const header = tiles.headers.data() + tiles.starts.at(tile);
  const std::uint32_t* const marks = header + 1 + header[0];
  std::set<Group> groups;
  std::uint32_t first = 0;
  for (std::uint32_t s = 0; s < header[0]; ++s) {
    const std::uint32_t count = header[1 + s] & 0xffff, copies = header[1 + s] >> 16;
    for (std::uint32_t g = 0; g < count; ++g) {
      Group group;
      for (std::uint32_t c = 0; c < copies; ++c) {
        const std::uint32_t slot = first + c * count + g, point = point_of_slot.at(slot);
        const bool marked = marks[slot / 32] >> (slot % 32) & 1;
        EXPECT_EQ(marked, c > 0 && point / block != group.back() / block);
        group.push_back(point);
      }
      groups.insert(group);
    }
    first += count * copies;
  }
  EXPECT_EQ(first, points.size());
  return groups;
}

/// Checks that each shared point goes to one thread block or is listed as too large for it. Returns the number listed.
std::size_t expect_each_once(Backend backend, const Lists<std::uint32_t>& rows) {
  constexpr std::int64_t block = 37;
  const Tiles tiles = tiles_of(backend, rows, block);
  std::set<Group> found, right;
  std::size_t count = tiles.large.rows();
  for (std::size_t tile = 0; tile + 1 < tiles.starts.size(); ++tile) {
    const std::set<Group> here = groups_of(tiles, tile, block);
    count += here.size();
    found.insert(here.begin(), here.end());
  }
  const auto row = [](const Lists<std::uint32_t>& lists, std::size_t r) {
    return Group(lists.items.begin() + lists.starts[r], lists.items.begin() + lists.starts[r + 1]);
  };
  for (std::size_t r = 0; r < tiles.large.rows(); ++r) found.insert(row(tiles.large, r));
  for (std::size_t r = 0; r < rows.rows(); ++r) right.insert(row(rows, r));
  EXPECT_EQ(count, rows.rows());
  EXPECT_EQ(found, right);
  return tiles.large.rows();
}

class GroupTilesOf : public testing::TestWithParam<Backend> {};
INSTANTIATE_TEST_SUITE_P(Backends, GroupTilesOf, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

// Tests none to a million shared points. The last number is large enough for several threads to share.
TEST_P(GroupTilesOf, HoldEachGroupOnce) {
  for (const std::uint32_t points : {0u, 1u, 2u, 3000u, 200000u, 1000000u})
    EXPECT_EQ(expect_each_once(GetParam(), random_rows(points, 5, 100)), 0u) << points;
}

TEST_P(GroupTilesOf, LeaveOutWhatIsLargerThanATile) {
  EXPECT_GT(expect_each_once(GetParam(), random_rows(200000, 7, 4 * GroupTiles::capacity)), 0u);
}

/// Copies of points are too far apart for indices from one base, so lists (32 entries per base) are mostly padding.
TEST_P(GroupTilesOf, HoldGroupsWhoseCopiesLieFarApart) {
  constexpr std::uint32_t far = GroupTiles::most_point;
  Lists<std::uint32_t> rows;
  for (std::uint32_t n = 0; n < 3000; ++n) {
    for (std::uint32_t c = 0; c < (n % 100 ? 2 + n % 3 : 60); ++c) rows.items.push_back(n * 3 + c * (far + n));
    rows.close();
  }
  for (std::uint32_t n = 0; n < 40; ++n) {  // index distance of two copies: the tile format's limit, 1 less or 1 more
    const std::uint32_t first = 20000 + n;
    rows.items.insert(rows.items.end(), {first, first + far - 1 + n % 3});
    rows.close();
  }
  EXPECT_GT(expect_each_once(GetParam(), rows), 0u);  // 60 distant copies need 32 entries each, above the limit of 1024
}

TEST(GroupTiles, AreRefusedWhereIndicesDoNotReach) {
  EXPECT_EQ(counted(UINT32_MAX), UINT32_MAX);
  expect_error([] { counted(std::size_t{1} << 32); }, ErrorCode::unsupported,
               {{"given", std::size_t{1} << 32}, {"limit", UINT32_MAX}});
}

}  // namespace
}  // namespace slipstream
