// FFT kernels that store results where a transpose between devices needs them, on host and GPU. Results are compared
// with FFTW's for one undivided array.
#include <fftw3.h>
#include <gtest/gtest.h>

#include <complex>
#include <iostream>
#include <numbers>
#include <span>

#include <slipstream/fft/line_launch.hpp>

#include "fft/decomposition.hpp"
#include "fft/radix_stores.hpp"
#include "mpi/rank_table.hpp"
#include "support/exchange_rig.hpp"
#include "support/on_devices.hpp"

namespace slipstream {
namespace {

using Complex = std::complex<double>;
using fft::Decomposition;
using fft::Stage;

/// Values of the whole grid at one stage of a transform, with the first axis fastest.
struct Values {
  Extent extent;
  std::vector<Complex> values;
  explicit Values(const Extent& e, bool real = false) : extent(e) {
    for (std::int64_t n = 0; n < volume(e); ++n)
      values.push_back(
          std::complex<float>(static_cast<float>(fraction(scrambled(static_cast<std::uint64_t>(n), 1, 0))),
                              real ? 0 : static_cast<float>(fraction(scrambled(static_cast<std::uint64_t>(n), 2, 0)))));
  }
  Complex& at(const Extent& p) {
    return values[static_cast<std::size_t>((p[2] * extent[1] + p[1]) * extent[0] + p[0])];
  }
  void transform(std::size_t axis, bool forward) {
    std::vector<Complex> line(static_cast<std::size_t>(extent[axis]));
    auto* const data = reinterpret_cast<fftw_complex*>(line.data());
    const fftw_plan plan = fftw_plan_dft_1d(static_cast<int>(line.size()), data, data,
                                            forward ? FFTW_FORWARD : FFTW_BACKWARD, FFTW_ESTIMATE);
    Extent starts = extent;
    starts[axis] = 1;
    for (std::int64_t n = 0; n < volume(starts); ++n) {
      Extent p{n % starts[0], n / starts[0] % starts[1], n / starts[0] / starts[1]};
      for (std::size_t i = 0; i < line.size(); ++i) p[axis] = static_cast<std::int64_t>(i), line[i] = at(p);
      fftw_execute(plan);
      for (std::size_t i = 0; i < line.size(); ++i) p[axis] = static_cast<std::int64_t>(i), at(p) = line[i];
    }
    fftw_destroy_plan(plan);
  }
};

struct Case {
  Extent cells;
  std::array<int, 2> process;  ///< process grid; a second number of 0 stands for all devices, and {1, 0} for slabs
  Stage from, to;
  bool forward;
  bool real = false;
  Extent highest{-1, -1, -1};
};

bool within(const std::vector<Transpose::Range>& ranges, std::int64_t k) {
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](const Transpose::Range& range) {
           return k >= range.first && k < range.second;
         });
}

class RadixLines : public OnDevices {};

template <class T>
Decomposition decomposition_of(const Machine& machine, const Case& c) {
  FftOptions options;
  options.type = c.real ? dtype_of<T>() : dtype_of<std::complex<T>>();
  options.highest = c.highest;
  options.process_grid = c.process[0] == 1 ? std::array{1, machine.devices()} : std::array{machine.devices(), 1};
  return Decomposition(machine, c.cells, options);
}

fft::LineBatch lines_of(const Decomposition& cut, const Case& c, const Extent& block) {
  return c.from == Stage::physical ? cut.first(block, c.forward) : cut.last(block, c.forward);
}

