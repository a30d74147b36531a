// Conjugate gradients on small matrices on the host: convergence, number of operators applied, ranges of values.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/krylov.hpp>

#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream::krylov {
namespace {

constexpr std::int64_t count = 40;

struct Solved {
  Result result;
  std::vector<double> x;
  int operators = 0;
};

/// A diagonal matrix with a given number of distinct eigenvalues: conjugate gradients need one iteration for each.
class SmallSystem {
 public:
  /// `degree`: degree of the Chebyshev preconditioner; 0: none.
  explicit SmallSystem(int eigenvalues, int degree = 0) : eigenvalues_(eigenvalues) {
    if (degree > 0) polynomial_.emplace(Communicator::world(), machine_, layout_, degree);
    for (Buffer<double>* buffer : {&b_, &x_, &ones_}) *buffer = Buffer<double>(streams_[0].device(), count);
    std::fill_n(ones_.data(), count, 1.0);
  }

  /// Solves with a constant initial guess. `known`: the solver gets the product of the matrix and the guess.
  Solved solve(double b, double guess, const Options& options, bool known = false) {
    std::fill_n(x_.data(), count, guess);
    return solve_on(b, options, known);
  }

  /// Solves with the previous solution as the initial guess. `b`: scale of the right-hand side.
  Solved solve_on(double b, const Options& options, bool known = false) {
    for (std::int64_t i = 0; i < count; ++i) b_.data()[i] = b * (1 + 0.1 * static_cast<double>(i % 7));
    Solved solved;
    System system;
    const auto multiply = [&](const double* in, double* out) {
      streams_[0].synchronize();
      for (std::int64_t i = 0; i < count; ++i) out[i] = (1 + static_cast<double>(i % eigenvalues_)) * in[i];
    };
    system.apply = [&](const Vectors& in, const Vectors& out) {
      ++solved.operators;
      multiply(in[0], out[0]);
    };
    if (known) system.apply_to_guess = [&](const Vectors& out) { multiply(x_.data(), out[0]); };
    system.weights = system.inverse_diagonal = {ones_.data()};
    if (polynomial_)
      system.precondition = [&, plain = system](const Vectors& r, const Vectors& z) {
        polynomial_->apply(streams_, plain, eigenvalues_, r, z);
      };
    solved.result = method_.solve(streams_, system, {b_.data()}, {x_.data()}, options);
    streams_[0].synchronize();
    solved.x.assign(x_.data(), x_.data() + count);
    return solved;
  }

