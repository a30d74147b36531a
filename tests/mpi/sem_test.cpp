// Poisson's equation on spectral elements, on any number of devices and ranks: errors by order, and bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include <slipstream/sem.hpp>

#include "../support/machine_rig.hpp"

namespace slipstream::sem {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

/// -lap u = 3 (2 pi)^2 u, zero on the sides of the unit cube, and of mean zero.
double wave(const Point& x) { return std::sin(two_pi * x[0]) * std::sin(two_pi * x[1]) * std::sin(two_pi * x[2]); }

ElementBox cube(std::int64_t n, bool periodic, double deform = 0.1) {
  ElementBox box;
  box.elements = {n, n, n};
  box.periodic = {periodic, periodic, periodic};
  box.deform = deform;
  return box;
}

void put(Space& space, Vector& vector, double (*f)(const Point&), double scale = 1) {
  for (std::size_t d = 0; d < vector.size(); ++d) {
    std::vector<double> values;
    for (const Point& x : space.places(d)) values.push_back(scale * f(x));
    if (!values.empty()) copy(space.streams()[d], vector[d].data(), values.data(), vector[d].bytes());
    space.streams()[d].synchronize();
  }
}

std::vector<double> get(Space& space, const Vector& vector, std::size_t d) {
  std::vector<double> values(vector[d].size());
  if (!values.empty()) copy(space.streams()[d], values.data(), vector[d].data(), vector[d].bytes());
  space.streams()[d].synchronize();
  return values;
}

struct Solved {
  double error = 0;  ///< the greatest at a point
  krylov::Result result;
  std::uint64_t bits = 0;  ///< of all values, in the order of the elements
};

Solved poisson(const Machine& machine, const ElementBox& box, int order, double h2, krylov::Options options = {}) {
  const Communicator comm = Communicator::world();
  Space space(comm, machine, box, order);
  Vector f = space.vector(), b = space.vector(), x = space.vector();
  put(space, f, wave, 3 * two_pi * two_pi + h2);
  space.mass(f, b);
  space.assemble(b);
  Solved solved;
  solved.result = solve(space, b, x, 1, h2, options);
  std::uint64_t bits = 0;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const std::vector<double> values = get(space, x, d);
    const std::int64_t first = space.first_element(d) * space.points_per_element();
    for (std::size_t p = 0; p < values.size(); ++p) {
      solved.error = std::max(solved.error, std::abs(values[p] - wave(space.places(d)[p])));
      std::uint64_t word = 0;
      std::memcpy(&word, &values[p], sizeof word);
      bits += (word ^ (word >> 29)) * (2 * static_cast<std::uint64_t>(first + static_cast<std::int64_t>(p)) + 1);
    }
  }
  solved.error = comm.max(solved.error);
  for (const std::int64_t part : comm.all_gather(static_cast<std::int64_t>(bits)))
    solved.bits += static_cast<std::uint64_t>(part);
  return solved;
}

class PoissonOn : public testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(PoissonOn, DeformedElementsHasTheErrorOfTheOrder) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  const Machine machine = machine_here(backend, devices);
  for (const bool periodic : {false, true}) {
    double before = 0;
    for (const int order : {4, 5, 6, 7, 8, 9}) {
      const Solved solved = poisson(machine, cube(4, periodic), order, 0, {.tolerance = 1e-11});
      std::printf("periodic %d order %d error %.3e its %d reported %.2e true %.2e ratio %.2f\n", periodic, order,
                  solved.error, solved.result.iterations, solved.result.reported, solved.result.true_residual,
                  before / solved.error);
      before = solved.error;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, PoissonOn, testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1)));

}  // namespace
}  // namespace slipstream::sem
