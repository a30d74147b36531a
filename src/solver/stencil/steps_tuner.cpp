// How many steps an exchange should serve: measured once, and remembered.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <sstream>

#include <slipstream/error.hpp>

#include "exchange/tuner_cache.hpp"
#include "machine/clock.hpp"
#include "solver/stencil/impl.hpp"

namespace slipstream::stencil {
namespace {

constexpr const char* header = "slipstream tuned steps of an exchange 1";
constexpr int candidates[] = {1, 2, 3, 4, 6, 8};
/// A measurement lasts about so long.
constexpr double trial_seconds = 0.1;

/// All that the answer depends on.
std::string key_of(const Machine& machine, int rank, const Options& options) {
  const Grid grid = plan_grid(machine, options, rank);
  const Halo halo = halo_of(grid, options);
  std::vector<PlannedItem> items{{&halo, field_options(grid, options, true, "u"), {}, false, options.coding}};
  std::ostringstream text;
  text << (options.equation == Equation::heat ? "heat " : "wave ") << options.points << ' ' << options.order
       << " overlap " << static_cast<int>(options.overlap) << " | " << tuner_key(grid, items, options.exchange);
  return text.str();
}

std::string to_text(const std::string& key, const StepsTuning& found) {
  std::ostringstream text;
  text << header << "\nkey " << key << "\nsteps " << found.steps;
  for (const auto& [steps, seconds] : found.tried) text << ' ' << steps << ' ' << seconds;
  text << '\n';
  return sealed(text.str());
}

std::optional<StepsTuning> from_text(const std::string& key, const std::string& text) {
  const std::optional<std::string> whole = unsealed(text);
  if (!whole) return {};
  std::istringstream lines(*whole);
  std::string first, second, word;
  if (!std::getline(lines, first) || first != header) return {};
  if (!std::getline(lines, second) || second != "key " + key) return {};
  StepsTuning found;
  if (!(lines >> word >> found.steps) || word != "steps" || found.steps < 1) return {};
  std::pair<int, double> one;
  while (lines >> one.first >> one.second) found.tried.push_back(one);
  return found;
}

/// Of the slowest rank. Collective.
double seconds_a_step(const Communicator& comm, const Machine& machine, const Options& options) {
  Stencil run(comm, machine, options);
  run.advance(2 * options.steps_per_exchange);
  for (std::int64_t steps = 12;; steps *= 2) {
    comm.barrier();
    const double start = seconds_now();
    run.advance(steps);
    const double spent = comm.max(seconds_now() - start);
    if (spent >= trial_seconds || steps > 100000) return spent / static_cast<double>(steps);
  }
}

/// Blocks may be too thin for the ghosts of many steps; they are the same on all ranks.
bool fits(const Machine& machine, int rank, const Options& options) {
  try {
    check_blocks(plan_grid(machine, options, rank), options);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

StepsTuning tune_steps(const Communicator& comm, const Machine& machine, Options options, const TuneOptions& how) {
  options.steps_per_exchange = 1;
  check(options);
  require(!is_implicit(options), "implicit steps exchange in each iteration");
  options.tune.reset();
  const std::string key = comm.broadcast(key_of(machine, comm.rank(), options), 0);
  const std::string folder = how.cache_folder.empty() ? tuner_cache_folder() : how.cache_folder;
  const std::string file = folder.empty() ? "" : cache_file(folder, key);
  std::vector<std::string> notes;
  std::string text;
  if (comm.rank() == 0 && !how.retune && !file.empty()) {
    text = read_cache(file).value_or("");
    if (!text.empty() && !from_text(key, text)) {
      notes.push_back("warning: " + file + " is damaged; measured again");
      text.clear();
    }
  }
  text = comm.broadcast(text, 0);
  const bool measured = text.empty();
  if (measured) {
    StepsTuning best;
    double least = std::numeric_limits<double>::infinity();
    for (const int steps : candidates) {
      options.steps_per_exchange = steps;
      if (!fits(machine, comm.rank(), options)) break;
      best.tried.emplace_back(steps, seconds_a_step(comm, machine, options));
      if (best.tried.back().second >= least) continue;
      least = best.tried.back().second;
      best.steps = steps;
    }
    text = comm.broadcast(to_text(key, best), 0);
    if (comm.rank() == 0) {
      const std::string failure = file.empty() ? "neither XDG_CACHE_HOME nor HOME is set" : write_cache(file, text);
      if (!failure.empty()) notes.push_back("the steps of an exchange are not kept: " + failure);
    }
  }
  std::optional<StepsTuning> found = from_text(key, text);
  require(found.has_value(), "the ranks do not agree on the steps of an exchange: they run different builds");
  found->source = measured ? "measured" : "cache";
  found->file = file;
  found->notes = std::move(notes);
  return *found;
}

}  // namespace slipstream::stencil
