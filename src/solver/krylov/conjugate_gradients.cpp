// Preconditioned conjugate gradients whose coefficients stay on the devices.
#include <algorithm>
#include <cmath>
#include <optional>
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

  std::optional<double> polynomial;  ///< Chebyshev's: up to which eigenvalue
  std::optional<Chebyshev> numbers;  ///< of the polynomial that is being applied
  int degree = 1;
  const Precondition* precondition = nullptr;  ///< of the system, where it brings one
  double limit = -1;                           ///< of (r, r), which ends the iterations; -1: none

  void take_precondition(const System& system) {
    polynomial.reset();
    precondition = system.precondition ? &system.precondition : nullptr;
  }
  bool makes_z() const { return polynomial || precondition; }
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
      const double* sums = side.sums.data();
      step(streams[d], side.range,
           {system.weights[d], system.inverse_diagonal[d], q[d], sums + rz_at(now), sums + direction_sum(next),
            side.r.data(), sums + now, limit},
           side.parts.data());
    });
  }

  /// From one direction to the next: x takes its step along the one that ends.
  struct Turning {
    const Vectors& x;
    double scale;             ///< of x over that of r
    std::size_t now, before;  ///< (r, z) of this iteration and of the one before
  };

  /// The part of a turn that may run before it is known whether the iteration was the last one.
  void begin_turn(std::vector<Stream>& streams, const System& system, const Turning& turning) {
    if (!makes_z()) return take_step(streams, turning, &system.inverse_diagonal);
    if (precondition) return;
    numbers.emplace(*polynomial);
    const double first = numbers->first();
    for (std::size_t d = 0; d < sides.size(); ++d)
      chebyshev_begin(streams[d], sides[d].range, system.inverse_diagonal[d], sides[d].r.data(), first,
                      sides[d].d.data(), sides[d].z.data());
  }

  void end_turn(std::vector<Stream>& streams, const System& system, const Turning& turning, bool last) {
    if (!makes_z()) return;
    if (!last && precondition) {
      (*precondition)(residuals(), corrections());
      summed(streams, two, rz_at(turning.now), [&](Side& side, std::size_t d) {
        two_dots(streams[d], side.range, system.weights[d], side.z.data(), side.r.data(), side.q.data(),
                 side.parts.data());
      });
    } else if (!last) {
      finish_polynomial(streams, system);
      summed(streams, one, turning.now, [&](Side& side, std::size_t d) {
        dot(streams[d], side.range, system.weights[d], side.r.data(), side.z.data(), side.parts.data());
      });
    }
    take_step(streams, turning, nullptr);
  }

  /// The next direction is made of D r, or of z where no D is given.
  void take_step(std::vector<Stream>& streams, const Turning& turning, const Values* diagonal) {
    for (std::size_t d = 0; d < sides.size(); ++d) {
      Side& side = sides[d];
      const DeviceSpan span(trace, streams[d], "solver", "vectors", "compute");
      const double* sums = side.sums.data();
      const Turn turn{sums + rz_at(turning.now),
                      sums + rz_at(turning.before),
                      sums + direction_sum(turning.now),
                      sums + turning.before,
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

  /// z of r, from where begin_turn() left it.
  void finish_polynomial(std::vector<Stream>& streams, const System& system) {
    const Vectors z = corrections(), q = images();
    for (int step = 1; step < degree; ++step) {
      system.apply(z, q);
      const auto [a, b] = numbers->next();
      for (std::size_t d = 0; d < sides.size(); ++d)
        chebyshev_next(streams[d], sides[d].range, system.inverse_diagonal[d], sides[d].r.data(), q[d], a, b,
                       sides[d].d.data(), z[d]);
    }
  }

  /// p = z, and x stays. (r, D r) and (r, r) are at first_pair.
  void begin_directions(std::vector<Stream>& streams, const System& system, const Vectors& x) {
    for (std::size_t d = 0; d < sides.size(); ++d) {
      Side& side = sides[d];
      if (side.range.points > 0) fill(streams[d], side.p, 0, side.r.bytes());
      fill(streams[d], side.sums.data() + second_pair, 0, 2 * sizeof(double));
      fill(streams[d], side.sums.data() + conjugate_pairs, 0, 4 * sizeof(double));
      fill(streams[d], side.sums.data() + direction_sum(first_pair), 0, sizeof(double));
    }
    const Turning turning{x, 1, first_pair, second_pair};
    begin_turn(streams, system, turning);
    end_turn(streams, system, turning, false);
  }

  void set_preconditioner(std::vector<Stream>& streams, const System& system, const Options& options) {
    take_precondition(system);
    if (precondition) make_room();
    if (precondition || options.preconditioner == Preconditioner::jacobi) return;
    make_room();
    // An eigenvalue beyond the end would make the preconditioner negative; Lanczos's method comes from below.
    const double largest =
        system.largest_eigenvalue > 0 ? system.largest_eigenvalue : largest_eigenvalue(streams, system);
    polynomial = 1.1 * largest;
    degree = options.degree;
  }

  double largest_eigenvalue(std::vector<Stream>& streams, const System& system) {
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
    double rz = read(streams)[rz_at(first_pair)];
    for (int n = 0; n < steps && rz > 0; ++n) {
      const std::size_t now = pair_after(n), next = pair_after(n + 1);
      descend(streams, system, now, next);
      const Turning turning{x, 1, next, now};
      begin_turn(streams, system, turning);
      end_turn(streams, system, turning, false);
      const Sums sums = read(streams);
      alpha.push_back(rz / sums[direction_sum(next)]);
      beta.push_back(sums[rz_at(next)] / rz);
      rz = sums[rz_at(next)];
    }
    const double found = largest_seen(alpha, beta);
    require_solved(std::isfinite(found) && found > 0,
                   "Chebyshev's polynomial: the largest eigenvalue is found to be " + std::to_string(found) +
                       "; the matrix or its diagonal is not positive",
                   {{"problem", "eigenvalue"}, {"given", found}});
    return found;
  }

  Result solve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
               const Options& options) {
    on_host = options.sums_on_host;
    trace = options.trace;
    limit = -1;
    const HostSpan whole(trace, "conjugate gradients");
    set_preconditioner(streams, system, options);
    return solve_from(streams, system, b, x, options, [&](const Beginning& from, Result& result) {
      iterate(streams, system, x, from, options, result);
    });
  }

  /// The host looks at each residual while the devices take the step and make the next direction. Where the end is far
  /// it queues the next iteration before it looks; that one changes nothing if the one before was the last.
  void iterate(std::vector<Stream>& streams, const System& system, const Vectors& x, const Beginning& from,
               const Options& options, Result& result) {
    begin_directions(streams, system, x);
    limit = from.limit;
    int queued = 0;
    const auto look = [&] {
      const std::size_t pair = pair_after(++result.iterations);
      const Sums sums = received(pair);
      require_solved(!(sums[direction_sum(pair)] < 0),
                     method_for(method, options) + ": (p, A p) is " + show(sums[direction_sum(pair)]) +
                         " in iteration " + std::to_string(result.iterations) +
                         ": the system is not positive; take flexible GMRES",
                     {{"field", options.field}, {"problem", "indefinite"}, {"iterations", result.iterations}});
      const double rz = makes_z() ? std::min(sums[rz_at(first_pair)], sums[rz_at(second_pair)]) : sums[pair];
      note(result, from, rz, sums[pair + 1], options);
    };
    while (!result.converged && queued < options.most_iterations) {
      const std::size_t now = pair_after(queued), next = pair_after(++queued);
      descend(streams, system, now, next);
      send(streams, next, makes_z());
      const Turning turning{x, from.back, next, now};
      begin_turn(streams, system, turning);
      while (!result.converged && queued - result.iterations > (ends_soon(result.history, from.enough) ? 0 : 1)) look();
      end_turn(streams, system, turning, result.converged || queued == options.most_iterations);
    }
    while (!result.converged && result.iterations < queued) look();
  }

  /// Whether the next residual may be the last one: if it fell as in the last two iterations, but four times as fast.
  /// In short solves an iteration in vain would count too much.
  bool ends_soon(const std::vector<double>& history, double enough) const {
    const std::size_t n = history.size();
    if (makes_z()) return true;
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
  check_options("conjugate gradients", options);
  if (!(options.preconditioner == Preconditioner::jacobi || options.degree >= 1))
    throw Error(ErrorCode::invalid_argument, "Chebyshev's polynomial has degree 1 or more",
                {{"option", "degree"}, {"given", options.degree}});
  return impl_->solve(streams, system, b, x, options);
}

double ConjugateGradients::largest_eigenvalue(std::vector<Stream>& streams, const System& system) {
  return impl_->largest_eigenvalue(streams, system);
}

Method method_from_string(const std::string& name) {
  if (name == "cg") return Method::conjugate_gradients;
  if (name == "fgmres") return Method::flexible_gmres;
  throw Error(ErrorCode::invalid_argument, "no Krylov method is called '" + name + "': choose cg or fgmres",
              {{"option", "method"}, {"given", name}});
}

Preconditioner preconditioner_from_string(const std::string& name) {
  if (name == "jacobi") return Preconditioner::jacobi;
  if (name == "chebyshev") return Preconditioner::chebyshev;
  throw Error(ErrorCode::invalid_argument, "no preconditioner is called '" + name + "': choose jacobi or chebyshev",
              {{"option", "preconditioner"}, {"given", name}});
}

}  // namespace slipstream::krylov
