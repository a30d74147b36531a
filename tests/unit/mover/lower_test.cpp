// Conversion of transfers to copy descriptors: word sizes that both ends allow, and splits of large messages.
#include <gtest/gtest.h>

#include <numeric>

#include <slipstream/field.hpp>

#include "mover/coded_movers.hpp"
#include "mover/lower.hpp"
#include "mover/parts.hpp"

namespace slipstream {
namespace {

/// Test data: a transfer that encodes a whole block of cells into a packed message, in a given number format.
struct EncodedRows {
  Transfer transfer;
  Leg leg;
  Place place;
  alignas(256) std::byte values[64]{};

  EncodedRows(const Extent& cells, DType type, Wire wire, std::int64_t alignment) {
    FieldOptions options;
    options.type = type;
    options.ghost = {1, 1, 1};
    options.alignment = alignment;
    transfer.source = transfer.target = {{{0, 0, 0}, cells}, {0}, nullptr};
    leg.transfer = &transfer;
    leg.type = type;
    leg.wire = wire;
    place.shape = block_shape(cells, options);
    // Places the first interior cell as in an array aligned to 256 bytes.
    place.origin = values + place.shape.origin * static_cast<std::int64_t>(size_of(type)) % 256;
    place.type = type;
  }
  std::vector<Mover> packing() {
    Lowering lowering({Backend::host, 0});
    return lowering.to_slot({leg}, {place}, {values, {}});
  }
};

TEST(CodedMovers, TakeAsManyValuesAsFill16Bytes) {
  const auto movers = EncodedRows({24, 3, 2}, DType::f64, Wire::f32, 32).packing();
  ASSERT_EQ(movers.size(), 1u);
  EXPECT_EQ(values_of(movers[0]), 2);
  EXPECT_EQ(movers[0].word, 16);
  EXPECT_EQ(target_word(movers[0]), 8);
  EXPECT_EQ(movers[0].extent[0], 12);
  EXPECT_EQ(movers[0].target_stride[1], 12);
  const Mover alone = by_values(movers[0]);
  EXPECT_EQ(alone.extent[0], 24);
  EXPECT_EQ(alone.word, 8);
  EXPECT_EQ(alone.source_stride[1], movers[0].source_stride[1] * 2);
}

TEST(CodedMovers, LeaveTheEndsOfLongRowsToOthers) {
  // Packed rows of 42 values of 2 bytes are aligned to at most 4 bytes.
  EXPECT_EQ(values_of(EncodedRows({42, 3, 1}, DType::f32, Wire::f16, 32).packing().front()), 1);
  const auto movers = EncodedRows({42, 1, 1}, DType::f32, Wire::f16, 32).packing();
  ASSERT_EQ(movers.size(), 2u);
  EXPECT_EQ(values_of(movers[0]), 4);
  EXPECT_EQ(movers[0].extent[0], 10);
  EXPECT_EQ(values_of(movers[1]), 1);
  EXPECT_EQ(movers[1].extent[0], 2);
  EXPECT_EQ(movers[1].source - movers[0].source, 160);
  EXPECT_EQ(movers[1].target - movers[0].target, 80);
}

TEST(CodedMovers, TakeSingleValuesWhereRowsStartAnywhere) {
  EncodedRows rows({24, 3, 2}, DType::f64, Wire::f32, 32);
  rows.place.origin += 8;
  EXPECT_EQ(values_of(rows.packing().front()), 1);
  EXPECT_EQ(values_of(EncodedRows({24, 3, 2}, DType::c128, Wire::f32, 32).packing().front()), 1);
}

/// A message with the values of three boxes.
struct Large {
  std::vector<Transfer> transfers;
  std::vector<Leg> legs;
  Message message;

