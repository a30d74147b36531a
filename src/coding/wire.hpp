#pragma once
// The coding of a field's values, for all code that moves them. It has the block of cells that are coded together, and
// the largest size of a box in bytes. It also has the places where a box may be cut, and the largest error.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <slipstream/box.hpp>
#include <slipstream/coding.hpp>
#include <slipstream/device/function.hpp>

namespace slipstream {

/// A block of cells that are coded together, in the axes of packed values, rows first. {1, 1, 1}: each value
/// separately. Boxes may be cut between blocks.
struct CellBlock {
  std::uint8_t extent[3]{1, 1, 1};
  SLIP_FN int cells() const { return int{extent[0]} * extent[1] * extent[2]; }
  SLIP_FN int dimensions() const { return (extent[0] > 1) + (extent[1] > 1) + (extent[2] > 1); }
  bool operator==(const CellBlock&) const = default;
};
/// Number of blocks that cover a box along each axis; the last may be partial.
Extent blocks_of(const Extent& box, const CellBlock& block);

/// A Coding resolved for the number type of a field. It is small, because kernels take it as an argument.
struct Wire {
  enum Kind : std::uint8_t { same, f32, f16, bf16, own, blockfloat, zfp };
  static constexpr std::int16_t floating = std::numeric_limits<std::int16_t>::min();

  Kind kind = same;
  std::uint8_t asked = 0;             ///< block size that the user has set, in values; 0: chosen for each box
  std::uint8_t rates[3] = {0, 0, 0};  ///< bits per value in blocks of one, two and three dimensions
  std::uint8_t number = 0;            ///< number of a user-defined coding, whose rates[0] is the bits per value
  /// blockfloat rounds all values to multiples of 2^quantum; `floating`: each block has its own unit.
  std::int16_t quantum = floating;

  constexpr Wire() = default;
  constexpr Wire(Kind of) : kind(of) {}  // implicit, so that the name of a format converts to a Wire
  bool operator==(const Wire&) const = default;

  SLIP_FN bool codes() const { return kind != same; }
  /// Whether each value is coded separately, as a narrower number, so that any value of any box can be addressed.
  SLIP_FN bool by_value() const { return kind < blockfloat; }
  /// Whether the rounding of a value depends on that value only, so that it is the same in all messages.
  SLIP_FN bool rounds_by_value() const { return by_value() || quantum != floating; }
  SLIP_FN int rate(const CellBlock& block) const { return rates[block.dimensions() - 1]; }

  /// Returns the shape of blocks of cells that are coded together. `box`: extents along the axes of packed values.
  /// `listed`: the values are listed elements. `turned`: rows of the source become columns of the target.
  CellBlock block_of(const Extent& box, bool listed, bool turned) const;
  /// Largest size in bytes of a coded box. Both ends use it to place values in messages.
  std::size_t bytes_of(DType type, const Extent& box, const CellBlock& block) const;
  /// Largest error of a value in a block whose largest magnitude is `largest`. For f32, f16 and bf16 it holds from the
  /// least normal number on.
  double bound(DType type, const CellBlock& block, double largest) const;
  /// Largest absolute error of a value in any shape of coded block, if no magnitude exceeds `largest`.
  double worst(DType type, double largest) const;
};

/// Number of bytes of the code of a block.
SLIP_FN int code_bytes(const Wire& wire, const CellBlock& block) {
  const int bits = wire.rate(block) * block.cells();
  return (bits < 64 ? 64 : (bits + 63) / 64 * 64) / 8;
}

/// Resolves a coding for a number type. Throws Error, which names the field, where the coding cannot hold its values.
Wire wire_of(const Coding& coding, DType type, const std::string& field);
/// Bytes of a value of this number type in flight, for codings by value.
std::size_t size_of(const Wire& wire, DType type);
/// Type of the parts of complex numbers, which are coded as two fields; for other types the type itself.
constexpr DType part_type(DType type) {
  return type == DType::c64 ? DType::f32 : type == DType::c128 ? DType::f64 : type;
}

}  // namespace slipstream
