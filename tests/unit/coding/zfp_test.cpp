// Compares our zfp kernels with the zfp library: equal bytes, and equal values decoded from them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "support/coded_box.hpp"
#include "support/machine_rig.hpp"

#ifdef SLIPSTREAM_ZFP
#include <zfp.h>
#endif

namespace slipstream {
namespace {

#ifdef SLIPSTREAM_ZFP

/// An array of one to three dimensions, coded by the library in blocks of a fixed number of bits.
template <class T>
class ByLibrary {
 public:
  ByLibrary(const Extent& box, int dimensions, int bits) : box_(box), dimensions_(dimensions) {
    stream_ = zfp_stream_open(nullptr);
    const double rate = static_cast<double>(bits) / (1 << 2 * dimensions);
    zfp_stream_set_rate(stream_, rate, type, static_cast<uint>(dimensions), zfp_false);
  }
  ~ByLibrary() { zfp_stream_close(stream_); }
  ByLibrary(const ByLibrary&) = delete;
  ByLibrary& operator=(const ByLibrary&) = delete;

  std::vector<std::uint64_t> encoded(std::vector<T> values, std::size_t words) {
    std::vector<std::uint64_t> codes(words + 64);
    move(values, codes, [&](zfp_field* field) { zfp_compress(stream_, field); });
    codes.resize(words);
    return codes;
  }
  std::vector<T> decoded(std::vector<std::uint64_t> codes) {
    std::vector<T> values(static_cast<std::size_t>(volume(box_)));
    codes.resize(codes.size() + 64);
    move(values, codes, [&](zfp_field* field) { zfp_decompress(stream_, field); });
    return values;
  }

 private:
  static constexpr zfp_type type = sizeof(T) == 4 ? zfp_type_float : zfp_type_double;

  template <class F>
  void move(std::vector<T>& values, std::vector<std::uint64_t>& codes, const F& f) {
    bitstream* const bits = stream_open(codes.data(), codes.size() * 8);
    zfp_stream_set_bit_stream(stream_, bits);
    zfp_stream_rewind(stream_);
    const auto size = [&](std::size_t axis) { return static_cast<std::size_t>(box_[axis]); };
    zfp_field* const field = dimensions_ == 1   ? zfp_field_1d(values.data(), type, size(0))
                             : dimensions_ == 2 ? zfp_field_2d(values.data(), type, size(0), size(1))
                                                : zfp_field_3d(values.data(), type, size(0), size(1), size(2));
    f(field);
    zfp_field_free(field);
    stream_close(bits);
  }

  Extent box_;
  int dimensions_;
  zfp_stream* stream_;
};

/// Kinds of numbers: typical simulation data and extreme cases.
enum class Kind { smooth, uniform, wide, sparse, constant };

template <class T>
std::vector<T> numbers(Kind kind, const Extent& box, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::uniform_int_distribution<int> exponent(sizeof(T) == 4 ? -80 : -800, sizeof(T) == 4 ? 126 : 1000);
  std::vector<T> values;
  for (std::int64_t z = 0; z < box[2]; ++z)
    for (std::int64_t y = 0; y < box[1]; ++y)
      for (std::int64_t x = 0; x < box[0]; ++x) {
        double value = unit(random);
        if (kind == Kind::smooth)
          value = std::sin(0.1 * static_cast<double>(x + 2 * y)) + 1e-3 * static_cast<double>(z) + 1e-9 * value;
        if (kind == Kind::wide) value = std::ldexp(value, exponent(random));
        if (kind == Kind::sparse) value = random() % 7 ? 0 : value;
        if (kind == Kind::constant) value = -3.25;
        values.push_back(static_cast<T>(value));
      }
  return values;
}

template <class T>
bool equal_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
void compare(Backend backend) {
  unsigned seed = 1;
  for (const int block : {4, 16, 64})
    for (const int rate : {1, 3, 8, 12, 16, 20, 24, 31, sizeof(T) == 4 ? 32 : 48}) {
      Coding coding{Coding::Kind::zfp};
      coding.rate = rate;
      coding.block = block;
      const Wire wire = wire_of(coding, dtype_of<T>(), "u");
      const int dimensions = block == 4 ? 1 : block == 16 ? 2 : 3;
      for (const Extent& cells : {Extent{17, 9, 6}, Extent{4, 4, 4}, Extent{1, 3, 2}, Extent{30, 2, 7}}) {
        Extent box = cells;
        for (std::size_t a = static_cast<std::size_t>(dimensions); a < 3; ++a) box[a] = 1;
        CodedBox<T> ours({backend, 0}, box, wire);
        // skips blocks that lie along other axes than those of the reference library zfp
        if (ours.block().dimensions() != dimensions || ours.block().extent[0] == 1) continue;
        ByLibrary<T> theirs(box, dimensions, 8 * code_bytes(wire, ours.block()));
        for (const Kind kind : {Kind::smooth, Kind::uniform, Kind::wide, Kind::sparse, Kind::constant}) {
          SCOPED_TRACE(testing::Message() << "rate " << rate << " blocks of " << block << " kind "
                                          << static_cast<int>(kind) << " box " << to_string(box));
          const std::vector<T> values = numbers<T>(kind, box, seed++);
          const auto codes = ours.encoded(values);
          ASSERT_EQ(codes, theirs.encoded(values, codes.size()));
          const auto back = theirs.decoded(codes);
          ASSERT_TRUE(equal_bits(ours.decoded(codes), back));
          ASSERT_FALSE(ours.lost());
          // Random bits, which no encoder produces, must decode identically, too.
          std::vector<std::uint64_t> noise = codes;
          std::mt19937_64 random(seed);
          // Limits exponents of random codes to the range in which the reference library zfp scales without loss.
          constexpr std::uint64_t least = sizeof(T) == 4 ? 64 : 512;
          for (auto& word : noise) word = (random() & ~((4 * least - 1) << 1)) | (least + random() % least) << 1 | 1;
          ASSERT_TRUE(equal_bits(ours.decoded(noise), theirs.decoded(noise)));
        }
      }
    }
}

class ZfpCoding : public testing::TestWithParam<Backend> {};

TEST_P(ZfpCoding, WritesAndReadsTheBytesOfZfpInSinglePrecision) { compare<float>(GetParam()); }
TEST_P(ZfpCoding, WritesAndReadsTheBytesOfZfpInDoublePrecision) { compare<double>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Backends, ZfpCoding, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

#else

TEST(ZfpCoding, WritesAndReadsTheBytesOfZfp) { GTEST_SKIP() << "zfp is missing: install libzfp-dev"; }

#endif

}  // namespace
}  // namespace slipstream
