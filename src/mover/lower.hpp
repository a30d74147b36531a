#pragma once
#include <deque>
#include <memory>

#include "mover/ends.hpp"

namespace slipstream {

/// Part of a message that fits in one receive buffer: a list of transfers (legs). A large transfer is cut into several.
struct Chunk {
  std::vector<Leg> legs;            ///< transfers in this part of a message; their offsets count from the part's start
  std::vector<std::size_t> parent;  ///< for each transfer, index of the message's transfer that it was cut from
  std::size_t bytes = 0;
};
struct Cut {
  std::deque<Transfer> transfers;  ///< box transfers into which large ones were cut, to fit a message's receive buffers
  std::vector<Chunk> chunks;
  std::size_t slot_bytes = 0;  ///< bytes of the largest part (chunk) of the message, rounded up for alignment
};
/// Cuts a message into chunks of about `limit` bytes. Each chunk holds a part of every large transfer, so that
/// transfers with common rows stay together. The result depends on the arguments alone: both ends get the same.
std::shared_ptr<const Cut> cut(const std::vector<Leg>& legs, std::size_t limit);

/// Permutes three values of the source's axes x, y, z into packing order, the order of array rows in which a box is
/// packed into a message. The permutation is its own inverse. If the source or the target is a list of elements, not a
/// box, the order stays x, y, z.
Extent in_order(const Leg& leg, const Extent& by_axis);
/// Permutes numbers for each axis of a transfer's target box, such as strides, into the axis order of packed messages.
Extent target_in_order(const Leg& leg, const Extent& by_axis);
/// Extent in cells of one packed component, in packing order; or the number of listed elements.
Extent packed_extent(const Leg& leg);
/// Whether all components of a cell travel and are adjacent at both ends. They are then adjacent in the packed values
/// too, unless cells are coded together.
bool rows_hold_components(const Leg& leg);
/// Length in bytes of a contiguous row at a transfer's target; the size of one value if either end lists elements.
std::size_t row_bytes(const Leg& leg);
/// Debug mode: value of each byte that was not written yet. Floats made of such bytes are NaN.
constexpr unsigned char poison_byte = 0xff;
constexpr std::size_t slot_alignment = 256;
constexpr std::size_t leg_alignment = 16;
// Size in bytes of large transfers. In messages they begin at whole cache lines, which cross links faster.
constexpr std::size_t large_leg = 4096, large_leg_alignment = 128;
constexpr std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// Position of packed values: `base` plus the offset of the current buffer in a ring of receive buffers.
struct Slot {
  std::byte* base = nullptr;
  Ring ring;
};

/// Total bytes of several buffers.
template <class... Buffers>
std::int64_t bytes_of(const Buffers&... buffers) {
  return (std::int64_t{0} + ... + static_cast<std::int64_t>(buffers.bytes()));
}

/// Lowers legs (transfers of a message) to movers. Movers use the widest words that both ends allow, or encode and
/// decode values. Owns their lists of elements in device memory.
class Lowering {
 public:
  explicit Lowering(Device device) : device_(device) {}

  using Places = std::vector<Place>;
  std::vector<Mover> box_to_box(const std::vector<Leg>& legs, const Places& sources, const Places& targets);
  /// Movers between fields and packed values. `wide`: use the widest words that serve both ends.
  std::vector<Mover> to_slot(const std::vector<Leg>& legs, const Places& sources, const Slot& slot, bool wide = true);
  std::vector<Mover> from_slot(const std::vector<Leg>& legs, const Places& targets, const Slot& slot, bool wide = true);
  /// Makes copies from packed values to fields. If received values are to be combined, it only appends to `arrived`.
  std::vector<Mover> unpack(const Message& message, const std::vector<Leg>& legs, const Places& targets,
                            const Slot& slot, std::vector<Arrived>& arrived);
  /// Movers (copies) that decode a transfer's packed blocks into packed values without a coding.
  static std::vector<Mover> decoding(const Leg& leg, const std::byte* values, std::byte* to);
  /// Makes copies from fields into packets, which carry values and a sequence number. Requires fits_packets().
  std::vector<Mover> to_packets(const std::vector<Leg>& legs, const Places& sources, const Slot& slot);
  std::vector<Mover> from_packets(const std::vector<Leg>& legs, const Places& targets, const Slot& slot);
  /// Copies a list of elements to device memory. The copy lives as long as this object.
  const std::int64_t* keep(const std::vector<std::int64_t>& ids);
  /// Bytes of device memory that the lists of elements take.
  std::int64_t bytes() const;
  /// Windows: places where the caller's kernels store values directly, in the target or in a receive buffer. Returns
  /// those of all transfers handled so far. Such transfers need no copies.
  const std::vector<Window>& windows() const { return windows_; }

 private:
  struct End;
  /// Describes the end of a transfer that lies in a field: its address, extents and strides.
  End field_end(const Leg& leg, IndexSet Transfer::*end_of, const Place& place);
  static End slot_end(const Leg& leg, const Slot& slot);
  static Mover between(const End& source, const End& target, const Leg& leg, const Extent& extent);
  static void join(const End& source, const End& target, const Leg& leg, bool wide, std::vector<Mover>& movers);
  /// Makes the copies of values whose coding (blockfloat, zfp) compresses blocks of cells together.
  static void join_blocks(const End& source, const End& target, const Leg& leg, std::vector<Mover>& movers);

  Device device_;
  std::deque<Buffer<std::int64_t>> lists_;
  std::vector<Window> windows_;
};

/// Appends a window per component: the memory into which the caller's kernels store the values of a transfer. It lies
/// in the packed message, in the order of its values, or in the target's array.
void add_windows(const Leg& leg, const Slot& slot, std::vector<Window>& windows);
void add_windows(const Leg& leg, const Place& target, std::vector<Window>& windows);

/// Whether a transfer can use latency-optimised packets: its values consist of 4-byte words and are not coded.
bool fits_packets(const Leg& leg);
/// Bytes that a transfer takes in latency-optimised packets.
std::size_t packet_bytes(const Leg& leg);

/// The elements of `values` with these indices.
template <class T>
std::vector<T> chosen(const std::vector<std::size_t>& indices, const std::vector<T>& values) {
  std::vector<T> result;
  for (const std::size_t index : indices) result.push_back(values.at(index));
  return result;
}

}  // namespace slipstream
