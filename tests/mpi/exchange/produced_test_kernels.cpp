// Kernels of the caller that store results directly at their targets. One transposes without packing; one is a stencil
// whose boundary region goes to the neighbours' ghosts. Compared with formulas, with one array on the host, and with
// the packing exchange.
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <optional>
#include <type_traits>

#include <slipstream/launch.hpp>
#include <slipstream/transpose.hpp>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
inline namespace produced_test_kernels {

/// Value of a global cell; it fits a byte.
SLIP_FN std::int64_t value_of(std::int64_t x, std::int64_t y, std::int64_t z, int component, int round) {
  return ((z * 131 + y) * 37 + x * 5 + component * 11 + round * 71) % 239;
}
constexpr std::int64_t untouched = 240;

/// Converts a whole number to a value of the field, as store() of the fixture does.
template <class T>
SLIP_FN T number_of(std::int64_t value) {
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    return {static_cast<float>(value), static_cast<float>(-2 * value)};
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return {static_cast<double>(value), static_cast<double>(3 * value)};
  } else {
    return static_cast<T>(value);
  }
}

/// Kernel that computes values of cells by a formula and stores them where an exchange sends them, without packing.
template <class T>
struct Formula {
  Windows<T> out;
  int block, component, round;
  std::int64_t lo[3];
  SLIP_FN void operator()(int i, int j, int k) const {
    out.store(block, component, i, j, k, number_of<T>(value_of(lo[0] + i, lo[1] + j, lo[2] + k, component, round)));
  }
};

/// Averages a cell and its six neighbours; stores the mean in the cell and in all its ghosts.
struct Average {
  View<double> from, to;
  Windows<double> out;
  int block;
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = i * from.stride[0] + j * from.stride[1] + k * from.stride[2];
    double sum = from.origin[at];
    for (int a = 0; a < 3; ++a) sum += from.origin[at - from.stride[a]] + from.origin[at + from.stride[a]];
    to.origin[at] = sum / 7;
    out.store(block, 0, i, j, k, sum / 7);
  }
};

/// Kernel that copies the caller's array straight to the targets of an exchange, at addresses from its Windows table.
struct Fill {
  View<double> from;
  Windows<double> out;
  int window;
  SLIP_FN void operator()(int i, int j, int k) const {
    if (out.open())
      *out.place(window, i, j, k) = from.origin[i * from.stride[0] + j * from.stride[1] + k * from.stride[2]];
  }
};

int place_of(const Grid& grid, std::int64_t block) {
  return static_cast<int>(std::find(grid.local().begin(), grid.local().end(), block) - grid.local().begin());
}

/// Exchanges whose values kernels of the caller produce, by each route, with one or more devices per rank.
class Produced : public testing::TestWithParam<std::tuple<Backend, Way>> {
 protected:
  Backend backend = std::get<0>(GetParam());
  const Way way = std::get<1>(GetParam());
  Communicator comm = Communicator::world();
  std::optional<Machine> machine;
  std::vector<Stream> streams;

  void SetUp() override {
    if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
    machine.emplace(machine_here(backend, way));
    for (const int d : machine->devices_of_rank(comm.rank())) streams.emplace_back(machine->device(d).local);
  }
  ExchangeOptions options() const {
    ExchangeOptions options;
    options.routes = way.routes;
    options.knobs.grouping = way.grouping;
    options.wait_limit = 20;
    return options;
  }
  Stream& stream_of(const Field& field, std::int64_t block) {
    return *std::find_if(streams.begin(), streams.end(),
                         [&](const Stream& stream) { return stream.device() == field.device(block); });
  }
};

