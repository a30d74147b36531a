// Gather-scatters of random ids, compared bit by bit with a reduction over blocks on the host; any devices, every
// route.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <bit>
#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <thread>

#include <slipstream/device/host/launch.hpp>

#include "support/expect_error.hpp"
#include "support/failing_allocations.hpp"
#include "support/gather_scatter_rig.hpp"

namespace slipstream::shared_points {
namespace {

TEST_P(GatherScatterOn, CombinesRandomIdsInTheOrderOfBlocks) {
  check_all<double>(Domain::random(37, 3), 1, {Op::add, Op::min, Op::max, Op::multiply});
  check_all<float>(Domain::random(3 * machine->devices(), 5), 3, {Op::add, Op::max});
}

TEST_P(GatherScatterOn, KnowsIntegers) {
  check_all<std::int64_t>(Domain::random(21, 7), 2, {Op::add, Op::multiply, Op::min});
  check_all<std::int32_t>(Domain::random(21, 7), 1, {Op::add, Op::max});
}

TEST_P(GatherScatterOn, KnowsComplexNumbers) {
  check_all<std::complex<double>>(Domain::random(21, 13), 2, {Op::add, Op::multiply});
  check_all<std::complex<float>>(Domain::random(21, 13), 1, {Op::add});
}

/// All copies have equal bits, on whatever device their blocks are.
TEST_P(GatherScatterOn, RoundsWhatBlocksShareInFlightOrNot) {
  const Coding cast{Coding::Kind::cast};
  check_all<double>(Domain::random(37, 3), 2, {Op::add, Op::max, Op::multiply}, cast,
                    [](double value) { return static_cast<double>(static_cast<float>(value)); });
  check_all<float>(Domain::random(21, 5), 1, {Op::add, Op::min}, cast,
                   [](float value) { return float_of(half_of(value)); });
  check_all<float>(Domain::random(21, 5), 1, {Op::add}, coding_from_string("cast to bf16"), [](float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
  });
  check_all<std::complex<double>>(Domain::random(21, 13), 1, {Op::add}, cast, [](std::complex<double> value) {
    return std::complex<double>(std::complex<float>(value));
  });
  // Rounds to multiples of the unit 2^-10; a number beyond 23 bits would be an error.
  const auto to_unit = [](auto value) { return std::nearbyint(value * 1024) / 1024 + 0.0; };  // + 0.0 turns -0 into 0
  const Coding floats = coding_from_string("blockfloat, rate 24, max error 0.0005");
  check_all<double>(Domain::random(37, 3), 2, {Op::add, Op::max}, floats, to_unit);
  check_all<float>(Domain::random(21, 5), 1, {Op::add, Op::min},
                   coding_from_string("blockfloat, rate 24, max error 0.0005"), to_unit);
  check_all<std::complex<double>>(
      Domain::random(21, 13), 1, {Op::add}, coding_from_string("blockfloat, rate 32, max error 0.0005"),
      [&](std::complex<double> value) { return std::complex<double>(to_unit(value.real()), to_unit(value.imag())); });
  check_all<std::complex<float>>(
      Domain::random(21, 13), 1, {Op::add}, coding_from_string("blockfloat, rate 24, max error 0.0005"),
      [&](std::complex<float> value) { return std::complex<float>(to_unit(value.real()), to_unit(value.imag())); });
}

/// Gather-scatter results have the same bits if the host packs messages, in whatever order it holds blocks of points.
TEST_P(GatherScatterOn, PacksOnTheHost) {
  check_all<double>(Domain::random(37, 3), 2, {Op::add, Op::max}, {}, {}, true);
  check_all<std::complex<double>>(Domain::random(21, 13), 1, {Op::multiply}, {}, {}, true);
  check_all<double>(
      Domain::random(21, 5), 1, {Op::add}, {Coding::Kind::cast},
      [](double value) { return static_cast<double>(static_cast<float>(value)); }, true);
  // a domain of one block, so that all devices but one are empty
  check_all<double>(Domain::random(1, 9), 1, {Op::add}, {}, {}, true);
  const Domain domain = Domain::random(2 * machine->devices(), 1);
  const Dealt dealt(domain, *machine, comm.rank());
  GatherScatterOptions options;
  options.host_packed = true;
  const auto gs = made(dealt, options);
  const bool several = machine->devices() > 1;
  ASSERT_EQ(gs->exchange() != nullptr, several);
  if (!several) return;
  for (const MessageInfo& message : gs->exchange()->messages()) EXPECT_EQ(message.route, RouteKind::staged);
}

TEST_P(GatherScatterOn, TakesTheRoutesThatWereMeasured) {
  const Domain domain = Domain::random(4 * machine->devices(), 15);
  const Dealt dealt(domain, *machine, comm.rank());
  GatherScatterOptions options;
  options.tune.emplace();
  options.tune->retune = true;
  options.tune->cache_folder = "/dev/null/none";  // a folder that cannot exist disables the cache on disk
  options.tune->trials = 2;
  const auto gs = made(dealt, options);
  EXPECT_EQ(gs->tuning().source, machine->devices() > 1 ? "measured" : "rules");
  Arrays<double> arrays(dealt, streams, 1);
  arrays.fill(dealt, streams, 1);
  gs->run(streams, arrays.all, Op::add);
  arrays.fetch(streams);
  gs->check();
  expect_right(domain, dealt, arrays, 1, Op::add);
}

/// The timed call includes the gather-scatter's own work and the caller's work between start and finish.
TEST_P(GatherScatterOn, IsTunedWithTheWorkThatItOverlaps) {
  if (way.name.find("rules") == std::string::npos) GTEST_SKIP() << "one set of routes shows it";
  const Domain domain = Domain::random(4 * machine->devices(), 15);
  const Dealt dealt(domain, *machine, comm.rank());
  int calls = 0;
  GatherScatterOptions options;
  options.unique = true;
  options.tune.emplace();
  options.tune->retune = true;
  options.tune->cache_folder = "/dev/null/none";
  options.tune->trials = 1;
  options.tune->warm_ups = 0;
  options.tune->work_name = "interior";
  options.tune->work = [&](std::vector<Stream>& own) { calls += own.size() == streams.size(); };
  const auto gs = made(dealt, options);
  EXPECT_EQ(calls > 0, machine->devices() > 1);
  calls = 0;
  Arrays<double> arrays(dealt, streams, 1);
  arrays.fill(dealt, streams, 1);
  gs->run(streams, arrays.all, Op::add);
  arrays.fetch(streams);
  expect_right(domain, dealt, arrays, 1, Op::add);
  EXPECT_EQ(calls, 0);
  options.tune->work_name.clear();
  expect_error([&] { made(dealt, options); }, ErrorCode::invalid_argument, {{"option", "work_name"}});
}

TEST_P(GatherScatterOn, LeavesDevicesWithoutPointsOrSharersAlone) {
  // a domain of one block, so that all devices but one are empty
  check_all<double>(Domain::random(1, 9), 1, {Op::add});
  Domain ignored{8, std::vector<std::int64_t>(8 * block_points, 0)};
  check_all<double>(ignored, 1, {Op::add});
  Domain apart{8, {}};
  for (std::int64_t n = 0; n < 8 * block_points; ++n) apart.ids.push_back(n / block_points + 1);
  const Dealt dealt(apart, *machine, comm.rank());
  EXPECT_EQ(made(dealt, {})->exchange(), nullptr);
  check_all<double>(apart, 1, {Op::add});
}

/// Calls with the same arrays replay one graph per device. Calls with other arrays and split calls are in between.
TEST_P(GatherScatterOn, CombinesWithArraysThatComeAgain) {
  const Domain domain = Domain::random(4 * machine->devices(), 15);
  const Dealt dealt(domain, *machine, comm.rank());
  const auto gs = made(dealt, {});
  Arrays<double> one(dealt, streams, 1), other(dealt, streams, 1);
  int round = 0;
  const auto check = [&](Arrays<double>& arrays, Op op, bool split) {
    arrays.fill(dealt, streams, ++round);
    if (split) {
      gs->start(streams, arrays.all, op);
      gs->finish(streams);
    } else {
      gs->run(streams, arrays.all, op);
    }
    arrays.fetch(streams);
    gs->check();
    expect_right(domain, dealt, arrays, round, op);
  };
  for (int n = 0; n < 4; ++n) {
    check(one, Op::add, false);
    check(other, n % 2 ? Op::max : Op::add, false);
    check(one, Op::min, true);
  }
}

/// Combines more sets of arrays in turn than the cache of recorded graphs holds, then some of these sets again.
TEST_P(GatherScatterOn, CombinesWithManyArraysInTurn) {
  if (way.name.find("rules") == std::string::npos) GTEST_SKIP() << "one set of routes shows it";
  const Domain domain = Domain::random(2 * machine->devices(), 15);
  const Dealt dealt(domain, *machine, comm.rank());
  const auto gs = made(dealt, {});
  std::vector<std::unique_ptr<Arrays<double>>> many;
  for (int n = 0; n < 20; ++n) many.push_back(std::make_unique<Arrays<double>>(dealt, streams, 1));
  int round = 0;
  for (const int n : {0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 0, 0, 1, 19, 19}) {
    Arrays<double>& arrays = *many[static_cast<std::size_t>(n)];
    arrays.fill(dealt, streams, ++round);
    gs->run(streams, arrays.all);
    arrays.fetch(streams);
    gs->check();
    expect_right(domain, dealt, arrays, round, Op::add);
  }
}

/// A fifth of all blocks have copies of one id, on one device or on few; other ids have few copies.
TEST_P(GatherScatterOn, CombinesMoreCopiesThanATileHolds) {
  Domain domain = Domain::random(320, 17);
  for (std::size_t n = 0; n < domain.ids.size(); ++n)
    if (n % 2) domain.ids[n] = 1000 + static_cast<std::int64_t>(n) / (64 * block_points);
  check_all<double>(domain, 2, {Op::add, Op::min});
}

/// Elements of order 1 on a periodic grid: the corners of a mesh that is one element wide coincide.
TEST_P(GatherScatterOn, CountsTheElementsAtEachVertex) {
  const Extent elements{5, 3, 1};
  Domain domain{volume(elements) * 8 / block_points + 1, {}};
  for (std::int64_t e = 0; e < volume(elements); ++e)
    for (int corner = 0; corner < 8; ++corner) {
      const Extent at{e % elements[0] + (corner & 1), e / elements[0] % elements[1] + (corner >> 1 & 1),
                      e / (elements[0] * elements[1]) + (corner >> 2)};
      domain.ids.push_back(1 + at[0] % elements[0] + elements[0] * (at[1] % elements[1]));
    }
  domain.ids.resize(static_cast<std::size_t>(domain.points()), 0);
  const Dealt dealt(domain, *machine, comm.rank());
  const auto gs = made(dealt, {});
  Arrays<double> arrays(dealt, streams, 1);
  for (std::size_t d = 0; d < dealt.devices(); ++d) {
    std::fill_n(arrays.here[d].data(), arrays.here[d].size(), 1.0);
    copy(streams[d], arrays.there[d].data(), arrays.here[d].data(), arrays.here[d].bytes());
  }
  gs->run(streams, arrays.all);
  arrays.fetch(streams);
  for (std::size_t d = 0; d < dealt.devices(); ++d)
    for (std::size_t n = 0; n < dealt.count(d); ++n)
      ASSERT_EQ(arrays.here[d].data()[n], domain.ids[static_cast<std::size_t>(dealt.point(d, n))] ? 8 : 1);
}

/// A minimum or maximum over a point's copies is NaN if the value of any copy is NaN, on any device.
TEST_P(GatherScatterOn, KeepsNanInTheSmallestAndTheLargest) {
  const std::int64_t blocks = 2 * machine->devices();
  Domain domain{blocks, {}};
  for (std::int64_t n = 0; n < domain.points(); ++n) domain.ids.push_back(n % block_points + 1);
  const Dealt dealt(domain, *machine, comm.rank());
  const auto gs = made(dealt, {});
  Arrays<double> arrays(dealt, streams, 1);
  for (const Op op : {Op::min, Op::max}) {
    for (std::size_t d = 0; d < dealt.devices(); ++d) {
      for (std::size_t n = 0; n < dealt.count(d); ++n) {
        const std::int64_t point = dealt.point(d, n), block = point / block_points, id = point % block_points;
        arrays.here[d].data()[n] = id % 2 && id % blocks == block ? std::numeric_limits<double>::quiet_NaN() : 1.0;
      }
      copy(streams[d], arrays.there[d].data(), arrays.here[d].data(), arrays.here[d].bytes());
    }
    gs->run(streams, arrays.all, op);
    arrays.fetch(streams);
    for (std::size_t d = 0; d < dealt.devices(); ++d)
      for (std::size_t n = 0; n < dealt.count(d); ++n) {
        const std::int64_t id = dealt.point(d, n) % block_points;
        EXPECT_EQ(std::isnan(arrays.here[d].data()[n]), id % 2 != 0) << id;
      }
  }
}

/// The first call is late on one device; the second call must not overwrite the values that the first one sends.
TEST_P(GatherScatterOn, FollowsItsLastCallOnOtherStreams) {
  if (std::get<0>(GetParam()) != Backend::host) GTEST_SKIP() << "the pause is one of the host's streams";
  const Domain domain = Domain::random(4 * machine->devices(), 15);
  const Dealt dealt(domain, *machine, comm.rank());
  const auto gs = made(dealt, {});
  std::vector<Stream> others;
  for (const Stream& stream : streams) others.emplace_back(stream.device());
  Arrays<double> one(dealt, streams, 1), other(dealt, streams, 1);
  for (int round = 1; round < 6; ++round) {
    one.fill(dealt, streams, 2 * round);
    other.fill(dealt, others, 2 * round + 1);
    if (comm.rank() == 0)
      detail::submit(streams[0].impl(), [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    if (round % 2) {
      gs->run(streams, one.all);
    } else {
      gs->start(streams, one.all);
      gs->finish(streams);
    }
    gs->run(others, other.all);
    one.fetch(streams);
    other.fetch(others);
    gs->check();
    expect_right(domain, dealt, one, 2 * round, Op::add);
    expect_right(domain, dealt, other, 2 * round + 1, Op::add);
  }
}

TEST_P(GatherScatterOn, ThatCannotBeMadeOnOneRankIsRefusedOnAll) {
  const Domain domain = Domain::random(2 * machine->devices(), 11);
  const Dealt dealt(domain, *machine, comm.rank());
  GatherScatterOptions options;
  for (const bool host_packed : {false, true}) {
    options.host_packed = host_packed;
    EXPECT_GT(each_allocation_fails(
                  comm, [&] { made(dealt, options); }, [] {}),
              1);
  }
}

/// If one rank lacks memory for the messages of a tuning candidate (routes and options), all ranks omit the candidate.
TEST_P(GatherScatterOn, ThatCannotBeTunedOnOneRankIsRefusedOnAllOrMadeWithoutWhatFailed) {
  if (way.name != "direct_by_1") GTEST_SKIP() << "one set of routes shows it";
  if (machine->devices() < 2) GTEST_SKIP() << "one device has no routes to choose from";
  const Domain domain = Domain::random(2 * machine->devices(), 11);
  const Dealt dealt(domain, *machine, comm.rank());
  GatherScatterOptions options;
  options.tune.emplace();
  options.tune->retune = true;
  options.tune->cache_folder = "/dev/null/none";
  options.tune->trials = 1;
  options.tune->warm_ups = 0;
  options.exchange.knobs.packet_limit = 0;  // no latency-optimised packets, so that the tuner tries fewer settings
  std::unique_ptr<GatherScatter> gs;
  int round = 0, used = 0;
  const auto make = [&] {
    gs.reset();
    gs = made(dealt, options);
  };
  const auto use = [&] {
    Arrays<double> arrays(dealt, streams, 1);
    arrays.fill(dealt, streams, ++round);
    gs->run(streams, arrays.all);
    arrays.fetch(streams);
    gs->check();
    expect_right(domain, dealt, arrays, round, Op::add);
    ++used;
  };
  EXPECT_GT(each_allocation_fails(comm, make, use), used);
  EXPECT_GT(used, 0);
}

INSTANTIATE_TEST_SUITE_P(Routes, GatherScatterOn,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, all_ways().size())),
                         [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

/// Gather-scatters of ids with up to a thousand points each, with 1, 2, 3, 4, 5 or 8 devices per rank.
class GatherScatterOfSomeDevices : public GatherScatterOn {
 protected:
  GatherScatterOfSomeDevices() : GatherScatterOn(ways_of_some_devices()) {}
  static Domain of_many_copies(std::int64_t blocks, unsigned seed) {
    Domain domain{blocks, {}};
    domain.ids.resize(static_cast<std::size_t>(domain.points()));
    std::mt19937 random(seed);
    std::int64_t id = 1, left = 0;
    for (auto& one : domain.ids) {
      if (left == 0) {
        ++id;
        left = static_cast<std::int64_t>(1 + random() % (id % 10 ? 6 : 1000));
      }
      one = id;
      --left;
    }
    std::shuffle(domain.ids.begin(), domain.ids.end(), random);
    return domain;
  }
};

/// Elements of order 1: ids are the corners of a box of elements with coprime extents, numbered as a mesh is.
TEST_P(GatherScatterOfSomeDevices, CombinesABoxOfElements) {
  const Extent elements{30, 31, 37};
  Domain domain{0, {}};
  for (std::int64_t e = 0; e < volume(elements); ++e)
    for (int corner = 0; corner < 8; ++corner) {
      const Extent at{e % elements[0] + (corner & 1), e / elements[0] % elements[1] + (corner >> 1 & 1),
                      e / (elements[0] * elements[1]) + (corner >> 2)};
      domain.ids.push_back(1 + at[0] + (elements[0] + 1) * (at[1] + (elements[1] + 1) * at[2]));
    }
  domain.blocks = static_cast<std::int64_t>(domain.ids.size()) / block_points + 1;
  domain.ids.resize(static_cast<std::size_t>(domain.points()), 0);
  check_all<std::int32_t>(domain, 1, {Op::add});
}

TEST_P(GatherScatterOfSomeDevices, CombinesAThousandCopies) {
  check_all<double>(of_many_copies(311, 19), 1, {Op::add, Op::min});
  check_all<float>(of_many_copies(64, 23), 2, {Op::add});
}

TEST_P(GatherScatterOfSomeDevices, RoundsWhatBlocksShareInFlightOrNot) {
  check_all<double>(Domain::random(16, 3), 1, {Op::add}, {Coding::Kind::cast},
                    [](double value) { return static_cast<double>(static_cast<float>(value)); });
}

INSTANTIATE_TEST_SUITE_P(Routes, GatherScatterOfSomeDevices,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, ways_of_some_devices().size())),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" +
                                  ways_of_some_devices()[std::get<1>(info.param)].name;
                         });

/// Enough points for a multithreaded set-up on two devices.
class GatherScatterOfManyPoints : public GatherScatterOfSomeDevices {};

TEST_P(GatherScatterOfManyPoints, CombinesThemInTheOrderOfBlocks) {
  check_all<double>(Domain::random(3500, 29), 1, {Op::add});
}

INSTANTIATE_TEST_SUITE_P(Routes, GatherScatterOfManyPoints,
                         testing::Combine(testing::Values(Backend::host), testing::Values(std::size_t{3})),
                         [](const auto& info) { return ways_of_some_devices()[std::get<1>(info.param)].name; });

/// Gather-scatters of very many points: zero pages that are not touched take no memory.
class LargeGatherScatter : public testing::TestWithParam<Backend> {};

TEST_P(LargeGatherScatter, TakesPointsBeyondTwoToThe31) {
  if (const auto why = unavailable(GetParam(), 1); !why.empty()) GTEST_SKIP() << why;
  const Communicator comm = Communicator::world();
  if (comm.size() > 1) GTEST_SKIP() << "one rank is enough";
  const Machine machine = machine_here(GetParam(), 1);
  const Device device = machine.device(0).local;
  constexpr std::size_t points = (std::size_t{1} << 31) + 100;
  if (const auto free = info(device).memory_free; free < static_cast<std::int64_t>(5 * points))
    GTEST_SKIP() << "needs " << 5 * points << " bytes, " << free << " are free";
  const auto unmap = [](std::int64_t* pages) { munmap(pages, points * sizeof(std::int64_t)); };
  void* const pages = mmap(nullptr, points * sizeof(std::int64_t), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const std::unique_ptr<std::int64_t, decltype(unmap)> ids(static_cast<std::int64_t*>(pages), unmap);
  const std::vector<std::pair<std::size_t, std::int64_t>> shared{{0, 9},          {5, 7},          {points / 2, 9},
                                                                 {points - 3, 7}, {points - 2, 5}, {points - 1, 9}};
  for (const auto& [point, id] : shared) ids.get()[point] = id;
  GatherScatterOptions options;
  options.type = DType::i32;
  GatherScatter gs(comm, machine, {{{ids.get(), points}, 0, std::int64_t{1} << 20}}, options);
  std::vector<Stream> streams;
  streams.emplace_back(device);
  Buffer<std::int32_t> values(device, points);
  for (std::size_t n = 0; n < shared.size(); ++n) {
    const auto value = static_cast<std::int32_t>(n + 1);
    copy(streams[0], values.data() + shared[n].first, &value, sizeof(value));
    streams[0].synchronize();
  }
  gs.run(streams, {{values.data(), 0}});
  const std::vector<std::int32_t> right{1 + 3 + 6, 2 + 4, 1 + 3 + 6, 2 + 4, 5, 1 + 3 + 6};
  for (std::size_t n = 0; n < shared.size(); ++n) {
    std::int32_t found = 0;
    copy(streams[0], &found, values.data() + shared[n].first, sizeof(found));
    streams[0].synchronize();
    EXPECT_EQ(found, right[n]) << shared[n].first;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, LargeGatherScatter, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace slipstream::shared_points
