// Tests of the loop that measures the tuner's candidates.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "exchange/choices.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

TuneOptions often(int warm_ups, int trials) {
  TuneOptions how;
  how.warm_ups = warm_ups;
  how.trials = trials;
  return how;
}

TEST(Measure, CountsTheLeastOfItsTrialsAndNoWarmUp) {
  const Communicator comm = Communicator::world();
  int runs = 0, warm_ups = 0;
  const double times[]{5, 3, 4};
  const Trials found = measure(comm, often(2, 3), {[&] { return times[runs++]; }, [&] { ++warm_ups; }});
  EXPECT_EQ(found.seconds, 3);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(warm_ups, 2);
  runs = 0;
  EXPECT_EQ(measure(comm, often(1, 0), {[&] { return times[runs++]; }}).seconds, 3) << "one trial is the least";
}

TEST(Measure, StopsWhereThereIsNoHope) {
  int runs = 0;
  const auto run = [&] { return static_cast<double>(++runs); };
  const Trials found = measure(Communicator::world(), often(0, 5), {run, {}, [](double first) { return first > 0.5; }});
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(found.seconds, 1);
}

TEST(Measure, EndsWithTheFirstFailure) {
  int runs = 0;
  const auto fail = [] { throw Error(ErrorCode::unavailable, "none", {{"run", 2}}); };
  const Trials found = measure(Communicator::world(), often(0, 5), {[&] {
                                 if (++runs == 2) fail();
                                 return 1.0;
                               }});
  EXPECT_EQ(runs, 2);
  expect_error(found.failure, ErrorCode::unavailable, {{"run", 2}});
  int tried = 0;
  const Trials cold = measure(Communicator::world(), often(3, 5), {[&] { return double(++tried); }, fail});
  expect_error(cold.failure, ErrorCode::unavailable);
  EXPECT_EQ(tried, 0);
  EXPECT_EQ(cold.seconds, never);
}

TEST(SecondsAStep, RunManyStepsOfAMultipleAndDivideByThem) {
  std::vector<std::int64_t> runs;
  const double seconds = seconds_a_step(
      Communicator::world(), often(2, 8), [&](std::int64_t steps) { runs.push_back(steps); }, 7);
  ASSERT_EQ(runs.size(), 4u) << "a guess, and three trials";
  EXPECT_EQ(runs[0], 2);
  for (const std::size_t n : {1, 2, 3}) {
    EXPECT_EQ(runs[n] % 7, 0);
    EXPECT_EQ(runs[n], runs[1]);
    EXPECT_LE(runs[n], 406) << "400 steps at most, in sevens";
  }
  EXPECT_TRUE(std::isfinite(seconds));
  expect_error(
      [] { seconds_a_step(Communicator::world(), {}, [](std::int64_t) { throw Error(ErrorCode::timeout, "late"); }); },
      ErrorCode::timeout);
}

class ChoiceByTime : public testing::Test {
 protected:
  ChoiceByTime() {
    how.cache_folder =
        (std::filesystem::temp_directory_path() / ("slipstream-choices-" + std::to_string(::getpid()))).string();
  }
  ~ChoiceByTime() override { std::filesystem::remove_all(how.cache_folder); }
  Chosen choose(double tie = 1) {
    asked = 0;
    return choose_by_time(Communicator::world(), {{"the toy", "toy 1"}, "a key", {"1 x 8", "2 x 4", "8 x 1"}, tie}, how,
                          [&](std::size_t n) {
                            ++asked;
                            return times.at(n);
                          });
  }
  TuneOptions how;
  std::vector<double> times{1.02, 1. / 3, never};
  int asked = 0;
};

TEST_F(ChoiceByTime, TakesTheFastestAndRemembersAllTimes) {
  const Chosen first = choose(), again = choose();
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(first.source, "measured");
  EXPECT_EQ(again.source, "cache");
  for (const Chosen* each : {&first, &again}) {
    EXPECT_EQ(each->choice, 1u);
    EXPECT_EQ(each->seconds, times) << "as they were, to the last bit";
    EXPECT_EQ(each->file, first.file);
    EXPECT_TRUE(each->notes.empty());
  }
}

TEST_F(ChoiceByTime, TakesTheFirstOfThoseThatAreAsFast) {
  times = {1.02, 1, 1.04};
  EXPECT_EQ(choose(timing_noise).choice, 0u);
  EXPECT_EQ(choose().choice, 1u) << "of the same times";
  EXPECT_EQ(asked, 0);
}

TEST_F(ChoiceByTime, SaysWhereNothingCouldBeMeasured) {
  times = {never, never, never};
  const Chosen none = choose();
  EXPECT_EQ(none.choice, 0u);
  EXPECT_EQ(none.source, "");
  EXPECT_FALSE(std::filesystem::exists(none.file));
}

TEST_F(ChoiceByTime, MeasuresAgainWhereTheFileNamesNoChoice) {
  const Chosen first = choose();
  ResultCache({"the toy", "toy 1"}, "a key", how).keep("1 3 x 3\n");
  const Chosen again = choose();
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(again.source, "measured");
  ASSERT_EQ(again.notes.size(), 1u);
  EXPECT_NE(again.notes.front().find(first.file + " is damaged"), std::string::npos) << again.notes.front();
}

}  // namespace
}  // namespace slipstream
