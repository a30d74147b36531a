// Timed code of `slipstream bench axhelm` and `slipstream bench nekbone`: an operator of spectral elements, and
// conjugate gradient iterations.
#include <optional>

#include <slipstream/sem.hpp>
#include <slipstream/trace.hpp>

#include "native/python_bench.hpp"
#include "native/sums_on_host.hpp"
#include "native/timed_loops.hpp"

namespace slipstream::python {
namespace {

sem::Space space_of(const Machine& machine, const std::array<std::int64_t, 3>& elements, int order,
                    const std::string& factors, const nb::dict& exchange, bool overlap = true, Trace* trace = nullptr) {
  sem::ElementBox box;
  box.elements = elements;
  sem::SpaceOptions options;
  options.factors = sem::factors_from_string(factors);
  options.exchange = exchange_options(exchange);
  options.exchange.trace = trace;
  options.overlap = overlap;
  // Elements with stored or trilinear geometric factors are deformed, so that no geometric factor is zero.
  box.straight = options.factors == sem::Factors::trilinear;
  if (options.factors != sem::Factors::affine && *std::min_element(elements.begin(), elements.end()) > 3)
    box.deform = 0.05;
  return sem::Space(world(), machine, box, order, std::move(options));
}

/// Fills a vector with values whose sums stay large: the first coordinate times a function that is zero on the sides.
void fill_smoothly(sem::Space& space, sem::Vector& vector) {
  for (std::size_t d = 0; d < vector.size(); ++d) {
    std::vector<double> values;
    for (const sem::Point& x : space.places(d))
      values.push_back((1 + x[0]) * x[0] * (1 - x[0]) * x[1] * (1 - x[1]) * x[2] * (1 - x[2]));
    if (!values.empty()) copy(space.streams()[d], vector[d].data(), values.data(), vector[d].bytes());
    space.streams()[d].synchronize();
  }
}

double bench_axhelm(const Machine& machine, const std::array<std::int64_t, 3>& elements, int order,
                    const std::string& factors, int repeats) {
  sem::Space space = space_of(machine, elements, order, factors, {});
  sem::Vector in = space.vector(), out = space.vector();
  fill_smoothly(space, in);
  return events_us(space.streams(), 10, repeats, [&] { space.helmholtz(in, out, 1, 0); });
}

/// Solves Poisson's equation with a fixed number of conjugate gradient iterations.
struct Nekbone {
  sem::Space space;
  sem::Constraint constraint;
  sem::Vector b, x;
  std::optional<SumsOnHost> on_host;
  int components;
  std::optional<sem::HelmholtzSolver> solver;  // solver kept between solves, which replay its CUDA graphs

