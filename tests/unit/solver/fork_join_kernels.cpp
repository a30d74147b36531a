// Concurrent launches on a stream, with earlier and later work.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include <slipstream/buffer.hpp>
#include <slipstream/launch.hpp>

#include "solver/common/fork_join.hpp"
#include "support/machine_rig.hpp"

namespace slipstream {
inline namespace fork_join_kernels {

constexpr int launches = 37;

struct Raise {
  int* value;
  SLIP_FN void operator()(int, int, int) const { *value += 1; }
};
struct Copy {
  const int* from;
  int* to;
  SLIP_FN void operator()(int, int, int) const { *to += *from; }
};
struct Total {
  const int* parts;
  int* sums;
  SLIP_FN void operator()(int, int, int) const {
    for (int n = 0; n < launches; ++n) sums[0] += parts[n];
  }
};

class Forks : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  const Device device{std::get<0>(GetParam()), 0};
  const std::size_t most = std::get<1>(GetParam());
  Stream stream{device};
  Buffer<int> source{device, 1}, parts{device, launches}, sum{device, 1};
  ForkJoin forks{device, Priority::high};
  const Box one{{0, 0, 0}, {1, 1, 1}};

  void clear() {
    fill(stream, source.data(), 0, source.bytes());
    fill(stream, parts.data(), 0, parts.bytes());
    fill(stream, sum.data(), 0, sum.bytes());
  }
  /// Increments a number, adds it to several others by concurrent kernels, and adds all of these to the sum.
  void queue() {
    launch(stream, one, Raise{source.data()});
    forks.run(stream, launches, most, [&](std::size_t n, Stream& lane) {
      ++given[lane.native()];
      launch(lane, one, Copy{source.data(), parts.data() + n});
    });
    launch(stream, one, Total{parts.data(), sum.data()});
  }
  int found() {
    int value = 0;
    copy(stream, &value, sum.data(), sizeof value);
    stream.synchronize();
    return value;
  }
  /// The expected sum after `rounds` rounds: in round n, each launch adds 1 + 2 + ... + n.
  static int wanted(int rounds) {
    int part = 0, sum = 0;
    for (int n = 1; n <= rounds; ++n) sum += launches * (part += n);
    return sum;
  }
  std::map<void*, int> given;
};

TEST_P(Forks, StartAfterTheStreamAndEndBeforeWhatFollowsInIt) {
  clear();
  for (int round = 0; round < 20; ++round) queue();
  EXPECT_EQ(found(), wanted(20));
}

TEST_P(Forks, AreRecorded) {
  clear();
  stream.begin_capture();
  queue();
  const Graph graph = stream.end_capture();
  for (int round = 0; round < 20; ++round) graph.launch(stream);
  EXPECT_EQ(found(), wanted(20));
}

TEST_P(Forks, TakeTurnsWithTheStream) {
  if (device.backend == Backend::host) GTEST_SKIP() << "streams of the host have no names";
  queue();
  stream.synchronize();
  EXPECT_EQ(given.size(), std::max<std::size_t>(1, most));
  EXPECT_EQ(given.count(stream.native()), 1u);
}

TEST_P(Forks, OfNothingAreNone) {
  forks.run(stream, 0, most, [](std::size_t, Stream&) { FAIL(); });
  EXPECT_TRUE(stream.idle());
}

INSTANTIATE_TEST_SUITE_P(Backends, Forks,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(0, 1, 2, 5, 16)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param));
                         });

}  // namespace fork_join_kernels
}  // namespace slipstream
