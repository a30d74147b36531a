#pragma once
#include "device/faults.hpp"

namespace slipstream {

/// During its lifetime, teardowns wait one second for ranks that may have died, not five.
struct ShortTeardown {
  ShortTeardown() { faults::shorten_teardowns(1); }
  ~ShortTeardown() { faults::shorten_teardowns(0); }
  ShortTeardown(const ShortTeardown&) = delete;
  ShortTeardown& operator=(const ShortTeardown&) = delete;
};

}  // namespace slipstream
