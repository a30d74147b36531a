// Tuning of exchanges, its report and its trace.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include <slipstream/trace.hpp>
#include <slipstream/tuner.hpp>

#include <slipstream/transpose.hpp>

#include "device/faults.hpp"
#include "exchange/tuning.hpp"
#include "machine/gpu_mpi.hpp"
#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

/// Pattern of a halo that adds received values to its targets.
class Sums final : public Pattern {
 public:
  explicit Sums(Halo::Options options) : halo_(std::move(options)) {}
  std::string name() const override { return "sums"; }
  Op op() const override { return Op::add; }
  std::vector<Transfer> transfers(const Grid& grid, int components, const Extent& ghost, int rank) const override {
    std::vector<Transfer> all = halo_.transfers(grid, components, ghost, rank);
    for (Transfer& transfer : all) transfer.op = Op::add;
    return all;
  }

 private:
  Halo halo_;
};

/// Tests the tuner on a periodic grid with two devices per rank, and with a separate folder of cached results.
class Tuned : public testing::Test {
 protected:
  void SetUp() override {
    how_.cache_folder = comm_.broadcast(
        (std::filesystem::temp_directory_path() / ("slipstream-tuner-" + std::to_string(::getpid()))).string(), 0);
    how_.trials = 2;
    for (const int d : machine_.devices_of_rank(comm_.rank())) streams_.emplace_back(machine_.device(d).local);
    std::vector<double> values(static_cast<std::size_t>(volume(grid_.extent())));
    for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<double>(n);
    field_.write(grid_.box(), values.data());
  }
  void TearDown() override {
    comm_.barrier();
    if (comm_.rank() == 0) std::filesystem::remove_all(how_.cache_folder);
  }

  static Machine discovered(const Communicator& comm) {
    Machine::Options options;
    options.devices_per_rank = 2;
    options.bind = false;
    return Machine::discover(comm, options);
  }
  static GridOptions periodic() {
    GridOptions options;
    options.periodic = {true, true, true};
    return options;
  }
  static FieldOptions doubles() {
    FieldOptions options;
    options.name = "values";
    options.type = DType::f64;
    options.ghost = {1, 1, 1};
    options.shared = true;
    return options;
  }

  Tuning tune_with(const ExchangeOptions& options) { return tune(comm_, grid_, items_, options, how_); }

  Communicator comm_ = Communicator::world();
  Machine machine_ = discovered(comm_);
  Grid grid_{{24, 20, 16}, machine_, comm_.rank(), periodic()};
  Field field_{grid_, doubles()};
  Halo halo_{{}};
  std::vector<ExchangeItem> items_{{&halo_, &field_}};
  std::vector<Stream> streams_;
  TuneOptions how_;
};

TEST_F(Tuned, EveryPairOfDevicesGetsARouteAndTimes) {
  const Tuning tuning = tune_with({});
  EXPECT_EQ(tuning.source, "measured");
  const Exchange exchange(comm_, grid_, items_, tuning.options);
  int between = 0;
  for (const MessageInfo& message : exchange.messages()) {
    if (message.source == message.target) continue;
    ++between;
    EXPECT_EQ(tuning.options.chosen.at({message.source, message.target}), message.route);
    EXPECT_EQ(message.reason.rfind("measured: ", 0), 0u) << message.reason;
    EXPECT_NE(message.reason.find("staged "), std::string::npos) << message.reason;
  }
  EXPECT_GT(between, 0);
}

TEST_F(Tuned, BothEndsOfAMessageChooseAlike) {
  const Tuning tuning = tune_with({});
  std::string chosen;
  for (const auto& [pair, kind] : tuning.options.chosen) {
    chosen += std::to_string(pair.first) + ' ' + std::to_string(pair.second) + ' ' + to_string(kind) + ' ';
    EXPECT_TRUE(machine_.device(pair.first).rank == comm_.rank() || machine_.device(pair.second).rank == comm_.rank());
  }
  std::map<std::pair<int, int>, std::multiset<std::string>> all;
  for (const std::string& of_rank : comm_.all_gather(chosen)) {
    std::istringstream words(of_rank);
    std::string kind;
    for (std::pair<int, int> pair; words >> pair.first >> pair.second >> kind;) all[pair].insert(kind);
  }
  for (const auto& [pair, kinds] : all) {
    const bool one_rank = machine_.device(pair.first).rank == machine_.device(pair.second).rank;
    EXPECT_EQ(kinds.size(), one_rank ? 1u : 2u);
    EXPECT_EQ(kinds.count(*kinds.begin()), kinds.size()) << *kinds.begin() << ", " << *kinds.rbegin();
  }
}

