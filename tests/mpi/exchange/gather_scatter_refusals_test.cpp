// What gather-scatters refuse, and how they say so on every rank.
#include <gtest/gtest.h>

#include "support/gather_scatter_rig.hpp"

namespace slipstream::shared_points {
namespace {

class GatherScatterRefuses : public testing::Test {
 protected:
  std::string refusal(std::vector<std::int64_t> ids, std::int64_t first_block, GatherScatterOptions options = {}) {
    const std::string said = error_of([&] {
      GatherScatter(comm, machine, {{ids, first_block, block_points}}, options);
    });
    EXPECT_EQ(comm.all(said.empty()), said.empty()) << said;
    return said;
  }
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
};

TEST_F(GatherScatterRefuses, NegativeIds) {
  const bool last = comm.rank() == comm.size() - 1;
  const std::string said = refusal({1, 2, last ? -3 : 3}, comm.rank());
  EXPECT_NE(said.find("point 2 of a gather-scatter has the id -3"), std::string::npos) << said;
}

TEST_F(GatherScatterRefuses, BlocksThatLieTwice) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const std::string said = refusal({1, 2, 3}, 0);
  EXPECT_NE(said.find("block 0 of a gather-scatter lies on device"), std::string::npos) << said;
}

TEST_F(GatherScatterRefuses, TypesThatAreMovedAndNotComputedWith) {
  GatherScatterOptions options;
  options.type = DType::f16;
  EXPECT_NE(refusal({1}, comm.rank(), options).find("a gather-scatter of f16: it takes"), std::string::npos);
}

TEST_F(GatherScatterRefuses, OtherComponentsOnOneRank) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  GatherScatterOptions options;
  options.components = comm.rank() == 1 ? 2 : 1;
  const std::string said = refusal({1}, comm.rank(), options);
  EXPECT_NE(said.find("1 x f64") != std::string::npos && said.find("2 x f64") != std::string::npos, false) << said;
}

TEST_F(GatherScatterRefuses, CodingsOfIntegersAndOthersOnOneRank) {
  GatherScatterOptions options;
  options.type = DType::i64;
  options.coding = {Coding::Kind::cast};
  EXPECT_EQ(refusal({1}, comm.rank(), options),
            "the coding cast of a gather-scatter, which holds i64: cast rounds f64 and c128 to f32, and f32 to f16 or "
            "bf16: choose raw");
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  options.type = DType::f64;
  if (comm.rank() == 1) options.coding = {};
  const std::string said = refusal({1}, comm.rank(), options);
  EXPECT_NE(said.find("1 x f64, cast"), std::string::npos) << said;
}

TEST_F(GatherScatterRefuses, ToPackUniqueValuesOnTheHostOrToTuneThere) {
  GatherScatterOptions unique, tuned;
  unique.host_packed = tuned.host_packed = true;
  unique.unique = true;
  tuned.tune.emplace();
  for (const GatherScatterOptions& options : {unique, tuned})
    EXPECT_NE(refusal({1}, comm.rank(), options).find("packed on the host has no unique values"), std::string::npos);
}

TEST_F(GatherScatterRefuses, WhatDoesNotFitItsCalls) {
  const std::vector<std::int64_t> ids{1, 1, 2};
  GatherScatter gs(comm, machine, {{ids, comm.rank(), block_points}});
  std::vector<Stream> streams, none;
  streams.emplace_back(machine.device(comm.rank()).local);
  Buffer<double> values(streams[0].device(), 3);
  const std::vector<GatherScatter::Array> arrays{{values.data(), 0}};
  EXPECT_NE(error_of([&] { gs.run(none, arrays); }).find("0 streams and 1 arrays"), std::string::npos);
  EXPECT_NE(error_of([&] {
              gs.run(streams, {{nullptr, 0}});
            }).find("array 0 of a gather-scatter is null"),
            std::string::npos);
  GatherScatterOptions complex;
  complex.type = DType::c128;
  GatherScatter waves(comm, machine, {{ids, comm.rank(), block_points}}, complex);
  EXPECT_EQ(error_of([&] { waves.run(streams, arrays, Op::min); }),
            "a gather-scatter of complex numbers (c128) has no smallest or largest: choose add or multiply");
  EXPECT_NE(error_of([&] { gs.run(streams, arrays, Op::copy); }).find("needs an operation"), std::string::npos);
  EXPECT_NE(error_of([&] { gs.finish(streams); }).find("was not started"), std::string::npos);
}

