// Windows through which the caller's kernels store values into messages or ghosts. Their layout is that of copies.
#include <slipstream/error.hpp>

#include "mover/lower.hpp"

namespace slipstream {
namespace {

Window window_of(const Leg& leg, std::size_t component) {
  const Transfer& t = *leg.transfer;
  Window w;
  w.item = leg.item;
  w.component = t.source.components[component];
  w.block = t.source_block;
  for (int a = 0; a < 3; ++a) {
    w.lo[a] = t.source.box.lo[a];
    w.hi[a] = t.source.box.hi[a];
  }
  return w;
}

}  // namespace

void add_windows(const Leg& leg, const Slot& slot, std::vector<Window>& windows) {
  require(slot.ring.bytes == 0, ErrorCode::unsupported,
          "a window of a message whose slots take turns has no place of its own");
  const auto size = static_cast<std::int64_t>(size_of(leg.type));
  const IndexSet& set = leg.transfer->source;
  const Extent rows = in_order(leg, set.box.extents());
  const bool together = rows_hold_components(leg);
  const std::int64_t first = together ? leg.components : 1;
  const Extent stride = in_order(leg, {first, first * rows[0], first * rows[0] * rows[1]});
  for (std::size_t c = 0; c < set.components.size(); ++c) {
    Window w = window_of(leg, c);
    const std::int64_t values = static_cast<std::int64_t>(c) * (together ? 1 : set.box.volume());
    w.base = reinterpret_cast<std::intptr_t>(slot.base + leg.offset) + values * size;
    for (int a = 0; a < 3; ++a) w.stride[a] = stride[a] * size;
    windows.push_back(w);
  }
}

/// Adds the windows of a transfer: places in the target's array for its values. Source axis a is target axis axes[a].
void add_windows(const Leg& leg, const Place& target, std::vector<Window>& windows) {
  const auto size = static_cast<std::int64_t>(size_of(leg.type));
  const IndexSet& set = leg.transfer->target;
  const BlockShape& shape = target.shape;
  std::int64_t corner = 0;
  for (int a = 0; a < 3; ++a) corner += set.box.lo[a] * shape.stride[a];
  for (std::size_t c = 0; c < set.components.size(); ++c) {
    Window w = window_of(leg, c);
    w.array = target.array;
    w.base =
        reinterpret_cast<std::intptr_t>(target.origin) + (corner + set.components[c] * shape.component_stride) * size;
    for (std::size_t a = 0; a < 3; ++a) w.stride[a] = shape.stride[leg.transfer->axes[a]] * size;
    windows.push_back(w);
  }
}

}  // namespace slipstream
