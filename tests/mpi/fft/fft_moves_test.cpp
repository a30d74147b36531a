// Fourier transforms whose results are stored directly, packed, or sent in parts give the same values.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>

#include <slipstream/fft.hpp>

#include "mpi/rank_table.hpp"
#include "support/fft_rig.hpp"
#include "support/on_devices.hpp"

namespace slipstream {
namespace {

/// Parameters: the number of devices per rank, and pencils or slabs.
class FourierTransformsHoweverMoved : public OnDevices {};

/// All bytes of a field on this rank.
std::vector<std::byte> bytes_of(const Field& field) {
  std::vector<std::byte> all;
  for (const std::int64_t id : field.grid().local()) {
    const auto some = array_of<std::byte>(field, id);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// Compares two transforms that move values differently with direct sums, and their inverses with the start values.
/// `same_bits`: both results also have equal bits.
void check_both(Fft& one, Fft& other, const Extent& cells, const FftOptions& options, int components, bool same_bits,
                int rounds) {
  FieldOptions physical = one.physical_field("u"), spectral = one.spectral_field("v");
  physical.components = spectral.components = components;
  Field u(one.physical(), physical), v(one.spectral(), spectral), w(one.spectral(), spectral);
  Field back(one.physical(), physical), again(one.physical(), physical);
  std::vector<Stream> streams = streams_of(one.physical());
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<Whole> before;
    for (int c = 0; c < components; ++c) {
      before.push_back(random_values(cells, options.type, static_cast<std::uint64_t>(7 * round + c)));
      set(u, c, before.back());
    }
    one.forward(u, v, streams);
    other.forward(u, w, streams);
    finish(streams);
    one.check();
    other.check();
    for (Field* field : {&v, &w}) clear_unused(*field, cells, options.highest, one.spectral_axes());
    if (same_bits) {
      ASSERT_EQ(bytes_of(v), bytes_of(w)) << "forward";
    }
    for (int c = 0; c < components; ++c) {
      Whole wanted = by_sums(before[static_cast<std::size_t>(c)]);
      each_cell({{0, 0, 0}, cells}, [&](const Extent& k) {
        if (!used(k, cells, options.highest)) wanted.at(k) = 0;
      });
      for (const Field* field : {&v, &w})
        ASSERT_LE(difference(*field, c, wanted, one.spectral_axes()), tolerance(cells, options.type));
    }
    one.backward(v, back, streams);
    other.backward(v, again, streams);
    other.backward(v, again, streams);  // a second transform, because its receive buffers must be free again
    finish(streams);
    one.check();
    other.check();
    if (same_bits) {
      ASSERT_EQ(bytes_of(back), bytes_of(again)) << "backward";
    }
    for (int c = 0; c < components && options.highest[0] < 0; ++c)
      for (const Field* field : {&back, &again})
        ASSERT_LE(difference(*field, c, before[static_cast<std::size_t>(c)]),
                  tolerance(cells, options.type) / std::sqrt(static_cast<double>(volume(cells))));
  }
}

/// Compares distributed transforms whose FFT kernels store results at the target device with those that pack messages.
/// `same_bits`: both give equal bits. `held`: every transpose must use such stores, if kernels reach all targets.
void check_stored(const Communicator& comm, const Machine& m, const Extent& cells, FftOptions store, bool same_bits,
                  bool held, int rounds) {
  FftOptions pack = store;
  store.store = true;
  pack.store = false;
  SCOPED_TRACE(to_string(cells) + " of " + to_string(store.type) + " on " + std::to_string(store.process_grid[0]) +
               " x " + std::to_string(store.process_grid[1]) + (store.transposed ? ", transposed" : ""));
  Fft stores(comm, m, cells, store), packs(comm, m, cells, pack);
  ASSERT_EQ(packs.stored_moves().first, 0);
  const std::vector<MessageInfo> messages = packs.messages();
  const bool straight = std::all_of(messages.begin(), messages.end(), [](const MessageInfo& message) {
    return message.route == RouteKind::kernel || message.route == RouteKind::direct;
  });
  const bool everywhere = comm.max(straight ? 0 : 1) == 0;
  ASSERT_TRUE(everywhere || m.device(0).local.backend != Backend::host);
  if (held && everywhere) {
    ASSERT_EQ(stores.stored_moves().first, stores.stored_moves().second);
  }
  check_both(packs, stores, cells, store, 3, same_bits, rounds);
}

TEST_P(FourierTransformsHoweverMoved, StoreTheirResultsWhereTheyMustGo) {
  const Machine m = machine();
  const bool host = std::get<0>(GetParam()) == Backend::host;
  std::size_t number = 0;
  for (const auto& grid : process_grids(m.devices()))
    for (const Extent cells : {Extent{32, 16, 16}, Extent{21, 18, 7}}) {
      FftOptions store;
      store.type = types[number % 4];
      store.process_grid = grid;
      store.transposed = number % 5 != 0;
      store.overlap = number % 3 == 1;
      if (number % 3 == 2) store.highest = {2, 5, 1};
      ++number;
      check_stored(comm, m, cells, store, host, host || cells[0] == 32, 2);  // GPU FFTs of 2^n values need no packing
      if (HasFatalFailure()) return;
    }
}

/// Splits transposes into parts, on every route: messages of a part travel while lines of the next are transformed. The
/// bits are those of a transpose in one part, except with cuFFT, where they may depend on the number of lines.
TEST_P(FourierTransformsHoweverMoved, HaveTheSameBitsInParts) {
  const Machine m = machine();
  const bool host = std::get<0>(GetParam()) == Backend::host;
  std::size_t number = 0;
  for (const auto& grid : process_grids(m.devices()))
    for (int round = 0; round < (m.devices() <= 4 && comm.size() == 1 ? 2 : 1); ++round) {
      const int parts = std::array{3, 100, 2}[number % 3];
      FftOptions whole;
      whole.type = types[number % 4];
      whole.process_grid = grid;
      whole.transposed = number % 5 != 3;
      whole.store = false;
      if (number % 3 == 1) whole.highest = {2, 4, 1};
      if (number % 4 == 1) whole.exchange.routes = {RouteKind::kernel, RouteKind::staged};
      whole.parts = 1;
      FftOptions cut = whole;
      cut.parts = parts;
      ++number;
      const Extent cells{number % 7 == 2 ? 9 : 8, 6, 11};
      SCOPED_TRACE(to_string(whole.type) + " on " + std::to_string(grid[0]) + " x " + std::to_string(grid[1]) + " in " +
                   std::to_string(parts) + " parts" + (whole.transposed ? ", transposed" : ""));
      Fft a(comm, m, cells, whole), b(comm, m, cells, cut);
      const auto of_whole = static_cast<double>(a.messages().size()), of_cut = static_cast<double>(b.messages().size());
      const bool odd = is_real(whole.type) && cells[0] % 2 != 0;
      if (m.devices() > 1 && m.devices() <= 4 && whole.transposed && !odd) {
        EXPECT_GT(comm.max(of_cut - of_whole), 0);
      }
      check_both(a, b, cells, whole, 2, host, 2);
      if (HasFatalFailure()) return;
    }
}

/// Runs GPU FFT kernels, on hosts too, that store results at the target device. Compares them with packed messages.
TEST_P(FourierTransformsHoweverMoved, StoreTheirResultsByTheKernelsOfGpus) {
  const Machine m = machine();
  std::size_t number = 0;
  for (const auto& grid : process_grids(m.devices()))
    for (const DType type : types_of_kernels(std::get<0>(GetParam()))) {
      FftOptions store;
      store.type = type;
      store.gpu_lines = true;
      store.process_grid = grid;
      store.transposed = number % 7 != 3;
      store.overlap = number % 3 == 1;
      if (number % 3 == 2) store.highest = {10, 5, 3};
      if (m.devices() > 4 && number > 3) return;
      const bool both = (number + number / 2) % 2 != 0;  // whether two axes of a slab are transformed in one launch
      check_stored(comm, m, {32, both ? 32 : 16, 16}, store, false, true, 1);
      ++number;
      if (HasFatalFailure()) return;
    }
}

/// FFTs with transposes in 1 to 3 parts, stored at the target or packed, in both orders of modes; types vary.
TEST_P(FourierTransformsHoweverMoved, GiveTheSameValuesInAllCombinationsOfOptions) {
  const Machine m = machine();
  const bool host = std::get<0>(GetParam()) == Backend::host;
  std::size_t number = static_cast<std::size_t>(m.devices());
  for (const auto& grid : process_grids(m.devices()))
    for (const int parts : {1, 2, 3})
      for (const bool store : {false, true})
        for (const bool gpu_lines : {false, true})
          for (const bool transposed : {false, true}) {
            if (gpu_lines && !store) continue;
            FftOptions options;
            const std::span of = gpu_lines ? types_of_kernels(std::get<0>(GetParam())) : std::span<const DType>(types);
            options.type = of[number % of.size()];
            options.process_grid = grid;
            options.transposed = transposed;
            options.overlap = number % 7 == 3;
            if (number % 3 == 1) options.highest = {3, 2, 4};
            ++number;
            FftOptions whole = options;
            whole.store = false;
            whole.parts = 1;
            options.store = store;
            options.gpu_lines = gpu_lines;
            options.parts = parts;
            if (!ranks::is_due(number, m.devices() > 2 ? 4 : 1)) continue;
            const Extent cells = gpu_lines ? Extent{32, 16, 16} : Extent{8, 6, 11};
            SCOPED_TRACE(to_string(options.type) + " on " + std::to_string(grid[0]) + " x " + std::to_string(grid[1]) +
                         " in " + std::to_string(parts) + " parts" + (transposed ? ", transposed" : "") +
                         (store ? ", stored" : "") + (gpu_lines ? " by the kernels of GPUs" : "") +
                         (options.overlap ? ", overlapping" : ""));
            Fft a(comm, m, cells, whole), b(comm, m, cells, options);
            check_both(a, b, cells, options, options.overlap ? 3 : 1, host && !gpu_lines, 1);
            if (HasFatalFailure()) return;
          }
}

/// Backward transforms with lines of more than 512 values along y, in narrow tiles. They run after the transpose
/// between devices, or while line transforms along z still store other values into this transpose.
TEST_P(FourierTransformsHoweverMoved, GoBackByLongLinesAlongY) {
  const Machine m = machine();
  if (m.devices() != 2) GTEST_SKIP() << "two devices";
  const bool host = std::get<0>(GetParam()) == Backend::host;
  struct Long {
    Extent cells;
    DType type;
    int parts;
    Extent highest{-1, -1, -1};
  };
  for (const Long& c : {Long{{6, 1024, 1024}, DType::f32, 2}, Long{{6, 768, 768}, DType::f64, 3},
                        Long{{36, 576, 576}, DType::f32, 2, {11, 191, 191}}, Long{{16, 1024, 16}, DType::c64, 1},
                        Long{{16, 1280, 16}, DType::c128, 1}, Long{{4, 2048, 16}, DType::f32, 1},
                        Long{{6, 1024, 1024}, DType::f64, 2, {2, 341, 341}}, Long{{16, 1024, 16}, DType::c128, 1}}) {
    const std::string name = to_string(c.cells) + " of " + to_string(c.type);
    if (host && (!is_twice(c.type) || c.cells[1] != 1024)) {
      std::cout << "left out: " << name << ", of which the host has no kernels\n";
      continue;
    }
    SCOPED_TRACE(name);
    FftOptions pack, store;
    pack.type = c.type;
    pack.highest = c.highest;
    store = pack;
    pack.store = false;
    store.gpu_lines = true;
    store.parts = c.parts;
    Fft packs(comm, m, c.cells, pack), stores(comm, m, c.cells, store);
    if (host) {
      EXPECT_NE(stores.describe().find("backward: a move stored by the lines before it"), std::string::npos);
    }
    Field u(packs.physical(), packs.physical_field("u")), back(packs.physical(), packs.physical_field("back"));
    Field v(packs.spectral(), packs.spectral_field("v"));
    std::vector<Stream> streams = streams_of(packs.physical());
    set(u, 0, random_values(c.cells, c.type));
    packs.forward(u, v, streams);
    finish(streams);
    clear_unused(v, c.cells, c.highest, packs.spectral_axes());
    packs.backward(v, u, streams);
    stores.backward(v, back, streams);
    finish(streams);
    stores.check();
    const double unit = is_twice(c.type) ? 0x1p-52 : 0x1p-23;
    for (const std::int64_t id : u.grid().local()) {
      const auto wanted = array_of<std::byte>(u, id), found = array_of<std::byte>(back, id);
      const auto count = static_cast<std::int64_t>(wanted.size() / size_of(c.type));
      double off = 0;
      for (std::int64_t n = 0; n < count; ++n)
        off = std::max(off, std::abs(get(c.type, wanted.data(), n) - get(c.type, found.data(), n)));
      ASSERT_LE(off, 64 * unit);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, FourierTransformsHoweverMoved,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 3, 4, 5, 8)),
                         OnDevices::name);

}  // namespace
}  // namespace slipstream
