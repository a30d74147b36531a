// Statistics of a pseudo-spectral flow: sums over modes and cells.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <slipstream/error.hpp>

#include "solver/dns/impl.hpp"

namespace slipstream::dns {

ModeSums Dns::Impl::sums(Held of) {
  const auto found =
      summed(spectral,
             from_modes(
                 of, [](const ModeGrid& grid) { return line_sums * static_cast<std::int64_t>(grid.extent[1]); },
                 [&](Stream& stream, std::size_t, const ModeGrid& grid, const auto& u, double* to) {
                   queue_line_sums(stream, grid, u, options.forcing.shells, to);
                 }),
             line_sums);
  return {found[0], found[1], found[2], {found[3], found[4], found[5]}};
}

std::array<double, 2> Dns::Impl::shape_of_gradients() {
  if (!out_of_core)
    for (std::size_t d = 0; d < streams.size(); ++d)
      each_mode_block(d, [&]<class T>(const ModeBlock& b, T) {
        queue_gradient(streams[d], b.grid, three<T>(Held::modes, b), three<T>(Held::product, b));
      });
  // The longitudinal derivative along z follows from the other two in a divergence-free flow. This saves a transform.
  if (!out_of_core) {
    transform(false, Held::product, Held::product, streams, 2);
    synchronize();
  }
  opened = false;
  std::vector<std::vector<double>> by_device, of_lines;
  if (out_of_core) by_device = out_of_core->moments(streams, host_arrays(modes));
  with_type([&]<class T>(T) {
    for (const CellBlock& b : physical) {
      const auto lines = static_cast<std::size_t>(b.box.extent(1) * b.box.extent(2));
      of_lines.push_back(
          out_of_core ? by_device[b.device] : from_device(streams[b.device], line_moments * lines, [&](double* to) {
            queue_line_moments(streams[b.device], b.box.extents(), three<T>(Held::product, b), to);
          }));
    }
  });
  const std::vector<double> moments = summed(physical, of_lines, line_moments);
  std::array<double, 2> found{};
  const auto cells = static_cast<double>(volume(options.cells));
  // The derivative along z, a sum of the other two, may be zero except for rounding errors.
  double rounding = 0;
  with_type([&]<class T>(T) { rounding = 64 * static_cast<double>(std::numeric_limits<T>::epsilon()); });
  const double least = rounding * rounding * std::max(moments[0], moments[3]) / cells;
  for (std::size_t a = 0; a < 3; ++a) {
    const double second = moments[3 * a] / cells;
    if (!(second > least)) continue;
    found[0] += moments[3 * a + 1] / cells / (second * std::sqrt(second)) / 3;
    found[1] += moments[3 * a + 2] / cells / (second * second) / 3;
  }
  return found;
}

ScalarStatistics Dns::Impl::of_scalar(int scalar) {
  const auto found = summed(
      spectral,
      from_modes(
          Held::modes, [](const ModeGrid& grid) { return scalar_sums * static_cast<std::int64_t>(grid.extent[1]); },
          [&]<class T>(Stream& stream, std::size_t, const ModeGrid& grid, const Three<T>& of, double* to) {
            Terms<T>::line_sums(stream, grid, of, 3 + scalar, to);
          }),
      scalar_sums);
  ScalarStatistics s;
  s.variance = found[0];
  s.dissipation = 2 * diffusivity(options, scalar) * found[1];
  s.flux = {found[2], found[3], found[4]};
  s.spectrum = spectrum(3 + scalar, 1);
  for (double& value : s.spectrum) value *= 2;
  return s;
}

double Dns::Impl::low_energy() {
  const auto [energy, squares, low, mean] = sums(Held::modes);
  double rounding = 0;
  with_type([&]<class T>(T) { rounding = 8 * static_cast<double>(std::numeric_limits<T>::epsilon()); });
  const double all = energy + (mean[0] * mean[0] + mean[1] * mean[1] + mean[2] * mean[2]) / 2;
  require(low > rounding * rounding * all || !std::isfinite(all), ErrorCode::unsupported,
          "the forcing of a pseudo-spectral flow finds no energy in its " + std::to_string(options.forcing.shells) +
              " lowest shells: take more of them, or begin with a field that has some there",
          {{"option", "shells"}, {"given", options.forcing.shells}});
  return low;
}

Statistics Dns::statistics() {
  Impl& d = *impl_;
  Statistics s;
  const ModeSums sums = d.sums(Impl::Held::modes);
  s.time = d.state.time;
  s.energy = sums.energy;
  s.mean_velocity = sums.mean;
  s.dissipation = 2 * d.options.viscosity * sums.squares;
  s.enstrophy = sums.squares;
  const double last_step = d.carried.time_step > 0 ? d.carried.time_step : d.options.time_step;
  s.power = d.options.forcing.kind == Forcing::Kind::energy ? d.carried.put_in / last_step
            : sums.low > 0                                  ? d.options.forcing.power
                                                            : 0;
  if (d.options.forcing.kind == Forcing::Kind::stochastic) s.power = d.work(Impl::Held::modes);
  s.velocity = std::sqrt(2 * s.energy / 3);
  if (s.dissipation > 0) {
    const double nu = d.options.viscosity;
    s.taylor_scale = s.velocity * std::sqrt(15 * nu / s.dissipation);
    s.taylor_reynolds = s.velocity * s.taylor_scale / nu;
    s.kolmogorov_scale = std::pow(nu * nu * nu / s.dissipation, 0.25);
    const ModeGrid grid = wave_numbers(d.options);
    s.largest_mode_eta =
        std::min({grid.highest[0] * grid.wave[0], grid.highest[1] * grid.wave[1], grid.highest[2] * grid.wave[2]}) *
        s.kolmogorov_scale;
  }
  const double of_longest = d.courant();
  s.time_step = d.step_at(of_longest);
  s.courant = of_longest * (s.time_step / d.options.time_step);
  const auto [skewness, flatness] = d.shape_of_gradients();
  s.skewness = skewness;
  s.flatness = flatness;
  s.budget_error = d.options.budget ? d.carried.largest_error : std::numeric_limits<double>::quiet_NaN();
  s.spectrum = d.spectrum();
  if (s.energy > 0) {
    double scales = 0;
    for (std::size_t k = 1; k < s.spectrum.size(); ++k) scales += s.spectrum[k] / static_cast<double>(k);
    s.integral_scale = std::numbers::pi / (2 * s.velocity * s.velocity) * scales / wave_numbers(d.options).shell;
    s.c_epsilon = s.dissipation / (s.velocity * s.velocity) * (s.integral_scale / s.velocity);
  }
  for (int n = 0; n < scalars_of(d.options); ++n) s.scalars.push_back(d.of_scalar(n));
  return s;
}

int Dns::shells() const { return impl_->shells(); }

Transfer Dns::transfer() {
  Impl& d = *impl_;
  Transfer found;
  std::vector<double>& sums = found.transfer;
  sums.resize(static_cast<std::size_t>(d.shells()));
  d.add_transfer({0, 0, 0}, sums);
  if (d.shifts()) {
    std::array<double, 3> half{};
    for (std::size_t a = 0; a < 3; ++a) half[a] = std::numbers::pi / static_cast<double>(d.options.cells[a]);
    d.add_transfer(half, sums);
    for (double& value : sums) value /= 2;
  }
  double passed = 0;
  for (const double value : sums) found.flux.push_back(passed -= value);
  return found;
}

}  // namespace slipstream::dns
