#pragma once
// Times several ways to do the same work (choices), such as routes of messages, and caches the results on disk.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "exchange/result_cache.hpp"
#include "machine/agree.hpp"

namespace slipstream {

/// Infinite time in seconds, for an alternative that could not be measured, so that the tuner never chooses it.
inline constexpr double never = std::numeric_limits<double>::infinity();
/// Repeated measurements of the same choice differ by up to this factor.
inline constexpr double timing_noise = 1.03;

/// Functions that time one of several alternatives, of which the fastest is chosen.
struct Trial {
  /// Runs one alternative, such as an exchange with certain options, once on this rank. Returns its time in seconds.
  std::function<double()> run;
  /// Function for warm-up runs of the measured choice, before the timed ones. If it is empty, run() is called.
  std::function<void()> warm_up = {};
  /// Function of the first measured time of a setting in seconds: true if the setting is too slow to be measured again.
  std::function<bool(double)> hopeless = {};
};

struct Trials {
  double seconds = never;  ///< minimum seconds of all trials; a trial counts its slowest rank
  Problem failure;         ///< first failure of some rank; the same on all ranks
};

/// Times one of the tuner's choices: warm-up runs, then as many timed runs as `how` asks for, at least one. All ranks
/// start each run together, and all stop at the first failure of any rank. Collective.
Trials measure(const Communicator& comm, const TuneOptions& how, const Trial& trial);

/// Seconds per step on the slowest rank: the minimum over a few trials of many steps. `run` runs the given number of
/// steps, a multiple of `multiple`, and waits for them. Throws Error on all ranks if one fails. Collective.
double seconds_a_step(const Communicator& comm, const TuneOptions& how, const std::function<void(std::int64_t)>& run,
                      std::int64_t multiple = 1);

/// Text of a time with its unit: "12.3 us".
std::string microseconds(double time);

/// Alternative settings, such as process grids, of which the one with the shortest measured time is chosen.
struct Choices {
  ResultCache::Kind kind;
  std::string key;                 ///< cache key: text of all that the measured times depend on
  std::vector<std::string> names;  ///< one-line names of the alternative settings, all different; preferred ones first
  double tie = 1;                  ///< choices slower than the fastest by less than this factor count as equal
};

struct Chosen {
  std::size_t choice = 0;          ///< index of the setting that the tuner chose: the first of the fastest
  std::vector<double> seconds;     ///< measured seconds with each alternative setting, such as a process grid
  std::string source;              ///< origin of the times: "measured" or "cache"; empty if nothing could be measured
  std::string file;                ///< path of the cache file; empty if there is none
  double spent = 0;                ///< seconds that it took to find the fastest choice
  std::vector<std::string> notes;  ///< problems with the cache file; filled on rank 0 only
};

/// Converts measured times of choices to lines of text for the `ResultCache` on disk, and back.
/// Choices without a time have no line.
/// times_from_lines() returns nothing if a line names an unknown choice.
std::string times_to_lines(const std::vector<std::string>& names, const std::vector<double>& seconds);
std::vector<double> times_from_lines(const std::string& lines, const std::vector<std::string>& names);

/// Takes the fastest choice, by cached times or else by `seconds`. All ranks call seconds(number) for each choice in
/// turn and must get the same result: `never` if the choice could not be measured. Collective.
Chosen choose_by_time(const Communicator& comm, const Choices& choices, const TuneOptions& how,
                      const std::function<double(std::size_t)>& seconds);

}  // namespace slipstream
