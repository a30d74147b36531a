// Preconditioned conjugate gradients whose coefficients stay on the devices.
#include <algorithm>
#include <cmath>
#include <sstream>

#include <slipstream/error.hpp>
#include <slipstream/krylov.hpp>
#include <slipstream/trace.hpp>

#include "solver/krylov/chebyshev.hpp"
#include "solver/krylov/linear_solve.hpp"
#include "solver/krylov/messages.hpp"
#include "solver/krylov/vector_kernels.hpp"
#include "solver/krylov/workspace.hpp"

namespace slipstream::krylov {
namespace {

/// The place of (r, z) and (r, r) after so many iterations.
constexpr std::size_t pair_after(int iterations) { return iterations % 2 == 0 ? first_pair : second_pair; }
/// That of (p, A p), on the way to a pair.
constexpr std::size_t direction_sum(std::size_t pair) { return pair + 2; }

}  // namespace

struct ConjugateGradients::Impl : LinearSolve {
  Impl(const Communicator& c, const Machine& machine, Layout l)
      : LinearSolve(c, machine, std::move(l), "conjugate gradients") {}

  const Precondition* precondition = nullptr;  ///< of the system, where it brings one
  Each limit = -1;                             ///< of (r, r), which ends a component's iterations; -1: none

  void take_precondition(const System& system) {
    precondition = system.precondition ? &system.precondition : nullptr;
    if (precondition) make_room();
  }
  /// The place of (r, z), whose (r, r) lies at a pair.
  std::size_t rz_at(std::size_t pair) const {
    return !precondition ? pair : pair == first_pair ? conjugate_pairs : conjugate_pairs + 2;
  }

  /// An iteration up to its residual. (r, z) and (r, r) are at `now`, those of the next one will be at `next`. An
  /// iteration moves 88 B a point beside the operator. Here it reads r, q, w and D and writes r; a turn reads p, x, r
  /// and D and writes p and x.
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
            side.r.data(), at(d, now), limit},
           side.parts.data());
    });
  }

  /// From one direction to the next: x takes its step along the one that ends.
  struct Turning {
    const Vectors& x;
    Each scale;               ///< of x over that of r
    std::size_t now, before;  ///< (r, z) of this iteration and of the one before
  };

  /// The part of a turn that may run before it is known whether the iteration was the last one.
  void begin_turn(std::vector<Stream>& streams, const System& system, const Turning& turning) {
    if (!precondition) take_step(streams, turning, &system.inverse_diagonal);
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

  /// The next direction is made of D r, or of z where no D is given.
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
                      turning.scale,
                      limit,
                      precondition != nullptr};
      if (diagonal) {
        direction(streams[d], side.range, turn, (*diagonal)[d], side.r.data());
      } else {
        direction(streams[d], side.range, turn, side.z.data());
      }
    }
  }

  /// p = z, and x stays. (r, D r) and (r, r) are at first_pair.
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
    const Turning turning{x, 1, first_pair, second_pair};
    begin_turn(streams, system, turning);
    end_turn(streams, system, turning, false);
  }

  Spectrum spectrum(std::vector<Stream>& streams, const System& system, double reduction) {
    constexpr int steps = 12;
    limit = -1;
    take_precondition(system);
    make_room();
    const Vectors p = directions(), x = corrections();
    for (std::size_t d = 0; d < sides.size(); ++d)
      noise(streams[d], sides[d].range, layout.first_block[d] * layout.block, p[d]);
    // r = A noise is alike in all copies, zero where x is fixed, and has no part in the null space.
    system.apply(p, residuals());
    sum_residual(streams, system);
    begin_directions(streams, system, x);
    std::vector<double> alpha, beta;
    // One component counts: all are alike here.
    double rz = read(streams).paired(rz_at(first_pair), 0, 0);
    const double enough = reduction * rz;
    for (int n = 0; n < steps && rz > enough; ++n) {
      const std::size_t now = pair_after(n), next = pair_after(n + 1);
      descend(streams, system, now, next);
      const Turning turning{x, 1, next, now};
      begin_turn(streams, system, turning);
      end_turn(streams, system, turning, false);
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
    on_host = options.sums_on_host;
    trace = options.trace;
    limit = -1;
    const HostSpan whole(trace, "conjugate gradients");
    take_precondition(system);
    return solve_from(streams, system, b, x, options, [&](const Beginnings& from, Results& results) {
      iterate(streams, system, x, from, options, results);
    });
  }

  /// The host looks at each residual while the devices take the step and make the next direction. Where the end is far
  /// it queues the next iteration before it looks; that one changes nothing if the one before was the last.
  void iterate(std::vector<Stream>& streams, const System& system, const Vectors& x, const Beginnings& from,
               const Options& options, Results& results) {
    begin_directions(streams, system, x);
    limit = each(from, &Beginning::limit);
    const Each back = each(from, &Beginning::back);
    int queued = 0, seen = 0;
    const auto done = [&] {
      return std::all_of(results.begin(), results.end(), [](const Result& result) { return result.converged; });
    };
    const auto look = [&] {
      const std::size_t pair = pair_after(++seen);
      const Sums sums = received(pair);
      for (std::size_t c = 0; c < components; ++c)
        if (!results[c].converged) take_down(results[c], from[c], sums, pair, c);
    };
    // Whether the host waits for each residual.
    const auto near = [&] {
      if (precondition) return true;
      for (std::size_t c = 0; c < components; ++c)
        if (!results[c].converged && !ends_soon(results[c].history, from[c].enough)) return false;
      return true;
    };
    while (!done() && queued < options.most_iterations) {
      const std::size_t now = pair_after(queued), next = pair_after(++queued);
      descend(streams, system, now, next);
      send(streams, next, precondition != nullptr);
      const Turning turning{x, back, next, now};
      begin_turn(streams, system, turning);
      while (!done() && queued - seen > (near() ? 0 : 1)) look();
      end_turn(streams, system, turning, done() || queued == options.most_iterations);
    }
    while (!done() && seen < queued) look();
  }

  /// The sums of an iteration of a component.
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

  /// Whether the next residual may be the last one: if it fell as in the last two iterations, but four times as fast.
  /// In short solves an iteration in vain would count too much.
  static bool ends_soon(const std::vector<double>& history, double enough) {
    const std::size_t n = history.size();
    if (enough == 0) return false;
    if (n < 8) return true;
    const double pace = std::min({1.0, history[n - 1] / history[n - 2], history[n - 2] / history[n - 3]});
    return history[n - 1] * std::pow(pace, 4) <= enough;
  }
};

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

Method method_from_string(const std::string& name) {
  if (name == "cg") return Method::conjugate_gradients;
  if (name == "fgmres") return Method::flexible_gmres;
  throw Error(ErrorCode::invalid_argument, "no Krylov method is called '" + name + "': choose cg or fgmres",
              {{"option", "method"}, {"given", name}});
}

}  // namespace slipstream::krylov
