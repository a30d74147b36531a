#pragma once
// Fills places with poison before an exchange writes them, and checks them after the caller's kernels stored values.
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/window.hpp>

#include "mover/mover.hpp"

namespace slipstream {

/// Values of a window, or of listed elements from its base on. The base is an address, or an offset into a numbered
/// array.
struct Poisoned {
  Window places;
  const std::int64_t* ids = nullptr;  ///< in device memory
  std::int64_t count = 0;             ///< number of values
  std::int32_t bytes = 0;             ///< bytes per value
};

class Poison {
 public:
  /// `arrays`: the arrays that places refer to by number. They and the ids must outlive this object.
  Poison(Device device, std::vector<Poisoned> places, const Arrays& arrays);
  /// Fills after the work that the stream holds. Does nothing if the exchange has failed (`broken`).
  void fill(Stream& stream, const Signal* broken) const;
  /// Counts the values that still hold poison.
  void look(Stream& stream, const Signal* broken);
  struct Left {
    std::int64_t count = 0;   ///< number of values
    std::int64_t place = -1;  ///< place of the first value
    std::int64_t value = 0;   ///< index of the first value in its place, x fastest
  };
  /// Result of the last look(). Valid once it has run.
  Left left() const;
  const Window& window(std::int64_t place) const { return places_[static_cast<std::size_t>(place)].places; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(table_.bytes() + found_.bytes()); }

 private:
  Device device_;
  std::vector<Poisoned> places_;
  const Arrays* arrays_;
  int teams_, threads_;
  Buffer<Poisoned> table_;
  Buffer<Left> found_;       // one per thread
  Buffer<Left> found_here_;  // pinned
};

}  // namespace slipstream
