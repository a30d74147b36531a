// A user-defined coding: f32 as bfloat16, as the engine's own cast. coding_test.cpp compares it with rounding on the
// host.
#include <gtest/gtest.h>

#include <cmath>

#include "exchange/own_coding_kernels.hpp"
#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"
#include "support/own_coding.hpp"

namespace slipstream {
inline namespace own_coding_test_kernels {

struct OwnBf16 {
  using Value = float;
  using Code = std::uint16_t;
  static SLIP_FN Code encode(float value, bool& overflow) { return CastToBf16::encode(value, overflow); }
  static SLIP_FN float decode(Code code, bool& overflow) { return CastToBf16::decode(code, overflow); }
  static double bound(double largest) { return std::ldexp(largest, -8); }
};

/// A coding whose code is as wide as its value, which is refused.
struct OwnWide : OwnBf16 {
  using Code = std::uint32_t;
  static SLIP_FN Code encode(float value, bool&) { return std::bit_cast<std::uint32_t>(value); }
  static SLIP_FN float decode(Code code, bool&) { return std::bit_cast<float>(code); }
};

}  // namespace own_coding_test_kernels

const std::string& own_bf16() {
  static const std::string name = [] {
    add_coding<OwnBf16>("bf16 in C++");
    return "bf16 in C++";
  }();
  return name;
}

namespace {

TEST(CodingRefuses, OwnCodingsThatAreUnknownOrDoNotFit) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 2);
  const Grid grid({12, 10, 8}, machine, comm.rank(), GridOptions{});
  const Halo halo{Halo::Options{}};
  const auto refused = [&](DType type, const std::vector<std::string>& codings) {
    std::vector<Field> fields;
    for (std::size_t n = 0; n < codings.size(); ++n) {
      FieldOptions options;
      options.name = "u";
      options.type = type;
      options.ghost = {1, 1, 1};
      fields.emplace_back(grid, options);
    }
    return error_of([&] {
      std::vector<ExchangeItem> items;
      for (std::size_t n = 0; n < codings.size(); ++n)
        items.push_back({&halo, &fields[n], nullptr, false, coding_from_string(codings[n])});
      Exchange(comm, grid, items);
    });
  };
  const std::string own = "own " + own_bf16();
  EXPECT_FALSE(refused(DType::f32, {own, "raw", own}));
  expect_error(refused(DType::f32, {"own nobody's"}), ErrorCode::not_found,
               {{"of", "field u"}, {"coding", "own nobody's"}, {"option", "coding"}});
  expect_error(refused(DType::f64, {own}), ErrorCode::unsupported, {{"coding", own}, {"option", "type"}});
  expect_error(refused(DType::i32, {own}), ErrorCode::unsupported, {{"coding", own}, {"option", "type"}});
  expect_error(refused(DType::f32, {own + ", rate 8"}), ErrorCode::unsupported, {{"option", "rate"}});
  for (const char* other : {"cast", "zfp, rate 16"})
    expect_error(refused(DType::f32, {other, own}), ErrorCode::unsupported, {{"given", other}, {"other", own}});
}

TEST(CodingRefuses, OwnCodingsThatCannotBeAdded) {
  own_bf16();
  expect_error(error_of([] { add_coding<OwnBf16>(own_bf16()); }), ErrorCode::invalid_argument, {{"given", own_bf16()}});
  for (const char* name : {"", "a, b"})
    expect_error(error_of([&] { add_coding<OwnBf16>(name); }), ErrorCode::invalid_argument, {{"given", name}});
  expect_error(error_of([] { add_coding<OwnWide>("wide"); }), ErrorCode::invalid_argument, {{"given", "wide"}});
  expect_error(error_of([] {
                 add_coding(OwnCoding{"bare", DType::f32, 2});
               }),
               ErrorCode::invalid_argument, {{"given", "bare"}});
}

}  // namespace
}  // namespace slipstream
