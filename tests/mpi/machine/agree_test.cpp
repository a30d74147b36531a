#include "machine/agree.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

class Agree : public testing::Test {
 protected:
  Communicator comm = Communicator::world();
  int middle = comm.size() / 2;
  bool last_half = comm.rank() >= middle;
};

TEST_F(Agree, NoFailureIsNone) {
  EXPECT_EQ(first_failure(comm, ""), "");
  EXPECT_NO_THROW(agree(comm, ""));
  EXPECT_NO_THROW(on_all_ranks(comm, [] {}));
}

TEST_F(Agree, TheLowestRankThatFailedIsHeardOnAll) {
  const std::string mine = last_half ? "no room for " + std::to_string(comm.rank()) : "";
  const std::string name = comm.size() > 1 ? "rank " + std::to_string(middle) + ": " : "";
  const std::string first = first_failure(comm, mine);
  EXPECT_EQ(first, name + "no room for " + std::to_string(middle));
  EXPECT_EQ(failure_of([&] { agree(comm, mine); }), first);
}

TEST_F(Agree, NoRankIsNamedWhereAllSayTheSame) { EXPECT_EQ(first_failure(comm, "no such file"), "no such file"); }

TEST_F(Agree, WorkThatThrowsOnSomeRanksEndsOnAll) {
  const auto work = [&] {
    if (last_half) throw std::runtime_error("broken");
  };
  EXPECT_NE(failure_of([&] { on_all_ranks(comm, work); }).find("broken"), std::string::npos);
  EXPECT_EQ(failure_of([&] {
              on_rank_zero(comm, [&] {
                if (comm.rank() == 0) throw Error("no folder");
                ADD_FAILURE() << "done on rank " << comm.rank();
              });
            }),
            "no folder");
}

TEST_F(Agree, WhoFailedThrowsWhatItCaughtAndOthersSayWhatCouldNotBeDone) {
  const auto work = [&] {
    if (last_half) throw OutOfMemory("no room");
  };
  try {
    on_all_ranks(comm, "nothing could be made", work);
    ADD_FAILURE() << "not thrown";
  } catch (const OutOfMemory& error) {
    EXPECT_TRUE(last_half) << error.what();
    EXPECT_STREQ(error.what(), "no room");
  } catch (const Error& error) {
    EXPECT_FALSE(last_half);
    EXPECT_EQ(error.what(), "nothing could be made: rank " + std::to_string(middle) + ": no room");
  }
}

TEST_F(Agree, AFailureWithoutWordsIsOne) {
  EXPECT_NE(failure_of([] { throw Error(""); }), "");
  std::string failure;
  attempt(failure, [] { throw Error("first"); });
  attempt(failure, [] { throw Error("second"); });
  EXPECT_EQ(failure, "first");
}

}  // namespace
}  // namespace slipstream
