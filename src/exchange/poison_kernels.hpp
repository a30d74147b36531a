#pragma once
// Debug mode: fills memory with NaN (poison) before values are stored, and counts the NaN that is left.
#include <cstdint>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/window.hpp>

#include "mover/mover.hpp"

namespace slipstream {

/// Values to be filled with NaN: those of a window (view for the caller's kernels), or listed elements from its base
/// on. The base is an address, or an offset into a numbered array.
struct Poisoned {
  Window places;
  const std::int64_t* ids = nullptr;  ///< array indices of the elements to fill with NaN, in device memory
  std::int64_t count = 0;             ///< number of values to fill with poison
  std::int32_t bytes = 0;             ///< bytes of each value
};

class Poison {
 public:
  /// Lists memory that fill() sets to NaN. `arrays`: table of its base addresses by number; must outlive this object.
  Poison(Device device, std::vector<Poisoned> places, const Arrays& arrays);
  /// Writes NaN after the work that the stream holds. Does nothing if the exchange has failed (`broken`).
  void fill(Stream& stream, const Signal* broken) const;
  /// Counts the values that still hold the NaN of fill().
  void look(Stream& stream, const Signal* broken);
  struct Left {
    std::int64_t count = 0;   ///< number of values that still hold NaN
    std::int64_t place = -1;  ///< index of the first listed memory range that still holds NaN
    std::int64_t value = 0;   ///< index of the first value left at NaN, in its box of cells or list of elements
  };
  /// Counts of values with NaN that the last look() found. Valid once its work has run.
  Left left() const;
  const Window& window(std::int64_t place) const { return places_[static_cast<std::size_t>(place)].places; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(table_.bytes() + found_.bytes()); }

 private:
  Device device_;
  std::vector<Poisoned> places_;
  const Arrays* arrays_;
  int teams_, threads_;
  Buffer<Poisoned> table_;
  Buffer<Left> found_;       // counts of values with NaN, one per thread
  Buffer<Left> found_here_;  // copy, in pinned host memory, of the counts of values that still hold NaN
};

}  // namespace slipstream
