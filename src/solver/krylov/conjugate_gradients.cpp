// Preconditioned conjugate gradients whose coefficients stay on the devices.
#include <algorithm>
#include <atomic>
#include <cmath>

#include <slipstream/error.hpp>
#include <slipstream/krylov.hpp>
#include <slipstream/trace.hpp>

#include "device/record_graphs.hpp"
#include "device/recorded_calls.hpp"
#include "solver/krylov/chebyshev.hpp"
#include "solver/krylov/history.hpp"
#include "solver/krylov/linear_solve.hpp"
#include "solver/krylov/messages.hpp"
#include "solver/krylov/vector_kernels.hpp"
#include "solver/krylov/workspace.hpp"

namespace slipstream::krylov {
namespace {

/// Index among a device's scalars of the sums with (r, r), r the residual, after a number of iterations; two alternate.
constexpr std::size_t pair_after(int iterations) { return iterations % 2 == 0 ? first_pair : second_pair; }
/// Index among the sums of (p, A p) of the iteration whose (r, z) and (r, r) lie at index `pair`.
constexpr std::size_t direction_sum(std::size_t pair) { return pair + 2; }

}  // namespace

struct ConjugateGradients::Impl : LinearSolve {
  Impl(const Communicator& c, const Machine& machine, Layout l)
      : LinearSolve(c, machine, std::move(l), "conjugate gradients") {}
  ~Impl() { finish(); }

  const Precondition* precondition = nullptr;  ///< the system's preconditioner, if it has one
  /// Key of a recorded solve among the graphs that can be replayed.
  struct Call {
    std::uint64_t recording;
    Vectors x;
    bool operator==(const Call&) const = default;
  };
  RecordedCalls<Call> calls;
  std::vector<History> histories;  ///< scalar products of past iterations, such as (r, r), by device

  void take_precondition(const System& system) {
    precondition = system.precondition ? &system.precondition : nullptr;
    if (precondition) make_room();
  }
  /// Index of an iteration's sum (r, z), residual times preconditioned residual. `pair`: index of its sums with (r, r).
  std::size_t rz_at(std::size_t pair) const {
    return !precondition ? pair : pair == first_pair ? conjugate_pairs : conjugate_pairs + 2;
  }

  /// First half of a conjugate-gradient iteration: applies the operator to the direction, and updates the residual r.
  /// `now`, `next`: indices of the sums (r, z) and (r, r) of this and of the next iteration. The vector updates of a
  /// whole iteration move 88 B per point, in addition to the operator.
  void descend(std::vector<Stream>& streams, const System& system, std::size_t now, std::size_t next) {
    const Vectors p = directions(), q = images();
    if (system.apply_with_parts) {
      system.apply_with_parts(p, q, all([](Side & side) -> auto& { return side.parts; }));
    } else {
      system.apply(p, q);
    }
    summed(streams, one, direction_sum(next), [&](Side& side, std::size_t d) {
      if (!system.apply_with_parts) dot(streams[d], side.range, system.weights[d], p[d], q[d], side.parts.data());
    });
    summed(streams, two, next, [&](Side& side, std::size_t d) {
      step(streams[d], side.range,
           {system.weights[d], system.inverse_diagonal[d], q[d], at(d, rz_at(now)), at(d, direction_sum(next)),
            side.r.data(), at(d, now), at(d, limits)},
           side.parts.data());
    });
  }

  /// Second part of an iteration: updates x and the direction.
  struct Turning {
    const Vectors& x;
    std::size_t now, before;  ///< indices, among a device's sums, of the residual norms of this and the last iteration
  };

  /// Queues those updates of x and p that may run before the host knows whether the iteration was the last.
  void begin_turn(std::vector<Stream>& streams, const System& system, const Turning& turning) {
    if (!precondition) take_step(streams, turning, &system.inverse_diagonal);
  }

  void turn(std::vector<Stream>& streams, const System& system, const Turning& turning) {
    begin_turn(streams, system, turning);
    end_turn(streams, system, turning, false);
  }
  void end_turn(std::vector<Stream>& streams, const System& system, const Turning& turning, bool last) {
    if (!precondition) return;
    if (!last) {
      (*precondition)(residuals(), corrections());
      summed(streams, two, rz_at(turning.now), [&](Side& side, std::size_t d) {
        two_dots(streams[d], side.range, system.weights[d], side.z.data(), side.r.data(), side.q.data(),
                 side.parts.data());
      });
    }
    take_step(streams, turning, nullptr);
  }

