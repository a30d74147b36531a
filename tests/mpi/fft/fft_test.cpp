// Fourier transforms over many devices against sums over all cells, axis by axis, and against FFTW on one array.
#include <fftw3.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <numeric>

#include <slipstream/fft.hpp>
#include <slipstream/trace.hpp>

#include "fft/impl.hpp"
#include "support/error_text.hpp"
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
  bool staged = false;  ///< through the host, not by the rules
};

/// Rounding of a transform: some times the unit of the format, by the size of the largest mode.
double tolerance(const Scenario& s) {
  const double unit = is_twice(s.type) ? 0x1p-52 : 0x1p-23;
  return 8 * unit * std::sqrt(static_cast<double>(volume(s.cells))) * 8;
}

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
  for (int round = 0; round < 2; ++round) {  // the first records, the second replays
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
      ASSERT_LE(difference(v, c, wanted, fft.spectral_axes()), tolerance(s)) << "component " << c;
      ASSERT_EQ(difference(u, c, before[static_cast<std::size_t>(c)]), 0) << "forward changed what it reads";
      set(v, c, wanted, fft.spectral_axes());  // in the format of v
    }
    fft.backward(v, back, streams);
    finish(streams);
    fft.check();
    for (int c = 0; c < s.components; ++c)
      ASSERT_LE(difference(back, c, before[static_cast<std::size_t>(c)]),
                tolerance(s) / std::sqrt(static_cast<double>(volume(s.cells))))
          << "component " << c;
  }
}

/// Devices a rank, and whether pencils or slabs.
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
      const Scenario s{cells, options.type};
      ASSERT_LE(difference(*a.v, 0, by_sums(before), fft.spectral_axes()), tolerance(s));
      comm.barrier();
      fft.backward(*a.v, *a.u, streams);
      finish(streams);
      fft.check();
      ASSERT_LE(difference(*a.u, 0, before), tolerance(s) / std::sqrt(static_cast<double>(volume(cells))));
    }
}

/// All bytes of a field on this rank.
std::vector<std::byte> bytes_of(const Field& field) {
  std::vector<std::byte> all;
  for (const std::int64_t id : field.grid().local()) {
    const auto some = array_of<std::byte>(field, id);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// Whether the results are stored or packed, they are those of the contract. `same`: they have the same bits. `held`:
/// all moves are stored where all messages go straight.
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
  FieldOptions physical = stores.physical_field("u"), spectral = stores.spectral_field("v");
  physical.components = spectral.components = 3;
  Field u(stores.physical(), physical), v(stores.spectral(), spectral), same(stores.spectral(), spectral);
  std::vector<Stream> streams = streams_of(stores.physical());
  for (int round = 0; round < rounds; ++round) {
    std::vector<Whole> before;
    for (int c = 0; c < 3; ++c) {
      before.push_back(random_values(cells, store.type, static_cast<std::uint64_t>(7 * round + c)));
      set(u, c, before.back());
    }
    stores.forward(u, v, streams);
    packs.forward(u, same, streams);
    finish(streams);
    stores.check();
    if (same_bits && store.highest[0] < 0) {
      ASSERT_EQ(bytes_of(v), bytes_of(same)) << "forward, round " << round;
    }
    for (int c = 0; c < 3; ++c) {
      Whole wanted = by_sums(before[static_cast<std::size_t>(c)]);
      each_cell({{0, 0, 0}, cells}, [&](const Extent& k) {
        if (!used(k, cells, store.highest)) wanted.at(k) = 0;
      });
      for (Field* field : {&v, &same}) {
        clear_unused(*field, cells, store.highest, stores.spectral_axes());
        ASSERT_LE(difference(*field, c, wanted, stores.spectral_axes()), tolerance({cells, store.type}));
      }
    }
    Field back(stores.physical(), physical), again(stores.physical(), physical);
    stores.backward(v, back, streams);
    packs.backward(v, again, streams);
    finish(streams);
    stores.check();
    if (same_bits) {
      ASSERT_EQ(bytes_of(back), bytes_of(again)) << "backward, round " << round;
    }
    for (int c = 0; c < 3 && store.highest[0] < 0; ++c)
      ASSERT_LE(difference(back, c, before[static_cast<std::size_t>(c)]),
                tolerance({cells, store.type}) / std::sqrt(static_cast<double>(volume(cells))));
  }
}

TEST_P(FourierTransforms, StoreTheirResultsWhereTheyMustGo) {
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
      check_stored(comm, m, cells, store, host, host || cells[0] == 32, 2);  // GPUs store lines of a power of two
      if (HasFatalFailure()) return;
    }
}