  Large() {
    for (const Extent& cells : {Extent{64, 40, 9}, Extent{3, 64, 64}, Extent{3, 3, 64}}) {
      Transfer t;
      t.source = t.target = {{{0, 0, 0}, cells}, {0, 1}, nullptr};
      transfers.push_back(t);
    }
    for (const Transfer& t : transfers) {
      Leg leg;
      leg.transfer = &t;
      leg.type = DType::f64;
      leg.components = leg.target_components = 2;
      leg.offset = message.bytes;
      message.bytes += round_up(leg.bytes(), leg_alignment);
      legs.push_back(leg);
    }
    message.knobs.chunk = 1 << 16;
  }
};

TEST(PartsOfMessages, HoldEveryValueOnceOneBehindTheOther) {
  const Large large;
  const auto parts = parts_of(large.message, large.legs);
  ASSERT_TRUE(parts);
  EXPECT_GT(parts->chunks.size(), 4u);
  std::vector<std::size_t> values(large.legs.size());
  for (const Chunk& chunk : parts->chunks) {
    std::size_t end = 0;
    for (std::size_t l = 0; l < chunk.legs.size(); ++l) {
      EXPECT_GE(chunk.legs[l].offset, end);
      end = chunk.legs[l].offset + chunk.legs[l].bytes();
      values[chunk.parent[l]] += chunk.legs[l].bytes();
    }
    EXPECT_LE(end, chunk.bytes);
  }
  for (std::size_t l = 0; l < values.size(); ++l) EXPECT_EQ(values[l], large.legs[l].bytes());
  EXPECT_GE(bytes_of_parts(*parts), large.message.bytes);
  EXPECT_LE(bytes_of_parts(*parts), large.message.bytes + 1024 * parts->chunks.size());
}

TEST(PartsOfMessages, AreNotMadeWhereThePackIsOneStepOrTheMessageSmall) {
  Large large;
  const auto whole = [&](auto change) {
    Message message = large.message;
    change(message);
    return parts_of(message, large.legs) == nullptr;
  };
  EXPECT_FALSE(whole([](Message&) {}));
  EXPECT_TRUE(whole([](Message& m) { m.combines = true; }));
  EXPECT_TRUE(whole([](Message& m) { m.knobs.pack = Pack::per_direction; }));
  EXPECT_TRUE(whole([](Message& m) { m.knobs.streams = Lanes::one; }));
  EXPECT_TRUE(whole([](Message& m) { m.knobs.sync = true; }));
  EXPECT_TRUE(whole([](Message& m) { m.knobs.chunk = 0; }));
}

/// Indices of the values in a box, [component][z][y][x], as lists of elements have them.
std::vector<std::int64_t> numbers_in(const IndexSet& set, const Extent& extent) {
  std::vector<std::int64_t> numbers;
  for (const int c : set.components)
    for (std::int64_t z = set.box.lo[2]; z < set.box.hi[2]; ++z)
      for (std::int64_t y = set.box.lo[1]; y < set.box.hi[1]; ++y)
        for (std::int64_t x = set.box.lo[0]; x < set.box.hi[0]; ++x)
          numbers.push_back(((c * extent[2] + z) * extent[1] + y) * extent[0] + x);
  return numbers;
}

TEST(CutsOfLists, KeepListAndBoxTogether) {
  const Extent cells{16, 8, 30};
  IndexSet box{{{0, 0, 0}, cells}, {0, 1, 2}, nullptr}, list;
  std::vector<std::int64_t> ids = numbers_in(box, cells);
  for (std::int64_t& id : ids) id = 100000 - id;
  list.ids = std::make_shared<const std::vector<std::int64_t>>(ids);
  for (const bool listed_source : {true, false})
    for (const Layout layout : {Layout::soa, Layout::aos}) {
      Transfer transfer;
      transfer.source = listed_source ? list : box;
      transfer.target = listed_source ? box : list;
      Leg leg;
      leg.transfer = &transfer;
      leg.type = DType::f64;
      leg.layout = leg.target_layout = layout;
      leg.components = leg.target_components = 3;
      const auto pieces = cut({leg}, 16384);
      EXPECT_GE(pieces->chunks.size(), 5u);
      std::vector<std::int64_t> found;
      for (const Chunk& chunk : pieces->chunks)
        for (const Leg& part : chunk.legs) {
          EXPECT_LE(part.bytes(), 16384u);
          const IndexSet &a = part.transfer->source, &b = part.transfer->target;
          const std::vector<std::int64_t> numbers = numbers_in(a.ids ? b : a, cells);
          const auto& listed = a.ids ? *a.ids : *b.ids;
          ASSERT_EQ(numbers.size(), listed.size());
          for (std::size_t n = 0; n < numbers.size(); ++n) EXPECT_EQ(listed[n], 100000 - numbers[n]);
          found.insert(found.end(), listed.begin(), listed.end());
        }
      EXPECT_EQ(found, ids) << "in order, each once";
    }
}

TEST(CutsOfLists, DownToSingleValues) {
  Transfer transfer;
  transfer.source.ids = std::make_shared<const std::vector<std::int64_t>>(std::vector<std::int64_t>{4, 2});
  transfer.target = {{{5, 6, 7}, {6, 7, 8}}, {0, 1}, nullptr};
  Leg leg;
  leg.transfer = &transfer;
  leg.type = DType::f64;
  const auto whole = cut({leg}, 16384);
  ASSERT_EQ(whole->chunks.size(), 1u);
  EXPECT_EQ(whole->chunks.front().legs.size(), 1u);
}

TEST(PartsOfMessages, AreMadeOfListsToo) {
  Large large;
  std::vector<std::int64_t> ids(static_cast<std::size_t>(large.transfers[0].source.size()));
  std::iota(ids.begin(), ids.end(), 0);
  large.transfers[0].source.ids = std::make_shared<const std::vector<std::int64_t>>(ids);
  const auto parts = parts_of(large.message, large.legs);
  ASSERT_TRUE(parts);
  std::int64_t listed = 0;
  for (const Chunk& chunk : parts->chunks)
    for (std::size_t l = 0; l < chunk.legs.size(); ++l)
      if (chunk.parent[l] == 0) listed += chunk.legs[l].transfer->source.size();
  EXPECT_EQ(listed, static_cast<std::int64_t>(ids.size()));
}

}  // namespace
}  // namespace slipstream
