// A forcing of modes by Ornstein-Uhlenbeck processes (Eswaran & Pope 1988).
#include <algorithm>
#include <cmath>
#include <numbers>

#include <slipstream/error.hpp>

#include "solver/dns/impl.hpp"

namespace slipstream::dns {

/// Lists the modes with random forcing: first one of each pair k and -k, then their stored conjugates.
void Dns::Impl::list_accelerated() {
  const ModeGrid grid = wave_numbers(options);
  const double below = (options.forcing.shells + 0.5) * (options.forcing.shells + 0.5);
  std::vector<std::array<int, 3>> mirrored;
  int most[3];
  for (std::size_t a = 0; a < 3; ++a) most[a] = std::min(options.forcing.shells, grid.highest[a]);
  for (int kx = 0; kx <= most[0]; ++kx)
    for (int ky = -most[1]; ky <= most[1]; ++ky)
      for (int kz = -most[2]; kz <= most[2]; ++kz) {
        const double square = grid.shell_square(kx, ky, kz);
        if (!(square > 0 && square < below) || !grid.holds(kx, ky, kz)) continue;
        if (kx == 0 && (ky < 0 || (ky == 0 && kz < 0))) continue;
        accelerated.push_back({kx, ky, kz});
        if (kx == 0) mirrored.push_back({0, -ky, -kz});
      }
  drawn = accelerated.size();
  accelerated.insert(accelerated.end(), mirrored.begin(), mirrored.end());
  for (std::size_t d = 0; d < streams.size(); ++d) {
    const std::size_t numbers_of_all = 3 * accelerated.size();
    accelerated_there.emplace_back(devices[d], numbers_of_all);
    accelerations_there.emplace_back(devices[d], 2 * numbers_of_all);
    copy(streams[d], accelerated_there[d].data(), accelerated.data(), accelerated_there[d].bytes());
    streams[d].synchronize();
  }
}

/// Draws normally distributed numbers by the Box-Muller method, a pair for each complex number.
void Dns::Impl::draw(std::uint64_t number, double keep, double add) {
  std::vector<double>& values = carried.accelerations;
  values.resize(6 * drawn);
  const std::uint64_t seed = options.forcing.seed;
  for (std::size_t n = 0; n < values.size(); n += 2) {
    const double radius = std::sqrt(-2 * std::log(1 - uniform(seed, number, n)));
    const double angle = 2 * std::numbers::pi * uniform(seed, number, n + 1);
    values[n] = keep * values[n] + add * radius * std::cos(angle);
    values[n + 1] = keep * values[n + 1] + add * radius * std::sin(angle);
  }
}

void Dns::Impl::send_accelerations() {
  require(carried.accelerations.size() == 6 * drawn, ErrorCode::mismatch,
          "a stochastic forcing of " + std::to_string(drawn) + " modes was given " +
              std::to_string(carried.accelerations.size()) + " numbers to go on from",
          {{"given", carried.accelerations.size()}, {"needed", 6 * drawn}});
  std::vector<double> values = carried.accelerations;
  for (std::size_t mode = 0; values.size() < 6 * accelerated.size(); ++mode) {
    if (accelerated[mode][0] != 0) continue;
    for (std::size_t n = 0; n < 6; ++n) values.push_back((n % 2 == 0 ? 1 : -1) * values[6 * mode + n]);
  }
  for (std::size_t d = 0; d < streams.size(); ++d) {
    copy(streams[d], accelerations_there[d].data(), values.data(), values.size() * sizeof(double));
    streams[d].synchronize();
  }
}

Accelerations Dns::Impl::accelerations(std::size_t device) const {
  return {accelerated_there[device].data(), accelerations_there[device].data(), static_cast<int>(accelerated.size())};
}

double Dns::Impl::work(Held of) {
  if (accelerated.empty() || carried.accelerations.empty()) return 0;
  send_accelerations();
  return summed(spectral,
                from_modes(
                    of, [](const ModeGrid&) { return std::int64_t{1}; },
                    [&]<class T>(Stream& stream, std::size_t device, const ModeGrid& grid, const Three<T>& u,
                                 double* to) { Terms<T>::work(stream, grid, u, accelerations(device), to); }),
                1)[0];
}

}  // namespace slipstream::dns
