#include "solver/common/memory_share.hpp"

#include <algorithm>

namespace slipstream {

double memory_share(const Machine& machine, const std::vector<ArrayBytes>& needed) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(machine.devices()), 0);
  for (const ArrayBytes& array : needed) bytes[static_cast<std::size_t>(array.device)] += array.bytes;
  double most = 0;
  for (int d = 0; d < machine.devices(); ++d)
    most = std::max(
        most, static_cast<double>(bytes[static_cast<std::size_t>(d)]) / static_cast<double>(machine.device(d).memory));
  return most;
}

}  // namespace slipstream
