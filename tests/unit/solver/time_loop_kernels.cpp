// Steps are recorded as graphs and replayed, on every available backend.
#include <gtest/gtest.h>

#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/simulation.hpp>

#include "support/machine_rig.hpp"

namespace slipstream {
inline namespace time_loop_kernels {

struct Add {
  std::int64_t* sum;
  std::int64_t value;
  SLIP_FN void operator()(int, int, int) const { *sum += value; }
};

/// A solver that adds a number to device memory, chosen by the step's parity and a setting. Counts the queued tasks.
class Adding final : public Simulation {
 public:
  explicit Adding(Backend backend) : devices_{{backend, 0}}, sum_(devices_.front(), 1) {
    Stream stream(devices_.front());
    fill(stream, sum_.data(), 0, sum_.bytes());
    stream.synchronize();
    tasks_ = {kernel_task("add", [this](Stream& stream, std::size_t, Part) {
      ++queued;
      launch(stream, Box{{0, 0, 0}, {1, 1, 1}}, Add{sum_.data(), state_.step % 2 == 0 ? weight : 1000 * weight});
    })};
    Collective asking;
    asking.run = [this](std::vector<Stream>&) { ++asked; };
    asking.check = [] {};
    asking_tasks_ = tasks_;
    asking_tasks_.push_back(collective_task("ask the host", std::move(asking)));
  }
  State& state() override { return state_; }
  const std::vector<Device>& devices() const override { return devices_; }
  const Tasks& tasks() const override { return tasks_at(recording().phase); }
  const Tasks& tasks_at(int phase) const override { return asks && phase == 1 ? asking_tasks_ : tasks_; }
  void finish_step() override { ++state_.step; }
  Recording recording() const override {
    return {period, period > 0 ? static_cast<int>(state_.step % period) : 0, serial};
  }
  std::int64_t sum() const {
    Stream stream(devices_.front());
    std::int64_t value = 0;
    copy(stream, &value, sum_.data(), sizeof(value));
    stream.synchronize();
    return value;
  }

  int period = 2;
  std::uint64_t serial = 0;
  std::int64_t weight = 1, queued = 0, asked = 0;
  bool asks = false;  ///< whether odd steps also queue a collective task on the host

 private:
  std::vector<Device> devices_;
  Buffer<std::int64_t> sum_;
  State state_;
  Tasks tasks_, asking_tasks_;
};

class RecordedSteps : public testing::TestWithParam<Backend> {};

TEST_P(RecordedSteps, DoWhatQueuedOnesDo) {
  Adding simulation(GetParam());
  TimeLoop loop(simulation, Overlap::off);
  std::int64_t even = 0, odd = 0;
  for (const std::int64_t steps : {1, 2, 0, 17, 40, 3, 200, 1, 64}) {
    for (std::int64_t n = 0; n < steps; ++n) ++((simulation.state().step + n) % 2 == 0 ? even : odd);
    loop.run(steps);
    EXPECT_EQ(simulation.state().step, even + odd);
    EXPECT_EQ(simulation.sum(), even + 1000 * odd) << "after " << steps << " more steps";
  }
  EXPECT_LT(4 * simulation.queued, simulation.state().step) << "steps were queued one by one";
}

TEST_P(RecordedSteps, AreReplayedByOnePeriodWhereFewAreLeft) {
  Adding simulation(GetParam());
  TimeLoop loop(simulation, Overlap::off);
  loop.run(16);
  for (int n = 0; n < 20; ++n) loop.run(6);
  EXPECT_EQ(simulation.sum(), 68 * 1001);
  EXPECT_LT(simulation.queued, 16 + 2 + 20) << "steps were queued one by one";
}

TEST_P(RecordedSteps, AreRecordedAnewWhenTheSolverSaysSo) {
  Adding simulation(GetParam());
  TimeLoop loop(simulation, Overlap::off);
  loop.run(32);
  simulation.weight = 7;
  ++simulation.serial;
  loop.run(32);
  EXPECT_EQ(simulation.sum(), 16 * 1001 + 7 * 16 * 1001);
}

TEST_P(RecordedSteps, AreNoneWhereNoStepIsLikeAnother) {
  Adding simulation(GetParam());
  simulation.period = 0;
  TimeLoop loop(simulation, Overlap::off);
  loop.run(40);
  EXPECT_EQ(simulation.queued, 40);
  EXPECT_EQ(simulation.sum(), 20 * 1001);
}

TEST_P(RecordedSteps, AreNoneWhereAnyStepOfThePeriodNeedsTheHost) {
  Adding simulation(GetParam());
  simulation.asks = true;
  TimeLoop loop(simulation, Overlap::off);
  for (const std::int64_t steps : {40, 1, 40}) loop.run(steps);
  EXPECT_EQ(simulation.queued, 81);
  EXPECT_EQ(simulation.asked, 40);
  EXPECT_EQ(simulation.sum(), 41 + 40 * 1000);
}

TEST_P(RecordedSteps, AreTimedNowAndThen) {
  Adding simulation(GetParam());
  TimeLoop loop(simulation, Overlap::off);
  loop.run(200);
  std::vector<std::string> names;
  for (const TimeLoop::Phase& phase : loop.phases()) {
    names.push_back(phase.name);
    EXPECT_EQ(phase.calls, 200);
    EXPECT_GE(phase.seconds, 0);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"add"}));
}

INSTANTIATE_TEST_SUITE_P(Backends, RecordedSteps, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace time_loop_kernels
}  // namespace slipstream
