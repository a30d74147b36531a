// Fields and right side of an unknown, and solves of several unknowns at once.
#include <algorithm>

#include <slipstream/error.hpp>

#include "solver/sem/impl.hpp"

namespace slipstream::sem {
namespace {

FieldOptions field_options(const std::string& name, bool needed) {
  FieldOptions options;
  options.name = name;
  options.type = DType::f64;
  options.alignment = 1;
  options.later = !needed;
  return options;
}

SolverOptions of_components(const SolverOptions& options, std::size_t components) {
  SolverOptions made = options;
  made.components = static_cast<int>(components);
  return made;
}

/// Copies component c of a vector of several unknowns to the vector of one unknown, or back.
void copy_component(Space& space, Vector& all, std::size_t c, Vector& one, bool out) {
  for (std::size_t d = 0; d < one.size(); ++d) {
    double* const part = all[d].data() + static_cast<std::int64_t>(c) * space.points(d);
    if (one[d].size() == 0) continue;
    copy(space.streams()[d], out ? one[d].data() : part, out ? part : one[d].data(), one[d].bytes());
  }
}

}  // namespace

std::vector<Scalar> scalars_of(const Options& options) {
  std::vector<Scalar> all{options};
  all.insert(all.end(), options.more.begin(), options.more.end());
  return all;
}

Sem::Impl::Unknown::Unknown(Impl& r, Scalar scalar)
    : run(r),
      options(r.options),
      own(std::move(scalar)),
      space(r.space),
      comm(r.comm),
      patches(patches_of(space.box(), own.sides)),
      constraint(space, dirichlet_faces(space.box(), patches)),
      coefficients(own_coefficients()),
      u(r.grid, field_options(own.name, true)),
      u1(r.grid, field_options(own.name + "1", r.steps())),
      u2(r.grid, field_options(own.name + "2", r.steps() && options.time_order > 2)) {
  b = space.vector();
  x = space.vector();
  run.state.fields[own.name] = &u;
  if (run.steps() && options.time_order > 1) run.state.fields[own.name + "1"] = &u1;
  if (run.steps() && options.time_order > 2) run.state.fields[own.name + "2"] = &u2;
  list_sides();
}

void Sem::Impl::Unknown::right_side() {
  const Differences differences = run.differences_now();
  const bool steps = run.steps();
  base = constant();
  const Field* const history[] = {&u, &u1, &u2};
  std::vector<Term> sources, guess;
  if (own.source.at) sources.push_back({1, pointers(f)});
  const int levels = steps ? run.time_order_now() : 1;
  for (int j = 0; j < levels; ++j) {
    const auto n = static_cast<std::size_t>(j);
    const std::vector<double*> level = run.part_of(*history[n]);
    if (steps) sources.push_back({differences.before[n] / run.time_step_now(), level, base});
    guess.push_back({differences.extrapolated[n], level, base});
  }
  run.combine(pointers(b), sources, steps ? 0 : -own.reaction * base);
  space.mass(b, b);
  if (flows) run.combine(pointers(b), {{1, pointers(b)}, {1, pointers(flux)}});
  if (base != 0 && !coefficients.reaction.empty())
    run.combine(pointers(b), {{1, pointers(b)}, {-base, pointers(coefficients.reaction)}});
  if (lifting) {
    run.combine(pointers(x), {{1, pointers(w), base}});
    solver->apply(x, h1(), shift());
    run.combine(pointers(b), {{1, pointers(b)}, {-1, pointers(x)}});
  }
  if (run.carrier) {
    run.combine(pointers(x), guess);
    advect();
  }
  constraint.assemble(b);
  if (run.from_zero()) return;
  if (lifting) guess.push_back({-1, pointers(w), base});
  run.combine(pointers(x), guess);
  constraint.apply(pointers(x));
}

double Sem::Impl::Unknown::constant() {
  if (constraint.any()) return lifting ? lifting->middle() : 0;
  if (options.equation == Equation::poisson || (own.reaction == 0 && !run.steps())) return 0;
  if (run.steps()) return run.mean(run.part_of(u));
  return own.source.at ? run.mean(pointers(f)) / own.reaction : 0;
}

krylov::Options Sem::Impl::Unknown::options_for(std::string field) const {
  krylov::Options how = own.krylov;
  how.field = std::move(field);
  how.trace = options.exchange.trace;
  how.from_zero = run.from_zero();
  how.hard = "elements are thin or much deformed, or of high order: take better shaped ones, a lower order";
  return how;
}

void Sem::Impl::Unknown::take_solution(krylov::Result result) {
  effort.add(std::move(result));
  const std::vector<double*> now = run.part_of(u);
  if (run.steps() && options.time_order > 2) run.combine(run.part_of(u2), {{1, run.part_of(u1)}});
  if (run.steps()) run.combine(run.part_of(u1), {{1, now}});
  if (lifting) {
    run.combine(now, {{1, pointers(x)}, {1, pointers(w)}});
  } else {
    run.combine(now, {{1, pointers(x)}}, base);
  }
}

Sem::Impl::Together::Together(Impl& r, std::vector<Unknown*> all)
    : run(r),
      unknowns(std::move(all)),
      solver(run.space, unknowns.front()->constraint, unknowns.front()->coefficients,
             of_components(unknowns.front()->own.solver, unknowns.size())) {
  for (Unknown* const unknown : unknowns) unknown->solver = &solver;
  const auto count = static_cast<int>(unknowns.size());
  if (count == 1) return;
  b = run.space.vector(count);
  x = run.space.vector(count);
}

bool Sem::Impl::Together::may_have(const Unknown& a, const Unknown& b) {
  const auto at_points = [](const Unknown& one) {
    return one.own.diffusivity_at || !one.coefficients.reaction.empty();
  };
  const SolverOptions &p = a.own.solver, &q = b.own.solver;
  const krylov::Options &k = a.own.krylov, &l = b.own.krylov;
  return p.method == krylov::Method::conjugate_gradients && q.method == p.method && p.projection == 0 &&
         q.projection == 0 && p.preconditioner == q.preconditioner && p.degree == q.degree &&
         k.tolerance == l.tolerance && k.absolute_tolerance == l.absolute_tolerance &&
         k.most_iterations == l.most_iterations && k.must_converge == l.must_converge && k.imbalance == l.imbalance &&
         a.own.diffusivity == b.own.diffusivity && a.own.reaction == b.own.reaction && !at_points(a) && !at_points(b) &&
         a.constraint.faces().of == b.constraint.faces().of;
}

void Sem::Impl::Together::solve() {
  Unknown& first = *unknowns.front();
  const std::string step = " at step " + std::to_string(run.state.step + 1);
  if (unknowns.size() == 1) {
    first.take_solution(
        solver.solve(first.b, first.x, first.h1(), first.shift(), first.options_for(first.own.name + step)));
    return;
  }
  krylov::Options how = first.options_for("scalars" + step);
  for (std::size_t c = 0; c < unknowns.size(); ++c) {
    how.components.push_back(unknowns[c]->own.name);
    how.imbalance = std::max(how.imbalance, unknowns[c]->own.krylov.imbalance);
    copy_component(run.space, b, c, unknowns[c]->b, false);
    copy_component(run.space, x, c, unknowns[c]->x, false);
  }
  const std::vector<krylov::Result> results = solver.solve_all(b, x, first.h1(), first.shift(), how);
  for (std::size_t c = 0; c < unknowns.size(); ++c) {
    copy_component(run.space, x, c, unknowns[c]->x, true);
    unknowns[c]->take_solution(results[c]);
  }
}

}  // namespace slipstream::sem
