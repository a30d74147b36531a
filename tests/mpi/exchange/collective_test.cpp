// All-reduces of every method, type and operation, compared with the same tree on the host.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include <slipstream/buffer.hpp>
#include <slipstream/collective.hpp>

#include "collective/reduction.hpp"
#include "support/expect_error.hpp"
#include "support/failing_allocations.hpp"
#include "support/machine_rig.hpp"

namespace slipstream {
namespace {

/// Value v of a device in a round. Magnitudes differ so much that any other order of summation rounds differently.
template <class T>
T input(int device, int v, int round) {
  std::uint64_t h = 1 + device + 1000ull * v + 10000000ull * round;
  for (int i = 0; i < 3; ++i) h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ull;
  if constexpr (std::is_integral_v<T>) return static_cast<T>(h);
  const double fraction = static_cast<double>(h >> 12) / static_cast<double>(1ull << 52);
  return static_cast<T>((fraction - 0.5) * std::pow(10.0, static_cast<double>(h % 5) - 2));
}

template <class T>
T combine(Op op, T a, T b) {
  if (op == Op::min) return std::min(a, b);
  if (op == Op::max) return std::max(a, b);
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<T>(op == Op::add ? x + y : x * y);
  } else {
    return op == Op::add ? a + b : a * b;
  }
}

/// The reduction tree: the largest power of two below the number of devices on the left, the rest on the right.
template <class T>
T expected(Op op, int first, int devices, int v, int round) {
  if (devices == 1) return input<T>(first, v, round);
  int left = 1;
  while (2 * left < devices) left *= 2;
  return combine(op, expected<T>(op, first, left, v, round), expected<T>(op, first + left, devices - left, v, round));
}

/// The devices of this rank, with one stream and one array each.
template <class T>
struct Rig {
  Rig(const Communicator& comm, const Machine& machine, int count) : devices(machine.devices_of_rank(comm.rank())) {
    for (const int device : devices) {
      const Device local = machine.device(device).local;
      streams.emplace_back(local);
      arrays.emplace_back(local, count);
      values.push_back(arrays.back().data());
    }
  }
  Buffer<T> pinned(std::size_t i, std::size_t count) const { return {arrays[i].device(), count, Memory::pinned}; }
  void upload(std::size_t i, const Buffer<T>& from) { copy(streams[i], values[i], from.data(), from.bytes()); }
  void download(std::size_t i, T* to) { copy(streams[i], to, values[i], arrays[i].bytes()); }
  void synchronize() {
    for (Stream& stream : streams) stream.synchronize();
  }

  std::vector<int> devices;
  std::vector<Stream> streams;
  std::vector<Buffer<T>> arrays;
  std::vector<void*> values;
};

/// Queues `rounds` reductions of new values without waiting in between, and compares the bits of all results.
template <class T>
void check_rounds(const Communicator& comm, const Machine& machine, AllReduce& reduce, Op op, int count, int rounds) {
  Rig<T> rig(comm, machine, count);
  std::vector<Buffer<T>> in, out;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < rig.devices.size(); ++i) {
      in.push_back(rig.pinned(i, count));
      out.push_back(rig.pinned(i, count));
      for (int v = 0; v < count; ++v) in.back().data()[v] = input<T>(rig.devices[i], v, round);
    }
  for (int round = 0; round < rounds; ++round) {
    const std::size_t first = round * rig.devices.size();
    for (std::size_t i = 0; i < rig.devices.size(); ++i) rig.upload(i, in[first + i]);
    reduce.run(rig.streams, rig.values);
    for (std::size_t i = 0; i < rig.devices.size(); ++i) rig.download(i, out[first + i].data());
  }
  rig.synchronize();
  reduce.check();
  for (int round = 0; round < rounds; ++round)
    for (int v = 0; v < count; ++v) {
      const T want = expected<T>(op, 0, machine.devices(), v, round);
      for (std::size_t i = 0; i < rig.devices.size(); ++i) {
        const T have = out[round * rig.devices.size() + i].data()[v];
        ASSERT_EQ(std::memcmp(&have, &want, sizeof want), 0)
            << have << ", not " << want << ": value " << v << " of " << count << " on device " << rig.devices[i]
            << ", operation " << static_cast<int>(op) << ", round " << round;
      }
    }
}

