#include "machine/agree.hpp"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

#include <slipstream/error.hpp>

#include "support/expect_error.hpp"

namespace slipstream {
namespace {

class Agree : public testing::Test {
 protected:
  Communicator comm = Communicator::world();
  int middle = comm.size() / 2;
  bool last_half = comm.rank() >= middle;
};

TEST_F(Agree, NoFailureIsNone) {
  EXPECT_FALSE(first_failure(comm, Problem{}));
  EXPECT_EQ(first_failure(comm, std::string{}), "");
  EXPECT_NO_THROW(agree(comm, {}));
  EXPECT_NO_THROW(on_all_ranks(comm, [] {}));
}

TEST_F(Agree, TheLowestRankThatFailedIsHeardOnAll) {
  const std::string words = "no room for " + std::to_string(comm.rank()) + "\n12 3";
  const Facts facts{{"needed", comm.rank()}, {"a name", ""}};
  Problem mine;
  if (last_half) mine = Error(ErrorCode::out_of_memory, words, facts);
  const Problem first = first_failure(comm, mine);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->code(), ErrorCode::out_of_memory);
  EXPECT_EQ(first->fact("needed"), std::to_string(middle));
  EXPECT_EQ(first->fact("rank"), comm.size() > 1 ? std::to_string(middle) : "");
  EXPECT_EQ(first->facts().size(), comm.size() > 1 ? 3u : 2u);
  const std::string name = comm.size() > 1 ? "rank " + std::to_string(middle) + ": " : "";
  EXPECT_EQ(first->what(), name + "no room for " + std::to_string(middle) + "\n12 3");
  const Problem thrown = failure_of([&] { agree(comm, mine); });
  ASSERT_TRUE(thrown);
  EXPECT_EQ(thrown->code(), first->code());
  EXPECT_EQ(thrown->facts(), first->facts());
}

TEST_F(Agree, ARankThatAFailureNamesIsKept) {
  Problem mine;
  if (last_half) mine = Error(ErrorCode::mismatch, "rank 77 differs on " + std::to_string(comm.rank()), {{"rank", 77}});
  EXPECT_EQ(first_failure(comm, mine)->facts(), (Facts{{"rank", 77}}));
}

TEST_F(Agree, NoRankIsNamedWhereAllSayTheSame) {
  const Problem first = first_failure(comm, Error(ErrorCode::not_found, "no such file", {{"file", "a"}}));
  EXPECT_EQ(text_of(first), "no such file");
  EXPECT_EQ(first->facts(), (Facts{{"file", "a"}}));
  EXPECT_EQ(first_failure(comm, std::string("no such library")), "no such library");
}

TEST_F(Agree, WorkThatThrowsOnSomeRanksEndsOnAll) {
  const auto work = [&] {
    if (last_half) throw std::runtime_error("broken " + std::to_string(comm.rank()));
  };
  const Facts where = comm.size() > 1 ? Facts{{"rank", middle}} : Facts{};
  expect_error([&] { on_all_ranks(comm, work); }, ErrorCode::internal, where);
  expect_error(
      [&] {
        on_rank_zero(comm, [&] {
          if (comm.rank() == 0) throw Error(ErrorCode::io, "no folder", {{"folder", "f"}});
          ADD_FAILURE() << "done on rank " << comm.rank();
        });
      },
      ErrorCode::io, {{"folder", "f"}});
}

TEST_F(Agree, WhoFailedThrowsWhatItCaughtAndOthersSayWhatCouldNotBeDone) {
  const auto work = [&] {
    if (last_half) throw OutOfMemory("no room", {{"needed", 9}});
  };
  try {
    on_all_ranks(comm, "nothing could be made", work);
    ADD_FAILURE() << "not thrown";
  } catch (const OutOfMemory& error) {
    EXPECT_TRUE(last_half) << error.what();
    EXPECT_STREQ(error.what(), "no room");
  } catch (const Error& error) {
    EXPECT_FALSE(last_half);
    expect_error(Error(error), ErrorCode::out_of_memory, {{"needed", 9}, {"rank", middle}});
    EXPECT_EQ(error.what(), "nothing could be made: rank " + std::to_string(middle) + ": no room");
  }
}

TEST_F(Agree, AFailureWithoutWordsIsOne) {
  EXPECT_NE(text_of(failure_of([] { throw Error(ErrorCode::io, ""); })), "");
  expect_error(failure_of([] { throw std::bad_alloc(); }), ErrorCode::out_of_memory);
  Problem failure;
  attempt(failure, [] { throw Error(ErrorCode::io, "first"); });
  attempt(failure, [] { throw Error(ErrorCode::io, "second"); });
  EXPECT_EQ(text_of(failure), "first");
}

}  // namespace
}  // namespace slipstream
