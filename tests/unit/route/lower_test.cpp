// Conversion of transfers to copy descriptors: word sizes that both ends allow, and splits of large messages.
#include <gtest/gtest.h>

#include <numeric>

#include <slipstream/field.hpp>

#include "route/coded_movers.hpp"
#include "route/lower.hpp"
#include "route/parts.hpp"

namespace slipstream {
namespace {

/// Rows of a whole block, encoded into packed values.
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

/// A message of three boxes.
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
  const std::vector<std::int64_t> ids(large.legs[0].transfer->source.size());
  large.transfers[0].source.ids = std::make_shared<const std::vector<std::int64_t>>(ids);
  EXPECT_TRUE(whole([](Message&) {}));
}

}  // namespace
}  // namespace slipstream
