#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "machine/parting.hpp"

namespace slipstream {
namespace {

TEST(Parting, TellsTheGreatestOfWhatRanksSay) {
  const Communicator comm = Communicator::world();
  for (int greatest = 0; greatest < comm.size(); ++greatest) {
    Parting parting(comm, "a test");
    EXPECT_EQ(parting.greatest(comm.rank() == greatest ? 7 : comm.rank() % 7, 60), 7);
    EXPECT_TRUE(parting.part(60));
  }
}

TEST(Parting, KeepsNobodyWhereTheOthersDoNotCome) {
  const Communicator comm = Communicator::world();
  if (comm.size() < 2) GTEST_SKIP() << "one rank has nobody to wait for";
  std::chrono::steady_clock::time_point start;
  {
    Parting parting(comm, "a test");
    comm.barrier();
    start = std::chrono::steady_clock::now();
    if (comm.rank() == 0) {
      EXPECT_EQ(parting.greatest(1, 0.1), std::nullopt);
    } else {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      parting.greatest(0, 0.1);
      parting.part_alone();
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (comm.rank() == 0) {
    EXPECT_LT(seconds, 1);
  }
  comm.barrier();
}

}  // namespace
}  // namespace slipstream
