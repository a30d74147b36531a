// Tests of routes that the host drives: invalid options, missing ranks, and faulty libraries.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include <csignal>

#include <slipstream/exchange.hpp>

#include "support/expect_error.hpp"

#include "machine/gpu_mpi.hpp"

namespace slipstream {
namespace {

struct HostWorld {
  explicit HostWorld(int ranks_per_node = 0) : machine(discover(comm, ranks_per_node)), grid(make_grid()) {
    FieldOptions options;
    options.name = "values";
    options.ghost = {1, 1, 1};
    field.emplace(grid, options);
    for (const int d : machine.devices_of_rank(comm.rank())) streams.emplace_back(machine.device(d).local);
  }
  static Machine discover(const Communicator& comm, int ranks_per_node) {
    Machine::Options options;
    options.bind = false;
    options.ranks_per_node = ranks_per_node;
    return Machine::discover(comm, options);
  }
  Grid make_grid() const {
    GridOptions options;
    options.periodic = {true, true, true};
    return Grid({8, 8, 8 * comm.size()}, machine, comm.rank(), options);
  }
  Communicator comm = Communicator::world();
  Machine machine;
  Grid grid;
  std::optional<Field> field;
  std::vector<Stream> streams;
};

struct HostWay {
  RouteKind route;
  int ranks_per_node;
  const char* name;
};

class HostRoute : public testing::TestWithParam<HostWay> {};

TEST_P(HostRoute, NamesTheDeviceThatItWaitedFor) {
  HostWorld world(GetParam().ranks_per_node);
  const int ranks = world.comm.size(), rank = world.comm.rank(), missing = ranks - 1;
  if (ranks == 1) GTEST_SKIP() << "needs 2 ranks";
  const Halo halo(Halo::Options{});
  ExchangeOptions options;
  options.routes = {RouteKind::kernel, GetParam().route};
  options.wait_limit = 0.5;
  Exchange exchange(world.comm, world.grid, {{&halo, &*world.field}}, options);
  exchange.run(world.streams);
  const bool waits = rank == 0 || rank == missing - 1;
  if (rank != missing && waits) {
    const auto error = error_of([&] { exchange.run(world.streams); });
    expect_error(error, ErrorCode::timeout, {{"rank", rank}});
    EXPECT_NE(error->fact("whom").find("on rank " + std::to_string(missing)), std::string::npos) << error->fact("whom");
  } else if (rank != missing) {
    exchange.run(world.streams);
  }
  world.comm.barrier();
}

TEST_P(HostRoute, MayBeLeftBetweenBeginAndEnd) {
  HostWorld world(GetParam().ranks_per_node);
  const Halo halo(Halo::Options{});
  ExchangeOptions options;
  options.routes = {RouteKind::kernel, GetParam().route};
  for (int round = 0; round < 3; ++round) {
    Exchange exchange(world.comm, world.grid, {{&halo, &*world.field}}, options);
    exchange.run(world.streams);
    exchange.begin(world.streams);
  }
  SUCCEED() << "nothing wrote to memory that was gone";
}

INSTANTIATE_TEST_SUITE_P(Ways, HostRoute,
                         testing::Values(HostWay{RouteKind::staged, 0, "staged_on_a_node"},
                                         HostWay{RouteKind::staged, 1, "staged_between_nodes"},
                                         HostWay{RouteKind::gpu_mpi, 0, "gpu_mpi"}),
                         [](const auto& info) { return info.param.name; });

std::optional<Error> problem_of(RouteKind route, const Knobs& knobs) {
  HostWorld world;
  const Halo halo(Halo::Options{});
  ExchangeOptions options;
  options.routes = {route};
  options.knobs = knobs;
  return error_of([&] { Exchange(world.comm, world.grid, {{&halo, &*world.field}}, options); });
}

TEST(HostRouteKnobs, ZeroCopyNeedsARouteThroughHostMemory) {
  Knobs knobs;
  knobs.pack = Pack::zero_copy;
  EXPECT_FALSE(problem_of(RouteKind::staged, knobs));
  const auto error = problem_of(RouteKind::gpu_mpi, knobs);
  if (error && error->fact("problem") == "no_route") {
    EXPECT_NE(error->fact("refused").find("gpu_mpi"), std::string::npos) << error->what();
  } else {
    expect_error(error, ErrorCode::unsupported, {{"option", "pack"}, {"given", "zero_copy"}});
  }
}

TEST(HostRouteKnobs, AnUnknownSchemeIsToldTheKnownOnes) {
  const auto error = error_of([] { named_scheme("gpu_unpack_info"); });
  expect_error(error, ErrorCode::invalid_argument, {{"given", "gpu_unpack_info"}});
  EXPECT_NE(error->fact("choices").find("gpu_pack_info_async"), std::string::npos) << error->fact("choices");
}

TEST(GpuMpi, IsBelievedWhereMessagesArriveUnchanged) {
  EXPECT_EQ(try_gpu_mpi(Communicator::world(), {{Backend::host, 0}}), "");
  EXPECT_EQ(prove_gpu_mpi(Communicator::world(), {{Backend::host, 0}}), "");
}

TEST(GpuMpi, ThatChangesMessagesIsNotBelieved) {
  const auto liar = [](std::byte* values, std::size_t bytes) { values[bytes - 1] ^= std::byte{1}; };
  const std::string why = try_gpu_mpi(Communicator::world(), {{Backend::host, 0}}, 10, liar);
  EXPECT_NE(why.find("arrived changed"), std::string::npos) << why;
}

TEST(GpuMpi, ThatCrashesOnOneRankIsNotBelievedByAny) {
  static int calls;
  calls = 0;
  // The third test message crashes on rank 0, while another rank waits for it. A single rank sends two messages only.
  const auto liar = [](std::byte*, std::size_t bytes) {
    const Communicator world = Communicator::world();
    const bool now = ++calls == std::min(world.size() + 1, 3);
    if (now && world.rank() == 0) *reinterpret_cast<volatile int*>(bytes) = 1;
  };
  const std::string why = try_gpu_mpi(Communicator::world(), {{Backend::host, 0}}, 1, liar);
  EXPECT_NE(why.find("crashed"), std::string::npos) << why;
  EXPECT_EQ(try_gpu_mpi(Communicator::world(), {{Backend::host, 0}}), "");
}

/// Path of a temporary file that only this rank uses.
std::string file_of_this_rank() {
  const auto name = "slipstream-proof-" + std::to_string(::getpid());
  return (std::filesystem::temp_directory_path() / name).string();
}

TEST(MpiFiles, AreBelievedWhereTheyHoldWhatWasWritten) {
  const std::string path = file_of_this_rank();
  EXPECT_EQ(prove_mpi_files(Communicator::world(), {{Backend::host, 0}}, path), "");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(MpiFiles, ThatHoldSomethingElseAreNotBelieved) {
  const auto liar = [](std::byte* values, std::size_t bytes) { values[bytes - 1] ^= std::byte{1}; };
  const std::string path = file_of_this_rank();
  const std::string why = prove_mpi_files(Communicator::world(), {{Backend::host, 0}}, path, liar);
  EXPECT_NE(why.find("wrote other bytes"), std::string::npos) << why;
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(MpiFiles, WhoseWritingCrashesOnOneRankAreNotBelievedByAny) {
  const auto liar = [](std::byte*, std::size_t bytes) {
    if (Communicator::world().rank() == 0) *reinterpret_cast<volatile int*>(bytes) = 1;
  };
  const std::string why = prove_mpi_files(Communicator::world(), {{Backend::host, 0}}, file_of_this_rank(), liar);
  EXPECT_NE(why.find("crashed when it wrote"), std::string::npos) << why;
}

TEST(MpiFiles, ThatCannotBeMadeAreNotBelieved) {
  const std::string why = prove_mpi_files(Communicator::world(), {{Backend::host, 0}}, "/proc/no/such/file");
  EXPECT_NE(why.find("could not make a file"), std::string::npos) << why;
}

TEST(GpuMpi, IsPlannedWithoutAProof) {
  const HostWorld world(1);
  if (world.comm.size() == 1) GTEST_SKIP() << "needs 2 ranks";
  const Halo halo(Halo::Options{});
  ExchangeOptions options;
  options.routes = {RouteKind::kernel, RouteKind::gpu_mpi};
  for (const MessageInfo& m : plan_messages(world.grid, {{&halo, world.field->options()}}, options)) {
    if (m.source == m.target) continue;
    EXPECT_EQ(m.route, RouteKind::gpu_mpi);
    EXPECT_NE(m.reason.find("believed only after a proof"), std::string::npos) << m.reason;
  }
}

}  // namespace
}  // namespace slipstream
