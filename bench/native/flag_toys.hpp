#pragma once
// The two toy kernels of Zheng 2023 (1.3.2), which measure the benefit of comparing four flags of cells at once.
#include <cstdint>

#include <slipstream/stream.hpp>

namespace slipstream::lbm {

struct FlagToy {
  bool inside = false;      ///< whether the kernel compares cell flags inside its loop, not before it
  bool four = false;        ///< whether the four cell flags of a 32-bit word are compared at once
  std::int64_t words = 0;   ///< number of words in each of the two compared arrays; one thread per word
  std::int64_t rounds = 0;  ///< number of iterations of the kernel's loop
};

struct FlagToyTime {
  double milliseconds = 0;  ///< kernel time on the device
  double checksum = 0;      ///< sum of the kernel's results; independent of how many cell flags a comparison takes
};

/// Runs a toy kernel once, and returns its time and the checksum of its results.
FlagToyTime run_flag_toy(Device device, const FlagToy& toy);

}  // namespace slipstream::lbm
