#include "io/mesh_text.hpp"

#include <limits>

namespace slipstream {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";

}  // namespace

std::string_view LineReader::one() {
  const std::size_t end = rest_.find('\n');
  std::string_view line = rest_.substr(0, end);
  rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
  ++read_;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool LineReader::next(std::string_view& line, char comment) {
  if (rest_.empty()) return false;
  line = one();
  first_ = read_;
  if (!line.empty() && line.back() == '\\') {
    joined_.clear();
    while (!line.empty() && line.back() == '\\' && !rest_.empty()) {
      joined_ += line.substr(0, line.size() - 1);
      joined_ += ' ';
      line = one();
    }
    joined_ += line;
    line = joined_;
  }
  if (comment != '\0') line = line.substr(0, line.find(comment));
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

std::optional<double> to_number(std::string_view word) {
  if (!word.empty() && word.front() == '+') word.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size() || word.empty()) return std::nullopt;
  // Too small for a double is zero; too large stays what it is: not a length.
  if (error == std::errc::result_out_of_range)
    return word.find('-', 1) != word.npos ? 0.0 : std::numeric_limits<double>::infinity();
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::int64_t> to_integer(std::string_view word) {
  if (!word.empty() && word.front() == '+') word.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || word.empty()) return std::nullopt;
  return value;
}

}  // namespace slipstream
