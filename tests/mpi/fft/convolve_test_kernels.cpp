// A pointwise operation between a forward and a backward transform, compared with three calls: forward, the operation
// on the host, backward.
#include <gtest/gtest.h>

#include <limits>

#include <slipstream/fft/operations.hpp>

#include "mpi/rank_table.hpp"
#include "support/expect_error.hpp"
#include "support/fft_rig.hpp"
#include "support/on_devices.hpp"

namespace slipstream {
inline namespace convolve_test_kernels {

std::int64_t wave(std::int64_t index, std::int64_t n) { return 2 * index > n ? index - n : index; }

/// A factor by which a convolution multiplies the Fourier modes: as library options, and as a formula for comparison.
struct Multiplied {
  std::string name;
  FftFactor factor;
  std::function<Complex(const Extent& k, const Extent& cells)> by;
  bool real = false, complex = false;  ///< whether arrays of real or of complex numbers hold the factor
};

Complex derivative(std::int64_t k, std::int64_t n, double unit, int order) {
  if (order % 2 == 1 && 2 * k == n) return 0;
  return std::pow(Complex(0, unit * static_cast<double>(k)), order);
}
double square(const Extent& k, double a = 1, double b = 1, double c = 1) {
  const double x = a * static_cast<double>(k[0]), y = b * static_cast<double>(k[1]), z = c * static_cast<double>(k[2]);
  return x * x + y * y + z * z;
}
Complex some(const Extent& k) {
  return {1 + 0.25 * std::cos(static_cast<double>(k[0] + 2 * k[1] - k[2])),
          0.5 * std::sin(static_cast<double>(3 * k[2] - k[1]))};
}

std::vector<Multiplied> table() {
  const double two_pi = 2 * std::numbers::pi;
  std::vector<Multiplied> all;
  all.push_back({"constant", {.constant = {0.5, -2}}, [](const Extent&, const Extent&) { return Complex(0.5, -2); }});
  all.push_back({"derivatives",
                 {.derivative = {1, 0, 2}, .edges = {two_pi, 1, 3 * two_pi}},
                 [](const Extent& k, const Extent& n) {
                   return derivative(k[0], n[0], 1, 1) * derivative(k[2], n[2], 1.0 / 3, 2);
                 }});
  all.push_back({"inverse Laplacian",
                 {.laplacian = -1, .edges = {two_pi, two_pi / 2, two_pi}},
                 [](const Extent& k, const Extent&) {
                   const double all = square(k, 1, 2, 1);
                   return Complex(all > 0 ? -1 / all : 0);
                 }});
  all.push_back({"filtered derivative of the Laplacian",
                 {.constant = -3, .derivative = {0, 1, 0}, .laplacian = 1, .gaussian = 0.9, .sharp = 5.5},
                 [](const Extent& k, const Extent& n) {
                   if (square(k) > 5.5 * 5.5) return Complex(0);
                   return 3.0 * derivative(k[1], n[1], 1, 1) * square(k) * std::exp(-square(k) * 0.81 / 24);
                 }});
  all.push_back(
      {"real array", {}, [](const Extent& k, const Extent&) { return Complex(some(k).real()); }, true, false});
  all.push_back(
      {"complex array", {.constant = 2}, [](const Extent& k, const Extent&) { return 2.0 * some(k); }, false, true});
  return all;
}

/// Multiplies each mode of a field by `by`; unused modes become zero.
void multiply(Field& v, const std::array<int, 3>& axes, const Extent& cells, const Extent& highest,
              const std::function<Complex(const Extent&, const Extent&)>& by) {
  for (const std::int64_t id : v.grid().local()) {
    auto bytes = array_of<std::byte>(v, id);
    const Box& box = v.grid().block(id).box;
    each_cell(box, [&](const Extent& q) {
      Extent k{}, index{};
      for (std::size_t a = 0; a < 3; ++a) {
        const auto axis = static_cast<std::size_t>(axes[a]);
        index[axis] = q[a];
        k[axis] = wave(q[a], cells[axis]);
      }
      const Extent local{q[0] - box.lo[0], q[1] - box.lo[1], q[2] - box.lo[2]};
      for (int c = 0; c < v.options().components; ++c) {
        const std::int64_t at = element(v.shape(id), c, local);
        const Complex value = used(index, cells, highest) ? get(v.options().type, bytes.data(), at) * by(k, cells) : 0;
        put(v.options().type, bytes.data(), at, value);
      }
    });
    set_array(v, id, bytes);
  }
}

class Convolutions : public OnDevices {
 protected:
  bool host() const { return std::get<0>(GetParam()) == Backend::host; }
  /// The n-th number format, of all formats or of those that the GPU kernels support here.
  DType type_of(std::size_t number, bool gpu_lines) const {
    const std::span all = gpu_lines ? types_of_kernels(std::get<0>(GetParam())) : std::span<const DType>(types);
    return all[number % all.size()];
  }
};

/// Compares all components of a field on this rank with another field, with a tolerance relative to its largest value.
void expect_same(const Communicator& comm, const Field& found, const Field& wanted, double unit) {
  double most = 0, size = 0;
  const DType type = found.options().type;
  for (const std::int64_t id : found.grid().local()) {
    const auto a = array_of<std::byte>(found, id), b = array_of<std::byte>(wanted, id);
    ASSERT_EQ(a.size(), b.size());
    const auto count = static_cast<std::int64_t>(a.size() / size_of(type));
    for (std::int64_t n = 0; n < count; ++n) {
      const double off = std::abs(get(type, a.data(), n) - get(type, b.data(), n));
      if (!(off <= most)) most = off;
      size = std::max(size, std::abs(get(type, b.data(), n)));
    }
  }
  size = comm.max(size);
  ASSERT_GT(size, 0);
  ASSERT_LE(most, 64 * unit * size);
}

/// Checks that a convolution in one call equals three calls: FFT, multiplication or other change of modes, inverse FFT.
void check(const Communicator& comm, const Machine& m, const Extent& cells, FftOptions options, const Multiplied& of,
           int components, const std::function<Fft::Operations(const Fft&)>& operations = {}) {
  // Complex factors are refused for real values
  if (of.factor.constant.imag() != 0 && !is_complex(options.type)) return;
  SCOPED_TRACE(of.name + ": " + to_string(cells) + " of " + to_string(options.type) + " on " +
               std::to_string(options.process_grid[0]) + " x " + std::to_string(options.process_grid[1]) +
               (options.transposed ? ", transposed" : "") + (options.gpu_lines ? ", by the kernels of GPUs" : ""));
  FftOptions plain;
  plain.type = options.type;
  plain.process_grid = options.process_grid;
  plain.transposed = options.transposed;
  plain.scaled = options.scaled;
  plain.store = false;
  Fft fft(comm, m, cells, options), apart(comm, m, cells, plain);
  const auto several = [&](FieldOptions field) {
    field.components = components;
    return field;
  };
  Field u(fft.physical(), several(fft.physical_field("u"))), w(fft.physical(), several(fft.physical_field("w")));
  Field wanted(apart.physical(), several(apart.physical_field("wanted")));
  Field through(fft.spectral(), several(fft.spectral_field("through")));
  Field v(apart.spectral(), several(apart.spectral_field("v")));
  std::vector<Stream> streams = streams_of(fft.physical());
  FftFactor factor = of.factor;
  std::vector<Field> arrays;
  if (of.real || of.complex) {
    FieldOptions field = fft.spectral_field("factor");
    if (of.real) field.type = is_twice(options.type) ? DType::f64 : DType::f32;
    arrays.emplace_back(fft.spectral(), field);
    for (const std::int64_t id : arrays[0].grid().local()) {
      auto bytes = array_of<std::byte>(arrays[0], id);
      const Box& box = arrays[0].grid().block(id).box;
      each_cell(box, [&](const Extent& q) {
        Extent k{};
        for (std::size_t a = 0; a < 3; ++a) {
          const auto axis = static_cast<std::size_t>(fft.spectral_axes()[a]);
          k[axis] = wave(q[a], cells[axis]);
        }
        const Extent local{q[0] - box.lo[0], q[1] - box.lo[1], q[2] - box.lo[2]};
        put(field.type, bytes.data(), element(arrays[0].shape(id), 0, local), of.by(k, cells) / of.factor.constant);
      });
      set_array(arrays[0], id, bytes);
      (of.real ? factor.real : factor.complex).push_back(arrays[0].data(id));
    }
  }
  for (int round = 0; round < 2; ++round) {
    for (int c = 0; c < components; ++c)
      set(u, c, random_values(cells, options.type, static_cast<std::uint64_t>(7 * round + c)));
    if (operations) {
      fft.convolve(u, through, w, operations(fft), streams);
    } else {
      fft.convolve(u, through, w, factor, streams);
    }
    apart.forward(u, v, streams);
    finish(streams);
    fft.check();
    multiply(v, fft.spectral_axes(), cells, options.highest, of.by);
    comm.barrier();
    apart.backward(v, wanted, streams);
    finish(streams);
    expect_same(comm, w, wanted, is_twice(options.type) ? 0x1p-52 : 0x1p-23);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST_P(Convolutions, AreThreeCallsInOne) {
  const Machine m = machine();
  const std::vector<Multiplied> operations = table();
  std::size_t number = 0;
  // Shapes with lengths along z that have GPU kernels, odd, prime and mixed ones, few planes, and flat boxes.
  for (const Extent cells : {Extent{16, 10, 32}, Extent{12, 9, 48}, Extent{7, 11, 80}, Extent{13, 6, 17},
                             Extent{5, 3, 2}, Extent{18, 10, 1}, Extent{3, 4, 250}, Extent{9, 7, 16}})
    for (const auto& grid : process_grids(m.devices()))
      for (const bool gpu_lines : {false, true}) {
        // The project has no FFT kernels for this length, so the option to use them, `gpu_lines`, changes nothing.
        if (gpu_lines && (host() ? cells[2] != 16 && cells[2] != 32 : cells[2] < 16)) continue;
        // Usually half of the cases (box, process grid, FFT kernels) run, to save time; the device count selects them.
        if (!ranks::is_due(number++ / 4 + static_cast<std::size_t>(m.devices()), 2)) continue;
        FftOptions options;
        options.type = type_of(number, gpu_lines);
        options.process_grid = grid;
        options.transposed = number % 5 != 4;
        options.overlap = number % 7 == 3;
        options.scaled = number % 6 != 1;
        options.gpu_lines = gpu_lines;
        if (number % 8 == 5) options.store = false;
        if (number % 9 == 2) options.parts = 3;
        if (number % 3 == 2) options.highest = {2, 1, cells[2] > 2 ? 3 : 0};
        if (number % 11 == 6) options.exchange.routes = {RouteKind::kernel, RouteKind::staged};
        // A flat box has no derivative along z.
        const std::size_t which = number % operations.size();
        const Multiplied& of = operations[which == 1 && cells[2] == 1 ? 2 : which];
        check(comm, m, cells, options, of, number % 4 == 1 ? 3 : 1);
        if (HasFatalFailure()) return;
      }
}

TEST_P(Convolutions, OfEachKindByTheKernelsOfGpus) {
  const Machine m = machine();
  std::size_t number = 0;
  for (const Multiplied& of : table())
    for (const DType type : types_of_kernels(std::get<0>(GetParam()))) {
      if (!ranks::is_due(number++ / 4 + static_cast<std::size_t>(m.devices()), 2)) continue;
      FftOptions options;
      options.type = type;
      options.gpu_lines = true;
      options.process_grid = process_grids(m.devices()).back();
      const std::int64_t length = (host() ? std::array{32, 16, 32} : std::array{160, 64, 96})[number % 3];
      if (number % 2 == 0) options.highest = {3, 2, length / 8};
      check(comm, m, {16, 12, length}, options, of, 1);
      if (HasFatalFailure()) return;
    }
}

/// Complex slabs, whose backward transform transforms z and x before the move.
TEST_P(Convolutions, OfSlabsThatGoBackTurned) {
  const Machine m = machine();
  for (const DType type : types_of_kernels(std::get<0>(GetParam()))) {
    FftOptions options;
    options.type = type;
    options.gpu_lines = true;
    options.process_grid = {1, m.devices()};
    if (is_real(type)) options.highest = {5, 5, 10};
    check(comm, m, {32, 16, 32}, options, table()[2], 2);
    if (HasFatalFailure()) return;
  }
}

/// Covers the longest lines that apply an operation on load, and longer lines, which are split and do not.
TEST_P(Convolutions, OfLongLines) {
  const Machine m = machine();
  if (comm.size() > 1 || m.devices() > 2) GTEST_SKIP() << "large";
  for (const std::int64_t length : host() ? std::vector{32, 1024} : std::vector{512, 320, 384, 480, 640, 1024}) {
    FftOptions options;
    options.type = length % 3 ? DType::c128 : DType::c64;
    options.gpu_lines = true;
    check(comm, m, {3, 4, length}, options, table()[3], 1);
    if (HasFatalFailure()) return;
  }
}

/// Operation that shifts the values by half a cell along each axis.
template <class T>
struct Turned {
  double unit[3];
  SLIP_FN fft::Pair<T> operator()(const fft::Mode& k, const fft::Pair<T>& value) const {
    const double angle = unit[0] * k.x + unit[1] * k.y + unit[2] * k.z;
    return value * fft::Pair<T>{static_cast<T>(cos(angle)), static_cast<T>(sin(angle))};
  }
};

TEST_P(Convolutions, ByFunctorsOfTheCaller) {
  const Machine m = machine();
  std::size_t number = 0;
  for (const auto& grid : process_grids(m.devices()))
    for (const std::int64_t length : {32, 15})
      for (const bool gpu_lines : {false, true}) {
        const Extent cells{12, 10, length};
        FftOptions options;
        options.type = number % 3 ? DType::f64 : gpu_lines && host() ? DType::c128 : DType::c64;
        options.process_grid = grid;
        options.transposed = number % 4 != 3;
        options.gpu_lines = gpu_lines;
        ++number;
        std::array<double, 3> unit{};
        for (std::size_t a = 0; a < 3; ++a) unit[a] = std::numbers::pi / static_cast<double>(cells[a]);
        const auto made = [&]<class T>(const Fft& plan, T) {
          return fft::operations_of<T, fft::Lengths<32>>(
              plan, std::vector<Turned<T>>(plan.spectral().local().size(), {{unit[0], unit[1], unit[2]}}));
        };
        const Multiplied shift{"a functor", {}, [&](const Extent& k, const Extent&) {
                                 return std::polar(1.0, unit[0] * static_cast<double>(k[0]) +
                                                            unit[1] * static_cast<double>(k[1]) +
                                                            unit[2] * static_cast<double>(k[2]));
                               }};
        check(comm, m, cells, options, shift, 1,
              [&](const Fft& plan) { return is_twice(options.type) ? made(plan, 0.0) : made(plan, 0.0f); });
        if (HasFatalFailure()) return;
      }
}

TEST_P(Convolutions, WorkInOneArray) {
  const Machine m = machine();
  for (const bool gpu_lines : {false, true})
    for (const DType type : gpu_lines ? types_of_kernels(std::get<0>(GetParam())) : std::span<const DType>(types)) {
      FftOptions options;
      options.type = type;
      options.gpu_lines = gpu_lines;
      const Extent cells{10, 12, 32};
      Fft fft(comm, m, cells, options);
      InPlace a(comm, fft, m);
      Field u(fft.physical(), fft.physical_field("other")), v(fft.spectral(), fft.spectral_field("through")),
          w(fft.physical(), fft.physical_field("wanted"));
      std::vector<Stream> streams = streams_of(fft.physical());
      const Whole before = random_values(cells, type);
      set(*a.u, 0, before);
      set(u, 0, before);
      const FftFactor factor{.derivative = {0, 0, 1}};
      fft.convolve(*a.u, *a.v, *a.u, factor, streams);
      fft.convolve(u, v, w, factor, streams);
      finish(streams);
      fft.check();
      for (const std::int64_t id : w.grid().local())
        ASSERT_EQ(array_of<std::byte>(*a.u, id), array_of<std::byte>(w, id)) << to_string(type);
    }
}

TEST_P(Convolutions, SayWhereTheOperationIsDone) {
  const Machine m = machine();
  if (std::get<0>(GetParam()) != Backend::host) GTEST_SKIP() << "the same kernels, where the host is asked for them";
  const auto place = [&](const Extent& cells, const FftOptions& options) {
    return Fft(comm, m, cells, options).describe();
  };
  FftOptions options, natural, gpu, packs;
  natural.transposed = false;
  gpu.gpu_lines = packs.gpu_lines = true;
  packs.store = false;
  const std::string of_forward = "of the forward transform, before they are stored",
                    of_backward = "of the backward transform, as they are read", own = "in a pass of its own",
                    copy = "by the copy of the spectrum";
  EXPECT_NE(place({8, 9, 15}, options).find(of_forward), std::string::npos);
  EXPECT_NE(place({8, 9, 15}, natural).find(m.devices() > 1 ? copy : own), std::string::npos);
  const std::string by_kernels = place({8, 9, 32}, gpu);
  EXPECT_NE(by_kernels.find(of_backward), std::string::npos) << by_kernels;
  EXPECT_EQ(by_kernels.find("stored by the lines") == std::string::npos, m.devices() == 1) << by_kernels;
  // The library's kernels lack inverse FFTs of 15 values, so a convolution changes the modes in the forward FFT.
  EXPECT_NE(place({8, 9, 15}, gpu).find(of_forward), std::string::npos);
  EXPECT_NE(place({32, 32, 16}, gpu).find(of_backward), std::string::npos);
  // For lines of 512 or 1024 values the host has no backward kernels that apply the operation on modes.
  EXPECT_NE(place({32, 32, 512}, gpu).find(of_forward), std::string::npos);
  EXPECT_NE(place({32, 32, 1024}, gpu).find(of_forward), std::string::npos);
  gpu.type = DType::c64;
  // Backward kernels for lines of 32 single-precision values exist on GPUs only
  EXPECT_NE(place({8, 9, 32}, gpu).find(of_forward), std::string::npos);
  EXPECT_NE(place({8, 9, 32}, packs).find(m.devices() > 1 ? of_forward : of_backward), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Devices, Convolutions,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 3, 4, 6)),
                         OnDevices::name);

TEST(ConvolutionRefuses, WhatCannotBe) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 1);
  Fft fft(comm, m, {4, 8, 8});
  Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
  std::vector<Stream> streams = streams_of(fft.physical());
  const auto refused = [&](const FftFactor& factor, ErrorCode code, const Facts& facts) {
    expect_error([&] { fft.convolve(u, v, u, factor, streams); }, code, facts);
  };
  refused({.derivative = {0, -1, 0}}, ErrorCode::invalid_argument,
          {{"option", "derivative"}, {"axis", 1}, {"given", -1}});
  refused({.edges = {1, 1, 0}}, ErrorCode::invalid_argument, {{"option", "edges"}, {"axis", 2}, {"given", 0}});
  refused({.gaussian = -1}, ErrorCode::invalid_argument, {{"option", "gaussian"}, {"given", -1}});
  refused({.real = {nullptr, nullptr}}, ErrorCode::mismatch, {{"option", "real"}, {"given", 2}, {"needed", 1}});
  expect_error([&] { fft.convolve(u, v, u, Fft::Operations{}, streams); }, ErrorCode::mismatch,
               {{"option", "operations"}, {"given", 0}});
}

TEST(ConvolutionRefuses, NumbersThatMakeNoFactor) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  for (const DType type : {DType::f64, DType::c128}) {
    FftOptions options;
    options.type = type;
    Fft fft(comm, m, {4, 8, 8}, options);
    Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
    std::vector<Stream> streams = streams_of(fft.physical());
    const std::vector<std::pair<FftFactor, Facts>> cases{
        {{.constant = {1, 2}}, type == DType::f64 ? Facts{{"option", "constant"}} : Facts{}},
        {{.constant = nan}, {{"option", "constant"}}},
        {{.constant = {0, infinite}}, {{"option", "constant"}}},
        {{.gaussian = nan}, {{"option", "gaussian"}, {"given", nan}}},
        {{.gaussian = infinite}, {{"option", "gaussian"}, {"given", infinite}}},
        {{.sharp = -1}, {{"option", "sharp"}, {"given", -1}}},
        {{.sharp = nan}, {{"option", "sharp"}, {"given", nan}}},
        {{.sharp = infinite}, {}},
        {{.edges = {1, nan, 1}}, {{"option", "edges"}, {"axis", 1}, {"given", nan}}},
    };
    for (const auto& [factor, facts] : cases) {
      const auto error = error_of([&] { fft.convolve(u, v, u, factor, streams); });
      const bool real = &factor == &cases.front().first;
      if (facts.empty())
        EXPECT_FALSE(error) << error->what();
      else
        expect_error(error, real ? ErrorCode::unsupported : ErrorCode::invalid_argument, facts);
    }
    finish(streams);
  }
}

