// Destructors after the caller's work failed on the device.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>

#include <slipstream/block_sums.hpp>
#include <slipstream/collective.hpp>
#include <slipstream/device/host/launch.hpp>
#include <slipstream/dns.hpp>
#include <slipstream/fft.hpp>
#include <slipstream/gather_scatter.hpp>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

using Made = std::shared_ptr<void>;

/// A destructor that throws would end the program.
TEST(AfterAFailedTask, ObjectsEndAndTheProgramGoesOn) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  const Device here = machine.device(machine.devices_of_rank(comm.rank()).front()).local;
  const Grid grid({8 * machine.devices(), 6, 4}, machine, comm.rank());
  Field field(grid, {.name = "u", .ghost = {1, 1, 1}, .shared = true});
  const Halo halo{Halo::Options{}};
  const std::vector<std::int64_t> ids{1, 2, 3};
  GatherScatterOptions packed;
  packed.host_packed = true;
  const SharedPoints points{.ids = ids, .first_block = 3 * comm.rank()};
  const std::pair<const char*, std::function<Made()>> makers[]{
      {"a Fourier transform",
       [&] {
         return std::make_shared<Fft>(comm, machine, Extent{8, 8, 8});
       }},
      {"an exchange",
       [&] {
         return std::make_shared<Exchange>(comm, grid, std::vector<ExchangeItem>{{&halo, &field}});
       }},
      {"a gather-scatter", [&] { return std::make_shared<GatherScatter>(comm, machine, std::vector{points}); }},
      {"one packed on the host",
       [&] { return std::make_shared<GatherScatter>(comm, machine, std::vector{points}, packed); }},
      {"an all-reduce", [&] { return std::make_shared<AllReduce>(comm, machine, 1, DType::f64, Op::add); }},
      {"one by mpi",
       [&] {
         return std::make_shared<AllReduce>(comm, machine, 1, DType::f64, Op::add,
                                            AllReduceOptions{ReduceMethod::mpi, 30});
       }},
      {"a sum over blocks",
       [&] {
         return std::make_shared<BlockSums>(comm, machine, std::vector<std::vector<std::int64_t>>{{comm.rank()}});
       }},
      {"a flow", [&] {
         dns::Options options;
         options.cells = {8, 8, 8};
         return std::make_shared<dns::Dns>(comm, machine, options);
       }}};
  const std::function<void()> failures[]{
      [] {
        throw Error(ErrorCode::unsupported, "a kernel of the caller's failed", {{"test", "kernel"}});
      },
      [] { throw std::runtime_error("a function of the caller's failed"); }};
  for (const auto& [what, make] : makers)
    for (const auto& fail : failures) {
      Made made = make();
      {
        Stream stream(here);
        detail::submit(stream.impl(), fail);
        made.reset();
        EXPECT_ANY_THROW(stream.synchronize()) << what;
      }
      comm.barrier();
    }
}

/// A rank whose all-reduce failed before it sent values is a call ahead, so ranks must refuse each other's values.
TEST(AllReduceByMpi, RefusesValuesOfAnotherRun) {
  const Communicator comm = Communicator::world();
  if (comm.size() < 2) GTEST_SKIP() << "needs two ranks";
  const Machine machine = machine_here(Backend::host, 1);
  const Device here = machine.device(machine.devices_of_rank(comm.rank()).front()).local;
  AllReduce sum(comm, machine, 1, DType::f64, Op::add, {ReduceMethod::mpi, 30});
  Buffer<double> value(here, 1);
  *value.data() = 1;
  const auto run = [&](bool fails) {
    std::vector<Stream> streams;
    streams.emplace_back(here);
    if (fails)
      detail::submit(streams[0].impl(), [] {
        throw Error(ErrorCode::unsupported, "a kernel of the caller's failed", {{"test", "kernel"}});
      });
    return error_of([&] {
      sum.run(streams, {value.data()});
      streams[0].synchronize();
    });
  };
  if (comm.rank() == 0) {
    expect_error(run(true), ErrorCode::unsupported, {{"test", "kernel"}});
  }
  // Other ranks receive from rank 0 first; rank 0 may receive from any of these ranks first.
  const Facts facts = comm.rank() == 0 ? Facts{} : Facts{{"rank", 0}};
  expect_error(run(false), ErrorCode::mismatch, facts);
  expect_error([&] { sum.check(); }, ErrorCode::mismatch, facts);
  EXPECT_EQ(*value.data(), 1);
  comm.barrier();
}

}  // namespace
}  // namespace slipstream
