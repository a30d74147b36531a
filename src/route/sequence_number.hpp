#pragma once
// Puts the number of the exchange behind the values of a message. Some libraries cannot be told to skip a message, and
// so they also send old values of a failed exchange. The launch that packs writes the number only if no wait has timed
// out. The receiver compares the number.
#include <slipstream/arena.hpp>
#include <slipstream/stream.hpp>

#include "mover/lower.hpp"

namespace slipstream {

constexpr std::size_t sequence_at(std::size_t wire_bytes) { return round_up(wire_bytes, leg_alignment); }
constexpr std::size_t with_sequence(std::size_t wire_bytes) { return sequence_at(wire_bytes) + leg_alignment; }

inline Signal* sequence_of(std::byte* message, std::size_t wire_bytes) {
  return reinterpret_cast<Signal*>(message + sequence_at(wire_bytes));
}

/// Clears a message's exchange number before the first exchange. Blocks until the device has finished.
inline void clear_sequence(Device device, std::byte* message, std::size_t wire_bytes) {
  Stream stream(device);
  fill(stream, message + sequence_at(wire_bytes), 0, leg_alignment);
  stream.synchronize();
}

inline Span<std::byte> span_with_sequence(const Arena& arena, std::size_t wire_bytes) {
  Span<std::byte> span = arena.take<std::byte>(with_sequence(wire_bytes));
  clear_sequence(arena.device(), span.data(), wire_bytes);
  return span;
}

}  // namespace slipstream