TEST_F(Tuned, AlikeMessagesShareARoute) {
  const Tuning tuning = tune_with({});
  const Exchange exchange(comm_, grid_, items_, tuning.options);
  std::map<std::pair<bool, std::int64_t>, std::set<RouteKind>> routes;
  for (const MessageInfo& m : exchange.messages())
    if (m.source != m.target)
      routes[{machine_.device(m.source).rank == machine_.device(m.target).rank, m.bytes}].insert(m.route);
  for (const auto& [alike, kinds] : routes) EXPECT_EQ(kinds.size(), 1u) << alike.second << " B";
}

TEST_F(Tuned, ChoosesAmongTheAllowedRoutesOnly) {
  ExchangeOptions options;
  options.routes = routes_from_string("kernel,staged");
  for (const auto& [pair, kind] : tune_with(options).options.chosen)
    EXPECT_TRUE(kind == RouteKind::kernel || kind == RouteKind::staged) << to_string(kind);
}

TEST_F(Tuned, KeepsAKnobThatTheUserSet) {
  ExchangeOptions options;
  options.knobs.in_place = 4096;
  options.knobs.streams = Lanes::one;
  options.knobs.grouping = Grouping::nodes;
  const Tuning tuning = tune_with(options);
  EXPECT_EQ(tuning.options.knobs.in_place, 4096);
  EXPECT_EQ(tuning.options.knobs.streams, Lanes::one);
  EXPECT_EQ(tuning.options.knobs.grouping, Grouping::nodes);
}

TEST_F(Tuned, MeasuresPackingsThatTheCodingsAndTheirErrorsAllow) {
  const Coding f32 = coding_from_string("cast to f32");
  ExchangeOptions options;
  options.routes = routes_from_string("kernel,staged");
  how_.trials = 1;
  const auto measured = [&](const Coding& coding, bool errors) {
    items_.front().coding = coding;
    options.measure_errors = errors;
    int exchanges = 0;
    const Tuning tuning =
        tune(comm_, grid_, items_, options, how_, [&](Exchange& exchange, std::vector<Stream>& streams) {
          exchanges += exchange.sequence() == 0;
          exchange.run(streams);
        });
    EXPECT_TRUE(tuning.notes.empty()) << tuning.notes.front();
    EXPECT_EQ(tuning.options.measure_errors, errors);
    if (errors) {
      EXPECT_EQ(tuning.options.knobs.pack, Pack::fused);
    }
    Exchange(comm_, grid_, items_, tuning.options).run(streams_);
    return exchanges;
  };
  // The tuner tries the packing methods fused, per_direction, memcpy3d and zero_copy for values without a coding. For
  // coded values it omits memcpy3d; if errors are measured, all but fused. A mixture of routes may be a further one.
  const int raw = measured({}, false), coded = measured(f32, false), watched = measured(f32, true);
  EXPECT_LE(coded, raw);
  EXPECT_GE(coded, raw - 2);
  EXPECT_LE(watched, coded - 1);
}

TEST_F(Tuned, AValueThatIsTooLargeIsTheSameErrorOnAllRanks) {
  items_.front().coding = coding_from_string("cast to f32");
  if (comm_.rank() == comm_.size() - 1) {
    const Box& box = grid_.block(grid_.local().back()).box;
    const double large = 1e300;
    field_.write({box.lo, {box.lo[0] + 1, box.lo[1] + 1, box.lo[2] + 1}}, &large);
  }
  ExchangeOptions options;
  options.routes = routes_from_string("kernel,staged");
  EXPECT_THROW(tune_with(options), Overflow);
  expect_error([&] { tune_with(options); }, ErrorCode::overflow,
               {{"item", 0}, {"field", "values"}, {"pattern", "halo"}, {"coding", "cast to f32"}});
}

/// A transpose with one rank per node on host routes; inspects the messages of all measured exchanges.
class TunedTranspose : public Tuned {
 protected:
  Tuning tune_noting(const ExchangeOptions& options) {
    how_.trials = how_.warm_ups = 1;
    return tune(comm_, slabs_, {{&transpose_, &from_, &to_}}, options, how_,
                [&](Exchange& exchange, std::vector<Stream>& streams) {
                  std::string said;
                  for (const MessageInfo& m : exchange.messages())
                    if (machine_of_nodes_.device(m.source).rank != machine_of_nodes_.device(m.target).rank)
                      said += m.reason + '\n';
                  said_.push_back(said);
                  exchange.run(streams);
                });
  }
  bool some_said(const std::string& words) const {
    return std::any_of(said_.begin(), said_.end(),
                       [&](const std::string& said) { return said.find(words) != std::string::npos; });
  }