TEST(ConvolutionRefuses, ArraysThatAreReadAndWritten) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 1);
  Fft fft(comm, m, {4, 8, 8});
  Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v")),
      w(fft.physical(), fft.physical_field("w"));
  std::vector<Stream> streams = streams_of(fft.physical());
  const std::int64_t mine = fft.physical().local().at(0), other = fft.spectral().local().at(0);
  const auto said = [&](const void* real, const void* complex) {
    FftFactor factor;
    if (real) factor.real = {real};
    if (complex) factor.complex = {complex};
    return error_of([&] { fft.convolve(u, v, w, factor, streams); });
  };
  const Facts written{{"block", 0}, {"problem", "written_over"}};
  expect_error(said(v.data(other), nullptr), ErrorCode::invalid_argument, written);
  expect_error(said(nullptr, w.data(mine)), ErrorCode::invalid_argument, written);
  EXPECT_FALSE(said(nullptr, u.data(mine)));  // the factor may lie in the input u, which is only read
  finish(streams);
  const std::vector<const void*> from{u.data(mine)};
  const std::vector<void*> through{v.data(other)}, to{w.data(mine)};
  expect_error(
      [&] {
        fft.convolve_components({from, from}, {through, through}, {to, to}, FftFactor{}, streams);
      },
      ErrorCode::invalid_argument, {{"problem", "written_twice"}});
}