class Reduce : public testing::TestWithParam<std::tuple<Backend, ReduceMethod, int>> {
 protected:
  Backend backend = std::get<0>(GetParam());
  ReduceMethod method = std::get<1>(GetParam());
  int devices_per_rank = std::get<2>(GetParam());
  Communicator comm = Communicator::world();

  void SetUp() override {
    if (const auto why = unavailable(backend, devices_per_rank); !why.empty()) GTEST_SKIP() << why;
    if (method != ReduceMethod::nccl) return;
    if (const std::string why = nccl_reduction_refusal(machine()); !why.empty()) GTEST_SKIP() << why;
  }

  Machine machine() const { return machine_here(backend, devices_per_rank); }

  template <class T>
  void check_all_operations() {
    const Machine found = machine();
    // This reduction outlives those below, so that libraries such as NCCL connect the devices only once.
    const AllReduce first(comm, found, 1, dtype_of<T>(), Op::add, {method});
    for (const Op op : {Op::add, Op::multiply, Op::min, Op::max})
      for (const int count : {1, 8, AllReduce::most_values}) {
        AllReduce reduce(comm, found, count, dtype_of<T>(), op, {method});
        ASSERT_EQ(reduce.method(), method);
        check_rounds<T>(comm, found, reduce, op, count, 3);
      }
  }
};

INSTANTIATE_TEST_SUITE_P(Methods, Reduce,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Values(ReduceMethod::peer, ReduceMethod::nccl, ReduceMethod::mpi),
                                          testing::Values(1, 2)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" + to_string(std::get<1>(info.param)) + "_" +
                                  std::to_string(std::get<2>(info.param)) + "_devices_a_rank";
                         });

TEST_P(Reduce, FoldsDoublesInTheOrderOfTheTree) { check_all_operations<double>(); }
TEST_P(Reduce, FoldsFloatsInTheOrderOfTheTree) { check_all_operations<float>(); }
TEST_P(Reduce, FoldsIntegersInTheOrderOfTheTree) { check_all_operations<std::int64_t>(); }

/// Each allocation of the set-up fails in turn, on the last rank.
TEST_P(Reduce, ThatCannotBeMadeOnOneRankIsRefusedOnAll) {
  const Machine found = machine();
  const auto make = [&] { AllReduce(comm, found, 8, DType::f64, Op::add, {method}); };
  EXPECT_GT(each_allocation_fails(comm, make, [] { FAIL() << "it was made all the same"; }), 0);
}

TEST_P(Reduce, StaysRightInAHundredRunsBackToBack) {
  const Machine found = machine();
  AllReduce reduce(comm, found, 8, DType::f64, Op::add, {method});
  check_rounds<double>(comm, found, reduce, Op::add, 8, 100);
}

TEST_P(Reduce, KeepsNaNInMinimaAndMaxima) {
  const Machine found = machine();
  for (const Op op : {Op::min, Op::max})
    for (const int where : {0, found.devices() - 1}) {
      AllReduce reduce(comm, found, 1, DType::f64, op, {method});
      Rig<double> rig(comm, found, 1);
      Buffer<double> host = rig.pinned(0, rig.devices.size());
      for (std::size_t i = 0; i < rig.devices.size(); ++i) {
        host.data()[i] = rig.devices[i] == where ? std::numeric_limits<double>::quiet_NaN() : 1.0 + rig.devices[i];
        copy(rig.streams[i], rig.values[i], host.data() + i, sizeof(double));
      }
      reduce.run(rig.streams, rig.values);
      for (std::size_t i = 0; i < rig.devices.size(); ++i) rig.download(i, host.data() + i);
      rig.synchronize();
      for (const double value : host.span()) EXPECT_TRUE(std::isnan(value)) << "NaN on device " << where;
    }
}

