// Transforms on streams without an order by the caller.
#include <gtest/gtest.h>

#include "support/fft_rig.hpp"
#include "support/on_devices.hpp"
#include "support/pause.hpp"

namespace slipstream {
inline namespace fft_order_test_kernels {

using TransformsInOrder = OnDevices;

/// All calls of a plan share its work arrays, so they must follow one another.
TEST_P(TransformsInOrder, OnStreamsThatTheCallerHasNotOrderedFollowOneAnother) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, devices, 0);
  const Extent cells{12, 10, 8};
  for (const bool transposed : {true, false}) {
    FftOptions options;
    options.transposed = transposed;
    Fft fft(comm, machine, cells, options);
    std::vector<Field> u, v;
    std::vector<Whole> values;
    for (const std::uint64_t seed : {1, 2}) {
      values.push_back(random_values(cells, options.type, seed));
      u.emplace_back(fft.physical(), fft.physical_field("u"));
      v.emplace_back(fft.spectral(), fft.spectral_field("v"));
      set(u.back(), 0, values.back());
    }
    std::vector<Stream> first = streams_of(fft.physical()), second = streams_of(fft.physical());
    pause(first, 2'000'000);
    fft.forward(u[0], v[0], first);
    fft.forward(u[1], v[1], second);
    finish(first);
    finish(second);
    fft.check();
    for (std::size_t n = 0; n < 2; ++n)
      EXPECT_LT(difference(v[n], 0, by_sums(values[n]), fft.spectral_axes()), tolerance(cells, options.type));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, TransformsInOrder,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2)), OnDevices::name);

}  // namespace fft_order_test_kernels
}  // namespace slipstream
