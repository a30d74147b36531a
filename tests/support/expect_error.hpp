#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <ostream>
#include <source_location>
#include <string>

#include <slipstream/error.hpp>

namespace slipstream {

inline void PrintTo(ErrorCode code, std::ostream* out) { *out << to_string(code); }

/// The error that a call throws, if any.
inline std::optional<Error> error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return Error(error);
  }
  return {};
}

/// Checks that an error has this code and these facts (others are ignored), and a single line of text.
inline void expect_error(const std::optional<Error>& error, ErrorCode code, const Facts& facts = {},
                         const std::source_location& where = std::source_location::current()) {
  const testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "expected here");
  ASSERT_TRUE(error) << "nothing was thrown";
  const std::string text = error->what();
  EXPECT_EQ(error->code(), code) << text;
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  std::string said;
  for (const Fact& fact : error->facts()) said += "\n  " + fact.name + " = " + fact.value;
  for (const Fact& fact : facts)
    EXPECT_EQ(std::count(error->facts().begin(), error->facts().end(), fact), 1)
        << fact.name << " = " << fact.value << " is no fact of: " << text << said;
}

inline void expect_error(const std::function<void()>& call, ErrorCode code, const Facts& facts = {},
                         const std::source_location& where = std::source_location::current()) {
  expect_error(error_of(call), code, facts, where);
}

}  // namespace slipstream
