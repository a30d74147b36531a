// Out-of-core Fourier transforms of values in host memory, compared with transforms in device memory.
#include <gtest/gtest.h>

#include <map>

#include "fft/batch_moves.hpp"
#include "support/expect_error.hpp"
#include "support/fft_rig.hpp"
#include "support/on_devices.hpp"

namespace slipstream {
namespace {

class TransformsByBatches : public OnDevices {
 protected:
  Communicator alone{MPI_COMM_SELF};
  Machine one() const { return machine_here(std::get<0>(GetParam()), 1, 0, Communicator(MPI_COMM_SELF)); }

  /// The least FftOptions::device_memory with which an out-of-core transform works.
  std::int64_t least(const Communicator& on, const Machine& of, const Extent& cells, FftOptions o) const {
    o.device_memory = 1;
    const std::optional<Error> error = error_of([&] { Fft(on, of, cells, o); });
    expect_error(error, ErrorCode::unsupported, {{"option", "device_memory"}, {"given", 1}});
    return std::stoll(error->fact("needed"));
  }
  /// Bytes of the modes, and of the result of the backward transform.
  std::pair<std::vector<std::byte>, std::vector<std::byte>> there_and_back(const Extent& cells, const FftOptions& o,
                                                                           const Whole& values, const Whole* wanted,
                                                                           bool in_place = false) {
    Fft fft(alone, one(), cells, o);
    std::vector<Stream> streams = streams_of(fft.physical());
    Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
    set(u, 0, values);
    const std::int64_t id = fft.spectral().local()[0];
    if (in_place) {
      std::memcpy(v.data(id), u.data(id), static_cast<std::size_t>(volume(cells)) * size_of(o.type));
      fft.forward({v.data(id)}, {v.data(id)}, streams);
    } else {
      fft.forward(u, v, streams);
    }
    finish(streams);
    if (!in_place) EXPECT_EQ(difference(u, 0, values), 0) << "forward changed what it reads";
    if (wanted) EXPECT_LE(difference(v, 0, *wanted, fft.spectral_axes()), tolerance(cells, o.type));
    const auto bytes = [](const Field& field) {
      std::vector<std::byte> all(static_cast<std::size_t>(volume(field.grid().extent())) *
                                 size_of(field.options().type));
      field.read({{0, 0, 0}, field.grid().extent()}, all.data());
      return all;
    };
    std::vector<std::byte> modes = bytes(v);
    if (in_place) {
      fft.backward({v.data(id)}, {v.data(id)}, streams);
      finish(streams);
      std::memcpy(u.data(id), v.data(id), static_cast<std::size_t>(volume(cells)) * size_of(o.type));
    } else {
      fft.backward(v, u, streams);
      finish(streams);
    }
    EXPECT_LE(difference(u, 0, values), tolerance(cells, o.type) / std::sqrt(static_cast<double>(volume(cells))));
    if (o.device_memory > 0) EXPECT_LE(fft.bytes_on(streams[0].device()), o.device_memory);
    return {modes, bytes(u)};
  }
};

TEST_P(TransformsByBatches, HaveTheSameBitsWithAnyBudget) {
  for (const Extent cells : {Extent{36, 20, 18}, Extent{17, 20, 19}})
    for (const DType type : {DType::f32, DType::f64, DType::c64, DType::c128})
      for (const bool transposed : {true, false}) {
        SCOPED_TRACE(to_string(cells) + " of " + to_string(type) + (transposed ? ", transposed" : ""));
        const std::int64_t value = is_twice(type) ? 16 : 8, nx = is_real(type) ? cells[0] / 2 + 1 : cells[0];
        FftOptions o;
        o.type = type;
        o.transposed = transposed;
        const Whole values = random_values(cells, type);
        o.device_memory = 1 << 30;
        const Whole wanted = by_sums(values);
        const auto whole = there_and_back(cells, o, values, &wanted);
        // Covers batches of two planes, of one plane (with a smaller last batch), and split planes.
        std::vector<std::int64_t> budgets{10 * value * nx * cells[1] * 2 + 8192, 5 * value * nx * cells[1] + 8192};
        budgets.push_back(least(alone, one(), cells, o));
        for (const std::int64_t budget : budgets) {
          SCOPED_TRACE("budget " + std::to_string(budget));
          o.device_memory = budget;
          EXPECT_TRUE(there_and_back(cells, o, values, nullptr) == whole);
          if (!transposed) EXPECT_TRUE(there_and_back(cells, o, values, nullptr, true) == whole);
          o.synchronous = true;
          EXPECT_TRUE(there_and_back(cells, o, values, nullptr) == whole);
          o.synchronous = false;
          for (const RowCopies copies : {RowCopies::single, RowCopies::kernel, RowCopies::mixed}) {
            o.host_copies = copies;
            EXPECT_TRUE(there_and_back(cells, o, values, nullptr) == whole) << to_string(copies);
          }
          o.host_copies = RowCopies::measured;
        }
      }
}

TEST_P(TransformsByBatches, HaveTheBitsOfPencilsWhoseLinesAreTheSame) {
  if (machine().devices() != 2 || comm.size() != 1) GTEST_SKIP() << "needs two devices of one rank";
  const Extent cells{32, 32, 32};
  FftOptions o;
  o.type = DType::c128;
  o.process_grid = {2, 1};  // cuts x and y between the tiles of FFT lines that a thread block transforms together
  const Whole values = random_values(cells, o.type);
  Fft pencils(alone, machine(), cells, o);
  Field u(pencils.physical(), pencils.physical_field("u")), v(pencils.spectral(), pencils.spectral_field("v"));
  set(u, 0, values);
  std::vector<Stream> streams = streams_of(pencils.physical());
  pencils.forward(u, v, streams);
  finish(streams);
  std::vector<std::byte> wanted(static_cast<std::size_t>(volume(cells)) * 16);
  v.read({{0, 0, 0}, cells}, wanted.data());
  o.process_grid = {0, 0};
  o.device_memory = 200000;
  const std::vector<std::byte> found = there_and_back(cells, o, values, nullptr).first;
  if (machine().device(0).local.backend == Backend::host) {
    EXPECT_TRUE(found == wanted);
    return;
  }
  // On GPUs other kernels transform the lines of pencils, so that values differ by rounding.
  const auto* a = reinterpret_cast<const double*>(found.data());
  const auto* b = reinterpret_cast<const double*>(wanted.data());
  double most = 0;
  for (std::size_t n = 0; n < wanted.size() / sizeof(double); ++n) most = std::max(most, std::abs(a[n] - b[n]));
  EXPECT_LE(most, tolerance(cells, o.type));
}

TEST_P(TransformsByBatches, ConvolveAsThoseOnTheDevice) {
  const Extent cells{16, 12, 10};
  FftOptions o;
  o.type = DType::f64;
  const Whole values = random_values(cells, o.type);
  FftFactor factor;
  factor.laplacian = 1;
  std::vector<std::vector<double>> found;
  for (const std::int64_t budget : {0, 60000}) {
    o.device_memory = budget;
    Fft fft(alone, one(), cells, o);
    Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v")),
        to(fft.physical(), fft.physical_field("to"));
    set(u, 0, values);
    std::vector<Stream> streams = streams_of(fft.physical());
    fft.convolve(u, v, to, factor, streams);
    finish(streams);
    found.emplace_back(static_cast<std::size_t>(volume(cells)));
    to.read({{0, 0, 0}, cells}, found.back().data());
  }
  for (std::size_t i = 0; i < found[0].size(); ++i) ASSERT_NEAR(found[1][i], found[0][i], 1e-11);
}

TEST_P(TransformsByBatches, NameTheLeastBudgetThatWorks) {
  for (const bool transposed : {true, false}) {
    FftOptions o;
    o.type = DType::f32;
    o.transposed = transposed;
    o.device_memory = 100;
    const auto make = [&] { Fft(alone, one(), {40, 36, 24}, o); };
    const std::optional<Error> error = error_of(make);
    expect_error(error, ErrorCode::unsupported, {{"option", "device_memory"}, {"given", 100}});
    const std::int64_t least = std::stoll(error->fact("needed"));
    o.device_memory = least;
    there_and_back({40, 36, 24}, o, random_values({40, 36, 24}, o.type), nullptr);
    o.device_memory = least - 1;
    expect_error(make, ErrorCode::unsupported, {{"needed", least}});
  }
}

TEST_P(TransformsByBatches, AreRefusedWhereTheyCannotBe) {
  FftOptions o;
  o.type = DType::f64;
  const auto make = [&] { Fft(alone, one(), {8, 8, 8}, o); };
  o.device_memory = -1;
  expect_error(make, ErrorCode::invalid_argument, {{"option", "device_memory"}});
  o.device_memory = 1 << 20;
  Fft fft(alone, one(), {8, 8, 8}, o);
  Field v(fft.spectral(), fft.spectral_field("v"));
  std::vector<Stream> streams = streams_of(fft.physical());
  expect_error([&] { fft.forward(v, v, streams); }, ErrorCode::mismatch);
  const std::int64_t id = fft.spectral().local()[0];
  expect_error([&] { fft.forward({v.data(id)}, {v.data(id)}, streams); }, ErrorCode::unsupported,
               {{"problem", "in_place"}});
}

INSTANTIATE_TEST_SUITE_P(Backends, TransformsByBatches,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2)), OnDevices::name);

