// Preconditioned conjugate gradients whose coefficients stay on the devices.
#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include <slipstream/error.hpp>
#include <slipstream/krylov.hpp>
#include <slipstream/trace.hpp>

#include "solver/krylov/chebyshev.hpp"
#include "solver/krylov/messages.hpp"
#include "solver/krylov/vector_kernels.hpp"
#include "solver/krylov/workspace.hpp"

namespace slipstream::krylov {
namespace {

/// r, p and q are those of the system times a power of two, which keeps sums within the range of doubles. Exponents of
/// b and of b - A x beyond `most_exponent` would leave x and products with A too little room.
constexpr int most_exponent = 900, scaled_exponent = 1000;

/// The place of (r, z) and (r, r) after so many iterations.
constexpr std::size_t pair_after(int iterations) { return iterations % 2 == 0 ? first_pair : second_pair; }

}  // namespace

struct ConjugateGradients::Impl : Workspace {
  using Workspace::Workspace;

  std::optional<double> polynomial;  ///< Chebyshev's: up to which eigenvalue
  std::optional<Chebyshev> numbers;  ///< of the polynomial that is being applied
  int degree = 1;
  double limit = -1;  ///< of (r, r), which ends the iterations; -1: none

  /// r = scale (b - A x), with A x in q, then (r, D r) and (r, r) at first_pair.
  void find_residual(std::vector<Stream>& streams, const System& system, const Values& b, const Options& options,
                     double scale) {
    for (std::size_t d = 0; d < sides.size(); ++d)
      residual(streams[d], sides[d].range, b[d], sides[d].q.data(), scale, sides[d].r.data());
    if (options.null_space) take_mean(streams, system.weights, residuals());
    sum_residual(streams, system);
  }

  void sum_residual(std::vector<Stream>& streams, const System& system) {
    summed(streams, two, first_pair, [&](Side& side, std::size_t d) {
      preconditioned(streams[d], side.range, system.weights[d], system.inverse_diagonal[d], side.r.data(),
                     side.parts.data());
    });
  }

  void take_mean(std::vector<Stream>& streams, const Values& weights, const Vectors& u) {
    summed(streams, two, mean_pair,
           [&](Side& side, std::size_t d) { mean(streams[d], side.range, weights[d], u[d], 1, side.parts.data()); });
    for (std::size_t d = 0; d < sides.size(); ++d)
      subtract_mean(streams[d], sides[d].range, sides[d].sums.data() + mean_pair, u[d]);
  }

