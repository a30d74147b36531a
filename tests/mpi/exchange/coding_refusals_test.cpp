// Errors of item codings: invalid options, and overflow on routes that devices drive alone.
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

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

/// The halo of one field, for invalid codings.
struct RefusedCoding {
  Communicator comm = Communicator::world();
  Machine machine = machine_here(Backend::host, 2);
  Grid grid{{12, 10, 8}, machine, comm.rank(), GridOptions{}};
  const Halo halo{Halo::Options{}};

  std::optional<Error> by(DType type, const Coding& coding, const ExchangeOptions& options = {}) const {
    Field field(grid, field_of("u", type));
    return error_of([&] { Exchange(comm, grid, {{&halo, &field, nullptr, false, coding}}, options); });
  }
};

TEST(CodingRefuses, TypesThatItCannotNarrow) {
  const RefusedCoding r;
  const Coding cast{Coding::Kind::cast};
  for (const DType type : {DType::i32, DType::i64, DType::u8, DType::f16, DType::c64})
    expect_error(r.by(type, cast), ErrorCode::unsupported,
                 {{"of", "field u"}, {"coding", "cast"}, {"type", to_string(type)}, {"option", "type"}});
  expect_error(r.by(DType::f32, {Coding::Kind::cast, Narrow::f32}), ErrorCode::unsupported,
               {{"coding", "cast to f32"}, {"type", "f32"}, {"option", "format"}});
  expect_error(r.by(DType::f64, {Coding::Kind::cast, Narrow::bf16}), ErrorCode::unsupported,
               {{"coding", "cast to bf16"}, {"type", "f64"}, {"option", "format"}});
  expect_error(r.by(DType::f32, {Coding::Kind::raw, Narrow::f16}), ErrorCode::unsupported,
               {{"coding", "raw"}, {"type", "f32"}, {"option", "format"}});
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
    expect_error(r.by(DType::f64, with(rate, 0)), ErrorCode::invalid_argument, {{"of", "field u"}, {"option", "rate"}});
  for (const int block : {-4, 4097})
    expect_error(r.by(DType::f64, with(0, block)), ErrorCode::invalid_argument,
                 {{"of", "field u"}, {"option", "block"}});
  expect_error(r.by(DType::f64, with(8, 64)), ErrorCode::unsupported,
               {{"coding", "cast, rate 8, block 64"}, {"option", "rate"}});
  Coding raw;
  raw.block = 4;
  expect_error(r.by(DType::f64, raw), ErrorCode::unsupported, {{"coding", "raw, block 4"}, {"option", "block"}});
  for (const char* name : {"cast, rate 8", "cast to f16, rate 4.5, block 64", "raw, block 16"})
    EXPECT_EQ(to_string(coding_from_string(name)), name);
  EXPECT_NE(coding_from_string("cast, rate 8"), coding_from_string("cast, rate 9"));
}

TEST(CodingRefuses, BlocksThatNoNumbersFit) {
  const RefusedCoding r;
  struct Refused {
    const char* coding;
    DType type;
    ErrorCode code;
    const char* option;
  };
  using enum ErrorCode;
  for (const Refused& one : {Refused{"blockfloat, rate 10", DType::f64, invalid_argument, "rate"},
                             {"blockfloat, rate 4", DType::f64, invalid_argument, "rate"},
                             {"blockfloat, rate 52", DType::f64, invalid_argument, "rate"},
                             {"blockfloat, rate 32", DType::f32, invalid_argument, "rate"},
                             {"blockfloat, block 64", DType::f64, invalid_argument, "block"},
                             {"blockfloat, max error 0", DType::f64, invalid_argument, "max_error"},
                             {"blockfloat", DType::i32, unsupported, "type"},
                             {"zfp, rate 33", DType::f32, invalid_argument, "rate"},
                             {"zfp, rate 0.5", DType::f64, invalid_argument, "rate"},
                             {"zfp, rate 16.5", DType::f64, invalid_argument, "rate"},
                             {"zfp, block 8", DType::f64, invalid_argument, "block"},
                             {"zfp", DType::i64, unsupported, "type"},
                             {"zfp", DType::f16, unsupported, "type"},
                             {"zfp, max error 1e-30", DType::f64, unsupported, "max_error"},
                             {"zfp, rate 8, max error 1e-06", DType::f64, unsupported, "max_error"},
                             {"zfp, max error -1", DType::f64, invalid_argument, "max_error"},
                             {"cast, max error 0.001", DType::f64, unsupported, "max_error"},
                             {"auto, max error 0.001", DType::f64, unsupported, "coding"}}) {
    SCOPED_TRACE(one.coding);
    expect_error(r.by(one.type, coding_from_string(one.coding)), one.code,
                 {{"of", "field u"}, {"coding", one.coding}, {"type", to_string(one.type)}, {"option", one.option}});
  }
  for (const char* name : {"blockfloat", "zfp, rate 16", "zfp, rate 16, block 64", "zfp, max error 0.001", "auto",
                           "blockfloat, rate 24, max error 1e-06"})
    EXPECT_EQ(to_string(coding_from_string(name)), name);
}

