#pragma once
#include <vector>

#include "route/program.hpp"

namespace slipstream {

/// The movers of one message outside the launch that serves all: a launch of their own, or a strided copy a box.
class Moves {
 public:
  /// Throws Error where `pack` is memcpy3d and a mover takes a list of elements.
  Moves(Device device, std::vector<Mover> movers, const Arrays* arrays, const Knobs& knobs, const Pulse& pulse);
  void run(Stream& stream, std::uint64_t sequence) const;
  /// Of device memory.
  std::int64_t bytes() const { return program_.bytes(); }

 private:
  std::vector<Mover> boxes_;  // empty where there is a program
  Program program_;
  const Arrays* arrays_;
  Pulse pulse_;
};

}  // namespace slipstream
