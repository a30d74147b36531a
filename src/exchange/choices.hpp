#pragma once
// The one loop that measures choices, and remembers what it found.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "exchange/remembered.hpp"
#include "machine/agree.hpp"

namespace slipstream {

/// Seconds of what could not be measured.
inline constexpr double never = std::numeric_limits<double>::infinity();
/// Times of one and the same thing differ by this factor.
inline constexpr double timing_noise = 1.03;

/// How a choice is measured.
struct Trial {
  /// Runs it once, and returns the seconds that count.
  std::function<double()> run;
  /// Warms it up; empty: run().
  std::function<void()> warm_up = {};
  /// Asked with the seconds of the first trial, the same on all ranks: whether it is the last.
  std::function<bool(double)> hopeless = {};
};

struct Trials {
  double seconds = never;  ///< the least of all trials, of which each is the slowest rank's
  Problem failure;         ///< of some rank, the same on all
};

/// Warms up and tries as often as `how` says, but once at least. Each trial has a common start. The first failure of a
/// rank ends it on all. Collective.
Trials measure(const Communicator& comm, const TuneOptions& how, const Trial& trial);

/// Seconds of a step on the slowest rank, the least of some trials of many steps each. `run` runs so many steps, a
/// `multiple` of a number, and waits for them. Throws Error on all ranks where one fails. Collective.
double seconds_a_step(const Communicator& comm, const TuneOptions& how, const std::function<void(std::int64_t)>& run,
                      std::int64_t multiple = 1);

/// A choice that is to be made.
struct Choices {
  Remembered::Kind kind;
  std::string key;                 ///< all that the answer depends on: see Remembered
  std::vector<std::string> names;  ///< of the choices, a line each, no two alike; the preferred ones first
  double tie = 1;                  ///< a choice that is slower than the fastest by less than this factor is as fast
};

struct Chosen {
  std::size_t choice = 0;          ///< the first of the fastest
  std::vector<double> seconds;     ///< of every choice
  std::string source;              ///< "measured", "cache"; empty where nothing could be measured
  std::string file;                ///< of the cache; empty where there is none
  double spent = 0;                ///< seconds that the choice took
  std::vector<std::string> notes;  ///< a cache that was not read or not written; on rank 0
};

/// Times as Remembered keeps them, a line for each choice that could be measured; and back, empty where a line names
/// none of the choices.
std::string times_to_lines(const std::vector<std::string>& names, const std::vector<double>& seconds);
std::vector<double> times_from_lines(const std::string& lines, const std::vector<std::string>& names);

/// Takes the fastest, by times on disk or else by `seconds`. That is asked for the number of each choice in turn, on
/// all ranks, and tells all the same: never, where it could not be measured. Collective.
Chosen choose_by_time(const Communicator& comm, const Choices& choices, const TuneOptions& how,
                      const std::function<double(std::size_t)>& seconds);

}  // namespace slipstream
