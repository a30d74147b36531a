#pragma once
// The time of encoding and decoding a message, alone, for the report.
#include <vector>

#include "route/mover.hpp"

namespace slipstream {

struct CodingTimes {
  double encode_us = -1, decode_us = -1;
};

/// `encoding`: the movers of a message that encode. Their values are read where they lie. Codes and decoded values,
/// side by side, go to memory that ends with the call. Waits for the device.
CodingTimes time_coding(Device device, std::vector<Mover> encoding, const Arrays& arrays);

}  // namespace slipstream