template <class T>
void check(const Communicator& comm, const Machine& machine, const Case& c) {
  const bool real = c.real && c.from == Stage::physical;
  const Decomposition cut = decomposition_of<T>(machine, c);
  const auto grid_of = [&](Stage stage) {
    GridOptions boxes;
    boxes.boxes = cut.blocks(stage);
    return Grid(cut.extent(stage), machine, comm.rank(), boxes);
  };
  const Grid source = grid_of(c.from), target = grid_of(c.to);
  std::array<int, 3> turn{};
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      if (Decomposition::axes(c.from)[a] == Decomposition::axes(c.to)[b]) turn[a] = static_cast<int>(b);
  std::array<std::vector<Transpose::Range>, 3> kept = cut.kept(c.from);
  if (!c.forward)
    for (std::size_t a = 0; a < 3; ++a) kept[a] = cut.kept(c.to)[static_cast<std::size_t>(turn[a])];
  const Transpose transpose(source, target, {turn, kept});
  FieldOptions packed;
  packed.name = "values";
  packed.type = cut.complex_type();
  packed.alignment = 1;
  packed.shared = true;
  // Arrays are sized for complex values; real ones need less
  Field from(source, packed), work(source, packed), to(target, packed);
  Values before(real ? c.cells : source.extent(), real), after = before;
  after.transform(0, c.forward);
  if (lines_of(cut, c, source.extent()).sizes.size() == 2) after.transform(1, c.forward);

  Exchange exchange(comm, source, {{.pattern = &transpose, .source = &work, .target = &to, .produced = true}}, {});
  std::vector<Stream> streams = streams_of(source);
  const auto stream_of = [&](Device device) -> Stream& {
    return *std::find_if(streams.begin(), streams.end(), [&](const Stream& s) { return s.device() == device; });
  };
  std::vector<std::unique_ptr<fft::StoredLines>> stored;
  for (const std::int64_t id : source.local()) {
    const Extent block = source.block(id).box.extents();
    stored.push_back(fft::make_radix_stored_lines(from.device(id), lines_of(cut, c, block), block));
    stored.back()->prepare(exchange);
    std::vector<std::complex<T>> values(static_cast<std::size_t>(volume(block)));
    auto* const numbers = reinterpret_cast<T*>(values.data());
    const std::int64_t row = real ? c.cells[0] : block[0];
    for (std::int64_t n = 0; n < row * block[1] * block[2]; ++n) {
      const Extent& lo = source.block(id).box.lo;
      const std::complex<T> value(before.at({lo[0] + n % row, lo[1] + n / row % block[1], lo[2] + n / row / block[1]}));
      if (real) {
        numbers[n] = value.real();
      } else {
        values[static_cast<std::size_t>(n)] = value;
      }
    }
    set_array(from, id, values);
  }
  comm.barrier();
  exchange.open(streams);
  for (std::size_t n = 0; n < stored.size(); ++n) {
    const std::int64_t id = source.local()[n];
    stored[n]->run(stream_of(from.device(id)), from.data(id), work.data(id), exchange);
  }
  exchange.post(streams);
  exchange.end(streams);
  finish(streams);
  exchange.check();
  const double unit = sizeof(T) == 8 ? 0x1p-52 : 0x1p-23;
  const double most = 8 * unit * std::sqrt(static_cast<double>(c.cells[0] * c.cells[1] * c.cells[2]));
  for (const std::int64_t id : target.local()) {
    const auto values = array_of<std::complex<T>>(to, id);
    const Box& box = target.block(id).box;
    for (std::int64_t n = 0; n < box.volume(); ++n) {
      const Extent q{box.lo[0] + n % box.extent(0), box.lo[1] + n / box.extent(0) % box.extent(1),
                     box.lo[2] + n / box.extent(0) / box.extent(1)};
      Extent p{};
      bool used = true;
      for (std::size_t a = 0; a < 3; ++a) {
        p[a] = q[static_cast<std::size_t>(turn[a])];
        used = used && within(kept[a], p[a]);
      }
      if (!used) continue;
      ASSERT_LE(std::abs(Complex(values[static_cast<std::size_t>(n)]) - after.at(p)), most) << to_string(q);
    }
  }
}

