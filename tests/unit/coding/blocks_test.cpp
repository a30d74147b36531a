// Block codings: errors of decoded values stay within their bounds, for numbers of all magnitudes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include "support/coded_box.hpp"
#include "support/machine_rig.hpp"

namespace slipstream {
namespace {

Coding coding_of(const char* text) { return coding_from_string(text); }

/// Random finite numbers of any exponent, some of them 0. With `narrow` the magnitudes of a block differ less.
template <class T>
class AnyNumbers {
 public:
  explicit AnyNumbers(unsigned seed) : random_(seed) {}
  std::vector<T> of(const Extent& box) {
    using Limits = std::numeric_limits<T>;
    const int least = Limits::min_exponent - Limits::digits, greatest = Limits::max_exponent - 1;
    std::uniform_int_distribution<int> any(least, greatest);
    const int middle = any(random_), spread = static_cast<int>(random_() % 70);
    std::vector<T> values(static_cast<std::size_t>(volume(box)));
    for (T& value : values) {
      const int exponent = std::clamp(
          middle + static_cast<int>(random_() % (2 * static_cast<unsigned>(spread) + 1)) - spread, least, greatest);
      value = random_() % 11 ? static_cast<T>(std::ldexp(unit_(random_), exponent)) : T{0};
    }
    return values;
  }

