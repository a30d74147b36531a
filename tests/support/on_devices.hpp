#pragma once
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include <slipstream/communicator.hpp>

#include "support/machine_rig.hpp"

namespace slipstream {

/// A test parametrised by backend and number of devices per rank.
class OnDevices : public testing::TestWithParam<std::tuple<Backend, int>> {
 public:
  /// Test name from the backend and the number of devices per rank, such as host_by_2.
  static std::string name(const testing::TestParamInfo<std::tuple<Backend, int>>& info) {
    return to_string(std::get<0>(info.param)) + "_by_" + std::to_string(std::get<1>(info.param));
  }

 protected:
  void SetUp() override {
    if (const auto why = unavailable(std::get<0>(GetParam()), std::get<1>(GetParam())); !why.empty())
      GTEST_SKIP() << why;
  }
  Machine machine() const { return machine_here(std::get<0>(GetParam()), std::get<1>(GetParam())); }
  Communicator comm = Communicator::world();
};

}  // namespace slipstream