TEST(CodingRefuses, ToMeasureWhatIsPackedElsewhere) {
  const RefusedCoding r;
  ExchangeOptions options;
  options.routes = {RouteKind::kernel, RouteKind::staged};
  options.knobs.pack = Pack::per_direction;
  options.measure_errors = true;
  expect_error(r.by(DType::f64, {Coding::Kind::cast}, options), ErrorCode::unsupported,
               {{"option", "pack"}, {"given", "per_direction"}});
}

TEST(CodingRefuses, AnotherCodingOnOneRank) {
  const RefusedCoding r;
  if (r.comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const auto error = r.by(DType::f64, {r.comm.rank() == 1 ? Coding::Kind::cast : Coding::Kind::raw});
  expect_error(error, ErrorCode::mismatch, {{"rank", 1}});
  EXPECT_EQ(error->fact("first").find("u (1 x f64, soa, by halo)"), 0u) << error->fact("first");
  EXPECT_EQ(error->fact("given").find("u (1 x f64, soa, by halo, cast)"), 0u) << error->fact("given");
}

TEST(CodingRefuses, CopiesOfBoxes) {
  const RefusedCoding r;
  ExchangeOptions options;
  options.routes = {RouteKind::staged};
  options.knobs.pack = Pack::memcpy3d;
  expect_error(r.by(DType::f64, {Coding::Kind::cast}, options), ErrorCode::unsupported,
               {{"option", "pack"}, {"given", "memcpy3d"}, {"problem", "coding"}});
}

TEST(CodingRefuses, TwoCodingsOfOneSum) {
  const RefusedCoding r;
  const HaloAdjoint sum{Halo::Options{}};
  Field field(r.grid, field_of("u", DType::f64));
  expect_error(
      [&] {
        Exchange(r.comm, r.grid, {{&sum, &field}, {&sum, &field, nullptr, false, {Coding::Kind::cast}}});
      },
      ErrorCode::unsupported, {{"problem", "coding"}});
}

TEST(CodingRefuses, UnknownNames) {
  for (const char* name : {"raw", "cast", "cast to f32", "cast to f16", "cast to bf16"})
    EXPECT_EQ(to_string(coding_from_string(name)), name);
  for (const char* name : {"", "zip", "cast to f64", "cast to", "raw to f32"})
    expect_error([&] { coding_from_string(name); }, ErrorCode::invalid_argument,
                 {{"option", "coding"}, {"given", name}});
}

/// A field that is cast between ranks on a route that devices drive alone.
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

/// No host waits for the devices here: hosts compare the overflow flags from time to time.
TEST_F(CastWithoutCheck, TellsAllRanksAtTheSameExchange) {
  Exchange exchange(comm, grid, {item()}, options);
  for (const std::int64_t id : grid.local())
    set_array(field, id,
              std::vector<double>(static_cast<std::size_t>(field.shape(id).elements), comm.rank() == 0 ? 1e39 : 1));
  comm.barrier();
  std::vector<Stream> streams = streams_of(grid);
  std::optional<Error> said;
  std::int64_t done = 0;
  for (; !said && done < 200; ++done) {
    said = error_of([&] { exchange.run(streams); });
    finish(streams);
  }
  expect_error(said, ErrorCode::overflow, {{"item", 0}, {"field", "density"}, {"pattern", "halo"}, {"coding", "cast"}});
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
  expect_error([&] { exchange.check(); }, ErrorCode::overflow,
               {{"item", 0}, {"field", "density"}, {"pattern", "halo"}, {"coding", "cast"}});
  comm.barrier();
}

/// The others wait for a rank that does not call check() no longer than the timeout.
TEST_F(CastWithoutCheck, OnOneRankIsATimeOutOfTheOthers) {
  options.wait_limit = 0.5;
  Exchange exchange(comm, grid, {item()}, options);
  if (comm.rank() > 0) {
    expect_error([&] { exchange.check(); }, ErrorCode::timeout, {{"rank", comm.rank()}, {"limit", 0.5}});
  }
  comm.barrier();
}

}  // namespace
}  // namespace slipstream
