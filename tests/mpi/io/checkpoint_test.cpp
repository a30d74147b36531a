// A run restarted from a checkpoint has the bits of an uninterrupted run, for any decomposition of either.
#include <slipstream/checkpoint.hpp>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include <slipstream/gather.hpp>
#include <slipstream/lbm.hpp>

#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/vtkhdf_reading.hpp"

namespace slipstream {
namespace {

using lbm::Lbm;
using testing_support::make_folder;
namespace fs = std::filesystem;

lbm::Options channel() {
  lbm::Options o;
  o.cells = {14, 11, 9};
  o.periodic = {true, false, false};
  o.viscosity = 0.02;
  o.walls[lbm::Side::y_high] = {0.08, 0, 0.01};
  return o;
}

lbm::Options by_moments(lbm::Options o) {
  o.representation = lbm::Representation::moments;
  o.collision = lbm::Collision::recursive;
  return o;
}

std::vector<std::uint8_t> body(const Extent& e) {
  std::vector<std::uint8_t> mask(volume(e), 0);
  for (std::int64_t z = 2; z < 6; ++z)
    for (std::int64_t y = 3; y < 7; ++y)
      for (std::int64_t x = 5; x < 9; ++x) mask[(z * e[1] + y) * e[0] + x] = 1;
  return mask;
}

/// Decomposition and storage of a run. The moment representation has one layout and two arrays, so only its
/// decomposition varies.
struct Way {
  const char* name;
  bool alone = false;  ///< whether the simulation runs on rank 0 only
  int devices = 1;
  Extent blocks{1, 1, 1};
  Layout layout = Layout::soa;
  lbm::Streaming streaming = lbm::Streaming::two;
};

const std::vector<Way> ways{{"all_ranks"},
                            {"one_rank", true},
                            {"two_devices", false, 2, {1, 2, 1}},
                            {"many_blocks_aos", true, 1, {3, 2, 2}, Layout::aos},
                            {"blocks_aos", false, 1, {1, 1, 2}, Layout::aos},
                            {"along_z", false, 1, {2, 1, 1}, Layout::soa_z},
                            {"along_z_in_place", true, 2, {2, 1, 1}, Layout::soa_z, lbm::Streaming::in_place},
                            {"in_place", false, 2, {1, 2, 2}, Layout::soa, lbm::Streaming::in_place},
                            {"in_place_alone", true, 1, {1, 1, 1}, Layout::soa, lbm::Streaming::in_place}};

class CheckpointOnRanks : public testing::Test {
 protected:
  CheckpointOnRanks()
      : world(Communicator::world()),
        self(MPI_COMM_SELF),
        folder(world.broadcast(world.rank() == 0 ? make_folder() : std::string{}, 0)) {}
  ~CheckpointOnRanks() override {
    world.barrier();
    if (world.rank() == 0) fs::remove_all(folder);
  }

  const Communicator& comm(const Way& way) const { return way.alone ? self : world; }
  std::unique_ptr<Lbm> make(const Way& way, bool with_body = true, lbm::Options o = channel()) const {
    o.grid.partition.blocks_per_device = way.blocks;
    if (o.representation == lbm::Representation::populations) {
      o.layout = way.layout;
      o.streaming = way.streaming;
    }
    auto run = std::make_unique<Lbm>(comm(way), machine_here(Backend::host, way.devices, 0, comm(way)), o);
    if (with_body) run->set_solid(body(o.cells));
    return run;
  }
  static std::vector<std::byte> bits(Lbm& run) {
    return gather(run.communicator(), run.field(to_string(run.options().representation)), run.grid().box());
  }
  Checkpoints::Options in(const std::string& name, int keep = 2) const {
    Checkpoints::Options o;
    o.folder = folder + "/" + name;
    o.keep = keep;
    o.piece_bytes = 4096;
    return o;
  }
  /// Path of a checkpoint after 7 steps, known on all ranks.
  std::string written(const Way& way = ways[0], const std::string& name = "written",
                      const lbm::Options& o = channel()) const {
    std::string path;
    if (!way.alone || world.rank() == 0) {
      const auto run = make(way, true, o);
      run->update_macroscopic();
      run->advance(7);
      Checkpoints checkpoints(comm(way), in(name));
      checkpoints.begin(run->state());
      checkpoints.finish();
      path = checkpoints.last();
    }
    return world.broadcast(path, 0);
  }
  void expect_same_bits_after_a_restart(const std::vector<Way>& ways, const lbm::Options& o) const;
  /// Checks that all ranks throw the same error.
  void expect_refused(const std::string& path, State& state, ErrorCode code, Facts facts) const {
    const auto error = error_of([&] { restore(world, path, state); });
    facts.emplace_back("file", path);
    expect_error(error, code, facts);
    const std::string text = error ? error->what() : "";
    for (const std::string& other : world.all_gather(text)) EXPECT_EQ(other, text);
  }

