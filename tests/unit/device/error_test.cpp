#include <gtest/gtest.h>

#include <limits>

#include "support/expect_error.hpp"

namespace slipstream {
namespace {

TEST(Errors, HaveACodeAndSortedFacts) {
  const Error error(ErrorCode::io, "no disk", {{"needed", 12}, {"file", "a.h5"}, {"available", -3}});
  EXPECT_EQ(error.code(), ErrorCode::io);
  EXPECT_STREQ(error.what(), "no disk");
  EXPECT_EQ(error.facts(), (Facts{{"available", "-3"}, {"file", "a.h5"}, {"needed", "12"}}));
  EXPECT_EQ(error.fact("file"), "a.h5");
  EXPECT_EQ(error.fact("folder"), "");
}

TEST(Errors, TellNumbersInFull) {
  EXPECT_EQ(Fact("x", 0.1).value, "0.1");
  EXPECT_EQ(Fact("x", 1e300).value, "1e+300");
  EXPECT_EQ(Fact("x", std::numeric_limits<double>::infinity()).value, "inf");
  EXPECT_EQ(Fact("x", std::numeric_limits<std::uint64_t>::max()).value, "18446744073709551615");
}

TEST(Errors, KeepTheirFactsWhereMoreAreJoined) {
  EXPECT_EQ(joined({{"rank", 1}}, {{"rank", 2}, {"file", "a"}}), (Facts{{"rank", 1}, {"file", "a"}}));
}

TEST(Errors, HaveTheNamesOfTheirCodes) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code)
    for (int other = 0; other < code; ++other)
      EXPECT_STRNE(to_string(static_cast<ErrorCode>(code)), to_string(static_cast<ErrorCode>(other)));
  EXPECT_STREQ(to_string(ErrorCode::invalid_argument), "invalid_argument");
  EXPECT_STREQ(to_string(ErrorCode::internal), "internal");
}

TEST(Errors, OfAKindHaveItsCode) {
  EXPECT_EQ(Timeout("late").code(), ErrorCode::timeout);
  EXPECT_EQ(OutOfMemory("full").code(), ErrorCode::out_of_memory);
}

TEST(Errors, AreRequiredConditions) {
  EXPECT_NO_THROW(require(true, ErrorCode::io, "a"));
  expect_error([] { require(false, ErrorCode::io, "a", {{"file", "b"}}); }, ErrorCode::io, {{"file", "b"}});
  expect_error([] { require(false, "a", {{"option", "b"}}); }, ErrorCode::invalid_argument, {{"option", "b"}});
}

}  // namespace
}  // namespace slipstream