/// Redistributes random blocks with permuted axes, stored by the caller's kernel. Odd seeds also send a packed field.
template <class T>
struct Turned {
  Turned(const Machine& machine, int rank, unsigned seed) : random(seed) {
    const Extent cells = seed == 0 ? Extent{30, 31, 37} : seed % 3 == 1 ? Extent{5, 66, 1} : Extent{13, 11, 18};
    constexpr std::array<std::array<int, 3>, 6> permutations{
        {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {1, 0, 2}, {0, 2, 1}}};
    transpose_options.axes = permutations[seed % 6];
    Extent there{};
    for (std::size_t a = 0; a < 3; ++a) there[static_cast<std::size_t>(transpose_options.axes[a])] = cells[a];
    if (seed % 2) transpose_options.kept[1] = {{0, cells[1] / 3}, {cells[1] - 2, cells[1]}};
    GridOptions of_source, of_target;
    of_source.boxes = random_blocks(cells, machine.devices(), random);
    of_target.boxes = random_blocks(there, machine.devices(), random);
    source.emplace(cells, machine, rank, of_source);
    target.emplace(there, machine, rank, of_target);
    transpose.emplace(*source, *target, transpose_options);
    from = field("from"), to = field("to");
    from.later = true;  // there is no source array, because nothing is packed
    to.copies = seed % 4 == 0 ? 2 : 1;
    moved_from = field("moved from"), moved_to = field("moved to");
    moved_from.components = moved_to.components = from.components;
    to.components = from.components;
  }
  FieldOptions field(const char* name) {
    FieldOptions options;
    options.name = name;
    options.type = dtype_of<T>();
    options.components = 1 + static_cast<int>(random() % 3);
    constexpr Layout layouts[] = {Layout::soa, Layout::aos, Layout::soa_z};
    options.layout = layouts[random() % 3];
    options.ghost = {static_cast<std::int64_t>(random() % 2), static_cast<std::int64_t>(random() % 2), 0};
    options.shared = true;
    return options;
  }
  bool kept(const Extent& p) const {
    const auto& ranges = transpose_options.kept[1];
    return ranges.empty() || p[1] < ranges[0].second || p[1] >= ranges[1].first;
  }
  /// Expected values of a target block, ghosts included, after exchange number `round`; -1: before the first one.
  std::vector<std::byte> wanted(const Field& f, std::int64_t id, int round) const {
    const auto back = Transpose::inverse(transpose_options.axes);
    const Block& block = f.grid().block(id);
    std::vector<std::byte> bytes(static_cast<std::size_t>(f.shape(id).elements) * sizeof(T));
    each_in(f.shape(id), everything(block.box.extents(), f.options()), [&](const Extent& q, int c, std::int64_t at) {
      Extent global{}, p{};
      for (std::size_t a = 0; a < 3; ++a) global[a] = q[a] + block.box.lo[a];
      for (std::size_t a = 0; a < 3; ++a) p[static_cast<std::size_t>(back[a])] = global[a];
      const bool gets = round >= 0 && block.box.contains(global) && kept(p);
      store(f.options().type, bytes.data(), at, gets ? value_of(p[0], p[1], p[2], c, round) : untouched);
    });
    return bytes;
  }
  void fill_source(Field& f, int round) const {
    for (const std::int64_t id : source->local()) {
      const Block& block = source->block(id);
      std::vector<std::byte> bytes(static_cast<std::size_t>(f.shape(id).elements) * sizeof(T));
      IndexSet inside{{{0, 0, 0}, block.box.extents()}, {}, nullptr};
      for (int c = 0; c < f.options().components; ++c) inside.components.push_back(c);
      each_in(f.shape(id), inside, [&](const Extent& q, int c, std::int64_t at) {
        store(f.options().type, bytes.data(), at,
              value_of(q[0] + block.box.lo[0], q[1] + block.box.lo[1], q[2] + block.box.lo[2], c, round));
      });
      set_array(f, id, bytes);
    }
  }

  std::mt19937 random;
  Transpose::Options transpose_options;
  std::optional<Grid> source, target;
  std::optional<Transpose> transpose;
  FieldOptions from, to, moved_from, moved_to;
};

