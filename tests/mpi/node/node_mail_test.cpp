// Tests of the route node: the number of its MPI messages, the rank that a timeout names, and its fallback without
// shared memory. exchange_test.cpp compares the values.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <set>

#include <slipstream/tuner.hpp>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace {

// These functions replace MPI's own through its profiling interface.
std::set<MPI_Request> sends;
int started = 0;
int largest = 0;  // bytes of the largest message for which a persistent request was made

}  // namespace

extern "C" int MPI_Send_init(const void* from, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                             MPI_Request* request) {
  const int code = PMPI_Send_init(from, count, type, rank, tag, comm, request);
  sends.insert(*request);
  largest = std::max(largest, count);
  return code;
}

extern "C" int MPI_Recv_init(void* to, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                             MPI_Request* request) {
  const int code = PMPI_Recv_init(to, count, type, rank, tag, comm, request);
  sends.erase(*request);
  return code;
}

extern "C" int MPI_Start(MPI_Request* request) {
  started += sends.contains(*request);
  return PMPI_Start(request);
}

namespace slipstream {
namespace {

constexpr int ranks_per_node = 2;

/// A halo in which nearly all devices are neighbours.
struct World {
  explicit World(int devices = 1)
      : machine(machine_here(Backend::host, devices, ranks_per_node)),
        grid({24, 24, 24}, machine, comm.rank(), periodic()),
        field(grid, values()),
        streams(streams_of(grid)) {
    options.routes = {RouteKind::kernel, RouteKind::staged};
    options.knobs.grouping = Grouping::nodes;
  }
  static GridOptions periodic() {
    GridOptions options;
    options.periodic = {true, true, true};
    return options;
  }
  static FieldOptions values() {
    FieldOptions options;
    options.name = "values";
    options.ghost = {1, 1, 1};
    options.shared = true;
    return options;
  }
  std::set<std::pair<int, int>> pairs(bool of_nodes) const {
    std::set<std::pair<int, int>> found;
    for (const MessageInfo& m : plan_messages(grid, {{&halo, field.options()}}, options)) {
      const int from = machine.device(m.source).node, to = machine.device(m.target).node;
      if (from != to) found.insert(of_nodes ? std::pair(from, to) : std::pair(m.source, m.target));
    }
    return found;
  }
  Exchange exchange() { return {comm, grid, {{&halo, &field}}, options}; }
  /// Number of MPI messages of one exchange, over all ranks.
  std::size_t messages_sent(Exchange& exchange) {
    exchange.run(streams);
    finish(streams);
    started = 0;
    exchange.run(streams);
    finish(streams);
    return static_cast<std::size_t>(comm.sum_in_rank_order(started));
  }
  Communicator comm = Communicator::world();
  Machine machine;
  Grid grid;
  Field field;
  std::vector<Stream> streams;
  const Halo halo{Halo::Options{}};
  ExchangeOptions options;
};

class NodeMail : public testing::Test {
 protected:
  void SetUp() override {
    const int ranks = Communicator::world().size();
    if (ranks < 2 * ranks_per_node || ranks % ranks_per_node) GTEST_SKIP() << "needs two nodes of two ranks";
  }
};

TEST_F(NodeMail, IsOneMessageForEachPairOfNodes) {
  World world(2);
  Exchange exchange = world.exchange();
  const std::size_t nodes = static_cast<std::size_t>(world.machine.nodes());
  EXPECT_EQ(world.pairs(true).size(), nodes * (nodes - 1));
  EXPECT_EQ(world.messages_sent(exchange), nodes * (nodes - 1));
}

TEST_F(NodeMail, IsAMessageAndItsEnvelopeForEachPairOfDevicesOtherwise) {
  World world(2);
  world.options.knobs.grouping = Grouping::devices;
  Exchange exchange = world.exchange();
  EXPECT_EQ(world.messages_sent(exchange), 2 * world.pairs(false).size());
  EXPECT_GT(world.pairs(false).size(), world.pairs(true).size());
}

TEST_F(NodeMail, IsOneMessageForEachChunk) {
  World world;
  world.options.knobs.chunk = 1024;
  Exchange exchange = world.exchange();
  EXPECT_GT(world.messages_sent(exchange), 2 * world.pairs(true).size());
}

TEST_F(NodeMail, IsNamedInTheReport) {
  World world;
  Exchange exchange = world.exchange();
  int between = 0;
  for (const ReportRow& row : exchange.report()) {
    const bool grouped = row.message.reason.find("travels in the message of node ") != std::string::npos;
    EXPECT_EQ(grouped, row.source_rank / ranks_per_node != row.target_rank / ranks_per_node) << row.message.reason;
    between += grouped;
  }
  EXPECT_EQ(static_cast<std::size_t>(between), world.pairs(false).size());
}

TEST_F(NodeMail, IsNamedInAPlan) {
  World world;
  for (const MessageInfo& m : plan_messages(world.grid, {{&world.halo, world.field.options()}}, world.options)) {
    const int from = world.machine.device(m.source).node, to = world.machine.device(m.target).node;
    const std::string name = "message of node " + std::to_string(from) + " to node " + std::to_string(to);
    EXPECT_EQ(m.reason.find(name) != std::string::npos, from != to) << m.reason;
  }
}

TEST_F(NodeMail, IsTriedByTheTuner) {
  World world;
  world.options.knobs.grouping = Grouping::devices;
  std::map<std::pair<int, int>, std::int64_t> bytes;  // bytes of all messages between two nodes
  for (const MessageInfo& m : plan_messages(world.grid, {{&world.halo, world.field.options()}}, world.options))
    if (const int from = world.machine.device(m.source).node, to = world.machine.device(m.target).node; from != to)
      bytes[{from, to}] += m.bytes;
  std::int64_t most = 0;
  for (const auto& [nodes, sum] : bytes) most = std::max(most, sum);
  TuneOptions how;
  how.retune = true;
  how.cache_folder = (std::filesystem::temp_directory_path() / "slipstream-node-mail").string();
  how.trials = 1;
  largest = 0;
  tune(world.comm, world.grid, {{&world.halo, &world.field}}, world.options, how);
  EXPECT_GE(world.comm.max(largest), static_cast<double>(most));
  if (world.comm.rank() == 0) std::filesystem::remove_all(how.cache_folder);
}

TEST_F(NodeMail, NamesTheRankThatItWaitedFor) {
  const int ranks = Communicator::world().size();
  for (int missing = 0; missing < ranks; ++missing) {
    World world;
    world.options.wait_limit = 0.3;
    Exchange exchange = world.exchange();
    exchange.run(world.streams);
    const auto error = error_of([&] {
      if (world.comm.rank() != missing) exchange.run(world.streams);
    });
    const std::string whom = error ? error->fact("whom") : "";
    const std::string rank = std::to_string(missing);
    bool exact = false;
    for (const std::string& told : world.comm.all_gather(whom))
      exact |= told.find("device " + rank + " on rank " + rank) != std::string::npos;
    EXPECT_TRUE(exact) << "nobody waited for rank " << missing << " alone; here: " << whom;
    if (world.comm.rank() == missing) continue;
    expect_error(error, ErrorCode::timeout, {{"rank", world.comm.rank()}});
    EXPECT_TRUE(whom.find("rank " + rank) != std::string::npos || whom.find("ranks " + rank) != std::string::npos ||
                whom.find("and " + rank) != std::string::npos)
        << "without rank " << missing << ": " << whom;
  }
}

TEST_F(NodeMail, MayBeLeftBetweenBeginAndEnd) {
  for (int round = 0; round < 3; ++round) {
    World world;
    Exchange exchange = world.exchange();
    exchange.run(world.streams);
    exchange.begin(world.streams);
  }
  SUCCEED() << "nothing wrote to memory that was gone";
}

TEST_F(NodeMail, MustBeWantedByAllRanks) {
  World world;
  if (world.comm.rank() == 1) world.options.knobs.grouping = Grouping::devices;
  EXPECT_THROW(world.exchange(), Error);
}

/// Limits the size of files, and thus of shared memory files.
class SmallFiles {
 public:
  explicit SmallFiles(std::size_t bytes) {
    signal_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int) = nullptr;
};

/// A value to exchange, different for each cell of the periodic grid and each component.
float number(const Grid& grid, const Block& block, const Extent& p, int c) {
  std::int64_t cell = 0;
  for (int a = 2; a >= 0; --a) {
    const std::int64_t n = grid.extent()[a];
    cell = cell * n + (block.box.lo[a] + p[a] + n) % n;
  }
  return static_cast<float>(cell % 4096 * 1024 + c);
}

IndexSet cells_of(const Field& field, const Box& box) {
  IndexSet cells{box, {}, nullptr};
  for (int c = 0; c < field.options().components; ++c) cells.components.push_back(c);
  return cells;
}

void fill(const Grid& grid, Field& field) {
  for (const std::int64_t id : grid.local()) {
    std::vector<float> values(static_cast<std::size_t>(field.shape(id).elements), -1);
    each_in(field.shape(id), cells_of(field, {{0, 0, 0}, field.shape(id).extent}),
            [&](const Extent& p, int c, std::int64_t at) { values[at] = number(grid, grid.block(id), p, c); });
    set_array(field, id, values);
  }
}

int wrong_cells(const Grid& grid, const Field& field, std::int64_t id) {
  const auto values = array_of<float>(field, id);
  int wrong = 0;
  each_in(field.shape(id), cells_of(field, grown({{0, 0, 0}, field.shape(id).extent}, field.options().ghost)),
          [&](const Extent& p, int c, std::int64_t at) { wrong += values[at] != number(grid, grid.block(id), p, c); });
  return wrong;
}

TEST_F(NodeMail, IsGivenUpByAllRanksWhereOneCannotShareMemory) {
  World world;
  FieldOptions many = World::values();
  many.components = 400;
  Field field(world.grid, many);
  std::optional<Exchange> exchange;
  {
    // Limits rank 0 to the shared memory that every exchange needs, so that it cannot allocate messages between nodes.
    std::optional<SmallFiles> limit;
    if (world.comm.rank() == 0) limit.emplace((std::size_t{2} << 20) + 4096);
    exchange.emplace(world.comm, world.grid, std::vector<ExchangeItem>{{&world.halo, &field}}, world.options);
  }
  for (const MessageInfo& m : exchange->messages())
    if (world.machine.device(m.source).node != world.machine.device(m.target).node) {
      EXPECT_NE(m.reason.find("not in one message per pair of nodes"), std::string::npos) << m.reason;
      EXPECT_NE(m.reason.find("rank 0: "), std::string::npos) << m.reason;
    }
  fill(world.grid, field);
  exchange->run(world.streams);
  finish(world.streams);
  for (const std::int64_t id : world.grid.local()) EXPECT_EQ(wrong_cells(world.grid, field, id), 0) << "block " << id;
}

}  // namespace
}  // namespace slipstream
