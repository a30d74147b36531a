#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include <slipstream/error.hpp>

namespace slipstream {

/// What a call says that throws; empty where it does not.
inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// An error is one line and holds what is asked for.
inline void expect_words(const std::string& text, const std::vector<std::string>& words) {
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' in: " << text;
}

}  // namespace slipstream
