#pragma once
// What moves the values of a message, as launches and copies take it.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/transfer.hpp>

#include "coding/wire.hpp"

namespace slipstream {

/// Where a landing place is one of a ring of slots: chunk `chunk` of `chunks` in exchange n lies in slot
/// ((n - 1) chunks + chunk) mod depth.
struct Ring {
  std::int64_t bytes = 0;  ///< from slot to slot; 0: no ring
  std::int32_t depth = 1;
  std::int32_t chunks = 1;
  std::int32_t chunk = 0;
};

/// Further values that a combining mover reads, in order.
struct Contribution {
  const std::byte* base = nullptr;
  std::int64_t stride[3] = {0, 0, 0};  ///< in words
  const std::int64_t* ids = nullptr;   ///< in device memory
};

/// What a mover does to values on their way: nothing, for it moves words; writes them as they travel; reads them so; or
/// both, of those that stay on a device: so they are rounded wherever they go.
enum class Recode : std::uint8_t { none, encode, decode, round };

/// Moves a dense or strided box of words, or a list of them, once per exchange. With contributions, combines them and
/// the target's own value, which is the `own`-th, from first to last. Where it encodes or decodes, it counts values,
/// and each end's strides are in its own.
struct Mover {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  /// Where an end lies in an array that may be changed for another: its number in the device's Arrays, and the address
  /// above is in the one that it was planned with.
  std::int32_t source_array = -1, target_array = -1;
  std::int64_t extent[3] = {0, 0, 0};
  std::int64_t source_stride[3] = {0, 0, 0};  ///< in words
  std::int64_t target_stride[3] = {0, 0, 0};
  const std::int64_t* source_ids = nullptr;  ///< in device memory; then extent is {count, 1, 1}
  const std::int64_t* target_ids = nullptr;
  Ring source_ring, target_ring;
  const Contribution* contributions = nullptr;  ///< in device memory
  std::int32_t contribution_count = 0;
  std::int32_t own = 0;
  Op op = Op::copy;
  DType type = DType::f32;
  int word = 4;  ///< bytes: 1, 2, 4, 8 or 16; of what is read at the source
  /// How values of `type` are written, and read as contributions.
  Recode recode = Recode::none;
  Wire wire = Wire::same;
  CellBlock block;        ///< of values that are coded together; the packed end then holds one block behind the other
  std::int32_t item = 0;  ///< whose values these are, to be named where one overflows
  /// One end may be lines (slipstream/signal.hpp) instead of a box; then a word is 4 bytes.
  enum class Lines : std::uint8_t { none, source, target } lines = Lines::none;
  bool free_gaps = false;  ///< what lies between the target's rows, beyond the ghosts, may be overwritten
  std::int64_t words() const { return extent[0] * extent[1] * extent[2]; }
  /// Bytes of what is written at the target.
  int target_word() const {
    if (recode == Recode::none) return word;
    if (recode == Recode::encode && wire.by_value()) return static_cast<int>(size_of(wire, type));
    return static_cast<int>(size_of(type));
  }
};

/// The arrays that movers of one device know by number: those of fields with several copies, and those that the caller
/// may change for others. A launch reads where they are.
struct Arrays {
  int count = 0;
  int combination = 0;              ///< of the fields' copies, from begin to end
  std::vector<std::byte*> host;     ///< first bytes, [combination][array]
  std::vector<std::byte*> planned;  ///< those of the first combination, as the movers were planned
  Buffer<std::byte*> device;        ///< as host

  std::byte* const* on_host() const { return host.data() + std::ptrdiff_t{combination} * count; }
  std::byte* const* on_device() const { return device.data() + std::ptrdiff_t{combination} * count; }
};

}  // namespace slipstream