  Machine machine_of_nodes_ = machine_here(Backend::host, 1, 1);
  // Each rank is a node and has messages with all other ranks.
  Grid slabs_{{12, 12, 12},
              machine_of_nodes_,
              comm_.rank(),
              {.partition = {.nodes = {1, 1, comm_.size()}}, .measured_gb_per_s = {}, .boxes = {}}};
  Field from_{slabs_, {.name = "from", .type = DType::f64}}, to_{slabs_, {.name = "to", .type = DType::f64}};
  Transpose transpose_{slabs_, slabs_, {.axes = {2, 1, 0}, .kept = {}}};
  std::vector<std::string> said_;
};

TEST_F(TunedTranspose, MeasuresEveryCallOfMpiForAllRanks) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs two ranks";
  ExchangeOptions options;
  options.routes = routes_from_string("kernel,staged");
  EXPECT_EQ(tune_noting(options).source, "measured");
  for (const char* call : {"MPI_Alltoallv", "MPI_Ialltoallv", "the message of node 0"})
    EXPECT_TRUE(some_said(call)) << call;
  // Some MPI libraries do not support windows on existing memory.
  const bool windows = refusal_of(comm_, MpiCalls::put_fence).empty();
  for (const char* call : {"MPI_Put between fences", "MPI_Put under locks"})
    EXPECT_EQ(some_said(call), windows) << call;
}

TEST_F(TunedTranspose, KeepsTheCallThatTheUserSet) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs two ranks";
  ExchangeOptions options;
  options.routes = routes_from_string("kernel,staged");
  options.knobs.mpi = MpiCalls::ialltoallv;
  EXPECT_EQ(tune_noting(options).options.knobs.mpi, MpiCalls::ialltoallv);
  EXPECT_FALSE(said_.empty());
  for (const std::string& said : said_) EXPECT_NE(said.find("MPI_Ialltoallv"), std::string::npos) << said;
}

TEST_F(Tuned, LeavesOutDeviceMemoryThatMpiDoesNotTake) {
  const Communicator own(comm_.mpi());
  std::vector<Device> devices;
  for (const Stream& stream : streams_) devices.push_back(stream.device());
  const std::string why =
      prove_gpu_mpi(own, devices, [](std::byte* values, std::size_t bytes) { values[bytes - 1] ^= std::byte{1}; });
  EXPECT_NE(why.find("arrived changed"), std::string::npos) << why;
  const Tuning tuning = tune(own, grid_, items_, {}, how_);
  EXPECT_EQ(tuning.source, "measured");
  EXPECT_TRUE(tuning.notes.empty()) << tuning.notes.front();
  for (const auto& [pair, kind] : tuning.options.chosen) EXPECT_NE(kind, RouteKind::gpu_mpi);
  for (const auto& [pair, reason] : tuning.options.reasons)
    EXPECT_EQ(reason.find("gpu_mpi"), std::string::npos) << reason;
}

TEST_F(Tuned, ACandidateThatTimesOutOnOneRankIsDroppedOnAll) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs two ranks";
  ExchangeOptions options;
  options.routes = routes_from_string("kernel,colocated,staged");
  options.wait_limit = 1;
  // Rank 1 sends its first message late.
  double seconds = comm_.rank() == 1 ? 2.5 : 0;
  faults::hold(faults::Lane::departure,
               [&](Stream&) { std::this_thread::sleep_for(std::chrono::duration<double>(std::exchange(seconds, 0))); });
  const Tuning tuning = tune_with(options);
  faults::hold(faults::Lane::departure, {});
  EXPECT_EQ(tuning.source, "measured");
  if (comm_.rank() > 0) return;
  ASSERT_FALSE(tuning.notes.empty());
  EXPECT_EQ(tuning.notes.front().rfind("rules: rank ", 0), 0u) << tuning.notes.front();
  EXPECT_NE(tuning.notes.front().find("longer than 1"), std::string::npos) << tuning.notes.front();
}

TEST_F(Tuned, ByOneRankAloneIsAnErrorOnAll) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs two ranks";
  const auto error = error_of([&] {
    if (comm_.rank() == 0) tune_with({});
    Exchange(comm_, grid_, items_, {});
  });
  expect_error(error, ErrorCode::mismatch, {{"rank", 1}});
  EXPECT_NE(error->fact("first").find("blocks, tuned with 2 warm-ups, 2 trials"), std::string::npos)
      << error->fact("first");
}

