#pragma once
// Where a library moves a message, which cannot be told to leave one out, the number of the exchange travels behind the
// values: the launch that packs sets it, unless a wait has given up before, and the one that unpacks waits for it. What
// a broken exchange sends is so never taken for values.
#include <slipstream/arena.hpp>
#include <slipstream/stream.hpp>

#include "route/lower.hpp"

namespace slipstream {

constexpr std::size_t tail_at(std::size_t wire_bytes) { return round_up(wire_bytes, leg_alignment); }
constexpr std::size_t with_tail(std::size_t wire_bytes) { return tail_at(wire_bytes) + leg_alignment; }

inline Signal* tail_of(std::byte* message, std::size_t wire_bytes) {
  return reinterpret_cast<Signal*>(message + tail_at(wire_bytes));
}

/// Before the first exchange. Waits for the device.
inline void clear_tail(Device device, std::byte* message, std::size_t wire_bytes) {
  Stream stream(device);
  fill(stream, message + tail_at(wire_bytes), 0, leg_alignment);
  stream.synchronize();
}

inline Span<std::byte> span_with_tail(const Arena& arena, std::size_t wire_bytes) {
  Span<std::byte> span = arena.take<std::byte>(with_tail(wire_bytes));
  clear_tail(arena.device(), span.data(), wire_bytes);
  return span;
}

}  // namespace slipstream
