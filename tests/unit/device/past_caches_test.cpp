// Nontemporal stores on the host give the same bits as normal stores.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "device/streaming_stores.hpp"
#include "solver/lbm/lattice/fields.hpp"
#include "solver/lbm/lattice/kernels.hpp"

namespace slipstream::lbm {
namespace {

TEST(StorePastCaches, CopiesAsManyAsItIsToldFromAnyPlaceToAnyPlace) {
  std::vector<std::uint16_t> from(300);
  std::iota(from.begin(), from.end(), std::uint16_t{1});
  for (const std::size_t count : {0, 1, 5, 31, 32, 33, 64, 100, 200})
    for (std::size_t begin = 0; begin < 64; begin += 3) {
      std::vector<std::uint16_t> to(300, 0), right(300, 0);
      store_past_caches(to.data() + begin, from.data() + begin % 7, count);
      streaming_stores_done();
      std::copy_n(from.data() + begin % 7, count, right.data() + begin);
      EXPECT_EQ(to, right) << count << " from " << begin;
    }
}

class PastCaches : public testing::TestWithParam<std::tuple<Lattice, DType>> {};

/// Output of a lattice Boltzmann step on a block with ghost cells, random populations and, if `solids`, solid cells.
std::vector<std::byte> step(const Extent& extent, const Box& box, bool past_caches, bool solids) {
  const auto& [lattice, precision] = PastCaches::GetParam();
  FieldOptions options;
  options.type = precision;
  options.ghost = {1, 1, lattice == Lattice::d2q9 ? 0 : 1};
  options.alignment = 4;
  FieldOptions flag_options = options;
  flag_options.type = DType::u8;
  with_lattice(lattice, [&]<class L>(L) { options.components = L::q; });
  const BlockShape shape = block_shape(extent, options), flag_shape = block_shape(extent, flag_options);
  std::mt19937 random(5);
  std::vector<std::byte> from(shape.elements * size_of(precision)), to(from.size(), std::byte{0});
  // Random populations, without NaN and infinities: the highest byte, with sign and exponent bits, is 0.
  const std::size_t size = size_of(precision);
  for (std::size_t n = 0; n < from.size(); ++n)
    from[n] = n % size == size - 1 ? std::byte{0} : std::byte(random() % 60);
  std::vector<std::uint8_t> marks(flag_shape.elements);
  for (std::uint8_t& mark : marks) mark = solids && random() % 3 == 0;
  BlockArrays b;
  b.populations = {from.data() + shape.origin * size, shape, {}};
  b.populations_out = {to.data() + shape.origin * size, shape, {}};
  b.flags = {reinterpret_cast<std::byte*>(marks.data() + flag_shape.origin), flag_shape, {}};
  b.has_solids = solids;
  b.past_caches = past_caches;
  Model model;
  model.viscosity = 0.05;
  Stream stream({Backend::host, 0});
  Options o;
  o.lattice = lattice;
  o.precision = precision;
  kernels(o).stream_collide(stream, box, b, Layout::soa, model);
  stream.synchronize();
  return to;
}

TEST_P(PastCaches, AStepLeavesTheSameBits) {
  const bool flat = std::get<0>(GetParam()) == Lattice::d2q9;
  for (const std::int64_t length : {7, 64, 333}) {
    const Extent extent{length, 3, flat ? 1 : 2};
    const Box whole{{0, 0, 0}, extent}, part{{3, 1, 0}, {length - 2, 3, 1}};
    for (const Box& box : {whole, part})
      for (const bool solids : {false, true}) {
        const auto plain = step(extent, box, false, solids), streamed = step(extent, box, true, solids);
        EXPECT_NE(plain, std::vector<std::byte>(plain.size(), std::byte{0}));
        EXPECT_EQ(plain, streamed) << length << (solids ? " with solid cells" : "");
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Lattices, PastCaches,
                         testing::Combine(testing::Values(Lattice::d2q9, Lattice::d3q19, Lattice::d3q27),
                                          testing::Values(DType::f16, DType::f32, DType::f64)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" + to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace slipstream::lbm
