// Transposes between random decompositions, with every permutation and route, compared with a formula of the global
// cell.
#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <vector>

#include <slipstream/transpose.hpp>

#include "machine/private_communicator.hpp"
#include "mpi/exchange/permutations.hpp"
#include "mpi/rank_table.hpp"
#include "route/all_to_all.hpp"

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

/// Random parameters of a transpose, the same on all ranks.
struct Drawn {
  Extent cells{30, 31, 37};
  FieldOptions from, to;
  GridOptions source, target;
  Transpose::Options options;
};

std::vector<Transpose::Range> random_ranges(std::int64_t cells, std::mt19937& random) {
  if (random() % 2 || cells < 8) return {};
  return {{0, cells / 3}, {cells - cells / 4, cells}};
}

FieldOptions random_field(const char* name, DType type, int components, std::mt19937& random) {
  FieldOptions options;
  options.name = name;
  options.type = type;
  options.components = components;
  options.layout = std::array{Layout::soa, Layout::aos, Layout::soa_z}[random() % 3];
  options.ghost = {static_cast<std::int64_t>(random() % 3), static_cast<std::int64_t>(random() % 2), 0};
  options.shared = true;
  return options;
}

/// `plain`: one component and rows without padding, as in a Fourier transform.
Drawn draw(const Axes& axes, int devices, unsigned seed, bool plain) {
  std::mt19937 random(seed);
  Drawn d;
  if (seed % 3 == 1) d.cells = {70, 9, 130};
  if (seed % 3 == 2) d.cells = {5, 66, 1};
  d.options.axes = axes;
  constexpr DType types[] = {DType::c64, DType::f64, DType::c128, DType::f32, DType::i32, DType::f16, DType::u8};
  const DType type = plain ? types[seed % 3] : types[random() % 7];
  const int components = plain ? 1 : 1 + static_cast<int>(random() % 3);
  d.from = random_field("from", type, components, random);
  d.to = random_field("to", type, components, random);
  if (plain) d.from.layout = d.to.layout = Layout::soa;
  Extent there{};
  for (std::size_t a = 0; a < 3; ++a) {
    there[axes[a]] = d.cells[a];
    if (!plain) d.options.kept[a] = random_ranges(d.cells[a], random);
  }
  d.source.boxes = random_blocks(d.cells, devices, random);
  d.target.boxes = random_blocks(there, devices, random);
  return d;
}

class TransposeRig {
 public:
  TransposeRig(const Drawn& drawn, const Machine& machine, int rank)
      : drawn_(drawn),
        source(drawn.cells, machine, rank, drawn.source),
        target(turned(drawn.cells), machine, rank, drawn.target),
        transpose(source, target, drawn.options) {}

  void make_fields(int items = 1) {
    for (int n = 0; n < items; ++n) {
      from.emplace_back(source, drawn_.from);
      to.emplace_back(target, drawn_.to);
    }
  }
  /// Items of an exchange: the transpose of each source field into its target field.
  std::vector<ExchangeItem> items() {
    std::vector<ExchangeItem> list;
    for (std::size_t n = 0; n < from.size(); ++n) list.push_back({&transpose, &from[n], &to[n]});
    return list;
  }

  Extent turned(const Extent& cell) const {
    Extent result{};
    for (std::size_t a = 0; a < 3; ++a) result[drawn_.options.axes[a]] = cell[a];
    return result;
  }
  bool kept(const Extent& cell) const {
    for (std::size_t a = 0; a < 3; ++a) {
      const auto& ranges = drawn_.options.kept[a];
      const auto has = [&](const auto& range) { return cell[a] >= range.first && cell[a] < range.second; };
      if (!ranges.empty() && std::none_of(ranges.begin(), ranges.end(), has)) return false;
    }
    return true;
  }
  static std::int64_t value(const Extent& cell, int component, int round) {
    return ((cell[2] * 131 + cell[1]) * 37 + cell[0] * 5 + component * 11 + round * 71) % 239;
  }
  static constexpr std::int64_t untouched = 240;

