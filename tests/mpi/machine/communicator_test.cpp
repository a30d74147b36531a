// Communicators of threads, and communicators with other ranks than the machine's.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include <slipstream/block_sums.hpp>
#include <slipstream/collective.hpp>
#include <slipstream/fft.hpp>
#include <slipstream/gather_scatter.hpp>
#include <slipstream/tuner.hpp>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

std::optional<Error> error_in_a_thread(const std::function<void()>& work) {
  std::optional<Error> error;
  std::thread thread([&] { error = error_of(work); });
  thread.join();
  return error;
}

TEST(CommunicatorThreads, OneThatMayNotCallMpiIsRefused) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level >= MPI_THREAD_SERIALIZED) GTEST_SKIP() << "any thread may call this MPI";
  const Communicator comm = Communicator::world();
  const std::pair<const char*, std::function<void()>> calls[]{
      {"a communicator", [] { const Communicator self(MPI_COMM_SELF); }},
      {"a barrier", [&] { comm.barrier(); }},
      {"a machine", [&] { Machine::discover(comm, {}); }}};
  for (const auto& [what, call] : calls) {
    SCOPED_TRACE(what);
    expect_error(error_in_a_thread(call), ErrorCode::wrong_state, {{"problem", "thread"}});
  }
}

TEST(CommunicatorThreads, OneThatMayNotCallMpiLeavesTheEndToMpi) {
  auto last = std::make_unique<Communicator>(MPI_COMM_SELF);
  EXPECT_FALSE(error_in_a_thread([&] { last.reset(); }));
}

/// Passes a communicator of this rank only to every class that takes one.
TEST(WrongCommunicator, IsNamedByWhateverTakesOne) {
  const Communicator world = Communicator::world(), self(MPI_COMM_SELF);
  if (world.size() < 2) GTEST_SKIP() << "needs two ranks";
  const Machine machine = machine_here(Backend::host, 1);
  const Grid grid({8 * machine.devices(), 6, 4}, machine, world.rank());
  Field field(grid, {.name = "u", .ghost = {1, 1, 1}, .shared = true});
  const Halo halo{Halo::Options{}};
  const std::vector<ExchangeItem> items{{&halo, &field}};
  const std::vector<std::int64_t> ids{1, 2, 3};
  const std::pair<const char*, std::function<void()>> makers[]{
      {"an exchange", [&] { Exchange(self, grid, items); }},
      {"a tuned exchange", [&] { tune(self, grid, items, {}, {}); }},
      {"a gather-scatter", [&] { GatherScatter(self, machine, {{.ids = ids}}); }},
      {"an all-reduce", [&] { AllReduce(self, machine, 1, DType::f64, Op::add); }},
      {"a sum over blocks", [&] { BlockSums(self, machine, {{world.rank()}}); }},
      {"a Fourier transform", [&] {
         Fft(self, machine, {8, 8, 8});
       }}};
  for (const auto& [what, make] : makers) {
    SCOPED_TRACE(what);
    expect_error(make, ErrorCode::mismatch, {{"given", 1}, {"needed", machine.ranks()}});
  }
}

TEST(WrongCommunicator, WithRanksInAnotherOrderIsNamed) {
  const Communicator world = Communicator::world();
  if (world.size() < 2) GTEST_SKIP() << "needs two ranks";
  MPI_Comm turned = MPI_COMM_NULL;
  MPI_Comm_split(world.mpi(), 0, -world.rank(), &turned);
  {
    const Communicator other(turned);
    const Machine machine = machine_here(Backend::host, 1);
    const Grid grid({8 * machine.devices(), 6, 4}, machine, world.rank());
    Field field(grid, {.name = "u", .ghost = {1, 1, 1}, .shared = true});
    const Halo halo{Halo::Options{}};
    expect_error(
        [&] {
          Exchange(other, grid, {{&halo, &field}});
        },
        ErrorCode::mismatch, {{"needed", other.rank()}, {"given", world.rank()}});
  }
  MPI_Comm_free(&turned);
}

}  // namespace
}  // namespace slipstream
