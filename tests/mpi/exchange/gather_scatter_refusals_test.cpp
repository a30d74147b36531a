// Invalid arguments of gather-scatters are errors on all ranks.
#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/gather_scatter_rig.hpp"
#include "support/own_coding.hpp"

namespace slipstream::shared_points {
namespace {

class GatherScatterRefuses : public testing::Test {
 protected:
  std::optional<Error> refusal(std::vector<std::int64_t> ids, std::int64_t first_block,
                               GatherScatterOptions options = {}) {
    const auto said = error_of([&] { GatherScatter(comm, machine, {{ids, first_block, block_points}}, options); });
    EXPECT_EQ(comm.all(!said), !said) << (said ? said->what() : "");
    return said;
  }
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
};

TEST_F(GatherScatterRefuses, NegativeIds) {
  const bool last = comm.rank() == comm.size() - 1;
  expect_error(refusal({1, 2, last ? -3 : 3}, comm.rank()), ErrorCode::invalid_argument, {{"point", 2}, {"given", -3}});
}

TEST_F(GatherScatterRefuses, BlocksThatLieTwice) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const auto error = refusal({1, 2, 3}, 0);
  expect_error(error, ErrorCode::mismatch, {{"block", 0}});
  EXPECT_NE(error->fact("device"), error->fact("peer"));
}

TEST_F(GatherScatterRefuses, TypesThatAreMovedAndNotComputedWith) {
  GatherScatterOptions options;
  options.type = DType::f16;
  expect_error(refusal({1}, comm.rank(), options), ErrorCode::unsupported, {{"option", "type"}, {"given", "f16"}});
}

TEST_F(GatherScatterRefuses, OtherComponentsOnOneRank) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  GatherScatterOptions options;
  options.components = comm.rank() == 1 ? 2 : 1;
  const auto error = refusal({1}, comm.rank(), options);
  expect_error(error, ErrorCode::mismatch, {{"rank", 1}});
  EXPECT_NE(error->fact("first").find("1 x f64"), std::string::npos) << error->fact("first");
  EXPECT_NE(error->fact("given").find("2 x f64"), std::string::npos) << error->fact("given");
}

TEST_F(GatherScatterRefuses, CodingsOfIntegersAndOthersOnOneRank) {
  GatherScatterOptions options;
  options.type = DType::i64;
  options.coding = {Coding::Kind::cast};
  expect_error(refusal({1}, comm.rank(), options), ErrorCode::unsupported,
               {{"of", "a gather-scatter"}, {"coding", "cast"}, {"type", "i64"}});
  options.type = DType::f64;
  for (const char* name : {"blockfloat", "zfp", "zfp, max error 0.001"}) {
    options.coding = coding_from_string(name);
    expect_error(refusal({1}, comm.rank(), options), ErrorCode::unsupported,
                 {{"option", "coding"}, {"given", to_string(options.coding)}});
  }
  options.type = DType::f32;
  options.coding = coding_from_string("own " + own_bf16());
  expect_error(refusal({1}, comm.rank(), options), ErrorCode::unsupported,
               {{"option", "coding"}, {"given", to_string(options.coding)}});
  options.type = DType::f64;
  options.coding = {Coding::Kind::cast};
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  if (comm.rank() == 1) options.coding = {};
  const auto error = refusal({1}, comm.rank(), options);
  expect_error(error, ErrorCode::mismatch, {{"rank", 1}});
  EXPECT_NE(error->fact("first").find("1 x f64, cast"), std::string::npos) << error->fact("first");
}

TEST_F(GatherScatterRefuses, ToPackUniqueValuesOnTheHostOrToTuneThere) {
  GatherScatterOptions unique, tuned;
  unique.host_packed = tuned.host_packed = true;
  unique.unique = true;
  tuned.tune.emplace();
  for (const GatherScatterOptions& options : {unique, tuned})
    expect_error(refusal({1}, comm.rank(), options), ErrorCode::unsupported, {{"option", "host_packed"}});
}