TEST_F(Tuned, WithMoreTrialsOnOneRankIsAnErrorOnAll) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs two ranks";
  if (comm_.rank() == 1) how_.trials = 3;
  const auto error = error_of([&] { tune_with({}); });
  expect_error(error, ErrorCode::mismatch, {{"rank", 1}});
  EXPECT_NE(error->fact("first").find("2 trials"), std::string::npos) << error->fact("first");
  EXPECT_NE(error->fact("given").find("3 trials"), std::string::npos) << error->fact("given");
}

TEST_F(Tuned, AChosenRouteThatRefusesIsNamedWithItsReason) {
  ExchangeOptions options;
  options.chosen[{0, 1}] = RouteKind::nccl;
  for (const MessageInfo& message : plan_messages(grid_, {{&halo_, field_.options()}}, options))
    EXPECT_EQ(message.reason.rfind("chosen, but refused, nccl: it joins GPUs", 0) == 0,
              message.source == 0 && message.target == 1)
        << message.reason;
}

TEST_F(Tuned, SecondTimeComesFromTheCache) {
  const Tuning first = tune_with({});
  const auto start = std::chrono::steady_clock::now();
  const Tuning second = tune_with({});
  Exchange exchange(comm_, grid_, items_, second.options);
  exchange.begin(streams_);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  exchange.end(streams_);
  EXPECT_EQ(second.source, "cache");
  EXPECT_EQ(second.options.chosen, first.options.chosen);
  EXPECT_EQ(second.options.reasons, first.options.reasons);
  EXPECT_EQ(second.options.knobs, first.options.knobs);
  RecordProperty("seconds", std::to_string(seconds));
}

TEST_F(Tuned, HalosThatDifferInReachOrWidthHaveEntriesOfTheirOwn) {
  std::set<std::string> files{tune_with({}).file};
  Halo::Options faces, narrow;
  faces.reach = Reach::faces;
  narrow.low = {0, 1, 1};
  for (const Halo::Options& other : {faces, narrow}) {
    const Halo halo(other);
    items_ = {{&halo, &field_}};
    const Tuning tuning = tune_with({});
    EXPECT_EQ(tuning.source, "measured");
    files.insert(tuning.file);
  }
  EXPECT_EQ(files.size(), 3u);
}