TEST_P(Reduce, RunsFollowOneAnotherOnStreamsThatTheCallerHasNotOrdered) {
  const Machine found = machine();
  AllReduce sums(comm, found, 1, DType::i64, Op::add, {method});
  Rig<std::int64_t> a(comm, found, 1), b(comm, found, 1);
  std::vector<Buffer<std::int64_t>> host;
  for (std::size_t i = 0; i < a.devices.size(); ++i) {
    host.push_back(a.pinned(i, 1));
    host[i].data()[0] = 1 + a.devices[i];
    a.upload(i, host[i]);
    b.upload(i, host[i]);
  }
  for (int round = 0; round < 20; ++round) {
    sums.run(a.streams, a.values);
    sums.run(b.streams, b.values);
  }
  const auto n = static_cast<std::uint64_t>(found.devices());
  std::uint64_t want = n * (n + 1) / 2;
  for (int round = 1; round < 20; ++round) want *= n;
  for (std::size_t i = 0; i < a.devices.size(); ++i)
    for (Rig<std::int64_t>* rig : {&a, &b}) {
      rig->download(i, host[i].data());
      rig->synchronize();
      EXPECT_EQ(host[i].data()[0], static_cast<std::int64_t>(want));
    }
}

TEST_P(Reduce, KeepsTwoInFlightApart) {
  const Machine found = machine();
  AllReduce sums(comm, found, 4, DType::i64, Op::add, {method}), maxima(comm, found, 4, DType::i64, Op::max, {method});
  Rig<std::int64_t> a(comm, found, 4), b(comm, found, 4);
  std::vector<Buffer<std::int64_t>> host;
  for (std::size_t i = 0; i < a.devices.size(); ++i) {
    host.push_back(a.pinned(i, 4));
    for (int v = 0; v < 4; ++v) host[i].data()[v] = a.devices[i] + v;
    a.upload(i, host[i]);
    b.upload(i, host[i]);
  }
  a.synchronize();
  b.synchronize();
  // If no host takes part, ranks may queue two reductions in different orders.
  const bool swapped = method == ReduceMethod::peer && comm.rank() % 2;
  for (int round = 0; round < 20; ++round) {
    if (swapped) maxima.run(b.streams, b.values);
    sums.run(a.streams, a.values);
    if (!swapped) maxima.run(b.streams, b.values);
  }
  const auto n = static_cast<std::uint64_t>(found.devices());
  for (std::size_t i = 0; i < a.devices.size(); ++i)
    for (Rig<std::int64_t>* rig : {&a, &b}) {
      rig->download(i, host[i].data());
      rig->synchronize();
      for (int v = 0; v < 4; ++v) {
        std::uint64_t sum = n * (n - 1) / 2 + n * v;
        for (int round = 1; round < 20; ++round) sum *= n;
        EXPECT_EQ(host[i].data()[v], rig == &a ? static_cast<std::int64_t>(sum) : found.devices() - 1 + v);
      }
    }
}

TEST_P(Reduce, NamesWhoWaitedForARankThatDoesNotCome) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const Machine found = machine();
  AllReduce reduce(comm, found, 8, DType::f64, Op::add, {method, 1});
  check_rounds<double>(comm, found, reduce, Op::add, 8, 3);
  const int absent = comm.size() - 1;
  comm.barrier();
  if (comm.rank() != absent) {
    Rig<double> rig(comm, found, 8);
    const auto error = error_of([&] {
      reduce.run(rig.streams, rig.values);
      rig.synchronize();
      reduce.check();
    });
    expect_error(error, ErrorCode::timeout, {{"rank", comm.rank()}, {"sequence", 4}, {"limit", 1}});
    EXPECT_TRUE(error->fact("whom").ends_with(" on rank " + std::to_string(absent))) << error->fact("whom");
    EXPECT_THROW(reduce.run(rig.streams, rig.values), Timeout);
  }
  comm.barrier();
}

class ReduceOn : public testing::TestWithParam<std::tuple<Backend, int>> {
 protected:
  Backend backend = std::get<0>(GetParam());
  int devices_per_rank = std::get<1>(GetParam());
  Communicator comm = Communicator::world();

  void SetUp() override {
    if (const auto why = unavailable(backend, devices_per_rank); !why.empty()) GTEST_SKIP() << why;
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, ReduceOn,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param)) +
                                  "_devices_a_rank";
                         });