/// Out-of-core transforms on all devices of all ranks.
class TransformsOnSeveral : public TransformsByBatches {
 protected:
  void SetUp() override {
    TransformsByBatches::SetUp();
    if (!IsSkipped() && machine().devices() == 1) GTEST_SKIP() << "needs several devices";
  }
  std::int64_t least(const Extent& cells, const FftOptions& o) const {
    return TransformsByBatches::least(comm, machine(), cells, o);
  }
  /// Bytes of the whole grid, to compare with `wanted`: this rank's blocks from the field, all others from `wanted`.
  static std::vector<std::byte> with_own(const Field& field, std::vector<std::byte> wanted) {
    field.read({{0, 0, 0}, field.grid().extent()}, wanted.data());
    return wanted;
  }
};

TEST_P(TransformsOnSeveral, HaveTheBitsOfOneDevice) {
  for (const Extent cells : {Extent{36, 20, 18}, Extent{17, 21, 19}})
    for (const DType type : {DType::f32, DType::f64, DType::c64, DType::c128}) {
      SCOPED_TRACE(to_string(cells) + " of " + to_string(type));
      FftOptions o;
      o.type = type;
      const Whole values = random_values(cells, type), modes = by_sums(values);
      o.device_memory = 1 << 30;
      const auto wanted = there_and_back(cells, o, values, &modes);
      const std::int64_t fewest = least(cells, o);
      for (const std::int64_t budget : {std::int64_t{1} << 30, fewest, 3 * fewest})
        for (const bool synchronous : {false, true}) {
          SCOPED_TRACE("budget " + std::to_string(budget) + (synchronous ? ", synchronous" : ""));
          o.device_memory = budget;
          o.synchronous = synchronous;
          Fft fft(comm, machine(), cells, o);
          std::vector<Stream> streams = streams_of(fft.physical());
          Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
          set(u, 0, values);
          for (int again = 0; again < 2; ++again) {
            fft.forward(u, v, streams);
            finish(streams);
            EXPECT_TRUE(with_own(v, wanted.first) == wanted.first);
          }
          for (const std::int64_t id : u.grid().local())
            set_array(u, id, std::vector<std::byte>(array_of<std::byte>(u, id).size()));
          fft.backward(v, u, streams);
          finish(streams);
          fft.check();
          EXPECT_TRUE(with_own(u, wanted.second) == wanted.second);
          for (Stream& stream : streams) EXPECT_LE(fft.bytes_on(stream.device()), budget);
        }
    }
}

