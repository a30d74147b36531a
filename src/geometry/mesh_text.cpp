#include "geometry/mesh_text.hpp"

#include <algorithm>
#include <limits>

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

// Characters that separate words. The last one is Ctrl-Z, which ends a DOS text.
constexpr std::string_view blanks = " \t\r\v\f\x1a";
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::string_view starts_of_numbers = "0123456789+-.";

/// Name of the encoding if it is UTF-16 or UTF-32; empty for ASCII, UTF-8 and Latin-1, which are read bytewise.
std::string_view wide_encoding(std::string_view text) {
  using namespace std::string_view_literals;
  if (text.starts_with("\xff\xfe\0\0"sv) || text.starts_with("\0\0\xfe\xff"sv)) return "UTF-32";
  if (text.starts_with("\xff\xfe"sv) || text.starts_with("\xfe\xff"sv)) return "UTF-16";
  if (text.size() < 4) return {};
  const auto zeros = [&](int even, int odd) {
    return (text[0] == 0) == even && (text[1] == 0) == odd && (text[2] == 0) == even && (text[3] == 0) == odd;
  };
  return zeros(0, 1) || zeros(1, 0) ? "UTF-16" : std::string_view{};
}

std::string_view without_comment(std::string_view line) {
  std::size_t hash = line.find('#');
  // A # begins a comment only after a blank: within a word it is part of a name, such as Body#2.
  while (hash != line.npos && hash > 0 && blanks.find(line[hash - 1]) == blanks.npos) hash = line.find('#', hash + 1);
  return line.substr(0, hash);
}

bool ends_in_backslash(std::string_view line) { return trimmed(line).ends_with('\\'); }

bool goes_on_with_a_number(std::string_view line) {
  const std::string_view rest = trimmed(line);
  return !rest.empty() && (starts_of_numbers.find(rest.front()) != rest.npos || rest == "\\");
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Length in bytes of the first character of `text`; 0 if it is not valid UTF-8.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xf0 ? 4 : 0;
  if (lead > 0xf4 || length == 0) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Invalid bytes: overlong encodings, UTF-16 surrogates, and code points beyond the last one.
  const bool wrong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) >= 0xa0) ||
                     (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) >= 0x90);
  return wrong ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

LineReader::LineReader(std::string_view text, const std::string& path) : text_(text), path_(path) {
  const std::string_view encoding = wide_encoding(text);
  require(encoding.empty(), ErrorCode::bad_file,
          path + ": is text in " + std::string(encoding) +
              ", which is not read; save it as UTF-8 or ASCII, as editors and iconv do",
          {{"file", path}, {"encoding", std::string(encoding)}});
  place_.feed = std::min(text.find('\n'), text.size());
}

Error LineReader::wrong(std::int64_t line, const std::string& what, Facts facts) const {
  facts.emplace_back("file", path_);
  facts.emplace_back("line", line);
  return {ErrorCode::bad_file, path_ + ", line " + std::to_string(line) + ": " + what, std::move(facts)};
}

std::string_view LineReader::one() {
  auto& [at, feed, read] = place_;
  // The position of the next LF is stored, so that a text without LF is not scanned to its end for each line.
  if (feed < at) feed = std::min(text_.find('\n', at), text_.size());
  std::string_view line = text_.substr(at, feed - at);
  const std::size_t end = line.find('\r');
  if (end == line.npos || line.find_first_not_of('\r', end) == line.npos) {
    at = feed + 1;
  } else {
    at += end + 1;
  }
  line = line.substr(0, end);
  ++read;
  // A byte-order mark may stand at any line, because concatenated files have some in the middle.
  if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  return line;
}

bool LineReader::next(std::string_view& line) {
  if (place_.at >= text_.size()) return false;
  line = one();
  first_ = place_.read;
  return true;
}

bool LineReader::next_joined(std::string_view& line) {
  if (!next(line)) return false;
  line = without_comment(line);
  if (!ends_in_backslash(line)) return true;
  joined_ = line;
  while (ends_in_backslash(joined_) && place_.at < text_.size()) {
    const Place before = place_;
    const std::string_view more = without_comment(one());
    if (!goes_on_with_a_number(more)) {
      place_ = before;
      break;
    }
    joined_.resize(joined_.rfind('\\'));
    joined_.append(" ").append(more);
  }
  line = joined_;
  return true;
}

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = line.find_first_not_of(blanks);
  if (begin == std::string_view::npos) {
    line = {};
    return {};
  }
  line.remove_prefix(begin);
  const std::size_t end = line.find_first_of(blanks);
  const std::string_view word = line.substr(0, end);
  line = end == std::string_view::npos ? std::string_view{} : line.substr(end);
  return word;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

bool is_keyword(std::string_view word, std::string_view keyword) {
  return std::equal(word.begin(), word.end(), keyword.begin(), keyword.end(),
                    [](char a, char b) { return lower(a) == b; });
}

std::optional<double> to_number(std::string_view word) {
  if (word.starts_with('+') && !word.starts_with("+-")) word.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size() || word.empty()) return std::nullopt;
  // A number below the range of double becomes 0; one above becomes infinite, which later checks reject.
  if (error == std::errc::result_out_of_range)
    return word.find('-', 1) != word.npos ? 0.0 : std::numeric_limits<double>::infinity();
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::int64_t> to_integer(std::string_view word) {
  if (word.starts_with('+') && !word.starts_with("+-")) word.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || word.empty()) return std::nullopt;
  return value;
}

std::string to_utf8(std::string_view name) {
  if (is_utf8(name)) return std::string(name);
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) text += static_cast<char>(0xc0 | byte >> 6);
    text += byte >= 0x80 ? static_cast<char>(0x80 | (byte & 0x3f)) : c;
  }
  return text;
}

std::string shown(std::string_view word) {
  constexpr std::size_t most = 40;
  std::string text = to_utf8(word);
  if (text.size() > most) {
    std::size_t end = most;
    while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
    text += "...";
  }
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return text;
}

std::string quoted(std::string_view word) { return "'" + shown(word) + "'"; }

}  // namespace slipstream
