#include "solver/krylov/linear_solve.hpp"

#include <algorithm>

#include "solver/krylov/vector_kernels.hpp"

namespace slipstream::krylov {
namespace {

/// r, p and q are scaled by a power of two, which keeps their sums within the range of doubles. Exponents of b and b -
/// A x above `most_exponent` would leave too little range for x and products with A.
constexpr int most_exponent = 900, scaled_exponent = 1000;

}  // namespace

void check_options(const std::string& method, const Options& options) {
  if (options.most_iterations < 0)
    throw Error(ErrorCode::invalid_argument, method + ": most_iterations is a number of 0 or more",
                {{"option", "most_iterations"}, {"given", options.most_iterations}});
  if (!(std::isfinite(options.tolerance) && options.tolerance >= 0 && std::isfinite(options.absolute_tolerance) &&
        options.absolute_tolerance >= 0))
    throw Error(ErrorCode::invalid_argument, method + ": tolerances are numbers of 0 or more",
                {{"option", "tolerance, absolute_tolerance"}});
}

LinearSolve::LinearSolve(const Communicator& c, const Machine& machine, Layout l, const char* name)
    : Workspace(c, machine, std::move(l)), method(name) {}

void LinearSolve::find_residual(std::vector<Stream>& streams, const System& system, const Values& b,
                                const Options& options, const Each& scale) {
  for (std::size_t d = 0; d < sides.size(); ++d)
    residual(streams[d], sides[d].range, b[d], sides[d].q.data(), scale, sides[d].r.data());
  if (options.null_space) take_mean(streams, system.weights, residuals());
  sum_residual(streams, system);
}

void LinearSolve::sum_residual(std::vector<Stream>& streams, const System& system) {
  summed(streams, two, first_pair, [&](Side& side, std::size_t d) {
    preconditioned(streams[d], side.range, system.weights[d], system.inverse_diagonal[d], side.r.data(),
                   side.parts.data());
  });
}

void LinearSolve::take_mean(std::vector<Stream>& streams, const Values& weights, const Vectors& u) {
  summed(streams, two, mean_pair,
         [&](Side& side, std::size_t d) { mean(streams[d], side.range, weights[d], u[d], 1, side.parts.data()); });
  for (std::size_t d = 0; d < sides.size(); ++d) subtract_mean(streams[d], sides[d].range, at(d, mean_pair), u[d]);
}

void LinearSolve::fit_guess(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                            const Each& scale) {
  summed(streams, two, mean_pair, [&](Side& side, std::size_t d) {
    products(streams[d], side.range, system.weights[d], x[d], b[d], side.q.data(), scale, side.parts.data());
  });
  for (std::size_t d = 0; d < sides.size(); ++d)
    multiply(streams[d], sides[d].range, at(d, mean_pair), x[d], sides[d].q.data());
}

Each LinearSolve::each(const Beginnings& from, double Beginning::*number) {
  Each all(0);
  for (std::size_t c = 0; c < from.size(); ++c) all.of[c] = from[c].*number;
  return all;
}

void LinearSolve::name_components(const Options& options) {
  of_components.assign(components, options);
  for (std::size_t c = 0; c < components && components > 1; ++c)
    of_components[c].field += (options.field.empty() ? "component " : ", component ") +
                              (c < options.components.size() ? options.components[c] : std::to_string(c));
}

LinearSolve::Beginnings LinearSolve::begin(std::vector<Stream>& streams, const System& system, const Values& b,
                                           const Vectors& x, const Options& options) {
  if (options.from_zero) {
    for (std::size_t d = 0; d < sides.size(); ++d)
      for (double* const vector : {x[d], sides[d].q.data()})
        if (sides[d].range.points > 0) fill(streams[d], vector, 0, sides[d].r.bytes());
  } else if (system.apply_to_guess) {
    system.apply_to_guess(images());
  } else {
    system.apply(x, images());
  }
  const std::vector<std::array<double, 2>> most = largest_values(streams, system.weights, b);
  Beginnings all(components);
  for (std::size_t c = 0; c < components; ++c) {
    const Options& named = of_components[c];
    const auto [most_of_b, most_of_r] = most[c];
    require_solved(std::isfinite(most_of_b),
                   method_for(method, named) + ": the right side holds values that are not finite",
                   {{"field", named.field}, {"problem", "right_side"}});
    require_solved(std::isfinite(most_of_r),
                   method_for(method, named) +
                       ": b - A x is not finite for the first guess x: the guess or the "
                       "matrix holds values that are not finite",
                   {{"field", named.field}, {"problem", "first_guess"}});
    Beginning& from = all[c];
    from.most = std::max(most_of_b, most_of_r);
    if (from.most > 0) {
      const int exponent = std::clamp(std::ilogb(from.most), -scaled_exponent, scaled_exponent);
      from.scale = std::ldexp(1.0, -exponent);
      from.back = std::ldexp(1.0, exponent);
    }
  }
  const Each scale = each(all, &Beginning::scale);
  summed(streams, one, square_sum, [&](Side& side, std::size_t d) {
    square(streams[d], side.range, system.weights[d], b[d], scale, side.parts.data());
  });
  if (options.null_space)
    summed(streams, two, right_mean, [&](Side& side, std::size_t d) {
      mean(streams[d], side.range, system.weights[d], b[d], scale, side.parts.data());
    });
  if (options.fit_guess && !options.from_zero) fit_guess(streams, system, b, x, scale);
  find_residual(streams, system, b, options, scale);
  const Sums sums = read(streams);
  for (std::size_t c = 0; c < components; ++c) {
    Beginning& from = all[c];
    const double of_b = std::sqrt(sums.single(square_sum, c)), of_r = std::sqrt(sums.paired(first_pair, c, 1));
    if (most[c][1] > 0) from.size = most[c][0] > 0 ? of_b : of_r;
    from.rz = sums.paired(first_pair, c, 0);
    from.rr = sums.paired(first_pair, c, 1);
    from.enough = std::max(options.tolerance, options.absolute_tolerance * from.scale / from.size);
    from.limit = from.enough * from.size * (from.enough * from.size);
    if (!options.null_space || most[c][0] == 0) continue;
    from.imbalance = std::abs(sums.paired(right_mean, c, 0)) / (std::sqrt(sums.paired(right_mean, c, 1)) * of_b);
    require_solved(from.imbalance <= options.imbalance,
                   method_for(method, of_components[c]) +
                       ": the right side does not sum to zero (its constant part is " + show(from.imbalance) +
                       " of it), and without a Dirichlet side there is no solution: subtract its mean, or fix the "
                       "boundary values",
                   {{"field", of_components[c].field},
                    {"problem", "imbalance"},
                    {"imbalance", from.imbalance},
                    {"limit", options.imbalance}});
  }
  return all;
}

void LinearSolve::note(Result& result, const Beginning& from, double rz, double rr, const Options& options) const {
  result.reported = std::sqrt(rr) / from.size;
  result.history.push_back(result.reported);
  result.converged = rr <= from.limit;
  if (!(std::isfinite(rz) && std::isfinite(result.reported) && rz >= 0))
    throw NotSolved(method_for(method, options) + ": after " + std::to_string(result.iterations) +
                        " iterations (r, z) is " + show(rz) + ", residuals " + sequence_of(result.history) +
                        ": the matrix or its diagonal is not positive, or a value is not finite",
                    {{"field", options.field}, {"problem", "not_positive"}, {"iterations", result.iterations}});
}

void LinearSolve::require_in_range(double most, const Options& options) const {
  const double least = std::ldexp(1.0, -most_exponent), greatest = std::ldexp(1.0, most_exponent);
  require_solved(
      most >= least && most <= greatest,
      method_for(method, options) + ": the largest value of the right side is " + show(most) +
          ", and the range is 2^-900 to 2^900 (" + show(least) + " to " + show(greatest) + "): choose other units",
      {{"field", options.field}, {"problem", "range"}, {"given", most}, {"least", least}, {"most", greatest}});
}

LinearSolve::Results LinearSolve::solve_from(std::vector<Stream>& streams, const System& system, const Values& b,
                                             const Vectors& x, const Options& options, const Iterations& iterate) {
  name_components(options);
  const Beginnings from = begin(streams, system, b, x, options);
  Results results(components);
  bool converged = true, any = false;
  for (std::size_t c = 0; c < components; ++c) {
    results[c].imbalance = from[c].imbalance;
    note(results[c], from[c], from[c].rz, from[c].rr, of_components[c]);
    if (!results[c].converged) require_in_range(from[c].most, of_components[c]);
    converged = converged && results[c].converged;
  }
  if (!converged && options.most_iterations > 0) iterate(from, results);
  if (options.null_space) take_mean(streams, system.measure, x);
  for (Result& result : results) {
    result.true_residual = result.reported;
    any = any || result.iterations > 0;
  }
  if (any) {
    system.apply(x, images());
    find_residual(streams, system, b, options, each(from, &Beginning::scale));
    const Sums sums = read(streams);
    for (std::size_t c = 0; c < components; ++c)
      if (results[c].iterations > 0) results[c].true_residual = std::sqrt(sums.paired(first_pair, c, 1)) / from[c].size;
  }
  for (std::size_t c = 0; c < components; ++c) conclude(results[c], from[c], of_components[c]);
  return results;
}

void LinearSolve::conclude(Result& result, const Beginning& from, const Options& options) const {
  require_solved(std::isfinite(result.true_residual),
                 method_for(method, options) + ": x holds values beyond the range of doubles: choose other units",
                 {{"field", options.field}, {"problem", "overflow"}});
  result.rounded = result.converged && result.true_residual > lost * from.enough;
  require_solved(result.converged || !options.must_converge,
                 method_for(method, options) + " did not converge in " + std::to_string(result.iterations) +
                     " iterations: the last residuals are " + sequence_of(result.history) + " of the right side, and " +
                     show(from.enough) + " was asked for; " + likely_cause(result, options, from.enough),
                 {{"field", options.field},
                  {"problem", cause_of(result)},
                  {"iterations", result.iterations},
                  {"residual", result.reported},
                  {"true_residual", result.true_residual},
                  {"tolerance", from.enough}});
}

}  // namespace slipstream::krylov
