// The cache of measured results on disk.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <slipstream/error.hpp>

#include "exchange/remembered.hpp"

namespace slipstream {
namespace {

class RememberedFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder); }
  TuneOptions how() const {
    TuneOptions options;
    options.cache_folder = folder + "/new";
    return options;
  }
  Remembered of(const std::string& key, const std::string& form = "toy 1") const {
    return {{"the toy", form}, key, how()};
  }
  static std::string text_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static void write(const std::string& file, const std::string& text) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  }
  static bool anything(const std::string&) { return true; }

  const std::string folder =
      (std::filesystem::temp_directory_path() / ("slipstream-remembered-" + std::to_string(::getpid()))).string();
};

TEST_F(RememberedFile, HoldsWhatWasKeptAlone) {
  Remembered first = of("a key");
  EXPECT_EQ(first.recall(anything), std::nullopt);
  first.keep("three\nend \nlines\n");
  EXPECT_EQ(of("a key").recall(anything), "three\nend \nlines\n");
  EXPECT_TRUE(first.notes().empty());
  const auto entries = std::filesystem::directory_iterator(folder + "/new");
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST_F(RememberedFile, IsNotReadUnderAnotherKeyOrForm) {
  of("a key").keep("a line\n");
  EXPECT_EQ(of("another key").recall(anything), std::nullopt);
  EXPECT_EQ(of("a key", "toy 2").recall(anything), std::nullopt);
  // A file contains its key, so a copy under another key's name is ignored.
  std::filesystem::copy_file(of("a key").file(), of("another key").file());
  EXPECT_EQ(of("another key").recall(anything), std::nullopt);
}

TEST_F(RememberedFile, CountsAsNoneWithAnyByteChangedOrCutShort) {
  of("a key").keep("a line\n");
  const std::string file = of("a key").file(), text = text_of(file);
  const auto refused = [&](const std::string& damaged) {
    write(file, damaged);
    Remembered memory = of("a key");
    return !memory.recall(anything) && memory.notes().size() == 1 &&
           memory.notes()[0].find(file + " is damaged") != std::string::npos;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] ^= 1;
    EXPECT_TRUE(refused(damaged)) << "byte " << at;
    EXPECT_TRUE(refused(text.substr(0, at))) << at << " bytes";
  }
  write(file, text);
  EXPECT_EQ(of("a key").recall(anything), "a line\n");
}

TEST_F(RememberedFile, CountsAsNoneWhereItsLinesCannotBeRead) {
  of("a key").keep("a line\n");
  Remembered memory = of("a key");
  EXPECT_EQ(memory.recall([](const std::string&) { return false; }), std::nullopt);
  EXPECT_EQ(memory.notes().size(), 1u);
}

TEST_F(RememberedFile, SaysWhyItCouldNotBeWritten) {
  TuneOptions nowhere;
  nowhere.cache_folder = "/proc/no/such/folder";
  Remembered memory({"the toy", "toy 1"}, "a key", nowhere);
  memory.keep("a line\n");
  ASSERT_EQ(memory.notes().size(), 1u);
  EXPECT_EQ(memory.notes()[0].find("the toy is not kept: /proc/no/such/folder/tuned-"), 0u) << memory.notes()[0];
}

TEST_F(RememberedFile, IsMeasuredOnceAndAgainWhereAsked) {
  const Communicator comm = Communicator::world();
  int measurements = 0;
  const auto expect = [&](bool again, const std::string& answer, bool measured) {
    TuneOptions options = how();
    options.retune = again;
    Remembered memory({"the toy", "toy 1"}, "a key", options);
    std::string read;
    memory.find(
        comm, [&](const std::string& lines) { return !(read = lines).empty(); },
        [&] { return std::to_string(++measurements) + "\n"; });
    EXPECT_EQ(read, answer);
    EXPECT_EQ(memory.measured(), measured);
  };
  expect(false, "1\n", true);
  expect(false, "1\n", false);
  expect(true, "2\n", true);
  expect(false, "2\n", false);
}

TEST_F(RememberedFile, IsRecalledWithoutMeasuring) {
  const Communicator comm = Communicator::world();
  of("a key").keep("a line\n");
  Remembered memory = of("a key");
  std::string read;
  memory.find(
      comm, [&](const std::string& lines) { return !(read = lines).empty(); },
      []() -> std::string { throw Error(ErrorCode::internal, "measured"); });
  EXPECT_EQ(read, "a line\n");
  EXPECT_FALSE(memory.measured());
}

TEST_F(RememberedFile, KeepsNothingWhereNothingWasFound) {
  const Communicator comm = Communicator::world();
  Remembered memory = of("a key");
  memory.find(
      comm, [](const std::string&) -> bool { throw Error(ErrorCode::internal, "read"); }, [] { return std::string(); });
  EXPECT_TRUE(memory.measured());
  EXPECT_FALSE(std::filesystem::exists(memory.file()));
}

}  // namespace
}  // namespace slipstream