 private:
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> unit_{-2, 2};
};

/// Number of random boxes for each coding; all tests together use 10^5.
int boxes_of_each() {
  const char* const tests = std::getenv("SLIPSTREAM_TESTS");
  return tests && std::string(tests) == "every" ? 4000 : 40;
}

/// Calls f(cell indices) for each block of cells, such as 4 x 4 x 4, that a coding compresses together.
template <class F>
void each_block(const Extent& box, const CellBlock& block, const F& f) {
  const Extent blocks = blocks_of(box, block);
  for (std::int64_t n = 0; n < volume(blocks); ++n) {
    const Extent at{n % blocks[0], n / blocks[0] % blocks[1], n / blocks[0] / blocks[1]};
    std::vector<std::size_t> cells;
    for (std::int64_t c = 0; c < block.cells(); ++c) {
      const std::int64_t e[3] = {block.extent[0], block.extent[1], block.extent[2]};
      const Extent cell{at[0] * e[0] + c % e[0], at[1] * e[1] + c / e[0] % e[1], at[2] * e[2] + c / e[0] / e[1]};
      if (cell[0] < box[0] && cell[1] < box[1] && cell[2] < box[2])
        cells.push_back(static_cast<std::size_t>((cell[2] * box[1] + cell[1]) * box[0] + cell[0]));
    }
    f(cells);
  }
}

template <class T>
void expect_bounds(Backend backend, const char* name, int boxes) {
  SCOPED_TRACE(name);
  std::mt19937_64 random(7);
  AnyNumbers<T> numbers(11);
  const Wire wire = wire_of(coding_of(name), dtype_of<T>(), "u");
  double closest = 0;
  for (int n = 0; n < boxes; ++n) {
    Extent box;
    for (auto& e : box) e = 1 + static_cast<std::int64_t>(random() % 12);
    CodedBox<T> coded({backend, 0}, box, wire);
    const std::vector<T> values = numbers.of(box), back = coded.decoded(coded.encoded(values));
    // zfp may round the largest finite numbers to infinity, and then reports it.
    if (coded.lost()) continue;
    each_block(box, coded.block(), [&](const std::vector<std::size_t>& cells) {
      double largest = 0, error = 0;
      for (const std::size_t c : cells) {
        largest = std::max(largest, std::abs(static_cast<double>(values[c])));
        // Halves both numbers, because the difference of two finite numbers may overflow.
        error =
            std::max(error, 2 * std::abs(0.5 * static_cast<double>(back[c]) - 0.5 * static_cast<double>(values[c])));
      }
      const double bound = wire.bound(dtype_of<T>(), coded.block(), largest);
      if (largest > 0) closest = std::max(closest, error / bound);
      // The coding error of subnormal numbers may exceed the bound by a unit in the last place.
      ASSERT_LE(error, bound + static_cast<double>(std::numeric_limits<T>::denorm_min()))
          << "largest " << largest << " box " << to_string(box);
    });
    if (testing::Test::HasFailure()) return;
  }
  testing::Test::RecordProperty(name, std::to_string(closest));
  // The bound must be sharp: some error comes close to it.
  EXPECT_GT(closest, wire.kind == Wire::zfp ? 0.001 : 0.45);
}

class BlockCodings : public testing::TestWithParam<Backend> {};

TEST_P(BlockCodings, KeepTheirBounds) {
  for (const char* name : {"blockfloat", "blockfloat, rate 8", "blockfloat, rate 12", "blockfloat, rate 20", "zfp",
                           "zfp, rate 8, block 64", "zfp, rate 16, block 64", "zfp, rate 16, block 16",
                           "zfp, rate 16, block 4", "zfp, rate 24", "zfp, max error 1e-3"}) {
    expect_bounds<float>(GetParam(), name, boxes_of_each());
    expect_bounds<double>(GetParam(), name, boxes_of_each());
    if (HasFailure()) return;
  }
  for (const char* name :
       {"blockfloat, rate 48", "blockfloat, rate 36", "zfp, rate 48", "zfp, rate 64, block 16", "zfp, max error 1e-9"})
    expect_bounds<double>(GetParam(), name, boxes_of_each());
}

/// zfp at 32 bits a value, with uniform random numbers in [0, 1].
TEST_P(BlockCodings, HoldUniformNumbersAsCloselyAsTheyShould) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  for (const auto& [block, most] : {std::pair{4, 5e-8}, {16, 1e-8}, {64, 1e-8}}) {
    const Extent box{64, block > 4 ? 64 : 1, block > 16 ? 64 : 1};
    CodedBox<double> coded(
        {GetParam(), 0}, box,
        wire_of(coding_of(("zfp, rate 32, block " + std::to_string(block)).c_str()), DType::f64, "u"));
    std::vector<double> values(static_cast<std::size_t>(volume(box)));
    for (double& value : values) value = unit(random);
    const auto back = coded.decoded(coded.encoded(values));
    double error = 0;
    for (std::size_t n = 0; n < values.size(); ++n) error = std::max(error, std::abs(back[n] - values[n]));
    EXPECT_LT(error, most) << "blocks of " << block;
    EXPECT_GT(error, 0);
  }
}

TEST_P(BlockCodings, SayThatAValueIsNotFinite) {
  for (const char* name : {"blockfloat", "zfp", "blockfloat, max error 0.25"})
    for (const double bad : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
      SCOPED_TRACE(testing::Message() << name << ' ' << bad);
      const Wire wire = wire_of(coding_of(name), DType::f64, "u");
      const Extent box{32, 8, 1};
      CodedBox<double> coded({GetParam(), 0}, box, wire), elsewhere({GetParam(), 0}, box, wire);
      std::vector<double> values(256, 1.5);
      const auto good = coded.encoded(values);
      EXPECT_FALSE(coded.lost());
      values[40] = bad;
      const auto codes = coded.encoded(values);
      EXPECT_TRUE(coded.lost());
      const auto back = elsewhere.decoded(codes);
      EXPECT_TRUE(elsewhere.lost());  // the coded block alone tells the decoder that it holds NaN or infinity
      int lost = 0;
      for (const double value : back) lost += std::isnan(value);
      EXPECT_TRUE(std::isnan(back[40]));
      EXPECT_EQ(lost, coded.block().cells());
      for (const double value : back) EXPECT_TRUE(std::isnan(value) || std::abs(value - 1.5) < 0.3) << value;
    }
}

/// Uninitialised memory reads as NaN, which must not count as a coding error.
TEST_P(BlockCodings, ReadPoisonAsNoNumber) {
  for (const char* name : {"blockfloat", "zfp"}) {
    CodedBox<float> coded({GetParam(), 0}, {8, 8, 8}, wire_of(coding_of(name), DType::f32, "u"));
    for (const float value : coded.decoded(std::vector<std::uint64_t>(coded.words(), ~std::uint64_t{0})))
      EXPECT_TRUE(std::isnan(value));
    EXPECT_FALSE(coded.lost());
  }
}

/// Given a maximum error, values round to multiples of one unit. Values too large for the codes are reported.
TEST_P(BlockCodings, RoundToMultiplesOfOneUnitWhereAnErrorIsGiven) {
  const Coding coding = coding_of("blockfloat, rate 16, max error 0.001");
  const Wire wire = wire_of(coding, DType::f64, "u");
  EXPECT_TRUE(wire.rounds_by_value());
  const double unit = std::ldexp(1., wire.quantum), most = 16383 * unit;  // largest value that 15-bit codes hold
  EXPECT_LE(unit / 2, 0.001);
  EXPECT_GT(unit, 0.001);
  CodedBox<double> coded({GetParam(), 0}, {5, 7, 3}, wire);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> some(-most, most);
  std::vector<double> values(105);
  for (double& value : values) value = some(random);
  values[3] = most;
  values[4] = -most;
  const auto back = coded.decoded(coded.encoded(values));
  for (std::size_t n = 0; n < values.size(); ++n) EXPECT_EQ(back[n], std::nearbyint(values[n] / unit) * unit);
  EXPECT_FALSE(coded.lost());
  values[9] = most + 0.6 * unit;
  coded.encoded(values);
  EXPECT_TRUE(coded.lost());
}

TEST(CodedBoxes, TakeBlocksThatSuitThem) {
  const Wire zfp = wire_of(coding_of("zfp"), DType::f64, "u"),
             floats = wire_of(coding_of("blockfloat"), DType::f64, "u");
  const auto of = [](const Wire& wire, const Extent& box) {
    const CellBlock block = wire.block_of(box, false, false);
    return std::array<int, 3>{block.extent[0], block.extent[1], block.extent[2]};
  };
  EXPECT_EQ(of(zfp, {64, 64, 64}), (std::array{4, 4, 4}));
  // 4 x 4 x 4 blocks on a box of three layers would be a quarter empty, so flat 4 x 4 blocks are used
  EXPECT_EQ(of(zfp, {64, 64, 3}), (std::array{4, 4, 1}));
  EXPECT_EQ(of(zfp, {3, 64, 64}), (std::array{1, 4, 4}));
  EXPECT_EQ(of(zfp, {3, 64, 3}), (std::array{1, 4, 1}));
  EXPECT_EQ(of(floats, {64, 64, 64}), (std::array{16, 1, 1}));
  EXPECT_EQ(of(floats, {3, 64, 64}), (std::array{1, 16, 1}));
  // 3 layers of 512^2 doubles at 32 bits: square blocks take 32 bits per value; cubes would take 43.
  EXPECT_EQ(zfp.bytes_of(DType::f64, {512, 512, 3}, zfp.block_of({512, 512, 3}, false, false)), 512u * 512 * 3 * 4);
  EXPECT_EQ(zfp.bytes_of(DType::c128, {512, 512, 3}, zfp.block_of({512, 512, 3}, false, false)), 512u * 512 * 3 * 8);
}

INSTANTIATE_TEST_SUITE_P(Backends, BlockCodings, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace slipstream