TEST_P(TransformsOnSeveral, MoveByEveryRouteThatServes) {
  const Extent cells{20, 18, 14};
  FftOptions o;
  o.type = DType::f64;
  const Whole values = random_values(cells, o.type);
  o.device_memory = 1 << 24;
  const auto wanted = there_and_back(cells, o, values, nullptr);
  for (const RouteKind route : {RouteKind::direct, RouteKind::staged, RouteKind::colocated}) {
    SCOPED_TRACE(to_string(route));
    o.exchange.routes = {route, RouteKind::kernel, RouteKind::staged};
    o.device_memory = 2 * least(cells, o);
    Fft fft(comm, machine(), cells, o);
    std::vector<Stream> streams = streams_of(fft.physical());
    Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
    set(u, 0, values);
    fft.forward(u, v, streams);
    finish(streams);
    EXPECT_TRUE(with_own(v, wanted.first) == wanted.first);
    for (Stream& stream : streams) EXPECT_LE(fft.bytes_on(stream.device()), o.device_memory);
  }
}

TEST_P(TransformsOnSeveral, MoveTheBytesOfTwoSweepsOrThree) {
  const Extent cells{40, 48, 24};
  FftOptions o;
  o.type = DType::c128;
  for (const std::int64_t budget : {std::int64_t{1} << 24, least(cells, o)}) {
    o.device_memory = budget;
    Fft fft(comm, machine(), cells, o);
    // On four devices the smallest possible budget includes large message tables, and so has room for whole planes.
    const double sweeps = fft.describe().find("three sweeps") == std::string::npos ? 2 : 3;
    EXPECT_TRUE(budget < 1 << 24 || sweeps == 2);
    EXPECT_TRUE(budget == 1 << 24 || sweeps == 3 || machine().devices() > 2);
    std::vector<Stream> streams = streams_of(fft.physical());
    Field u(fft.physical(), fft.physical_field("u")), v(fft.spectral(), fft.spectral_field("v"));
    fft.forward(u, v, streams);
    finish(streams);
    const double all = comm.sum_in_rank_order(static_cast<double>(fft.host_bytes_moved()));
    EXPECT_EQ(all, sweeps * 2 * 16 * static_cast<double>(volume(cells)));
  }
}

