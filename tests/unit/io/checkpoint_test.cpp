#include <slipstream/checkpoint.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <optional>

#include <slipstream/grid.hpp>

#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/vtkhdf_reading.hpp"

namespace slipstream {
namespace {

using namespace testing_support;
namespace fs = std::filesystem;

/// A State with fields of all types, without a solver, and its checkpoint.
class CheckpointFile : public testing::Test {
 protected:
  CheckpointFile()
      : comm(Communicator::world()),
        machine(machine_here(Backend::host, 1)),
        grid({5, 4, 3}, machine, 0),
        f(grid, {.name = "f", .type = DType::f64, .components = 2}),
        g(grid, {.name = "g", .type = DType::u8}),
        h(grid, {.name = "h", .type = DType::i64, .layout = Layout::aos}),
        folder(make_folder()) {
    state.fields = {{"f", &f}, {"g", &g}, {"h", &h}};
    state.fixed = {"g"};
    state.step = 1234567;
    state.time = 0.1;
    for (Field* field : {&f, &g, &h}) fill(*field, 3);
    before = all_bytes();
    Checkpoints::Options options;
    options.folder = folder;
    options.case_text = "a = 1\n";
    Checkpoints checkpoints(comm, options);
    checkpoints.begin(state, "b = 2\n");
    checkpoints.finish();
    path = checkpoints.last();
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  ~CheckpointFile() override { fs::remove_all(folder); }

  std::string all_bytes() const {
    std::string text;
    for (const Field* field : {&f, &g, &h}) {
      const std::size_t cell = field->options().components * size_of(field->options().type);
      std::string values(volume(grid.extent()) * cell, '\0');
      field->read(grid.box(), values.data());
      text += values;
    }
    return text;
  }
  void put(const std::string& content) const { std::ofstream(path, std::ios::binary) << content; }
  std::optional<Error> restore_error() {
    for (Field* field : {&f, &h}) fill(*field, 9);
    state.step = -1;
    state.time = -1;
    return error_of([&] { restore(comm, path, state); });
  }

  Communicator comm;
  Machine machine;
  Grid grid;
  Field f, g, h;
  State state;
  std::string folder, path, before, bytes;
};

TEST_F(CheckpointFile, BringsBackFieldsTimeAndStep) {
  EXPECT_FALSE(restore_error());
  EXPECT_EQ(all_bytes(), before);
  EXPECT_EQ(state.step, 1234567);
  EXPECT_EQ(state.time, 0.1);
}

TEST_F(CheckpointFile, SaysWhatItHolds) {
  const CheckpointInfo info = read_checkpoint_info(path);
  EXPECT_EQ(info.fields, (std::vector<std::string>{"f", "g", "h"}));
  EXPECT_EQ(info.extent, (Extent{5, 4, 3}));
  EXPECT_EQ(info.case_text, "a = 1\n");
  EXPECT_EQ(info.notes, "b = 2\n");
  EXPECT_EQ(info.step, 1234567);
}

TEST_F(CheckpointFile, OfTheSameStateHasTheSameBytes) {
  Checkpoints::Options options;
  options.folder = folder + "/again";
  options.case_text = "a = 1\n";
  Checkpoints checkpoints(comm, options);
  checkpoints.begin(state, "b = 2\n");
  checkpoints.finish();
  std::ifstream file(checkpoints.last(), std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), bytes);
}

TEST_F(CheckpointFile, WithAnyByteFlippedIsRefusedOrHarmless) {
  int refused = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 67) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    put(damaged);
    const auto error = restore_error();
    if (!error) {
      EXPECT_EQ(all_bytes(), before) << "byte " << at;  // this byte is in a gap between datasets
      EXPECT_EQ(state.step, 1234567) << "byte " << at;
      EXPECT_EQ(state.time, 0.1) << "byte " << at;
      continue;
    }
    ++refused;
    EXPECT_EQ(error->fact("file"), path) << error->what();
  }
  EXPECT_GT(refused, 100);
}

TEST_F(CheckpointFile, ThatIsTruncatedIsRefused) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    put(bytes.substr(0, size));
    expect_error(restore_error(), ErrorCode::bad_file,
                 {{"file", path}, {"problem", size < 4096 ? "first_page" : "size"}});
  }
}

TEST_F(CheckpointFile, OfAnotherVersionIsRefusedNamingWhoWroteIt) {
  std::string other = bytes;
  other.replace(other.find("version 1\n"), 10, "version 9\n");
  put(other);
  const auto error = restore_error();
  expect_error(error, ErrorCode::version, {{"file", path}, {"given", 9}, {"needed", 1}});
  EXPECT_EQ(error->fact("written_by").find("slipstream"), 0u);
}

TEST_F(CheckpointFile, IsNotTakenFromAnyHdf5File) {
  H5Fclose(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  expect_error(restore_error(), ErrorCode::bad_file, {{"file", path}, {"problem", "first_page"}});
}

TEST_F(CheckpointFile, ThatIsNotThereIsSaid) {
  fs::remove(path);
  expect_error(restore_error(), ErrorCode::not_found, {{"file", path}});
}

TEST_F(CheckpointFile, WithOtherFieldsIsRefused) {
  state.fields.erase("h");
  expect_error(restore_error(), ErrorCode::mismatch, {{"file", path}, {"field", "h"}, {"problem", "field_unknown"}});
  state.fields["h"] = &h;
  state.fields["k"] = &h;
  expect_error(restore_error(), ErrorCode::mismatch, {{"file", path}, {"field", "k"}, {"problem", "field_missing"}});
}

TEST_F(CheckpointFile, NeedsAFolderThatCanBeMade) {
  std::ofstream(folder + "/plain") << "text";
  Checkpoints::Options options;
  options.folder = folder + "/plain/inside";
  expect_error([&] { Checkpoints(comm, options); }, ErrorCode::io, {{"folder", options.folder}});
}

TEST(StopRequests, AreOneAtATime) {
  const Communicator comm = Communicator::world();
  const StopRequest first(comm);
  expect_error([&] { StopRequest(comm, 1); }, ErrorCode::wrong_state, {{"problem", "one_at_a_time"}});
}

}  // namespace
}  // namespace slipstream