  /// Updates the solution and the search direction. `diagonal`: Jacobi preconditioner; null: one that the caller gave.
  void take_step(std::vector<Stream>& streams, const Turning& turning, const Values* diagonal) {
    for (std::size_t d = 0; d < sides.size(); ++d) {
      Side& side = sides[d];
      const DeviceSpan span(trace, streams[d], "solver", "vectors", "compute");
      const Turn turn{at(d, rz_at(turning.now)),
                      at(d, rz_at(turning.before)),
                      at(d, direction_sum(turning.now)),
                      at(d, turning.before),
                      turning.x[d],
                      side.p,
                      at(d, scales),
                      at(d, limits),
                      precondition != nullptr};
      if (diagonal) {
        direction(streams[d], side.range, turn, (*diagonal)[d], side.r.data());
      } else {
        direction(streams[d], side.range, turn, side.z.data());
      }
    }
  }

  /// Sets the first search direction p to the preconditioned residual z; sums of an earlier iteration count as zero.
  void begin_directions(std::vector<Stream>& streams, const System& system, const Vectors& x) {
    for (std::size_t d = 0; d < sides.size(); ++d) {
      Side& side = sides[d];
      if (side.range.points > 0) fill(streams[d], side.p, 0, side.r.bytes());
      const auto clear = [&](std::size_t place, std::size_t count) {
        fill(streams[d], at(d, place), 0, count * components * sizeof(double));
      };
      clear(second_pair, 2);
      clear(conjugate_pairs, 4);
      clear(direction_sum(first_pair), 1);
    }
    turn(streams, system, {x, first_pair, second_pair});
  }

  Spectrum spectrum(std::vector<Stream>& streams, const System& system, double reduction) {
    constexpr int steps = 12;
    give(streams, -1, 1);
    take_precondition(system);
    make_room();
    const Vectors p = directions(), x = corrections();
    for (std::size_t d = 0; d < sides.size(); ++d)
      noise(streams[d], sides[d].range, layout.first_block[d] * layout.block, p[d]);
    // r = A p for random p is equal in all copies of a point, zero at prescribed x, and orthogonal to A's null space.
    system.apply(p, residuals());
    sum_residual(streams, system);
    begin_directions(streams, system, x);
    std::vector<double> alpha, beta;
    // One component suffices to estimate eigenvalues: all begin with the same random vector, so their sums are equal.
    double rz = read(streams).paired(rz_at(first_pair), 0, 0);
    const double enough = reduction * rz;
    for (int n = 0; n < steps && rz > enough; ++n) {
      const std::size_t now = pair_after(n), next = pair_after(n + 1);
      descend(streams, system, now, next);
      turn(streams, system, {x, next, now});
      const Sums sums = read(streams);
      const double after = sums.paired(rz_at(next), 0, 0);
      alpha.push_back(rz / sums.single(direction_sum(next), 0));
      beta.push_back(after / rz);
      rz = after;
    }
    if (alpha.empty() && rz == 0) return {};
    const double found = largest_seen(alpha, beta);
    require_solved(std::isfinite(found) && found > 0,
                   "Lanczos's method: the largest eigenvalue is found to be " + std::to_string(found) +
                       "; the matrix or its diagonal is not positive",
                   {{"problem", "eigenvalue"}, {"given", found}});
    return {smallest_seen(alpha, beta), found};
  }

  Results solve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                const Options& options) {
    trace = options.trace;
    const HostSpan whole(trace, "conjugate gradients");
    take_precondition(system);
    return solve_from(streams, system, b, x, options, [&](const Beginnings& from, Results& results) {
      iterate(streams, system, x, from, options, results);
    });
  }

  void iterate(std::vector<Stream>& streams, const System& system, const Vectors& x, const Beginnings& from,
               const Options& options, Results& results) {
    give(streams, each(from, &Beginning::limit), each(from, &Beginning::back));
    begin_directions(streams, system, x);
    if (system.recording != 0 && loopable()) {
      const auto record = [&] { return recorded(streams, system, x); };
      const auto forget = [&] {
        for (Stream& stream : streams) synchronize(stream.device());
      };
      if (const auto* graphs = calls.find({system.recording, x}, record, forget))
        return replay(streams, system, x, *graphs, from, options, results);
    }
    // The host checks each residual while the devices begin the next direction.
    for (int n = 0; n < options.most_iterations && !done(results); ++n) {
      const std::size_t now = pair_after(n), next = pair_after(n + 1);
      descend(streams, system, now, next);
      send(streams, next, precondition != nullptr);
      const Turning turning{x, next, now};
      begin_turn(streams, system, turning);
      take_down(received(next), next, from, results);
      end_turn(streams, system, turning, done(results) || n + 1 == options.most_iterations);
    }
  }

  static bool done(const Results& results) {
    return std::all_of(results.begin(), results.end(), [](const Result& result) { return result.converged; });
  }

  /// Records a graph that the devices repeat, one iteration a pass, until the residual is small enough.
  std::vector<Graph> recorded(std::vector<Stream>& streams, const System& system, const Vectors& x) {
    if (histories.empty())
      for (const Side& side : sides) histories.emplace_back(side.r.device(), components * places);
    std::vector<Graph> graphs = record_graphs(streams, [&] {
      turn(streams, system, {x, second_pair, first_pair});
      descend(streams, system, second_pair, third_pair);
      take_down(streams, true);
    });
    for (std::size_t d = 0; d < sides.size(); ++d)
      graphs[d] = repeat(streams[d].device(), graphs[d], histories[d].state.data());
    return graphs;
  }

