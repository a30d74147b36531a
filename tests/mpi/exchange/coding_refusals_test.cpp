// What codings of items refuse, and values that are too large for them where devices alone exchange: how they say so.
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "support/error_text.hpp"
#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

FieldOptions field_of(const char* name, DType type) {
  FieldOptions options;
  options.name = name;
  options.type = type;
  options.ghost = {1, 1, 1};
  options.shared = true;
  return options;
}

/// A halo of one field, for what is refused.
struct RefusedCoding {
  Communicator comm = Communicator::world();
  Machine machine = machine_here(Backend::host, 2);
  Grid grid{{12, 10, 8}, machine, comm.rank(), GridOptions{}};
  const Halo halo{Halo::Options{}};

  std::string by(DType type, const Coding& coding, const ExchangeOptions& options = {}) const {
    Field field(grid, field_of("u", type));
    return error_of([&] { Exchange(comm, grid, {{&halo, &field, nullptr, false, coding}}, options); });
  }
};

TEST(CodingRefuses, TypesThatItCannotNarrow) {
  const RefusedCoding r;
  constexpr Coding cast{Coding::Kind::cast};
  for (const DType type : {DType::i32, DType::i64, DType::u8, DType::f16, DType::c64})
    EXPECT_EQ(r.by(type, cast), "the coding cast of field u, which holds " + to_string(type) +
                                    ": cast rounds f64 and c128 to f32, and f32 to f16 or bf16: choose raw");
  EXPECT_EQ(r.by(DType::f32, {Coding::Kind::cast, Narrow::f32}),
            "the coding cast to f32 of field u, which holds f32: f32 is cast to f16 or bf16, which are narrower");
  EXPECT_EQ(r.by(DType::f64, {Coding::Kind::cast, Narrow::bf16}),
            "the coding cast to bf16 of field u, which holds f64: f64 and c128 are cast to f32");
  EXPECT_EQ(r.by(DType::f32, {Coding::Kind::raw, Narrow::f16}),
            "the coding raw of field u, which holds f32: raw sends values as they are, and was given a format: choose "
            "cast");
}

TEST(CodingRefuses, RatesAndBlocksOutOfRangeAndOfKindsThatHaveNone) {
  const RefusedCoding r;
  const auto with = [](double rate, int block) {
    Coding coding{Coding::Kind::cast};
    if (rate != 0) coding.rate = rate;
    if (block != 0) coding.block = block;
    return coding;
  };
  for (const double rate : {-1.0, 64.5, std::numeric_limits<double>::quiet_NaN()})
    expect_words(r.by(DType::f64, with(rate, 0)), {"of field u", "a rate is above 0 and at most 64 bits a value"});
  for (const int block : {-4, 4097})
    expect_words(r.by(DType::f64, with(0, block)), {"of field u", "a block has 1 to 4096 values"});
  EXPECT_EQ(
      r.by(DType::f64, with(8, 64)),
      "the coding cast, rate 8, block 64 of field u, which holds f64: cast writes each value by itself, and takes "
      "neither rate nor block: leave them out");
  Coding raw;
  raw.block = 4;
  expect_words(r.by(DType::f64, raw), {"the coding raw, block 4 of field u", "raw sends values as they are"});
  for (const char* name : {"cast, rate 8", "cast to f16, rate 4.5, block 64", "raw, block 16"})
    EXPECT_EQ(to_string(coding_from_string(name)), name);
  EXPECT_NE(coding_from_string("cast, rate 8"), coding_from_string("cast, rate 9"));
}

TEST(CodingRefuses, ToMeasureWhatIsPackedElsewhere) {
  const RefusedCoding r;
  ExchangeOptions options;
  options.routes = {RouteKind::kernel, RouteKind::staged};
  options.knobs.pack = Pack::per_direction;
  options.measure_errors = true;
  expect_words(r.by(DType::f64, {Coding::Kind::cast}, options),
               {"errors of codings are measured", "pack = per_direction", "choose pack = fused"});
}

