#include "support/groups_rig.hpp"

namespace slipstream::lbm {
inline namespace groups_f16_kernels {

class GroupsOfFour : public testing::TestWithParam<Backend> {};

TEST_P(GroupsOfFour, LeaveTheBitsOfSingleCells) {
  compare_all<D3Q19, RawF16>(GetParam());
  compare<D3Q27, RawF16, AtSolids::none, Sides::wrap, false>(GetParam(), {{0, 0, 0}, extent}, Form::apart);
  compare<D3Q27, RawF16, AtSolids::none, Sides::wrap, true>(GetParam(), {{0, 0, 0}, extent}, Form::turned);
}

TEST_P(GroupsOfFour, AreLeftAloneWhereRowsAreNotMadeOfThem) {
  using Quads = StreamCollideGroups<D2Q9, RawF16, AtSolids::none, Sides::open, false, Trt<D2Q9, float, RawF16::unit>>;
  const BlockShape shape = shape_of(D2Q9::q);
  const Buffer<Half> array({GetParam(), 0}, static_cast<std::size_t>(shape.elements));
  BlockArrays b;
  b.populations = b.populations_out = place(array, shape);
  EXPECT_TRUE(in_groups<Quads>({{0, 0, 0}, extent}, b));
  EXPECT_FALSE(in_groups<Quads>({{1, 0, 0}, extent}, b));
  EXPECT_FALSE(in_groups<Quads>({{0, 0, 0}, {11, 5, 4}}, b));
  b.populations.origin += sizeof(Half);
  EXPECT_FALSE(in_groups<Quads>({{0, 0, 0}, extent}, b));
  b.populations.origin -= sizeof(Half);
  b.populations_out.shape.stride[1] += 2;
  EXPECT_FALSE(in_groups<Quads>({{0, 0, 0}, extent}, b));
}

INSTANTIATE_TEST_SUITE_P(Backends, GroupsOfFour, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace groups_f16_kernels
}  // namespace slipstream::lbm
