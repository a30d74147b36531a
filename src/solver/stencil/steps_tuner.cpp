// How many steps an exchange should serve: measured once, and remembered.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <sstream>

#include <slipstream/error.hpp>

#include "exchange/remembered.hpp"
#include "exchange/tuner_cache.hpp"
#include "machine/clock.hpp"
#include "solver/common/fullness.hpp"
#include "solver/stencil/impl.hpp"

namespace slipstream::stencil {
namespace {

/// A measurement lasts about so long.
constexpr double trial_seconds = 0.1;

/// All that the answer depends on; `possible`: numbers of steps.
std::string key_of(const Machine& machine, int rank, const Options& options, const std::vector<int>& possible) {
  const Grid grid = plan_grid(machine, options, rank);
  const Halo halo = halo_of(grid, options);
  std::vector<PlannedItem> items{{&halo, field_options(grid, options, true, "u"), {}, false, options.coding}};
  std::ostringstream text;
  text << (options.equation == Equation::heat ? "heat " : "wave ") << options.points << ' ' << options.order
       << " overlap " << static_cast<int>(options.overlap) << " up to " << possible.back() << " | "
       << tuner_key(grid, items, options.exchange);
  return text.str();
}

std::string to_lines(const StepsTuning& found) {
  std::ostringstream text;
  text << "steps " << found.steps;
  for (const auto& [steps, seconds] : found.tried) text << ' ' << steps << ' ' << seconds;
  text << '\n';
  return text.str();
}

std::optional<StepsTuning> from_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string word;
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

/// Blocks may be too thin for the ghosts of many steps, or the memory too small; both are the same on all ranks.
bool fits(const Machine& machine, int rank, const Options& options) {
  const Grid grid = plan_grid(machine, options, rank);
  try {
    check_blocks(grid, options);
  } catch (const Error&) {
    return false;
  }
  return fullness(machine, memory_needed(grid, options)) <= 1;
}

std::vector<int> possible_steps(const Machine& machine, int rank, Options options) {
  std::vector<int> found{1};
  for (const int steps : {2, 3, 4, 6, 8}) {
    options.steps_per_exchange = steps;
    if (!fits(machine, rank, options)) break;
    found.push_back(steps);
  }
  return found;
}

}  // namespace

StepsTuning tune_steps(const Communicator& comm, const Machine& machine, Options options, const TuneOptions& how) {
  options.steps_per_exchange = 1;
  check(options);
  require(!is_implicit(options), ErrorCode::unsupported, "implicit steps exchange in each iteration",
          {{"option", "scheme"}});
  require(options.coding.kind == Coding::Kind::raw, ErrorCode::unsupported,
          "with values that are rounded on their way the bits depend on the steps for one exchange: say how many",
          {{"option", "steps_per_exchange"}, {"coding", to_string(options.coding)}});
  options.tune.reset();
  const std::vector<int> possible = possible_steps(machine, comm.rank(), options);
  Remembered memory({"the steps of an exchange", "slipstream tuned steps of an exchange 2"},
                    key_of(machine, comm.rank(), options, possible), how);
  std::optional<StepsTuning> found;
  const auto read = [&](const std::string& lines) {
    found = from_lines(lines);
    return found.has_value();
  };
  memory.find(comm, read, [&] {
    StepsTuning best;
    double least = std::numeric_limits<double>::infinity();
    for (const int steps : possible) {
      options.steps_per_exchange = steps;
      best.tried.emplace_back(steps, seconds_a_step(comm, machine, options));
      if (best.tried.back().second >= least) continue;
      least = best.tried.back().second;
      best.steps = steps;
    }
    return to_lines(best);
  });
  found->source = memory.measured() ? "measured" : "cache";
  found->file = memory.file();
  found->notes = std::move(memory.notes());
  return *found;
}

}  // namespace slipstream::stencil