TEST_F(GatherScatterRefuses, AStreamOfAnotherDevice) {
  const Machine two = machine_here(Backend::host, 2);
  const std::vector<std::int64_t> ids{1, 1, 2};
  const std::int64_t first = 2 * comm.rank();
  GatherScatter gs(comm, two, {{ids, first, block_points}, {ids, first + 1, block_points}});
  std::vector<Stream> streams;
  for (const int device : two.devices_of_rank(comm.rank())) streams.emplace_back(two.device(device).local);
  Buffer<double> one(streams[0].device(), 3), other(streams[1].device(), 3);
  std::swap(streams[0], streams[1]);
  EXPECT_NE(error_of([&] {
              gs.run(streams, {{one.data(), 0}, {other.data(), 0}});
            })
                .find("stream 0 of a gather-scatter is on " + to_string(other.device()) + ", not on " +
                      to_string(one.device())),
            std::string::npos);
}

TEST_F(GatherScatterRefuses, ComponentsThatWouldLieInOneAnother) {
  const std::vector<std::int64_t> ids{1, 1, 2};
  GatherScatterOptions options;
  options.components = 2;
  options.unique = true;
  GatherScatter gs(comm, machine, {{ids, comm.rank(), block_points}}, options);
  std::vector<Stream> streams;
  streams.emplace_back(machine.device(comm.rank()).local);
  Buffer<double> values(streams[0].device(), 6), unique(streams[0].device(), 4);
  for (const std::int64_t stride : {1, 2, -3})
    EXPECT_NE(error_of([&] {
                gs.run(streams, {{values.data(), stride}});
              })
                  .find("array 0 of a gather-scatter has a stride of " + std::to_string(stride) +
                        " values from one component to the next, each of which has 3"),
              std::string::npos);
  if (comm.size() > 1) return;
  EXPECT_NE(error_of([&] {
              gs.gather(streams, {{values.data(), 3}}, {{unique.data(), 1}});
            }).find("array 0 of unique values of a gather-scatter has a stride of 1"),
            std::string::npos);
}

TEST_F(GatherScatterRefuses, ArraysThatShareWhatIsWritten) {
  const Machine two = machine_here(Backend::host, 2);
  const std::int64_t first = 2 * comm.rank(), one_id = 4 * comm.rank() + 1;
  const std::vector<std::int64_t> ids{one_id, one_id, one_id + 1}, others{one_id + 2, one_id + 2, one_id + 3};
  GatherScatterOptions options;
  options.components = 2;
  options.unique = true;
  GatherScatter gs(comm, two, {{ids, first, block_points}, {others, first + 1, block_points}}, options);
  std::vector<Stream> streams;
  for (const int device : two.devices_of_rank(comm.rank())) streams.emplace_back(two.device(device).local);
  std::vector<double> room(32);
  double* const at = room.data();
  const std::vector<GatherScatter::Array> apart{{at, 0}, {at + 6, 0}}, one{{at, 0}, {at, 0}},
      within{{at, 8}, {at + 4, 8}};
  const std::vector<GatherScatter::Array> unique{{at + 16, 0}, {at + 24, 0}};
  const auto said = [&](const auto& call) {
    const std::string words = error_of(call);
    for (Stream& stream : streams) stream.synchronize();
    return words;
  };
  const std::string words = "share memory that is written: give arrays that lie apart";
  EXPECT_EQ(said([&] { gs.run(streams, one); }), "array 0 of a gather-scatter and array 1 " + words);
  EXPECT_EQ(said([&] { gs.run(streams, within); }), "") << "rows of one lie between those of the other";
  EXPECT_EQ(said([&] { gs.gather(streams, one, unique); }), "") << "both are read";
  EXPECT_NE(said([&] { gs.gather(streams, apart, {{at + 2, 8}, {at + 24, 0}}); }).find(words), std::string::npos);
  EXPECT_NE(said([&] { gs.scatter(streams, {{at + 11, 8}, {at + 24, 0}}, apart); }).find(words), std::string::npos);
}

/// An address that was looked at once is looked at again where more of it is read.
TEST_F(GatherScatterRefuses, AStrideThatLeadsOutOfAnArray) {
  const Backend backend = backends_here().back();
  if (backend == Backend::host) GTEST_SKIP() << "memory of the host has no bounds that can be asked for";
  const Machine gpus = machine_here(backend, 1);
  const std::vector<std::int64_t> ids{1, 1, 2};
  GatherScatterOptions options;
  options.components = 2;
  GatherScatter gs(comm, gpus, {{ids, comm.rank(), block_points}}, options);
  std::vector<Stream> streams;
  streams.emplace_back(gpus.device(gpus.devices_of_rank(comm.rank())[0]).local);
  Buffer<double> values(streams[0].device(), 6);
  gs.run(streams, {{values.data(), 3}});
  EXPECT_NE(error_of([&] {
              gs.run(streams, {{values.data(), std::int64_t{1} << 40}});
            }).find("array 0 of a gather-scatter"),
            std::string::npos);
}

