#pragma once
// The coding of a field's values as an object, which all that moves them asks. It knows the block of cells that are
// coded together, the worst bytes of a box, the places where a box may be cut, and the largest error.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <slipstream/box.hpp>
#include <slipstream/coding.hpp>
#include <slipstream/device/function.hpp>

namespace slipstream {

/// Cells that are coded together, by the axes of packed values, rows first; {1, 1, 1}: each value by itself. Boxes are
/// cut between them.
struct CellBlock {
  std::uint8_t extent[3]{1, 1, 1};
  SLIP_FN int cells() const { return int{extent[0]} * extent[1] * extent[2]; }
  SLIP_FN int dimensions() const { return (extent[0] > 1) + (extent[1] > 1) + (extent[2] > 1); }
  bool operator==(const CellBlock&) const = default;
};
/// Blocks that cover a box along each axis, the last one in part.
Extent blocks_of(const Extent& box, const CellBlock& block);

/// A Coding as a type of field takes it. Small, and read by kernels.
struct Wire {
  enum Kind : std::uint8_t { same, f32, f16, bf16, own, blockfloat, zfp };
  static constexpr std::int16_t floating = std::numeric_limits<std::int16_t>::min();

  Kind kind = same;
  std::uint8_t asked = 0;             ///< values of a block that the user asked for; 0: as suits the box
  std::uint8_t rates[3] = {0, 0, 0};  ///< bits a value, of blocks of one, two and three dimensions
  std::uint8_t number = 0;            ///< of a coding of the caller's own; its rate is that of one value
  /// blockfloat rounds all values to multiples of 2^quantum; `floating`: each block has its own unit.
  std::int16_t quantum = floating;

  constexpr Wire() = default;
  constexpr Wire(Kind of) : kind(of) {}  // as the names of formats stand for them
  bool operator==(const Wire&) const = default;

  SLIP_FN bool codes() const { return kind != same; }
  /// Each value is written by itself, in the bytes of a narrower number: it is found at any place of any box.
  SLIP_FN bool by_value() const { return kind < blockfloat; }
  /// The rounding of a value depends on nothing but the value: it is the same in all messages.
  SLIP_FN bool rounds_by_value() const { return by_value() || quantum != floating; }
  SLIP_FN int rate(const CellBlock& block) const { return rates[block.dimensions() - 1]; }

  /// The block for a box, given by the axes of packed values, or for a list of so many elements. `turned`: rows become
  /// columns where they arrive.
  CellBlock block_of(const Extent& box, bool listed, bool turned) const;
  /// Bytes that a box of values takes, at worst; both ends reckon with them.
  std::size_t bytes_of(DType type, const Extent& box, const CellBlock& block) const;
  /// Largest error of a value, where the largest of its block is `largest`: of f32, f16 and bf16 from the least normal
  /// number on.
  double bound(DType type, const CellBlock& block, double largest) const;
  /// In the worst of its blocks.
  double worst(DType type, double largest) const;
};

/// Bytes of the code of a block.
SLIP_FN int code_bytes(const Wire& wire, const CellBlock& block) {
  const int bits = wire.rate(block) * block.cells();
  return (bits < 64 ? 64 : (bits + 63) / 64 * 64) / 8;
}

/// Throws Error, naming the field, where its values cannot be written so.
Wire wire_of(const Coding& coding, DType type, const std::string& field);
/// Bytes of a value of a field of this type in flight, where values are written one by one.
std::size_t size_of(const Wire& wire, DType type);
/// The type of the parts of complex numbers, which blocks hold as two fields; that of others.
constexpr DType part_type(DType type) {
  return type == DType::c64 ? DType::f32 : type == DType::c128 ? DType::f64 : type;
}

}  // namespace slipstream