/// Messages of a part travel while the lines of the next are transformed: the same values, in each way that a move can
/// go.
// Of another number of lines cuFFT may have other bits.
TEST_P(FourierTransforms, HaveTheSameBitsInParts) {
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
      FieldOptions physical = a.physical_field("u"), spectral = a.spectral_field("v");
      physical.components = spectral.components = 2;
      Field u(a.physical(), physical), v(a.spectral(), spectral), w(a.spectral(), spectral);
      Field back(a.physical(), physical), again(a.physical(), physical);
      std::vector<Stream> streams = streams_of(a.physical());
      for (int use = 0; use < 2; ++use) {
        std::vector<Whole> before;
        for (int c = 0; c < 2; ++c) {
          before.push_back(random_values(cells, whole.type, static_cast<std::uint64_t>(5 * use + c)));
          set(u, c, before.back());
        }
        a.forward(u, v, streams);
        b.forward(u, w, streams);
        finish(streams);
        b.check();
        for (Field* field : {&v, &w}) clear_unused(*field, cells, whole.highest, a.spectral_axes());
        if (host) {
          ASSERT_EQ(bytes_of(v), bytes_of(w)) << "forward, use " << use;
        }
        for (int c = 0; c < 2; ++c) {
          Whole wanted = by_sums(before[static_cast<std::size_t>(c)]);
          each_cell({{0, 0, 0}, cells}, [&](const Extent& k) {
            if (!used(k, cells, whole.highest)) wanted.at(k) = 0;
          });
          ASSERT_LE(difference(w, c, wanted, a.spectral_axes()), tolerance({cells, whole.type}));
        }
        a.backward(v, back, streams);
        b.backward(w, again, streams);
        b.backward(w, again, streams);
        finish(streams);
        b.check();
        if (host) {
          ASSERT_EQ(bytes_of(back), bytes_of(again)) << "backward, use " << use;
        }
        for (int c = 0; c < 2 && whole.highest[0] < 0; ++c)
          ASSERT_LE(difference(again, c, before[static_cast<std::size_t>(c)]),
                    tolerance({cells, whole.type}) / std::sqrt(static_cast<double>(volume(cells))));
      }
    }
}

/// What runs on GPUs alone, unless it is asked for.
TEST_P(FourierTransforms, StoreTheirResultsByTheKernelsOfGpus) {
  const Machine m = machine();
  std::size_t number = 0;
  for (const auto& grid : process_grids(m.devices()))
    for (const DType type : types) {
      FftOptions store;
      store.type = type;
      store.gpu_lines = true;
      store.process_grid = grid;
      store.transposed = number % 7 != 3;
      store.overlap = number % 3 == 1;
      if (number % 3 == 2) store.highest = {10, 5, 3};
      if (m.devices() > 4 && number > 3) return;
      check_stored(comm, m, number % 2 ? Extent{32, 32, 16} : Extent{32, 16, 16}, store, false, true, 1);
      ++number;
      if (HasFatalFailure()) return;
    }
}

