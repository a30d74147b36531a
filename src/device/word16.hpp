#pragma once
#include <cstdint>

namespace slipstream {

/// A thread moves so much at once.
struct alignas(16) Word16 {
  std::uint64_t low, high;
};

}  // namespace slipstream
