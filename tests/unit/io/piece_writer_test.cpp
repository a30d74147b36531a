#include "io/piece_writer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include <slipstream/grid.hpp>

#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/vtkhdf_reading.hpp"

namespace slipstream {
namespace {

using namespace testing_support;
namespace fs = std::filesystem;

/// A field of one block, the list of its pieces, and a file with room for them.
class Pieces : public testing::TestWithParam<std::tuple<Layout, Snapshot>> {
 protected:
  Pieces()
      : machine(machine_here(Backend::host, 1)),
        grid({9, 8, 7}, machine, 0),
        field(grid, {.name = "f", .components = 3, .ghost = {1, 1, 1}, .layout = std::get<Layout>(GetParam())}),
        folder(make_folder()) {
    fill(field, 0);
    array = cut_field("f", field, 4096);
    array.checksums_at = array.values * 4;
    std::ofstream file(folder + "/out");
  }
  ~Pieces() override { fs::remove_all(folder); }

  std::string write(const std::string& path, std::int64_t staging_bytes) {
    PieceWriter writer(staging_bytes, std::get<Snapshot>(GetParam()));
    writer.open(path);
    for (std::size_t n = 0; n < array.pieces.size(); ++n) writer.add(field, 0, array, n);
    writer.snapshot();
    fill(field, 1);  // the writer must have copied the values by now
    writer.end();
    writer.wait();
    return writer.failure();
  }

  /// Compares each piece of the field and its checksum in the file with the values of formula().
  void expect_right_file() {
    std::ifstream file(folder + "/out", std::ios::binary);
    for (std::size_t n = 0; n < array.pieces.size(); ++n) {
      const CheckpointPiece& piece = array.pieces[n];
      std::vector<float> values, right;
      for (int c = 0; c < 3; ++c)
        for (std::int64_t z = piece.box.lo[2]; z < piece.box.hi[2]; ++z)
          for (std::int64_t y = piece.box.lo[1]; y < piece.box.hi[1]; ++y)
            for (std::int64_t x = piece.box.lo[0]; x < piece.box.hi[0]; ++x)
              right.push_back(static_cast<float>(formula(x, y, z, c, 0)));
      values.resize(right.size());
      file.seekg(piece.first * 4);
      file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
      EXPECT_EQ(values, right) << "piece " << n;
      std::uint32_t sum = 0;
      file.seekg(array.checksums_at + static_cast<std::int64_t>(4 * n));
      file.read(reinterpret_cast<char*>(&sum), 4);
      EXPECT_EQ(sum, checksum(piece, right.data(), right.size() * 4)) << "piece " << n;
    }
  }

  Machine machine;
  Grid grid;
  Field field;
  CheckpointArray array;
  std::string folder;
};

TEST_P(Pieces, AreWrittenWhereTheyBelongThoughTheFieldChanges) {
  ASSERT_GT(array.pieces.size(), 1u);
  ASSERT_EQ(write(folder + "/out", std::int64_t{1} << 30), "");
  expect_right_file();
}

TEST_P(Pieces, PassThroughTwoBuffersWhereThereIsNoMoreMemory) {
  array = cut_field("f", field, 300);
  array.checksums_at = array.values * 4;
  ASSERT_GT(array.pieces.size(), 10u);
  ASSERT_EQ(write(folder + "/out", 1), "");
  expect_right_file();
}

TEST_P(Pieces, NeedAFileThatIsThere) {
  expect_error([&] { write(folder + "/none", 1); }, ErrorCode::io, {{"file", folder + "/none"}});
}

TEST_P(Pieces, ThatMeetAFullDiskAreAFailureWithAReason) {
  EXPECT_EQ(write("/dev/full", std::int64_t{1} << 30), "writing '/dev/full': No space left on device");
}

std::string name_of(const testing::TestParamInfo<Pieces::ParamType>& info) {
  return to_string(std::get<Layout>(info.param)) + "_" + to_string(std::get<Snapshot>(info.param));
}

INSTANTIATE_TEST_SUITE_P(PieceWriter, Pieces,
                         testing::Combine(testing::Values(Layout::soa, Layout::aos, Layout::soa_z),
                                          testing::Values(Snapshot::pinned, Snapshot::device)),
                         name_of);

}  // namespace
}  // namespace slipstream
