#include "solver/krylov/history.hpp"

#include <algorithm>

namespace slipstream::krylov {

History::History(Device device, std::size_t sums_of_an_iteration)
    : sums(device, room * sums_of_an_iteration),
      state(device, 4),
      count_(sums_of_an_iteration),
      host_(device, room * sums_of_an_iteration, Memory::pinned),
      host_state_(device, 8, Memory::pinned) {}

void History::reset(Stream& stream, int most) {
  const std::int32_t begin[] = {1, 0, 0, most};
  std::copy_n(begin, 4, host_state_.data());
  copy(stream, state.data(), host_state_.data(), state.bytes());
}

std::vector<Sums> History::read(Stream& stream, std::size_t components) {
  std::int32_t* const seen = host_state_.data() + 4;
  copy(stream, seen, state.data(), state.bytes());
  copy(stream, host_.data(), sums.data(), sums.bytes());
  stream.synchronize();
  std::vector<Sums> all;
  for (std::int32_t n = 0; n < seen[1]; ++n) {
    const double* const first = host_.data() + static_cast<std::size_t>(n) * count_;
    all.push_back({{first, first + count_}, components});
  }
  return all;
}

}  // namespace slipstream::krylov
