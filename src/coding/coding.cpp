#include <slipstream/coding.hpp>

#include <charconv>
#include <cmath>
#include <utility>

#include <slipstream/error.hpp>

#include "device/names.hpp"

namespace slipstream {
namespace {

constexpr std::pair<const char*, Narrow> names[] = {{"f32", Narrow::f32}, {"f16", Narrow::f16}, {"bf16", Narrow::bf16}};
constexpr std::pair<const char*, Coding::Kind> kinds[] = {
    {"raw", Coding::Kind::raw}, {"cast", Coding::Kind::cast},      {"blockfloat", Coding::Kind::blockfloat},
    {"zfp", Coding::Kind::zfp}, {"auto", Coding::Kind::automatic}, {"own", Coding::Kind::own}};

const std::string cast_to = "cast to ", own_is = "own ", rate_is = ", rate ", block_is = ", block ",
                  error_is = ", max error ";

/// The shortest decimal text that parses to this number.
std::string written(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

}  // namespace

std::string to_string(Narrow type) { return name_in(names, type); }

std::string to_string(const Coding& coding) {
  std::string text = name_in(kinds, coding.kind);
  if (coding.kind == Coding::Kind::cast && coding.type) text = cast_to + to_string(*coding.type);
  if (coding.kind == Coding::Kind::own) text = own_is + coding.name;
  if (coding.rate) text += rate_is + written(*coding.rate);
  if (coding.block) text += block_is + std::to_string(*coding.block);
  if (coding.max_error) text += error_is + written(*coding.max_error);
  return text;
}

namespace {

/// Cuts an option off the end of a coding's text, such as a block size: `what`, then a number, which it returns.
std::optional<double> taken(std::string& text, const std::string& what) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) return {};
  const std::string number = text.substr(at + what.size());
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) return {};
  text.resize(at);
  return value;
}

}  // namespace

Coding coding_from_string(const std::string& whole) {
  std::string text = whole;
  Coding coding;
  coding.max_error = taken(text, error_is);
  if (const auto block = taken(text, block_is)) {
    require(*block == std::floor(*block) && std::abs(*block) < 1e9, ErrorCode::invalid_argument,
            "the block of the coding '" + whole + "' is no whole number", {{"option", "block"}, {"given", whole}});
    coding.block = static_cast<int>(*block);
  }
  coding.rate = taken(text, rate_is);
  if (text.starts_with(own_is)) {
    coding.kind = Coding::Kind::own;
    coding.name = text.substr(own_is.size());
    return coding;
  }
  for (const auto& [name, kind] : kinds)
    if (text == name && kind != Coding::Kind::own) {
      coding.kind = kind;
      return coding;
    }
  coding.kind = Coding::Kind::cast;
  for (const auto& [name, type] : names)
    if (text == cast_to + name) {
      coding.type = type;
      return coding;
    }
  throw Error(ErrorCode::invalid_argument,
              "unknown coding '" + whole +
                  "': choose raw, cast, cast to f32, cast to f16, cast to bf16, blockfloat or zfp, the last two with "
                  "', rate BITS', ', block VALUES' or ', max error NUMBER' behind them, or 'own NAME'",
              {{"option", "coding"}, {"given", whole}});
}

}  // namespace slipstream