TEST_P(FourierTransforms, ChooseTheFastestProcessGridOnce) {
  const Machine m = machine();
  // A place of this test's own.
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
    EXPECT_LE(difference(v, 0, by_sums(before), fft.spectral_axes()), tolerance({cells, DType::c128}));
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
    EXPECT_NE(error_of([&] { fft::verify(comm, m, fft, other); }).find("values come back with a relative error of"),
              std::string::npos);
  }
  if (m.devices() == 1) return;
  // A plan that is verified moves values when it is made.
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
    EXPECT_LE(off, tolerance({cells, DType::c64}));
    EXPECT_EQ(off > tolerance({cells, type}), m.devices() > 1) << off;
  }
  FftOptions single;
  single.type = DType::c64;
  single.coding.kind = Coding::Kind::cast;
  if (m.devices() > 1) {
    EXPECT_NE(error_of([&] {
                Fft(comm, m, {8, 8, 8}, single);
              }).find("cast rounds f64 and c128 to f32"),
              std::string::npos);
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
      // On GPUs a plan believes in gpu_mpi, of which an exchange wants a proof, or goes through the host.
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
        ASSERT_LE(difference(v, 0, wanted, fft.spectral_axes()), tolerance({cells, type}));
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
    fft.forward(u, v, streams);  // what is recorded at the first run
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
      const double most = tolerance({cells, DType::f64});
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
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_by_" + std::to_string(std::get<1>(info.param));
                         });

TEST(FourierTransformRefuses, WhatCannotBe) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 2);
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 0, 4});
            }),
            "a Fourier transform of 4 x 0 x 4 cells was asked for: each axis needs 1 or more");
  FftOptions options;
  options.tune_process_grid = true;
  options.process_grid = {1, m.devices()};
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 4, 4}, options);
            }),
            "the process grid 1 x " + std::to_string(m.devices()) +
                " of a Fourier transform was given, and the fastest was asked for: do one of the two");
  options = {};
  options.type = DType::i32;
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 4, 4}, options);
            }),
            "values of i32 have no Fourier transform here: choose f32, f64, c64 or c128");
  options.type = DType::f32;
  options.highest = {1, -2, 1};
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 4, 4}, options);
            }),
            "the highest mode of a Fourier transform along axis 1 is -2: it is 0 or more, or -1 for all");
  options.highest = {-1, -1, -1};
  options.parts = -2;
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 4, 4}, options);
            }),
            "a move of a Fourier transform was asked for in -2 parts: give 1 or more, or 0 for a number by size");
  options.parts = 0;
  options.process_grid = {3, 1};
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 4, 4}, options);
            }),
            "the process grid 3 x 1 of a Fourier transform does not have as many places as there are devices, " +
                std::to_string(m.devices()) + ": give two numbers whose product that is, or none");
}

TEST(FourierTransformRefuses, WhatDevicesHaveNoRoomForAndNamesTheLargestThatFits) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 2);
  for (const bool measured : {false, true}) {
    FftOptions options;
    options.tune_process_grid = measured;
    const std::string said = error_of([&] { Fft(comm, m, {20000, 20000, 10000}, options); });
    expect_words(said, {"a Fourier transform of 20000 x 20000 x 10000 values needs ", " are free",
                        "the largest of this shape that fits with them is ", "; or use more devices"});
    const std::string lead = "fits with them is ";
    Extent largest{0, 0, 0};
    ASSERT_EQ(std::sscanf(said.c_str() + said.find(lead) + lead.size(), "%ld x %ld x %ld", &largest[0], &largest[1],
                          &largest[2]),
              3);
    EXPECT_GT(largest[2], 32);
    EXPECT_EQ(largest[1], largest[0]);
    EXPECT_NEAR(static_cast<double>(largest[0]), 2.0 * static_cast<double>(largest[2]), 1.0);
  }
}

