#pragma once
// Cuts a large message that the host drives into parts. The first part is sent while later ones are packed, and
// unpacked while later ones travel.
#include <memory>

#include "mover/lower.hpp"
#include "mover/message.hpp"
#include "mover/moves.hpp"

namespace slipstream {

/// The parts of a message; null if it is packed and unpacked at once. Each part holds some of every large transfer, so
/// that both ends of thin rows are moved together. Both ends compute the same parts.
std::shared_ptr<const Cut> parts_of(const Message& message, const std::vector<Leg>& legs);
/// Total bytes of all parts of a message.
std::size_t bytes_of_parts(const Cut& parts);

/// Copies of one part of a message, with an event before or after them.
struct PartMoves {
  std::size_t begin = 0, end = 0;  ///< byte range of the part in the message
  std::unique_ptr<Moves> moves;    ///< copies that pack or unpack this part of the message; null if it needs none
  Event done;
};

}  // namespace slipstream