/// Cases of more than 2^20 values run only on two devices of one rank; others run for every second number of devices.
template <class T>
void check_due(const Communicator& comm, const Machine& machine, std::span<const Case> cases) {
  const Backend backend = machine.device(0).local.backend;
  std::size_t number = 0, left_out = 0;
  for (const Case& c : cases) {
    const Decomposition cut = decomposition_of<T>(machine, c);
    if (!fft::radix_holds(backend, lines_of(cut, c, cut.extent(c.from)))) {
      ++left_out;
      continue;
    }
    const bool large = volume(c.cells) > std::int64_t{1} << 20;
    const bool due = ranks::is_due(number++ + static_cast<std::size_t>(machine.devices()), 2);
    if (large ? machine.devices() != 2 || comm.size() > 1 : !due) continue;
    SCOPED_TRACE(to_string(c.cells) + (c.forward ? ", forward" : ", backward") + (c.real ? ", real" : ""));
    if (c.process[0] != 1 && machine.devices() == 1) continue;  // pencils need several devices
    check<T>(comm, machine, c);
    if (testing::Test::HasFatalFailure()) return;
  }
  if (left_out == 0) return;
  std::cout << "left out: " << left_out << " of " << cases.size() << " cases of " << to_string(dtype_of<T>())
            << ", of which the " << to_string(backend) << " backend has no kernels\n";
}

