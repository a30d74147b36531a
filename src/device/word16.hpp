#pragma once
#include <cstdint>

namespace slipstream {

/// The widest access of a GPU thread: 16 bytes.
struct alignas(16) Word16 {
  std::uint64_t low, high;
};

}  // namespace slipstream
