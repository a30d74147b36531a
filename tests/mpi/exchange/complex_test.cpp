// Exchanges of complex numbers: real and imaginary parts are added separately; minimum and maximum are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>

#include "support/exchange_rig.hpp"

namespace slipstream {
namespace {

Halo::Options wide() {
  Halo::Options options;
  options.low = {2, 1, 1};
  options.high = {1, 1, 2};
  return options;
}

class ComplexNumbers : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  /// Result of a halo adjoint on fixed bytes, which are taken as `components` numbers of type T per cell.
  template <class T>
  std::vector<std::vector<std::byte>> combined(const Grid& grid, const ExchangeOptions& options, int components,
                                               Op op) {
    const HaloAdjoint pattern(wide(), op);
    FieldOptions field_options;
    field_options.name = "values";
    field_options.type = dtype_of<T>();
    field_options.components = components;
    field_options.layout = Layout::aos;
    field_options.ghost = {2, 2, 2};
    field_options.alignment = 16;
    field_options.shared = true;
    Field field(grid, field_options);
    Exchange exchange(Communicator::world(), grid, {{&pattern, &field}}, options);
    std::vector<Stream> streams = streams_of(grid);
    std::vector<std::vector<std::byte>> found;
    for (int round = 0; round < 2; ++round) {
      for (const std::int64_t id : grid.local()) {
        std::vector<double> parts(static_cast<std::size_t>(field.shape(id).elements) * sizeof(T) / sizeof(double));
        for (std::size_t n = 0; n < parts.size(); ++n)
          parts[n] = fraction(scrambled(static_cast<std::uint64_t>(id), n, static_cast<std::uint64_t>(round)));
        set_array(field, id, parts);
      }
      Communicator::world().barrier();
      exchange_once(exchange, streams, round);
      for (const std::int64_t id : grid.local()) found.push_back(array_of<std::byte>(field, id));
    }
    return found;
  }
};

TEST_P(ComplexNumbers, AreAddedAsTheirPartsAre) {
  const Way way = all_ways()[std::get<1>(GetParam())];
  const Backend backend = std::get<0>(GetParam());
  if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
  const Machine machine = machine_here(backend, way);
  const Extent cells{10, 9, std::max<std::int64_t>(14, machine.devices())};
  GridOptions grid_options;
  grid_options.boxes = dealt_blocks(cells, {2, 1, machine.devices()}, machine.devices());
  grid_options.periodic = {true, false, true};
  const Grid grid(cells, machine, Communicator::world().rank(), grid_options);
  ExchangeOptions options;
  options.routes = way.routes;
  options.knobs.grouping = way.grouping;
  const HaloAdjoint pattern(wide(), Op::add);
  FieldOptions probe;
  probe.type = DType::c128;
  probe.ghost = {2, 2, 2};
  probe.shared = true;
  if (const auto why = refusal_of(grid, {{&pattern, probe}}, options); !why.empty()) GTEST_SKIP() << why;
  EXPECT_TRUE(combined<std::complex<double>>(grid, options, 1, Op::add) == combined<double>(grid, options, 2, Op::add));
}

INSTANTIATE_TEST_SUITE_P(Routes, ComplexNumbers,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range(std::size_t{0}, all_ways().size())),
                         [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace slipstream
