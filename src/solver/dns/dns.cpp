#include <slipstream/dns.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <slipstream/trace.hpp>

#include "machine/agree.hpp"
#include "machine/private_communicator.hpp"
#include "mover/combine.hpp"
#include "solver/dns/impl.hpp"
#include "solver/dns/keys.hpp"

namespace slipstream::dns {
namespace {

FieldOptions of(FieldOptions options, int components = 3) {
  options.components = components;
  return options;
}

/// Replaces the choice of a process grid in the options by the one that the transform has measured.
Options decided(Options options, const Fft& fft) {
  options.process_grid = fft.process_grid();
  options.tune_process_grid = false;
  return options;
}

bool is_out_of_core(const Options& options) { return options.device_memory != 0; }

FftOptions transform_of(const Machine& machine, const Options& o) {
  FftOptions options = transform_options(o);
  check_device_memory(machine, o);
  if (is_out_of_core(o)) options.device_memory = budget_of_transform(machine, o);
  return options;
}

/// Options of a field whose arrays are allocated on demand if `later` is set.
FieldOptions made_later(FieldOptions options, bool later) {
  options.later = later;
  return options;
}

std::vector<Buffer<std::byte>> memory_of(int components, const Communicator& comm, const Machine& machine,
                                         const Options& options, std::int64_t apart) {
  std::vector<Buffer<std::byte>> found;
  if (is_out_of_core(options)) return found;
  for (const int d : machine.devices_of_rank(comm.rank()))
    found.emplace_back(machine.device(d).local, static_cast<std::size_t>(components * apart) * size_of(options.type));
  return found;
}

/// Makes the field of velocities in cells, over memory that the transform also uses.
Field adopted(const Communicator& comm, const Machine& machine, const Fft& fft,
              const std::vector<Buffer<std::byte>>& memory, std::int64_t apart) {
  const std::vector<int> devices = machine.devices_of_rank(comm.rank());
  FieldOptions options = of(fft.physical_field("velocity"));
  options.apart = apart;
  std::vector<OwnArray> arrays;
  for (const std::int64_t id : fft.physical().local()) {
    const auto at = std::find(devices.begin(), devices.end(), fft.physical().block(id).device) - devices.begin();
    arrays.push_back({memory[static_cast<std::size_t>(at)].data()});
  }
  return Field::adopt(comm, fft.physical(), options, arrays);
}

std::vector<StageFactors> stages_of(Scheme scheme, double dt) {
  if (scheme == Scheme::rk2)
    return {{true, false, dt / 2, 2, 2, dt, 2, dt / 2}, {false, true, dt / 2, 0, 0, 0, 0, 0, false}};
  return {{true, false, dt / 6, 2, 1, dt / 2, 1},
          {false, false, dt / 3, 1, 1, dt / 2, 0},
          {false, false, dt / 3, 1, 2, dt, 1},
          {false, true, dt / 6, 0, 0, 0, 0}};
}

}  // namespace

Scheme scheme_from_string(const std::string& name) {
  return value_in(schemes, name, "no scheme of a pseudo-spectral flow is called", "scheme");
}

Dealiasing dealiasing_from_string(const std::string& name) {
  return value_in(dealiasings, name, "no dealiasing of a pseudo-spectral flow is called", "dealiasing");
}

Forcing::Kind forcing_from_string(const std::string& name) {
  return value_in(forcings, name, "no forcing of a pseudo-spectral flow is called", "forcing");
}

Dns::Impl::Impl(const Communicator& c, const Machine& machine, Options o)
    : SolverParts(c, machine),
      options(std::move(o)),
      fft(comm, machine, options.cells, transform_of(machine, options)),
      modes(fft.spectral(), of(fft.spectral_field("modes"), components_of(options))),
      sum(fft.spectral(), of(made_later(fft.spectral_field("sum"), is_out_of_core(options)), components_of(options))),
      apart(numbers_apart(machine, decided(options, fft))),
      velocity_memory(memory_of(components_of(options), comm, machine, options, apart)),
      product_memory(memory_of(products_of(options), comm, machine, options, apart)),
      u(is_out_of_core(options) ? Field(fft.physical(), of(made_later(fft.physical_field("velocity"), true)))
                                : adopted(comm, machine, fft, velocity_memory, apart)) {
  if (keeps_next(options)) next.emplace(fft.spectral(), of(fft.spectral_field("next")));
  const std::vector<int> numbers_of_devices = machine.devices_of_rank(comm.rank());
  const auto place_of = [&](int device) {
    const auto first = numbers_of_devices.begin(), last = numbers_of_devices.end();
    return static_cast<std::size_t>(std::find(first, last, device) - first);
  };
  for (const Device device : devices) streams.emplace_back(device);
  for (const std::int64_t id : fft.spectral().local()) {
    const Block& block = fft.spectral().block(id);
    ModeGrid grid = wave_numbers(options);
    for (std::size_t a = 0; a < 3; ++a) {
      grid.extent[a] = static_cast<int>(block.box.extent(static_cast<int>(a)));
      grid.first[fft.spectral_axes()[a]] = static_cast<int>(block.box.lo[a]);
    }
    spectral.push_back({id, place_of(block.device), grid});
  }
  for (const std::int64_t id : fft.physical().local()) {
    const Block& block = fft.physical().block(id);
    physical.push_back({id, place_of(block.device), block.box});
  }
  state.fields["modes"] = &modes;
  if (is_out_of_core(options)) {
    on_all_ranks(comm, [&] {
      if (options.scheme == Scheme::rk4) sum.make_arrays();
    });
    out_of_core = make_out_of_core(comm, machine, decided(options, fft), budget_of_batches(machine, options));
  }
  if (options.forcing.kind == Forcing::Kind::stochastic) on_all_ranks(comm, [&] { list_accelerated(); });
  list_tasks();
}

void Dns::Impl::synchronize() {
  for (Stream& stream : streams) stream.synchronize();
  fft.check();
}

void Dns::Impl::transform(bool forward, Held from, Held to, std::vector<Stream>& on, std::size_t count,
                          std::array<std::size_t, 2> first) {
  if (forward) {
    fft.forward_components(components<const void*>(from, physical, count, first[0]),
                           components<void*>(to, spectral, count, first[1]), on);
  } else {
    fft.backward_components(components<const void*>(from, spectral, count, first[0]),
                            components<void*>(to, physical, count, first[1]), on);
  }
}

Task Dns::Impl::transform_task(const std::string& name, bool forward, Held from, Held to, std::size_t count) {
  Collective work;
  work.run = [this, forward, from, to, count](std::vector<Stream>& s) { transform(forward, from, to, s, count); };
  work.check = [this] { fft.check(); };
  work.capturable = fft.capturable();
  return collective_task(name, std::move(work));
}

Task Dns::Impl::host_task(const std::string& name, std::function<void()> work) {
  Collective collective;
  collective.run = [work = std::move(work)](std::vector<Stream>& all) {
    for (Stream& stream : all) stream.synchronize();
    work();
  };
  collective.check = [] {};
  return collective_task(name, std::move(collective));
}

void Dns::Impl::list_tasks() {
  numbers = {options.viscosity, options.time_step, 0, options.forcing.shells};
  list_forcing_before();
  if (out_of_core) return list_sweeps();
  Held now = Held::modes;
  for (std::size_t n = 0; n < stages_of(options.scheme, 0).size(); ++n) {
    // Work and losses are integrated by the same scheme as the flow, as one more equation, such as d W / dt = power. So
    // the weight of a stage is that of its right-hand side.
    const Task budget = host_task("budget", [this, now, n] { account(now, factors_of(n).sum_n, n == 0); });
    if (options.budget && n > 0) tasks.push_back(budget);
    const Held seen = shifts() ? Held::velocity : now;
    if (shifts())
      tasks.push_back(kernel_task("shift", [this, now, n](Stream& stream, std::size_t device, Part) {
        each_mode_block(device, [&]<class T>(const ModeBlock& b, T) {
          Terms<T>::turn(stream, b.grid, three<T>(now, b), three<T>(Held::velocity, b), 3, shift(state.step, n, 1), 1);
        });
      }));
    tasks.push_back(kernel_task("curl", [this, seen](Stream& stream, std::size_t device, Part) {
      each_mode_block(device, [&]<class T>(const ModeBlock& b, T) {
        queue_curl(stream, b.grid, three<T>(seen, b), three<T>(Held::product, b));
      });
    }));
    tasks.push_back(transform_task("velocity", false, seen, Held::velocity));
    if (options.courant > 0 && n == 0)
      tasks.push_back(host_task("time step", [this] { numbers.time_step = step_at(courant_of_cells()); }));
    if (options.budget && n == 0) tasks.push_back(budget);
    tasks.push_back(transform_task("vorticity", false, Held::product, Held::product));
    tasks.push_back(kernel_task("u x w", [this](Stream& stream, std::size_t device, Part) {
      with_type([&]<class T>(T) {
        for (const CellBlock& b : physical)
          if (b.device == device)
            queue_cross(stream, b.box.extents(), three<T>(Held::velocity, b), three<T>(Held::product, b),
                        options.rotation);
      });
    }));
    tasks.push_back(transform_task("nonlinear term", true, Held::product, Held::product));
    if (options.dealiasing != Dealiasing::two_thirds) tasks.push_back(aliases_task(Held::product, 3, n));
    for (int scalar = 0; scalar < scalars_of(options); ++scalar) list_scalar(scalar, now, n);
    tasks.push_back(kernel_task("stage", [this, n](Stream& stream, std::size_t device, Part) {
      each_mode_block(device, [&]<class T>(const ModeBlock& b, T) {
        const StageArrays<T> arrays{three<T>(Held::modes, b), three<T>(Held::sum, b), three<T>(Held::velocity, b),
                                    three<T>(Held::next, b), three<T>(Held::product, b)};
        if (!accelerated.empty()) Terms<T>::accelerate(stream, b.grid, arrays.rhs, accelerations(device));
        queue_stage(stream, b.grid, arrays, factors_of(n), numbers);
      });
    }));
    now = Held::velocity;
  }
  list_forcing_behind();
  if (options.budget) tasks.push_back(host_task("budget", [this] { close_budget(); }));
}

HostArrays Dns::Impl::host_arrays(const Field& field) const {
  HostArrays found(devices.size(), nullptr);
  for (const ModeBlock& b : spectral) found[b.device] = field.data(b.id);
  return found;
}

Task Dns::Impl::aliases_task(Held products, int components, std::size_t stage) {
  return kernel_task("aliases", [this, products, components, stage](Stream& stream, std::size_t device, Part) {
    each_mode_block(device, [&]<class T>(const ModeBlock& b, T) {
      const Three<T> of = three<T>(products, b);
      Terms<T>::turn(stream, b.grid, of, of, components, shift(state.step, stage, -1), 1);
    });
  });
}

/// Lists the tasks of a scalar. Its right-hand side is formed in the memory of its three slopes. Its modes of the next
/// stage follow those of the velocity.
void Dns::Impl::list_scalar(int scalar, Held now, std::size_t stage) {
  tasks.push_back(kernel_task("slopes", [this, scalar, now, stage](Stream& stream, std::size_t device, Part) {
    each_mode_block(device, [&]<class T>(const ModeBlock& b, T) {
      const Three<T> slopes = three<T>(Held::slopes, b);
      Terms<T>::slopes(stream, b.grid, three<T>(now, b), 3 + scalar, slopes);
      if (shifts()) Terms<T>::turn(stream, b.grid, slopes, slopes, 3, shift(state.step, stage, 1), 1);
    });
  }));
  tasks.push_back(transform_task("slopes", false, Held::slopes, Held::slopes));
  tasks.push_back(kernel_task("u.grad", [this, scalar](Stream& stream, std::size_t device, Part) {
    with_type([&]<class T>(T) {
      for (const CellBlock& b : physical)
        if (b.device == device)
          Terms<T>::advection(stream, b.box.extents(), three<T>(Held::velocity, b), three<T>(Held::slopes, b),
                              options.scalars[static_cast<std::size_t>(scalar)].gradient);
    });
  }));
  tasks.push_back(transform_task("u.grad", true, Held::slopes, Held::slopes, 1));
  if (options.dealiasing != Dealiasing::two_thirds) tasks.push_back(aliases_task(Held::slopes, 1, stage));
  tasks.push_back(kernel_task("scalar", [this, scalar, stage](Stream& stream, std::size_t device, Part) {
    each_mode_block(device, [&]<class T>(const ModeBlock& b, T) {
      const StageArrays<T> arrays{
          three<T>(Held::modes, b), three<T>(Held::sum, b), three<T>(Held::velocity, b), {}, {}};
      Terms<T>::stage(stream, b.grid, arrays, 3 + scalar, three<T>(Held::slopes, b).at, factors_of(stage),
                      diffusivity(options, scalar), numbers.time_step);
    });
  }));
}

StageFactors Dns::Impl::factors_of(std::size_t stage) const {
  return stages_of(options.scheme, numbers.time_step)[stage];
}

HostModes Dns::Impl::host_modes() {
  return {host_arrays(modes), host_arrays(options.scheme == Scheme::rk2 ? modes : sum),
          next ? host_arrays(*next) : HostArrays{}};
}

void Dns::Impl::list_sweeps() {
  const auto sweep = [&](const std::string& name, std::function<void(std::vector<Stream>&)> work) {
    Collective collective;
    collective.run = [this, name, work = std::move(work)](std::vector<Stream>& all) {
      const DeviceSpans span(options.exchange.trace, all, "sweeps", name.c_str(), "kernel");
      work(all);
    };
    collective.check = [this] { out_of_core->check(); };
    tasks.push_back(collective_task(name, std::move(collective)));
  };
  sweep("opening", [this](std::vector<Stream>& all) {
    if (!opened || seen_by_sweeps != state.restarts)
      out_of_core->open(all, host_arrays(modes), shift(state.step, 0, 1));
    seen_by_sweeps = state.restarts;
    opened = true;
  });
  const std::size_t stages = stages_of(options.scheme, 0).size();
  for (std::size_t n = 0; n < stages; ++n) {
    const bool chooses = options.courant > 0 && n == 0, last = n + 1 == stages;
    sweep("planes", [this, chooses](std::vector<Stream>& all) {
      out_of_core->products(all, chooses ? std::optional(steps_by_cells()) : std::nullopt);
    });
    if (chooses)
      tasks.push_back(
          host_task("time step", [this] { numbers.time_step = step_at(courant_of(out_of_core->speeds())); }));
    sweep("lines", [this, n, last](std::vector<Stream>& all) {
      std::vector<Accelerations> of_devices;
      for (std::size_t d = 0; d < accelerations_there.size(); ++d) of_devices.push_back(accelerations(d));
      out_of_core->stage(all, factors_of(n), numbers, host_modes(), of_devices, shift(state.step, n, -1),
                         shift(state.step + last, last ? 0 : n + 1, 1));
    });
  }
  list_forcing_behind();
  tasks.push_back(host_task("velocity", [this] {
    velocity_is_new = false;
    if (looks_every > 0 && (state.step + 1) % looks_every == 0) velocity();
  }));
}

void Dns::Impl::list_forcing_before() {
  if (options.forcing.kind == Forcing::Kind::energy) {
    tasks.push_back(host_task("forcing", [this] {
      if (carried.held && held_since == state.restarts) return;
      carried.held = low_energy();
      held_since = state.restarts;
    }));
  } else if (options.forcing.kind == Forcing::Kind::stochastic) {
    tasks.push_back(host_task("forcing", [this] {
      if (carried.accelerations.empty()) draw(0, 0, options.forcing.acceleration);
      send_accelerations();
    }));
  } else if (options.forcing.acts()) {
    tasks.push_back(host_task("forcing", [this] { numbers.forcing = options.forcing.power / (2 * low_energy()); }));
  }
}

void Dns::Impl::list_forcing_behind() {
  if (options.forcing.kind == Forcing::Kind::stochastic)
    tasks.push_back(host_task("forcing", [this] {
      const double keep = std::exp(-numbers.time_step / options.forcing.correlation_time);
      draw(static_cast<std::uint64_t>(state.step) + 1, keep, options.forcing.acceleration * std::sqrt(1 - keep * keep));
    }));
  if (options.forcing.kind != Forcing::Kind::energy) return;
  tasks.push_back(host_task("forcing", [this] {
    const double left = low_energy();
    carried.put_in = *carried.held - left;
    scale = std::sqrt(*carried.held / left);
    budget.work += carried.put_in;
  }));
  if (out_of_core) {
    tasks.push_back(host_task("lowest shells", [this] { scale_lowest_shells(); }));
    return;
  }
  tasks.push_back(kernel_task("lowest shells", [this](Stream& stream, std::size_t device, Part) {
    each_mode_block(device, [&]<class T>(const ModeBlock& b, T) {
      queue_scale(stream, b.grid, three<T>(Held::modes, b), options.forcing.shells, scale);
    });
  }));
}

void Dns::Impl::account(Held now, double share, bool first) {
  const ModeSums found = sums(now);
  if (first) budget = {found.energy, 0, 0};
  budget.lost += share * 2 * options.viscosity * found.squares;
  budget.work += share * (2 * numbers.forcing * found.low + work(now));
}

void Dns::Impl::close_budget() {
  const double missing = sums(Held::modes).energy - budget.before + budget.lost - budget.work;
  const double error = std::abs(missing) / (budget.lost > 0 ? budget.lost : budget.before);
  carried.largest_error = combine(Op::max, carried.largest_error, error);
}

/// Rescales the modes of the lowest shells in host memory. The host does it, because these modes are few.
void Dns::Impl::scale_lowest_shells() {
  const int shells = options.forcing.shells;
  with_type([&]<class T>(T) {
    for (const ModeBlock& b : spectral) {
      const ModeGrid& grid = b.grid;
      const Three<T> u = three<T>(Held::modes, b);
      for (int k = 0; k < grid.extent[2]; ++k) {
        const int ky = grid.ky(k);
        // A shell is 2 pi over the longest edge wide: modes with wave numbers above `shells` lie in none of them.
        if (std::abs(ky) > std::min(shells, grid.highest[1])) continue;
        for (int kx = 0; kx <= std::min(shells, grid.highest[0]); ++kx)
          for (int kz = -std::min(shells, grid.highest[2]); kz <= std::min(shells, grid.highest[2]); ++kz) {
            const double square = grid.shell_square(kx, ky, kz);
            if (square == 0 || !(square < (shells + 0.5) * (shells + 0.5))) continue;
            const std::int64_t at = 2 * grid.at(kz < 0 ? kz + grid.cells[2] : kz, kx, k);
            for (int c = 0; c < 3; ++c)
              for (int part = 0; part < 2; ++part) u.at[at + c * u.step + part] *= static_cast<T>(scale);
          }
      }
    }
  });
  opened = false;
}

Field& Dns::Impl::velocity() {
  if (out_of_core) {
    if (velocity_is_new && seen_restarts == state.restarts) return u;
    u.make_arrays();
    HostArrays cells(devices.size(), nullptr);
    std::vector<std::int64_t> steps(devices.size(), 0);
    for (const CellBlock& b : physical) {
      cells[b.device] = u.data(b.id);
      steps[b.device] = u.shape(b.id).component_stride;
    }
    speeds = out_of_core->velocity(streams, host_arrays(modes), cells, steps, steps_by_cells());
    opened = false;
    velocity_is_new = true;
    seen_restarts = state.restarts;
    return u;
  }
  if (!velocity_is_new || seen_restarts != state.restarts) {
    transform(false, Held::modes, Held::velocity, streams);
    synchronize();
    velocity_is_new = true;
    seen_restarts = state.restarts;
  }
  return u;
}

std::array<double, 3> Dns::Impl::steps_by_cells() const {
  std::array<double, 3> found{};
  for (std::size_t a = 0; a < 3; ++a)
    found[a] = options.time_step * static_cast<double>(options.cells[a]) / options.lengths[a];
  return found;
}

double Dns::Impl::courant() {
  velocity();
  return out_of_core ? courant_of(speeds) : courant_of_cells();
}

double fastest(const std::vector<std::vector<double>>& of_lines) {
  double most = 0;
  for (const std::vector<double>& of_device : of_lines)
    for (const double speed : of_device) most = combine(Op::max, most, speed);
  return most;
}

double Dns::Impl::courant_of(const std::vector<std::vector<double>>& of_lines) const {
  return comm.max(fastest(of_lines));
}

double Dns::Impl::courant_of_cells() {
  std::vector<std::vector<double>> of_lines;
  with_type([&]<class T>(T) {
    for (const CellBlock& b : physical) {
      const auto lines = static_cast<std::size_t>(b.box.extent(1) * b.box.extent(2));
      of_lines.push_back(from_device(streams[b.device], lines, [&](double* to) {
        queue_line_speeds(streams[b.device], b.box.extents(), three<T>(Held::velocity, b), steps_by_cells(), to);
      }));
    }
  });
  return courant_of(of_lines);
}

double Dns::Impl::step_at(double of_longest) const {
  const bool shorter = options.courant > 0 && of_longest > options.courant;
  return shorter ? options.time_step * (options.courant / of_longest) : options.time_step;
}

std::array<double, 3> Dns::Impl::shift(std::int64_t step, std::size_t stage, int sign) const {
  std::array<double, 3> angles{};
  if (!shifts()) return angles;
  for (std::size_t a = 0; a < 3; ++a) {
    const double cells = uniform(0, static_cast<std::uint64_t>(step), a) + (stage % 2 == 1 ? 0.5 : 0);
    angles[a] = sign * 2 * std::numbers::pi * cells / static_cast<double>(options.cells[a]);
  }
  return angles;
}

Dns::Dns(const Communicator& comm, const Machine& machine, Options options)
    : Solver(std::make_unique<Impl>(comm, machine, std::move(options))), impl_(&parts<Impl>()) {
  impl_->loop.emplace(*this, Overlap::off, impl_->options.exchange.trace);
}

// Kept modes have |k_a| < n_a / 3, so advection has eigenvalues up to i (2 pi / 3) C / dt: rk4 holds
// those up to 2.83 i / dt, Heun's scheme none.
void Dns::check_time_step() {
  Impl& d = *impl_;
  const double most = largest_courant(d.options);
  if (most <= 0 || d.options.courant > 0) return;
  const double courant = d.courant();
  require(courant <= most, ErrorCode::unsupported,
          "the time step " + std::to_string(d.options.time_step) + " has the Courant number (CFL) " +
              std::to_string(courant) + ", above " + std::to_string(most) + ": at most " +
              std::to_string(d.options.time_step * most / courant) + " would do",
          {{"option", "time_step"},
           {"given", d.options.time_step},
           {"courant", courant},
           {"limit", d.options.time_step * most / courant}});
}

void Dns::check_forcing() {
  const Forcing& forcing = impl_->options.forcing;
  if (forcing.acts() && forcing.kind != Forcing::Kind::stochastic) impl_->low_energy();
}

void Dns::guard(GuardOptions options) {
  impl_->looks_every = options.every;
  if (impl_->out_of_core) impl_->u.make_arrays();
  for (std::size_t a = 0; a < 3; ++a) {
    options.spacing[a] = impl_->options.lengths[a] / static_cast<double>(impl_->options.cells[a]);
    // velocities belong to the points i dx, while a guard reports centres of cells
    options.origin[a] = -options.spacing[a] / 2;
  }
  Solver::guard(std::move(options));
}

void Dns::inspect() {
  impl_->velocity();
  Solver::inspect();
}

void Dns::finish_step() {
  impl_->carried.time_step = impl_->numbers.time_step;
  impl_->state.time += impl_->numbers.time_step;
  ++impl_->state.step;
  if (!impl_->out_of_core) impl_->velocity_is_new = false;
}
Recording Dns::recording() const {
  const Options& o = impl_->options;
  const bool changes = o.courant > 0 || o.dealiasing == Dealiasing::phase_shift;
  return {o.forcing.acts() || o.budget || changes || impl_->out_of_core ? 0 : 1, 0, 0};
}
std::vector<Watched> Dns::watched() { return {{"velocity", &impl_->u}}; }

Field& Dns::velocity() { return impl_->velocity(); }
Field& Dns::field(const std::string& name) { return name == "velocity" ? velocity() : Solver::field(name); }
const Tuning& Dns::tuning() const { return impl_->fft.tuning(); }
const Grid& Dns::grid() const { return impl_->fft.physical(); }
Carried Dns::carried() const { return impl_->carried; }
void Dns::carry(const Carried& of) {
  impl_->carried = of;
  impl_->held_since = impl_->state.restarts;
}
const Options& Dns::options() const { return impl_->options; }
Fft& Dns::fft() { return impl_->fft; }

std::int64_t Dns::host_bytes_moved() const { return impl_->out_of_core ? impl_->out_of_core->moved() : 0; }
std::string Dns::describe_batches() const { return impl_->out_of_core ? impl_->out_of_core->describe() : ""; }

std::int64_t Dns::bytes_on(Device device) const {
  std::int64_t bytes = impl_->fft.bytes_on(device);
  for (const auto& buffer : impl_->accelerations_there)
    if (buffer.device() == device) bytes += static_cast<std::int64_t>(buffer.bytes());
  for (const auto& buffer : impl_->accelerated_there)
    if (buffer.device() == device) bytes += static_cast<std::int64_t>(buffer.bytes());
  if (impl_->out_of_core) {
    for (std::size_t d = 0; d < devices().size(); ++d)
      if (devices()[d] == device) bytes += impl_->out_of_core->bytes(d);
    return bytes;
  }
  for (const Field* field : {&impl_->modes, &impl_->sum, impl_->next ? &*impl_->next : nullptr})
    if (field) bytes += field->bytes_on(device);
  for (const auto* memory : {&impl_->velocity_memory, &impl_->product_memory})
    for (const Buffer<std::byte>& buffer : *memory)
      if (buffer.device() == device) bytes += static_cast<std::int64_t>(buffer.bytes());
  return bytes;
}

}  // namespace slipstream::dns
