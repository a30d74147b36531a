#include "support/collision_on_device.hpp"

namespace slipstream::lbm {
namespace {

class CollisionInF32 : public testing::TestWithParam<Backend> {};

INSTANTIATE_TEST_SUITE_P(Backends, CollisionInF32, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(CollisionInF32, DoesInAKernelWhatTheCollisionDoes) {
  each_lattice([](auto lattice) { check_kernels<decltype(lattice), float>(GetParam()); });
}

}  // namespace
}  // namespace slipstream::lbm
