#include "solver/lbm/by_moments/translate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/checkpoint.hpp>

#include "solver/lbm/lattice/lattice.hpp"
#include "support/lbm_flows.hpp"
#include "support/vtkhdf_reading.hpp"

namespace slipstream::lbm {
namespace {

constexpr int cells = 7;

/// Density, momentum and tensor of deviations from the weights, by definition, [cell][moment].
std::vector<double> moments_of(const std::vector<double>& g) {
  std::vector<double> found;
  for (int n = 0; n < cells; ++n) {
    double m[10] = {};
    constexpr int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    for (int i = 0; i < 19; ++i) {
      const double part = g[static_cast<std::size_t>(n * 19 + i)];
      const auto& c = D3Q19::velocity[i];
      m[0] += part;
      for (int a = 0; a < 3; ++a) m[1 + a] += c[a] * part;
      for (int p = 0; p < 6; ++p) {
        const auto [a, b] = pairs[p];
        m[4 + p] += (c[a] * c[b] - (a == b ? 1.0 / 3 : 0)) * part;
      }
    }
    found.insert(found.end(), m, m + 10);
  }
  return found;
}

std::vector<double> some(int count) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> value(-0.02, 0.02);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& v : values) v = value(random);
  return values;
}

std::vector<double> translated(const Translation& by, const std::vector<double>& from, int components) {
  std::vector<double> to(static_cast<std::size_t>(cells * components));
  by.by(reinterpret_cast<const std::byte*>(from.data()), reinterpret_cast<std::byte*>(to.data()), cells);
  return to;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& wanted, double within) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t n = 0; n < found.size(); ++n) EXPECT_NEAR(found[n], wanted[n], within) << n;
}

TEST(Translations, MomentsAreThoseOfThePopulations) {
  const Translation by = translation_to(Representation::moments, DType::f64);
  EXPECT_EQ(by.from, "populations");
  EXPECT_EQ(by.components, 19);
  const auto g = some(cells * 19);
  expect_near(translated(by, g, 10), moments_of(g), 1e-16);
}

TEST(Translations, PopulationsHaveTheMomentsTheyCameFrom) {
  const Translation by = translation_to(Representation::populations, DType::f64);
  EXPECT_EQ(by.from, "moments");
  EXPECT_EQ(by.components, 10);
  const auto m = some(cells * 10);
  expect_near(moments_of(translated(by, m, 19)), m, 1e-16);
}

TEST(Translations, SixteenBitsKeepTheirScales) {
  const Translation back = translation_to(Representation::populations, DType::f16),
                    by = translation_to(Representation::moments, DType::f16);
  // Numbers in f16 are stored times 32768 (density less 1), 65536 (momentum) or 131072 (second moments). Here the
  // density is 1 + 1/64, and one component of momentum is 1/128.
  std::vector<Half> m(10, half_of(0)), g(19), again(10);
  m[0] = half_of(512);
  m[2] = half_of(512);
  back.by(reinterpret_cast<const std::byte*>(m.data()), reinterpret_cast<std::byte*>(g.data()), 1);
  by.by(reinterpret_cast<const std::byte*>(g.data()), reinterpret_cast<std::byte*>(again.data()), 1);
  const double scale[10] = {32768, 65536, 65536, 65536, 131072, 131072, 131072, 131072, 131072, 131072};
  for (std::size_t n = 0; n < 10; ++n) EXPECT_NEAR(float_of(again[n]) / scale[n], float_of(m[n]) / scale[n], 2e-5) << n;
}

// The state of a convective outlet consists of populations, even if that of the flow consists of moments.
TEST(Translations, LeaveWhatAConvectiveSideRemembersAsItIs) {
  const Options populations = outflow(DType::f64, Lattice::d3q19, Collision::trt),
                moments = by_moments(populations, Collision::recursive);
  const Communicator comm = Communicator::world();
  const auto outlet = [](HostRun& run) {
    Field& field = run.lbm.state()["outlet"];
    return gather(Communicator::world(), field, field.grid().box());
  };
  for (const auto& [before, after] : {std::pair{populations, moments}, {moments, populations}}) {
    HostRun first(before), second(after);
    first.lbm.advance(60);
    const std::string folder = testing_support::make_folder();
    Checkpoints::Options where;
    where.folder = folder;
    Checkpoints checkpoints(comm, where);
    checkpoints.begin(first.lbm.state(), "");
    checkpoints.finish();
    restore(comm, checkpoints.last(), second.lbm.state());
    std::filesystem::remove_all(folder);
    EXPECT_NE(outlet(first), std::vector<std::byte>(outlet(first).size()));
    EXPECT_EQ(outlet(second), outlet(first));
  }
}

}  // namespace
}  // namespace slipstream::lbm
