#include "solver/common/loop_condition.hpp"

#include <algorithm>
#include <limits>

#include <slipstream/launch.hpp>

namespace slipstream {
inline namespace loop_condition_kernels {

struct CountPass {
  const std::int32_t* go_on;
  std::int32_t* state;
  std::int32_t most;
  SLIP_FN void operator()(int, int, int) const {
    ++state[1];
    state[0] = *go_on != 0 && state[1] < most ? 1 : 0;
  }
};

}  // namespace loop_condition_kernels

LoopCondition::LoopCondition(const Loop& loop, const std::vector<Device>& devices) : loop_(loop) {
  require(loop.go_on.size() == devices.size(), ErrorCode::mismatch,
          "a loop has " + std::to_string(loop.go_on.size()) + " numbers that end it for the " +
              std::to_string(devices.size()) + " devices of this rank");
  require(loop.most >= 1 && loop.look_every >= 1,
          "a loop makes one pass at least, and the host looks after one or more");
  for (const Device device : devices) states_.emplace_back(device, 2);
  if (!devices.empty()) seen_ = Buffer<std::int32_t>(devices.front(), 1, Memory::pinned);
}

void LoopCondition::reset(std::vector<Stream>& streams) {
  for (std::size_t d = 0; d < streams.size(); ++d) fill(streams[d], states_[d].data(), 0, states_[d].bytes());
}

void LoopCondition::count(std::vector<Stream>& streams) {
  const auto most =
      static_cast<std::int32_t>(std::min<std::int64_t>(loop_.most, std::numeric_limits<std::int32_t>::max()));
  for (std::size_t d = 0; d < streams.size(); ++d)
    launch(streams[d], Box{{0, 0, 0}, {1, 1, 1}}, CountPass{loop_.go_on[d], states_[d].data(), most});
}

bool LoopCondition::look(std::vector<Stream>& streams) {
  if (streams.empty()) return false;
  copy(streams.front(), seen_.data(), states_.front().data(), sizeof(std::int32_t));
  streams.front().synchronize();
  return *seen_.data() != 0;
}

}  // namespace slipstream
