#pragma once
// Timing for `slipstream bench`: by device events or the host's clock, as the median on the slowest rank.
#include <array>
#include <functional>
#include <vector>

#include <slipstream/stream.hpp>

#include "machine/clock.hpp"

namespace slipstream::python {

using Work = std::function<void()>;

double median(std::vector<double> values);

/// Median over repeats of the times of the slowest rank in each. Collective.
double slowest_rank_median(std::vector<double> times);

/// Median seconds of single calls that fill about `budget` seconds, between `least` and `most` calls, after two
/// warm-ups. Only a single process may use this, because the number of calls is not synchronised.
double median_seconds(double budget, int least, int most, const Work& call);

/// Microseconds by device events of the work that the function `queue` queues on `streams`: `repeats` back to back, on
/// the slowest device and rank. If `runs_per_graph` > 0, replays a graph of that many runs. Up to ten repeats warm up.
/// Collective.
double events_us(std::vector<Stream>& streams, int runs_per_graph, int repeats, const Work& queue);

/// Microseconds of one call of the function `timed` by the host's clock, each after a barrier. The function `untimed`
/// runs before the next barrier. Up to ten repeats warm up. Collective.
double host_us(
    int repeats, const Work& timed, const Work& untimed = [] {});

/// Minimum microseconds of each of two functions, called in turn, by the host's clock after barriers. The minimum
/// excludes delays by other programs. Collective.
std::array<double, 2> least_host_us(int repeats, const std::array<Work, 2>& timed, const Work& untimed);

void synchronize(std::vector<Stream>& streams);

}  // namespace slipstream::python
