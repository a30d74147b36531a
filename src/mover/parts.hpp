#pragma once
// Cuts a large message that the host drives into parts. The first part is sent while later ones are packed, and
// unpacked while later ones travel.
#include <memory>

#include "mover/lower.hpp"
#include "mover/message.hpp"
#include "mover/moves.hpp"

namespace slipstream {

/// Cuts a large message into parts; null if it is packed and unpacked at once. Each part has a share of every large
/// transfer: opposite sides of a box, which share memory pages, are copied together. Sender and receiver cut alike.
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
