#pragma once
// Movers: copies of boxes or lists of values, which one launch or copy call moves.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/transfer.hpp>

#include "coding/wire.hpp"

namespace slipstream {

/// Position in a ring of receive buffers. In exchange n, chunk `chunk` is in slot ((n - 1) chunks + chunk) mod depth.
struct Ring {
  std::int64_t bytes = 0;  ///< distance from one receive buffer to the next, in bytes; 0: not a ring of buffers
  std::int32_t depth = 1;
  std::int32_t chunks = 1;
  std::int32_t chunk = 0;
  bool operator==(const Ring&) const = default;
};

/// A further operand of a copy that combines (such as sums) several values in its target.
struct Contribution {
  const std::byte* base = nullptr;
  std::int64_t stride[3] = {0, 0, 0};  ///< memory strides along x, y, z of the values to combine, in copied words
  const std::int64_t* ids = nullptr;   ///< indices of elements in device memory; null for a box
};

/// Conversion of values by a mover: none (it moves words), encode, decode, or round. Values that stay on a device are
/// rounded, so that results do not depend on where blocks are.
enum class Recode : std::uint8_t { none, encode, decode, round };

/// Copy of a box or a list of words, once per exchange. With contributions it combines these with the target's own
/// value, in order; the target's value is the `own`-th operand. If it encodes or decodes, extents count values, and
/// each end's strides count its own words.
struct Mover {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  /// Numbers of the source and target arrays in the device's Arrays, if the arrays can be replaced. `source` and
  /// `target` are then addresses at planning time.
  std::int32_t source_array = -1, target_array = -1;
  std::int64_t extent[3] = {0, 0, 0};
  std::int64_t source_stride[3] = {0, 0, 0};  ///< strides along the source's axes in words
  std::int64_t target_stride[3] = {0, 0, 0};
  const std::int64_t* source_ids = nullptr;  ///< indices of elements in device memory; the extent is then {count, 1, 1}
  const std::int64_t* target_ids = nullptr;
  Ring source_ring, target_ring;
  const Contribution* contributions = nullptr;  ///< further source arrays to sum, or combine otherwise, in the target
  std::int32_t contribution_count = 0;
  std::int32_t own = 0;
  Op op = Op::copy;
  DType type = DType::f32;
  int word = 4;  ///< bytes read at the source per word: 1, 2, 4, 8 or 16
  /// Conversion of the copied values, and of further operands that are combined with them: encode, decode or round.
  Recode recode = Recode::none;
  Wire wire = Wire::same;
  CellBlock block;        ///< block of cells that are compressed together; packed memory holds such blocks in sequence
  std::int32_t item = 0;  ///< exchange item to which the values belong, named in the error if one overflows
  /// Whether one end is latency-optimised packets (slipstream/signal.hpp). A word then has 4 bytes.
  enum class Packets : std::uint8_t { none, source, target } packets = Packets::none;
  bool free_gaps = false;  ///< whether padding between the target's rows, beyond the ghosts, may be overwritten
  std::int64_t words() const { return extent[0] * extent[1] * extent[2]; }
  /// Bytes written at the target per word of the copy.
  int target_word() const {
    if (recode == Recode::none) return word;
    if (recode == Recode::encode && wire.by_value()) return static_cast<int>(size_of(wire, type));
    return static_cast<int>(size_of(type));
  }
};

/// Table of the arrays that a device's movers name by number: fields with several copies, and arrays that the caller
/// may replace. Each launch reads the current addresses.
struct Arrays {
  int count = 0;
  /// Fields may have several copies that take turns. Index of the set of copies in use; constant during an exchange.
  int combination = 0;
  std::vector<std::byte*> host;     ///< addresses, [combination of the fields' alternating arrays][array number]
  std::vector<std::byte*> planned;  ///< addresses of the arrays when the copies were planned, by array number
  Buffer<std::byte*> device;        ///< copy, in device memory, of the table of array addresses

  std::byte* const* on_host() const { return host.data() + std::ptrdiff_t{combination} * count; }
  std::byte* const* on_device() const { return device.data() + std::ptrdiff_t{combination} * count; }
};

}  // namespace slipstream