  Communicator world, self;
  std::string folder;
};

TEST_F(CheckpointOnRanks, HoldsNumbersOfF16AsTheyAre) {
  for (lbm::Options o : {channel(), by_moments(channel())}) {
    o.precision = DType::f16;
    const auto whole = make(ways[0], true, o);
    whole->advance(15);
    for (const int number : {0, 4}) {
      const std::string name = to_string(o.representation) + "_" + ways[number].name;
      SCOPED_TRACE(name);
      const auto first = make(ways[number], true, o), second = make(ways[2], true, o);
      first->advance(7);
      Checkpoints checkpoints(world, in(name));
      checkpoints.begin(first->state());
      checkpoints.finish();
      restore(world, world.broadcast(checkpoints.last(), 0), second->state());
      second->advance(8);
      EXPECT_EQ(bits(*whole), bits(*second));
    }
  }
}

void CheckpointOnRanks::expect_same_bits_after_a_restart(const std::vector<Way>& ways, const lbm::Options& o) const {
  std::vector<std::byte> right;
  double change = 0;
  if (world.rank() == 0) {
    const auto run = make(ways[1], true, o);
    run->update_macroscopic();
    run->advance(15);
    change = run->update_macroscopic();
    right = bits(*run);
  }
  for (const Way& from : ways) {
    const std::string path = written(from, from.name, o);
    for (const Way& to : ways) {
      if (to.alone && world.rank() != 0) continue;
      const auto run = make(to, true, o);
      restore(comm(to), path, run->state());
      EXPECT_EQ(run->state().step, 7);
      EXPECT_EQ(run->state().time, 7.0);
      run->advance(8);
      const double its_change = run->update_macroscopic();
      const auto values = bits(*run);
      if (world.rank() != 0) continue;
      EXPECT_TRUE(values == right) << from.name << " to " << to.name;
      EXPECT_EQ(its_change, change) << from.name << " to " << to.name;
    }
    world.barrier();
  }
}

TEST_F(CheckpointOnRanks, IsRestartedWithTheSameBitsHoweverEitherRunIsCut) {
  expect_same_bits_after_a_restart(ways, channel());
}

TEST_F(CheckpointOnRanks, IsRestartedWithTheSameBitsByMoments) {
  expect_same_bits_after_a_restart({ways.begin(), ways.begin() + 4}, by_moments(channel()));
}

/// Two grids with a field each, like those of a real FFT: cells of a box, and about half as many modes.
struct TwoGrids {
  TwoGrids(const Communicator& comm, int devices, const Extent& blocks, std::int64_t modes = 8)
      : machine(machine_here(Backend::host, devices, 0, comm)),
        box({14, 11, 9}, machine, comm.rank(), cut(blocks)),
        half({modes, 11, 9}, machine, comm.rank(), cut(blocks)),
        u(box, {.name = "u", .type = DType::f64, .components = 3}),
        v(half, {.name = "v", .type = DType::f32, .components = 2, .layout = Layout::aos}) {
    state.fields = {{"u", &u}, {"v", &v}};
  }
  static GridOptions cut(const Extent& blocks) {
    GridOptions options;
    options.partition.blocks_per_device = blocks;
    return options;
  }
  Machine machine;
  Grid box, half;
  Field u, v;
  State state;
};

TEST_F(CheckpointOnRanks, HoldsFieldsOfDifferentExtents) {
  TwoGrids before(world, 2, {1, 2, 1}), after(world, 1, {2, 1, 1}), other(world, 1, {1, 1, 1}, 9);
  for (Field* field : {&before.u, &before.v}) testing_support::fill(*field, 3);
  Checkpoints checkpoints(world, in("two_grids"));
  checkpoints.begin(before.state);
  checkpoints.finish();
  const std::string path = checkpoints.last();
  restore(world, path, after.state);
  for (const char* name : {"u", "v"}) {
    const Box whole = before.state[name].grid().box();
    const auto right = gather(world, before.state[name], whole), found = gather(world, after.state[name], whole);
    EXPECT_TRUE(found == right) << name;
    if (world.rank() == 0) {
      EXPECT_NE(right, std::vector<std::byte>(right.size())) << name;
    }
  }
  expect_refused(path, other.state, ErrorCode::mismatch,
                 {{"field", "v"}, {"given", "8 x 11 x 9"}, {"needed", "9 x 11 x 9"}});
}

TEST_F(CheckpointOnRanks, HasTheSameBytesWhereverItsValuesWaited) {
  std::map<Snapshot, std::string> contents;
  for (const Snapshot snapshot : {Snapshot::pinned, Snapshot::device, Snapshot::mpi}) {
    const auto run = make(ways[2]);
    run->advance(7);
    Checkpoints::Options options = in(to_string(snapshot));
    options.snapshot = snapshot;
    Checkpoints checkpoints(world, options);
    // The second checkpoint finds all staging memory allocated.
    for (int time = 0; time < 2; ++time) {
      checkpoints.begin(run->state());
      run->advance(3);
    }
    checkpoints.finish();
    EXPECT_EQ(checkpoints.mpi_refusal(), "");
    std::ifstream file(checkpoints.last(), std::ios::binary);
    contents[snapshot].assign(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_GT(contents[Snapshot::pinned].size(), 4096u);
  EXPECT_TRUE(contents[Snapshot::pinned] == contents[Snapshot::device]);
  EXPECT_TRUE(contents[Snapshot::pinned] == contents[Snapshot::mpi]);
}

TEST_F(CheckpointOnRanks, ByMpiIsRestartedInAnyLayout) {
  for (const int number : {0, 4, 5}) {
    SCOPED_TRACE(ways[number].name);
    const auto run = make(ways[number]), again = make(ways[2]);
    run->advance(7);
    Checkpoints::Options options = in(ways[number].name);
    options.snapshot = Snapshot::mpi;
    Checkpoints checkpoints(world, options);
    checkpoints.begin(run->state());
    run->advance(8);
    checkpoints.finish();
    restore(world, world.broadcast(checkpoints.last(), 0), again->state());
    again->advance(8);
    EXPECT_EQ(bits(*run), bits(*again));
  }
}

TEST_F(CheckpointOnRanks, HoldsWhatAConvectiveSideRemembers) {
  lbm::Options o = channel();
  o.periodic = {false, false, false};
  o.boundaries[lbm::Side::x_low] = {lbm::BoundaryKind::velocity, {0.05, 0, 0}};
  o.boundaries[lbm::Side::x_high] = {lbm::BoundaryKind::convective, {}, {}, 1, 0.05};
  const lbm::Options moments = by_moments(o);
  for (auto [o, precision] :
       {std::pair{o, DType::f32}, {o, DType::f16}, {moments, DType::f32}, {moments, DType::f16}}) {
    o.precision = precision;
    const std::string name = to_string(o.representation) + "_" + to_string(precision);
    const auto whole = make(ways[0], true, o);
    whole->advance(15);
    for (const auto& [from, to] : {std::pair{0, 2}, {2, 5}, {5, 0}}) {
      const auto first = make(ways[from], true, o), second = make(ways[to], true, o);
      first->advance(7);
      Checkpoints checkpoints(world, in("outlet_" + name + std::to_string(from)));
      checkpoints.begin(first->state());
      checkpoints.finish();
      restore(world, world.broadcast(checkpoints.last(), 0), second->state());
      second->advance(8);
      EXPECT_EQ(bits(*whole), bits(*second)) << name << ", " << ways[from].name << " to " << ways[to].name;
    }
  }
}

TEST_F(CheckpointOnRanks, HoldsTheStepAtWhichItWasBegunThoughTheRunGoesOn) {
  const auto run = make(ways[0]);
  Checkpoints checkpoints(world, in("on_the_way"));
  run->advance(3);
  const auto before = bits(*run);
  checkpoints.begin(run->state(), "some notes");
  for (int step = 0; step < 10; ++step) {
    run->advance(1);
    checkpoints.poll();
  }
  checkpoints.finish();
  ASSERT_EQ(checkpoints.last(), folder + "/on_the_way/checkpoint-000000000003.h5");
  EXPECT_EQ(read_checkpoint_info(checkpoints.last()).notes, "some notes");
  restore(world, checkpoints.last(), run->state());
  EXPECT_EQ(run->state().step, 3);
  const auto after = bits(*run);
  EXPECT_TRUE(after == before);
}

TEST_F(CheckpointOnRanks, BringsTheVelocityOfItsOwnStepAfterARestart) {
  const auto run = make(ways[0]);
  run->advance(4);
  const auto right = gather(world, run->field("velocity"), run->grid().box());
  Checkpoints checkpoints(world, in("velocity"));
  checkpoints.begin(run->state());
  checkpoints.finish();
  run->advance(6);
  run->field("velocity");
  restore(world, checkpoints.last(), run->state());
  const auto values = gather(world, run->field("velocity"), run->grid().box());
  EXPECT_TRUE(values == right);
}

TEST_F(CheckpointOnRanks, KeepsARingOfTheLastAndDropsAFutureThatWasAbandoned) {
  const auto run = make(ways[0]);
  const auto names = [&] {
    std::vector<std::string> names;
    for (const auto& path : checkpoints_in(folder + "/ring")) names.push_back(fs::path(path).filename());
    return names;
  };
  const auto name = [](int step) { return "checkpoint-00000000000" + std::to_string(step) + ".h5"; };
  std::string second;
  {
    Checkpoints checkpoints(world, in("ring", 3));
    for (int n = 0; n < 5; ++n) {
      run->advance(1);
      checkpoints.begin(run->state());
      checkpoints.poll();
    }
    checkpoints.finish();
    EXPECT_EQ(checkpoints.take_results().size(), 5u);
    EXPECT_EQ(names(), (std::vector<std::string>{name(3), name(4), name(5)}));
  }
  world.barrier();
  restore(world, folder + "/ring/" + name(3), run->state());
  Checkpoints checkpoints(world, in("ring", 3));
  EXPECT_EQ(checkpoints.last(), folder + "/ring/" + name(5));
  run->advance(1);
  checkpoints.begin(run->state());
  checkpoints.finish();
  EXPECT_EQ(names(), (std::vector<std::string>{name(3), name(4)}));
  world.barrier();
}

/// One rank learns that its part of the checkpoint is on disk before all ranks collectively ask whether it is.
TEST_F(CheckpointOnRanks, MayBeFoundWrittenByOneRankBeforeOthersAsk) {
  const auto run = make(ways[0]);
  Checkpoints checkpoints(world, in("early"));
  for (int n = 0; n < 3; ++n) {
    run->advance(1);
    checkpoints.begin(run->state());
    for (int poll = 0; world.rank() == n % world.size() && poll < 40; ++poll) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      checkpoints.poll();
    }
  }
  checkpoints.finish();
  const auto results = checkpoints.take_results();
  ASSERT_EQ(results.size(), 3u);
  for (const auto& result : results) EXPECT_EQ(result.error, "");
  EXPECT_FALSE(error_of([&] { restore(world, checkpoints.last(), run->state()); }));
}

TEST_F(CheckpointOnRanks, ThatCannotBeWrittenIsAResultAndLeavesTheOldOne) {
  const auto run = make(ways[0]);
  Checkpoints checkpoints(world, in("full"));
  checkpoints.begin(run->state());
  checkpoints.finish();
  const std::string old = checkpoints.last();
  run->advance(1);
  // A file size limit simulates a full disk. SIGXFSZ is ignored, so that a write fails and does not end the process.
  struct rlimit limit {};
  getrlimit(RLIMIT_FSIZE, &limit);
  const auto before = signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = limit;
  small.rlim_cur = 10000;
  setrlimit(RLIMIT_FSIZE, &small);
  checkpoints.begin(run->state());
  checkpoints.finish();
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, before);
  const auto results = checkpoints.take_results();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].step, 1);
  EXPECT_NE(results[1].error, "");
  EXPECT_EQ(results[1].path, "");
  EXPECT_EQ(checkpoints.last(), old);
  EXPECT_FALSE(error_of([&] { restore(world, old, run->state()); }));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder + "/full"), {}), 1) << "nothing half-written stays";
  world.barrier();
  run->advance(1);
  checkpoints.begin(run->state());
  checkpoints.finish();
  EXPECT_EQ(checkpoints.take_results().at(0).error, "") << "there is room again";
}

