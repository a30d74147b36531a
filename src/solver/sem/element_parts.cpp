// The common base of solvers on spectral elements: their space, time steps and values at points.
#include "solver/sem/element_parts.hpp"

#include <cmath>

#include <slipstream/error.hpp>

#include "solver/sem/findings.hpp"

namespace slipstream::sem {

ElementParts::ElementParts(const Communicator& c, const Machine& m, const Options& options, bool gradient)
    : SolverParts(c, m),
      machine(m),
      space(comm, machine, box_of(options), options.order, {options.factors, gradient, options.exchange, options.tune}),
      grid(plan_grid(machine, options, comm.rank())),
      time_step(options.time_step) {}

void ElementParts::wait() {
  for (Stream& stream : space.streams()) stream.synchronize();
}

void ElementParts::list_task(const char* name, std::function<void()> work) {
  Collective collective;
  collective.run = [this, work = std::move(work)](std::vector<Stream>& streams) {
    for (Stream& stream : streams) stream.synchronize();
    work();
    wait();
  };
  collective.check = [this] { space.gather_scatter().check(); };
  tasks.push_back(collective_task(name, std::move(collective)));
}

std::vector<double*> ElementParts::part_of(const Field& field, std::size_t component) const {
  std::vector<double*> all;
  for (const int device : machine.devices_of_rank(comm.rank())) {
    all.push_back(nullptr);
    for (const std::int64_t id : grid.local()) {
      if (grid.block(id).device != device) continue;
      const View<double> view = field.view<double>(id);
      all.back() = view.origin + static_cast<std::int64_t>(component) * view.component_stride;
    }
  }
  return all;
}

void ElementParts::put(const std::vector<double*>& to, const std::vector<std::vector<double>>& values) {
  for (std::size_t d = 0; d < to.size(); ++d)
    if (!values[d].empty()) copy(space.streams()[d], to[d], values[d].data(), values[d].size() * sizeof(double));
  wait();
}

std::vector<std::vector<double>> ElementParts::get(const std::vector<double*>& from) {
  std::vector<std::vector<double>> values(from.size());
  for (std::size_t d = 0; d < from.size(); ++d) {
    values[d].resize(static_cast<std::size_t>(space.points(d)));
    if (!values[d].empty()) copy(space.streams()[d], values[d].data(), from[d], values[d].size() * sizeof(double));
  }
  wait();
  return values;
}

void ElementParts::combine(const std::vector<double*>& to, const std::vector<Term>& terms, double constant) {
  for (std::size_t d = 0; d < to.size(); ++d) {
    Sum sum;
    sum.constant = constant;
    for (const Term& term : terms) sum.add({term.factor, term.vector[d], term.less});
    sem::combine(space.streams()[d], sum, to[d], space.points(d));
  }
}

void ElementParts::times(const Vector& factor, const std::vector<double*>& u) {
  for (std::size_t d = 0; d < u.size(); ++d)
    multiply(space.streams()[d], factor[d].data(), u[d], u[d], space.points(d));
}

double ElementParts::largest_difference(const std::vector<double*>& a, const std::vector<double*>& b, double least) {
  for (std::size_t d = 0; d < a.size(); ++d) {
    Stream& stream = space.streams()[d];
    const Buffer<double> parts(stream.device(), largest_parts), here(stream.device(), largest_parts, Memory::pinned);
    sem::largest_difference(stream, a[d], b[d], parts.data(), space.points(d));
    copy(stream, here.data(), parts.data(), here.bytes());
    stream.synchronize();
    for (std::size_t n = 0; n < here.size(); ++n)
      if (!std::isnan(least) && !(here.data()[n] <= least)) least = here.data()[n];
  }
  return least;
}

krylov::Range ElementParts::range_of(std::size_t device) const {
  return {space.points(device), space.elements_of_a_block() * space.points_per_element()};
}

std::vector<std::vector<std::int64_t>> ElementParts::blocks_of_sums() const {
  std::vector<std::vector<std::int64_t>> blocks(devices.size());
  for (std::size_t d = 0; d < blocks.size(); ++d)
    for (std::int64_t n = 0; n < range_of(d).blocks(); ++n)
      blocks[d].push_back(space.first_element(d) / space.elements_of_a_block() + n);
  return blocks;
}

ElementSolver::ElementSolver(std::unique_ptr<ElementParts> all)
    : Solver(std::move(all)), elements_(parts<ElementParts>()) {}

void ElementSolver::advance(std::int64_t steps) {
  in_terms_of_elements(space().box(), space().order(), [&] { Solver::advance(steps); });
}

void ElementSolver::inspect() {
  in_terms_of_elements(space().box(), space().order(), [&] { Solver::inspect(); });
}

void ElementSolver::finish_step() {
  State& now = state();
  ++now.step;
  elements_.part = 0;
  now.time = static_cast<double>(now.step) * elements_.time_step;
}

std::vector<ReportRow> ElementSolver::report() { return space().gather_scatter().report(); }
const Tuning& ElementSolver::tuning() const { return elements_.space.gather_scatter().tuning(); }
const Grid& ElementSolver::grid() const { return elements_.grid; }
Space& ElementSolver::space() { return elements_.space; }

std::vector<double> ElementSolver::at(Probe& probe, const std::string& field, std::size_t component) {
  const std::vector<double*> values = elements_.part_of(state()[field], component);
  return probe.values({values.begin(), values.end()});
}

}  // namespace slipstream::sem