/// Each convolution compares its factor (a multiplier of modes) among ranks, because it may differ between calls.
TEST(ConvolutionRefuses, OnAllRanksTheFactorOfOne) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const bool odd = comm.rank() == comm.size() - 1;
  const Machine m = machine_here(Backend::host, 1);
  FftOptions options;
  options.exchange.wait_limit = 5;
  Fft fft(comm, m, {4, 8, 8}, options);
  Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
  std::vector<Stream> streams = streams_of(fft.physical());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int round = 0; round < 2; ++round) {
    expect_error([&] { fft.convolve(u, v, u, FftFactor{.sharp = odd ? nan : 2}, streams); },
                 odd ? ErrorCode::invalid_argument : ErrorCode::mismatch,
                 odd ? Facts{{"option", "sharp"}, {"given", nan}} : Facts{{"rank", comm.size() - 1}});
    const auto other = error_of([&] { fft.convolve(u, v, u, FftFactor{.sharp = odd ? 3.0 : 2.0}, streams); });
    expect_error(other, ErrorCode::mismatch, {{"object", "a Fourier transform"}});
    EXPECT_EQ(other->fact("rank"), "") << "each rank made the call";
    EXPECT_FALSE(error_of([&] { fft.convolve(u, v, u, FftFactor{.sharp = 2}, streams); }));
  }
  finish(streams);
}

}  // namespace convolve_test_kernels
}  // namespace slipstream