 private:
  const int eigenvalues_;
  const Machine machine_ = machine_here(Backend::host, 1);
  std::vector<Stream> streams_ = [this] {
    std::vector<Stream> made;
    made.emplace_back(machine_.device(0).local);
    return made;
  }();
  const Layout layout_{{count}, {0}, 8, {}};
  ConjugateGradients method_{Communicator::world(), machine_, layout_};
  std::optional<ChebyshevPolynomial> polynomial_;
  Buffer<double> b_, x_, ones_;
};

TEST(ConjugateGradients, MakeAnIterationForEachEigenvalueAndNoOperatorTwice) {
  Options guess, zero;
  zero.from_zero = true;
  for (const int eigenvalues : {1, 2, 3, 7}) {
    const Solved from_guess = SmallSystem(eigenvalues).solve(1, 0.3, guess);
    EXPECT_EQ(from_guess.result.iterations, eigenvalues);
    EXPECT_EQ(from_guess.operators, eigenvalues + 2);
    EXPECT_EQ(from_guess.result.history.size(), static_cast<std::size_t>(eigenvalues) + 1);
    EXPECT_LT(from_guess.result.true_residual, 1e-10);
    const Solved known = SmallSystem(eigenvalues).solve(1, 0.3, guess, true);
    EXPECT_EQ(known.x, from_guess.x);
    EXPECT_EQ(known.operators, eigenvalues + 1);
    const Solved from_zero = SmallSystem(eigenvalues).solve(1, 0.3, zero);
    EXPECT_EQ(from_zero.result.iterations, eigenvalues);
    EXPECT_EQ(from_zero.operators, eigenvalues + 1);
    EXPECT_NEAR(from_zero.result.history.front(), 1, 1e-14);
    for (std::int64_t i = 0; i < count; ++i)
      EXPECT_NEAR(from_zero.x[static_cast<std::size_t>(i)], from_guess.x[static_cast<std::size_t>(i)], 1e-9);
  }
}

TEST(ConjugateGradients, MakeNoIterationFromASolution) {
  Options options;
  const Solved zero = SmallSystem(3).solve(0, 0, options);
  EXPECT_EQ(zero.result.iterations, 0);
  EXPECT_EQ(zero.operators, 1);
  options.from_zero = true;
  EXPECT_EQ(SmallSystem(3).solve(0, 0.3, options).operators, 0);
  options.from_zero = false;
  options.absolute_tolerance = 1e3;
  const Solved enough = SmallSystem(3).solve(1, 0.3, options);
  EXPECT_EQ(enough.result.iterations, 0);
  EXPECT_EQ(enough.operators, 1);
  EXPECT_EQ(enough.x[0], 0.3);
  EXPECT_EQ(enough.result.true_residual, enough.result.reported);
}

TEST(ConjugateGradients, FitAGuessThatIsAMultipleOfTheSolution) {
  SmallSystem system(7);
  Options options;
  const std::vector<double> third = system.solve(1, 0.3, options).x;
  const int without = system.solve_on(3, options).result.iterations;
  EXPECT_GT(without, 0);
  system.solve(1, 0.3, options);
  options.fit_guess = true;
  const Solved solved = system.solve_on(3, options);
  EXPECT_EQ(solved.result.iterations, 0);
  EXPECT_EQ(solved.operators, 1);
  EXPECT_LT(solved.result.true_residual, 1e-10);
  for (std::size_t i = 0; i < solved.x.size(); ++i) EXPECT_NEAR(solved.x[i], 3 * third[i], 1e-9);
}

TEST(ConjugateGradients, GoByTheFirstResidualWhereTheRightSideIsZero) {
  Options options;
  options.tolerance = 1e-6;
  const Solved solved = SmallSystem(3).solve(0, 0.3, options);
  EXPECT_EQ(solved.result.history.front(), 1);
  EXPECT_LE(solved.result.reported, 1e-6);
  for (const double x : solved.x) EXPECT_LT(std::abs(x), 1e-6);
}

TEST(ConjugateGradients, EndOnTheFirstResidualThatIsSmallEnough) {
  for (const int degree : {0, 2})
    for (const double tolerance : {0.3, 1e-2, 1e-5}) {
      Options options;
      options.tolerance = tolerance;
      const Solved solved = SmallSystem(20, degree).solve(1, 0.3, options);
      const std::vector<double>& history = solved.result.history;
      ASSERT_GT(solved.result.iterations, 0);
      EXPECT_EQ(history.size(), static_cast<std::size_t>(solved.result.iterations) + 1);
      EXPECT_LE(history.back(), tolerance);
      EXPECT_GT(history[history.size() - 2], tolerance);
      EXPECT_NEAR(solved.result.true_residual, history.back(), 1e-12);
      // With tolerance 0 the solver never waits for a residual. The iterations must be the same.
      options.tolerance = 0;
      options.must_converge = false;
      options.most_iterations = solved.result.iterations;
      const Solved again = SmallSystem(20, degree).solve(1, 0.3, options);
      EXPECT_EQ(again.result.history, history);
      EXPECT_EQ(again.x, solved.x);
    }
}

TEST(ConjugateGradients, HaveTheSameBitsForDataTimesPowersOfTwo) {
  for (const int degree : {0, 4})
    for (const double absolute : {0.0, 1e-3}) {
      Options options;
      options.fit_guess = absolute > 0;
      options.absolute_tolerance = absolute;
      const Solved plain = SmallSystem(20, degree).solve(1, 0.3, options);
      EXPECT_GT(plain.result.iterations, 2);
      for (const int exponent : {-890, -700, -300, 300, 700, 890}) {
        options.absolute_tolerance = std::ldexp(absolute, exponent);
        Solved scaled = SmallSystem(20, degree).solve(std::ldexp(1.0, exponent), std::ldexp(0.3, exponent), options);
        for (double& x : scaled.x) x = std::ldexp(x, -exponent);
        EXPECT_EQ(scaled.x, plain.x) << exponent;
        EXPECT_EQ(scaled.result.history, plain.result.history) << exponent;
        EXPECT_EQ(scaled.result.true_residual, plain.result.true_residual) << exponent;
      }
    }
}

TEST(ConjugateGradients, RefuseValuesBeyondTheirRange) {
  const auto said = [](double b, double guess, const Options& options) {
    return error_of([&] { SmallSystem(3).solve(b, guess, options); });
  };
  for (const double b : {0x1p-1074, 0x1p-950, 0x1p950, 0x1p1022}) {
    expect_error(said(b, 0, {}), ErrorCode::not_converged,
                 {{"problem", "range"}, {"least", 0x1p-900}, {"most", 0x1p900}});
  }
  Options loose;
  loose.absolute_tolerance = 1e-200;
  EXPECT_FALSE(said(0x1p-950, 0, loose));
  expect_error(said(std::nan(""), 0, {}), ErrorCode::not_converged, {{"problem", "right_side"}});
  expect_error(said(1, HUGE_VAL, {}), ErrorCode::not_converged, {{"problem", "first_guess"}});
  loose.absolute_tolerance = -1;
  expect_error(said(1, 0, loose), ErrorCode::invalid_argument, {{"option", "tolerance, absolute_tolerance"}});
}

TEST(ConjugateGradients, NameTheComponentThatIsNotSolved) {
  const Machine machine = machine_here(Backend::host, 1);
  std::vector<Stream> streams;
  streams.emplace_back(machine.device(0).local);
  Buffer<double> ones(streams[0].device(), count), b(streams[0].device(), 3 * count), x(streams[0].device(), 3 * count);
  std::fill_n(ones.data(), count, 1.0);
  System system;
  system.apply = [&](const Vectors& in, const Vectors& out) {
    streams[0].synchronize();
    for (std::int64_t i = 0; i < 3 * count; ++i) out[0][i] = (1 + static_cast<double>(i % count % 9)) * in[0][i];
  };
  system.weights = system.inverse_diagonal = {ones.data()};
  Layout layout{{count}, {0}, 8, {}, 3};
  ConjugateGradients method(Communicator::world(), machine, layout);
  Options options{.most_iterations = 3, .from_zero = true, .field = "velocity", .components = {"u", "v", "w"}};
  // u and w are multiples of one eigenvector and converge in one iteration; v needs nine.
  for (std::int64_t i = 0; i < count; ++i) {
    b.data()[i] = i % 9 == 4 ? 2 : 0;
    b.data()[count + i] = 1;
    b.data()[2 * count + i] = i % 9 == 7 ? -1 : 0;
  }
  expect_error(error_of([&] { method.solve_all(streams, system, {b.data()}, {x.data()}, options); }),
               ErrorCode::not_converged, {{"field", "velocity, component v"}, {"iterations", 3}, {"problem", "falls"}});
  options.most_iterations = 20;
  const std::vector<Result> found = method.solve_all(streams, system, {b.data()}, {x.data()}, options);
  streams[0].synchronize();
  EXPECT_EQ(found[0].iterations, 1);
  EXPECT_EQ(found[1].iterations, 9);
  EXPECT_EQ(found[2].iterations, 1);
  for (std::int64_t i = 0; i < 3 * count; ++i)
    EXPECT_NEAR(x.data()[i] * (1 + static_cast<double>(i % count % 9)), b.data()[i], 1e-9);
  b.data()[2 * count] = std::nan("");
  options.components = {};
  expect_error(error_of([&] { method.solve_all(streams, system, {b.data()}, {x.data()}, options); }),
               ErrorCode::not_converged, {{"field", "velocity, component 2"}, {"problem", "right_side"}});
  expect_error(error_of([&] { method.solve(streams, system, {b.data()}, {x.data()}, options); }),
               ErrorCode::unsupported, {{"option", "components"}, {"given", 3}});
  for (const int components : {0, most_components + 1}) {
    layout.components = components;
    expect_error(error_of([&] { ConjugateGradients(Communicator::world(), machine, layout); }),
                 ErrorCode::invalid_argument, {{"option", "components"}, {"given", components}});
  }
  layout.components = 2;
  expect_error(error_of([&] { FlexibleGmres(Communicator::world(), machine, layout, 5); }), ErrorCode::unsupported,
               {{"option", "components"}});
  expect_error(error_of([&] { Projection(Communicator::world(), machine, layout, 5); }), ErrorCode::unsupported,
               {{"option", "components"}});
}

/// Tests a nonsymmetric preconditioner, which shifts values to their neighbours.
TEST(Fit, TellsWhatConjugateGradientsMayNotHave) {
  const Machine machine = machine_here(Backend::host, 1);
  std::vector<Stream> streams;
  streams.emplace_back(machine.device(0).local);
  Buffer<double> ones(streams[0].device(), count);
  std::fill_n(ones.data(), count, 1.0);
  const Layout layout{{count}, {0}, 8, {}};
  System system;
  double shift = 0;
  system.apply = [&](const Vectors& in, const Vectors& out) {
    streams[0].synchronize();
    for (std::int64_t i = 0; i < count; ++i) out[0][i] = (1 + static_cast<double>(i % 5) - shift) * in[0][i];
  };
  system.weights = system.inverse_diagonal = {ones.data()};
  const Communicator comm = Communicator::world();
  const Fit plain = fit(comm, machine, layout, streams, system);
  EXPECT_LE(plain.operator_asymmetry + plain.preconditioner_asymmetry, 1e-13);
  EXPECT_NO_THROW(require_fit(plain));
  system.precondition = [&](const Vectors& r, const Vectors& z) {
    streams[0].synchronize();
    for (std::int64_t i = 0; i < count; ++i) z[0][i] = 2 * r[0][i] + r[0][(i + 1) % count];
  };
  expect_error(error_of([&] { require_fit(fit(comm, machine, layout, streams, system)); }), ErrorCode::not_converged,
               {{"problem", "pair"}});
  // Flexible GMRES accepts a nonsymmetric preconditioner.
  Buffer<double> b(streams[0].device(), count), x(streams[0].device(), count);
  for (std::int64_t i = 0; i < count; ++i) b.data()[i] = 1 + 0.1 * static_cast<double>(i % 7);
  Options options;
  options.from_zero = true;
  for (const int restart : {5, 30}) {
    const Result found =
        FlexibleGmres(comm, machine, layout, restart).solve(streams, system, {b.data()}, {x.data()}, options);
    streams[0].synchronize();
    EXPECT_TRUE(found.converged) << restart;
    for (std::int64_t i = 0; i < count; ++i)
      EXPECT_NEAR(x.data()[i] * (1 + static_cast<double>(i % 5)), b.data()[i], 1e-8);
  }
  shift = 10;
  system.precondition = {};
  expect_error(error_of([&] { require_fit(fit(comm, machine, layout, streams, system)); }), ErrorCode::not_converged,
               {{"problem", "indefinite"}});
  expect_error(error_of([&] {
                 ConjugateGradients(comm, machine, layout).solve(streams, system, {b.data()}, {x.data()}, options);
               }),
               ErrorCode::not_converged, {{"problem", "indefinite"}});
}

/// The matrix shifts all values by one place. A Krylov space of fewer than `count` vectors has no part of the solution.
TEST(FlexibleGmres, EndsWhereNoCycleWillDoBetter) {
  const Machine machine = machine_here(Backend::host, 1);
  std::vector<Stream> streams;
  streams.emplace_back(machine.device(0).local);
  Buffer<double> ones(streams[0].device(), count), b(streams[0].device(), count), x(streams[0].device(), count);
  std::fill_n(ones.data(), count, 1.0);
  std::fill_n(b.data(), count, 0.0);
  b.data()[0] = 1;
  System system;
  system.apply = [&](const Vectors& in, const Vectors& out) {
    streams[0].synchronize();
    for (std::int64_t i = 0; i < count; ++i) out[0][(i + 1) % count] = in[0][i];
  };
  system.weights = system.inverse_diagonal = {ones.data()};
  FlexibleGmres method(Communicator::world(), machine, Layout{{count}, {0}, 8, {}}, 5);
  Options options{.from_zero = true, .must_converge = false};
  const Result ended = method.solve(streams, system, {b.data()}, {x.data()}, options);
  EXPECT_EQ(ended.iterations, 5);
  EXPECT_FALSE(ended.converged);
  EXPECT_EQ(ended.true_residual, 1);
  options.must_converge = true;
  expect_error(error_of([&] { method.solve(streams, system, {b.data()}, {x.data()}, options); }),
               ErrorCode::not_converged, {{"problem", "hard"}, {"iterations", 5}});
  // GMRES finds the solution with as many vectors as there are values.
  const Result found = FlexibleGmres(Communicator::world(), machine, Layout{{count}, {0}, 8, {}}, count)
                           .solve(streams, system, {b.data()}, {x.data()}, options);
  streams[0].synchronize();
  EXPECT_EQ(found.iterations, count);
  for (std::int64_t i = 0; i < count; ++i) EXPECT_NEAR(x.data()[i], i == count - 1 ? 1 : 0, 1e-12);
}

TEST(FlexibleGmres, RefusesWhatItCannotKeep) {
  const Machine machine = machine_here(Backend::host, 1);
  for (const int restart : {0, 64})
    expect_error(error_of([&] {
                   FlexibleGmres(Communicator::world(), machine, Layout{{count}, {0}, 8, {}}, restart);
                 }),
                 ErrorCode::invalid_argument, {{"option", "restart"}, {"given", restart}});
  expect_error(error_of([&] {
                 Projection(Communicator::world(), machine, Layout{{count}, {0}, 8, {}}, 64);
               }),
               ErrorCode::invalid_argument, {{"option", "projection"}});
}

}  // namespace
}  // namespace slipstream::krylov
