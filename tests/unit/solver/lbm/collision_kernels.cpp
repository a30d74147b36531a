#include "support/collision_on_device.hpp"

namespace slipstream::lbm {
inline namespace collision_kernels {

class CollisionInKernels : public testing::TestWithParam<Backend> {};

INSTANTIATE_TEST_SUITE_P(Backends, CollisionInKernels, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(CollisionInKernels, DoInF32WhatTheCollisionDoes) {
  each_lattice([](auto lattice) { check_kernels<decltype(lattice), float>(GetParam()); });
}

TEST_P(CollisionInKernels, DoInF64WhatTheCollisionDoes) {
  each_lattice([](auto lattice) { check_kernels<decltype(lattice), double>(GetParam()); });
}

}  // namespace collision_kernels
}  // namespace slipstream::lbm
