#pragma once
// Makes each allocation of a collective set-up fail in turn on the last rank.
#include <gtest/gtest.h>

#include <slipstream/communicator.hpp>

#include "device/faults.hpp"
#include "expect_error.hpp"
#include "machine_rig.hpp"

namespace slipstream {

/// Tries `make` with each allocation failing in turn, and returns the number of tries. Each time it must either fail on
/// all ranks for that reason, or succeed on all without the memory; then `use` is called.
template <class Make, class Use>
int each_allocation_fails(const Communicator& comm, const Make& make, const Use& use) {
  for (int passes = 0;; ++passes) {
    if (comm.rank() == comm.size() - 1) faults::arm(faults::Step::allocation, passes);
    const auto problem = error_of(make);
    const bool reached = comm.all(!faults::armed(faults::Step::allocation));
    faults::arm(faults::Step::allocation, -1);
    EXPECT_EQ(comm.all(!problem), !problem) << (problem ? problem->what() : "");
    if (::testing::Test::HasFailure()) return passes;
    if (!reached) {
      EXPECT_FALSE(problem);
      return passes;
    }
    if (!problem) {
      use();
    } else {
      expect_error(problem, ErrorCode::out_of_memory, {{"fault", static_cast<int>(faults::Step::allocation)}});
    }
  }
}

}  // namespace slipstream