/// Of calls of one kind, one after the other: the first is compared, and the object works on.
TEST_F(GatherScatterRefuses, AnotherOperationOrCallOnOneRank) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const bool last = comm.rank() == comm.size() - 1;
  const std::vector<std::int64_t> ids{1, 1, 2};
  GatherScatterOptions options;
  options.unique = true;
  options.exchange.wait_limit = 5;
  GatherScatter gs(comm, machine, {{ids, comm.rank(), block_points}}, options);
  std::vector<Stream> streams;
  streams.emplace_back(machine.device(comm.rank()).local);
  Buffer<double> values(streams[0].device(), 3), unique(streams[0].device(), 3);
  const auto run = [&](Op op) {
    std::fill_n(values.data(), 3, 1.0);
    gs.run(streams, {{values.data(), 0}}, op);
    streams[0].synchronize();
    return values.data()[0];
  };
  EXPECT_EQ(error_of([&] { run(last ? Op::max : Op::add); }),
            "the ranks call a gather-scatter differently: some run (add) as call 1, others run (max) as call 1; all "
            "must make the same calls with the same operations");
  EXPECT_EQ(run(Op::add), 2 * comm.size());
  EXPECT_EQ(run(Op::max), 1);
  const std::vector<GatherScatter::Array> here{{values.data(), 0}}, there{{unique.data(), 0}};
  const std::string said = error_of([&] {
    if (last) {
      gs.scatter(streams, there, here);
    } else {
      gs.gather(streams, here, there, Op::min);
    }
  });
  EXPECT_NE(said.find("some gather (min) as call 4, others scatter as call 4"), std::string::npos) << said;
}

/// At the first call of its kind; later ones are the rank's own.
TEST_F(GatherScatterRefuses, WhatOneRankCallsItWith) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const bool last = comm.rank() == comm.size() - 1;
  const std::vector<std::int64_t> ids{1, 1, 2};
  GatherScatterOptions options;
  options.exchange.wait_limit = 5;
  GatherScatter gs(comm, machine, {{ids, comm.rank(), block_points}}, options);
  std::vector<Stream> streams;
  streams.emplace_back(machine.device(comm.rank()).local);
  Buffer<double> values(streams[0].device(), 3);
  const auto run = [&](double* at) {
    std::fill_n(values.data(), 3, 1.0);
    gs.run(streams, {{at, 0}});
    streams[0].synchronize();
    return values.data()[0];
  };
  const std::string own = "array 0 of a gather-scatter is null";
  EXPECT_EQ(error_of([&] { run(last ? nullptr : values.data()); }),
            last ? own
                 : "rank " + std::to_string(comm.size() - 1) +
                       " could not make run (add) as call 1 of a gather-scatter: its own error says why");
  EXPECT_EQ(run(values.data()), 2 * comm.size());
  EXPECT_EQ(error_of([&] { run(nullptr); }), own);
  EXPECT_EQ(run(values.data()), 2 * comm.size());
}

TEST_F(GatherScatterRefuses, MorePointsThanIndicesHave) {
  const std::int64_t id = 1;
  const std::string said = error_of([&] {
    // What is refused is not read.
    GatherScatter(comm, machine, {{{&id, (std::size_t{1} << 32) + 1}, comm.rank(), block_points}});
  });
  EXPECT_NE(said.find("was given 4294967297 points on one device, and takes at most 4294967296"), std::string::npos)
      << said;
}

TEST_F(GatherScatterRefuses, ArraysThatLieElsewhere) {
  if (const auto why = unavailable(Backend::cuda, 1); !why.empty()) GTEST_SKIP() << why;
  const Machine gpus = machine_here(Backend::cuda, 1);
  const std::vector<std::int64_t> ids{1, 1, 2};
  GatherScatter gs(comm, gpus, {{ids, comm.rank(), block_points}});
  std::vector<Stream> streams;
  streams.emplace_back(gpus.device(gpus.devices_of_rank(comm.rank())[0]).local);
  std::vector<double> values(3);
  const std::string said = error_of([&] { gs.run(streams, {{values.data(), 0}}); });
  EXPECT_NE(said.find("array 0 of a gather-scatter: the array lies in host memory"), std::string::npos) << said;
}

}  // namespace
}  // namespace slipstream::shared_points
