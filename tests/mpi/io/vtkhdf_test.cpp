#include <slipstream/vtkhdf.hpp>

#include <gtest/gtest.h>

#include <fstream>

#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/vtkhdf_reading.hpp"

namespace slipstream {
namespace {

using namespace testing_support;
namespace fs = std::filesystem;

class VtkhdfOnRanks : public testing::Test {
 protected:
  VtkhdfOnRanks()
      : comm(Communicator::world()), folder(comm.broadcast(comm.rank() == 0 ? make_folder() : std::string{}, 0)) {
    Machine::Options options;
    options.bind = false;
    machine.push_back(Machine::discover(comm, options));
  }
  ~VtkhdfOnRanks() override {
    comm.barrier();
    if (comm.rank() == 0) fs::remove_all(folder);
  }

  /// Checks that all ranks throw the same error.
  void expect_on_all(const std::function<void()>& call, ErrorCode code, const Facts& facts) const {
    const auto error = error_of(call);
    expect_error(error, code, facts);
    const std::string text = error ? error->what() : "";
    for (const std::string& other : comm.all_gather(text)) EXPECT_EQ(other, text);
  }

  /// Writes two steps of a scalar, a vector and flags, collectively and through rank 0; compares them with formula().
  void expect_right_files(const Grid& grid, std::int64_t piece_bytes) const {
    Field scalar(grid, {.name = "f", .type = DType::f64}),
        vector(grid, {.name = "f", .components = 3, .layout = Layout::aos}),
        flags(grid, {.name = "f", .type = DType::u8});
    for (const bool collect : {false, true}) {
      const std::string path = folder + (collect ? "/collected.vtkhdf" : "/together.vtkhdf");
      VtkhdfSeries series(comm, grid, path, {.collect = collect, .piece_bytes = piece_bytes});
      for (int step = 0; step < 2; ++step) {
        fill(scalar, step);
        fill(vector, step);
        fill(flags, step);
        series.write(step, {{"scalar", &scalar, 0.5}, {"vector", &vector}, {"flags", &flags}});
      }
      if (comm.rank() == 0) {
        const Extent n = grid.extent();
        EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/scalar").values, expected(n, 1, {0, 1}, 0.5));
        EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/vector").values, expected(n, 3, {0, 1}));
        EXPECT_EQ(read_dataset(path, "/VTKHDF/CellData/flags").values, expected(n, 1, {0, 1}));
        EXPECT_EQ(read_attribute(path, "/VTKHDF/Steps", "NSteps"), std::vector<double>{2});
      }
      comm.barrier();
    }
  }

  Communicator comm;
  std::string folder;
  std::vector<Machine> machine;  // a vector of one element, because Machine has no empty state
};

TEST_F(VtkhdfOnRanks, WritesTheSameTogetherAndCollected) {
  GridOptions options;
  options.partition.blocks_per_device = {1, 2, 1};
  expect_right_files(Grid({17, 16, 13}, machine[0], comm.rank(), options), std::int64_t{64} << 20);
}

TEST_F(VtkhdfOnRanks, WritesTheSameInManySmallPieces) {
  expect_right_files(Grid({17, 16, 3}, machine[0], comm.rank()), 300);
}

TEST_F(VtkhdfOnRanks, WritesTwoDimensions) { expect_right_files(Grid({32, 19, 1}, machine[0], comm.rank()), 1000); }

TEST_F(VtkhdfOnRanks, WritesWhereAllBlocksLieOnTheLastRank) {
  GridOptions options;
  const int last = machine[0].devices() - 1;
  options.boxes = {{0, {{0, 0, 0}, {5, 7, 6}}, last, comm.size() - 1},
                   {1, {{5, 0, 0}, {9, 7, 6}}, last, comm.size() - 1}};
  expect_right_files(Grid({9, 7, 6}, machine[0], comm.rank(), options), 500);
}

TEST_F(VtkhdfOnRanks, ThrowsOneMessageOnAllRanksForABadPath) {
  const Grid grid({16, 16, 8}, machine[0], comm.rank());
  if (comm.rank() == 0) std::ofstream(folder + "/plain") << "text";
  comm.barrier();
  for (const char* bad : {"/plain/out.vtkhdf", "/none/out.vtkhdf", "/plain"})
    expect_on_all([&] { VtkhdfSeries(comm, grid, folder + bad, {}); },
                  std::string(bad) == "/plain" ? ErrorCode::io : ErrorCode::not_found, {{"file", folder + bad}});
}

TEST_F(VtkhdfOnRanks, ThrowsOneMessageOnAllRanksWhereTheFileIsSpoiled) {
  const Grid grid({16, 16, 8}, machine[0], comm.rank());
  const Field field(grid, {});
  VtkhdfSeries series(comm, grid, folder + "/out.vtkhdf", {});
  if (comm.rank() == 0) std::ofstream(folder + "/out.vtkhdf", std::ios::trunc) << "no longer HDF5";
  comm.barrier();
  expect_on_all([&] { series.write(0, {{"q", &field}}); }, ErrorCode::io, {{"file", folder + "/out.vtkhdf"}});
}

TEST_F(VtkhdfOnRanks, ThrowsWhereRanksWriteDifferentSteps) {
  if (comm.size() == 1) GTEST_SKIP() << "one rank cannot differ";
  const Grid grid({16, 16, 8}, machine[0], comm.rank());
  const Field field(grid, {});
  VtkhdfSeries series(comm, grid, folder + "/out.vtkhdf", {});
  const bool first = comm.rank() == 0;
  expect_on_all([&] { series.write(0, {{first ? "q" : "p", &field}}); }, ErrorCode::mismatch, {{"rank", 1}});
  expect_on_all([&] { series.write(first ? 0 : 1, {{"q", &field}}); }, ErrorCode::mismatch, {{"rank", 1}});
  EXPECT_FALSE(error_of([&] { series.write(0, {{"q", &field}}); }));
}

}  // namespace
}  // namespace slipstream
