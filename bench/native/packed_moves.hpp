#pragma once
#include <cstdint>
#include <vector>

#include <slipstream/fft.hpp>

#include "fft/impl.hpp"

namespace slipstream {

/// The transposes of one Fourier transform whose messages the engine packs, without transforms along lines.
class PackedMoves {
 public:
  PackedMoves(Fft& fft, bool forward) {
    for (fft::Step& step : forward ? fft.impl_->lanes[0].forward : fft.impl_->lanes[0].backward) {
      if (!step.move || step.move->is_stored()) continue;
      for (fft::Part& part : step.move->parts) exchanges_.push_back(part.exchange.get());
    }
  }
  /// Runs all transposes once, with any content of the plan's own arrays. Collective.
  void run(std::vector<Stream>& streams) {
    for (Exchange* exchange : exchanges_) exchange->run(streams);
  }
  /// Bytes that one run sends from a rank's devices to others; 0 if transforms store their results in remote memory.
  std::int64_t sent_bytes(const Machine& machine, int rank) const {
    std::int64_t sent = 0;
    for (const Exchange* exchange : exchanges_)
      for (const MessageInfo& message : exchange->messages())
        if (machine.device(message.source).rank == rank && message.source != message.target) sent += message.bytes;
    return sent;
  }

 private:
  std::vector<Exchange*> exchanges_;
};

}  // namespace slipstream
