#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

#include <slipstream/error.hpp>

#include "machine/private_communicator.hpp"

namespace slipstream {
namespace {

TEST(PrivateCommunicator, TellsTheGreatestOfWhatRanksSay) {
  const Communicator comm = Communicator::world();
  for (int greatest = 0; greatest < comm.size(); ++greatest) {
    PrivateCommunicator own(comm, "a test");
    EXPECT_EQ(own.greatest(comm.rank() == greatest ? 7 : comm.rank() % 7, 60), 7);
    EXPECT_TRUE(own.leave(60));
  }
}

TEST(PrivateCommunicator, KeepsNobodyWhereTheOthersDoNotCome) {
  const Communicator comm = Communicator::world();
  if (comm.size() < 2) GTEST_SKIP() << "one rank has nobody to wait for";
  std::chrono::steady_clock::time_point start;
  {
    PrivateCommunicator own(comm, "a test");
    comm.barrier();
    start = std::chrono::steady_clock::now();
    if (comm.rank() == 0) {
      EXPECT_EQ(own.greatest(1, 0.1), std::nullopt);
    } else {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      own.greatest(0, 0.1);
      own.leave_alone();
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (comm.rank() == 0) {
    EXPECT_LT(seconds, 1);
  }
  comm.barrier();
}

TEST(PrivateCommunicator, SharesTwoDuplicatesAmongThePartsOfAnObject) {
  const Communicator comm = Communicator::world(), object = sharing(comm);
  PrivateCommunicator first(object, "a test"), second(sharing(object), "a test");
  PrivateCommunicator question(object, "a test", PrivateCommunicator::Purpose::questions),
      alone(unshared(object), "a test");
  EXPECT_EQ(first.mpi(), second.mpi());
  EXPECT_NE(first.mpi(), question.mpi());
  EXPECT_NE(first.mpi(), alone.mpi());
  const int tag = first.take_tags(3);
  EXPECT_GE(tag, 1) << "tag 0 is the rendezvous'";
  EXPECT_EQ(second.take_tags(2), tag + 3);
  EXPECT_EQ(first.take_tags(1), tag + 5);
  EXPECT_EQ(question.take_tags(1), 1);
  EXPECT_THROW(first.take_tags(std::numeric_limits<int>::max()), Error);
  EXPECT_TRUE(first.leave(60));
  EXPECT_EQ(second.greatest(comm.rank(), 60), comm.size() - 1);
}

TEST(PrivateCommunicator, EndsQuestionsOfAllPartsWhereOneHasNoAnswer) {
  const Communicator comm = Communicator::world(), object = sharing(comm);
  if (comm.size() < 2) GTEST_SKIP() << "one rank has nobody to wait for";
  PrivateCommunicator messages(object, "a test");
  PrivateCommunicator first(object, "a test", PrivateCommunicator::Purpose::questions),
      second(object, "a test", PrivateCommunicator::Purpose::questions);
  if (comm.rank() == 0) {
    EXPECT_EQ(first.greatest(1, 0.1), std::nullopt);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(second.greatest(1, 60), std::nullopt);
    EXPECT_FALSE(second.leave(60));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  } else {
    first.leave_alone();
  }
  EXPECT_EQ(messages.greatest(comm.rank(), 60), comm.size() - 1);
  EXPECT_TRUE(messages.leave(60));
}

}  // namespace
}  // namespace slipstream
