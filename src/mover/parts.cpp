#include "mover/parts.hpp"

#include <algorithm>

namespace slipstream {
namespace {

/// Parts of a message have at least 2 MB: a launch takes as long as the transfer of some hundred kilobytes to the host.
constexpr std::size_t smallest_part = 2 << 20, largest_part = 32 << 20;
constexpr std::size_t most_parts = 16, most_parts_unasked = 64;

}  // namespace

std::shared_ptr<const Cut> parts_of(const Message& message, const std::vector<Leg>& legs) {
  const Knobs& knobs = message.knobs;
  if (message.through_slots() || knobs.pack != Pack::fused || knobs.streams != Lanes::per_direction || knobs.sync)
    return {};
  std::size_t each = std::clamp(message.bytes / 8, smallest_part, largest_part);
  each = std::max(each, message.bytes / most_parts_unasked);
  if (knobs.chunk > 0) each = std::max(static_cast<std::size_t>(knobs.chunk), message.bytes / most_parts);
  if (message.bytes < 2 * each) return {};
  auto parts = cut(legs, each);
  return parts->chunks.size() > 1 ? parts : nullptr;
}

std::size_t bytes_of_parts(const Cut& parts) {
  std::size_t bytes = 0;
  for (const Chunk& chunk : parts.chunks) bytes += round_up(chunk.bytes, slot_alignment);
  return bytes;
}

}  // namespace slipstream