/// Transposes random blocks in three rounds, by kernels that store through windows, and checks the results.
template <class T>
void turn(const Communicator& comm, const Machine& machine, std::vector<Stream>& streams, unsigned seed,
          ExchangeOptions options) {
  Turned<T> t(machine, comm.rank(), seed);
  if (seed % 3 == 0) options.knobs = {.pack = Pack::zero_copy, .in_place = 16, .chunk = 512, .ring = 2 << 10};
  if (options.routes.size() == 2 && options.routes.back() == RouteKind::gpu_mpi) options.knobs.pack = Pack::fused;
  if (options.routes.size() > 2) options.knobs.pack = Pack::fused;
  Field from(*t.source, t.from), to(*t.target, t.to);
  Field moved_from(*t.source, t.moved_from), moved_to(*t.target, t.moved_to);
  std::vector<ExchangeItem> items{{.pattern = &*t.transpose, .source = &from, .target = &to, .produced = true}};
  if (seed % 2) items.push_back({&*t.transpose, &moved_from, &moved_to});
  Exchange exchange(comm, *t.source, items, options);
  for (int round = 0; round < 3; ++round) {
    if (to.options().copies == 2) to.swap();
    for (const std::int64_t id : t.target->local()) {
      set_array(to, id, t.wanted(to, id, -1));
      set_array(moved_to, id, t.wanted(moved_to, id, -1));
    }
    t.fill_source(moved_from, round + 7);
    comm.barrier();
    exchange.open(streams);
    for (const std::int64_t id : t.source->local()) {
      const Box& box = t.source->block(id).box;
      const Device device = from.device(id);
      const auto stream = std::find_if(streams.begin(), streams.end(), [&](auto& s) { return s.device() == device; });
      for (int c = 0; c < t.from.components; ++c)
        launch(
            *stream, {{0, 0, 0}, box.extents()},
            Formula<T>{
                exchange.windows<T>(0, device), place_of(*t.source, id), c, round, {box.lo[0], box.lo[1], box.lo[2]}});
    }
    exchange.post(streams);
    exchange.end(streams);
    finish(streams);
    exchange.check();
    for (const std::int64_t id : t.target->local()) {
      ASSERT_TRUE(array_of<std::byte>(to, id) == t.wanted(to, id, round)) << "block " << id << ", round " << round;
      if (items.size() == 1) continue;
      ASSERT_TRUE(array_of<std::byte>(moved_to, id) == t.wanted(moved_to, id, round + 7)) << "moved block " << id;
    }
    comm.barrier();
  }
}

TEST_P(Produced, FieldsArriveTransposedWithoutPacking) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Turned<double> probe(*machine, comm.rank(), seed);
    if (const auto why = refusal_of(*probe.source, {{&*probe.transpose, probe.from, probe.to}}, options());
        !why.empty())
      GTEST_SKIP() << why;
    constexpr std::array turns{turn<double>, turn<std::complex<float>>, turn<std::uint8_t>, turn<float>,
                               turn<std::complex<double>>};
    turns[seed % turns.size()](comm, *machine, streams, seed, options());
    if (HasFatalFailure()) return;
  }
}

/// Reference solution: repeated averages of each cell and its six neighbours, in one array of the whole grid per rank.
class OneArray {
 public:
  explicit OneArray(const Extent& cells, const std::array<bool, 3>& periodic) : cells_(cells), periodic_(periodic) {
    for (std::int64_t z = 0; z < cells[2]; ++z)
      for (std::int64_t y = 0; y < cells[1]; ++y)
        for (std::int64_t x = 0; x < cells[0]; ++x) values_.push_back(start({x, y, z}));
  }
  static double start(const Extent& p) {
    return fraction(scrambled(static_cast<std::uint64_t>(p[0]), static_cast<std::uint64_t>(p[1]),
                              static_cast<std::uint64_t>(p[2])));
  }
  static constexpr double beyond = 0.5;
  double at(Extent p) const {
    for (std::size_t a = 0; a < 3; ++a) {
      if (periodic_[a]) p[a] = (p[a] + cells_[a]) % cells_[a];
      if (p[a] < 0 || p[a] >= cells_[a]) return beyond;
    }
    return values_[static_cast<std::size_t>((p[2] * cells_[1] + p[1]) * cells_[0] + p[0])];
  }
  void step() {
    std::vector<double> next;
    for (std::int64_t z = 0; z < cells_[2]; ++z)
      for (std::int64_t y = 0; y < cells_[1]; ++y)
        for (std::int64_t x = 0; x < cells_[0]; ++x) {
          double sum = at({x, y, z});
          sum += at({x - 1, y, z}) + at({x + 1, y, z});
          sum += at({x, y - 1, z}) + at({x, y + 1, z});
          sum += at({x, y, z - 1}) + at({x, y, z + 1});
          next.push_back(sum / 7);
        }
    values_ = next;
  }

