#include "support/collision_on_device.hpp"

namespace slipstream::lbm {
namespace {

class CollisionInF64 : public testing::TestWithParam<Backend> {};

INSTANTIATE_TEST_SUITE_P(Backends, CollisionInF64, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(CollisionInF64, DoesInAKernelWhatTheCollisionDoes) {
  each_lattice([](auto lattice) { check_kernels<decltype(lattice), double>(GetParam()); });
}

}  // namespace
}  // namespace slipstream::lbm
