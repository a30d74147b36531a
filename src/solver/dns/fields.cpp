// Initial fields, computed on the host, and the energy spectrum.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include <slipstream/error.hpp>

#include "machine/agree.hpp"
#include "solver/dns/impl.hpp"

namespace slipstream::dns {
namespace {

int shell_of(const ModeGrid& grid, int kx, int ky, int kz) {
  return static_cast<int>(std::floor(std::sqrt(grid.shell_square(kx, ky, kz)) + 0.5));
}

/// Counter-based random number (splitmix64), the same on all ranks.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

double angle(std::uint64_t seed, int kx, int ky, int kz, std::uint64_t which) {
  std::uint64_t state = mixed(seed);
  for (const int k : {kx, ky, kz}) state = mixed(state ^ static_cast<std::uint64_t>(static_cast<std::int64_t>(k)));
  return 2 * std::numbers::pi * 0x1p-53 * static_cast<double>(mixed(state + which) >> 11);
}

using Vector = std::array<std::complex<double>, 3>;

/// Random unit vector at right angles to k, with random phases (Rogallo 1981); at -k its complex conjugate.
Vector direction(const ModeGrid& grid, std::uint64_t seed, int kx, int ky, int kz) {
  const bool mirrored = kx < 0 || (kx == 0 && (ky < 0 || (ky == 0 && kz < 0)));
  if (mirrored) {
    Vector v = direction(grid, seed, -kx, -ky, -kz);
    for (auto& c : v) c = std::conj(c);
    return v;
  }
  const double x = kx * grid.wave[0], y = ky * grid.wave[1], z = kz * grid.wave[2], flat = std::hypot(x, y),
               k = std::hypot(flat, z);
  const std::array<double, 3> one = flat > 0 ? std::array{y / flat, -x / flat, 0.0} : std::array{1.0, 0.0, 0.0},
                              other = flat > 0 ? std::array{x * z / (k * flat), y * z / (k * flat), -flat / k}
                                               : std::array{0.0, 1.0, 0.0};
  const double turn = angle(seed, kx, ky, kz, 2);
  const auto a = std::cos(turn) * std::polar(1.0, angle(seed, kx, ky, kz, 0)),
             b = std::sin(turn) * std::polar(1.0, angle(seed, kx, ky, kz, 1));
  Vector v;
  for (std::size_t c = 0; c < 3; ++c) v[c] = a * one[c] + b * other[c];
  return v;
}

}  // namespace

double uniform(std::uint64_t seed, std::uint64_t number, std::uint64_t which) {
  return 0x1p-53 * static_cast<double>(mixed(mixed(mixed(seed) ^ number) ^ which) >> 11);
}

int Dns::Impl::shells() const {
  const ModeGrid grid = wave_numbers(options);
  if (!grid.round) return shell_of(grid, grid.highest[0], grid.highest[1], grid.highest[2]) + 1;
  int most = 0;  // highest wave-number shell of a kept mode, if kept modes form an ellipsoid
  for (int kx = 0; kx <= grid.highest[0]; ++kx)
    for (int ky = 0; ky <= grid.highest[1]; ++ky) {
      int kz = grid.highest[2];
      while (kz >= 0 && !grid.holds(kx, ky, kz)) --kz;
      if (kz >= 0) most = std::max(most, shell_of(grid, kx, ky, kz));
    }
  return most + 1;
}

std::vector<double> Dns::Impl::over_blocks(const std::map<std::int64_t, std::vector<double>>& mine,
                                           std::size_t count) const {
  std::string packed;
  for (const auto& [id, values] : mine) {
    packed.append(reinterpret_cast<const char*>(&id), sizeof id);
    packed.append(reinterpret_cast<const char*>(values.data()), count * sizeof(double));
  }
  std::map<std::int64_t, std::vector<double>> all;
  const std::size_t size = sizeof(std::int64_t) + count * sizeof(double);
  for (const std::string& of_rank : comm.all_gather(packed))
    for (std::size_t at = 0; at < of_rank.size(); at += size) {
      std::int64_t id = 0;
      std::memcpy(&id, of_rank.data() + at, sizeof id);
      std::vector<double>& values = all[id];
      values.resize(count);
      std::memcpy(values.data(), of_rank.data() + at + sizeof id, count * sizeof(double));
    }
  std::vector<double> sums(count, 0.0);
  for (const auto& [id, values] : all)
    for (std::size_t n = 0; n < count; ++n) sums[n] += values[n];
  return sums;
}

std::vector<double> Dns::Impl::spectrum(int first, int components) {
  const auto count = static_cast<std::size_t>(shells());
  std::vector<double> found =
      summed(spectral,
             from_modes(
                 Held::modes, [&](const ModeGrid&) { return static_cast<std::int64_t>(count); },
                 [&]<class T>(Stream& stream, std::size_t, const ModeGrid& grid, const Three<T>& all, double* to) {
                   const Three<T> of{all.at + first * all.step, all.step};
                   queue_shell_sums(stream, grid, of, of, components, static_cast<int>(count), to);
                 }),
             count);
  found[0] = 0;  // the energy of the mean velocity is left out of the spectrum
  return found;
}

void Dns::Impl::add_transfer(const std::array<double, 3>& angles, std::vector<double>& sums) {
  const auto count = static_cast<int>(sums.size());
  const double normal = 2 / static_cast<double>(volume(options.cells));
  const std::array<double, 3> back{-angles[0], -angles[1], -angles[2]};
  std::vector<std::vector<double>> of_blocks;
  with_type([&]<class T>(T) {
    if (out_of_core) {
      out_of_core->open(streams, host_arrays(modes), angles);
      out_of_core->products(streams, {});
      opened = false;
      const std::vector<std::vector<double>> by_device = out_of_core->with_products(
          streams, host_arrays(modes), count,
          [&](Stream& stream, const ModeGrid& grid, void* u, std::int64_t step, void* product, double* to) {
            const Three<T> of{static_cast<T*>(product), step};
            if (grid.round) Terms<T>::turn(stream, grid, of, of, 3, back, 1);
            queue_shell_sums(stream, grid, Three<T>{static_cast<T*>(u), step}, of, 3, count, to);
          });
      for (const ModeBlock& b : spectral) of_blocks.push_back(by_device[b.device]);
      return;
    }
    for (const ModeBlock& b : spectral) {
      Stream& stream = streams[b.device];
      Terms<T>::turn(stream, b.grid, three<T>(Held::modes, b), three<T>(Held::velocity, b), 3, angles, 1);
      queue_curl(stream, b.grid, three<T>(Held::velocity, b), three<T>(Held::product, b));
    }
    velocity_is_new = false;
    transform(false, Held::velocity, Held::velocity, streams, 3);
    transform(false, Held::product, Held::product, streams, 3);
    for (const CellBlock& b : physical)
      queue_cross(streams[b.device], b.box.extents(), three<T>(Held::velocity, b), three<T>(Held::product, b),
                  options.rotation);
    transform(true, Held::product, Held::product, streams, 3);
    for (const ModeBlock& b : spectral) {
      const Three<T> product = three<T>(Held::product, b);
      Terms<T>::turn(streams[b.device], b.grid, product, product, 3, back, 1);
      const auto sums_of_block = static_cast<std::size_t>(count) * static_cast<std::size_t>(b.grid.extent[2]);
      of_blocks.push_back(from_device(streams[b.device], sums_of_block, [&](double* to) {
        queue_shell_sums(streams[b.device], b.grid, three<T>(Held::modes, b), product, 3, count, to);
      }));
    }
    synchronize();
  });
  const std::vector<double> found = summed(spectral, of_blocks, sums.size());
  for (std::size_t n = 1; n < sums.size(); ++n) sums[n] += normal * found[n];
}

void Dns::Impl::begin_from_modes() {
  state.time = 0;
  state.step = 0;
  velocity_is_new = opened = false;
  carried = {};
  synchronize();
}

/// Sets truncated modes in host memory, which no sweep of an out-of-core flow reads, to zero.
void Dns::Impl::clear_truncated() {
  with_type([&]<class T>(T) {
    for (const ModeBlock& b : spectral) {
      const ModeGrid& grid = b.grid;
      const Three<T> u = three<T>(Held::modes, b);
      for (int c = 0; c < components_of(options); ++c)
        for (int k = 0; k < grid.extent[2]; ++k) {
          const bool kept = grid.kept(0, grid.ky(k), 0);
          const int first = kept ? grid.highest[0] + 1 : 0;
          T* const line = u.at + c * u.step + 2 * grid.at(0, first, k);
          std::fill(line, line + 2 * static_cast<std::int64_t>(grid.extent[1] - first) * grid.extent[0], T(0));
        }
    }
  });
}

// Modes (1, +-1, +-1) and their conjugates: sin x = (exp(ix) - exp(-ix)) / 2i and the like. Only few modes are set, so
// large boxes begin as fast as small ones.
void Dns::taylor_green() {
  Impl& d = *impl_;
  // The amplitude of v follows from that of u, because the flow must be divergence-free in boxes of any edges.
  const double v_by_u = d.options.lengths[1] / d.options.lengths[0];
  d.with_type([&]<class T>(T) {
    for (const ModeBlock& b : d.spectral) {
      const Three<T> u = d.three<T>(Impl::Held::modes, b);
      Stream& stream = d.streams[b.device];
      const auto bytes = static_cast<std::size_t>(2 * b.grid.volume()) * sizeof(T);
      for (int c = 0; c < components_of(d.options); ++c) {
        T* const component = u.at + c * u.step;
        if (d.out_of_core) std::memset(component, 0, bytes);
        if (!d.out_of_core) fill(stream, component, 0, bytes);
      }
      const int x = 1 - b.grid.first[0];
      if (x < 0 || x >= b.grid.extent[1]) continue;
      for (int k = 0; k < b.grid.extent[2]; ++k)
        for (int i = 0; i < b.grid.extent[0]; ++i) {
          if (std::abs(b.grid.ky(k)) != 1 || std::abs(b.grid.kz(i)) != 1) continue;
          const std::array<T, 2> of_u{0, T(-0.125)}, of_v{0, T(0.125 * v_by_u * b.grid.ky(k))};
          const std::int64_t at = 2 * b.grid.at(i, x, k);
          copy(stream, u.at + at, of_u.data(), sizeof of_u);
          copy(stream, u.at + u.step + at, of_v.data(), sizeof of_v);
          stream.synchronize();
        }
    }
  });
  d.begin_from_modes();
}

void Dns::Impl::to_cells(const std::vector<const double*>& blocks, std::size_t of, std::size_t first,
                         std::size_t count) {
  require(blocks.size() == physical.size(), ErrorCode::mismatch,
          "a pseudo-spectral flow was given " + std::to_string(blocks.size()) + " arrays for " +
              std::to_string(physical.size()) + " blocks",
          {{"given", blocks.size()}, {"needed", physical.size()}});
  if (out_of_core) u.make_arrays();
  with_type([&](auto t) {
    using T = decltype(t);
    for (std::size_t n = 0; n < blocks.size(); ++n) {
      const CellBlock& b = physical[n];
      const auto cells = static_cast<std::size_t>(b.box.volume());
      const Three<T> to = three<T>(Held::velocity, b);
      std::vector<T> values(cells);
      for (std::size_t c = 0; c < count; ++c) {
        for (std::size_t cell = 0; cell < cells; ++cell)
          values[cell] = static_cast<T>(blocks[n][of * cell + first + c]);
        copy(streams[b.device], to.at + static_cast<std::int64_t>(c) * to.step, values.data(), cells * sizeof(T));
        streams[b.device].synchronize();
      }
    }
  });
  velocity_is_new = false;
}

void Dns::Impl::clear_scalars() {
  if (options.scalars.empty()) return;
  synchronize();
  with_type([&]<class T>(T) {
    for (const ModeBlock& b : spectral) {
      const Three<T> of = three<T>(Held::modes, b);
      const std::vector<T> zeros(static_cast<std::size_t>(of.step), T(0));
      for (std::size_t n = 0; n < options.scalars.size(); ++n)
        copy(streams[b.device], of.at + static_cast<std::int64_t>(3 + n) * of.step, zeros.data(),
             zeros.size() * sizeof(T));
      streams[b.device].synchronize();
    }
  });
}

void Dns::begin_scalars(const std::vector<const double*>& values) {
  Impl& d = *impl_;
  const std::size_t scalars = d.options.scalars.size();
  require(scalars > 0, ErrorCode::wrong_state, "a pseudo-spectral flow without scalars was given some",
          {{"option", "schmidt"}, {"needed", 1}});
  for (std::size_t n = 0; n < scalars; ++n) {
    d.to_cells(values, scalars, n, 1);
    d.transform(true, Impl::Held::velocity, Impl::Held::modes, d.streams, 1, {0, 3 + n});
    d.synchronize();
  }
  const double factor = 1 / static_cast<double>(volume(d.options.cells));
  d.with_type([&]<class T>(T) {
    const auto normalise = [&](Stream& stream, const ModeGrid& grid, const Three<T>& all) {
      const Three<T> of{all.at + 3 * all.step, all.step};
      Terms<T>::turn(stream, grid, of, of, static_cast<int>(scalars), {0, 0, 0}, factor);
    };
    if (d.out_of_core) {
      d.clear_truncated();
      d.out_of_core->change(d.streams, d.host_arrays(d.modes),
                            [&](Stream& stream, const ModeGrid& grid, void* u, std::int64_t step) {
                              normalise(stream, grid, {static_cast<T*>(u), step});
                            });
    } else {
      for (const ModeBlock& b : d.spectral) normalise(d.streams[b.device], b.grid, d.three<T>(Impl::Held::modes, b));
    }
  });
  d.synchronize();
  d.opened = false;
}

void Dns::begin(const std::vector<const double*>& velocity) {
  Impl& d = *impl_;
  d.to_cells(velocity, 3, 0, 3);
  d.transform(true, Impl::Held::velocity, Impl::Held::modes, d.streams);
  d.clear_scalars();
  const double factor = 1 / static_cast<double>(volume(d.options.cells));
  if (d.out_of_core) {
    d.synchronize();
    d.clear_truncated();
    d.with_type([&]<class T>(T) {
      d.out_of_core->change(d.streams, d.host_arrays(d.modes),
                            [&](Stream& stream, const ModeGrid& grid, void* u, std::int64_t step) {
                              queue_project(stream, grid, Three<T>{static_cast<T*>(u), step}, factor);
                            });
    });
    return d.begin_from_modes();
  }
  d.with_type([&](auto t) {
    using T = decltype(t);
    for (const ModeBlock& b : d.spectral)
      queue_project(d.streams[b.device], b.grid, d.three<T>(Impl::Held::modes, b), factor);
  });
  d.begin_from_modes();
}

void Dns::random(const std::vector<double>& spectrum, std::uint64_t seed) {
  Impl& d = *impl_;
  std::vector<double> in_shell(static_cast<std::size_t>(d.shells()), 0.0);
  for (const ModeBlock& b : d.spectral)
    each_mode(b.grid, [&](int i, int j, int k) {
      const int kx = b.grid.kx(j), ky = b.grid.ky(k), kz = b.grid.kz(i);
      if (b.grid.holds(kx, ky, kz))
        in_shell[static_cast<std::size_t>(shell_of(b.grid, kx, ky, kz))] += b.grid.weight(kx);
    });
  for (double& modes_in_shell : in_shell) modes_in_shell = d.comm.sum_in_rank_order(modes_in_shell);
  for (std::size_t k = 0; k < spectrum.size(); ++k) {
    require(std::isfinite(spectrum[k]) && spectrum[k] >= 0,
            "the energy of shell " + std::to_string(k) + " of a spectrum is " + std::to_string(spectrum[k]) +
                ": it must be 0 or more",
            {{"option", "spectrum"}, {"shell", k}, {"given", spectrum[k]}});
    require(spectrum[k] == 0 || (k > 0 && k < in_shell.size()), ErrorCode::unsupported,
            "a spectrum has energy in shell " + std::to_string(k) + ", but a grid of " + to_string(d.options.cells) +
                " cells has shells 1 to " + std::to_string(in_shell.size() - 1),
            {{"option", "spectrum"}, {"shell", k}, {"limit", in_shell.size() - 1}});
  }
  d.with_type([&](auto t) {
    using T = decltype(t);
    for (const ModeBlock& b : d.spectral) {
      const auto count = static_cast<std::size_t>(b.grid.volume());
      std::vector<std::complex<T>> values(static_cast<std::size_t>(components_of(d.options)) * count);
      each_mode(b.grid, [&](int i, int j, int k) {
        const int kx = b.grid.kx(j), ky = b.grid.ky(k), kz = b.grid.kz(i);
        const auto shell = static_cast<std::size_t>(shell_of(b.grid, kx, ky, kz));
        if (!b.grid.holds(kx, ky, kz) || shell >= spectrum.size() || spectrum[shell] == 0) return;
        const Vector v = direction(b.grid, seed, kx, ky, kz);
        const double length = std::sqrt(2 * spectrum[shell] / in_shell[shell]);
        for (std::size_t c = 0; c < 3; ++c)
          values[static_cast<std::size_t>(b.grid.at(i, j, k)) + c * count] = std::complex<T>(length * v[c]);
      });
      copy(d.streams[b.device], d.modes.data(b.id), values.data(), values.size() * sizeof(values[0]));
      d.streams[b.device].synchronize();
    }
  });
  d.begin_from_modes();
}

std::vector<double> peaked_spectrum(int shells, double peak, double energy) {
  std::vector<double> spectrum(static_cast<std::size_t>(shells) + 1, 0.0);
  double sum = 0;
  for (std::size_t k = 1; k < spectrum.size(); ++k) {
    const double x = static_cast<double>(k) / peak;
    sum += spectrum[k] = x * x * x * x * std::exp(-2 * x * x);
  }
  require(sum > 0,
          "a spectrum with its peak at " + std::to_string(peak) + " has no energy in the shells 1 to " +
              std::to_string(shells) + ": take a peak among them",
          {{"option", "peak"}, {"given", peak}, {"limit", shells}});
  for (double& value : spectrum) value *= energy / sum;
  return spectrum;
}

}  // namespace slipstream::dns