TEST_P(TransformsOnSeveral, AreRefusedWhereTheyCannotBe) {
  const Extent cells{16, 16, 16};
  FftOptions o;
  o.type = DType::c128;
  const int devices = machine().devices();
  const auto make = [&] { Fft(comm, machine(), cells, o); };
  const std::int64_t fewest = least(cells, o);
  o.device_memory = fewest - 1;
  expect_error(make, ErrorCode::unsupported, {{"given", fewest - 1}, {"needed", fewest}});
  o.device_memory = 1 << 24;
  o.transposed = false;
  expect_error(make, ErrorCode::unsupported, {{"option", "transposed"}, {"devices", devices}});
  o.transposed = true;
  o.process_grid = {devices, 1};
  expect_error(make, ErrorCode::unsupported, {{"option", "process_grid"}, {"problem", "pencils"}});
  o.process_grid = {0, 0};
  Fft fft(comm, machine(), cells, o);
  Field v(fft.spectral(), fft.spectral_field("v"));
  std::vector<Stream> streams = streams_of(fft.physical());
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const std::int64_t id : v.grid().local()) {
    from.push_back(v.data(id));
    to.push_back(v.data(id));
  }
  expect_error([&] { fft.forward(from, to, streams); }, ErrorCode::unsupported, {{"problem", "in_place"}});
  const Extent far{8192, 8192, 8192};  // a grid whose intermediate values need terabytes of host memory
  o.device_memory = 2 * least(far, o);
  expect_error([&] { Fft(comm, machine(), far, o); }, ErrorCode::out_of_memory, {{"option", "cells"}});
}

