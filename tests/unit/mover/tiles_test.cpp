#include "mover/tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "mover/words.hpp"

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

/// Splits copies of an exchange into tiles (parts of copies) for a number of thread blocks.
Table cut_for(int teams, const std::vector<Batch>& batches, double to = 1) {
  std::vector<Scheduled> scheduled;
  double at = 0;
  for (const Batch& batch : batches) scheduled.push_back({&batch, at, at + to, 0}), at += 1;
  return cut(scheduled, nullptr, teams);
}

/// Moves a square tile through shared memory.
void move_square(const Tile& tile, const Watch& watch, int threads) {
  std::vector<Word16> square(square_bytes / sizeof(Word16));
  const Part part{tile.first, tile.x, tile.row, static_cast<std::uint32_t>(tile.count)};
  const auto shares = [&](int t) { return Share{static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(threads)}; };
  for (int t = 0; t < threads; ++t) run_first_half(tile.work, part, watch, square.data(), shares(t));
  for (int t = 0; t < threads; ++t) run_second_half(tile.work, part, watch, square.data(), shares(t));
}

/// Runs all tiles (parts of copies) of a table in their order, as a launch does. Each thread block has `threads`
/// threads. If `sequential`, one thread's loops do its work.
template <bool sequential>
void move_all(const Table& table, int threads, std::uint64_t now, std::byte* const* arrays) {
  Failure failure;
  Signal broken = 0;
  const Pulse pulse{nullptr, &failure, &broken, 1'000'000'000, nullptr, arrays};
  for (const Tile& tile : table.tiles) {
    const Watch watch{pulse, now, tile.wait.peer};
    if (!sequential && !tile.smalls && tile.work.form == Form::transpose) move_square(tile, watch, threads);
    for (int t = 0; t < (sequential ? 1 : threads); ++t) {
      const Share share{static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(sequential ? 1 : threads)};
      const Part part{tile.first, tile.x, tile.row, static_cast<std::uint32_t>(tile.count)};
      if (!tile.smalls && !(tile.work.form == Form::transpose && !sequential))
        run_work<sequential, false>(tile.work, part, watch, share);
      for (int s = 0; s < tile.smalls; ++s) {
        const Work& w = table.smalls[static_cast<std::size_t>(tile.first_small + s)];
        run_work<sequential, false>(w, Part{0, 0, 0, static_cast<std::uint32_t>(counted(w))}, watch, share);
      }
    }
  }
  ASSERT_EQ(failure.set, 0u);
}

void move_all(bool sequential, const Table& table, std::uint64_t now = 1, std::byte* const* arrays = nullptr) {
  if (sequential) return move_all<true>(table, 1, now, arrays);
  move_all<false>(table, 64, now, arrays);
}

std::vector<std::uint32_t> numbered(std::int64_t count) {
  std::vector<std::uint32_t> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1u);
  return values;
}

template <class T>
std::byte* bytes(T* values) {
  return reinterpret_cast<std::byte*>(values);
}

void set_dense(const Mover& m, std::int64_t (&stride)[3]) {
  stride[0] = 1, stride[1] = m.extent[0], stride[2] = m.extent[0] * m.extent[1];
}

/// The oracle: carries out a copy task word by word.
void move_plainly(const Mover& m) {
  for (std::int64_t z = 0; z < m.extent[2]; ++z)
    for (std::int64_t y = 0; y < m.extent[1]; ++y)
      for (std::int64_t x = 0; x < m.extent[0]; ++x)
        std::memcpy(m.target + (x * m.target_stride[0] + y * m.target_stride[1] + z * m.target_stride[2]) * m.word,
                    m.source + (x * m.source_stride[0] + y * m.source_stride[1] + z * m.source_stride[2]) * m.word,
                    static_cast<std::size_t>(m.word));
}

/// Carries out a copy task word by word to `target` instead of the task's own target.
void move_plainly(Mover m, std::uint32_t* target) {
  m.target = bytes(target);
  move_plainly(m);
}

class Tiles : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Threads, Tiles, testing::Bool(), [](const auto& info) { return info.param ? "one" : "many"; });

