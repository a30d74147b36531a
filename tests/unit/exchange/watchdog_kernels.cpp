// The watchdog thread, which checks that queued work ends in time, on every available backend.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <slipstream/buffer.hpp>
#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

#include "exchange/watchdog.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream {
inline namespace watchdog_kernels {

constexpr double limit = 0.3, first_limit = 1.5;

/// Kernel that waits until the signal is set.
struct WaitFor {
  const Signal* signal;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const WaitFor& self = *this;
    team.each([&self](int thread) {
      if (thread == 0) wait_for(self.signal, 1, 60'000'000'000);
    });
  }
};

class WatchdogTest : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    *signal.data() = 0;
    watched.push_back(&stream);
  }
  void TearDown() override {
    release();
    stream.synchronize();
  }

  Device device{GetParam(), 0};
  Stream stream{device};
  std::vector<Stream*> watched;
  Buffer<Signal> signal{device, 1, Memory::pinned};
  std::atomic<int> told = 0;
  std::atomic<std::uint64_t> number = 0;
  std::atomic<double> had = 0;
  Watchdog watchdog{limit,
                    [this](Watchdog&, std::uint64_t shift, std::size_t, double seconds) {
                      number = shift;
                      had = seconds;
                      ++told;
                    },
                    first_limit};

  void pass_first() {
    watchdog.open(0, watched);
    watchdog.close(watched);
    pass(limit);
  }
  void hold() { launch_teams(stream, 1, 1, 0, WaitFor{signal.data()}); }
  void release() { store_release(signal.data(), 1); }
  static void pass(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }
  bool hears(double seconds) const {
    for (int i = 0; i < 100 && told == 0; ++i) pass(seconds / 100);
    return told > 0;
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, WatchdogTest, testing::ValuesIn(slipstream::backends_here()),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(WatchdogTest, TellsOnceOfTheFirstWorkThatDoesNotEnd) {
  pass_first();
  for (const std::uint64_t shift : {1, 2, 3, 4}) {
    watchdog.open(shift, watched);
    if (shift == 2) hold();
    watchdog.close(watched);
  }
  EXPECT_TRUE(hears(20));
  pass(2 * limit);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(number, 2u);
  EXPECT_DOUBLE_EQ(had, limit);
}

/// A watchdog is destroyed while its timeout callback runs. Its destructor waits until the callback returns.
TEST_P(WatchdogTest, MayBeEndedWhileItTells) {
  std::atomic<bool> telling = false, ending = false;
  auto own = std::make_unique<Watchdog>(
      limit,
      [&](Watchdog& teller, std::uint64_t, std::size_t, double) {
        telling = true;
        while (!ending) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        teller.complain(Timeout("late"));
      },
      limit);
  own->watch(1, watched, [&] { hold(); });
  while (!telling) std::this_thread::yield();
  ending = true;
  own.reset();
  EXPECT_TRUE(telling);
}

TEST_P(WatchdogTest, SaysNothingOfWorkThatEnds) {
  for (std::uint64_t shift = 1; shift <= 100; ++shift) {
    watchdog.open(shift, watched);
    watchdog.close(watched);
  }
  EXPECT_FALSE(hears(3 * limit));
}

TEST_P(WatchdogTest, SaysNothingOfWorkThatHasNotBegun) {
  pass_first();
  hold();
  watchdog.open(1, watched);
  watchdog.close(watched);
  EXPECT_FALSE(hears(3 * limit));
}

TEST_P(WatchdogTest, GivesTheFirstWorkMoreTime) {
  watchdog.open(1, watched);
  hold();
  watchdog.close(watched);
  EXPECT_FALSE(hears(3 * limit));
  EXPECT_TRUE(hears(20));
  EXPECT_DOUBLE_EQ(had, first_limit);
}

TEST_P(WatchdogTest, TellsOfAHostThatDoesNotGetItsWorkQueued) {
  pass_first();
  watchdog.open(7, watched);
  EXPECT_TRUE(hears(20));
  EXPECT_EQ(number, 7u);
  watchdog.close(watched);
}

TEST_P(WatchdogTest, KeepsWhatCheckShallThrow) {
  EXPECT_NO_THROW(watchdog.check());
  watchdog.complain(Timeout("device 0 waited", {{"device", 0}}));
  EXPECT_THROW(watchdog.check(), Timeout);
  expect_error([&] { watchdog.check(); }, ErrorCode::timeout, {{"device", 0}});
}

}  // namespace watchdog_kernels
}  // namespace slipstream
