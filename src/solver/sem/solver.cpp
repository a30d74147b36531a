// Solver of Poisson's, Helmholtz's and the diffusion equation: right side and linear solve.
#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>

#include "machine/agree.hpp"
#include "machine/parting.hpp"
#include "solver/krylov/vector_kernels.hpp"
#include "solver/sem/findings.hpp"
#include "solver/sem/impl.hpp"

namespace slipstream::sem {
namespace {

const Options& checked(const Communicator& comm, const Options& options) {
  on_all_ranks(comm, [&] { check(options); });
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
    : comm(sharing(c)),
      options(checked(c, o)),
      machine(m),
      space(comm, machine, box_of(options), options.order,
            {options.factors, options.velocity[0].at || options.velocity[1].at || options.velocity[2].at,
             options.exchange, options.tune}),
      grid(plan_grid(machine, options, comm.rank())) {
  for (const int d : machine.devices_of_rank(comm.rank())) devices.push_back(machine.device(d).local);
  for (const Scalar& scalar : scalars_of(options)) unknowns.push_back(std::make_unique<Unknown>(*this, scalar));
  std::vector<std::vector<Unknown*>> groups;
  for (const auto& unknown : unknowns) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<Unknown*>& all) {
      return all.size() < krylov::most_components && Together::may_have(*all.front(), *unknown);
    });
    (group == groups.end() ? groups.emplace_back() : *group).push_back(unknown.get());
  }
  for (std::vector<Unknown*>& all : groups) solves.push_back(std::make_unique<Together>(*this, std::move(all)));
  list_velocity();
  list_tasks();
  try {
    for (const auto& unknown : unknowns) unknown->start();
    for (const auto& unknown : unknowns) unknown->take_given(time_now());
    if (carrier) take_velocity(time_now());
    // A right side without a solution is an error before the first step.
    for (const auto& unknown : unknowns)
      if (unknown->but_for_a_constant()) unknown->balance();
    wait();
  } catch (...) {
    wait();  // queued work may use the memory that is freed here
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

/// Lists the tasks of a step. Collective tasks use streams of their own, after the loop's earlier work.
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
  for (const auto& unknown : unknowns) unknown->take_given(time_now());
  if (carrier) take_velocity(time_now());
  for (const auto& unknown : unknowns) unknown->right_side();
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

void Sem::Impl::solve() {
  for (const auto& together : solves) together->solve();
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

std::vector<Watched> Sem::watched() {
  std::vector<Watched> all;
  for (const auto& unknown : impl_->unknowns) all.push_back({unknown->own.name, &unknown->u});
  return all;
}
State& Sem::state() { return impl_->state; }
const std::vector<Device>& Sem::devices() const { return impl_->devices; }
const Tasks& Sem::tasks() const { return impl_->tasks; }
TimeLoop& Sem::time_loop() { return *impl_->loop; }
Space& Sem::space() { return impl_->space; }
const Grid& Sem::grid() const { return impl_->grid; }
const Options& Sem::options() const { return impl_->options; }
double Sem::courant() const { return impl_->carrier ? impl_->carrier->courant : 0; }
krylov::Fit Sem::fit(std::size_t scalar) {
  Impl::Unknown& unknown = *impl_->unknowns.at(scalar);
  return unknown.solver->fit(unknown.h1(), unknown.shift());
}
const krylov::Effort& Sem::effort(std::size_t scalar) const { return impl_->unknowns.at(scalar)->effort; }
std::vector<std::string> Sem::cautions() const {
  std::vector<std::string> all;
  for (const auto& unknown : impl_->unknowns) all.insert(all.end(), unknown->cautions.begin(), unknown->cautions.end());
  return all;
}

}  // namespace slipstream::sem