TEST_P(Tiles, MoveEveryWordOfABoxAndNoOther) {
  std::mt19937 random(5);
  const auto draw = [&](int most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
  for (int trial = 0; trial < 50; ++trial) {
    const std::int64_t x = draw(trial % 2 ? 3 : 3000), y = draw(40), z = draw(20);
    Mover mover = box(x, y, z, x + 5);
    const auto source = numbered((x + 5) * (y + 1) * z);
    std::vector<std::uint32_t> target(source.size()), expected(source.size());
    mover.source = bytes(const_cast<std::uint32_t*>(source.data()));
    mover.target = bytes(target.data());
    move_plainly(mover, expected.data());
    Batch batch;
    batch.movers = {mover};
    move_all(GetParam(), cut_for(static_cast<int>(draw(100)), {batch}));
    ASSERT_EQ(target, expected) << x << " x " << y << " x " << z;
  }
}

/// Thin faces at both ends of an array's rows, and the same values packed. Lengths are in words.
struct ThinFaces {
  std::int64_t width, rows, planes, inner, pitch;
  int word = 4;
  std::vector<std::uint32_t> array = numbered(pitch * (rows + 2) * (planes + 1) * word / 4);
  std::vector<std::uint32_t> slot = numbered(2 * width * rows * planes * word / 4);

  std::byte* start(bool low) { return bytes(array.data()) + (pitch + (low ? 0 : inner)) * word; }
  std::byte* packed(bool low) { return bytes(slot.data()) + (low ? 0 : width * rows * planes * word); }
  Mover strided() const {
    Mover m = box(width, rows, planes, pitch);
    m.source_stride[2] = m.target_stride[2] = pitch * (rows + 1);
    m.word = word;
    return m;
  }
  Mover packing(bool low) {
    Mover m = strided();
    set_dense(m, m.target_stride);
    m.source = start(low);
    m.target = packed(low);
    return m;
  }
  Mover unpacking(bool low) {
    Mover m = strided();
    set_dense(m, m.source_stride);
    m.source = packed(low);
    m.target = start(low);
    return m;
  }
};

Form form_of(const Table& table) { return table.tiles.front().work.form; }

/// Copies faces at both ends of array rows in one batch, in either order. Expects the result of separate copies.
void check_both(bool sequential, ThinFaces faces, Mover (ThinFaces::*side)(bool), bool low_first, Form form) {
  for (auto& value : faces.slot) value += 10'000'000;  // values that differ from all in the array
  ThinFaces expected = faces;
  for (const bool low : {true, false}) move_plainly((expected.*side)(low));
  Batch batch;
  batch.movers = {(faces.*side)(low_first), (faces.*side)(!low_first)};
  const Table table = cut_for(4, {batch});
  EXPECT_EQ(form_of(table), form);
  move_all(sequential, table);
  EXPECT_EQ(faces.slot, expected.slot);
  EXPECT_EQ(faces.array, expected.array);
}

TEST_P(Tiles, PackBothEndsOfThinRowsTogether) {
  for (const int word : {1, 2, 4, 8, 16}) {
    SCOPED_TRACE("words of " + std::to_string(word) + " B");
    check_both(GetParam(), {word == 16 ? 2 : 3, 50, 20, 512, 600, word}, &ThinFaces::packing, true, Form::pair);
  }
}

TEST_P(Tiles, PackBothEndsOfEveryBlockTogetherAmongMany) {
  std::vector<ThinFaces> blocks(150, {2, 20, 10, 32, 40});
  std::vector<Mover> movers;
  for (ThinFaces& block : blocks)
    for (const bool low : {true, false}) movers.push_back(block.packing(low));
  std::shuffle(movers.begin(), movers.end(), std::mt19937(4));
  std::vector<ThinFaces> expected = blocks;
  for (ThinFaces& block : expected)
    for (const bool low : {true, false}) move_plainly(block.packing(low));
  Batch batch;
  batch.movers = {movers};
  const Table table = cut_for(4, {batch});
  EXPECT_EQ(std::count_if(table.tiles.begin(), table.tiles.end(),
                          [](const Tile& t) { return t.first == 0 && t.work.form == Form::pair; }),
            150);
  EXPECT_TRUE(
      std::all_of(table.tiles.begin(), table.tiles.end(), [](const Tile& t) { return t.work.form == Form::pair; }));
  move_all(GetParam(), table);
  for (std::size_t n = 0; n < blocks.size(); ++n) ASSERT_EQ(blocks[n].slot, expected[n].slot) << n;
}

TEST_P(Tiles, UnpackBothEndsOfThinRowsIntoWhatLiesBetweenThem) {
  for (const int word : {4, 8, 16})
    for (const bool low_first : {true, false}) {
      const std::int64_t width = word == 16 ? 1 : 3, gap = 32 / word;
      for (const std::int64_t span : {2 * width, std::max(gap, 2 * width), std::int64_t{64 / word}}) {
        SCOPED_TRACE("span " + std::to_string(span) + ", words of " + std::to_string(word) + " B");
        check_both(GetParam(), {width, 50, 20, 500, 500 + span - width, word}, &ThinFaces::unpacking, low_first,
                   Form::seam);
      }
    }
}

TEST_P(Tiles, FillWhatNobodyOwnsBetweenTwoRowsAndNothingBeyond) {
  ThinFaces faces{3, 4, 2, 40, 40 + 5};
  std::fill(faces.array.begin(), faces.array.end(), 9u);
  Batch batch;
  batch.movers = {faces.unpacking(true), faces.unpacking(false)};
  for (Mover& mover : batch.movers) mover.free_gaps = true;
  move_all(GetParam(), cut_for(1, {batch}));
  // Boxes are unpacked into words 40 to 42 and 45 to 47 of a row. Unused words 43 and 44 are overwritten between rows.
  for (std::int64_t z = 0; z < faces.planes; ++z)
    for (std::int64_t y = -1; y < faces.rows; ++y)
      for (const std::int64_t x : {43, 44}) {
        const auto at = static_cast<std::size_t>(faces.pitch * (1 + y + z * (faces.rows + 1)) + x);
        EXPECT_EQ(faces.array[at] == 9, y < 0 || y + 1 == faces.rows) << x << ", " << y << ", " << z;
      }
}

TEST_P(Tiles, UnpackThinRowsFarApartInTurns) {
  check_both(GetParam(), {3, 50, 20, 512, 600}, &ThinFaces::unpacking, true, Form::turns);
}

TEST_P(Tiles, PacketsBringEveryWordOfTheirExchange) {
  for (const std::int64_t width : {1, 3, 31, 64, 500}) {
    Mover out = box(width, 30, 7, width + 3), in = out;
    std::vector<Packet> lines(static_cast<std::size_t>(packets_for(out.words())));
    auto source = numbered((width + 3) * 31 * 7);
    std::vector<std::uint32_t> target(source.size()), expected(source.size());
    out.packets = Mover::Packets::target;
    out.source = bytes(source.data());
    out.target = bytes(lines.data());
    in.packets = Mover::Packets::source;
    in.source = bytes(lines.data());
    in.target = bytes(target.data());
    Batch send, receive;
    send.movers = {out};
    receive.movers = {in};
    const Table table = cut_for(3, {send, receive});
    for (const std::uint64_t now : {1, 2}) {
      for (auto& word : source) word += 7;
      move_plainly(out, expected.data());
      move_all(GetParam(), table, now);
      ASSERT_EQ(target, expected) << "rows of " << width << ", exchange " << now;
    }
  }
}

TEST_P(Tiles, TransposeByEveryWordInEveryOrderOfTheOtherAxes) {
  for (const int word : {1, 2, 4, 8, 16})
    for (const int axis : {1, 2})
      for (const auto& extent : {std::array<std::int64_t, 3>{70, 130, 3}, {64, 64, 1}, {200, 8, 20}, {9, 31, 90}}) {
        SCOPED_TRACE("words of " + std::to_string(word) + " B, axis " + std::to_string(axis));
        Mover mover = box(extent[0], extent[1], extent[2], extent[0] + 3);
        mover.word = word;
        // Words are contiguous along `axis`, then along x.
        const int other = 3 - axis;
        mover.target_stride[axis] = 1;
        mover.target_stride[0] = extent[static_cast<std::size_t>(axis)] + 2;
        mover.target_stride[other] = mover.target_stride[0] * (extent[0] + 1);
        const auto source = numbered((extent[0] + 3) * (extent[1] + 1) * extent[2] * word / 4 + 4);
        const std::int64_t size = mover.target_stride[other] * extent[static_cast<std::size_t>(other)];
        std::vector<std::uint32_t> target(static_cast<std::size_t>(size * word / 4 + 4)), expected(target.size());
        mover.source = bytes(const_cast<std::uint32_t*>(source.data()));
        mover.target = bytes(target.data());
        move_plainly(mover, expected.data());
        Batch batch;
        batch.movers = {mover};
        const Table table = cut_for(3, {batch});
        EXPECT_EQ(transposes(table), extent[static_cast<std::size_t>(axis)] >= 8);
        move_all(GetParam(), table);
        ASSERT_EQ(target, expected);
      }
}

TEST_P(Tiles, MoveListsToBoxesOfSeveralRowsAndBack) {
  for (const bool small : {true, false}) {
    Mover out = small ? box(5, 4, 3, 7) : box(50, 40, 30, 57);
    std::vector<std::int64_t> ids(static_cast<std::size_t>(out.words()));
    std::iota(ids.begin(), ids.end(), std::int64_t{0});
    std::shuffle(ids.begin(), ids.end(), std::mt19937(3));
    const auto listed = numbered(out.words());
    std::vector<std::uint32_t> dense(listed.size()), boxed(static_cast<std::size_t>(out.target_stride[2] * 30)),
        expected(boxed.size()), back(listed.size());
    for (std::size_t n = 0; n < ids.size(); ++n) dense[n] = listed[static_cast<std::size_t>(ids[n])];
    Mover plain = out;
    set_dense(plain, plain.source_stride);
    plain.source = bytes(dense.data());
    move_plainly(plain, expected.data());
    Batch to_box, to_list;
    out.source = bytes(const_cast<std::uint32_t*>(listed.data()));
    out.source_ids = ids.data();
    out.target = bytes(boxed.data());
    to_box.movers = {out};
    Mover in = out;
    std::swap(in.source_ids, in.target_ids);
    in.source = out.target;
    in.target = bytes(back.data());
    to_list.movers = {in};
    move_all(GetParam(), cut_for(3, {to_box, to_list}));
    EXPECT_EQ(boxed, expected);
    EXPECT_EQ(back, listed);
  }
}

TEST_P(Tiles, FollowArraysThatAreChangedForOthers) {
  Mover mover = box(100, 30, 2, 110);
  const auto source = numbered(110 * 31 * 2);
  std::vector<std::uint32_t> other = source, target(source.size()), expected(source.size());
  for (auto& value : other) value += 7;
  mover.source = bytes(const_cast<std::uint32_t*>(source.data()));
  mover.target = bytes(expected.data());
  mover.source_array = 0;
  mover.target_array = 1;
  Arrays arrays;
  arrays.count = 2;
  arrays.planned = {bytes(const_cast<std::uint32_t*>(source.data())), bytes(expected.data())};
  Batch batch;
  batch.movers = {mover};
  const Table table = cut({{&batch, 0, 1, 0}}, &arrays, 3);
  mover.source = bytes(other.data());
  move_plainly(mover);
  std::byte* const now[] = {bytes(other.data()), bytes(target.data())};
  move_all(GetParam(), table, 1, now);
  EXPECT_EQ(target, expected);
}

TEST(TileTable, PacketsThatDoNotComeAreGivenUp) {
  Mover in = box(10, 1, 1, 10);
  std::vector<Packet> lines(1);
  std::vector<std::uint32_t> target(10);
  in.packets = Mover::Packets::source;
  in.source = bytes(lines.data());
  in.target = bytes(target.data());
  Batch receive;
  receive.movers = {in};
  receive.peer = 6;
  const Table table = cut_for(1, {receive});
  Failure failure;
  Signal broken = 0;
  const Pulse pulse{nullptr, &failure, &broken, 1'000'000, nullptr, nullptr};
  run_work<true, false>(table.smalls.front(), Part{0, 0, 0, 1}, Watch{pulse, 3, table.tiles.front().wait.peer}, {0, 1});
  EXPECT_EQ(failure.set, 1u);
  EXPECT_EQ(failure.peer, 6);
  EXPECT_EQ(failure.sequence, 3u);
  EXPECT_EQ(target, std::vector<std::uint32_t>(10));
}

TEST(TileTable, HoldWholeRowsWhereSeveralFit) {
  Batch batch;
  batch.movers = {box(100, 300, 1, 100)};
  const Table table = cut_for(3, {batch});
  ASSERT_GT(table.tiles.size(), 1u);
  for (const Tile& tile : table.tiles) {
    EXPECT_EQ(tile.x, 0u);
    EXPECT_EQ(tile.count % 100, 0);
  }
}

TEST(TileTable, SmallBoxesShareATile) {
  Batch batch;
  batch.movers = {box(3, 3, 3, 3), box(4, 4, 4, 4), box(5, 1, 1, 5)};
  const Table table = cut_for(8, {batch});
  ASSERT_EQ(table.tiles.size(), 1u);
  EXPECT_EQ(table.tiles[0].smalls, 3);
}

TEST(TileTable, ABatchWithoutMoversIsOneTileForItsCounters) {
  Signal signal = 0;
  Batch batch;
  batch.after = {&signal, &signal};
  const Table table = cut_for(8, {batch});
  ASSERT_EQ(table.tiles.size(), 1u);
  EXPECT_EQ(table.tiles[0].count, 0);
  EXPECT_EQ(table.tiles[0].info.posts, 2);
}

TEST(TileTable, BatchesOfAFamilyCountTheirTilesTogether) {
  Batch alone, one, other;
  alone.movers = {box(4, 4, 4, 4)};
  one.movers = {box(1024, 64, 1, 1024)};
  other.movers = {box(3, 3, 3, 3)};
  one.family = other.family = 1;
  const Table table = cut_for(4, {alone, one, other});
  const std::size_t all = table.tiles.size();
  ASSERT_GE(all, 4u);
  for (const Tile& tile : table.tiles) {
    EXPECT_EQ(tile.info.tiles, tile.batch == 0 ? 1 : all - 1);
    EXPECT_EQ(tile.info.counter, tile.batch == 0 ? 0u : 1u);
  }
}

TEST_P(Tiles, SetCountersOfAFamilyAfterAllOfItsValues) {
  std::vector<std::uint32_t> from(40000), to(40000);
  std::iota(from.begin(), from.end(), 1u);
  std::vector<Batch> batches(3);
  Signal freed = 0;
  for (std::size_t n = 0; n < 3; ++n) {
    Mover mover = box(10000, 1, 1, 10000);
    mover.source = reinterpret_cast<std::byte*>(from.data() + 10000 * n);
    mover.target = reinterpret_cast<std::byte*>(to.data() + 10000 * n);
    batches[n].movers = {mover};
    batches[n].after = {&freed};
    batches[n].family = 7;
  }
  Signal sequence = 0, broken[2] = {0, 0};
  Failure failure;
  std::uint64_t stamps[1] = {0};
  const Program program({Backend::host, 0}, {{&batches[0]}, {&batches[1]}, {&batches[2]}}, nullptr, GetParam() ? 1 : 3);
  Stream stream({Backend::host, 0});
  const Pulse pulse{&sequence, &failure, broken, 1000000000, stamps};
  for (std::uint64_t number = 1; number <= 3; ++number) {
    program.run(stream, pulse, true);
    stream.synchronize();
    EXPECT_EQ(freed, number);
  }
  EXPECT_TRUE(std::equal(to.begin(), to.begin() + 30000, from.begin()));
}

TEST(TileTable, OfBatchesAtTheSameTimeTakeTurns) {
  Batch a, b;
  a.movers = b.movers = {box(1024, 64, 1, 1024)};
  const std::vector<Batch> batches{a, b};
  const std::vector<Scheduled> together{{&batches[0], 0, 1, 0}, {&batches[1], 0, 1, 0}};
  const Table table = cut(together, nullptr, 4);
  ASSERT_GE(table.tiles.size(), 4u);
  EXPECT_NE(table.tiles[0].batch, table.tiles[1].batch);
  EXPECT_NE(table.tiles[2].batch, table.tiles[3].batch);
}

}  // namespace
}  // namespace slipstream
