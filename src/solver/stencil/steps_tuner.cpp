// Measures how many steps one exchange should serve; the result is cached.
#include <cmath>
#include <sstream>

#include <slipstream/error.hpp>

#include "exchange/choices.hpp"
#include "exchange/tuner_cache.hpp"
#include "solver/common/memory_share.hpp"
#include "solver/stencil/impl.hpp"

namespace slipstream::stencil {
namespace {

/// Number of timed steps: a multiple of each number of steps that is compared.
constexpr std::int64_t whole_exchanges = 24;

/// Cache key of a result, with all that it depends on; `possible`: numbers of steps that are compared.
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

/// Whether blocks and memory have room for the ghosts of many steps; the same on all ranks.
bool fits(const Machine& machine, int rank, const Options& options) {
  const Grid grid = plan_grid(machine, options, rank);
  try {
    check_blocks(grid, options);
  } catch (const Error&) {
    return false;
  }
  return memory_share(machine, memory_needed(grid, options)) <= 1;
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
  Choices choices{{"the steps of an exchange", "slipstream tuned steps of an exchange 3"},
                  key_of(machine, comm.rank(), options, possible),
                  {}};
  for (const int steps : possible) choices.names.push_back(std::to_string(steps));
  Chosen found = choose_by_time(comm, choices, how, [&](std::size_t n) {
    options.steps_per_exchange = possible[n];
    Stencil run(comm, machine, options);
    run.advance(2 * possible[n]);
    return slipstream::seconds_a_step(
        comm, how, [&](std::int64_t steps) { run.advance(steps); }, whole_exchanges);
  });
  StepsTuning tuning{possible[found.choice], {}, found.source, found.file, std::move(found.notes)};
  for (std::size_t n = 0; n < possible.size(); ++n)
    if (std::isfinite(found.seconds[n])) tuning.tried.emplace_back(possible[n], found.seconds[n]);
  return tuning;
}

}  // namespace slipstream::stencil