TEST_P(RadixLines, ArriveTransformedAndTurned) {
  const Machine machine = machine_here(std::get<0>(GetParam()), std::get<1>(GetParam()));
  const Case cases[] = {
      // Lines of lengths that have kernels on the host, too.
      {{32, 16, 21}, {1, 0}, Stage::physical, Stage::spectral, true},  // this case transforms two axes in one pass
      {{16, 32, 5}, {1, 0}, Stage::physical, Stage::spectral, true},
      {{32, 5, 18}, {2, 0}, Stage::physical, Stage::middle, true},  // tiles of FFT lines divide the second axis
      {{9, 32, 7}, {2, 0}, Stage::middle, Stage::spectral, true},   // tiles of FFT lines divide the third axis
      {{7, 19, 16}, {1, 0}, Stage::spectral, Stage::physical, false},
      {{1024, 4, 3}, {2, 0}, Stage::physical, Stage::middle, true},
      {{32, 32, 66}, {1, 0}, Stage::physical, Stage::spectral, true, false, {10, 4, -1}},
      {{16, 32, 9}, {1, 0}, Stage::physical, Stage::spectral, true, false, {3, 10, -1}},
      {{7, 19, 32}, {1, 0}, Stage::spectral, Stage::physical, false, false, {2, 6, -1}},
      {{32, 4, 18}, {2, 0}, Stage::physical, Stage::middle, true, true, {10, -1, -1}},
      {{32, 32, 33}, {1, 0}, Stage::physical, Stage::spectral, true, true, {10, 10, -1}},
      {{32, 16, 5}, {1, 0}, Stage::physical, Stage::spectral, true, true, {-1, 5, -1}},
      {{32, 16, 32}, {1, 0}, Stage::spectral, Stage::physical, false, true, {10, 5, -1}},
      // Lines of lengths that are powers of two.
      {{16, 128, 5}, {1, 0}, Stage::physical, Stage::spectral, true},
      {{64, 5, 18}, {2, 0}, Stage::physical, Stage::middle, true},  // tiles of FFT lines divide the second axis
      {{9, 256, 7}, {2, 0}, Stage::middle, Stage::spectral, true},  // tiles of FFT lines divide the third axis
      {{7, 19, 512}, {1, 0}, Stage::spectral, Stage::physical, false},
      {{3, 5, 1024}, {1, 0}, Stage::spectral, Stage::physical, false},
      {{2048, 4, 3}, {2, 0}, Stage::physical, Stage::middle, true},
      // Transforms along two axes in one launch. Planes are handled in chunks, of which the last may be partly filled.
      {{32, 32, 75}, {1, 0}, Stage::physical, Stage::spectral, true},
      {{1024, 1024, 2}, {1, 0}, Stage::physical, Stage::spectral, true},  // long lines, each transformed in parts
      {{64, 64, 66}, {1, 0}, Stage::physical, Stage::spectral, true, false, {21, 9, -1}},
      {{16, 64, 9}, {1, 0}, Stage::physical, Stage::spectral, true, false, {3, 21, -1}},
      {{7, 19, 64}, {1, 0}, Stage::spectral, Stage::physical, false, false, {2, 6, -1}},
      // Cases of transforms from real to complex values.
      {{32, 5, 9}, {2, 0}, Stage::physical, Stage::middle, true, true},
      {{256, 4, 18}, {2, 0}, Stage::physical, Stage::middle, true, true, {85, -1, -1}},
      {{2048, 3, 4}, {2, 0}, Stage::physical, Stage::middle, true, true},
      {{32, 32, 70}, {1, 0}, Stage::physical, Stage::spectral, true, true},
      {{64, 64, 33}, {1, 0}, Stage::physical, Stage::spectral, true, true, {21, 21, -1}},
      {{128, 16, 5}, {1, 0}, Stage::physical, Stage::spectral, true, true, {-1, 5, -1}},
      {{2048, 2048, 1}, {1, 0}, Stage::physical, Stage::spectral, true, true},
      {{32, 16, 64}, {1, 0}, Stage::spectral, Stage::physical, false, true, {10, 5, -1}},
      // Cases of line lengths with each odd factor.
      {{48, 80, 5}, {1, 0}, Stage::physical, Stage::spectral, true},
      {{96, 96, 38}, {1, 0}, Stage::physical, Stage::spectral, true, false, {31, 31, -1}},
      {{160, 160, 19}, {1, 0}, Stage::physical, Stage::spectral, true},
      {{192, 5, 18}, {2, 0}, Stage::physical, Stage::middle, true},
      {{5, 320, 4}, {2, 0}, Stage::middle, Stage::spectral, true},
      {{5, 3, 384}, {1, 0}, Stage::spectral, Stage::physical, false, false, {1, 1, -1}},
      {{3, 5, 640}, {1, 0}, Stage::spectral, Stage::physical, false},
      {{768, 4, 3}, {2, 0}, Stage::physical, Stage::middle, true},
      {{4, 3, 1280}, {1, 0}, Stage::spectral, Stage::physical, false},
      {{3, 5, 1536}, {1, 0}, Stage::spectral, Stage::physical, false},
      {{96, 96, 38}, {1, 0}, Stage::physical, Stage::spectral, true, true, {31, 31, -1}},
      {{160, 160, 19}, {1, 0}, Stage::physical, Stage::spectral, true, true},
      {{192, 48, 6}, {1, 0}, Stage::physical, Stage::spectral, true, true},
      {{320, 4, 18}, {2, 0}, Stage::physical, Stage::middle, true, true},
      {{384, 4, 5}, {2, 0}, Stage::physical, Stage::middle, true, true, {127, -1, -1}},
      {{640, 4, 5}, {2, 0}, Stage::physical, Stage::middle, true, true},
      {{768, 768, 2}, {1, 0}, Stage::physical, Stage::spectral, true, true},
      {{1280, 3, 4}, {2, 0}, Stage::physical, Stage::middle, true, true},
      {{1536, 3, 4}, {2, 0}, Stage::physical, Stage::middle, true, true},
      {{144, 144, 19}, {1, 0}, Stage::physical, Stage::spectral, true},
      {{288, 5, 18}, {2, 0}, Stage::physical, Stage::middle, true},
      {{5, 288, 4}, {2, 0}, Stage::middle, Stage::spectral, true},
      {{288, 288, 5}, {1, 0}, Stage::physical, Stage::spectral, true, true, {95, 95, -1}},
      {{3, 5, 576}, {1, 0}, Stage::spectral, Stage::physical, false, false, {1, 1, -1}},
      {{576, 576, 3}, {1, 0}, Stage::physical, Stage::spectral, true, true},
      {{1152, 4, 3}, {2, 0}, Stage::physical, Stage::middle, true},
      {{1152, 1152, 1}, {1, 0}, Stage::physical, Stage::spectral, true},
      {{1152, 3, 4}, {2, 0}, Stage::physical, Stage::middle, true, true, {383, -1, -1}},
      {{250, 250, 19}, {1, 0}, Stage::physical, Stage::spectral, true},
      {{3, 5, 250}, {1, 0}, Stage::spectral, Stage::physical, false, false, {1, 2, -1}},
      {{500, 4, 18}, {2, 0}, Stage::physical, Stage::middle, true},
      {{500, 500, 5}, {1, 0}, Stage::physical, Stage::spectral, true, true},
      {{3, 5, 1000}, {1, 0}, Stage::spectral, Stage::physical, false},
      {{1000, 1000, 2}, {1, 0}, Stage::physical, Stage::spectral, true},
      {{1000, 4, 5}, {2, 0}, Stage::physical, Stage::middle, true, true, {333, -1, -1}},
      {{4, 3, 2000}, {1, 0}, Stage::spectral, Stage::physical, false},
      {{2000, 3, 4}, {2, 0}, Stage::physical, Stage::middle, true, true},
      // Cases of lengths that cuFFTDx transforms, if built in; longer lines in two parts.
      {{448, 448, 5}, {1, 0}, Stage::physical, Stage::spectral, true},
      {{3, 5, 448}, {1, 0}, Stage::spectral, Stage::physical, false, false, {1, 2, -1}},
      {{480, 480, 3}, {1, 0}, Stage::physical, Stage::spectral, true, false, {159, 100, -1}},
      {{5, 3, 480}, {1, 0}, Stage::spectral, Stage::physical, false},
      {{896, 4, 3}, {2, 0}, Stage::physical, Stage::middle, true},
      {{896, 896, 2}, {1, 0}, Stage::physical, Stage::spectral, true},
      {{4, 3, 960}, {1, 0}, Stage::spectral, Stage::physical, false},
      {{896, 4, 18}, {2, 0}, Stage::physical, Stage::middle, true, true, {298, -1, -1}},
      {{960, 960, 2}, {1, 0}, Stage::physical, Stage::spectral, true, true, {319, 319, -1}},
  };
  check_due<float>(comm, machine, cases);
  check_due<double>(comm, machine, cases);
}

