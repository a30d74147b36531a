// Poisson's, Helmholtz's and the diffusion equation: a step is a right side and a linear solution.
#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>

#include "machine/agree.hpp"
#include "solver/krylov/vector_kernels.hpp"
#include "solver/sem/findings.hpp"
#include "solver/sem/impl.hpp"

namespace slipstream::sem {
namespace {

const Options& checked(const Communicator& comm, const Options& options) {
  on_all_ranks(comm, [&] { check(options); });
  return options;
}

FieldOptions field_options(const std::string& name, bool needed) {
  FieldOptions options;
  options.name = name;
  options.type = DType::f64;
  options.alignment = 1;
  options.later = !needed;
  return options;
}

/// A device's values, by the blocks that are summed.
krylov::Range range_of(const Space& space, std::size_t device) {
  return {space.points(device), space.elements_of_a_block() * space.points_per_element()};
}
std::vector<std::vector<std::int64_t>> blocks_of(Space& space) {
  std::vector<std::vector<std::int64_t>> blocks(space.streams().size());
  for (std::size_t d = 0; d < blocks.size(); ++d)
    for (std::int64_t n = 0; n < range_of(space, d).blocks(); ++n)
      blocks[d].push_back(space.first_element(d) / space.elements_of_a_block() + n);
  return blocks;
}

void drain(std::vector<Stream>& streams) {
  for (Stream& stream : streams) stream.synchronize();
}

}  // namespace

Sem::Impl::Impl(const Communicator& c, const Machine& m, Options o)
    : comm(c),
      options(checked(c, o)),
      machine(m),
      space(comm, machine, box_of(options), options.order,
            {options.factors, options.velocity[0].at || options.velocity[1].at || options.velocity[2].at,
             options.exchange, options.tune}),
      grid(plan_grid(machine, options, comm.rank())),
      patches(patches_of(space.box(), options.sides)),
      constraint(space, dirichlet_faces(space.box(), patches)),
      coefficients(own_coefficients()),
      solver(space, constraint, coefficients, options.solver),
      u(grid, field_options("u", true)),
      u1(grid, field_options("u1", steps())),
      u2(grid, field_options("u2", steps() && options.time_order > 2)) {
  for (const int d : machine.devices_of_rank(comm.rank())) devices.push_back(machine.device(d).local);
  b = space.vector();
  x = space.vector();
  state.fields["u"] = &u;
  if (steps() && options.time_order > 1) state.fields["u1"] = &u1;
  if (steps() && options.time_order > 2) state.fields["u2"] = &u2;
  list_sides();
  list_velocity();
  list_tasks();
  try {
    start();
  } catch (...) {
    wait();  // the streams still hold work on what goes now
    throw;
  }
}

void Sem::Impl::wait() { drain(space.streams()); }

std::vector<double*> Sem::Impl::pointers_of(const Field& field) const {
  std::vector<double*> all;
  for (const int device : machine.devices_of_rank(comm.rank())) {
    all.push_back(nullptr);
    for (const std::int64_t id : grid.local())
      if (grid.block(id).device == device) all.back() = field.view<double>(id).origin;
  }
  return all;
}

void Sem::Impl::combine(const std::vector<double*>& to, const std::vector<Term>& terms, double constant) {
  for (std::size_t d = 0; d < to.size(); ++d) {
    Sum sum;
    sum.constant = constant;
    for (const Term& term : terms) sum.add({term.factor, term.vector[d], term.less});
    sem::combine(space.streams()[d], sum, to[d], space.points(d));
  }
}

/// The work of a collective task: the loop's streams have nothing of it to wait for but what came before.
void Sem::Impl::list_tasks() {
  const auto alone = [this](const char* name, void (Impl::*work)()) {
    Collective collective;
    collective.run = [this, work](std::vector<Stream>& streams) {
      drain(streams);
      (this->*work)();
      wait();
    };
    collective.check = [this] { space.gather_scatter().check(); };
    tasks.push_back(collective_task(name, std::move(collective)));
  };
  alone("right side", &Impl::right_side);
  alone("conjugate gradients", &Impl::solve);
  if (options.target_courant > 0) alone("further parts of the step", &Impl::go_on);
}

void Sem::Impl::right_side() {
  const Differences differences = differences_now();
  take_given(time_now());
  if (carrier) take_velocity(time_now());
  base = constant();
  const Field* const history[] = {&u, &u1, &u2};
  std::vector<Term> sources, guess;
  if (options.source.at) sources.push_back({1, pointers(f)});
  const int levels = steps() ? time_order_now() : 1;
  for (int j = 0; j < levels; ++j) {
    const auto n = static_cast<std::size_t>(j);
    const std::vector<double*> level = pointers_of(*history[n]);
    if (steps()) sources.push_back({differences.before[n] / time_step_now(), level, base});
    guess.push_back({differences.extrapolated[n], level, base});
  }
  combine(pointers(b), sources, steps() ? 0 : -options.reaction * base);
  space.mass(b, b);
  if (flows) combine(pointers(b), {{1, pointers(b)}, {1, pointers(flux)}});
  if (base != 0 && !coefficients.reaction.empty())
    combine(pointers(b), {{1, pointers(b)}, {-base, pointers(coefficients.reaction)}});
  if (lifting) {
    combine(pointers(x), {{1, pointers(w), base}});
    solver.apply(x, h1(), shift());
    combine(pointers(b), {{1, pointers(b)}, {-1, pointers(x)}});
  }
  if (carrier) {
    combine(pointers(x), guess);
    advect();
  }
  constraint.assemble(b);
  if (from_zero()) return;
  if (lifting) guess.push_back({-1, pointers(w), base});
  combine(pointers(x), guess);
  constraint.apply(pointers(x));
}

double Sem::Impl::constant() {
  if (constraint.any()) return lifting ? lifting->middle() : 0;
  if (options.equation == Equation::poisson || (options.reaction == 0 && !steps())) return 0;
  if (steps()) return mean(pointers_of(u));
  return options.source.at ? mean(pointers(f)) / options.reaction : 0;
}

Sem::Impl::Mean::Mean(const Communicator& comm, const Machine& machine, Space& space)
    : sums(comm, machine, blocks_of(space), 2) {
  for (std::size_t d = 0; d < space.streams().size(); ++d) {
    const Device device = space.streams()[d].device();
    parts.emplace_back(device, 2 * static_cast<std::size_t>(range_of(space, d).blocks()) + 1);
    results.emplace_back(device, 2);
    read.emplace_back(device, 2, Memory::pinned);
  }
}

double Sem::Impl::mean(const std::vector<double*>& of) {
  if (!of_all) of_all.emplace(comm, machine, space);
  const std::vector<double*> parts = pointers(of_all->parts);
  for (std::size_t d = 0; d < of.size(); ++d)
    krylov::mean(space.streams()[d], range_of(space, d), space.mass_matrix()[d].data(), of[d], 1, parts[d]);
  of_all->sums.run(space.streams(), {parts.begin(), parts.end()}, pointers(of_all->results));
  const Buffer<double>& found = of_all->read.front();
  copy(space.streams().front(), found.data(), of_all->results.front().data(), found.bytes());
  wait();
  of_all->sums.check();
  return found.data()[0] / found.data()[1];
}

krylov::Options Sem::Impl::options_for(std::string field) const {
  krylov::Options how = options.krylov;
  how.field = std::move(field);
  how.trace = options.exchange.trace;
  how.from_zero = from_zero();
  how.hard = "elements are thin or much deformed, or of high order: take better shaped ones, a lower order";
  return how;
}

void Sem::Impl::solve() {
  const krylov::Options how = options_for("u at step " + std::to_string(state.step + 1));
  effort.add(solver.solve(b, x, h1(), shift(), how));
  const std::vector<double*> now = pointers_of(u);
  if (steps() && options.time_order > 2) combine(pointers_of(u2), {{1, pointers_of(u1)}});
  if (steps()) combine(pointers_of(u1), {{1, now}});
  if (lifting) {
    combine(now, {{1, pointers(x)}, {1, pointers(w)}});
  } else {
    combine(now, {{1, pointers(x)}}, base);
  }
}

Sem::Sem(const Communicator& comm, const Machine& machine, Options options)
    : impl_(std::make_unique<Impl>(comm, machine, std::move(options))) {
  impl_->loop.emplace(*this, Overlap::off, impl_->options.exchange.trace);
}

Sem::~Sem() {
  if (impl_) impl_->wait();
}

void Sem::advance(std::int64_t steps) {
  in_terms_of_elements(impl_->space.box(), impl_->options.order, [&] { impl_->loop->run(steps); });
}

void Sem::inspect() {
  in_terms_of_elements(impl_->space.box(), impl_->options.order, [&] { impl_->loop->inspect(); });
}

void Sem::guard(std::int64_t every) {
  GuardOptions options;
  options.every = every;
  impl_->loop->guard(impl_->comm, std::move(options));
}

void Sem::finish_step() {
  State& state = impl_->state;
  ++state.step;
  impl_->part = 0;
  state.time = static_cast<double>(state.step) * impl_->options.time_step;
}

std::vector<Watched> Sem::watched() { return {{"u", &impl_->u}}; }
State& Sem::state() { return impl_->state; }
const std::vector<Device>& Sem::devices() const { return impl_->devices; }
const Tasks& Sem::tasks() const { return impl_->tasks; }
TimeLoop& Sem::time_loop() { return *impl_->loop; }
Space& Sem::space() { return impl_->space; }
const Grid& Sem::grid() const { return impl_->grid; }
const Options& Sem::options() const { return impl_->options; }
double Sem::courant() const { return impl_->carrier ? impl_->carrier->courant : 0; }
krylov::Fit Sem::fit() { return impl_->solver.fit(impl_->h1(), impl_->shift()); }
const krylov::Effort& Sem::effort() const { return impl_->effort; }
const std::vector<std::string>& Sem::cautions() const { return impl_->cautions; }

}  // namespace slipstream::sem
