#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <slipstream/error.hpp>

namespace slipstream {

/// Takes the text of a mesh file apart into lines, counted from 1. What programs write in different ways is settled
/// here for all formats: a line ends with LF, CR LF or CR, and a byte-order mark in front of it is no part of it.
class LineReader {
 public:
  /// Throws Error where the text is UTF-16 or UTF-32. `path` goes into errors and must outlive the reader.
  LineReader(std::string_view text, const std::string& path);

  /// The next line without its end; false at the end of the text.
  bool next(std::string_view& line);
  /// The next line without its comment, joined with the lines below it where it ends in a backslash and they go on with
  /// a number. Other backslashes belong to a name, such as that of a folder.
  bool next_joined(std::string_view& line);
  /// An error in the line that was read last, or the first of those joined, or in another one.
  Error wrong(const std::string& what, Facts facts) const { return wrong(first_, what, std::move(facts)); }
  Error wrong(std::int64_t line, const std::string& what, Facts facts) const;
  std::int64_t number() const { return first_; }

 private:
  /// Where reading goes on.
  struct Place {
    std::size_t at = 0, feed = 0;  ///< the next byte, and the next LF from there on
    std::int64_t read = 0;         ///< lines
  };
  std::string_view one();

  std::string_view text_;
  const std::string& path_;
  Place place_;
  std::string joined_;
  std::int64_t first_ = 0;
};

/// Cuts the next word off the front; empty where there is none.
std::string_view next_word(std::string_view& line);
std::string_view trimmed(std::string_view text);
/// Whether a word is `keyword`, which has small letters, in any mixture of small and capital ones.
bool is_keyword(std::string_view word, std::string_view keyword);
/// The whole word as a number (nan and inf included); nothing where it is none.
std::optional<double> to_number(std::string_view word);
std::optional<std::int64_t> to_integer(std::string_view word);
/// A name as UTF-8: what is not, is taken for Latin-1, which any bytes are.
std::string to_utf8(std::string_view name);
/// A word of the file for an error: not too long, and without control characters.
std::string shown(std::string_view word);
/// The same in quotes, for its sentence.
std::string quoted(std::string_view word);

}  // namespace slipstream