INSTANTIATE_TEST_SUITE_P(Devices, RadixLines,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 3, 4)),
                         OnDevices::name);

TEST(RadixLinesRefuse, OtherLengths) {
  fft::LineBatch batch;
  for (const std::int64_t size : {8, 24, 40, 72, 112, 125, 240, 2304, 2560, 4000, 4096}) {
    batch.sizes = {size};
    EXPECT_FALSE(fft::radix_holds(Backend::cuda, batch)) << size;
  }
  batch.sizes = {64};
  EXPECT_TRUE(fft::radix_holds(Backend::cuda, batch));
  batch.kind = fft::Kind::real_to_complex;
  EXPECT_TRUE(fft::radix_holds(Backend::cuda, batch));
  for (const std::int64_t size : {16, 48, 80, 144, 250}) {
    batch.sizes = {size};
    EXPECT_FALSE(fft::radix_holds(Backend::cuda, batch)) << size;
  }
  batch.sizes = {64};
  batch.kind = fft::Kind::complex_to_real;
  EXPECT_FALSE(fft::radix_holds(Backend::cuda, batch));
}

TEST(RadixLinesRefuse, OnTheHostAllButAFewInDoublePrecision) {
  fft::LineBatch batch;
  const auto held = [&](fft::Kind kind) {
    std::vector<std::int64_t> found;
    batch.kind = kind;
    for (std::int64_t size = 1; size <= 4096; ++size) {
      batch.sizes = {size};
      if (fft::radix_holds(Backend::host, batch)) found.push_back(size);
    }
    return found;
  };
  EXPECT_EQ(held(fft::Kind::forward), std::vector<std::int64_t>{});
  batch.twice = true;
  EXPECT_EQ(held(fft::Kind::forward), (std::vector<std::int64_t>{16, 32, 1024}));
  EXPECT_EQ(held(fft::Kind::backward), (std::vector<std::int64_t>{16, 32, 1024}));
  EXPECT_EQ(held(fft::Kind::real_to_complex), (std::vector<std::int64_t>{32, 2048}));
  EXPECT_EQ(held(fft::Kind::complex_to_real), std::vector<std::int64_t>{});
  batch.kind = fft::Kind::forward;
  batch.sizes = {64};
  EXPECT_THROW(fft::make_radix_stored_lines({Backend::host, 0}, batch, {64, 4, 4}), Error);
}