 private:
  Extent cells_;
  std::array<bool, 3> periodic_;
  std::vector<double> values_;
};

TEST_P(Produced, BoundariesAreStoredIntoTheNeighboursGhosts) {
  const Extent cells{12, 10, 9};
  GridOptions grid_options;
  grid_options.periodic = {true, false, true};
  grid_options.partition.blocks_per_device = {2, 1, 1};
  const Grid grid(cells, *machine, comm.rank(), grid_options);
  const Halo halo(Halo::Options{});
  FieldOptions values;
  values.name = "u";
  values.type = DType::f64;
  values.ghost = {1, 1, 1};
  values.copies = 2;
  values.shared = true;
  if (const auto why = refusal_of(grid, {{&halo, values}}, options()); !why.empty()) GTEST_SKIP() << why;
  Field u(grid, values);
  OneArray whole(cells, grid_options.periodic);
  const auto array = [&](std::int64_t id) {
    std::vector<double> all(static_cast<std::size_t>(u.shape(id).elements), 0);
    const Box& box = grid.block(id).box;
    each_in(u.shape(id), everything(box.extents(), values), [&](const Extent& p, int, std::int64_t at) {
      all[static_cast<std::size_t>(at)] = whole.at({p[0] + box.lo[0], p[1] + box.lo[1], p[2] + box.lo[2]});
    });
    return all;
  };
  for (int copy = 0; copy < 2; ++copy, u.swap())
    for (const std::int64_t id : grid.local()) set_array(u, id, array(id));
  Exchange exchange(comm, grid, {{.pattern = &halo, .source = &u, .produced = true}}, options());
  const auto step = [&] {
    u.swap();
    exchange.open(streams);
    for (const std::int64_t id : grid.local())
      launch(stream_of(u, id), {{0, 0, 0}, grid.block(id).box.extents()},
             Average{u.view<double>(id, 1), u.view<double>(id), exchange.windows<double>(0, u.device(id)),
                     place_of(grid, id)});
    exchange.post(streams);
    exchange.end(streams);
  };
  const auto check = [&](int steps) {
    for (int n = 0; n < steps; ++n) whole.step();
    finish(streams);
    exchange.check();
    for (const std::int64_t id : grid.local())
      each_in(u.shape(id), everything(grid.block(id).box.extents(), values),
              [&, all = array_of<double>(u, id), right = array(id)](const Extent& p, int, std::int64_t at) {
                ASSERT_EQ(all[static_cast<std::size_t>(at)], right[static_cast<std::size_t>(at)])
                    << "block " << id << ", cell " << to_string(p);
              });
    comm.barrier();
  };
  for (int n = 0; n < 3; ++n) {
    step();
    check(1);
    if (HasFatalFailure()) return;
  }
  for (const ReportRow& row : exchange.report()) EXPECT_GT(row.message.bytes, 0);
  if (!exchange.capturable()) return;
  for (Stream& stream : streams) stream.begin_capture();
  step();
  step();
  std::vector<Graph> graphs;
  for (Stream& stream : streams) graphs.push_back(stream.end_capture());
  for (int n = 0; n < 3; ++n)
    for (std::size_t s = 0; s < streams.size(); ++s) graphs[s].launch(streams[s]);
  check(6);
}

