#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include <slipstream/field.hpp>

namespace slipstream {

/// Numbers that travel in the place of wider ones: IEEE 754's of 32 and 16 bits, and bfloat16, the first half of an
/// f32.
enum class Narrow : std::uint8_t { f32, f16, bf16 };
std::string to_string(Narrow type);

/// How an item's values are written in flight. `raw`: as they are. `cast`: rounded to the nearest number of a narrower
/// format, of two the even one, in the kernel that packs them, and widened in the one that unpacks:
///
///     field  | travels as                   | error at most
///     f64    | f32 (default)                | 2^-24 of the value
///     c128   | two f32 (default)            | the same of each part
///     f32    | f16 (default)                | 2^-11 of the value, from 2^-14 on; 2^-25 below
///     f32    | bf16                         | 2^-8 of the value
///
/// (f32: below 2^-126 the error is 2^-150.) Infinities and NaN arrive as such. A finite value that the narrow format
/// rounds to infinity is an overflow: the same error of the exchange on all ranks, which Exchange::end() and run()
/// throw where a host drives a route, and Exchange::check() elsewhere.
struct Coding {
  enum class Kind : std::uint8_t { raw, cast };
  Kind kind = Kind::raw;
  std::optional<Narrow> type = {};  ///< of cast; none: the default of the field's
  /// Bits that a value takes in flight, above 0 and at most 64, and values that are coded together, 1 to 4096; of kinds
  /// that have them, which neither raw nor cast does.
  std::optional<double> rate = {};
  std::optional<int> block = {};
  bool operator==(const Coding&) const = default;
};

/// "raw", "cast", "cast to f16", each with ", rate 8" and ", block 64" where these are given: as coding_from_string()
/// reads them. That throws Error for other texts; whether a kind has a rate or a block is asked where it is used.
std::string to_string(const Coding& coding);
Coding coding_from_string(const std::string& text);

/// How the values of a field travel: as they are, or as narrow numbers (c128 as two).
enum class Wire : std::uint8_t { same, f32, f16, bf16 };
/// Throws Error, naming the field, where its values cannot be written so.
Wire wire_of(const Coding& coding, DType type, const std::string& field);
/// Bytes of a value of a field of this type in flight.
std::size_t size_of(Wire wire, DType type);

}  // namespace slipstream
