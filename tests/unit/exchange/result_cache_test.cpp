// The cache of measured results on disk.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <slipstream/error.hpp>

#include "exchange/result_cache.hpp"

namespace slipstream {
namespace {

class ResultCacheFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder); }
  TuneOptions how() const {
    TuneOptions options;
    options.cache_folder = folder + "/new";
    return options;
  }
  ResultCache of(const std::string& key, const std::string& form = "toy 1") const {
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
      (std::filesystem::temp_directory_path() / ("slipstream-result-cache-" + std::to_string(::getpid()))).string();
};

TEST_F(ResultCacheFile, HoldsWhatWasKeptAlone) {
  ResultCache cache = of("a key");
  EXPECT_EQ(cache.recall(anything), std::nullopt);
  cache.keep("three\nend \nlines\n");
  EXPECT_EQ(of("a key").recall(anything), "three\nend \nlines\n");
  EXPECT_TRUE(cache.notes().empty());
  const auto entries = std::filesystem::directory_iterator(folder + "/new");
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST_F(ResultCacheFile, IsNotReadUnderAnotherKeyOrForm) {
  of("a key").keep("a line\n");
  EXPECT_EQ(of("another key").recall(anything), std::nullopt);
  EXPECT_EQ(of("a key", "toy 2").recall(anything), std::nullopt);
  // A file contains its key, so a copy under another key's name is ignored.
  std::filesystem::copy_file(of("a key").file(), of("another key").file());
  EXPECT_EQ(of("another key").recall(anything), std::nullopt);
}

TEST_F(ResultCacheFile, CountsAsNoneWithAnyByteChangedOrCutShort) {
  of("a key").keep("a line\n");
  const std::string file = of("a key").file(), text = text_of(file);
  const auto refused = [&](const std::string& damaged) {
    write(file, damaged);
    ResultCache cache = of("a key");
    return !cache.recall(anything) && cache.notes().size() == 1 &&
           cache.notes()[0].find(file + " is damaged") != std::string::npos;
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

TEST_F(ResultCacheFile, CountsAsNoneWhereItsLinesCannotBeRead) {
  of("a key").keep("a line\n");
  ResultCache cache = of("a key");
  EXPECT_EQ(cache.recall([](const std::string&) { return false; }), std::nullopt);
  EXPECT_EQ(cache.notes().size(), 1u);
}

TEST_F(ResultCacheFile, SaysWhyItCouldNotBeWritten) {
  TuneOptions nowhere;
  nowhere.cache_folder = "/proc/no/such/folder";
  ResultCache cache({"the toy", "toy 1"}, "a key", nowhere);
  cache.keep("a line\n");
  ASSERT_EQ(cache.notes().size(), 1u);
  EXPECT_EQ(cache.notes()[0].find("the toy is not kept: /proc/no/such/folder/tuned-"), 0u) << cache.notes()[0];
}

TEST_F(ResultCacheFile, IsMeasuredOnceAndAgainWhereAsked) {
  const Communicator comm = Communicator::world();
  int measurements = 0;
  const auto expect = [&](bool again, const std::string& answer, bool measured) {
    TuneOptions options = how();
    options.retune = again;
    ResultCache cache({"the toy", "toy 1"}, "a key", options);
    std::string read;
    cache.find(
        comm, [&](const std::string& lines) { return !(read = lines).empty(); },
        [&] { return std::to_string(++measurements) + "\n"; });
    EXPECT_EQ(read, answer);
    EXPECT_EQ(cache.measured(), measured);
  };
  expect(false, "1\n", true);
  expect(false, "1\n", false);
  expect(true, "2\n", true);
  expect(false, "2\n", false);
}

TEST_F(ResultCacheFile, IsRecalledWithoutMeasuring) {
  const Communicator comm = Communicator::world();
  of("a key").keep("a line\n");
  ResultCache cache = of("a key");
  std::string read;
  cache.find(
      comm, [&](const std::string& lines) { return !(read = lines).empty(); },
      []() -> std::string { throw Error(ErrorCode::internal, "measured"); });
  EXPECT_EQ(read, "a line\n");
  EXPECT_FALSE(cache.measured());
}

TEST_F(ResultCacheFile, KeepsNothingWhereNothingWasFound) {
  const Communicator comm = Communicator::world();
  ResultCache cache = of("a key");
  cache.find(
      comm, [](const std::string&) -> bool { throw Error(ErrorCode::internal, "read"); }, [] { return std::string(); });
  EXPECT_TRUE(cache.measured());
  EXPECT_FALSE(std::filesystem::exists(cache.file()));
}

}  // namespace
}  // namespace slipstream
