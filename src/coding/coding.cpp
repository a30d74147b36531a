#include <slipstream/coding.hpp>

#include <array>
#include <utility>

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

constexpr std::array<std::pair<Narrow, const char*>, 3> names{
    {{Narrow::f32, "f32"}, {Narrow::f16, "f16"}, {Narrow::bf16, "bf16"}}};

const std::string cast_to = "cast to ";

}  // namespace

std::string to_string(Narrow type) {
  for (const auto& [known, name] : names)
    if (known == type) return name;
  throw Error("an unknown number format of a coding");
}

std::string to_string(const Coding& coding) {
  if (coding.kind == Coding::Kind::raw) return "raw";
  return coding.type ? cast_to + to_string(*coding.type) : "cast";
}

Coding coding_from_string(const std::string& text) {
  if (text == "raw") return {};
  if (text == "cast") return {Coding::Kind::cast};
  for (const auto& [type, name] : names)
    if (text == cast_to + name) return {Coding::Kind::cast, type};
  throw Error("unknown coding '" + text + "': choose raw, cast, cast to f32, cast to f16 or cast to bf16");
}

Wire wire_of(const Coding& coding, DType type, const std::string& field) {
  const std::string what =
      "the coding " + to_string(coding) + " of " + field + ", which holds " + to_string(type) + ": ";
  if (coding.kind == Coding::Kind::raw) {
    require(!coding.type, what + "raw sends values as they are, and was given a format: choose cast");
    return Wire::same;
  }
  const bool wide = type == DType::f64 || type == DType::c128;
  require(wide || type == DType::f32, what + "cast rounds f64 and c128 to f32, and f32 to f16 or bf16: choose raw");
  const Narrow to = coding.type.value_or(wide ? Narrow::f32 : Narrow::f16);
  require(wide == (to == Narrow::f32),
          what + (wide ? "f64 and c128 are cast to f32" : "f32 is cast to f16 or bf16, which are narrower"));
  return to == Narrow::f32 ? Wire::f32 : to == Narrow::f16 ? Wire::f16 : Wire::bf16;
}

std::size_t size_of(Wire wire, DType type) {
  if (wire == Wire::same) return size_of(type);
  const std::size_t each = wire == Wire::f32 ? 4 : 2;
  return is_complex(type) ? 2 * each : each;
}

}  // namespace slipstream
