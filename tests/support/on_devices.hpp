#pragma once
#include <gtest/gtest.h>

#include <tuple>

#include <slipstream/communicator.hpp>

#include "support/machine_rig.hpp"

namespace slipstream {

/// A test by the backend and the number of devices of each rank.
class OnDevices : public testing::TestWithParam<std::tuple<Backend, int>> {
 protected:
  void SetUp() override {
    if (const auto why = unavailable(std::get<0>(GetParam()), std::get<1>(GetParam())); !why.empty())
      GTEST_SKIP() << why;
  }
  Machine machine() const { return machine_here(std::get<0>(GetParam()), std::get<1>(GetParam())); }
  Communicator comm = Communicator::world();
};

}  // namespace slipstream
