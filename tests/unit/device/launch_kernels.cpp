// Kernel launches over boxes of cells and over blocks of threads, on every available backend.
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/launch.hpp>

#include "support/device_rig.hpp"

namespace slipstream {
inline namespace launch_kernels {

struct CountCell {
  static constexpr int threads = 64;
  unsigned char* count;
  int lo[3];
  int row, plane;
  SLIP_FN void operator()(int i, int j, int k) const {
    count[(i - lo[0]) + std::int64_t{1} * row * (j - lo[1]) + std::int64_t{1} * plane * (k - lo[2])] += 1;
  }
};

/// Sums 4 values per thread by a tree, with a barrier after each level. Repeats the sum in each word of the block's
/// shared memory.
struct SumTree {
  const int* values;
  int* sums;
  int slots;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    int* partial = team.template shared<int>();
    const int threads = team.threads();
    const int* mine = values + 4 * threads * team.index();
    team.each([&](int t) {
      partial[t] = 0;
      for (int v = t; v < 4 * threads; v += threads) partial[t] += mine[v];
    });
    for (int half = threads / 2; half > 0; half /= 2) {
      team.each([&](int t) {
        if (t < half) partial[t] += partial[t + half];
      });
    }
    team.each([&](int t) {
      for (int s = threads + t; s < slots; s += threads) partial[s] = partial[0];
    });
    team.each([&](int t) {
      if (t == 0) sums[team.index()] = partial[slots - 1];
    });
  }
};

/// Reads the mirrored element of the previous launch and adds one. The result is wrong if a launch reads too early.
struct CountUp {
  const int* from;
  int* to;
  int last;
  bool may_start_early;
  bool early() const { return may_start_early; }
  SLIP_FN void operator()(int i, int, int) const { to[i] = from[last - i] + 1; }
};

class LaunchTest : public DeviceTest {};

INSTANTIATE_TEST_SUITE_P(Backends, LaunchTest, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

void check_coverage(Stream& stream, const Box& box) {
  const Box wide = grown(box, {1, 1, 1});
  const auto cells = static_cast<std::size_t>(wide.volume());
  const auto counts = zeroed<unsigned char>(stream, cells);
  const int line = static_cast<int>(wide.extent(0)), plane = static_cast<int>(wide.extent(0) * wide.extent(1));
  launch(stream, box,
         CountCell{counts.data(),
                   {static_cast<int>(wide.lo[0]), static_cast<int>(wide.lo[1]), static_cast<int>(wide.lo[2])},
                   line,
                   plane});
  const auto result = read_back(stream, counts);
  std::size_t at = 0, wrong = 0;
  for (std::int64_t k = wide.lo[2]; k < wide.hi[2]; ++k)
    for (std::int64_t j = wide.lo[1]; j < wide.hi[1]; ++j)
      for (std::int64_t i = wide.lo[0]; i < wide.hi[0]; ++i) wrong += result[at++] != (box.contains({i, j, k}) ? 1 : 0);
  EXPECT_EQ(wrong, 0u) << "box from " << box.lo[0] << ", " << box.lo[1] << ", " << box.lo[2] << " of " << box.extent(0)
                       << "x" << box.extent(1) << "x" << box.extent(2);
}

TEST_P(LaunchTest, LaunchRunsEachCellOfABoxOnce) {
  Stream stream(device);
  const std::vector<Box> boxes = {
      {{0, 0, 0}, {1, 1, 1}},         {{-5, -7, -3}, {12, 6, 9}},  {{-3, 0, 0}, {0, 40, 40}}, {{0, -2, 5}, {257, 1, 8}},
      {{10, 10, 10}, {1011, 13, 12}}, {{-1, -1, -1}, {32, 32, 1}}, {{0, 0, 0}, {33, 1, 130}}, {{4, 4, 4}, {68, 5, 5}},
      {{-100, 3, 3}, {100, 4, 200}},  {{2, -9, 0}, {67, 9, 3}},
  };
  for (const Box& box : boxes) check_coverage(stream, box);
}

TEST_P(LaunchTest, LaunchTakesMoreRowsAndPlanesThanAGridHas) {
  Stream stream(device);
  check_coverage(stream, {{0, -3, 0}, {40, 70000, 1}});
  check_coverage(stream, {{0, 0, -3}, {40, 1, 70000}});
}

TEST_P(LaunchTest, LaunchOfAnEmptyBoxRunsNothing) {
  Stream stream(device);
  launch(stream, Box{{0, 5, 0}, {10, 5, 3}}, WriteRamp{nullptr, 0});
  EXPECT_NO_THROW(stream.synchronize());
}

void check_team_sums(Stream& stream, int teams, int threads, int slots) {
  std::vector<int> values(static_cast<std::size_t>(teams) * threads * 4);
  std::mt19937 random(7);
  for (int& value : values) value = static_cast<int>(random() % 1000) - 500;
  const Buffer<int> input(stream.device(), values.size()), sums(stream.device(), teams);
  write(stream, input, values);
  launch_teams(stream, teams, threads, slots * sizeof(int), SumTree{input.data(), sums.data(), slots});
  std::vector<int> expected(teams);
  for (int t = 0; t < teams; ++t) {
    expected[t] = std::accumulate(values.begin() + 4 * threads * t, values.begin() + 4 * threads * (t + 1), 0);
  }
  EXPECT_EQ(read_back(stream, sums), expected);
}

TEST_P(LaunchTest, TeamsReduceThroughPhases) {
  Stream stream(device);
  check_team_sums(stream, 37, 128, 129);
  check_team_sums(stream, 1, 1024, 1025);
  check_team_sums(stream, 3, 1, 2);
}

TEST_P(LaunchTest, TeamsMayShareMoreThan48Kilobytes) {
  Stream stream(device);
  check_team_sums(stream, 5, 256, 16 * 1024);
}

TEST_P(LaunchTest, EarlyLaunchesWaitForWhatWasBefore) {
  constexpr int cells = 1 << 20, launches = 200;
  Stream stream(device);
  const auto even = zeroed<int>(stream, cells), odd = zeroed<int>(stream, cells);
  const auto queue = [&] {
    for (int n = 0; n < launches; ++n) {
      const bool first = n % 2 == 0;
      const CountUp kernel{first ? even.data() : odd.data(), first ? odd.data() : even.data(), cells - 1, n % 7 != 3};
      launch(stream, row(cells), kernel);
    }
  };
  queue();
  stream.begin_capture();
  queue();
  const Graph graph = stream.end_capture();
  graph.launch(stream);
  EXPECT_EQ(read_back(stream, even), std::vector<int>(cells, 2 * launches));
}

}  // namespace launch_kernels
}  // namespace slipstream
