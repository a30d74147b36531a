#pragma once
// Times the encoding and decoding of a message in isolation, for the report.
#include <vector>

#include "route/mover.hpp"

namespace slipstream {

struct CodingTimes {
  double encode_us = -1, decode_us = -1;
};

/// `encoding`: the movers of a message that encode. They read the values in place. Codes and decoded values go to
/// temporary memory. Blocks until the device has finished.
CodingTimes time_coding(Device device, std::vector<Mover> encoding, const Arrays& arrays);

}  // namespace slipstream
