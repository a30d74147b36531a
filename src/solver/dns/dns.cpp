#include <slipstream/dns.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "machine/agree.hpp"
#include "solver/dns/impl.hpp"

namespace slipstream::dns {
namespace {

/// Steps that the host may run ahead of the devices.
constexpr std::int64_t queue_depth = 16;

void check(const Options& o) {
  require(std::min({o.cells[0], o.cells[1], o.cells[2]}) >= 4,
          "a pseudo-spectral flow of " + to_string(o.cells) + " cells was asked for: each axis needs 4 or more");
  require(o.type == DType::f32 || o.type == DType::f64,
          "a pseudo-spectral flow holds f32 or f64, not " + to_string(o.type));
  require(std::isfinite(o.viscosity) && o.viscosity >= 0,
          "the viscosity of a pseudo-spectral flow is " + std::to_string(o.viscosity) + ": it must be 0 or more");
  require(std::isfinite(o.time_step) && o.time_step > 0,
          "the time step of a pseudo-spectral flow is " + std::to_string(o.time_step) + ": it must be above 0");
  require(std::isfinite(o.forcing.power) && o.forcing.power >= 0 && o.forcing.shells >= 1,
          "a forcing puts in 0 or more, into 1 or more shells");
}

FftOptions transforms(const Options& o) {
  check(o);
  FftOptions options;
  options.type = o.type;
  options.process_grid = o.process_grid;
  options.scaled = false;
  options.overlap = o.overlap;
  for (std::size_t a = 0; a < 3; ++a) options.highest[a] = (o.cells[a] - 1) / 3;
  options.exchange = o.exchange;
  return options;
}

FieldOptions three(FieldOptions options) {
  options.components = 3;
  return options;
}

std::vector<StageFactors> stages_of(Scheme scheme, double dt) {
  if (scheme == Scheme::rk2) return {{true, false, dt / 2, 2, 2, dt, 2}, {false, true, dt / 2, 0, 0, 0, 0}};
  return {{true, false, dt / 6, 2, 1, dt / 2, 1},
          {false, false, dt / 3, 1, 1, dt / 2, 0},
          {false, false, dt / 3, 1, 2, dt, 1},
          {false, true, dt / 6, 0, 0, 0, 0}};
}

}  // namespace

Scheme scheme_from_string(const std::string& name) {
  if (name == "rk2") return Scheme::rk2;
  require(name == "rk4", "no scheme of a pseudo-spectral flow is called '" + name + "': choose rk2 or rk4");
  return Scheme::rk4;
}

Dns::Impl::Impl(const Communicator& c, const Machine& machine, Options o)
    : comm(c),
      options(std::move(o)),
      fft(comm, machine, options.cells, transforms(options)),
      modes(fft.spectral(), three(fft.spectral_field("modes"))),
      next(fft.spectral(), three(fft.spectral_field("next"))),
      sum(fft.spectral(), three(fft.spectral_field("sum"))),
      rhs(fft.spectral(), three(fft.spectral_field("right-hand side"))),
      u(fft.physical(), three(fft.physical_field("velocity"))),
      w(fft.physical(), three(fft.physical_field("vorticity"))) {
  const std::vector<int> devices = machine.devices_of_rank(comm.rank());
  const auto place_of = [&](int device) {
    return static_cast<std::size_t>(std::find(devices.begin(), devices.end(), device) - devices.begin());
  };
  for (const int d : devices) streams.emplace_back(machine.device(d).local);
  for (const std::int64_t id : fft.spectral().local()) {
    const Block& block = fft.spectral().block(id);
    ModeGrid grid{};
    for (std::size_t a = 0; a < 3; ++a) {
      grid.cells[a] = static_cast<int>(options.cells[a]);
      grid.highest[a] = (grid.cells[a] - 1) / 3;
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
}

void Dns::Impl::synchronize() {
  for (Stream& stream : streams) stream.synchronize();
  fft.check();
}

void Dns::Impl::queue_right_hand_side(const Field& now) {
  fft.backward(now, u, streams);
  with_type([&](auto t) {
    using T = decltype(t);
    for (const ModeBlock& b : spectral) queue_curl(streams[b.device], b.grid, data<T>(now, b.id), data<T>(rhs, b.id));
  });
  fft.backward(rhs, w, streams);
  with_type([&](auto t) {
    using T = decltype(t);
    for (const CellBlock& b : physical)
      queue_cross(streams[b.device], b.box.extents(), data<T>(u, b.id), data<T>(w, b.id));
  });
  fft.forward(u, rhs, streams);
}

void Dns::Impl::queue_step() {
  StageNumbers numbers{options.viscosity, options.time_step, 0, options.forcing.shells};
  if (options.forcing.power > 0) numbers.forcing = forcing_factor();
  Field* now = &modes;
  for (const StageFactors& factors : stages_of(options.scheme, options.time_step)) {
    queue_right_hand_side(*now);
    with_type([&](auto t) {
      using T = decltype(t);
      for (const ModeBlock& b : spectral) {
        const StageArrays<T> arrays{data<T>(modes, b.id), data<T>(*now, b.id), data<T>(next, b.id), data<T>(sum, b.id),
                                    data<T>(rhs, b.id)};
        queue_stage(streams[b.device], b.grid, arrays, factors, numbers);
      }
    });
    now = &next;
  }
  state.time += options.time_step;
  ++state.step;
  velocity_is_new = false;
}

const Field& Dns::Impl::velocity() {
  if (!velocity_is_new || seen_restarts != state.restarts) {
    fft.backward(modes, u, streams);
    synchronize();
    velocity_is_new = true;
    seen_restarts = state.restarts;
  }
  return u;
}

double Dns::Impl::courant() {
  velocity();
  double scale[3];
  for (std::size_t a = 0; a < 3; ++a)
    scale[a] = options.time_step * static_cast<double>(options.cells[a]) / (2 * std::numbers::pi);
  double most = 0;
  with_type([&](auto t) {
    using T = decltype(t);
    for (const CellBlock& b : physical) {
      const auto lines = static_cast<std::size_t>(b.box.extent(1) * b.box.extent(2));
      for (const double speed : from_device(streams[b.device], lines, [&](double* to) {
             queue_line_speeds(streams[b.device], b.box.extents(), data<T>(u, b.id), scale, to);
           }))
        if (!(speed <= most)) most = speed;  // keeps a NaN
    }
  });
  return comm.max(most);
}

std::array<double, line_sums> Dns::Impl::sums() {
  std::array<double, line_sums> all{};
  with_type([&](auto t) {
    using T = decltype(t);
    for (const ModeBlock& b : spectral) {
      const std::size_t lines = static_cast<std::size_t>(b.grid.extent[1]) * static_cast<std::size_t>(b.grid.extent[2]);
      const std::vector<double> found = from_device(streams[b.device], line_sums * lines, [&](double* to) {
        queue_line_sums(streams[b.device], b.grid, data<T>(modes, b.id), options.forcing.shells, to);
      });
      for (std::size_t n = 0; n < found.size(); ++n) all[n % line_sums] += found[n];
    }
  });
  for (double& one : all) one = comm.sum_in_rank_order(one);
  return all;
}

double Dns::Impl::forcing_factor() {
  const double low = sums()[2];
  require(low > 0, "the forcing of a pseudo-spectral flow finds no energy in its " +
                       std::to_string(options.forcing.shells) +
                       " lowest shells: begin with a field that has some there");
  return options.forcing.power / (2 * low);
}

Dns::Dns(const Communicator& comm, const Machine& machine, Options options)
    : impl_(std::make_unique<Impl>(comm, machine, std::move(options))) {}

Dns::~Dns() {
  if (impl_)
    for (Stream& stream : impl_->streams) stream.synchronize();
}

void Dns::step(std::int64_t steps) {
  Impl& d = *impl_;
  if (d.options.largest_courant > 0) {
    const double courant = d.courant();
    require(courant <= d.options.largest_courant,
            "the time step " + std::to_string(d.options.time_step) + " has the Courant number (CFL) " +
                std::to_string(courant) + ", above " + std::to_string(d.options.largest_courant) + ": at most " +
                std::to_string(d.options.time_step * d.options.largest_courant / courant) + " would do");
  }
  for (std::int64_t n = 1; n <= steps; ++n) {
    d.queue_step();
    if (n % queue_depth == 0 || n == steps) d.synchronize();
  }
}

Statistics Dns::statistics() {
  Impl& d = *impl_;
  Statistics s;
  const auto sums = d.sums();
  s.time = d.state.time;
  s.energy = sums[0];
  s.dissipation = 2 * d.options.viscosity * sums[1];
  s.enstrophy = sums[1];
  s.power = sums[2] > 0 ? d.options.forcing.power : 0;
  s.velocity = std::sqrt(2 * s.energy / 3);
  if (s.dissipation > 0) {
    const double nu = d.options.viscosity;
    s.taylor_scale = s.velocity * std::sqrt(15 * nu / s.dissipation);
    s.taylor_reynolds = s.velocity * s.taylor_scale / nu;
    s.kolmogorov_scale = std::pow(nu * nu * nu / s.dissipation, 0.25);
    const Extent& n = d.options.cells;
    s.largest_mode_eta = static_cast<double>((std::min({n[0], n[1], n[2]}) - 1) / 3) * s.kolmogorov_scale;
  }
  s.courant = d.courant();
  s.spectrum = d.spectrum();
  return s;
}

const Field& Dns::velocity() { return impl_->velocity(); }
State& Dns::state() { return impl_->state; }
const Options& Dns::options() const { return impl_->options; }
const Fft& Dns::fft() const { return impl_->fft; }

std::int64_t Dns::bytes_on(Device device) const {
  std::int64_t bytes = impl_->fft.bytes_on(device);
  for (const Field* field : {&impl_->modes, &impl_->next, &impl_->sum, &impl_->rhs, &impl_->u, &impl_->w})
    bytes += field->bytes_on(device);
  return bytes;
}

}  // namespace slipstream::dns