  /// A block's array with ghosts, with the cells set to `of(global cell, component)`.
  template <class Of>
  std::vector<std::byte> array(const Field& field, const Block& block, const Of& of) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(field.shape(block.id).elements) *
                                 size_of(field.options().type));
    each_in(field.shape(block.id), everything(block.box.extents(), field.options()),
            [&](const Extent& p, int c, std::int64_t at) {
              const Extent global{p[0] + block.box.lo[0], p[1] + block.box.lo[1], p[2] + block.box.lo[2]};
              const bool inside = block.box.contains(global);
              store(field.options().type, bytes.data(), at, inside ? of(global, c) : untouched);
            });
    return bytes;
  }

  void fill(int round) {
    for (std::size_t n = 0; n < from.size(); ++n) {
      const int own = round + 5 * static_cast<int>(n);
      for (const std::int64_t id : source.local())
        set_array(from[n], id,
                  array(from[n], source.block(id), [&](const Extent& p, int c) { return value(p, c, own); }));
      for (const std::int64_t id : target.local())
        set_array(to[n], id, array(to[n], target.block(id), [&](const Extent&, int) { return untouched; }));
    }
  }

  /// Expected array of a target block after the exchange.
  std::vector<std::byte> wanted(const Field& field, std::int64_t id, int round) const {
    const auto back = Transpose::inverse(drawn_.options.axes);
    return array(field, target.block(id), [&](const Extent& q, int c) {
      Extent p{};
      for (std::size_t a = 0; a < 3; ++a) p[back[a]] = q[a];
      return kept(p) ? value(p, c, round) : untouched;
    });
  }

  void check(int round) const {
    for (std::size_t n = 0; n < from.size(); ++n) {
      const int own = round + 5 * static_cast<int>(n);
      for (const std::int64_t id : target.local())
        ASSERT_TRUE(array_of<std::byte>(to[n], id) == wanted(to[n], id, own))
            << "block " << id << " of item " << n << " in round " << round;
      for (const std::int64_t id : source.local())
        ASSERT_TRUE(array_of<std::byte>(from[n], id) ==
                    array(from[n], source.block(id), [&](const Extent& p, int c) { return value(p, c, own); }))
            << "source block " << id << " of item " << n;
    }
  }

 private:
  Drawn drawn_;

 public:
  Grid source, target;
  Transpose transpose;
  std::vector<Field> from, to;
};

void run(const Communicator& comm, TransposeRig& rig, const ExchangeOptions& options, int items = 1) {
  rig.make_fields(items);
  Exchange exchange(comm, rig.source, rig.items(), options);
  std::vector<Stream> streams = streams_of(rig.source);
  for (int round = 0; round < 4; ++round) {
    rig.fill(round);
    comm.barrier();  // waits until the targets of other ranks are filled
    exchange_once(exchange, streams, round);
    rig.check(round);
    comm.barrier();
  }
}

class Transposes : public testing::TestWithParam<std::tuple<Backend, std::size_t, std::size_t>> {};

TEST_P(Transposes, BringEveryCellToItsPlaceAndNothingElse) {
  const auto [backend, number, permutation] = GetParam();
  const Way way = all_ways()[number];
  if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, way);
  for (unsigned seed = 0; seed < 6; ++seed) {
    if (!ranks::is_due(number + permutation + seed / 2, 3)) continue;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const unsigned mixed = static_cast<unsigned>(number * 131 + permutation * 17) + seed;
    TransposeRig rig(draw(permutations[permutation], machine.devices(), mixed, seed < 3), machine, comm.rank());
    ExchangeOptions options;
    options.routes = way.routes;
    options.knobs.grouping = way.grouping;
    if (seed % 2) {
      options.knobs.chunk = 1 << 10;
      options.knobs.ring = 4 << 10;
    }
    if (seed == 4) options.knobs.in_place = 0;
    const int items = seed % 2 ? 2 + static_cast<int>(seed % 3 == 0) : 1;
    const Drawn d = draw(permutations[permutation], machine.devices(), mixed, seed < 3);
    if (const auto why = refusal_of(rig.source, {{&rig.transpose, d.from, d.to}}, options); !why.empty())
      GTEST_SKIP() << why;
    run(comm, rig, options, items);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Routes, Transposes,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range(std::size_t{0}, all_ways().size()),
                                          testing::Range(std::size_t{0}, permutations.size())),
                         [](const auto& info) {
                           const Axes& axes = permutations[std::get<2>(info.param)];
                           return name_of(
                               std::get<0>(info.param), std::get<1>(info.param),
                               "to_" + std::to_string(axes[0]) + std::to_string(axes[1]) + std::to_string(axes[2]));
                         });