/// One line of each length by the butterflies of radix.hpp, compared with FFTW.
template <class T, int length>
void expect_transform() {
  using Radices = fft::Radices<length>;
  using Pair = fft::Pair<T>;
  std::vector<Pair> x, roots;
  std::vector<Complex> wanted;
  for (std::int64_t n = 0; n < length; ++n) {
    const auto angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(n) / length;
    roots.push_back({static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))});
    x.push_back({static_cast<T>(fraction(scrambled(static_cast<std::uint64_t>(n), 1, 0))),
                 static_cast<T>(fraction(scrambled(static_cast<std::uint64_t>(n), 2, 0)))});
    wanted.emplace_back(x.back().re, x.back().im);
  }
  auto* const data = reinterpret_cast<fftw_complex*>(wanted.data());
  const fftw_plan plan = fftw_plan_dft_1d(length, data, data, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  int group = length;
  const auto pass = [&]<int radix>(std::integral_constant<int, radix>) {
    const int m = group / radix;
    for (int begin = 0; begin < length; begin += group)
      for (int n = 0; n < m; ++n) {
        Pair values[radix];
        for (int j = 0; j < radix; ++j) values[j] = x[static_cast<std::size_t>(begin + n + j * m)];
        fft::butterfly<radix>(values);
        if (m > 1) fft::turn<radix>(values, roots.data(), n * (length / group));
        for (int j = 0; j < radix; ++j) x[static_cast<std::size_t>(begin + n + j * m)] = values[j];
      }
    group = m;
  };
  pass(std::integral_constant<int, Radices::first>{});
  if constexpr (Radices::count == 3) pass(std::integral_constant<int, Radices::second>{});
  pass(std::integral_constant<int, Radices::last>{});
  ASSERT_EQ(group, 1);
  const double most = 8 * (sizeof(T) == 8 ? 0x1p-52 : 0x1p-23) * std::sqrt(static_cast<double>(length));
  for (int k = 0; k < length; ++k) {
    const int place = Radices::place(k);
    ASSERT_EQ(Radices::mode(place), k);
    const Pair found = x[static_cast<std::size_t>(place)];
    ASSERT_LE(std::abs(Complex(found.re, found.im) - wanted[static_cast<std::size_t>(k)]), most) << k;
  }
}

template <int... lengths>
void expect_transforms() {
  const auto both = [&]<int length>(std::integral_constant<int, length>) {
    SCOPED_TRACE(length);
    static_assert(fft::is_line(length, false));
    expect_transform<float, length>();
    expect_transform<double, length>();
  };
  (both(std::integral_constant<int, lengths>{}), ...);
}

/// Transforms lines of these lengths, of which longer lines are composed.
TEST(RadicesOfLines, TransformLinesOfEachLength) {
  expect_transforms<16, 32, 64, 128, 256, 512, 1024>();
  expect_transforms<48, 96, 192, 384, 768>();
  expect_transforms<80, 160, 320, 640>();
  expect_transforms<144, 288, 576>();
  expect_transforms<250, 500>();
}

}  // namespace
}  // namespace slipstream
