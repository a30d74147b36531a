// A user's pointwise update on any number of devices and ranks, compared with a loop over one array.
#include <gtest/gtest.h>

#include <cmath>

#include <slipstream/point_update.hpp>

#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream {
inline namespace point_update_test_kernels {

/// Reads cells at distance two along each axis and across a corner; asymmetric in all directions.
template <class T>
struct Skewed {
  T rate;
  SLIP_FN T operator()(const Around<T>& u) const {
    const T near = u(1, 0, 0) - 2 * u(-2, 0, 0) + 3 * u(0, 2, 0) - 4 * u(0, -1, 0) + 5 * u(0, 0, 1) - 6 * u(0, 0, -2);
    return u(0, 0, 0) + rate * (near + 7 * u(-1, 2, 1));
  }
};

struct BelowAndAbove {
  SLIP_FN double operator()(const Around<double>& u) const { return u(0, 0, -1) + 2 * u(0, 0, 1) + 4 * u(1, 0, 0); }
};

constexpr Extent extent{17, 11, 10};
constexpr std::array<bool, 3> periodic{true, false, true};
constexpr int steps = 7;
constexpr double rate = 1.0 / 64;

double start(const Extent& p) { return std::sin(0.7 * p[0] + 0.3 * p[1] * p[2]); }

/// The whole grid after seven steps, [z][y][x]; zero beyond nonperiodic sides.
template <class T>
std::vector<double> by_one_loop() {
  const auto place = [](Extent p) -> std::ptrdiff_t {
    for (int a = 0; a < 3; ++a) {
      if (periodic[a]) p[a] = (p[a] + extent[a]) % extent[a];
      if (p[a] < 0 || p[a] >= extent[a]) return -1;
    }
    return (p[2] * extent[1] + p[1]) * extent[0] + p[0];
  };
  std::vector<T> u(static_cast<std::size_t>(volume(extent))), next = u;
  const auto each = [&](const auto& work) {
    for (std::int64_t k = 0; k < extent[2]; ++k)
      for (std::int64_t j = 0; j < extent[1]; ++j)
        for (std::int64_t i = 0; i < extent[0]; ++i) work(Extent{i, j, k});
  };
  each([&](const Extent& p) { u[place(p)] = static_cast<T>(start(p)); });
  for (int step = 0; step < steps; ++step) {
    each([&](const Extent& p) {
      const auto at = [&](int dx, int dy, int dz) {
        const std::ptrdiff_t there = place({p[0] + dx, p[1] + dy, p[2] + dz});
        return there < 0 ? T{0} : u[there];
      };
      const T near =
          at(1, 0, 0) - 2 * at(-2, 0, 0) + 3 * at(0, 2, 0) - 4 * at(0, -1, 0) + 5 * at(0, 0, 1) - 6 * at(0, 0, -2);
      next[place(p)] = at(0, 0, 0) + static_cast<T>(rate) * (near + 7 * at(-1, 2, 1));
    });
    std::swap(u, next);
  }
  return {u.begin(), u.end()};
}

class OwnUpdate : public testing::TestWithParam<std::tuple<Backend, int>> {
 protected:
  Backend backend = std::get<0>(GetParam());
  int devices = std::get<1>(GetParam());
  Communicator comm = Communicator::world();

  template <class T>
  std::vector<double> found(Overlap overlap) {
    GridOptions cut;
    cut.periodic = periodic;
    const Grid grid(extent, machine_here(backend, devices), comm.rank(), cut);
    typename PointUpdate<T, Skewed<T>>::Options options;
    options.radius = 2;
    options.overlap = overlap;
    PointUpdate<T, Skewed<T>> run(comm, grid, {static_cast<T>(rate)}, options);
    run.fill([](const Extent& p) { return static_cast<T>(start(p)); });
    run.advance(2);
    run.advance(steps - 2);
    EXPECT_EQ(run.state().step, steps);
    std::vector<double> mine(static_cast<std::size_t>(volume(extent)), 0.0);
    run.each([&](const Extent& p, T value) {
      mine[static_cast<std::size_t>((p[2] * extent[1] + p[1]) * extent[0] + p[0])] = value;
    });
    for (double& value : mine) value = comm.sum_in_rank_order(value);
    return mine;
  }
};

TEST_P(OwnUpdate, GivesWhatALoopOverOneArrayGives) {
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  // No compiler contracts to FMA, so equal expressions give equal bits.
  for (const Overlap overlap : {Overlap::off, Overlap::on}) {
    EXPECT_EQ(found<double>(overlap), by_one_loop<double>());
    EXPECT_EQ(found<float>(overlap), by_one_loop<float>());
  }
}

TEST_P(OwnUpdate, ReadsTheCellItselfBeyondAPeriodicAxisOfOneCell) {
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  GridOptions all_periodic;
  all_periodic.periodic = {true, true, true};
  const Grid grid({24, 4, 1}, machine_here(backend, devices), comm.rank(), all_periodic);
  PointUpdate<double, BelowAndAbove> run(comm, grid, {});
  run.fill([](const Extent& p) { return start(p); });
  run.advance(1);
  run.each([&](const Extent& p, double value) {
    EXPECT_EQ(value, start(p) + 2 * start(p) + 4 * start({(p[0] + 1) % 24, p[1], p[2]}));
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, OwnUpdate,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 3)));

TEST(OwnUpdateRefuses, BlocksThatAreThinnerThanItReaches) {
  const Communicator comm = Communicator::world();
  const Grid grid({3, 9, 9}, machine_here(Backend::host, 1), comm.rank());
  PointUpdate<double, Skewed<double>>::Options options;
  options.radius = 4;
  expect_error([&] { PointUpdate<double, Skewed<double>> run(comm, grid, {1}, options); }, ErrorCode::unsupported,
               {{"given", 3}, {"needed", 4}});
}

}  // namespace point_update_test_kernels
}  // namespace slipstream
