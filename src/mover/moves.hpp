#pragma once
#include <vector>

#include "mover/program.hpp"

namespace slipstream {

/// Movers (copies) of one message outside the device's one launch: a separate launch, or one strided copy per box.
class Moves {
 public:
  /// Prepares a message's copies. Throws Error if Knobs::pack is memcpy3d and a copy has index lists or conversions.
  Moves(Device device, std::vector<Mover> movers, const Arrays* arrays, const Knobs& knobs, const Pulse& pulse);
  void run(Stream& stream, std::uint64_t sequence) const;
  /// Bytes of device memory that the descriptions of these copies take.
  std::int64_t bytes() const { return program_.bytes(); }

 private:
  std::vector<Mover> boxes_;  // boxes that strided copies (memcpy3d) move one by one; empty if a kernel moves them all
  Program program_;
  const Arrays* arrays_;
  Pulse pulse_;
};

}  // namespace slipstream