/// Kernels store ghost values directly for the cells' owning blocks, which add them in the order of packed values.
TEST_P(Produced, ValuesAreCombinedAsThoseThatThePackersBring) {
  GridOptions grid_options;
  grid_options.periodic = {true, true, false};
  const Grid grid(Extent{12, 10, 9}, *machine, comm.rank(), grid_options);
  const HaloAdjoint adjoint(Halo::Options{});
  FieldOptions values;
  values.name = "u";
  values.type = DType::f64;
  values.ghost = {1, 1, 1};
  values.shared = true;
  if (const auto why = refusal_of(grid, {{&adjoint, values}}, options()); !why.empty()) GTEST_SKIP() << why;
  Field u(grid, values), v(grid, values), ghosts(grid, values);
  for (const std::int64_t id : grid.local()) {
    std::vector<double> all(static_cast<std::size_t>(u.shape(id).elements));
    for (std::size_t n = 0; n < all.size(); ++n) all[n] = fraction(scrambled(static_cast<std::uint64_t>(id), n, 3));
    set_array(v, id, all);
    set_array(ghosts, id, all);
    each_in(u.shape(id), everything(grid.block(id).box.extents(), values), [&](const Extent& p, int, std::int64_t at) {
      const Extent n = grid.block(id).box.extents();
      for (std::size_t a = 0; a < 3; ++a)
        if (p[a] < 0 || p[a] >= n[a]) all[static_cast<std::size_t>(at)] = -1;
    });
    set_array(u, id, all);
  }
  Exchange moved(comm, grid, {{&adjoint, &v}}, options());
  Exchange produced(comm, grid, {{.pattern = &adjoint, .source = &u, .produced = true}}, options());
  exchange_once(moved, streams, 0);
  produced.open(streams);
  for (Stream& stream : streams) {
    const std::vector<Window>& list = produced.window_list(0, stream.device());
    const Windows<double> out = produced.windows<double>(0, stream.device());
    for (std::size_t n = 0; n < list.size(); ++n) {
      const Window& w = list[n];
      launch(stream, {{w.lo[0], w.lo[1], w.lo[2]}, {w.hi[0], w.hi[1], w.hi[2]}},
             Fill{ghosts.view<double>(w.block), out, static_cast<int>(n)});
    }
  }
  produced.post(streams);
  produced.end(streams);
  finish(streams);
  produced.check();
  for (const std::int64_t id : grid.local()) {
    const auto got = array_of<double>(u, id), right = array_of<double>(v, id);
    each_in(u.shape(id), {{{0, 0, 0}, grid.block(id).box.extents()}, {0}, nullptr},
            [&](const Extent& p, int, std::int64_t at) {
              ASSERT_EQ(got[static_cast<std::size_t>(at)], right[static_cast<std::size_t>(at)]) << to_string(p);
            });
  }
  comm.barrier();
}

