#include "support/groups_rig.hpp"

namespace slipstream::lbm {
inline namespace groups_f32_kernels {

class GroupsOfTwo : public testing::TestWithParam<Backend> {};

TEST_P(GroupsOfTwo, LeaveTheBitsOfSingleCells) {
  compare_all<D3Q19, StoredF32>(GetParam());
  compare_all<D2Q9, StoredF32>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Backends, GroupsOfTwo, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace groups_f32_kernels
}  // namespace slipstream::lbm
