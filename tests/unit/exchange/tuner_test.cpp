// The tuner's cache on disk, and names of routes.
#include <gtest/gtest.h>

#include <algorithm>

#include <slipstream/error.hpp>

#include "exchange/tuner_cache.hpp"

namespace slipstream {
namespace {

Found example() {
  Found found;
  found.knobs.in_place = 64;
  found.knobs.streams = Lanes::one;
  found.knobs.grouping = Grouping::nodes;
  found.chosen[7] = RouteKind::direct;
  found.reasons[7] = "measured: direct 21.0 us, peer 40.0 us";
  found.chosen[std::uint64_t{1} << 51] = RouteKind::staged;
  found.reasons[std::uint64_t{1} << 51] = "measured";
  return found;
}

TEST(TunerText, ReadsBackWhatItWrote) {
  const Found want = example();
  const auto have = found_from_lines(to_lines(want));
  ASSERT_TRUE(have.has_value());
  EXPECT_EQ(have->chosen, want.chosen);
  EXPECT_EQ(have->reasons, want.reasons);
  EXPECT_EQ(have->knobs, want.knobs);
}

TEST(TunerText, IsRefusedWithRoutesOfAnotherBuild) {
  EXPECT_FALSE(found_from_lines(to_lines(example()) + "class 3 carrier_pigeon measured\n").has_value());
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