  void fit_guess(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x, double scale) {
    summed(streams, two, mean_pair, [&](Side& side, std::size_t d) {
      products(streams[d], side.range, system.weights[d], x[d], b[d], side.q.data(), scale, side.parts.data());
    });
    for (std::size_t d = 0; d < sides.size(); ++d)
      multiply(streams[d], sides[d].range, sides[d].sums.data() + mean_pair, x[d], sides[d].q.data());
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
    summed(streams, one, direction_sum, [&](Side& side, std::size_t d) {
      if (!system.apply_with_parts) dot(streams[d], side.range, system.weights[d], p[d], q[d], side.parts.data());
    });
    summed(streams, two, next, [&](Side& side, std::size_t d) {
      const double* sums = side.sums.data();
      step(
          streams[d], side.range,
          {system.weights[d], system.inverse_diagonal[d], q[d], sums + now, sums + direction_sum, side.r.data(), limit},
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
    if (!polynomial) return take_step(streams, turning, &system.inverse_diagonal);
    numbers.emplace(*polynomial);
    const double first = numbers->first();
    for (std::size_t d = 0; d < sides.size(); ++d)
      chebyshev_begin(streams[d], sides[d].range, system.inverse_diagonal[d], sides[d].r.data(), first,
                      sides[d].d.data(), sides[d].z.data());
  }

  void end_turn(std::vector<Stream>& streams, const System& system, const Turning& turning, bool last) {
    if (!polynomial) return;
    if (!last) {
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
      const Turn turn{
          sums + turning.now, sums + turning.before, sums + direction_sum, turning.x[d], side.p, turning.scale, limit};
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
      fill(streams[d], side.sums.data() + direction_sum, 0, sizeof(double));
    }
    const Turning turning{x, 1, first_pair, second_pair};
    begin_turn(streams, system, turning);
    end_turn(streams, system, turning, false);
  }

  void set_preconditioner(std::vector<Stream>& streams, const System& system, const Options& options) {
    polynomial.reset();
    if (options.preconditioner == Preconditioner::jacobi) return;
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
    polynomial.reset();
    make_room();
    const Vectors p = directions(), x = corrections();
    for (std::size_t d = 0; d < sides.size(); ++d)
      noise(streams[d], sides[d].range, layout.first_block[d] * layout.block, p[d]);
    // r = A noise is alike in all copies, zero where x is fixed, and has no part in the null space.
    system.apply(p, residuals());
    sum_residual(streams, system);
    begin_directions(streams, system, x);
    std::vector<double> alpha, beta;
    double rz = read(streams)[first_pair];
    for (int n = 0; n < steps && rz > 0; ++n) {
      const std::size_t now = pair_after(n), next = pair_after(n + 1);
      descend(streams, system, now, next);
      begin_turn(streams, system, {x, 1, next, now});
      const Sums sums = read(streams);
      alpha.push_back(rz / sums[direction_sum]);
      beta.push_back(sums[next] / rz);
      rz = sums[next];
    }
    const double found = largest_seen(alpha, beta);
    require_solved(std::isfinite(found) && found > 0,
                   "Chebyshev's polynomial: the largest eigenvalue is found to be " + std::to_string(found) +
                       "; the matrix or its diagonal is not positive",
                   {{"problem", "eigenvalue"}, {"given", found}});
    return found;
  }

  /// How a solve begins.
  struct Beginning {
    double scale = 1, back = 1;  ///< of r over b - A x, a power of two, and its inverse
    double size = 1;             ///< scaled |b|, or |b - A x| where b is 0
    double enough = 0;           ///< the residual over `size` that ends the solve
    double limit = 0;            ///< the same as (r, r)
    double imbalance = 0;        ///< |(1, b)| / sqrt((1, 1) (b, b)), with a null space
    double rz = 0, rr = 0;       ///< of the first residual
    double most = 0;             ///< the largest of |b| and |b - A x|
  };

  /// Leaves the first residual in r. Refuses what has no solution.
  Beginning begin(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                  const Options& options) {
    const std::string where = method_for(options);
    if (options.from_zero) {
      for (std::size_t d = 0; d < sides.size(); ++d)
        for (double* const vector : {x[d], sides[d].q.data()})
          if (sides[d].range.points > 0) fill(streams[d], vector, 0, sides[d].r.bytes());
    } else if (system.apply_to_guess) {
      system.apply_to_guess(images());
    } else {
      system.apply(x, images());
    }
    const auto [most_of_b, most_of_r] = largest_values(streams, system.weights, b);
    require_solved(std::isfinite(most_of_b), where + ": the right side holds values that are not finite",
                   {{"field", options.field}, {"problem", "right_side"}});
    require_solved(std::isfinite(most_of_r),
                   where +
                       ": b - A x is not finite for the first guess x: the guess or the "
                       "matrix holds values that are not finite",
                   {{"field", options.field}, {"problem", "first_guess"}});
    Beginning from;
    from.most = std::max(most_of_b, most_of_r);
    if (from.most > 0) {
      const int exponent = std::clamp(std::ilogb(from.most), -scaled_exponent, scaled_exponent);
      from.scale = std::ldexp(1.0, -exponent);
      from.back = std::ldexp(1.0, exponent);
    }
    summed(streams, one, square_sum, [&](Side& side, std::size_t d) {
      square(streams[d], side.range, system.weights[d], b[d], from.scale, side.parts.data());
    });
    if (options.null_space)
      summed(streams, two, right_mean, [&](Side& side, std::size_t d) {
        mean(streams[d], side.range, system.weights[d], b[d], from.scale, side.parts.data());
      });
    if (options.fit_guess && !options.from_zero) fit_guess(streams, system, b, x, from.scale);
    find_residual(streams, system, b, options, from.scale);
    const Sums sums = read(streams);
    const double of_b = std::sqrt(sums[square_sum]), of_r = std::sqrt(sums[first_pair + 1]);
    if (most_of_r > 0) from.size = most_of_b > 0 ? of_b : of_r;
    from.rz = sums[first_pair];
    from.rr = sums[first_pair + 1];
    from.enough = std::max(options.tolerance, options.absolute_tolerance * from.scale / from.size);
    from.limit = from.enough * from.size * (from.enough * from.size);
    if (!options.null_space || most_of_b == 0) return from;
    from.imbalance = std::abs(sums[right_mean]) / (std::sqrt(sums[right_mean + 1]) * of_b);
    require_solved(from.imbalance <= options.imbalance,
                   where + ": the right side does not sum to zero (its constant part is " + show(from.imbalance) +
                       " of it), and without a Dirichlet side there is no solution: subtract its mean, or fix the "
                       "boundary values",
                   {{"field", options.field},
                    {"problem", "imbalance"},
                    {"imbalance", from.imbalance},
                    {"limit", options.imbalance}});
    return from;
  }

  Result solve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
               const Options& options) {
    on_host = options.sums_on_host;
    trace = options.trace;
    limit = -1;
    const HostSpan whole(trace, "conjugate gradients");
    set_preconditioner(streams, system, options);
    const Beginning from = begin(streams, system, b, x, options);
    Result result;
    result.imbalance = from.imbalance;
    note(result, from, from.rz, from.rr, options);
    if (!result.converged) require_in_range(from.most, options);
    if (!result.converged && options.most_iterations > 0) iterate(streams, system, x, from, options, result);
    if (options.null_space) take_mean(streams, system.measure, x);
    result.true_residual = result.reported;
    if (result.iterations > 0) {
      system.apply(x, images());
      find_residual(streams, system, b, options, from.scale);
      result.true_residual = std::sqrt(read(streams)[first_pair + 1]) / from.size;
    }
    require_solved(std::isfinite(result.true_residual),
                   method_for(options) + ": x holds values beyond the range of doubles: choose other units",
                   {{"field", options.field}, {"problem", "overflow"}});
    result.rounded = result.converged && result.true_residual > lost * from.enough;
    require_solved(result.converged || !options.must_converge,
                   method_for(options) + " did not converge in " + std::to_string(result.iterations) +
                       " iterations: the last residuals are " + tail_of(result.history) + " of the right side, and " +
                       show(from.enough) + " was asked for; " + likely_cause(result, options, from.enough),
                   {{"field", options.field},
                    {"problem", cause_of(result)},
                    {"iterations", result.iterations},
                    {"residual", result.reported},
                    {"true_residual", result.true_residual},
                    {"tolerance", from.enough}});
    return result;
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
      const double rz = polynomial ? std::min(sums[first_pair], sums[second_pair]) : sums[pair];
      note(result, from, rz, sums[pair + 1], options);
    };
    while (!result.converged && queued < options.most_iterations) {
      const std::size_t now = pair_after(queued), next = pair_after(++queued);
      descend(streams, system, now, next);
      send(streams, next, polynomial.has_value());
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
    if (polynomial) return true;
    if (enough == 0) return false;
    if (n < 8) return true;
    const double pace = std::min({1.0, history[n - 1] / history[n - 2], history[n - 2] / history[n - 3]});
    return history[n - 1] * std::pow(pace, 4) <= enough;
  }

  /// Takes down the residual of an iteration.
  void note(Result& result, const Beginning& from, double rz, double rr, const Options& options) const {
    result.reported = std::sqrt(rr) / from.size;
    result.history.push_back(result.reported);
    result.converged = rr <= from.limit;
    if (!(std::isfinite(rz) && std::isfinite(result.reported) && rz >= 0))
      throw NotSolved(method_for(options) + ": after " + std::to_string(result.iterations) + " iterations (r, z) is " +
                          show(rz) + ", residuals " + tail_of(result.history) +
                          ": the matrix or its diagonal is not positive, or a value is not finite",
                      {{"field", options.field}, {"problem", "not_positive"}, {"iterations", result.iterations}});
  }

  static void require_in_range(double most, const Options& options) {
    const double least = std::ldexp(1.0, -most_exponent), greatest = std::ldexp(1.0, most_exponent);
    require_solved(
        most >= least && most <= greatest,
        method_for(options) + ": the largest value of the right side is " + show(most) +
            ", and the range is 2^-900 to 2^900 (" + show(least) + " to " + show(greatest) + "): choose other units",
        {{"field", options.field}, {"problem", "range"}, {"given", most}, {"least", least}, {"most", greatest}});
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
  if (options.most_iterations < 0)
    throw Error(ErrorCode::invalid_argument, "conjugate gradients: most_iterations is a number of 0 or more",
                {{"option", "most_iterations"}, {"given", options.most_iterations}});
  if (!(std::isfinite(options.tolerance) && options.tolerance >= 0 && std::isfinite(options.absolute_tolerance) &&
        options.absolute_tolerance >= 0))
    throw Error(ErrorCode::invalid_argument, "conjugate gradients: tolerances are numbers of 0 or more",
                {{"option", "tolerance, absolute_tolerance"}});
  if (!(options.preconditioner == Preconditioner::jacobi || options.degree >= 1))
    throw Error(ErrorCode::invalid_argument, "Chebyshev's polynomial has degree 1 or more",
                {{"option", "degree"}, {"given", options.degree}});
  return impl_->solve(streams, system, b, x, options);
}

double ConjugateGradients::largest_eigenvalue(std::vector<Stream>& streams, const System& system) {
  return impl_->largest_eigenvalue(streams, system);
}

Preconditioner preconditioner_from_string(const std::string& name) {
  if (name == "jacobi") return Preconditioner::jacobi;
  if (name == "chebyshev") return Preconditioner::chebyshev;
  throw Error(ErrorCode::invalid_argument, "no preconditioner is called '" + name + "': choose jacobi or chebyshev",
              {{"option", "preconditioner"}, {"given", name}});
}

}  // namespace slipstream::krylov
