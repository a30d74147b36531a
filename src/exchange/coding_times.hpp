#pragma once
// Times the encoding and decoding of a message in isolation, for the report.
#include <vector>

#include "mover/mover.hpp"

namespace slipstream {

struct CodingTimes {
  double encode_us = -1, decode_us = -1;
};

/// Times encoding and decoding of one message, apart from its transfer. `encoding`: its copies that encode. They read
/// the exchange's arrays in place; codes and decoded values go to temporary memory. Blocks until the device is done.
CodingTimes time_coding(Device device, std::vector<Mover> encoding, const Arrays& arrays);

}  // namespace slipstream
