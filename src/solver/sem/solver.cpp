// Solver of Poisson's, Helmholtz's and the diffusion equation: right side and linear solve.
#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>

#include "machine/agree.hpp"
#include "solver/sem/impl.hpp"

namespace slipstream::sem {
namespace {

const Options& checked(const Communicator& comm, const Options& options) {
  on_all_ranks(comm, [&] { check(options); });
  return options;
}

}  // namespace

Sem::Impl::Impl(const Communicator& c, const Machine& m, Options o)
    : ElementParts(c, m, checked(c, o), o.velocity[0].at || o.velocity[1].at || o.velocity[2].at),
      options(std::move(o)) {
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
    // A right side without a solution is reported before the first step.
    for (const auto& unknown : unknowns)
      if (unknown->but_for_a_constant()) unknown->balance();
    wait();
  } catch (...) {
    wait();  // waits, because queued work may use the memory that is freed here
    throw;
  }
}

void Sem::Impl::list_tasks() {
  list_task("right side", [this] { right_side(); });
  list_task("conjugate gradients", [this] { solve(); });
  if (options.target_courant > 0) list_task("further parts of the step", [this] { go_on(); });
}

void Sem::Impl::right_side() {
  for (const auto& unknown : unknowns) unknown->take_given(time_now());
  if (carrier) take_velocity(time_now());
  for (const auto& unknown : unknowns) unknown->right_side();
}

Sem::Impl::Mean::Mean(ElementParts& run) : sums(run.comm, run.machine, run.blocks_of_sums(), 2) {
  for (std::size_t d = 0; d < run.devices.size(); ++d) {
    const Device device = run.devices[d];
    parts.emplace_back(device, 2 * static_cast<std::size_t>(run.range_of(d).blocks()) + 1);
    results.emplace_back(device, 2);
    read.emplace_back(device, 2, Memory::pinned);
  }
}

double Sem::Impl::mean(const std::vector<double*>& of) {
  if (!of_all) of_all.emplace(*this);
  const std::vector<double*> parts = pointers(of_all->parts);
  for (std::size_t d = 0; d < of.size(); ++d)
    krylov::mean(space.streams()[d], range_of(d), space.mass_matrix()[d].data(), of[d], 1, parts[d]);
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
    : ElementSolver(std::make_unique<Impl>(comm, machine, std::move(options))), impl_(&parts<Impl>()) {
  impl_->loop.emplace(*this, Overlap::off, impl_->options.exchange.trace);
}

std::vector<Watched> Sem::watched() {
  std::vector<Watched> all;
  for (const auto& unknown : impl_->unknowns) all.push_back({unknown->own.name, &unknown->u});
  return all;
}
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
