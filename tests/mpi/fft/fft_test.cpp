// Fourier transforms on many devices, compared with direct sums, axis by axis, and with FFTW on one array.
#include <fftw3.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include <slipstream/fft.hpp>
#include <slipstream/trace.hpp>

#include "fft/impl.hpp"
#include "support/expect_error.hpp"
#include "support/fft_rig.hpp"
#include "support/on_devices.hpp"

namespace slipstream {
namespace {

Whole by_fftw(const Whole& u) {
  Whole v = u;
  auto* const data = reinterpret_cast<fftw_complex*>(v.values.data());
  const fftw_plan plan = fftw_plan_dft_3d(static_cast<int>(u.extent[2]), static_cast<int>(u.extent[1]),
                                          static_cast<int>(u.extent[0]), data, data, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  return v;
}

struct Scenario {
  Extent cells;
  DType type;
  std::array<int, 2> process{0, 0};
  bool transposed = true;
  int components = 1;
  bool overlap = false;
  bool staged = false;  ///< whether messages are staged through host memory, instead of taking the default routes
};

void check(const Scenario& s, const Machine& machine, const Communicator& comm, bool with_fftw) {
  FftOptions options;
  options.type = s.type;
  options.process_grid = s.process;
  options.transposed = s.transposed;
  options.overlap = s.overlap;
  if (s.staged) options.exchange.routes = {RouteKind::kernel, RouteKind::staged};
  Fft fft(comm, machine, s.cells, options);
  FieldOptions physical = fft.physical_field("u"), spectral = fft.spectral_field("v");
  physical.components = spectral.components = s.components;
  Field u(fft.physical(), physical), v(fft.spectral(), spectral), back(fft.physical(), physical);
  std::vector<Stream> streams = streams_of(fft.physical());
  for (int round = 0; round < 2; ++round) {  // the first call records a graph, the second replays it
    std::vector<Whole> before;
    for (int c = 0; c < s.components; ++c) {
      before.push_back(random_values(s.cells, s.type, static_cast<std::uint64_t>(7 * round + c)));
      set(u, c, before.back());
    }
    fft.forward(u, v, streams);
    finish(streams);
    fft.check();
    for (int c = 0; c < s.components; ++c) {
      const Whole wanted =
          with_fftw ? by_fftw(before[static_cast<std::size_t>(c)]) : by_sums(before[static_cast<std::size_t>(c)]);
      ASSERT_LE(difference(v, c, wanted, fft.spectral_axes()), tolerance(s.cells, s.type)) << "component " << c;
      ASSERT_EQ(difference(u, c, before[static_cast<std::size_t>(c)]), 0) << "forward changed what it reads";
      set(v, c, wanted, fft.spectral_axes());  // rounds the reference modes to the precision of the spectrum's field
    }
    fft.backward(v, back, streams);
    finish(streams);
    fft.check();
    for (int c = 0; c < s.components; ++c)
      ASSERT_LE(difference(back, c, before[static_cast<std::size_t>(c)]),
                tolerance(s.cells, s.type) / std::sqrt(static_cast<double>(volume(s.cells))))
          << "component " << c;
  }
}

/// Parameters: number of devices per rank; pencils or slabs.
class FourierTransforms : public OnDevices {};

TEST_P(FourierTransforms, AreTheSumsOfAllCells) {
  const Machine m = machine();
  std::size_t number = 0;
  for (const Extent cells : {Extent{8, 6, 10}, Extent{5, 7, 3}, Extent{13, 1, 9}, Extent{9, 8, 1}, Extent{1, 1, 1}})
    for (const auto& grid : process_grids(m.devices())) {
      const Scenario s{cells, types[number % 4], grid, number % 3 != 0, 1 + static_cast<int>(number % 2),
                       false, number % 4 == 2};
      ++number;
      SCOPED_TRACE(to_string(cells) + " of " + to_string(s.type) + " on " + std::to_string(grid[0]) + " x " +
                   std::to_string(grid[1]) + (s.transposed ? ", transposed" : ""));
      check(s, m, comm, false);
      if (HasFatalFailure()) return;
    }
}

TEST_P(FourierTransforms, OfSeveralComponentsMayOverlap) {
  const Machine m = machine();
  std::size_t number = 0;
  for (const auto& grid : process_grids(m.devices()))
    for (const int components : {1, 2, 5}) {
      const Scenario s{{9, 8, 10}, types[number % 4], grid, number % 5 != 0, components, true, number % 4 == 1};
      ++number;
      SCOPED_TRACE(std::to_string(components) + " components of " + to_string(s.type) + " on " +
                   std::to_string(grid[0]) + " x " + std::to_string(grid[1]) + (s.transposed ? ", transposed" : ""));
      check(s, m, comm, true);
      if (HasFatalFailure()) return;
    }
}

TEST_P(FourierTransforms, AgreeWithFftwOnOneArray) {
  const Machine m = machine();
  for (const DType type : types)
    for (const bool transposed : {true, false}) {
      SCOPED_TRACE(to_string(type) + (transposed ? ", transposed" : ""));
      check({{30, 32, 27}, type, {0, 0}, transposed}, m, comm, true);
      if (HasFatalFailure()) return;
    }
}

TEST_P(FourierTransforms, WorkInPlace) {
  const Machine m = machine();
  std::size_t number = 0;
  for (const auto& grid : process_grids(m.devices()))
    for (const bool transposed : {true, false}) {
      FftOptions options;
      options.type = types[number++ % 4];
      options.process_grid = grid;
      options.transposed = transposed;
      SCOPED_TRACE(to_string(options.type) + " on " + std::to_string(grid[0]) + " x " + std::to_string(grid[1]) +
                   (transposed ? ", transposed" : ""));
      const Extent cells{9, 8, 5};
      Fft fft(comm, m, cells, options);
      InPlace a(comm, fft, m);
      std::vector<Stream> streams = streams_of(fft.physical());
      const Whole before = random_values(cells, options.type);
      set(*a.u, 0, before);
      fft.forward(*a.u, *a.v, streams);
      finish(streams);
      fft.check();
      ASSERT_LE(difference(*a.v, 0, by_sums(before), fft.spectral_axes()), tolerance(cells, options.type));
      comm.barrier();
      fft.backward(*a.v, *a.u, streams);
      finish(streams);
      fft.check();
      ASSERT_LE(difference(*a.u, 0, before),
                tolerance(cells, options.type) / std::sqrt(static_cast<double>(volume(cells))));
    }
}

TEST_P(FourierTransforms, ChooseTheFastestProcessGridOnce) {
  const Machine m = machine();
  // Folder for this test's cache of measured process grids.
  const std::string folder = comm.broadcast(
      (std::filesystem::temp_directory_path() / ("slipstream_grids_" + std::to_string(::getpid()))).string(), 0);
  FftOptions options;
  options.tune_process_grid = true;
  options.tune.emplace();
  options.tune->cache_folder = folder;
  options.tune->warm_ups = 0;
  options.tune->trials = 1;
  options.exchange.routes = {RouteKind::kernel, RouteKind::staged};
  const Extent cells{8, 6, 10};
  std::vector<std::array<int, 2>> wanted;
  for (int first = 1; first <= m.devices(); ++first)
    if (m.devices() % first == 0) wanted.push_back({first, m.devices() / first});
  for (const char* source : {"measured", "cache"}) {
    Fft fft(comm, m, cells, options);
    const FftProcessGrids& found = fft.process_grids();
    if (wanted.size() < 2) {
      EXPECT_EQ(found.source, "rules");
      continue;
    }
    EXPECT_EQ(found.source, source);
    ASSERT_LE(found.times.size(), wanted.size());
    ASSERT_GE(found.times.size(), 1u);
    double least = found.times[0].microseconds;
    for (const auto& time : found.times) {
      least = std::min(least, time.microseconds);
      EXPECT_NE(std::find(wanted.begin(), wanted.end(), time.grid), wanted.end());
    }
    const auto chosen = std::find_if(found.times.begin(), found.times.end(),
                                     [&](const auto& time) { return time.grid == fft.process_grid(); });
    ASSERT_NE(chosen, found.times.end());
    EXPECT_LE(chosen->microseconds, 1.03 * least);
    Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
    std::vector<Stream> streams = streams_of(fft.physical());
    const Whole before = random_values(cells, DType::c128);
    set(u, 0, before);
    fft.forward(u, v, streams);
    finish(streams);
    EXPECT_LE(difference(v, 0, by_sums(before), fft.spectral_axes()), tolerance(cells, DType::c128));
  }
  comm.barrier();
  if (comm.rank() == 0) std::filesystem::remove_all(folder);
}

TEST_P(FourierTransforms, AreVerifiedWhereThatIsAskedFor) {
  const Machine m = machine();
  std::size_t number = 0;
  for (const auto& grid : process_grids(m.devices())) {
    FftOptions options;
    options.type = types[number % 4];
    options.process_grid = grid;
    options.verify = true;
    options.scaled = number % 2 == 0;
    if (number % 3 == 1) options.highest = {2, 3, -1};
    if (is_twice(options.type) && number % 4 > 0) options.coding.kind = Coding::Kind::cast;
    ++number;
    Fft fft(comm, m, {9, 8, 10}, options);
    FftOptions other = options;
    other.scaled = !other.scaled;
    const auto error = error_of([&] { fft::verify(comm, m, fft, other); });
    expect_error(error, ErrorCode::internal);
    EXPECT_GT(std::stod(error->fact("error")), std::stod(error->fact("limit")));
  }
  if (m.devices() == 1) return;
  // With FftOptions::verify, creating a plan transforms test values. Their messages then appear in the trace.
  for (const bool asked : {false, true}) {
    Trace trace;
    FftOptions options;
    options.verify = asked;
    options.exchange.trace = &trace;
    const Fft fft(comm, m, {9, 8, 10}, options);
    EXPECT_EQ(trace.size() > 0, asked);
  }
}

TEST_P(FourierTransforms, MayTravelAsNarrowerNumbers) {
  const Machine m = machine();
  for (const DType type : {DType::c128, DType::f64}) {
    FftOptions options;
    options.type = type;
    options.coding.kind = Coding::Kind::cast;
    const Extent cells{12, 10, 9};
    Fft fft(comm, m, cells, options);
    EXPECT_EQ(fft.stored_moves().first, 0);
    Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
    std::vector<Stream> streams = streams_of(fft.physical());
    const Whole before = random_values(cells, type);
    set(u, 0, before);
    fft.forward(u, v, streams);
    finish(streams);
    fft.check();
    const double off = comm.max(difference(v, 0, by_sums(before), fft.spectral_axes()));
    EXPECT_LE(off, tolerance(cells, DType::c64));
    EXPECT_EQ(off > tolerance(cells, type), m.devices() > 1) << off;
  }
  FftOptions single;
  single.type = DType::c64;
  single.coding.kind = Coding::Kind::cast;
  if (m.devices() > 1) {
    expect_error(
        [&] {
          Fft(comm, m, {8, 8, 8}, single);
        },
        ErrorCode::unsupported, {{"of", "a Fourier transform"}, {"coding", "cast"}, {"type", "c64"}});
  }
}

std::string told(const MessageInfo& m) {
  return std::to_string(m.source) + " to " + std::to_string(m.target) + ", " + std::to_string(m.bytes) + " B, " +
         to_string(m.route) + " (" + m.reason + ")";
}

TEST_P(FourierTransforms, KnowTheirMessagesBeforehand) {
  const Machine m = machine();
  const Extent cells{12, 9, 10};
  for (const auto& grid : process_grids(m.devices())) {
    FftOptions options;
    options.type = DType::f64;
    options.process_grid = grid;
    options.highest = {3, 2, 3};
    const Fft fft(comm, m, cells, options);
    const std::vector<MessageInfo> there = Fft::messages(m, cells, options, true),
                                   back = Fft::messages(m, cells, options, false);
    std::vector<MessageInfo> wanted;
    for (const MessageInfo& message : there)
      if (m.device(message.source).rank == comm.rank() || m.device(message.target).rank == comm.rank())
        wanted.push_back(message);
    const std::vector<MessageInfo> found = fft.messages();
    ASSERT_EQ(found.size(), wanted.size());
    std::int64_t bytes = 0;
    for (std::size_t n = 0; n < found.size(); ++n) {
      // On GPUs a plan for gpu_mpi is not verified, because an exchange tries the route first and may fall back to the
      // host.
      const auto kept = [&](RouteKind planned) {
        return planned == found[n].route || (std::get<0>(GetParam()) == Backend::cuda &&
                                             planned == RouteKind::gpu_mpi && found[n].route == RouteKind::staged);
      };
      const auto same = std::find_if(wanted.begin(), wanted.end(), [&](const MessageInfo& w) {
        return w.source == found[n].source && w.target == found[n].target && w.bytes == found[n].bytes && kept(w.route);
      });
      ASSERT_NE(same, wanted.end()) << told(found[n]) << " among"
                                    << std::accumulate(wanted.begin(), wanted.end(), std::string(),
                                                       [](const std::string& all, const MessageInfo& w) {
                                                         return all + "\n  " + told(w);
                                                       });
      wanted.erase(same);
    }
    for (const MessageInfo& message : there) bytes += message.bytes;
    for (const MessageInfo& message : back) bytes -= message.bytes;
    EXPECT_EQ(bytes, 0);
  }
}

TEST_P(FourierTransforms, KeepTheSumOfSquares) {
  const Machine m = machine();
  const Extent cells{18, 15, 16};
  Fft fft(comm, m, cells, {});
  Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
  const Whole before = random_values(cells, DType::c128);
  set(u, 0, before);
  std::vector<Stream> streams = streams_of(fft.physical());
  fft.forward(u, v, streams);
  finish(streams);
  double here = 0, wanted = 0;
  for (const std::int64_t id : fft.spectral().local())
    for (const Complex& value : array_of<Complex>(v, id)) here += std::norm(value);
  for (const Complex& value : before.values) wanted += std::norm(value);
  EXPECT_NEAR(comm.sum_in_rank_order(here) / static_cast<double>(volume(cells)), wanted, 1e-12 * wanted);
}

TEST_P(FourierTransforms, LeaveModesBehindThatAreNotUsed) {
  const Machine m = machine();
  const Extent cells{12, 9, 15}, highest{3, 2, 4};
  std::size_t number = 0;
  for (const auto& grid : process_grids(m.devices()))
    for (const DType type : {DType::f64, DType::c128}) {
      FftOptions options, every;
      options.type = every.type = type;
      options.process_grid = every.process_grid = grid;
      options.transposed = every.transposed = number++ % 3 != 2;
      options.highest = highest;
      SCOPED_TRACE(to_string(type) + " on " + std::to_string(grid[0]) + " x " + std::to_string(grid[1]) +
                   (options.transposed ? ", transposed" : ""));
      Fft fft(comm, m, cells, options), whole(comm, m, cells, every);
      Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
      std::vector<Stream> streams = streams_of(fft.physical());
      for (int round = 0; round < 2; ++round) {
        set(u, 0, random_values(cells, type, static_cast<std::uint64_t>(round)));
        Whole wanted = by_sums(random_values(cells, type, static_cast<std::uint64_t>(round)));
        each_cell({{0, 0, 0}, cells}, [&](const Extent& k) {
          if (!used(k, cells, highest)) wanted.at(k) = 0;
        });
        fft.forward(u, v, streams);
        finish(streams);
        clear_unused(v, cells, highest, fft.spectral_axes());
        ASSERT_LE(difference(v, 0, wanted, fft.spectral_axes()), tolerance(cells, type));
        Field back(fft.physical(), fft.physical_field("back")), same(fft.physical(), fft.physical_field("same"));
        fft.backward(v, back, streams);
        whole.backward(v, same, streams);
        finish(streams);
        fft.check();
        for (const std::int64_t id : back.grid().local())
          ASSERT_EQ(array_of<std::byte>(back, id), array_of<std::byte>(same, id)) << "round " << round;
      }
      const auto bytes = [](const Fft& of) {
        std::int64_t sum = 0;
        for (const MessageInfo& message : of.messages()) sum += message.bytes;
        return sum;
      };
      if (bytes(whole) > 0) {
        EXPECT_LT(bytes(fft), bytes(whole));
      }
    }
}

TEST_P(FourierTransforms, MayBeRecordedIntoAGraph) {
  const Machine m = machine();
  const Extent cells{12, 10, 8};
  FftOptions options;
  options.type = DType::f64;
  for (const int parts : {0, 3}) {
    options.parts = parts;
    if (parts > 0) options.store = false;
    Fft fft(comm, m, cells, options);
    if (!fft.capturable()) GTEST_SKIP() << "a route needs the host";
    Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
    Field back(fft.physical(), fft.physical_field("back"));
    std::vector<Stream> streams = streams_of(fft.physical());
    fft.forward(u, v, streams);  // first call outside of the graph, for all set-up that a graph cannot hold
    fft.backward(v, back, streams);
    finish(streams);
    for (Stream& stream : streams) stream.begin_capture();
    fft.forward(u, v, streams);
    fft.backward(v, back, streams);
    std::vector<Graph> graphs;
    for (Stream& stream : streams) graphs.push_back(stream.end_capture());
    for (const std::uint64_t seed : {3, 4}) {
      const Whole before = random_values(cells, DType::f64, seed);
      set(u, 0, before);
      comm.barrier();
      for (std::size_t i = 0; i < streams.size(); ++i) graphs[i].launch(streams[i]);
      finish(streams);
      fft.check();
      const double most = tolerance(cells, DType::f64);
      EXPECT_LE(difference(v, 0, by_sums(before), fft.spectral_axes()), most);
      EXPECT_LE(difference(back, 0, before), most / std::sqrt(static_cast<double>(volume(cells))));
    }
  }
}

TEST_P(FourierTransforms, TakeNoMoreMemoryThanWasSaid) {
  const Machine m = machine();
  for (const bool transposed : {true, false}) {
    FftOptions options;
    options.transposed = transposed;
    options.overlap = transposed;
    options.parts = 3;
    options.store = transposed;
    const Extent cells{24, 20, 18};
    const std::vector<FftMemory> said = Fft::memory(m, cells, options);
    ASSERT_EQ(said.size(), static_cast<std::size_t>(m.devices()));
    Fft fft(comm, m, cells, options);
    Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
    for (const int d : m.devices_of_rank(comm.rank())) {
      const FftMemory& memory = said[static_cast<std::size_t>(d)];
      const Device device = m.device(d).local;
      EXPECT_EQ(u.bytes_on(device), memory.physical);
      EXPECT_EQ(v.bytes_on(device), memory.spectral);
      EXPECT_GE(fft.bytes_on(device), memory.work);
      EXPECT_LE(fft.bytes_on(device), memory.total() - memory.physical - memory.spectral);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, FourierTransforms,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 3, 4, 5, 8)),
                         OnDevices::name);

}  // namespace
}  // namespace slipstream