/// Records `runs` reductions of all devices of the rank as one graph.
Graph capture(AllReduce& reduce, Rig<std::int64_t>& rig, int runs) {
  Stream& origin = rig.streams.front();
  const Event fork(origin.device());
  origin.begin_capture();
  origin.record(fork);
  for (std::size_t i = 1; i < rig.streams.size(); ++i) rig.streams[i].wait(fork);
  for (int run = 0; run < runs; ++run) reduce.run(rig.streams, rig.values);
  for (std::size_t i = 1; i < rig.streams.size(); ++i) {
    const Event join(rig.streams[i].device());
    rig.streams[i].record(join);
    origin.wait(join);
  }
  return origin.end_capture();
}

void replay_between_other_runs(const Communicator& comm, const Machine& found, ReduceMethod method) {
  // Three runs per graph, so that replays begin at both halves of the double buffer.
  constexpr int replays = 20, runs = 3;
  AllReduce reduce(comm, found, 2, DType::i64, Op::add, {method});
  Rig<std::int64_t> rig(comm, found, 2);
  std::vector<Buffer<std::int64_t>> host;
  for (std::size_t i = 0; i < rig.devices.size(); ++i) {
    host.push_back(rig.pinned(i, 2));
    for (int v = 0; v < 2; ++v) host[i].data()[v] = input<std::int64_t>(rig.devices[i], v, 0);
    rig.upload(i, host[i]);
  }
  rig.synchronize();
  const Graph graph = capture(reduce, rig, runs);
  for (int replay = 0; replay < replays; ++replay) {
    graph.launch(rig.streams.front());
    // Unrecorded work on other streams does not wait for the graph by itself, so an event is needed.
    Event done(rig.streams.front().device());
    rig.streams.front().record(done);
    for (std::size_t i = 1; i < rig.streams.size(); ++i) rig.streams[i].wait(done);
    if (replay == replays / 2) {
      reduce.run(rig.streams, rig.values);
      rig.synchronize();
    }
  }
  for (std::size_t i = 0; i < rig.devices.size(); ++i) rig.download(i, host[i].data());
  rig.synchronize();
  reduce.check();
  for (int v = 0; v < 2; ++v) {
    auto want = static_cast<std::uint64_t>(expected<std::int64_t>(Op::add, 0, found.devices(), v, 0));
    for (int run = 1; run < replays * runs + 1; ++run) want *= static_cast<std::uint64_t>(found.devices());
    for (const auto& buffer : host) EXPECT_EQ(static_cast<std::uint64_t>(buffer.data()[v]), want);
  }
}

TEST_P(ReduceOn, ReplaysPeerStoresAsAGraphBetweenOtherRuns) {
  replay_between_other_runs(comm, machine_here(backend, devices_per_rank), ReduceMethod::peer);
}

TEST_P(ReduceOn, ReplaysTheLibraryAsAGraphBetweenOtherRuns) {
  const Machine found = machine_here(backend, devices_per_rank);
  if (const std::string why = nccl_reduction_refusal(found); !why.empty()) GTEST_SKIP() << why;
  replay_between_other_runs(comm, found, ReduceMethod::nccl);
}

void end_before_a_graph(const Communicator& comm, const Machine& found, ReduceMethod method) {
  Rig<std::int64_t> rig(comm, found, 2);
  std::optional<AllReduce> reduce(std::in_place, comm, found, 2, DType::i64, Op::add, AllReduceOptions{method});
  const Graph graph = capture(*reduce, rig, 1);
  graph.launch(rig.streams.front());
  rig.synchronize();
  reduce.reset();
  if (found.devices() == 1) return;  // an all-reduce of a single device queues no work to record
  expect_error([&] { graph.launch(rig.streams.front()); }, ErrorCode::wrong_state, {{"holds", "an all-reduce"}});
}

TEST_P(ReduceOn, EndsBeforeAGraphOfPeerStores) {
  end_before_a_graph(comm, machine_here(backend, devices_per_rank), ReduceMethod::peer);
}

