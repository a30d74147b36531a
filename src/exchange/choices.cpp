#include "exchange/choices.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "machine/clock.hpp"

namespace slipstream {
namespace {

/// Target duration in seconds of one measurement of a choice. Shorter ones vary too much with the host's scheduler.
constexpr double trial_seconds = 0.04;

}  // namespace

Trials measure(const Communicator& comm, const TuneOptions& how, const Trial& trial) {
  Problem here;
  for (int n = 0; n < how.warm_ups; ++n)
    attempt(
        here, trial.warm_up ? trial.warm_up : [&] { trial.run(); });
  Trials found;
  found.failure = first_failure(comm, here);
  for (int n = 0; n < std::max(1, how.trials) && !found.failure; ++n) {
    double taken = never;
    comm.barrier();
    const Problem failed = failure_of([&] { taken = trial.run(); });
    const double slowest = comm.max(taken);
    found.failure = first_failure(comm, failed);
    if (found.failure) break;
    found.seconds = std::min(found.seconds, slowest);
    if (n == 0 && trial.hopeless && trial.hopeless(found.seconds)) break;
  }
  return found;
}

double seconds_a_step(const Communicator& comm, const TuneOptions& how, const std::function<void(std::int64_t)>& run,
                      std::int64_t multiple) {
  TuneOptions times = how;
  times.warm_ups = 0;
  const auto timed = [&](std::int64_t steps, int trials) {
    times.trials = trials;
    const Trials found = measure(comm, times, {[&] {
                                   const double start = seconds_now();
                                   run(steps);
                                   return seconds_now() - start;
                                 }});
    throw_if(found.failure);
    return found.seconds / static_cast<double>(steps);
  };
  const double guess = timed(std::max(1, how.warm_ups), 1);
  const auto steps = static_cast<std::int64_t>(std::clamp(trial_seconds / std::max(guess, 1e-9), 4.0, 400.0));
  return timed((steps + multiple - 1) / multiple * multiple, std::min(how.trials, 3));
}

std::string microseconds(double time) {
  char text[40];
  std::snprintf(text, sizeof text, time < 100 ? "%.1f us" : "%.0f us", time);
  return text;
}

Chosen choose_by_time(const Communicator& comm, const Choices& choices, const TuneOptions& how,
                      const std::function<double(std::size_t)>& seconds) {
  const double start = seconds_now();
  ResultCache cache(choices.kind, choices.key, how);
  Chosen chosen;
  const auto read = [&](const std::string& lines) {
    chosen.seconds = times_from_lines(lines, choices.names);
    return !chosen.seconds.empty();
  };
  cache.find(comm, read, [&] {
    std::vector<double> measured;
    for (std::size_t n = 0; n < choices.names.size(); ++n) measured.push_back(seconds(n));
    return times_to_lines(choices.names, measured);
  });
  chosen.seconds.resize(choices.names.size(), never);
  const double least = *std::min_element(chosen.seconds.begin(), chosen.seconds.end());
  const auto first = std::find_if(chosen.seconds.begin(), chosen.seconds.end(),
                                  [&](double each) { return each <= choices.tie * least; });
  chosen.choice = static_cast<std::size_t>(first - chosen.seconds.begin());
  if (std::isfinite(least)) chosen.source = cache.measured() ? "measured" : "cache";
  chosen.file = cache.file();
  chosen.notes = std::move(cache.notes());
  chosen.spent = seconds_now() - start;
  return chosen;
}

std::string times_to_lines(const std::vector<std::string>& names, const std::vector<double>& seconds) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  for (std::size_t n = 0; n < names.size(); ++n)
    if (std::isfinite(seconds[n])) text << seconds[n] << ' ' << names[n] << '\n';
  return text.str();
}

std::vector<double> times_from_lines(const std::string& lines, const std::vector<std::string>& names) {
  std::vector<double> seconds(names.size(), never);
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    double time = 0;
    std::string name;
    std::getline(words >> time >> std::ws, name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (!words || found == names.end()) return {};
    seconds[static_cast<std::size_t>(found - names.begin())] = time;
  }
  return seconds;
}

}  // namespace slipstream
