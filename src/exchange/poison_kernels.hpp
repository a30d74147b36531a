#pragma once
// Places that are poisoned before an exchange brings them values, and looked at after the caller's kernels stored them.
#include <cstdint>
#include <optional>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/window.hpp>

#include "route/mover.hpp"

namespace slipstream {

/// The values of a window, or those at listed elements from its base on. Its base is an address, or bytes from the
/// first of an array that is known by number.
struct Poisoned {
  Window places;
  const std::int64_t* ids = nullptr;  ///< in device memory
  std::int64_t count = 0;             ///< values
  std::int32_t bytes = 0;             ///< of a value
};

class Poison {
 public:
  /// `arrays`: those that places know by number; must outlive this, as what `ids` point to.
  Poison(Device device, std::vector<Poisoned> places, const Arrays& arrays);
  bool empty() const { return places_.empty(); }
  /// Behind what the stream holds; nothing where `broken` says so.
  void fill(Stream& stream, const Signal* broken) const;
  /// Looks whether values are as fill() left them.
  void look(Stream& stream, const Signal* broken);
  struct Left {
    std::int64_t count = 0;       ///< of values
    std::int64_t place = -1;      ///< of the first: its place, of those that this was made with
    std::int64_t value = 0;       ///< and which of its values, x fastest
    void add(const Left& other);  ///< the first of both
  };
  /// What look() found, where it has ended.
  Left left() const;
  const Window& window(std::int64_t place) const { return places_[static_cast<std::size_t>(place)].places; }
  std::int64_t bytes() const;

 private:
  Device device_;
  std::vector<Poisoned> places_;
  const Arrays* arrays_;
  int teams_, threads_;
  Buffer<Poisoned> table_;
  Buffer<Left> found_;       // of every thread
  Buffer<Left> found_here_;  // pinned
};

}  // namespace slipstream
