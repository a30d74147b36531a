#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include <slipstream/field.hpp>

namespace slipstream {

/// Number formats for values in messages: 32 and 16 bits of IEEE 754, and bfloat16, the upper half of an f32.
enum class Narrow : std::uint8_t { f32, f16, bf16 };
std::string to_string(Narrow type);

/// Encoding of an item's values in flight. The kernel that packs them encodes, and the one that unpacks decodes.
///
///     kind       | field               | travels as                        | error at most
///     raw        | any                 | it is                             | none
///     cast       | f64, c128           | f32, one of each part             | 2^-24 of the value
///     cast       | f32                 | f16 (default)                     | 2^-11 of it, from 2^-14 on
///     cast       | f32                 | bf16                              | 2^-8 of it
///     blockfloat | f32, f64, c64, c128 | 16 values with one exponent       | 2^(3 - rate) of the largest
///     zfp        | f32, f64, c64, c128 | 4, 16 or 64, as zfp 1.0 has them  | docs/coding.md
///     own        | one type            | as the caller's code writes them  | as it says
///
/// `cast` rounds to the nearest number, ties to even (f32: below 2^-126 the error is 2^-150; f16: below 2^-14, 2^-25).
/// Raw and cast keep infinities and NaN. In a block they are an overflow. A finite value that cast rounds to infinity
/// is an overflow, too. An overflow is the same error of the exchange on all ranks. Exchange::end() and run() throw it
/// where a host drives a route, and Exchange::check() elsewhere.
struct Coding {
  /// `automatic`: raw, or the fastest coding that keeps `max_error`, relative to the largest magnitude of a block.
  /// choose_codings() measures it (slipstream/tuner.hpp); exchanges refuse it. `own`: a coding of the caller, by its
  /// `name` (slipstream/own_coding.hpp).
  enum class Kind : std::uint8_t { raw, cast, blockfloat, zfp, automatic, own };
  Kind kind = Kind::raw;
  std::optional<Narrow> type = {};  ///< number format of cast; none: the default of the field's type
  /// Bits per value in messages. None: half of the field's bits, or the rate for `max_error`. Rates of blockfloat are
  /// multiples of 4, from 8 to 28 (f32) or 48 (f64). Rates of zfp are whole numbers up to the field's own bits.
  ///
  std::optional<double> rate = {};
  /// Number of values that are coded together: 16 for blockfloat; 4, 16 or 64 for zfp. None: chosen for each box.
  std::optional<int> block = {};
  /// Largest error of a lossy coding. blockfloat: the absolute error. It rounds all values to multiples of one power of
  /// two. A value that is too large for its bits is an overflow.
  ///
  /// zfp: the error relative to the largest magnitude of a block. The coding takes the least rate that keeps it.
  std::optional<double> max_error = {};
  std::string name = {};  ///< name of the caller's own coding, if the kind is `own`; else empty
  bool operator==(const Coding&) const = default;
};

/// Texts of codings, such as "raw", "cast to f16", "zfp, rate 8, block 64" and "auto, max error 0.001".
/// The function to_string() writes such a text. The other one reads it, and throws Error for other texts. Neither
/// checks whether a kind has a rate, a block or an error.
std::string to_string(const Coding& coding);
Coding coding_from_string(const std::string& text);

}  // namespace slipstream
