#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

#include <slipstream/error.hpp>

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

TEST(Parting, SharesTwoDuplicatesAmongThePartsOfAnObject) {
  const Communicator comm = Communicator::world(), object = sharing(comm);
  Parting first(object, "a test"), second(sharing(object), "a test");
  Parting question(object, "a test", Parting::Purpose::questions), alone(unshared(object), "a test");
  EXPECT_EQ(first.mpi(), second.mpi());
  EXPECT_NE(first.mpi(), question.mpi());
  EXPECT_NE(first.mpi(), alone.mpi());
  const int tag = first.take_tags(3);
  EXPECT_GE(tag, 1) << "tag 0 is the rendezvous'";
  EXPECT_EQ(second.take_tags(2), tag + 3);
  EXPECT_EQ(first.take_tags(1), tag + 5);
  EXPECT_EQ(question.take_tags(1), 1);
  EXPECT_THROW(first.take_tags(std::numeric_limits<int>::max()), Error);
  EXPECT_TRUE(first.part(60));
  EXPECT_EQ(second.greatest(comm.rank(), 60), comm.size() - 1);
}

TEST(Parting, EndsQuestionsOfAllPartsWhereOneHasNoAnswer) {
  const Communicator comm = Communicator::world(), object = sharing(comm);
  if (comm.size() < 2) GTEST_SKIP() << "one rank has nobody to wait for";
  Parting messages(object, "a test");
  Parting first(object, "a test", Parting::Purpose::questions), second(object, "a test", Parting::Purpose::questions);
  if (comm.rank() == 0) {
    EXPECT_EQ(first.greatest(1, 0.1), std::nullopt);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(second.greatest(1, 60), std::nullopt);
    EXPECT_FALSE(second.part(60));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  } else {
    first.part_alone();
  }
  EXPECT_EQ(messages.greatest(comm.rank(), 60), comm.size() - 1);
  EXPECT_TRUE(messages.part(60));
}

}  // namespace
}  // namespace slipstream