TEST_F(CheckpointOnRanks, RemovesWhatAKilledRunLeftIncomplete) {
  fs::create_directories(folder + "/killed");
  world.barrier();
  const std::string left = folder + "/killed/.checkpoint-000000000009.h5.part";
  if (world.rank() == 0) std::ofstream(left) << "half";
  world.barrier();
  const Checkpoints checkpoints(world, in("killed"));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(checkpoints.last(), "");
}

TEST_F(CheckpointOnRanks, OfOtherWallsIsRefusedOnAllRanks) {
  const std::string path = written();
  const auto run = make(ways[0], false);
  expect_refused(path, run->state(), ErrorCode::mismatch, {{"field", "flags"}, {"cell", "(5, 3, 2)"}});
}

TEST_F(CheckpointOnRanks, OfAnotherGridOrFormatIsRefusedOnAllRanks) {
  const std::string path = written();
  lbm::Options o = channel();
  o.precision = DType::f64;
  const auto other_format = make(ways[0], false, o);
  expect_refused(path, other_format->state(), ErrorCode::mismatch,
                 {{"field", "density"}, {"given", "f32 with 1 component"}, {"needed", "f64 with 1 component"}});
  o = channel();
  o.cells[0] += 2;
  const auto other_grid = make(ways[0], false, o);
  expect_refused(path, other_grid->state(), ErrorCode::mismatch, {{"given", "14 x 11 x 9"}, {"needed", "16 x 11 x 9"}});
}