INSTANTIATE_TEST_SUITE_P(Backends, TransformsOnSeveral,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 4)),
                         OnDevices::name);

/// Describes a machine of `nodes` nodes with `per_node` devices, which does not exist.
Machine described(int nodes, int per_node) {
  std::vector<MachineDevice> devices;
  for (int d = 0; d < nodes * per_node; ++d) {
    MachineDevice device;
    device.node = d / per_node;
    device.rank = d;
    device.local = {Backend::cuda, 0};
    device.uuid = "test-" + std::to_string(d);
    device.memory = 1 << 30;
    devices.push_back(device);
  }
  const auto link = [&](int a, int b) {
    const bool near = a / per_node == b / per_node;
    return Link{a == b ? LinkKind::same : near ? LinkKind::nvlink : LinkKind::network, near ? 100.0 : 10.0, near};
  };
  Links links;
  links.within = {{per_node, {}}};
  for (int a = 0; a < per_node; ++a)
    for (int b = 0; b < per_node; ++b) links.within[0].links.push_back(link(a, b));
  links.kind.assign(static_cast<std::size_t>(nodes), 0);
  links.between = {1, {link(0, per_node)}};
  links.group.assign(devices.size(), 0);
  return Machine("test", std::move(devices), std::move(links));
}

TEST(MessagesOfBatches, AreThoseOfAllPairs) {
  const Machine machine = described(5, 2);
  fft::BatchCut cut;
  cut.components = 3;
  cut.parts = {4, 4, 4, 4, 3, 3, 3, 3, 0, 0};
  cut.planes = {{2, 2, 2, 2, 2, 1, 1, 0, 0, 0}, {2, 1, 2, 1, 1, 1, 1, 1, 1, 1}};
  cut.rows = {16, 16, 5};
  for (const bool inner : {false, true}) {
    cut.inner = inner;
    std::map<std::pair<int, int>, double> wanted, found;  // bytes of messages, by source and by distance of the target
    const auto apart = [](int s, int t) { return s == t ? 0 : s / 2 == t / 2 ? 1 : 2; };
    for (int s = 0; s < machine.devices(); ++s)
      for (int t = 0; t < machine.devices(); ++t) {
        const std::int64_t planes =
            cut.planes[0][static_cast<std::size_t>(s)] + cut.planes[1][static_cast<std::size_t>(s)];
        if (const auto parts = cut.parts[static_cast<std::size_t>(t)]; parts > 0 && planes > 0)
          wanted[{s, apart(s, t)}] += static_cast<double>(37 * 3 * 8 * planes * parts);
      }
    double all = 0, of_all = 0;
    for (const auto& [key, bytes] : wanted) all += bytes;
    for (const auto& [message, sources, targets] : fft::BatchMoves::messages(machine, cut, {})) {
      found[{message.source, apart(message.source, message.target)}] +=
          static_cast<double>(targets * message.raw_bytes);
      of_all += static_cast<double>(sources * targets * message.raw_bytes);
      EXPECT_LE(message.raw_bytes, message.bytes);
    }
    EXPECT_EQ(of_all, all);
    EXPECT_LT(found.size(), wanted.size());  // fewer messages listed than device pairs, as equal nodes share an entry
    for (const auto& [key, bytes] : found) EXPECT_EQ(bytes, wanted[key]) << "device " << key.first;
  }
}

TEST(MessagesOfBatches, OfVeryManyDevicesAreFew) {
  const Machine machine = described(3000, 6);
  fft::BatchCut cut;
  cut.parts.assign(18000, 1);
  cut.planes.assign(1, cut.parts);
  cut.rows = {16};
  const std::vector<fft::AlikeMessages> found = fft::BatchMoves::messages(machine, cut, {});
  EXPECT_EQ(found.size(), 6U * (6 + 1));
  double pairs = 0;
  for (const auto& [one, sources, targets] : found) pairs += static_cast<double>(sources * targets);
  EXPECT_EQ(pairs, 18000.0 * 18000.0);
}

}  // namespace
}  // namespace slipstream
