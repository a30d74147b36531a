#pragma once
// What encoding and decoding a message takes, alone, for the report.
#include <vector>

#include "route/mover.hpp"

namespace slipstream {

struct CodingTimes {
  double encode_us = -1, decode_us = -1;
};

/// Of the movers of a message that encode. Their values are read where they lie, and written and read as they travel in
/// memory that ends with the call; they are decoded side by side. Waits for the device.
CodingTimes time_coding(Device device, std::vector<Mover> encoding, const Arrays& arrays);

}  // namespace slipstream