std::vector<Produced::ParamType> cases() {
  std::vector<Produced::ParamType> found;
  for (const Backend backend : backends_here()) {
    for (const Way& way : all_ways()) found.emplace_back(backend, way);
    for (const Way& way : ways_of_some_devices())
      if (way.devices > 2) found.emplace_back(backend, way);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Routes, Produced, testing::ValuesIn(cases()), [](const auto& info) {
  return to_string(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
});

/// A grid of two blocks, on two devices if there are two ranks.
struct Pair2 {
  Communicator comm = Communicator::world();
  Machine machine = machine_here(Backend::host, 1);
  Grid grid{{8, 6, 4}, machine, comm.rank()};
  Halo halo{Halo::Options{}};
  FieldOptions options() const {
    FieldOptions options;
    options.name = "u";
    options.ghost = {1, 1, 1};
    options.shared = true;
    return options;
  }
  Field u{grid, options()};
  std::vector<Stream> streams = streams_of(grid);
};

TEST(ProducedRefuses, CallsInAnotherOrder) {
  Pair2 s;
  Exchange exchange(s.comm, s.grid, {{.pattern = &s.halo, .source = &s.u, .produced = true}});
  const Device here = s.streams.front().device();
  expect_error([&] { exchange.begin(s.streams); }, ErrorCode::wrong_state,
               {{"problem", "produced"}, {"call", "begin"}});
  expect_error([&] { exchange.run(s.streams); }, ErrorCode::wrong_state, {{"problem", "produced"}, {"call", "run"}});
  expect_error([&] { exchange.post(s.streams); }, ErrorCode::wrong_state, {{"problem", "not_opened"}});
  expect_error([&] { exchange.windows<float>(0, here); }, ErrorCode::wrong_state, {{"problem", "not_opened"}});
  exchange.open(s.streams);
  expect_error([&] { exchange.open(s.streams); }, ErrorCode::wrong_state, {{"problem", "begun_again"}});
  expect_error([&] { exchange.end(s.streams); }, ErrorCode::wrong_state, {{"problem", "not_posted"}});
  expect_error([&] { exchange.windows<double>(0, here); }, ErrorCode::mismatch,
               {{"field", "u"}, {"given", "f64"}, {"needed", "f32"}});
  expect_error([&] { exchange.windows<float>(1, here); }, ErrorCode::not_found, {{"item", 1}});
  exchange.post(s.streams);
  exchange.end(s.streams);
  finish(s.streams);
  Exchange moved(s.comm, s.grid, {{&s.halo, &s.u}});
  expect_error([&] { moved.open(s.streams); }, ErrorCode::wrong_state, {{"problem", "not_produced"}});
}

TEST(ProducedRefuses, ValuesThatAreCodedOnAllRanks) {
  Pair2 s;
  const int last = s.comm.size() - 1;
  for (const bool alone : {false, true}) {
    const Coding coding{!alone || s.comm.rank() == last ? Coding::Kind::cast : Coding::Kind::raw};
    const auto error = error_of(
        [&] { Exchange(s.comm, s.grid, {{.pattern = &s.halo, .source = &s.u, .coding = coding, .produced = true}}); });
    if (alone && last > 0) {
      expect_error(error, ErrorCode::mismatch, {{"rank", last}});
      EXPECT_NE(error->fact("given").find("by halo, cast)"), std::string::npos) << error->fact("given");
    } else {
      expect_error(error, ErrorCode::unsupported, {{"field", "u"}, {"option", "coding"}});
    }
  }
}

struct Paint {
  Windows<float> out;
  float value;
  SLIP_FN void operator()(int i, int j, int k) const { out.store(0, 0, i, j, k, value); }
};

/// Rank 0 continues alone, and its kernel wants to store into ghosts that rank 1 has not opened.
TEST(ProducedInTime, NothingIsStoredWhereAPlaceIsNotOpen) {
  Pair2 s;
  if (s.comm.size() != 2) GTEST_SKIP() << "needs two ranks";
  ExchangeOptions options;
  options.routes = {RouteKind::kernel, RouteKind::direct};
  options.wait_limit = 0.3;
  for (const std::int64_t id : s.grid.local())
    set_array(s.u, id, std::vector<float>(static_cast<std::size_t>(s.u.shape(id).elements), 5));
  {
    Exchange exchange(s.comm, s.grid, {{.pattern = &s.halo, .source = &s.u, .produced = true}}, options);
    if (s.comm.rank() == 0) {
      expect_error(
          [&] {
            exchange.open(s.streams);
            launch(s.streams[0], {{0, 0, 0}, s.grid.block(s.grid.local()[0]).box.extents()},
                   Paint{exchange.windows<float>(0, s.streams[0].device()), 9});
            exchange.post(s.streams);
            finish(s.streams);
            exchange.end(s.streams);
            finish(s.streams);
            exchange.check();
          },
          ErrorCode::timeout, {{"rank", 0}});
    }
    s.comm.barrier();
    if (s.comm.rank() == 1) {
      for (const std::int64_t id : s.grid.local())
        for (const float value : array_of<float>(s.u, id)) ASSERT_EQ(value, 5);
    }
    s.comm.barrier();
  }
}

}  // namespace produced_test_kernels
}  // namespace slipstream