TEST_F(CheckpointOnRanks, WithOneByteFlippedIsRefusedOnAllRanksNamingTheDataset) {
  const std::string path = written();
  if (world.rank() == 0) {
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "/fields/populations", H5P_DEFAULT);
    const auto at = static_cast<std::streamoff>(H5Dget_offset(dataset)) + 1234;
    H5Dclose(dataset);
    H5Fclose(file);
    std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(at);
    const char flipped = static_cast<char>(bytes.get() ^ 0x10);
    bytes.seekp(at);
    bytes.put(flipped);
  }
  world.barrier();
  const auto run = make(ways[0]);
  expect_refused(path, run->state(), ErrorCode::bad_file,
                 {{"dataset", "/fields/populations"}, {"problem", "checksum"}});
}

TEST_F(CheckpointOnRanks, IsStoppedOnAllRanksWhereOneGetsASignal) {
  const StopRequest stop(world);
  EXPECT_EQ(stop.reason(), "");
  if (world.rank() == world.size() - 1) raise(SIGUSR1);
  EXPECT_EQ(stop.reason(), "SIGUSR1");
}

TEST_F(CheckpointOnRanks, IsStoppedByTheClockOfAnyRank) {
  const StopRequest stop(world, world.rank() == 0 ? 1e-9 : 1e9);
  EXPECT_EQ(stop.reason(), "the wall-clock limit");
}

}  // namespace
}  // namespace slipstream
