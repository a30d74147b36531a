// The same case gives the same bits for any decomposition, storage, route and overlap.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "mpi/rank_table.hpp"
#include "support/lbm_flows.hpp"

namespace slipstream::lbm {
namespace {

/// Two ranks run half of all pairs of a flow and a decomposition. Other numbers of ranks run a fifth of them: one rank
/// adds only f16, more ranks add only cuts along two axes.
bool is_run(const SampleFlow& flow, std::size_t way, int ranks) {
  const auto found = std::find_if(flows.begin(), flows.end(),
                                  [&](const SampleFlow& other) { return std::string_view(other.name) == flow.name; });
  return ranks::is_due(static_cast<std::size_t>(found - flows.begin()) + way, ranks == 2 ? 2 : 5);
}

class Sameness : public testing::TestWithParam<std::tuple<SampleFlow, Backend, DType>> {};

TEST_P(Sameness, OfAllBitsHoweverAFlowIsRun) {
  const auto& [flow, backend, precision] = GetParam();
  const Communicator world = Communicator::world(), self(MPI_COMM_SELF);
  const Options o = flow.options(precision);
  const auto alone =
      world.rank() == 0 ? run(self, o, {"alone", backend}, flow.obstacles, 25) : std::vector<std::byte>{};
  const std::vector<Way> all = ways(backend);
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Way& way = all[n];
    if (!suits(way, o) || !is_run(flow, n, world.size())) continue;
    const auto cut = run(world, o, way, flow.obstacles, 25);
    if (world.rank() != 0) continue;
    ASSERT_EQ(cut.size(), alone.size());
    EXPECT_EQ(std::memcmp(cut.data(), alone.data(), alone.size()), 0) << way.name;
  }
}

std::string name_of(const testing::TestParamInfo<Sameness::ParamType>& info) {
  const auto& [flow, backend, precision] = info.param;
  return std::string(flow.name) + "_" + to_string(backend) + "_" + to_string(precision);
}

INSTANTIATE_TEST_SUITE_P(Lbm, Sameness,
                         testing::Combine(testing::ValuesIn(flows), testing::ValuesIn(backends_here()),
                                          testing::Values(DType::f16, DType::f32, DType::f64)),
                         name_of);

TEST(HostAgainstCuda, PopulationsAgreeAfter100StepsInF64) {
  if (!available(Backend::cuda)) GTEST_SKIP() << "needs a GPU";
  const Communicator self(MPI_COMM_SELF);
  for (const SampleFlow& flow : flows) {
    SCOPED_TRACE(flow.name);
    const Options o = flow.options(DType::f64);
    const auto host = run(self, o, {"host"}, flow.obstacles, 100);
    const auto cuda = run(self, o, {"cuda", Backend::cuda}, flow.obstacles, 100);
    const auto *a = reinterpret_cast<const double*>(host.data()), *b = reinterpret_cast<const double*>(cuda.data());
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < host.size() / sizeof(double); ++i) {
      largest = std::max(largest, std::abs(a[i]));
      difference = std::max(difference, std::abs(a[i] - b[i]));
    }
    EXPECT_LE(difference, 1e-12 * largest);
    EXPECT_GT(largest, 1e-4);
  }
}

}  // namespace
}  // namespace slipstream::lbm
