#pragma once
// Each allocation of a set-up that ranks do together, failing in turn on the last rank.
#include <gtest/gtest.h>

#include <string>

#include <slipstream/communicator.hpp>

#include "device/faults.hpp"
#include "machine_rig.hpp"

namespace slipstream {

/// How often `make` was tried with an allocation that fails. Each time it must fail on all ranks, for that reason, or
/// be made on all without what it did not get: `use` follows then.
template <class Make, class Use>
int each_allocation_fails(const Communicator& comm, const Make& make, const Use& use) {
  for (int passes = 0;; ++passes) {
    if (comm.rank() == comm.size() - 1) faults::arm(faults::Step::allocation, passes);
    const std::string problem = error_of(make);
    const bool reached = comm.all(!faults::armed(faults::Step::allocation));
    faults::arm(faults::Step::allocation, -1);
    EXPECT_EQ(comm.all(problem.empty()), problem.empty()) << problem;
    if (::testing::Test::HasFailure()) return passes;
    if (!reached) {
      EXPECT_EQ(problem, "");
      return passes;
    }
    if (problem.empty()) {
      use();
    } else {
      EXPECT_NE(problem.find("a test makes this step fail"), std::string::npos) << problem;
    }
  }
}

}  // namespace slipstream