TEST_F(GatherScatterRefuses, WhatDoesNotFitItsCalls) {
  const std::vector<std::int64_t> ids{1, 1, 2};
  GatherScatter gs(comm, machine, {{ids, comm.rank(), block_points}});
  std::vector<Stream> streams, none;
  streams.emplace_back(machine.device(comm.rank()).local);
  Buffer<double> values(streams[0].device(), 3);
  const std::vector<GatherScatter::Array> arrays{{values.data(), 0}};
  expect_error([&] { gs.run(none, arrays); }, ErrorCode::mismatch, {{"streams", 0}, {"arrays", 1}, {"needed", 1}});
  expect_error(
      [&] {
        gs.run(streams, {{nullptr, 0}});
      },
      ErrorCode::invalid_argument, {{"array", 0}, {"kind", "points"}, {"problem", "null"}});
  GatherScatterOptions complex;
  complex.type = DType::c128;
  GatherScatter waves(comm, machine, {{ids, comm.rank(), block_points}}, complex);
  expect_error([&] { waves.run(streams, arrays, Op::min); }, ErrorCode::unsupported,
               {{"option", "op"}, {"type", "c128"}});
  expect_error([&] { gs.run(streams, arrays, Op::copy); }, ErrorCode::invalid_argument, {{"option", "op"}});
  expect_error([&] { gs.finish(streams); }, ErrorCode::wrong_state, {{"problem", "not_started"}});
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
  expect_error(
      [&] {
        gs.run(streams, {{one.data(), 0}, {other.data(), 0}});
      },
      ErrorCode::mismatch, {{"stream", 0}, {"given", to_string(other.device())}, {"needed", to_string(one.device())}});
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
    expect_error(
        [&] {
          gs.run(streams, {{values.data(), stride}});
        },
        ErrorCode::invalid_argument, {{"array", 0}, {"kind", "points"}, {"given", stride}, {"needed", 3}});
  if (comm.size() > 1) return;
  expect_error(
      [&] {
        gs.gather(streams, {{values.data(), 3}}, {{unique.data(), 1}});
      },
      ErrorCode::invalid_argument, {{"array", 0}, {"kind", "unique values"}, {"given", 1}});
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
    auto error = error_of(call);
    for (Stream& stream : streams) stream.synchronize();
    return error;
  };
  const Fact shared{"problem", "shared"};
  expect_error(said([&] { gs.run(streams, one); }), ErrorCode::invalid_argument, {shared, {"array", 0}, {"other", 1}});
  EXPECT_FALSE(said([&] { gs.run(streams, within); })) << "rows of one lie between those of the other";
  EXPECT_FALSE(said([&] { gs.gather(streams, one, unique); })) << "both are read";
  expect_error(said([&] {
                 gs.gather(streams, apart, {{at + 2, 8}, {at + 24, 0}});
               }),
               ErrorCode::invalid_argument, {shared});
  expect_error(said([&] {
                 gs.scatter(streams, {{at + 11, 8}, {at + 24, 0}}, apart);
               }),
               ErrorCode::invalid_argument, {shared});
}

/// An address that passed the check for memory bounds is checked again when run() reads a larger range from it.
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
  expect_error(
      [&] {
        gs.run(streams, {{values.data(), std::int64_t{1} << 40}});
      },
      ErrorCode::invalid_argument, {{"array", 0}, {"kind", "points"}});
}

/// A gather-scatter compares first calls of run(), gather() and scatter() between ranks, and works on after a refusal.
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
  expect_error(
      [&] { run(last ? Op::max : Op::add); }, ErrorCode::mismatch,
      {{"object", "a gather-scatter"}, {"call", "run (add) as call 1"}, {"other_call", "run (max) as call 1"}});
  EXPECT_EQ(run(Op::add), 2 * comm.size());
  EXPECT_EQ(run(Op::max), 1);
  const std::vector<GatherScatter::Array> here{{values.data(), 0}}, there{{unique.data(), 0}};
  const auto error = error_of([&] {
    if (last) {
      gs.scatter(streams, there, here);
    } else {
      gs.gather(streams, here, there, Op::min);
    }
  });
  expect_error(error, ErrorCode::mismatch, {{"call", "gather (min) as call 4"}, {"other_call", "scatter as call 4"}});
}

/// Ranks compare their arguments only at the first call of each gather-scatter operation, such as run() with addition.
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
  const Facts own{{"array", 0}, {"problem", "null"}};
  expect_error([&] { run(last ? nullptr : values.data()); }, last ? ErrorCode::invalid_argument : ErrorCode::mismatch,
               last ? own : Facts{{"rank", comm.size() - 1}, {"call", "run (add) as call 1"}});
  EXPECT_EQ(run(values.data()), 2 * comm.size());
  expect_error([&] { run(nullptr); }, ErrorCode::invalid_argument, own);
  EXPECT_EQ(run(values.data()), 2 * comm.size());
}

TEST_F(GatherScatterRefuses, MorePointsThanIndicesHave) {
  const std::int64_t id = 1;
  expect_error(
      [&] {
        // The array of ids is shorter than its given size, but too many points are refused before ids are read.
        GatherScatter(comm, machine, {{{&id, (std::size_t{1} << 32) + 1}, comm.rank(), block_points}});
      },
      ErrorCode::unsupported, {{"given", 4294967297}, {"limit", 4294967296}});
}

TEST_F(GatherScatterRefuses, ArraysThatLieElsewhere) {
  if (const auto why = unavailable(Backend::cuda, 1); !why.empty()) GTEST_SKIP() << why;
  const Machine gpus = machine_here(Backend::cuda, 1);
  const std::vector<std::int64_t> ids{1, 1, 2};
  GatherScatter gs(comm, gpus, {{ids, comm.rank(), block_points}});
  std::vector<Stream> streams;
  streams.emplace_back(gpus.device(gpus.devices_of_rank(comm.rank())[0]).local);
  std::vector<double> values(3);
  expect_error(
      [&] {
        gs.run(streams, {{values.data(), 0}});
      },
      ErrorCode::invalid_argument, {{"array", 0}, {"kind", "points"}});
}

}  // namespace
}  // namespace slipstream::shared_points
