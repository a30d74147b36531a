#pragma once
#include <vector>

#include "route/program.hpp"

namespace slipstream {

/// The movers of one message outside the launch that serves all: a launch of their own, or a strided copy a box.
class Moves {
 public:
  /// `movers` per binding. Throws Error where `pack` is memcpy3d and a mover takes a list of elements.
  Moves(Device device, std::vector<std::vector<Mover>> movers, const Knobs& knobs, const Pulse& pulse);
  void run(Stream& stream, int binding, std::uint64_t sequence) const;
  /// Of device memory.
  std::int64_t bytes() const;

 private:
  std::vector<std::vector<Mover>> boxes_;  // per binding; empty where there are programs
  std::vector<Program> programs_;          // per binding
  Pulse pulse_;
};

}  // namespace slipstream
