// A plan rejects requests that no route supports, before ranks communicate.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <slipstream/transpose.hpp>

#include "support/exchange_parts.hpp"
#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

FieldOptions field_of_type(const char* name, DType type) {
  FieldOptions options;
  options.name = name;
  options.type = type;
  options.ghost = {1, 1, 1};
  options.shared = true;
  return options;
}

/// A halo of one field between two devices of a rank.
struct RefusedCoding {
  Communicator comm = Communicator::world();
  Machine machine = machine_here(Backend::host, 2);
  Grid grid{{12, 10, 8}, machine, comm.rank(), GridOptions{}};
  const Halo halo{Halo::Options{}};

  std::optional<Error> by(DType type, const Coding& coding, const ExchangeOptions& options = {}) const {
    return error_of([&] { routed(grid, {{&halo, field_of_type("u", type), {}, false, coding}}, options); });
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

TEST(CodingRefuses, CopiesOfBoxes) {
  const RefusedCoding r;
  ExchangeOptions options;
  options.routes = {RouteKind::staged};
  options.knobs.pack = Pack::memcpy3d;
  Field field(r.grid, field_of_type("u", DType::f64));
  expect_error(
      [&] {
        Exchange(r.comm, r.grid, {{&r.halo, &field, nullptr, false, {Coding::Kind::cast}}}, options);
      },
      ErrorCode::unsupported, {{"option", "pack"}, {"given", "memcpy3d"}, {"problem", "coding"}});
}

TEST(CodingRefuses, TwoCodingsOfOneSum) {
  const RefusedCoding r;
  const HaloAdjoint sum{Halo::Options{}};
  Field field(r.grid, field_of_type("u", DType::f64));
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

/// A throttled halo exchange between two devices of each of two ranks of a node.
struct Slow {
  std::optional<Error> refused() const {
    return error_of([&] { routed(grid, {{&halo, field_of_type("u", DType::f64)}}, options); });
  }
  Grid grid{{64, 16, 16}, planned_machine(2, 2), 0};
  const Halo halo{Halo::Options{}};
  ExchangeOptions options = [] {
    ExchangeOptions slow;
    slow.throttle = {0.01, 3000};
    return slow;
  }();
};

TEST(ThrottleRefuses, RoutesWithoutAHostBetween) {
  Slow s;
  for (const RouteKind kind : {RouteKind::direct, RouteKind::peer, RouteKind::colocated}) {
    s.options.routes = {RouteKind::kernel, kind};
    expect_error(s.refused(), ErrorCode::unavailable, {{"problem", "no_route"}});
  }
  s.options.routes = {RouteKind::kernel, RouteKind::direct};
  const auto error = s.refused();
  expect_error(error, ErrorCode::unavailable, {{"problem", "no_route"}});
  EXPECT_NE(error->fact("refused").find("not direct: the throttle"), std::string::npos) << error->fact("refused");
}

TEST(ThrottleRefuses, RatesAndLatenciesOutOfRange) {
  Slow s;
  for (const Throttle& bad : {Throttle{-1, 0}, {1e-7, 0}, {1001, 0}, {0, 2}, {std::nan(""), 0}}) {
    s.options.throttle = bad;
    expect_error(s.refused(), ErrorCode::invalid_argument, {{"option", "throttle"}, {"gb_per_s", bad.gb_per_s}});
  }
  for (const double bad : {-1.0, 2e7, std::nan("")}) {
    s.options.throttle = {1, bad};
    expect_error(s.refused(), ErrorCode::invalid_argument, {{"option", "throttle"}, {"latency_us", bad}});
  }
}

TEST(ThrottleRefuses, MessagesThatTakeLongerThanAWait) {
  Slow s;
  s.options.throttle = {1e-6, 0};
  s.options.wait_limit = 1;
  expect_error(s.refused(), ErrorCode::unsupported,
               {{"option", "wait_limit"}, {"given", 1}, {"throttle", "1e-06 GB/s"}});
}

TEST(ThrottleRefuses, TextsThatItCannotRead) {
  EXPECT_EQ(throttle_from_string("12.5 GB/s, 2 us"), (Throttle{12.5, 2}));
  EXPECT_EQ(throttle_from_string("0.1 GB/s"), (Throttle{0.1, 0}));
  EXPECT_EQ(throttle_from_string("none"), Throttle{});
  for (const char* text : {"12.5 GB/s, 2 us", "0.1 GB/s", "none", "0.123456789012 GB/s"})
    EXPECT_EQ(to_string(throttle_from_string(text)), text);
  for (const char* text : {"", "fast", "12.5", "12.5 GB", "12.5 GB/s 2 us", "12.5 GB/s, 2", "1 GB/s, 2 us, 3", "GB/s"})
    expect_error([&] { throttle_from_string(text); }, ErrorCode::invalid_argument,
                 {{"option", "throttle"}, {"given", text}});
  expect_error([] { throttle_from_string("0 GB/s"); }, ErrorCode::invalid_argument,
               {{"option", "throttle"}, {"gb_per_s", 0}});
}

TEST(SumsRefuse, NumbersThatHaveNone) {
  EXPECT_THROW(HaloAdjoint({}, Op::copy), Error);
  const Grid grid({16, 16, 16}, planned_machine(2, 1), 0);
  using enum DType;
  for (const auto& [type, op] :
       {std::pair{f16, Op::add}, {f16, Op::max}, {c64, Op::min}, {c64, Op::max}, {c128, Op::min}, {c128, Op::max}}) {
    const HaloAdjoint sum(Halo::Options{}, op);
    expect_error(
        [&] {
          routed(grid, {{&sum, field_of_type("psi", type)}});
        },
        ErrorCode::unsupported, {{"field", "psi"}, {"type", to_string(type)}});
  }
}

TEST(OntoItselfRefuses, PackingApart) {
  const Grid grid({8, 8, 8}, planned_machine(2, 1), 0);
  const Transpose transpose(grid, grid, {.axes = {2, 1, 0}, .kept = {}});
  ExchangeOptions options;
  options.knobs.pack = Pack::per_direction;
  Plan plan(grid, {{&transpose, field_of_type("u", DType::f64)}}, options);
  plan.list_transfers();
  expect_error([&] { plan.choose_routes(true, ""); }, ErrorCode::unsupported,
               {{"option", "pack"}, {"given", "per_direction"}});
}

}  // namespace
}  // namespace slipstream
