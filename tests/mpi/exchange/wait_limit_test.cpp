// Timeouts: infinite and invalid ones.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>

#include <slipstream/block_sums.hpp>
#include <slipstream/collective.hpp>
#include <slipstream/fft.hpp>
#include <slipstream/gather_scatter.hpp>
#include <slipstream/tuner.hpp>

#include "machine/timeout.hpp"
#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

constexpr double forever = std::numeric_limits<double>::infinity();

/// Covers all objects that wait for other ranks, on host devices.
class WaitLimits : public testing::Test {
 protected:
  struct Entry {
    const char* name;
    std::function<void(double)> make;
  };

  ExchangeOptions with(double seconds) const {
    ExchangeOptions options;
    options.wait_limit = seconds;
    return options;
  }

  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  const Grid grid{{8 * machine.devices(), 6, 4}, machine, comm.rank()};
  Field field{grid, {.name = "u", .ghost = {1, 1, 1}, .shared = true}};
  const Halo halo{Halo::Options{}};
  const std::vector<ExchangeItem> items{{&halo, &field}};
  const std::vector<std::int64_t> ids{1, 2, 3};
  const std::vector<Entry> entries{{"exchange", [this](double s) { Exchange(comm, grid, items, with(s)); }},
                                   {"tune",
                                    [this](double s) {
                                      TuneOptions quick;
                                      quick.warm_ups = 0;
                                      quick.trials = 1;
                                      tune(comm, grid, items, with(s), quick);
                                    }},
                                   {"gather-scatter",
                                    [this](double s) {
                                      GatherScatter(comm, machine, {{.ids = ids, .first_block = 3 * comm.rank()}},
                                                    {.exchange = with(s)});
                                    }},
                                   {"all-reduce",
                                    [this](double s) {
                                      AllReduce(comm, machine, 1, DType::f64, Op::add, {ReduceMethod::automatic, s});
                                    }},
                                   {"all-reduce by mpi",
                                    [this](double s) {
                                      AllReduce(comm, machine, 1, DType::f64, Op::add, {ReduceMethod::mpi, s});
                                    }},
                                   {"sum over blocks",
                                    [this](double s) {
                                      BlockSums(comm, machine, {{comm.rank()}}, 1, {ReduceMethod::automatic, s});
                                    }},
                                   {"Fourier transform", [this](double s) {
                                      FftOptions options;
                                      options.exchange = with(s);
                                      Fft(comm, machine, {8, 8, 8}, options);
                                    }}};
};

TEST_F(WaitLimits, ThatAreNoneAreErrorsOnAllRanks) {
  for (const Entry& entry : entries)
    for (const double seconds : {std::nan(""), -1.0, -forever, 0.0, 1e12})
      for (const bool all : {true, false}) {
        const bool wrong = all || comm.rank() == comm.size() - 1;
        SCOPED_TRACE(entry.name + std::string(", ") + std::to_string(seconds) + (all ? "" : " on one rank"));
        expect_error([&] { entry.make(wrong ? seconds : 30); }, ErrorCode::invalid_argument,
                     {{"option", "wait_limit"}, {"given", seconds}});
      }
}

TEST_F(WaitLimits, MayBeInfiniteOrTheLargest) {
  for (const Entry& entry : entries)
    for (const double seconds : {forever, longest_wait})
      EXPECT_FALSE(error_of([&] { entry.make(seconds); })) << entry.name << ", " << seconds;
}

/// One rank is late, and the others wait for it without a limit.
class InfiniteWaits : public testing::TestWithParam<std::size_t> {};

TEST_P(InfiniteWaits, BringTheValuesOfALateRank) {
  static const std::vector<Way> ways = all_ways();
  const Way& way = ways[GetParam()];
  const Communicator comm = Communicator::world();
  if (auto why = unavailable(Backend::host, way); !why.empty()) GTEST_SKIP() << why;
  const Machine machine = machine_here(Backend::host, way);
  GridOptions periodic;
  periodic.periodic = {true, true, true};
  const Grid grid({8 * machine.devices(), 6, 4}, machine, comm.rank(), periodic);
  const FieldOptions options{.name = "u", .ghost = {1, 1, 1}, .shared = true};
  const Halo halo{Halo::Options{}};
  ExchangeOptions endless;
  endless.routes = way.routes;
  endless.knobs.grouping = way.grouping;
  endless.wait_limit = forever;
  if (auto why = refusal_of(grid, {{&halo, options}}, endless); !why.empty()) GTEST_SKIP() << why;
  Field field(grid, options);
  for (const std::int64_t id : grid.local())
    std::fill_n(field.view<float>(id).origin - field.shape(id).origin, field.shape(id).elements, 1.0f);
  Exchange exchange(comm, grid, {{&halo, &field}}, endless);
  std::vector<Stream> streams = streams_of(grid);
  for (const int round : {0, 1}) {
    comm.barrier();
    if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(error_of([&] { exchange_once(exchange, streams, round); }));
  }
  comm.barrier();
}

INSTANTIATE_TEST_SUITE_P(Routes, InfiniteWaits, testing::Range(std::size_t{0}, all_ways().size()),
                         [](const auto& info) { return all_ways()[info.param].name; });

}  // namespace
}  // namespace slipstream
