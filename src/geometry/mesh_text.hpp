#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <slipstream/error.hpp>

namespace slipstream {

/// Splits the text of a mesh file into lines, counted from 1. Handles variants for all formats: lines end with LF, CR
/// LF or CR, and a leading byte-order mark is dropped.
class LineReader {
 public:
  /// Throws Error for UTF-16 or UTF-32. `path` is for errors and must outlive the reader.
  LineReader(std::string_view text, const std::string& path);

  /// Reads the next line without its line break; false at the end of the text.
  bool next(std::string_view& line);
  /// Reads the next line without its comment. A line that ends in a backslash is joined with the next line if that line
  /// begins with a number. Other backslashes are parts of names, such as paths.
  bool next_joined(std::string_view& line);
  /// Error that names the line read last (the first of joined lines), or a given line.
  Error wrong(const std::string& what, Facts facts) const { return wrong(first_, what, std::move(facts)); }
  Error wrong(std::int64_t line, const std::string& what, Facts facts) const;
  std::int64_t number() const { return first_; }

 private:
  /// A position of the reader in the text.
  struct Place {
    std::size_t at = 0, feed = 0;  ///< offset of the next byte, and of the next LF at or after it
    std::int64_t read = 0;         ///< number of lines read so far
  };
  std::string_view one();

  std::string_view text_;
  const std::string& path_;
  Place place_;
  std::string joined_;
  std::int64_t first_ = 0;
};

/// Removes the first word from a line and returns it; empty if there is none.
std::string_view next_word(std::string_view& line);
std::string_view trimmed(std::string_view text);
/// Whether two words are equal without regard to case; `keyword` must be lower case.
bool is_keyword(std::string_view word, std::string_view keyword);
/// Parses the whole word as a number, including nan and inf; empty if it is not a number.
std::optional<double> to_number(std::string_view word);
std::optional<std::int64_t> to_integer(std::string_view word);
/// Converts a name to UTF-8. Invalid UTF-8 is read as Latin-1, in which all bytes are valid.
std::string to_utf8(std::string_view name);
/// A word of the file for an error message: shortened, and without control characters.
std::string shown(std::string_view word);
/// A word in quotes for an error message, shortened as by shown().
std::string quoted(std::string_view word);

}  // namespace slipstream
