// Integrals of a flow over the domain.
#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>

#include "solver/krylov/vector_kernels.hpp"
#include "solver/sem/flow/impl.hpp"
#include "solver/sem/impl.hpp"

namespace slipstream::sem {
namespace {

constexpr int sums_at_once = 4;

}  // namespace

std::vector<double> Flow::Impl::integrals(
    const std::vector<std::pair<std::vector<double*>, std::vector<double*>>>& pairs) {
  if (!sums) {
    const std::vector<std::vector<std::int64_t>> blocks = blocks_of_sums();
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const Device device = space.streams()[d].device();
      sum_space.parts.emplace_back(device, sums_at_once * blocks[d].size() + 1);
      sum_space.results.emplace_back(device, sums_at_once);
      sum_space.read.emplace_back(device, sums_at_once, Memory::pinned);
    }
    sums.emplace(comm, machine, blocks, sums_at_once);
  }
  const std::vector<double*> parts_of_sums = pointers(sum_space.parts);
  // The volume is integrated first, as the other integrals are divided by it.
  std::vector<double> found;
  for (std::size_t first = 0; first < pairs.size() + 1; first += sums_at_once) {
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const krylov::Range range = range_of(d);
      Stream& stream = space.streams()[d];
      const double* const mass = space.mass_matrix()[d].data();
      fill(stream, parts_of_sums[d], 0, sum_space.parts[d].bytes());
      for (std::size_t n = 0; n < sums_at_once && first + n < pairs.size() + 1; ++n) {
        double* const to = parts_of_sums[d] + static_cast<std::int64_t>(n) * range.blocks();
        if (first + n == 0)
          krylov::sum(stream, range, mass, to);
        else
          krylov::dot(stream, range, mass, pairs[first + n - 1].first[d], pairs[first + n - 1].second[d], to);
      }
    }
    sums->run(space.streams(), {parts_of_sums.begin(), parts_of_sums.end()}, pointers(sum_space.results));
    const Buffer<double>& read = sum_space.read.front();
    copy(space.streams().front(), read.data(), sum_space.results.front().data(), read.bytes());
    wait();
    sums->check();
    for (std::size_t n = 0; n < sums_at_once && found.size() < pairs.size() + 1; ++n) found.push_back(read.data()[n]);
  }
  return found;
}

namespace {

/// Weighted sums, over this rank's points, of a component's error against the exact solution.
struct Apart {
  double off = 0, size = 0, largest = 0;
};
Apart apart(const std::vector<std::vector<double>>& u, const std::vector<std::vector<double>>& known,
            const std::vector<std::vector<double>>& mass, double less) {
  Apart found;
  for (std::size_t d = 0; d < u.size(); ++d)
    for (std::size_t p = 0; p < u[d].size(); ++p) {
      const double off = u[d][p] - (known[d][p] - less);
      found.off += mass[d][p] * off * off;
      found.size += mass[d][p] * (known[d][p] - less) * (known[d][p] - less);
      found.largest = std::max(found.largest, std::abs(off));
    }
  return found;
}

}  // namespace

std::array<Triple*, 3> Flow::Impl::gradients() {
  const std::array<Triple*, 3> all{&star, &turn, &g};
  for (std::size_t c = 0; c < 3; ++c) {
    combine(pointers(x), {{1, part_of(velocity, c)}});
    space.gradient(x, all_of(*all[c]));
  }
  return all;
}