/// Covers each MPI collective that carries the messages of all ranks at once; through the host and, if MPI supports it,
/// from device memory. One and two devices per rank, and nodes of one rank.
struct Called {
  MpiCalls calls;
  RouteKind route;
  int devices;
};

class TransposesInOneCall : public testing::TestWithParam<std::tuple<Backend, Called>> {};

TEST_P(TransposesInOneCall, BringEveryCellToItsPlaceAndNothingElse) {
  const auto [backend, called] = GetParam();
  const Way way{"", {RouteKind::kernel, called.route}, called.devices};
  if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  if (const auto why = refusal_of(comm, called.calls); !why.empty()) GTEST_SKIP() << why;
  const Machine machine = machine_here(backend, way);
  for (unsigned seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Drawn d = draw(permutations[seed], machine.devices(), seed, seed < 3);
    TransposeRig rig(d, machine, comm.rank());
    ExchangeOptions options;
    options.routes = way.routes;
    options.knobs.mpi = called.calls;
    options.wait_limit = 20;
    if (seed % 2) options.knobs.chunk = 1 << 10;
    if (seed % 3 == 2) options.knobs.pack = Pack::per_direction;
    if (const auto why = refusal_of(rig.source, {{&rig.transpose, d.from, d.to}}, options); !why.empty())
      GTEST_SKIP() << why;
    try {
      run(comm, rig, options);
    } catch (const Error& e) {
      // Error of a trial on device memory, if the MPI library does not support it.
      if (e.code() != ErrorCode::unavailable || e.fact("option") != "mpi") throw;
      GTEST_SKIP() << e.what();
    }
    if (HasFatalFailure()) return;
  }
}

std::vector<Called> all_calls() {
  std::vector<Called> found;
  for (const MpiCalls calls : {MpiCalls::alltoallv, MpiCalls::ialltoallv, MpiCalls::put_fence, MpiCalls::put_lock}) {
    found.push_back({calls, RouteKind::staged, 1});
    found.push_back({calls, RouteKind::staged, 2});
    found.push_back({calls, RouteKind::gpu_mpi, 1});
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Routes, TransposesInOneCall,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::ValuesIn(all_calls())),
                         [](const auto& info) {
                           const Called& called = std::get<1>(info.param);
                           return to_string(std::get<0>(info.param)) + "_" + to_string(called.route) + "_" +
                                  to_string(called.calls) + "_by_" + std::to_string(called.devices);
                         });

/// Transposes over a simulated slow network, which splits messages of 1 MiB into smaller pieces than MPI does. They use
/// each kind of MPI call in turn, and messages grouped by node, of one rank each.
class SlowedTransposes : public testing::TestWithParam<Knobs> {};

TEST_P(SlowedTransposes, BringEveryCellToItsPlace) {
  const Communicator comm = Communicator::world();
  if (const auto why = refusal_of(comm, GetParam().mpi); !why.empty()) GTEST_SKIP() << why;
  const Machine machine = machine_here(Backend::host, 1, 1);
  Drawn d;
  d.cells = {64, 64, 64};
  d.options.axes = {2, 1, 0};
  d.from.name = "from";
  d.to.name = "to";
  d.from.type = d.to.type = DType::c128;
  TransposeRig rig(d, machine, comm.rank());
  ExchangeOptions options;
  options.routes = {RouteKind::kernel, RouteKind::staged};
  options.knobs = GetParam();
  options.throttle = {1, 20};
  options.wait_limit = 5;
  run(comm, rig, options);
}

std::vector<Knobs> all_carriers() {
  std::vector<Knobs> found;
  for (const MpiCalls calls :
       {MpiCalls::sends, MpiCalls::alltoallv, MpiCalls::ialltoallv, MpiCalls::put_fence, MpiCalls::put_lock})
    found.emplace_back().mpi = calls;
  found.emplace_back().grouping = Grouping::nodes;
  return found;
}

INSTANTIATE_TEST_SUITE_P(Host, SlowedTransposes, testing::ValuesIn(all_carriers()), [](const auto& info) {
  const Knobs& knobs = info.param;
  return knobs.grouping == Grouping::nodes ? std::string("nodes") : to_string(knobs.mpi);
});

