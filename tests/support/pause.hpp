#pragma once
// A kernel that keeps a stream busy.
#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

namespace slipstream {

struct Pause {
  std::uint64_t nanoseconds;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const std::uint64_t wanted = nanoseconds;
    team.each([wanted](int) {
      const std::uint64_t start = clock_ns();
      for (int round = 0; clock_ns() - start < wanted; ++round) backoff(round);
    });
  }
};

inline void pause(std::vector<Stream>& streams, std::uint64_t nanoseconds) {
  for (Stream& stream : streams) launch_teams(stream, 1, 1, 0, Pause{nanoseconds});
}

}  // namespace slipstream