FlowStatistics Flow::statistics(const FlowSolution& exact) {
  Impl& s = *impl_;
  const std::array<Triple*, 3> gradients = s.gradients();
  const auto of = [&](std::size_t c, std::size_t a) { return pointers((*gradients[c])[a]); };
  s.combine(pointers(s.b), {{1, of(0, 0)}, {1, of(1, 1)}, {1, of(2, 2)}});
  std::vector<std::pair<std::vector<double*>, std::vector<double*>>> pairs;
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t a = 0; a < 3; ++a) pairs.emplace_back(of(c, a), of(c, a));
  for (const auto& [c, a] : {std::pair<std::size_t, std::size_t>{0, 1}, {0, 2}, {1, 2}})
    pairs.emplace_back(of(c, a), of(a, c));
  pairs.emplace_back(pointers(s.b), pointers(s.b));
  for (int n = 0; n < 3; ++n)
    for (std::size_t c = 0; c < 3; ++c) pairs.emplace_back(s.part_of(s.level(n), c), s.part_of(s.level(n), c));
  // The vector x of ones: (u, 1) over the volume is the mean of u.
  s.combine(pointers(s.x), {}, 1);
  for (std::size_t c = 0; c < 3; ++c) pairs.emplace_back(s.part_of(s.velocity, c), pointers(s.x));
  const std::vector<double> sums = s.integrals(pairs);
  FlowStatistics found;
  found.volume = sums[0];
  double squares = 0, diagonal = 0;
  for (std::size_t n = 0; n < 9; ++n) {
    squares += sums[1 + n];
    if (n % 4 == 0) diagonal += sums[1 + n];
  }
  const double crossed = 2 * (sums[10] + sums[11] + sums[12]);
  found.enstrophy = (squares - diagonal - crossed) / 2 / found.volume;
  found.dissipation = s.options.viscosity * (squares + diagonal + crossed) / found.volume;
  found.divergence = squares > 0 ? std::sqrt(sums[13] / squares) : 0;
  std::array<double, 3> energies{};
  for (std::size_t n = 0; n < 3; ++n)
    energies[n] = (sums[14 + 3 * n] + sums[15 + 3 * n] + sums[16 + 3 * n]) / 2 / found.volume;
  found.energy = energies[0];
  for (std::size_t c = 0; c < 3; ++c) found.mean[c] = sums[23 + c] / found.volume;
  const std::int64_t known = s.options.exact_start ? 2 : std::min<std::int64_t>(2, s.past.count);
  if (known > 0) {
    const Differences d = backward_differences(static_cast<int>(known), {s.past.last, s.past.before, s.past.before});
    double change = d.now * energies[0];
    for (std::size_t n = 0; n < static_cast<std::size_t>(known); ++n) change -= d.before[n] * energies[n + 1];
    found.decay = -change / s.past.last;
  }
  const bool any = exact.velocity[0] || exact.velocity[1] || exact.velocity[2];
  if (!any && !exact.pressure) return found;
  const auto mass = s.get(pointers(s.space.mass_matrix()));
  const auto known_of = [&](const Function& function, const char* field) {
    std::vector<std::vector<double>> values(mass.size());
    s.ask(s.state.time, field, [&] {
      for (std::size_t d = 0; d < mass.size(); ++d)
        values[d] = function ? asked(function, s.space.places(d), s.state.time)
                             : std::vector<double>(s.space.places(d).size(), 0.0);
    });
    return values;
  };
  const auto relative = [&](const Apart& sum) {
    const double off = s.comm.sum_in_rank_order(sum.off), size = s.comm.sum_in_rank_order(sum.size);
    return size > 0 ? std::sqrt(off / size) : std::sqrt(off);
  };
  if (any) {
    Apart all;
    for (std::size_t c = 0; c < 3; ++c) {
      const Apart one = apart(s.get(s.part_of(s.velocity, c)), known_of(exact.velocity[c], "velocity"), mass, 0);
      all.off += one.off;
      all.size += one.size;
      all.largest = std::max(all.largest, one.largest);
    }
    found.distance = relative(all);
    found.largest_off = s.comm.max(all.largest);
  }
  if (exact.pressure) {
    const auto wanted = known_of(exact.pressure, "pressure");
    double sum = 0;
    for (std::size_t d = 0; d < mass.size(); ++d)
      for (std::size_t p = 0; p < mass[d].size(); ++p) sum += mass[d][p] * wanted[d][p];
    const double mean = s.comm.sum_in_rank_order(sum) / found.volume;
    found.pressure_off = relative(apart(s.get(s.part_of(s.pressure, 0)), wanted, mass, mean));
  }
  return found;
}

}  // namespace slipstream::sem
