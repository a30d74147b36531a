#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "machine/parting.hpp"

namespace slipstream {
namespace {

TEST(Parting, TellsWhetherSomethingHoldsOnAnyRank) {
  const Communicator comm = Communicator::world();
  for (int holder = 0; holder <= comm.size(); ++holder) {
    Parting parting(comm, "a test");
    EXPECT_EQ(parting.on_any_rank(comm.rank() == holder, 60), holder < comm.size());
    EXPECT_TRUE(parting.part(60));
  }
}

TEST(Parting, KeepsNobodyWhereTheOthersDoNotCome) {
  const Communicator comm = Communicator::world();
  if (comm.size() < 2) GTEST_SKIP() << "one rank has nobody to wait for";
  const auto start = std::chrono::steady_clock::now();
  {
    Parting parting(comm, "a test");
    if (comm.rank() == 0) {
      EXPECT_EQ(parting.on_any_rank(true, 0.1), std::nullopt);
    } else {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      parting.on_any_rank(false, 0.1);
      parting.part(0);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (comm.rank() == 0) EXPECT_LT(seconds, 1);
  comm.barrier();
}

}  // namespace
}  // namespace slipstream