/// Rank 0 continues alone and times out; rank 1 comes later and also times out.
TEST(TransposesInOneCallInTime, TellOfARankThatDoesNotCome) {
  const Communicator comm = Communicator::world();
  if (comm.size() != 2) GTEST_SKIP() << "needs two ranks";
  const Machine machine = machine_here(Backend::host, 1);
  for (const MpiCalls calls : {MpiCalls::alltoallv, MpiCalls::ialltoallv, MpiCalls::put_fence, MpiCalls::put_lock}) {
    SCOPED_TRACE(to_string(calls));
    if (const auto why = refusal_of(comm, calls); !why.empty()) {
      std::cout << "left out: " << why << '\n';
      continue;
    }
    TransposeRig rig(draw(permutations[1], machine.devices(), 0, true), machine, comm.rank());
    rig.make_fields();
    ExchangeOptions options;
    options.routes = {RouteKind::kernel, RouteKind::staged};
    options.knobs.mpi = calls;
    options.wait_limit = 0.3;
    std::vector<Stream> streams = streams_of(rig.source);
    Exchange exchange(comm, rig.source, rig.items(), options);
    exchange_once(exchange, streams, 0);
    comm.barrier();
    const auto go_on = [&] {
      const auto error = error_of([&] { exchange_once(exchange, streams, 1); });
      // Ranks start the nonblocking MPI_Ialltoallv without waiting for others, so the late rank finds it complete.
      if (comm.rank() != 0 && calls == MpiCalls::ialltoallv) return;
      expect_error(error, ErrorCode::timeout, {{"rank", comm.rank()}});
      EXPECT_NE(error->fact("whom").find("MPI_"), std::string::npos) << error->fact("whom");
    };
    if (comm.rank() == 0) go_on();
    comm.barrier();
    if (comm.rank() == 1) go_on();
    comm.barrier();
  }
}

TEST(TransposesInOneCallRefuse, MessagesOfNodes) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const Machine machine = machine_here(Backend::host, 1, 1);
  TransposeRig rig(draw(permutations[1], machine.devices(), 0, true), machine, comm.rank());
  rig.make_fields();
  ExchangeOptions options;
  options.knobs.mpi = MpiCalls::alltoallv;
  options.knobs.grouping = Grouping::nodes;
  expect_error([&] { Exchange(comm, rig.source, rig.items(), options); }, ErrorCode::unsupported,
               {{"option", "grouping"}});
}

/// The trial before exchanges use device memory: two message sizes, to the rank itself and to the others.
TEST(TransposesInOneCallRefuse, MpiThatBringsOtherBytes) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  for (const MpiCalls calls : {MpiCalls::alltoallv, MpiCalls::ialltoallv, MpiCalls::put_fence, MpiCalls::put_lock}) {
    SCOPED_TRACE(to_string(calls));
    if (const auto why = refusal_of(comm, calls); !why.empty()) {
      std::cout << "left out: " << why << '\n';
      continue;
    }
    PrivateCommunicator own(comm, "a test");
    RouteSetup setup{comm, machine, {}};
    setup.knobs.mpi = calls;
    setup.own = &own;
    EXPECT_EQ(try_calls(setup), "");
    const std::string why = try_calls(setup, [](std::byte* values, std::size_t bytes) {
      if (bytes > 64) values[bytes - 1] ^= std::byte{1};
    });
    EXPECT_NE(why.find("messages of 1048576 bytes between device memories arrived changed"), std::string::npos) << why;
  }
}

/// An exchanged field whose arrays change needs receive buffers, as other processes do not know the new addresses.
TEST(TransposesThatRebind, GoThroughSlotsBetweenRanks) {
  const Communicator comm = Communicator::world();
  if (comm.size() != 2) GTEST_SKIP() << "needs two ranks";
  const Machine machine = machine_here(Backend::host, 1);
  Drawn d;
  d.cells = {32, 32, 32};
  d.options.axes = {2, 1, 0};
  d.from = {.name = "from", .type = DType::f64, .shared = true};
  d.to = {.name = "to", .type = DType::f64, .shared = true};
  ExchangeOptions options;
  options.routes = {RouteKind::kernel, RouteKind::direct};
  options.knobs.in_place = options.knobs.packet_limit = 0;
  const auto bytes = [&](bool rebinds) {
    TransposeRig rig(d, machine, comm.rank());
    rig.make_fields();
    std::vector<ExchangeItem> items = rig.items();
    items.front().rebinds = rebinds;
    return Exchange(comm, rig.source, items, options).bytes_on(machine.device(comm.rank()).local);
  };
  const std::int64_t message = 32 * 32 * 32 * 8 / 4;
  EXPECT_LT(bytes(false), message);
  EXPECT_GE(bytes(true), message);
}

