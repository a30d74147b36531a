#pragma once
// How `slipstream bench` takes times: by device events, by the host's clock, as the median of the slowest rank's.
#include <array>
#include <functional>
#include <vector>

#include <slipstream/stream.hpp>

#include "machine/clock.hpp"

namespace slipstream::python {

using Work = std::function<void()>;

double median(std::vector<double> values);

/// Median over repeats of the slowest rank's times. Collective.
double slowest_rank_median(std::vector<double> times);

/// Median seconds of single calls that fill about `budget` seconds: at least `least`, at most `most`. Two calls warm
/// up. Of one process only: the number of calls is its own.
double median_seconds(double budget, int least, int most, const Work& call);

/// Microseconds of one `queue`, which queues its work on `streams`, by device events: queued back to back, `repeats`
/// times, slowest device and rank. With `runs_per_graph` above zero a graph of so many runs is captured and replayed.
/// Up to ten repeats warm up. Collective.
double events_us(std::vector<Stream>& streams, int runs_per_graph, int repeats, const Work& queue);

/// Microseconds of one `timed` by the host's clock, after a barrier each; `untimed` follows before the next barrier.
/// Up to ten repeats warm up. Collective.
double host_us(
    int repeats, const Work& timed, const Work& untimed = [] {});

/// Least microseconds of each of two `timed`, by the host's clock as above, in turn: what a busy host adds is in
/// neither or seen in one. Collective.
std::array<double, 2> least_host_us(int repeats, const std::array<Work, 2>& timed, const Work& untimed);

void synchronize(std::vector<Stream>& streams);

}  // namespace slipstream::python
