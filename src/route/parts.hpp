#pragma once
// A large message that the host drives is packed and unpacked in parts, so that its first values are on their way
// while the others are still packed, and are unpacked while the last ones travel.
#include <memory>

#include "route/lower.hpp"
#include "route/message.hpp"
#include "route/moves.hpp"

namespace slipstream {

/// The parts of a message; null where it is packed and unpacked at once. Each holds something of every large leg, so
/// that both ends of thin rows are moved together. Depends on what both ends know.
std::shared_ptr<const Cut> parts_of(const Message& message, const std::vector<Leg>& legs);
/// Bytes of all parts, one behind the other.
std::size_t bytes_of_parts(const Cut& parts);

/// A part's launch, with the event behind it or before it.
struct PartMoves {
  std::size_t begin = 0, end = 0;  ///< bytes in the message
  std::unique_ptr<Moves> moves;    ///< null: nothing to do
  Event done;
};

}  // namespace slipstream
