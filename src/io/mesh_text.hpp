#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace slipstream {

/// Takes a text apart into lines, counted from 1; a backslash at the end of a line joins the next one to it.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}
  /// The next line without its end and without a comment that starts with `comment` ('\0': none); false at the end.
  bool next(std::string_view& line, char comment = '\0');
  std::int64_t number() const { return first_; }

 private:
  std::string_view one();
  std::string_view rest_;
  std::string joined_;
  std::int64_t read_ = 0, first_ = 0;
};

/// Cuts the next word off the front; empty where there is none.
std::string_view next_word(std::string_view& line);
std::string_view trimmed(std::string_view text);
/// The whole word as a number (nan and inf included); nothing where it is none.
std::optional<double> to_number(std::string_view word);
std::optional<std::int64_t> to_integer(std::string_view word);

}  // namespace slipstream