/// Transposes between some devices of a process, on routes within it.
class TransposesOfSomeDevices : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {};

TEST_P(TransposesOfSomeDevices, BringEveryCellToItsPlace) {
  const auto [backend, number] = GetParam();
  const Way way = ways_of_some_devices()[number];
  if (const auto why = unavailable(backend, way); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, way);
  ExchangeOptions options;
  options.routes = way.routes;
  for (std::size_t p = 0; p < permutations.size(); ++p) {
    SCOPED_TRACE("permutation " + std::to_string(p));
    const Drawn d = draw(permutations[p], machine.devices(), 3 * static_cast<unsigned>(p), p % 2 == 0);
    TransposeRig rig(d, machine, comm.rank());
    if (const auto why = refusal_of(rig.source, {{&rig.transpose, d.from, d.to}}, options); !why.empty())
      GTEST_SKIP() << why;
    run(comm, rig, options);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Routes, TransposesOfSomeDevices,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range(std::size_t{0}, ways_of_some_devices().size())),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" +
                                  ways_of_some_devices()[std::get<1>(info.param)].name;
                         });

class LargeTranspose : public testing::TestWithParam<Backend> {};

/// The outermost planes along z become the outermost cells along x, at elements beyond 2^31 of both fields.
TEST_P(LargeTranspose, IsAddressedBeyondTwoToThe31) {
  if (const auto why = unavailable(GetParam(), 1); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  if (comm.size() > 1) GTEST_SKIP() << "one rank is enough";
  const Machine machine = machine_here(GetParam(), 1);
  const std::int64_t free = info(machine.device(0).local).memory_free, needed = std::int64_t{5} << 30;
  if (free < needed) GTEST_SKIP() << "needs " << needed << " bytes, " << free << " are free";
  constexpr std::int64_t n = 1300;
  const Grid grid({n, n, n}, machine, comm.rank());
  Field from(grid, {.name = "from", .type = DType::u8}), to(grid, {.name = "to", .type = DType::u8});
  const BlockShape& shape = from.shape(0);
  ASSERT_GT(shape.elements, std::int64_t{1} << 31);
  const Transpose transpose(grid, grid, {.axes = {2, 1, 0}, .kept = {}});
  Exchange exchange(comm, grid, {{&transpose, &from, &to}});
  std::vector<Stream> streams = streams_of(grid);
  const auto value = [](bool high, std::int64_t x, std::int64_t y) {
    return static_cast<std::uint8_t>((x * (high ? 7 : 11) + y * 13 + (high ? 100 : 1)) % 251);
  };
  const auto plane_of = [&](const Field& field, std::int64_t z) {
    return field.data(0) + shape.origin + z * shape.stride[2];
  };
  std::vector<std::uint8_t> plane(static_cast<std::size_t>(n * shape.stride[1]));
  for (const bool high : {false, true}) {
    for (std::int64_t y = 0; y < n; ++y)
      for (std::int64_t x = 0; x < n; ++x)
        plane[static_cast<std::size_t>(y * shape.stride[1] + x * shape.stride[0])] = value(high, x, y);
    copy(streams[0], plane_of(from, high ? n - 1 : 0), plane.data(), plane.size());
    streams[0].synchronize();
  }
  exchange.run(streams);
  finish(streams);
  exchange.check();
  int wrong = 0;
  for (const std::int64_t z : {std::int64_t{0}, n / 2, n - 1}) {
    copy(streams[0], plane.data(), plane_of(to, z), plane.size());
    streams[0].synchronize();
    for (std::int64_t y = 0; y < n; ++y)
      for (const bool high : {false, true})
        wrong += plane[static_cast<std::size_t>(y * shape.stride[1] + (high ? n - 1 : 0) * shape.stride[0])] !=
                 value(high, z, y);
  }
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, LargeTranspose, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace slipstream