/// The concurrent work is slow unless copies leave the rank's devices. The exchange that is fastest alone must not win.
TEST_F(Tuned, WithWorkTheTimeOfTheWholeDecides) {
  int calls = 0, copies = 0;
  // Counts messages that leave as copies, not kernel stores; the simulated work below is slow if there were none.
  faults::hold(faults::Lane::departure, [&](Stream&) { ++copies; });
  how_.work_name = "interior";
  how_.work = [&](std::vector<Stream>& streams) {
    ++calls;
    ASSERT_EQ(streams.size(), streams_.size());
    for (std::size_t d = 0; d < streams.size(); ++d) EXPECT_EQ(streams[d].device(), streams_[d].device());
    if (std::exchange(copies, 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  const Tuning tuning = tune_with({});
  faults::hold(faults::Lane::departure, {});
  EXPECT_EQ(tuning.source, "measured");
  EXPECT_GT(calls, how_.trials);
  EXPECT_TRUE(std::any_of(tuning.options.chosen.begin(), tuning.options.chosen.end(), [&](const auto& one) {
    const auto& [pair, kind] = one;
    return machine_.device(pair.first).rank == comm_.rank() && kind != RouteKind::direct && kind != RouteKind::kernel;
  })) << tuning.options.reasons.begin()->second;
  // The key of the tuner's cache contains the name of the caller's work that overlaps the exchange.
  calls = 0;
  EXPECT_EQ(tune_with({}).source, "cache");
  EXPECT_EQ(calls, 0);
  how_.work = {};
  how_.work_name.clear();
  EXPECT_EQ(tune_with({}).source, "measured");
}

TEST_F(Tuned, WorkThatFailsOnOneRankDropsCandidatesOnAll) {
  how_.work_name = "interior";
  how_.work = [&](std::vector<Stream>&) { require(comm_.rank() > 0, "no interior here"); };
  expect_error([&] { tune_with({}); }, ErrorCode::unavailable, {{"problem", "no_route"}});
  how_.work = {};
  expect_error([&] { tune_with({}); }, ErrorCode::invalid_argument, {{"option", "work"}});
}

TEST_F(Tuned, RetuningMeasuresAgain) {
  tune_with({});
  how_.retune = true;
  EXPECT_EQ(tune_with({}).source, "measured");
}

TEST_F(Tuned, ADamagedCacheIsMeasuredAgainWithAWarning) {
  const Tuning first = tune_with({});
  comm_.barrier();
  if (comm_.rank() == 0) std::ofstream(first.file) << "slipstream tuned exchange 1\nnonsense\n";
  const Tuning second = tune_with({});
  EXPECT_EQ(second.source, "measured");
  if (comm_.rank() == 0) {
    ASSERT_EQ(second.notes.size(), 1u);
    EXPECT_NE(second.notes.front().find("damaged"), std::string::npos);
  }
  EXPECT_EQ(tune_with({}).source, "cache");
}

TEST_F(Tuned, InteriorCellsAreAsBefore) {
  tune_with({});
  std::vector<double> values(static_cast<std::size_t>(volume(grid_.extent())));
  for (const std::int64_t id : grid_.local()) {
    const Box& box = grid_.block(id).box;
    std::vector<double> have(static_cast<std::size_t>(box.volume()));
    field_.read(box, have.data());
    std::size_t n = 0;
    for (std::int64_t z = box.lo[2]; z < box.hi[2]; ++z)
      for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y)
        for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x, ++n)
          ASSERT_EQ(have[n], static_cast<double>((z * 20 + y) * 24 + x));
  }
}

TEST_F(Tuned, PatternsThatCombineAreMeasuredAndLeaveTheFieldAlone) {
  const Sums sums{{}};
  std::vector<std::vector<double>> before;
  for (const std::int64_t id : grid_.local()) before.push_back(array_of<double>(field_, id));
  const std::vector<ExchangeItem> items{{&sums, &field_}};
  const Tuning tuning = tune(comm_, grid_, items, {}, how_);
  EXPECT_EQ(tuning.source, "measured");
  EXPECT_FALSE(tuning.options.chosen.empty());
  std::size_t n = 0;
  for (const std::int64_t id : grid_.local()) EXPECT_EQ(array_of<double>(field_, id), before[n++]) << "block " << id;
  const Tuning again = tune(comm_, grid_, items, {}, how_);
  EXPECT_EQ(again.source, "cache");
  EXPECT_EQ(again.options.chosen, tuning.options.chosen);
  const Exchange exchange(comm_, grid_, items, tuning.options);
  for (const MessageInfo& m : exchange.messages()) {
    if (m.source == m.target) continue;
    EXPECT_EQ(m.route, tuning.options.chosen.at({m.source, m.target}));
  }
}

TEST_F(Tuned, ReportHoldsEveryMessageOnEveryRankWithItsTime) {
  Exchange exchange(comm_, grid_, items_, {});
  for (int n = 0; n < 3; ++n) exchange.run(streams_);
  const std::vector<ReportRow> rows = exchange.report();
  const auto planned = plan_messages(grid_, {{&halo_, field_.options()}}, {});
  ASSERT_EQ(rows.size(), planned.size());
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const ReportRow& row = rows[n];
    EXPECT_EQ(row.source_rank, machine_.device(row.message.source).rank);
    EXPECT_GT(row.message.bytes, 0);
    EXPECT_FALSE(row.message.reason.empty());
    EXPECT_GT(row.microseconds, 0) << row.message.source << " to " << row.message.target;
    EXPECT_DOUBLE_EQ(row.gb_per_s * row.microseconds * 1e3, static_cast<double>(row.message.bytes));
    if (n > 0) {
      EXPECT_LT(std::pair(rows[n - 1].message.source, rows[n - 1].message.target),
                std::pair(row.message.source, row.message.target));
    }
  }
}

TEST_F(Tuned, ReportBeforeTheFirstExchangeHasNoTimes) {
  Exchange exchange(comm_, grid_, items_, {});
  for (const ReportRow& row : exchange.report()) EXPECT_LT(row.microseconds, 0);
}

TEST_F(Tuned, TraceNamesWhatStreamsAndMessagesDid) {
  Trace trace;
  ExchangeOptions options;
  options.routes = routes_from_string("kernel,staged");
  options.trace = &trace;
  Exchange exchange(comm_, grid_, items_, options);
  for (int n = 0; n < 2; ++n) {
    exchange.begin(streams_);
    exchange.end(streams_);
  }
  for (Stream& stream : streams_) stream.synchronize();
  const std::string json = trace.json(comm_.rank());
  for (const char* name : {"begin", "end", "send", "receive", "transfer", "host:0 exchange", "host:1 exchange",
                           "sender", "to device", "download", "from device", "upload"})
    EXPECT_NE(json.find(name), std::string::npos) << name << " is not in " << json;
  EXPECT_EQ(trace.dropped(), 0);
}

}  // namespace
}  // namespace slipstream
