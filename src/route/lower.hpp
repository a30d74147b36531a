#pragma once
#include <deque>
#include <memory>

#include "route/ends.hpp"

namespace slipstream {

/// Legs whose packed values fill one slot at most; a large leg is cut into several.
struct Chunk {
  std::vector<Leg> legs;            ///< offsets count from the chunk's start
  std::vector<std::size_t> parent;  ///< the leg of the message that each was cut from
  std::size_t bytes = 0;
};
struct Cut {
  std::deque<Transfer> transfers;  ///< that the cut legs point to
  std::vector<Chunk> chunks;
  std::size_t slot_bytes = 0;  ///< of the largest chunk, aligned
};
/// Cuts into chunks of about `limit` bytes; each holds a part of every large leg, so that legs that touch the same rows
/// stay together. Depends on its arguments alone: both ends cut alike.
std::shared_ptr<const Cut> cut(const std::vector<Leg>& legs, std::size_t limit);

/// What is given for the source's x, y and z by the rows of the source's array, in which order values are packed, and
/// back. Where one end lists elements, x stays first: so the lists go through boxes.
Extent in_order(const Leg& leg, const Extent& by_axis);
/// The same of what is given for the target's axes.
Extent target_in_order(const Leg& leg, const Extent& by_axis);
/// Cells of one component as they are packed, by the rows of the source's array; or a list's length.
Extent packed_extent(const Leg& leg);
/// True where the components of a cell lie side by side at both ends and all travel: they are packed side by side too,
/// unless cells are coded together.
bool rows_hold_components(const Leg& leg);
/// Bytes of a leg that lie side by side in a row of the target; one value for lists.
std::size_t row_bytes(const Leg& leg);
/// Of every byte of a place that has not been written: of floats that is no number.
constexpr unsigned char poison_byte = 0xff;
constexpr std::size_t slot_alignment = 256;
constexpr std::size_t leg_alignment = 16;
constexpr std::size_t large_leg = 4096, large_leg_alignment = 128;  // whole lines of memory cross links better
constexpr std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// Where packed values lie: at `base`, in the ring's slot.
struct Slot {
  std::byte* base = nullptr;
  Ring ring;
};

/// Of several buffers together.
template <class... Buffers>
std::int64_t bytes_of(const Buffers&... buffers) {
  return (std::int64_t{0} + ... + static_cast<std::int64_t>(buffers.bytes()));
}

/// Turns legs into movers of the widest words that both sides allow, or of values that they encode and decode; owns the
/// id lists that they point to, in device memory.
class Lowering {
 public:
  explicit Lowering(Device device) : device_(device) {}

  using Places = std::vector<Place>;
  std::vector<Mover> box_to_box(const std::vector<Leg>& legs, const Places& sources, const Places& targets);
  /// To or from packed values.
  std::vector<Mover> to_slot(const std::vector<Leg>& legs, const Places& sources, const Slot& slot);
  std::vector<Mover> from_slot(const std::vector<Leg>& legs, const Places& targets, const Slot& slot);
  /// From packed values to such as a leg packs that is not coded; of values that are coded in blocks.
  static std::vector<Mover> decoding(const Leg& leg, const std::byte* values, std::byte* to);
  /// To or from lines (slipstream/signal.hpp), one box after the other; of legs that can be sealed.
  std::vector<Mover> to_lines(const std::vector<Leg>& legs, const Places& sources, const Slot& slot);
  std::vector<Mover> from_lines(const std::vector<Leg>& legs, const Places& targets, const Slot& slot);
  /// The ids in device memory, for as long as this lives.
  const std::int64_t* keep(const std::vector<std::int64_t>& ids);
  /// Of device memory.
  std::int64_t bytes() const;
  /// Of produced legs that came by on their way to a slot or a box, in the place of movers.
  const std::vector<Window>& windows() const { return windows_; }

 private:
  struct End;
  End source_end(const Leg& leg, const Place& place);
  End target_end(const Leg& leg, const Place& place);
  /// `in_order` brings what is given for this end's axes into the order of the mover's.
  template <class InOrder>
  End field_end(const Leg& leg, const IndexSet& set, const Place& place, const InOrder& in_order);
  static End slot_end(const Leg& leg, const IndexSet& set, const Slot& slot);
  /// `wide`: of the widest words that serve both ends.
  static void join(const End& source, const End& target, const Leg& leg, bool wide, std::vector<Mover>& movers);
  /// The same, where values are coded in blocks.
  static void join_blocks(const End& source, const End& target, const Leg& leg, std::vector<Mover>& movers);
  std::vector<Mover> packing(const std::vector<Leg>& legs, const Places& sources, const Slot& slot, bool wide);
  std::vector<Mover> unpacking(const std::vector<Leg>& legs, const Places& targets, const Slot& slot, bool wide);

  Device device_;
  std::deque<Buffer<std::int64_t>> lists_;
  std::vector<Window> windows_;
};

/// Of a produced leg, a window for each component: in packed values, which lie as movers would lay them, and in the
/// target's array.
void add_windows(const Leg& leg, const Slot& slot, std::vector<Window>& windows);
void add_windows(const Leg& leg, const Place& target, std::vector<Window>& windows);

/// Whether boxes of such legs are made of words of 4 bytes, which travel as they are.
bool sealable(const Leg& leg);
/// Bytes of the lines that hold a leg.
std::size_t sealed_bytes(const Leg& leg);

/// Where the packed values of a message that is combined lie from `values` on.
std::vector<Arrived> arrived_at(const std::vector<Leg>& legs, const std::byte* values);

/// The places of a chunk's legs, from those of the message's.
Lowering::Places places_of(const Chunk& chunk, const Lowering::Places& places);

}  // namespace slipstream
