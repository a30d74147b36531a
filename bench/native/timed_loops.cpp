#include "native/timed_loops.hpp"

#include <algorithm>

#include <slipstream/graph.hpp>

#include "api/python_common.hpp"

namespace slipstream::python {
namespace {

constexpr int most_warm_up = 10;

void require_repeats(int repeats) { require(repeats > 0, "a time is the median of one repeat or more"); }

/// Captures one graph per stream that holds `runs` repetitions of the work that the function `queue` queues.
std::vector<Graph> captured(std::vector<Stream>& streams, int runs, const Work& queue) {
  for (Stream& stream : streams) stream.begin_capture();
  for (int run = 0; run < runs; ++run) queue();
  std::vector<Graph> graphs;
  for (Stream& stream : streams) graphs.push_back(stream.end_capture());
  return graphs;
}

std::vector<std::vector<Event>> timing_events(const std::vector<Stream>& streams, int count) {
  std::vector<std::vector<Event>> events;
  for (const Stream& stream : streams) {
    auto& of_stream = events.emplace_back();
    for (int i = 0; i < count; ++i) of_stream.emplace_back(stream.device(), true);
  }
  return events;
}

double timed_us(const Work& work) {
  world().barrier();
  const double start = seconds_now();
  work();
  return 1e6 * (seconds_now() - start);
}

void record(std::vector<Stream>& streams, const std::vector<std::vector<Event>>& points, int at) {
  for (std::size_t i = 0; i < streams.size(); ++i) streams[i].record(points[i][at]);
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double slowest_rank_median(std::vector<double> times) {
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_DOUBLE, MPI_MAX, world().mpi()),
      "find the slowest rank");
  return median(times);
}

double median_seconds(double budget, int least, int most, const Work& call) {
  call();
  call();
  std::vector<double> all;
  for (double spent = 0;
       static_cast<int>(all.size()) < least || (spent < budget && static_cast<int>(all.size()) < most);) {
    const double began = seconds_now();
    call();
    all.push_back(seconds_now() - began);
    spent += all.back();
  }
  return median(all);
}

double events_us(std::vector<Stream>& streams, int runs_per_graph, int repeats, const Work& queue) {
  require_repeats(repeats);
  const bool replayed = runs_per_graph > 0;
  std::vector<Graph> graphs;
  if (replayed) graphs = captured(streams, runs_per_graph, queue);
  const auto points = timing_events(streams, repeats + 1);
  world().barrier();
  for (int repeat = -std::min(repeats, most_warm_up); repeat < repeats; ++repeat) {
    if (repeat == 0) record(streams, points, 0);
    if (!replayed) queue();
    for (std::size_t i = 0; i < graphs.size(); ++i) graphs[i].launch(streams[i]);
    if (repeat >= 0) record(streams, points, repeat + 1);
  }
  synchronize(streams);
  std::vector<double> times(repeats, 0.0);
  for (int repeat = 0; repeat < repeats; ++repeat)
    for (const auto& device : points)
      times[repeat] =
          std::max(times[repeat], 1e3 * milliseconds(device[repeat], device[repeat + 1]) / std::max(1, runs_per_graph));
  return slowest_rank_median(times);
}

double host_us(int repeats, const Work& timed, const Work& untimed) {
  require_repeats(repeats);
  std::vector<double> times;
  for (int repeat = -std::min(repeats, most_warm_up); repeat < repeats; ++repeat) {
    const double time = timed_us(timed);
    if (repeat >= 0) times.push_back(time);
    untimed();
  }
  return slowest_rank_median(times);
}

std::array<double, 2> least_host_us(int repeats, const std::array<Work, 2>& timed, const Work& untimed) {
  require_repeats(repeats);
  std::array<double, 2> least{};
  for (int repeat = -1; repeat < repeats; ++repeat)
    for (std::size_t n = 0; n < timed.size(); ++n) {
      const double time = slowest_rank_median({timed_us(timed[n])});
      least[n] = repeat <= 0 ? time : std::min(least[n], time);
      untimed();
    }
  return least;
}

void synchronize(std::vector<Stream>& streams) {
  for (Stream& stream : streams) stream.synchronize();
}

}  // namespace slipstream::python