  /// Stores the scalar products of an iteration, such as (r, r) of the residual r, in the convergence histories. In a
  /// replayed graph it also moves them to the places of the iteration before, where the next replay reads them.
  void take_down(std::vector<Stream>& streams, bool replayed) {
    const auto values = [&](std::size_t place) { return static_cast<int>(components * place); };
    const auto down = [&](std::size_t from, std::size_t to, int count) {
      return TakeDown::Shift{values(to), values(from), replayed ? count : 0};
    };
    for (std::size_t d = 0; d < sides.size(); ++d) {
      History& history = histories[d];
      krylov::take_down(streams[d],
                        {.sums = at(d, 0),
                         .count = values(places),
                         .components = values(1),
                         .pairs = values(second_pair),
                         .limit = values(limits),
                         .shifts = {down(second_pair, first_pair, values(3)), down(third_pair, second_pair, values(3)),
                                    down(rz_at(second_pair), rz_at(first_pair), precondition ? values(2) : 0)},
                         .history = history.sums.data(),
                         .state = history.state.data()});
    }
  }

  /// Replays graphs while the histories have room for more iterations. Iterations after convergence change nothing.
  void replay(std::vector<Stream>& streams, const System& system, const Vectors& x, const std::vector<Graph>& graphs,
              const Beginnings& from, const Options& options, Results& results) {
    int seen = 0;
    const auto reset = [&] {
      for (std::size_t d = 0; d < sides.size(); ++d)
        histories[d].reset(streams[d], std::min(options.most_iterations - seen, History::room));
    };
    reset();
    descend(streams, system, first_pair, second_pair);
    take_down(streams, false);
    for (;;) {
      for (const Sums& sums : histories.front().read(streams.front(), components)) {
        take_down(sums, second_pair, from, results);
        ++seen;
      }
      one.check();
      two.check();
      if (done(results) || seen >= options.most_iterations) break;
      reset();
      for (std::size_t d = 0; d < sides.size(); ++d) graphs[d].launch(streams[d]);
    }
    take_step(streams, {x, second_pair, first_pair}, precondition ? nullptr : &system.inverse_diagonal);
  }

  void take_down(const Sums& sums, std::size_t pair, const Beginnings& from, Results& results) const {
    for (std::size_t c = 0; c < components; ++c)
      if (!results[c].converged) take_down(results[c], from[c], sums, pair, c);
  }

  /// Adds an iteration of a component to its result: counts it, tests (p, A p), and notes the residual.
  void take_down(Result& result, const Beginning& from, const Sums& sums, std::size_t pair, std::size_t c) const {
    const Options& options = of_components[c];
    const double energy = sums.single(direction_sum(pair), c);
    ++result.iterations;
    require_solved(!(energy < 0),
                   method_for(method, options) + ": (p, A p) is " + show(energy) + " in iteration " +
                       std::to_string(result.iterations) + ": the system is not positive; take flexible GMRES",
                   {{"field", options.field}, {"problem", "indefinite"}, {"iterations", result.iterations}});
    const double rz = precondition
                          ? std::min(sums.paired(rz_at(first_pair), c, 0), sums.paired(rz_at(second_pair), c, 0))
                          : sums.paired(pair, c, 0);
    note(result, from, rz, sums.paired(pair, c, 1), options);
  }
};

std::uint64_t new_recording() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

void Effort::add(Result result) {
  ++solutions;
  iterations += result.iterations;
  unconverged += result.converged ? 0 : 1;
  rounded += result.rounded ? 1 : 0;
  last = std::move(result);
}

ConjugateGradients::ConjugateGradients(const Communicator& comm, const Machine& machine, Layout layout)
    : impl_(std::make_unique<Impl>(comm, machine, std::move(layout))) {}
ConjugateGradients::~ConjugateGradients() = default;
ConjugateGradients::ConjugateGradients(ConjugateGradients&&) noexcept = default;

Result ConjugateGradients::solve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                                 const Options& options) {
  impl_->require_one_component("the solve that is asked for");
  return solve_all(streams, system, b, x, options).front();
}

std::vector<Result> ConjugateGradients::solve_all(std::vector<Stream>& streams, const System& system, const Values& b,
                                                  const Vectors& x, const Options& options) {
  check_options("conjugate gradients", options);
  return impl_->solve(streams, system, b, x, options);
}

Spectrum ConjugateGradients::spectrum(std::vector<Stream>& streams, const System& system, double reduction) {
  return impl_->spectrum(streams, system, reduction);
}

}  // namespace slipstream::krylov
