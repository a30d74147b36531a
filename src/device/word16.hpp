#pragma once
#include <cstdint>

namespace slipstream {

/// A word of 16 bytes, the widest access of a GPU thread.
struct alignas(16) Word16 {
  std::uint64_t low, high;
};

}  // namespace slipstream