TEST_P(ReduceOn, EndsBeforeAGraphOfTheLibrary) {
  const Machine found = machine_here(backend, devices_per_rank);
  if (const std::string why = nccl_reduction_refusal(found); !why.empty()) GTEST_SKIP() << why;
  end_before_a_graph(comm, found, ReduceMethod::nccl);
}

TEST_P(ReduceOn, GoesByLibraryOrMessagesBetweenNodes) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const Machine apart = machine_here(backend, devices_per_rank, 1);
  AllReduce reduce(comm, apart, 8, DType::f64, Op::add);
  EXPECT_EQ(reduce.method(), nccl_reduction_refusal(apart).empty() ? ReduceMethod::nccl : ReduceMethod::mpi);
  EXPECT_NE(reduce.reason().find("on different nodes"), std::string::npos) << reduce.reason();
  check_rounds<double>(comm, apart, reduce, Op::add, 8, 3);
}

TEST_P(ReduceOn, RefusesPeerMemoryBetweenNodes) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const Machine apart = machine_here(backend, devices_per_rank, 1);
  EXPECT_THROW(AllReduce(comm, apart, 8, DType::f64, Op::add, {ReduceMethod::peer}), Error);
}

TEST_P(ReduceOn, SaysWhyTheLibraryCannotServe) {
  const Machine found = machine_here(backend, devices_per_rank);
  const std::string why = nccl_reduction_refusal(found);
  if (why.empty()) GTEST_SKIP() << "NCCL can serve here";
  expect_error([&] { AllReduce(comm, found, 8, DType::f64, Op::add, {ReduceMethod::nccl}); }, ErrorCode::unavailable,
               {{"option", "method"}, {"given", "nccl"}, {"reason", why}});
}

TEST_P(ReduceOn, PrefersPeerMemoryOnANode) {
  const Machine found = machine_here(backend, devices_per_rank);
  for (int a = 0; a < found.devices(); ++a)
    for (int b = 0; b < found.devices(); ++b)
      if (!found.link(a, b).peer || found.nodes() > 1) GTEST_SKIP() << "not all devices are peers";
  EXPECT_EQ(AllReduce(comm, found, 8, DType::f64, Op::add).method(), ReduceMethod::peer);
}

TEST_P(ReduceOn, RefusesWhatItCannotReduce) {
  const Machine found = machine_here(backend, devices_per_rank);
  EXPECT_THROW(AllReduce(comm, found, 0, DType::f64, Op::add), Error);
  EXPECT_THROW(AllReduce(comm, found, AllReduce::most_values + 1, DType::f64, Op::add), Error);
  EXPECT_THROW(AllReduce(comm, found, 1, DType::u8, Op::add), Error);
  EXPECT_THROW(AllReduce(comm, found, 1, DType::f64, Op::copy), Error);
  AllReduce reduce(comm, found, 1, DType::f64, Op::add);
  std::vector<Stream> none;
  EXPECT_THROW(reduce.run(none, {}), Error);
}

TEST_P(ReduceOn, RefusesArraysThatShareMemory) {
  const Machine found = machine_here(backend, devices_per_rank);
  const std::vector<int> mine = found.devices_of_rank(comm.rank());
  if (mine.size() == 1) GTEST_SKIP() << "needs two devices of a rank";
  AllReduce reduce(comm, found, 4, DType::f64, Op::add);
  std::vector<Stream> streams;
  for (const int device : mine) streams.emplace_back(found.device(device).local);
  std::vector<double> values(4 * mine.size());
  std::vector<void*> arrays;
  for (std::size_t n = 0; n < mine.size(); ++n) arrays.push_back(values.data() + 4 * n);
  arrays[1] = values.data() + 3;
  expect_error([&] { reduce.run(streams, arrays); }, ErrorCode::invalid_argument, {{"array", 0}, {"other", 1}});
}

TEST_P(ReduceOn, FailsOnAllRanksWhereTheyDisagree) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const Machine found = machine_here(backend, devices_per_rank);
  EXPECT_THROW(AllReduce(comm, found, comm.rank() == 0 ? 1 : 2, DType::f64, Op::add), Error);
}

}  // namespace
}  // namespace slipstream