  /// Every component has the same right side, so that all components solve the same equation.
  Nekbone(sem::Space s, const std::string& sums, int each = 1)
      : space(std::move(s)), constraint(space), b(space.vector(each)), x(space.vector(each)), components(each) {
    if (sums == "host") on_host.emplace();
    sem::Vector f = space.vector();
    fill_smoothly(space, f);
    space.mass(f, b);
    for (std::size_t d = 0; d < b.size(); ++d)
      for (int c = 1; c < components && f[d].size() > 0; ++c)
        copy(space.streams()[d], b[d].data() + c * space.points(d), b[d].data(), f[d].bytes());
    constraint.assemble(b, components);
    synchronize(space.streams());
    sem::SolverOptions how;
    how.components = components;
    solver.emplace(space, constraint, how);
  }
  void solve(int iterations, Trace* trace = nullptr) {
    krylov::Options options;
    options.tolerance = 0;
    options.must_converge = false;
    options.most_iterations = iterations;
    options.trace = trace;
    solver->solve_all(b, x, 1, 0, options);
  }
  void restart() {
    for (std::size_t d = 0; d < x.size(); ++d)
      if (x[d].size() > 0) fill(space.streams()[d], x[d].data(), 0, x[d].bytes());
    synchronize(space.streams());
  }
};

double bench_nekbone(const Machine& machine, const std::array<std::int64_t, 3>& elements, int order,
                     const std::string& factors, const nb::dict& exchange, int iterations, int repeats, bool overlap,
                     const std::string& sums, int components) {
  Nekbone nekbone(space_of(machine, elements, order, factors, exchange, overlap), sums, components);
  // The difference of two solve times excludes the costs of a solve's start and end, and slow clocks after idling.
  constexpr int few = 2;
  const auto [short_solve, long_solve] = least_host_us(
      repeats, {[&] { nekbone.solve(few); }, [&] { nekbone.solve(few + iterations); }}, [&] { nekbone.restart(); });
  return (long_solve - short_solve) / iterations;
}

/// Solves Poisson's equation on a deformed and stretched box, with a preconditioner.
nb::dict bench_poisson(const Machine& machine, const std::array<std::int64_t, 3>& elements, int order,
                       const std::string& method, const std::string& preconditioner, double bend, double aspect,
                       double tolerance, int degree, const nb::dict& exchange, int repeats) {
  sem::ElementBox box;
  box.elements = elements;
  box.deform = bend;
  box.stretch = {aspect, 1, 1};
  sem::SpaceOptions options;
  options.exchange = exchange_options(exchange);
  sem::Space space(world(), machine, box, order, std::move(options));
  sem::Constraint constraint(space);
  sem::SolverOptions how;
  krylov::Options solve;
  how.degree = degree;
  how.method = sem::method_from_string(method);
  how.preconditioner = sem::preconditioner_from_string(preconditioner);
  sem::HelmholtzSolver solver(space, constraint, how);
  sem::Vector f = space.vector(), b = space.vector(), x = space.vector();
  fill_smoothly(space, f);
  space.mass(f, b);
  constraint.assemble(b);
  synchronize(space.streams());
  solve.tolerance = tolerance;
  solve.from_zero = true;
  solve.most_iterations = 10000;
  krylov::Result found = solver.solve(b, x, 1, 0, solve);
  const double least = least_host_us(repeats, {[&] { found = solver.solve(b, x, 1, 0, solve); }, [] {}}, [] {})[0];
  const krylov::Fit fit = solver.fit(1, 0);
  nb::dict said;
  said["iterations"] = found.iterations;
  said["time_ms"] = least / 1000;
  said["true_residual"] = found.true_residual;
  said["operator_us"] = fit.operator_us;
  said["preconditioner_us"] = fit.preconditioner_us;
  said["coarse_us"] = fit.coarse_us;
  return said;
}

/// Traces the second of two solves, because the first one loads kernels.
void trace_nekbone(const Machine& machine, const std::array<std::int64_t, 3>& elements, int order,
                   const std::string& factors, const nb::dict& exchange, int iterations, bool overlap,
                   const std::string& sums, Trace& trace) {
  Nekbone nekbone(space_of(machine, elements, order, factors, exchange, overlap, &trace), sums);
  for (int n = 0; n < 2; ++n) {
    nekbone.solve(iterations, &trace);
    nekbone.restart();
    world().barrier();
  }
}

}  // namespace

void bind_bench_sem(nb::module_& m) {
  m.def("axhelm", &bench_axhelm, nb::arg("machine"), nb::arg("elements"), nb::arg("order"), nb::arg("factors"),
        nb::arg("repeats"),
        "Microseconds of the stiffness of all elements, not summed, by device events: slowest rank. Collective.");
  m.def("nekbone", &bench_nekbone, nb::arg("machine"), nb::arg("elements"), nb::arg("order"), nb::arg("factors"),
        nb::arg("exchange"), nb::arg("iterations"), nb::arg("repeats"), nb::arg("overlap"), nb::arg("sums"),
        nb::arg("components"),
        "Microseconds of an iteration of conjugate gradients for Poisson's equation, by the host's clock: the "
        "difference of the fastest long and the fastest short solve over that of their iterations. `overlap`: elements "
        "at the border of a "
        "device first; `sums`: device, or host (it adds them up); `components`: right sides of one solve. "
        "Collective.");
  m.def("poisson", &bench_poisson, nb::arg("machine"), nb::arg("elements"), nb::arg("order"), nb::arg("method"),
        nb::arg("preconditioner"), nb::arg("bend"), nb::arg("aspect"), nb::arg("tolerance"), nb::arg("degree"),
        nb::arg("exchange"), nb::arg("repeats"),
        "Iterations and milliseconds of a solution of Poisson's equation by a method, its set-up apart: the fastest of "
        "so "
        "many; microseconds of an operator, of the preconditioner and of its coarsest problem. Collective.");
  m.def(
      "with_sums_on_host",
      [](const nb::callable& work) {
        const SumsOnHost here;
        return work();
      },
      nb::arg("work"),
      "Calls `work`, in which the host adds up the dot products of all Krylov solves, and returns its result.");
  m.def("trace_nekbone", &trace_nekbone, nb::arg("machine"), nb::arg("elements"), nb::arg("order"), nb::arg("factors"),
        nb::arg("exchange"), nb::arg("iterations"), nb::arg("overlap"), nb::arg("sums"), nb::arg("trace"),
        "Records two solutions of so many iterations. Collective.");
}

}  // namespace slipstream::python
