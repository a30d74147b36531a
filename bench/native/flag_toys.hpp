#pragma once
// The two toy kernels with which Zheng 2023 (1.3.2) asked what comparing four flags at once is worth.
#include <cstdint>

#include <slipstream/stream.hpp>

namespace slipstream::lbm {

struct FlagToy {
  bool inside = false;      ///< the comparison stands inside of the loop, not outside
  bool four = false;        ///< of the four bytes of a word at once, not of the words
  std::int64_t words = 0;   ///< in each of the two arrays that are compared: a thread for each
  std::int64_t rounds = 0;  ///< of the loop
};

struct FlagToyTime {
  double milliseconds = 0;  ///< of the device
  double checksum = 0;      ///< of what was computed: the same for both comparisons
};

/// Runs a toy kernel once.
FlagToyTime run_flag_toy(Device device, const FlagToy& toy);

}  // namespace slipstream::lbm