TEST(CodingRefuses, AnotherCodingOnOneRank) {
  const RefusedCoding r;
  if (r.comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const std::string said = r.by(DType::f64, {r.comm.rank() == 1 ? Coding::Kind::cast : Coding::Kind::raw});
  expect_words(said, {"the ranks construct different exchanges: rank 0 one of u (1 x f64, soa, by halo)",
                      "rank 1 one of u (1 x f64, soa, by halo, cast)"});
}

TEST(CodingRefuses, CopiesOfBoxes) {
  const RefusedCoding r;
  ExchangeOptions options;
  options.routes = {RouteKind::staged};
  options.knobs.pack = Pack::memcpy3d;
  expect_words(r.by(DType::f64, {Coding::Kind::cast}, options),
               {"pack = memcpy3d copies values as they are, and an item is to be cast: choose the coding raw"});
}

TEST(CodingRefuses, TwoCodingsOfOneSum) {
  const RefusedCoding r;
  const HaloAdjoint sum{Halo::Options{}};
  Field field(r.grid, field_of("u", DType::f64));
  expect_words(error_of([&] {
                 Exchange(r.comm, r.grid, {{&sum, &field}, {&sum, &field, nullptr, false, {Coding::Kind::cast}}});
               }),
               {"the target of different codings in one exchange: make two exchanges"});
}

TEST(CodingRefuses, UnknownNames) {
  for (const char* name : {"raw", "cast", "cast to f32", "cast to f16", "cast to bf16"})
    EXPECT_EQ(to_string(coding_from_string(name)), name);
  for (const char* name : {"", "zip", "cast to f64", "cast to", "raw to f32"})
    EXPECT_EQ(error_of([&] { coding_from_string(name); }),
              "unknown coding '" + std::string(name) + "': choose raw, cast, cast to f32, cast to f16 or cast to bf16");
}

/// A field that is cast between ranks by the devices alone.
class CastWithoutCheck : public testing::Test {
 protected:
  CastWithoutCheck() { options.routes = {RouteKind::kernel, RouteKind::direct}; }
  ExchangeItem item() { return {&halo, &field, nullptr, false, {Coding::Kind::cast}}; }
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, comm.size());
  const Grid grid{{12, 10, 8}, machine, comm.rank()};
  const Halo halo{{Reach::faces, {1, 1, 1}, {1, 1, 1}, {}}};
  Field field{grid, field_of("density", DType::f64)};
  ExchangeOptions options;
};

/// Nobody asks for an error of devices here: their hosts ask each other now and then.
TEST_F(CastWithoutCheck, TellsAllRanksAtTheSameExchange) {
  Exchange exchange(comm, grid, {item()}, options);
  for (const std::int64_t id : grid.local())
    set_array(field, id,
              std::vector<double>(static_cast<std::size_t>(field.shape(id).elements), comm.rank() == 0 ? 1e39 : 1));
  comm.barrier();
  std::vector<Stream> streams = streams_of(grid);
  std::string said;
  std::int64_t done = 0;
  for (; said.empty() && done < 200; ++done) {
    said = error_of([&] { exchange.run(streams); });
    finish(streams);
  }
  expect_words(said, {"item 0 (density by halo) is too large for its coding, cast"});
  for (const std::int64_t elsewhere : comm.all_gather(done)) EXPECT_EQ(elsewhere, 65);
}

TEST_F(CastWithoutCheck, NamesAPatternThatIsGone) {
  auto gone = std::make_unique<Halo>(halo);
  Exchange exchange(comm, grid, {{gone.get(), &field, nullptr, false, {Coding::Kind::cast}}}, options);
  gone.reset();
  for (const std::int64_t id : grid.local())
    set_array(field, id, std::vector<double>(static_cast<std::size_t>(field.shape(id).elements), 1e39));
  comm.barrier();
  std::vector<Stream> streams = streams_of(grid);
  exchange.run(streams);
  finish(streams);
  expect_words(error_of([&] { exchange.check(); }), {"item 0 (density by halo) is too large for its coding, cast"});
  comm.barrier();
}

/// A rank that does not come to check() keeps nobody for longer than the limit.
TEST_F(CastWithoutCheck, OnOneRankIsATimeOutOfTheOthers) {
  options.wait_limit = 0.5;
  Exchange exchange(comm, grid, {item()}, options);
  if (comm.rank() > 0) {
    expect_words(error_of([&] { exchange.check(); }), {"waited longer than 0.5", "a value was too large"});
  }
  comm.barrier();
}

}  // namespace
}  // namespace slipstream