TEST(FourierTransformRefuses, OnAllRanksWhatOneCannotMakeOrMakesDifferently) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const Machine m = machine_here(Backend::host, 1);
  const bool odd = comm.rank() == 1;
  FftOptions options;
  if (odd) options.type = DType::i32;
  EXPECT_EQ(error_of([&] {
              Fft(comm, m, {4, 8, 8}, options);
            }),
            "rank 1: values of i32 have no Fourier transform here: choose f32, f64, c64 or c128");
  options = {};
  if (odd) options.transposed = false;
  expect_words(error_of([&] {
                 Fft(comm, m, {4, 8, 8}, options);
               }),
               {"the ranks construct different Fourier transforms", "rank 0 one of 4 x 8 x 8 cells of c128",
                "highest modes (-1, -1, -1), transposed, scaled", "rank 1 one of"});
  for (const auto& [change, word] : {std::pair{+[](FftOptions& o) { o.coding.kind = Coding::Kind::cast; }, "coded as"},
                                     {+[](FftOptions& o) { o.parts = 2; }, "in 2 parts"},
                                     {+[](FftOptions& o) { o.verify = true; }, "verified"}}) {
    options = {};
    if (odd) change(options);
    expect_words(error_of([&] {
                   Fft(comm, m, {4, 8, 8}, options);
                 }),
                 {"the ranks construct different Fourier transforms", word});
  }
  options = {};
  options.exchange.routes = odd ? std::vector{RouteKind::kernel} : all_routes();
  const std::string said = error_of([&] { Fft(comm, m, {4, 8, 8}, options); });
  EXPECT_NE(said.find("no allowed route joins two of the devices"), std::string::npos) << said;
}

TEST(FourierTransformRefuses, ArraysThatOverlap) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 1);
  Fft fft(comm, m, {4, 8, 8});  // as many values on both sides
  const std::int64_t values = volume(fft.physical().block(fft.physical().local().at(0)).box.extents());
  std::vector<Complex> memory(static_cast<std::size_t>(3 * values));
  std::vector<Stream> streams = streams_of(fft.physical());
  const auto run = [&](std::int64_t from, std::int64_t from_next, std::int64_t to, std::int64_t to_next) {
    return error_of([&] {
      Complex* const at = memory.data();
      fft.forward_components({{at + from}, {at + from_next}}, {{at + to}, {at + to_next}}, streams);
      finish(streams);
    });
  };
  const std::string over = " of a Fourier transform would be written over what component ";
  EXPECT_NE(run(0, values, 1, 2 * values).find("component 0" + over + "0"), std::string::npos);
  EXPECT_NE(run(0, values, values, 2 * values).find("component 0" + over + "1"), std::string::npos);
  EXPECT_EQ(run(0, values, 0, values), "");
  EXPECT_EQ(run(0, values, 2 * values, 0), "");  // what was read may be written
}

TEST(FourierTransformRefuses, FieldsThatDoNotFit) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 1);
  Fft fft(comm, m, {4, 6, 8});
  Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
  FieldOptions floats = fft.physical_field("floats"), wide = fft.physical_field("wide"),
               two = fft.physical_field("two");
  floats.type = DType::f32;
  wide.ghost = {1, 0, 0};
  two.components = 2;
  Field f(fft.physical(), floats), w(fft.physical(), wide), t(fft.physical(), two);
  std::vector<Stream> streams = streams_of(fft.physical()), none;
  EXPECT_EQ(error_of([&] { fft.forward(f, v, streams); }), "field floats holds f32, the transform c128 on this side");
  EXPECT_EQ(error_of([&] { fft.forward(w, v, streams); }),
            "field wide has ghosts or gaps between rows: make it with physical_field() or spectral_field()");
  EXPECT_EQ(error_of([&] { fft.forward(u, u, streams); }),
            "field u does not lie on the transform's grid: make it on physical() or spectral()");
  EXPECT_EQ(error_of([&] { fft.forward(t, v, streams); }),
            "a Fourier transform was given 2 components to read and 1 to fill: give both the same");
  EXPECT_NE(error_of([&] { fft.forward(u, v, none); }).find("was given 0 streams for the 1 devices"),
            std::string::npos);
  EXPECT_NE(
      error_of([&] { fft.forward(std::vector<const void*>{}, {}, streams); }).find("0 arrays of the physical grid"),
      std::string::npos);
}

}  // namespace
}  // namespace slipstream
