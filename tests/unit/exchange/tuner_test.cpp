// What a tuner keeps on disk, and names of routes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <slipstream/error.hpp>

#include "exchange/tuner_cache.hpp"

namespace slipstream {
namespace {

Found example() {
  Found found;
  found.knobs.in_place = 64;
  found.knobs.streams = Lanes::one;
  found.knobs.grouping = Grouping::nodes;
  found.chosen[{0, 1}] = RouteKind::direct;
  found.reasons[{0, 1}] = "measured: direct 21.0 us, peer 40.0 us";
  found.chosen[{1, 0}] = RouteKind::staged;
  found.reasons[{1, 0}] = "measured";
  return found;
}

TEST(TunerText, ReadsBackWhatItWrote) {
  const Found want = example();
  const auto have = found_from_text("a key", to_text("a key", want));
  ASSERT_TRUE(have.has_value());
  EXPECT_EQ(have->chosen, want.chosen);
  EXPECT_EQ(have->reasons, want.reasons);
  EXPECT_EQ(have->knobs, want.knobs);
}

TEST(TunerText, IsRefusedUnderAnotherKey) {
  EXPECT_FALSE(found_from_text("another key", to_text("a key", example())).has_value());
}

TEST(TunerText, IsRefusedWithAnyByteChanged) {
  const std::string text = to_text("a key", example());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] ^= 1;
    EXPECT_FALSE(found_from_text("a key", damaged).has_value()) << "byte " << at;
  }
}

TEST(TunerText, IsRefusedWhenCutShort) {
  const std::string text = to_text("a key", example());
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(found_from_text("a key", text.substr(0, length)).has_value()) << length << " bytes";
}

TEST(TunerCache, LeavesOneFileWithTheText) {
  const auto folder = std::filesystem::temp_directory_path() / ("slipstream-cache-" + std::to_string(::getpid()));
  const std::string file = cache_file((folder / "new").string(), "a key");
  EXPECT_EQ(write_cache(file, "text"), "");
  EXPECT_EQ(read_cache(file), "text");
  const auto entries = std::filesystem::directory_iterator(folder / "new");
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
  std::filesystem::remove_all(folder);
}

TEST(TunerCache, SaysWhyItCouldNotWrite) {
  EXPECT_NE(write_cache("/proc/no/such/folder/file", "text").find("/proc/no/such/folder/file"), std::string::npos);
}

using Kinds = std::vector<RouteKind>;

TEST(Routes, NamedAloneAreTheOnlyOnes) {
  EXPECT_EQ(routes_from_string("staged, direct"), (Kinds{RouteKind::direct, RouteKind::staged}));
}

TEST(Routes, WithASignChangeAllOfThem) {
  const Kinds kinds = routes_from_string("-direct,-peer,+peer");
  EXPECT_EQ(kinds.size(), all_routes().size() - 1);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), RouteKind::direct), 0);
}

TEST(Routes, MayBeAddedToThoseNamed) {
  EXPECT_EQ(routes_from_string("staged,+kernel"), (Kinds{RouteKind::kernel, RouteKind::staged}));
}

TEST(Routes, AreAllWhenNothingIsSaid) { EXPECT_EQ(routes_from_string(""), all_routes()); }

TEST(Routes, CannotAllBeTakenAway) { EXPECT_THROW(routes_from_string("staged,-staged"), Error); }

}  // namespace
}  // namespace slipstream
