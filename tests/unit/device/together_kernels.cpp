// Tests of batched launches of many small kernels.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include <slipstream/buffer.hpp>

#include "device/together.hpp"
#include "support/machine_rig.hpp"

namespace slipstream {
inline namespace together_kernels {

struct Number {
  int* cells;  ///< values of a cube with `side` cells per edge
  int side, number;
  SLIP_FN void operator()(int i, int j, int k) const { cells[i + side * (j + side * k)] += number; }
};
/// Kernel that doubles each cell of a cube.
struct DoubleCell {
  int* cells;
  int side;
  SLIP_FN void operator()(int i, int j, int k) const { cells[i + side * (j + side * k)] *= 2; }
};

/// Kernel that sums `count` numbers.
struct Total {
  static constexpr int threads = 32;
  const int* numbers;
  int count;
  int* sums;  ///< sum of each thread block
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    int* part = team.template shared<int>();
    team.each([&](int t) {
      part[t] = 0;
      for (int n = t; n < count; n += team.threads()) part[t] += numbers[n];
    });
    team.each([&](int t) {
      if (t > 0) return;
      int all = static_cast<int>(team.index());
      for (int n = 0; n < team.threads(); ++n) all += part[n];
      sums[team.index()] = all;
    });
  }
};

class Togethers : public testing::TestWithParam<Backend> {
 protected:
  static constexpr int side = 9, cubes = 700;  // number of cubes of cells, too many for one combined kernel launch
  const Device device{GetParam(), 0};
  Stream stream{device};
  Buffer<int> cells{device, static_cast<std::size_t>(cubes) * side* side* side};
  std::vector<Box> boxes;

  void SetUp() override {
    std::mt19937 random(7);
    const auto up_to = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(random); };
    for (int n = 0; n < cubes; ++n) {
      Box box;
      for (int a = 0; a < 3; ++a) {
        box.lo[a] = up_to(side - 1);
        box.hi[a] = box.lo[a] + up_to(side - box.lo[a]);
      }
      boxes.push_back(box);
    }
    boxes[0].hi = boxes[0].lo;
  }
  int* cube(int n) { return cells.data() + static_cast<std::ptrdiff_t>(n) * side * side * side; }
  /// Numbers the cells of a cube, then doubles them. The first and every third cube are only doubled.
  void queue() {
    Together together(stream);
    for (int n = 0; n < cubes; ++n) {
      const bool numbered = n % 3 != 0;
      together.add(numbered ? boxes[n] : Box{}, Number{cube(n), side, n});
      together.add(boxes[n], DoubleCell{cube(n), side});
    }
    together.launch();
  }
  void expect() {
    std::vector<int> found(cells.size());
    copy(stream, found.data(), cells.data(), cells.bytes());
    stream.synchronize();
    for (int n = 0; n < cubes; ++n)
      for (int c = 0; c < side * side * side; ++c) {
        const Extent at{c % side, c / side % side, c / side / side};
        const int here = boxes[n].contains(at) ? (1 + (n % 3 != 0 ? n : 0)) * 2 : 1;
        ASSERT_EQ(found[static_cast<std::size_t>(n) * side * side * side + c], here) << "cube " << n;
      }
  }
  void clear() {
    std::vector<int> ones(cells.size(), 1);
    copy(stream, cells.data(), ones.data(), cells.bytes());
    stream.synchronize();
  }
};

TEST_P(Togethers, TouchEachBoxByItsOwnKernelsInTheirOrder) {
  clear();
  queue();
  expect();
}

TEST_P(Togethers, CanBeRecordedAndAreFewLaunches) {
  stream.begin_capture();
  queue();
  const Graph graph = stream.end_capture();
  if (device.backend != Backend::host) {
    EXPECT_LE(graph.nodes(), 6u);
  }
  clear();
  graph.launch(stream);
  expect();
}

TEST_P(Togethers, KeepTheOrderOfKernelsAfterALaunch) {
  constexpr int rows = 70000;
  clear();
  Buffer<int> long_one(device, rows);
  const Box one{{0, 0, 0}, {1, 1, 1}}, large{{0, 0, 0}, {1, rows, 1}};
  Together together(stream);
  together.add(one, Number{cube(0), side, 3});
  together.add(large, DoubleCell{long_one.data(), 1});  // a box too large to join: first launches the kernels before it
  together.add(one, DoubleCell{cube(0), side});
  together.add(one, Number{cube(1), side, 5});
  together.add(one, DoubleCell{cube(1), side});
  together.launch();
  int found[2];
  copy(stream, &found[0], cube(0), sizeof(int));
  copy(stream, &found[1], cube(1), sizeof(int));
  stream.synchronize();
  EXPECT_EQ(found[0], (1 + 3) * 2);
  EXPECT_EQ(found[1], (1 + 5) * 2);
}

TEST_P(Togethers, HaveTeamsToo) {
  constexpr int most_teams = 5;
  clear();
  Buffer<int> sums(device, std::size_t{cubes} * most_teams);
  fill(stream, sums.data(), 0, sums.bytes());
  Together together(stream);
  for (int n = 0; n < cubes; ++n)
    together.add_teams(n % (most_teams + 1), Total::threads, Total::threads * sizeof(int),
                       Total{cube(n), n, sums.data() + static_cast<std::ptrdiff_t>(n) * most_teams});
  together.launch();
  std::vector<int> found(sums.size());
  copy(stream, found.data(), sums.data(), sums.bytes());
  stream.synchronize();
  for (int n = 0; n < cubes; ++n)
    for (int team = 0; team < most_teams; ++team)
      ASSERT_EQ(found[n * most_teams + team], team < n % (most_teams + 1) ? n + team : 0) << "cube " << n;
}

TEST_P(Togethers, LeaveWhatIsLargeToLaunchesOfItsOwn) {
  constexpr int rows = 70000;
  Buffer<int> long_one(device, rows);
  fill(stream, long_one.data(), 0, long_one.bytes());
  Together together(stream);
  together.add(Box{{0, 0, 0}, {1, rows, 1}}, Number{long_one.data(), 1, 3});
  together.add(Box{{0, 0, 0}, {1, 1, rows}}, Number{long_one.data(), 1, 4});
  together.launch();
  std::vector<int> found(rows);
  copy(stream, found.data(), long_one.data(), long_one.bytes());
  stream.synchronize();
  EXPECT_EQ(found, std::vector<int>(rows, 7));
}

TEST_P(Togethers, LeaveManyTeamsToLaunchesOfTheirOwn) {
  constexpr int few = 3, many = 5000;
  clear();
  Buffer<int> sums(device, 2 * few + many);
  Together together(stream);
  const auto add = [&](int teams, int number, int first) {
    together.add_teams(teams, Total::threads, Total::threads * sizeof(int),
                       Total{cells.data(), number, sums.data() + first});
  };
  add(few, 100, 0);
  add(many, 200, few);
  add(few, 300, few + many);
  together.launch();
  std::vector<int> found(sums.size());
  copy(stream, found.data(), sums.data(), sums.bytes());
  stream.synchronize();
  for (int n = 0; n < few; ++n) EXPECT_EQ(found[n], 100 + n);
  for (int n = 0; n < many; ++n) EXPECT_EQ(found[few + n], 200 + n);
  for (int n = 0; n < few; ++n) EXPECT_EQ(found[few + many + n], 300 + n);
}

INSTANTIATE_TEST_SUITE_P(Backends, Togethers, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace together_kernels
}  // namespace slipstream
