// Incompressible flow: fields, state and tasks of a run.
#include <algorithm>
#include <utility>

#include <slipstream/error.hpp>

#include "machine/agree.hpp"
#include "solver/sem/flow/impl.hpp"

namespace slipstream::sem {
namespace {

const FlowOptions& checked_flow(const Communicator& comm, const FlowOptions& options) {
  on_all_ranks(comm, [&] { check(options); });
  return options;
}

FieldOptions field_of_flow(const char* name, int components) {
  FieldOptions options;
  options.name = name;
  options.type = DType::f64;
  options.components = components;
  options.alignment = 1;
  return options;
}

}  // namespace

Flow::Impl::Component::Component(Space& space, const FlowOptions& options, std::size_t number)
    : patches(patches_of(space.box(), component_of(options, number).sides)),
      constraint(space, dirichlet_faces(space.box(), patches)) {
  bool given = false;
  for (const Patch& patch : patches) {
    if (patch.side.condition != Condition::value || !patch.side.given.at) continue;
    given = true;
    steady = steady && patch.side.given.steady;
  }
  if (given) {
    lifting.emplace(space, patches, constraint.faces());
    values = space.vector();
  }
  if (options.force[number].at) force = space.vector();
}

Flow::Impl::Impl(const Communicator& c, const Machine& m, FlowOptions o)
    : ElementParts(c, m, component_of(checked_flow(c, o), 0), true),
      options(std::move(o)),
      free(space, space.box().dirichlet(SideFlags{})),
      velocity(grid, field_of_flow("velocity", 3)),
      velocity1(grid, field_of_flow("velocity1", 3)),
      velocity2(grid, field_of_flow("velocity2", 3)),
      pressure(grid, field_of_flow("pressure", 1)),
      pressure1(grid, field_of_flow("pressure1", 1)),
      pressure_solver(space, free, of_pressure()) {
  components.reserve(3);
  for (std::size_t n = 0; n < 3; ++n) components.emplace_back(space, options, n);
  list_solvers();
  for (Triple* const triple : {&star, &right, &turn, &g})
    for (Vector& part_of_it : *triple) part_of_it = space.vector();
  for (Vector& part_of_it : fine) part_of_it = space.fine_vector();
  b = space.vector();
  x = space.vector();
  inverse_mass = space.vector();
  for (std::size_t d = 0; d < devices.size(); ++d)
    if (x[d].size() > 0) copy(space.streams()[d], inverse_mass[d].data(), space.mass_matrix()[d].data(), x[d].bytes());
  space.assemble(inverse_mass);
  for (std::size_t d = 0; d < devices.size(); ++d)
    invert(space.streams()[d], inverse_mass[d].data(), free.mask()[d].data(), 0, space.points(d));
  if (options.divergence_damping > 0) damping = space.grad_div_step();
  state.fields = {{"velocity", &velocity},
                  {"velocity1", &velocity1},
                  {"velocity2", &velocity2},
                  {"pressure", &pressure},
                  {"pressure1", &pressure1}};
  if (earlier) {
    state.fields["earlier_pressures"] = &*earlier;
    // Marked as optional: checkpoints of earlier versions lack this field, and a restart works without it.
    state.made_when_asked["earlier_pressures"] = [] {};
  }
  if (options.mean_from) {
    means.emplace(grid);
    state.fields.insert({{"mean_velocity", &means->velocity},
                         {"mean_pressure", &means->pressure},
                         {"mean_squares", &means->squares},
                         {"mean_products", &means->products}});
  }
  past = {options.time_step, options.time_step, 0, 0, 0};
  list_sides();
  list_tasks();
  try {
    const std::vector<double> found = integrals({});
    volume = found.front();
    start();
  } catch (...) {
    wait();  // waits, because queued work may use the memory that is freed here
    throw;
  }
}

Flow::Impl::Means::Means(const Grid& grid)
    : velocity(grid, field_of_flow("mean_velocity", 3)),
      pressure(grid, field_of_flow("mean_pressure", 1)),
      squares(grid, field_of_flow("mean_squares", 3)),
      products(grid, field_of_flow("mean_products", 3)) {}

SolverOptions Flow::Impl::of_pressure() {
  SolverOptions how = options.pressure;
  if (how.projection < 1) return how;
  earlier.emplace(grid, field_of_flow("earlier_pressures", how.projection));
  how.earlier = part_of(*earlier, 0);
  return how;
}

void Flow::Impl::list_solvers() {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t c = 0; c < 3; ++c) {
    const auto same = [&](const std::vector<std::size_t>& group) {
      return components[group.front()].constraint.faces().of == components[c].constraint.faces().of;
    };
    const auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) {
      groups.push_back({c});
    } else {
      found->push_back(c);
    }
  }
  for (const std::vector<std::size_t>& group : groups) {
    SolverOptions how = options.velocity;
    how.components = static_cast<int>(group.size());
    together.push_back({group, HelmholtzSolver(space, components[group.front()].constraint, how),
                        space.vector(how.components), space.vector(how.components)});
  }
}

void Flow::Impl::list_tasks() {
  if (options.target_courant > 0) list_task("parts of the step", [this] { choose_parts(); });
  list_task("explicit terms", [this] { explicit_terms(); });
  list_task("pressure", [this] { solve_pressure(); });
  list_task("velocity", [this] { solve_velocity(); });
  if (options.target_courant > 0) list_task("further parts of the step", [this] { go_on(); });
}

Flow::Flow(const Communicator& comm, const Machine& machine, FlowOptions options)
    : ElementSolver(std::make_unique<Impl>(comm, machine, std::move(options))), impl_(&parts<Impl>()) {
  impl_->loop.emplace(*this, Overlap::off, impl_->options.exchange.trace);
}

std::vector<Watched> Flow::watched() { return {{"velocity", &impl_->velocity}, {"pressure", &impl_->pressure}}; }
const FlowOptions& Flow::options() const { return impl_->options; }
double Flow::courant() const { return impl_->courant; }
krylov::Fit Flow::fit() { return impl_->pressure_solver.fit(1, 0); }
const krylov::Effort& Flow::pressure_effort() const { return impl_->pressure_effort; }
const krylov::Effort& Flow::velocity_effort() const { return impl_->velocity_effort; }
std::vector<std::string> Flow::cautions() const { return impl_->cautions; }
Flow::Past Flow::past() const {
  Past past = impl_->past;
  past.earlier = impl_->pressure_solver.earlier();
  return past;
}
void Flow::set_past(const Past& past) {
  impl_->past = past;
  impl_->pressure_solver.set_earlier(past.earlier);
}

}  // namespace slipstream::sem
