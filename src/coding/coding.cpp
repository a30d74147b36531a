#include <slipstream/coding.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

constexpr std::array<std::pair<Narrow, const char*>, 3> names{
    {{Narrow::f32, "f32"}, {Narrow::f16, "f16"}, {Narrow::bf16, "bf16"}}};

const std::string cast_to = "cast to ", rate_is = ", rate ", block_is = ", block ";

}  // namespace

std::string to_string(Narrow type) {
  for (const auto& [known, name] : names)
    if (known == type) return name;
  throw Error(ErrorCode::internal, "an unknown number format of a coding");
}

std::string to_string(const Coding& coding) {
  std::string text = coding.kind == Coding::Kind::raw ? "raw" : "cast";
  if (coding.kind == Coding::Kind::cast && coding.type) text = cast_to + to_string(*coding.type);
  if (coding.rate) {
    char number[32];
    std::snprintf(number, sizeof number, "%.17g", *coding.rate);
    text += rate_is + number;
  }
  if (coding.block) text += block_is + std::to_string(*coding.block);
  return text;
}

namespace {

/// Takes the last ", what NUMBER" off a text; none where it has none.
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
  if (const auto block = taken(text, block_is)) {
    if (!(*block == std::floor(*block) && std::abs(*block) < 1e9))
      throw Error(ErrorCode::invalid_argument, "the block of the coding '" + whole + "' is no whole number",
                  {{"option", "block"}, {"given", whole}});
    coding.block = static_cast<int>(*block);
  }
  coding.rate = taken(text, rate_is);
  if (text == "raw") return coding;
  coding.kind = Coding::Kind::cast;
  if (text == "cast") return coding;
  for (const auto& [type, name] : names)
    if (text == cast_to + name) {
      coding.type = type;
      return coding;
    }
  throw Error(ErrorCode::invalid_argument,
              "unknown coding '" + whole + "': choose raw, cast, cast to f32, cast to f16 or cast to bf16",
              {{"option", "coding"}, {"given", whole}});
}

Wire wire_of(const Coding& coding, DType type, const std::string& field) {
  const std::string what =
      "the coding " + to_string(coding) + " of " + field + ", which holds " + to_string(type) + ": ";
  const auto facts = [&](const char* option) -> Facts {
    return {{"of", field}, {"type", to_string(type)}, {"coding", to_string(coding)}, {"option", option}};
  };
  require(!coding.rate || (*coding.rate > 0 && *coding.rate <= 64),
          what + "a rate is above 0 and at most 64 bits a value", facts("rate"));
  require(!coding.block || (*coding.block >= 1 && *coding.block <= 4096), what + "a block has 1 to 4096 values",
          facts("block"));
  require(!coding.rate && !coding.block, ErrorCode::unsupported,
          what +
              (coding.kind == Coding::Kind::raw ? "raw sends values as they are" : "cast writes each value by itself") +
              ", and takes neither rate nor block: leave them out",
          facts(coding.rate ? "rate" : "block"));
  if (coding.kind == Coding::Kind::raw) {
    require(!coding.type, ErrorCode::unsupported,
            what + "raw sends values as they are, and was given a format: choose cast", facts("format"));
    return Wire::same;
  }
  const bool wide = type == DType::f64 || type == DType::c128;
  require(wide || type == DType::f32, ErrorCode::unsupported,
          what + "cast rounds f64 and c128 to f32, and f32 to f16 or bf16: choose raw", facts("type"));
  const Narrow to = coding.type.value_or(wide ? Narrow::f32 : Narrow::f16);
  require(wide == (to == Narrow::f32), ErrorCode::unsupported,
          what + (wide ? "f64 and c128 are cast to f32" : "f32 is cast to f16 or bf16, which are narrower"),
          facts("format"));
  return to == Narrow::f32 ? Wire::f32 : to == Narrow::f16 ? Wire::f16 : Wire::bf16;
}

std::size_t size_of(Wire wire, DType type) {
  if (wire == Wire::same) return size_of(type);
  const std::size_t each = wire == Wire::f32 ? 4 : 2;
  return is_complex(type) ? 2 * each : each;
}

}  // namespace slipstream
