// What device/ promises, checked on every backend that this build and this machine have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/graph.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

#include "../support/machine_rig.hpp"

namespace {

using namespace slipstream;

constexpr std::uint64_t second_ns = 1000000000;

/// Writes value + position to `count` cells of a row.
struct WriteRamp {
  int* data;
  int value;
  SLIP_FN void operator()(int i, int, int) const { data[i] = value + i; }
};

/// Writes the ramp of a value that is read when the kernel runs.
struct WriteRampOf {
  int* data;
  const int* value;
  SLIP_FN void operator()(int i, int, int) const { data[i] = *value + i; }
};

/// Leaves 1 behind where a cell does not hold the ramp.
struct CheckRamp {
  const int* data;
  int value;
  int* wrong;
  SLIP_FN void operator()(int i, int, int) const {
    if (data[i] != value + i) *wrong = 1;
  }
};

struct AddTo {
  int* sum;
  const int* a;
  const int* b;
  SLIP_FN void operator()(int i, int, int) const { sum[i] = a[i] + b[i]; }
};

struct Double {
  int* to;
  const int* from;
  SLIP_FN void operator()(int i, int, int) const { to[i] = 2 * from[i]; }
};

struct CountCell {
  static constexpr int threads = 64;
  unsigned char* count;
  int lo[3];
  int row, plane;
  SLIP_FN void operator()(int i, int j, int k) const {
    count[(i - lo[0]) + std::int64_t{1} * row * (j - lo[1]) + std::int64_t{1} * plane * (k - lo[2])] += 1;
  }
};

/// Sums 4 values a thread by a tree over the phases of a team; repeats the sum in every slot of the memory given.
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

struct WaitFor {
  const Signal* signal;
  std::uint64_t value, limit_ns;
  int* reached;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    team.each([&](int t) {
      if (t == 0) *reached = wait_for(signal, value, limit_ns) ? 1 : 0;
    });
  }
};

struct Set {
  Signal* signal;
  std::uint64_t value;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    team.each([&](int t) {
      if (t == 0) store_release(signal, value);
    });
  }
};

Box row(int cells) { return {{0, 0, 0}, {cells, 1, 1}}; }

template <class T>
std::vector<T> read_back(Stream& stream, const Buffer<T>& buffer) {
  Buffer<T> pinned(stream.device(), buffer.size(), Memory::pinned);
  copy(stream, pinned.data(), buffer.data(), buffer.bytes());
  stream.synchronize();
  const auto span = pinned.span();
  return {span.begin(), span.end()};
}

template <class T>
void write(Stream& stream, const Buffer<T>& buffer, const std::vector<T>& values) {
  Buffer<T> pinned(stream.device(), buffer.size(), Memory::pinned);
  std::copy(values.begin(), values.end(), pinned.data());
  copy(stream, buffer.data(), pinned.data(), buffer.bytes());
  stream.synchronize();
}

template <class T>
Buffer<T> zeroed(Stream& stream, std::size_t size) {
  Buffer<T> buffer(stream.device(), size);
  fill(stream, buffer.data(), 0, buffer.bytes());
  stream.synchronize();
  return buffer;
}

std::vector<int> ramp(int from, int count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), from);
  return values;
}

class DeviceTest : public testing::TestWithParam<Backend> {
 protected:
  const Device device{GetParam(), 0};
};

INSTANTIATE_TEST_SUITE_P(Backends, DeviceTest, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

// Buffers

TEST_P(DeviceTest, MovedBufferKeepsItsMemory) {
  Buffer<int> first(device, 100);
  int* const data = first.data();
  Buffer<int> second = std::move(first);
  Buffer<int> third;
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  EXPECT_EQ(third.size(), 100u);
  EXPECT_EQ(third.device(), device);
  EXPECT_EQ(first.data(), nullptr);
  EXPECT_EQ(second.data(), nullptr);
}

TEST_P(DeviceTest, EmptyBufferHoldsNothing) {
  const Buffer<double> buffer(device, 0);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.bytes(), 0u);
}

TEST_P(DeviceTest, EveryKindOfMemoryCarriesDataToEveryOther) {
  Stream stream(device);
  const auto values = ramp(7, 1000);
  for (const Memory from : {Memory::device, Memory::shared, Memory::pinned, Memory::host, Memory::message}) {
    for (const Memory to : {Memory::device, Memory::shared, Memory::pinned, Memory::host, Memory::message}) {
      const Buffer<int> a(device, 1000, from), b(device, 1000, to);
      write(stream, a, values);
      copy(stream, b.data(), a.data(), a.bytes());
      EXPECT_EQ(read_back(stream, b), values) << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

TEST_P(DeviceTest, MemoryOfMessagesIsKeptForTheNext) {
  const std::size_t bytes = std::size_t{5} << 20;
  const auto place = [&](std::size_t size) { return Buffer<std::byte>(device, size, Memory::message).data(); };
  std::byte* const first = place(bytes);
  EXPECT_EQ(place(bytes - 100), first);
  EXPECT_NE(place(2 * bytes), first);
  const Buffer<std::byte> held(device, bytes, Memory::message);
  EXPECT_EQ(held.data(), first);
  EXPECT_NE(place(bytes), first) << "two Buffers hold one block";
}

TEST_P(DeviceTest, SpanIsForMemoryThatTheHostMayTouch) {
  EXPECT_EQ(Buffer<int>(device, 10, Memory::pinned).span().size(), 10u);
  EXPECT_EQ(Buffer<int>(device, 10, Memory::host).span().size(), 10u);
  const Buffer<int> buffer(device, 10);
  if (device.backend == Backend::host) {
    EXPECT_EQ(buffer.span().size(), 10u);
  } else {
    EXPECT_THROW(buffer.span(), Error);
  }
}

TEST_P(DeviceTest, KernelWritesPinnedMemoryInPlace) {
  Stream stream(device);
  const Buffer<int> pinned(device, 500, Memory::pinned);
  launch(stream, row(500), WriteRamp{pinned.data(), 3});
  stream.synchronize();
  EXPECT_TRUE(std::ranges::equal(pinned.span(), ramp(3, 500)));
}

TEST_P(DeviceTest, MemoryThatDoesNotFitIsRefusedWithTheBytes) {
  const std::size_t bytes = std::size_t{1} << 50;
  for (const Memory memory : {Memory::device, Memory::shared, Memory::pinned, Memory::host, Memory::message}) {
    try {
      const Buffer<char> buffer(device, bytes, memory);
      ADD_FAILURE() << "a petabyte was granted";
    } catch (const OutOfMemory& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(bytes)), std::string::npos) << error.what();
    }
  }
}

TEST_P(DeviceTest, InfoDescribesTheDevice) {
  const DeviceInfo about = info(device);
  EXPECT_FALSE(about.name.empty());
  EXPECT_FALSE(about.uuid.empty());
  EXPECT_GT(about.memory_total, 0u);
  EXPECT_LE(about.memory_free, about.memory_total);
  EXPECT_GT(about.processors, 0);
}

// Copies

TEST_P(DeviceTest, FillSetsTheBytesAndNoOthers) {
  Stream stream(device);
  const Buffer<unsigned char> buffer(device, 300);
  fill(stream, buffer.data(), 1, 300);
  fill(stream, buffer.data() + 10, 200, 77);
  std::vector<unsigned char> expected(300, 1);
  std::fill_n(expected.begin() + 10, 77, 200);
  EXPECT_EQ(read_back(stream, buffer), expected);
}

struct PitchedCase {
  Extent extent;
  Pitch to, from;
};

std::size_t span_of(const Extent& extent, Pitch pitch) {
  return (extent[2] - 1) * pitch.plane + (extent[1] - 1) * pitch.row + extent[0];
}

PitchedCase random_pitched_case(std::mt19937& random) {
  const auto up_to = [&](int most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  PitchedCase c{{1 + up_to(40), 1 + up_to(8), 1 + up_to(6)}, {}, {}};
  for (Pitch* pitch : {&c.to, &c.from}) {
    pitch->row = c.extent[0] + (random() % 3 ? up_to(20) : 0);
    pitch->plane = pitch->row * (c.extent[1] + (random() % 2 ? up_to(3) : 0));
    if (random() % 3 == 0) pitch->plane += up_to(15);  // planes that are not whole rows
  }
  return c;
}

void check_copy_box(Stream& stream, const PitchedCase& c, Memory to, Memory from, std::mt19937& random) {
  std::vector<unsigned char> source(span_of(c.extent, c.from)), expected(span_of(c.extent, c.to));
  for (auto& byte : source) byte = static_cast<unsigned char>(random());
  for (auto& byte : expected) byte = static_cast<unsigned char>(random());
  const Buffer<unsigned char> a(stream.device(), source.size(), from), b(stream.device(), expected.size(), to);
  write(stream, a, source);
  write(stream, b, expected);
  for (std::int64_t k = 0; k < c.extent[2]; ++k)
    for (std::int64_t j = 0; j < c.extent[1]; ++j)
      for (std::int64_t i = 0; i < c.extent[0]; ++i)
        expected[k * c.to.plane + j * c.to.row + i] = source[k * c.from.plane + j * c.from.row + i];
  copy_box(stream, b.data(), c.to, a.data(), c.from, c.extent);
  EXPECT_EQ(read_back(stream, b), expected)
      << c.extent[0] << "x" << c.extent[1] << "x" << c.extent[2] << ", pitches to " << c.to.row << ", " << c.to.plane
      << ", from " << c.from.row << ", " << c.from.plane;
}

TEST_P(DeviceTest, CopyBoxMovesTheBoxAndNothingElse) {
  Stream stream(device);
  std::mt19937 random(20261);
  for (int round = 0; round < 150; ++round) {
    const PitchedCase c = random_pitched_case(random);
    const Memory to = round % 3 == 1 ? Memory::pinned : Memory::device;
    const Memory from = round % 3 == 2 ? Memory::pinned : Memory::device;
    check_copy_box(stream, c, to, from, random);
  }
}

TEST_P(DeviceTest, CopyBoxOfNothingMovesNothing) {
  Stream stream(device);
  copy_box(stream, nullptr, {8, 64}, nullptr, {8, 64}, {8, 0, 3});
  copy(stream, nullptr, nullptr, 0);
  EXPECT_NO_THROW(stream.synchronize());
}

// Launches

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

TEST_P(DeviceTest, LaunchRunsEachCellOfABoxOnce) {
  Stream stream(device);
  const std::vector<Box> boxes = {
      {{0, 0, 0}, {1, 1, 1}},         {{-5, -7, -3}, {12, 6, 9}},  {{-3, 0, 0}, {0, 40, 40}}, {{0, -2, 5}, {257, 1, 8}},
      {{10, 10, 10}, {1011, 13, 12}}, {{-1, -1, -1}, {32, 32, 1}}, {{0, 0, 0}, {33, 1, 130}}, {{4, 4, 4}, {68, 5, 5}},
      {{-100, 3, 3}, {100, 4, 200}},  {{2, -9, 0}, {67, 9, 3}},
  };
  for (const Box& box : boxes) check_coverage(stream, box);
}

TEST_P(DeviceTest, LaunchTakesMoreRowsAndPlanesThanAGridHas) {
  Stream stream(device);
  check_coverage(stream, {{0, -3, 0}, {40, 70000, 1}});
  check_coverage(stream, {{0, 0, -3}, {40, 1, 70000}});
}

TEST_P(DeviceTest, LaunchOfAnEmptyBoxRunsNothing) {
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

TEST_P(DeviceTest, TeamsReduceThroughPhases) {
  Stream stream(device);
  check_team_sums(stream, 37, 128, 129);
  check_team_sums(stream, 1, 1024, 1025);
  check_team_sums(stream, 3, 1, 2);
}

TEST_P(DeviceTest, TeamsMayShareMoreThan48Kilobytes) {
  Stream stream(device);
  check_team_sums(stream, 5, 256, 16 * 1024);
}

// Streams and events

TEST_P(DeviceTest, WorkOfAStreamRunsInOrder) {
  Stream stream(device);
  const Buffer<int> a(device, 4096), b(device, 4096);
  launch(stream, row(4096), WriteRamp{a.data(), 1});
  launch(stream, row(4096), Double{b.data(), a.data()});
  launch(stream, row(4096), WriteRamp{a.data(), 100});
  launch(stream, row(4096), AddTo{b.data(), b.data(), a.data()});
  const auto result = read_back(stream, b);
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(result[i], 2 * (1 + i) + 100 + i);
}

TEST_P(DeviceTest, ConsumerStreamSeesWhatTheEventPromises) {
  constexpr int cells = 20000, rounds = 200;
  Stream producer(device), consumer(device, Priority::high);
  const Buffer<int> data(device, cells);
  const auto wrong = zeroed<int>(producer, 1);
  const Event produced(device), consumed(device);
  for (int round = 0; round < rounds; ++round) {
    producer.wait(consumed);
    launch(producer, row(cells), WriteRamp{data.data(), round});
    producer.record(produced);
    consumer.wait(produced);
    launch(consumer, row(cells), CheckRamp{data.data(), round, wrong.data()});
    consumer.record(consumed);
  }
  EXPECT_EQ(read_back(consumer, wrong)[0], 0);
}

TEST_P(DeviceTest, EventIsDoneOnlyAfterItsWork) {
  Stream waiting(device), other(device);
  const auto signal = zeroed<Signal>(other, 1);
  const auto reached = zeroed<int>(other, 1);
  const Event event(device);
  EXPECT_TRUE(event.done()) << "nothing was recorded yet";
  launch_teams(waiting, 1, 1, 0, WaitFor{signal.data(), 1, 60 * second_ns, reached.data()});
  waiting.record(event);
  EXPECT_FALSE(event.done());
  EXPECT_FALSE(waiting.idle());
  launch_teams(other, 1, 1, 0, Set{signal.data(), 1});
  event.synchronize();
  EXPECT_TRUE(event.done());
  waiting.synchronize();
  EXPECT_TRUE(waiting.idle());
}

TEST_P(DeviceTest, EventsMeasureTheTimeBetweenThem) {
  Stream stream(device);
  const auto signal = zeroed<Signal>(stream, 1);
  const auto reached = zeroed<int>(stream, 1);
  const Event from(device, true), to(device, true);
  stream.record(from);
  launch_teams(stream, 1, 1, 0, WaitFor{signal.data(), 1, second_ns / 50, reached.data()});
  stream.record(to);
  to.synchronize();
  EXPECT_GE(milliseconds(from, to), 19.0) << "the wait in between lasts 20 ms";
}

// Signals

TEST_P(DeviceTest, StreamsRunBesideOneAnother) {
  constexpr int pairs = 4;
  Stream setup(device);
  const auto signals = zeroed<Signal>(setup, pairs);
  const auto reached = zeroed<int>(setup, pairs);
  std::vector<Stream> waiters, setters;
  for (int p = 0; p < pairs; ++p) {
    waiters.emplace_back(device);
    setters.emplace_back(device);
    launch_teams(waiters[p], 1, 32, 0, WaitFor{&signals.data()[p], 5, 60 * second_ns, &reached.data()[p]});
  }
  for (int p = 0; p < pairs; ++p) launch_teams(setters[p], 1, 1, 0, Set{&signals.data()[p], 5});
  for (Stream& stream : waiters) stream.synchronize();
  EXPECT_EQ(read_back(setup, reached), std::vector<int>(pairs, 1));
}

TEST_P(DeviceTest, WhatWasWrittenBeforeASignalIsSeenAfterTheWait) {
  constexpr int cells = 5000, rounds = 100;
  Stream producer(device), consumer(device);
  const auto full = zeroed<Signal>(producer, 1), free = zeroed<Signal>(producer, 1);
  const auto wrong = zeroed<int>(producer, 1), reached = zeroed<int>(producer, 2);
  const Buffer<int> data(device, cells);
  for (int round = 0; round < rounds; ++round) {
    const auto past = static_cast<std::uint64_t>(round);
    launch_teams(producer, 1, 1, 0, WaitFor{free.data(), past, 60 * second_ns, &reached.data()[0]});
    launch(producer, row(cells), WriteRamp{data.data(), round});
    launch_teams(producer, 1, 1, 0, Set{full.data(), past + 1});
    launch_teams(consumer, 1, 1, 0, WaitFor{full.data(), past + 1, 60 * second_ns, &reached.data()[1]});
    launch(consumer, row(cells), CheckRamp{data.data(), round, wrong.data()});
    launch_teams(consumer, 1, 1, 0, Set{free.data(), past + 1});
  }
  consumer.synchronize();
  EXPECT_EQ(read_back(producer, wrong)[0], 0);
  EXPECT_EQ(read_back(producer, reached), std::vector<int>(2, 1));
}

TEST_P(DeviceTest, WaitGivesUpAtItsLimit) {
  Stream stream(device);
  const auto signal = zeroed<Signal>(stream, 1);
  const Buffer<int> reached(device, 1);
  write(stream, reached, {7});
  launch_teams(stream, 1, 1, 0, WaitFor{signal.data(), 1, second_ns / 100, reached.data()});
  EXPECT_EQ(read_back(stream, reached)[0], 0);
}

// Capture and replay

TEST_P(DeviceTest, CaptureRecordsWithoutRunning) {
  Stream stream(device);
  const auto data = zeroed<int>(stream, 100);
  stream.begin_capture();
  launch(stream, row(100), WriteRamp{data.data(), 1});
  const Graph graph = stream.end_capture();
  EXPECT_EQ(graph.nodes(), 1u);
  EXPECT_EQ(read_back(stream, data), std::vector<int>(100, 0));
  graph.launch(stream);
  EXPECT_EQ(read_back(stream, data), ramp(1, 100));
}

TEST_P(DeviceTest, ReplayOfAForkAndJoinUsesTheDataOfItsTime) {
  constexpr int cells = 3000;
  Stream main(device), side(device);
  const Buffer<int> value(device, 1), a(device, cells), b(device, cells), sum(device, cells);
  const Event forked(device), joined(device);
  main.begin_capture();
  launch(main, row(cells), WriteRampOf{a.data(), value.data()});
  main.record(forked);
  side.wait(forked);
  launch(side, row(cells), Double{b.data(), a.data()});
  copy(main, sum.data(), a.data(), a.bytes());
  side.record(joined);
  main.wait(joined);
  launch(main, row(cells), AddTo{sum.data(), sum.data(), b.data()});
  const Graph graph = main.end_capture();
  EXPECT_EQ(graph.nodes(), 4u);
  for (const int now : {5, -40, 1234}) {
    write(main, value, {now});
    graph.launch(main);
    const auto result = read_back(main, sum);
    for (int i = 0; i < cells; ++i) ASSERT_EQ(result[i], 3 * (now + i));
  }
}

TEST_P(DeviceTest, ReplaysFollowOneAnotherInTheStream) {
  Stream stream(device);
  const auto data = zeroed<int>(stream, 1000);
  const Buffer<int> one(device, 1000);
  write(stream, one, std::vector<int>(1000, 1));
  stream.begin_capture();
  launch(stream, row(1000), AddTo{data.data(), data.data(), one.data()});
  const Graph graph = stream.end_capture();
  for (int round = 0; round < 100; ++round) graph.launch(stream);
  EXPECT_EQ(read_back(stream, data), std::vector<int>(1000, 100));
}

TEST_P(DeviceTest, CaptureTakesFillsBoxesAndTeams) {
  Stream stream(device);
  const auto signal = zeroed<Signal>(stream, 1);
  const auto bytes = zeroed<unsigned char>(stream, 64), box = zeroed<unsigned char>(stream, 64);
  stream.begin_capture();
  fill(stream, bytes.data(), 9, 64);
  copy_box(stream, box.data(), {8, 32}, bytes.data(), {8, 32}, {4, 3, 2});
  launch_teams(stream, 1, 1, 0, Set{signal.data(), 3});
  const Graph graph = stream.end_capture();
  graph.launch(stream);
  EXPECT_EQ(read_back(stream, signal)[0], 3u);
  const auto result = read_back(stream, box);
  EXPECT_EQ(std::count(result.begin(), result.end(), 9), 24);
}

TEST_P(DeviceTest, StreamsAreOrdinaryAgainAfterACapture) {
  Stream main(device), side(device);
  const auto data = zeroed<int>(main, 10);
  const Event forked(device), joined(device);
  main.begin_capture();
  main.record(forked);
  side.wait(forked);
  launch(side, row(10), WriteRamp{data.data(), 50});
  side.record(joined);
  main.wait(joined);
  const Graph graph = main.end_capture();
  launch(side, row(10), WriteRamp{data.data(), 1});
  EXPECT_EQ(read_back(side, data), ramp(1, 10));
}

TEST_P(DeviceTest, CaptureThatIsNotJoinedIsAnError) {
  Stream main(device), side(device);
  const auto data = zeroed<int>(main, 10);
  const Event forked(device);
  main.begin_capture();
  main.record(forked);
  side.wait(forked);
  launch(side, row(10), WriteRamp{data.data(), 1});
  EXPECT_THROW(main.end_capture(), Error);
}

// Several devices

class DevicesTest : public DeviceTest {
 protected:
  void SetUp() override {
    before_ = device_count(Backend::host);
    set_host_devices(3);
  }
  void TearDown() override { set_host_devices(before_); }

 private:
  int before_ = 1;
};

INSTANTIATE_TEST_SUITE_P(Backends, DevicesTest, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(DevicesTest, DevicesAreToldApartByTheirUuid) {
  const int count = device_count(GetParam());
  for (int a = 0; a < count; ++a)
    for (int b = 0; b < a; ++b) EXPECT_NE(info({GetParam(), a}).uuid, info({GetParam(), b}).uuid);
}

TEST_P(DevicesTest, CopyReachesEveryOtherDevice) {
  const int count = device_count(GetParam());
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) {
      Stream from({GetParam(), a}), to({GetParam(), b});
      const Buffer<int> source(from.device(), 1000), target(to.device(), 1000);
      write(from, source, ramp(10 * a + b, 1000));
      copy(from, target.data(), source.data(), source.bytes());
      from.synchronize();
      EXPECT_EQ(read_back(to, target), ramp(10 * a + b, 1000));
    }
  }
}

TEST_P(DevicesTest, KernelsReachTheMemoryOfPeers) {
  const int count = device_count(GetParam());
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) {
      const Device from{GetParam(), a}, to{GetParam(), b};
      if (!peer_access(from, to)) continue;
      EXPECT_TRUE(peer_access(from, to)) << "asked twice";
      Stream here(from), there(to);
      const Buffer<int> target(to, 1000), doubled(from, 1000);
      launch(here, row(1000), WriteRamp{target.data(), 10 * a + b});
      launch(here, row(1000), Double{doubled.data(), target.data()});
      EXPECT_EQ(read_back(here, doubled)[999], 2 * (999 + 10 * a + b));
      EXPECT_EQ(read_back(there, target), ramp(10 * a + b, 1000));
    }
  }
}

TEST_P(DevicesTest, EventsOrderStreamsOfDifferentDevices) {
  const int last = device_count(GetParam()) - 1;
  const Device from{GetParam(), 0}, to{GetParam(), last};
  Stream producer(from), consumer(to);
  const Buffer<int> source(from, 5000), target(to, 5000);
  const auto wrong = zeroed<int>(consumer, 1);
  const Event produced(from), consumed(to);
  for (int round = 0; round < 50; ++round) {
    producer.wait(consumed);
    launch(producer, row(5000), WriteRamp{source.data(), round});
    copy(producer, target.data(), source.data(), source.bytes());
    producer.record(produced);
    consumer.wait(produced);
    launch(consumer, row(5000), CheckRamp{target.data(), round, wrong.data()});
    consumer.record(consumed);
  }
  EXPECT_EQ(read_back(consumer, wrong)[0], 0);
  synchronize(from);
}

TEST_P(DevicesTest, DeviceThatDoesNotExistIsAnError) {
  if (GetParam() == Backend::host) GTEST_SKIP() << "the host backend emulates as many devices as are asked for";
  EXPECT_THROW(Buffer<int>({GetParam(), 1000}, 10), Error);
  EXPECT_THROW(Stream({GetParam(), 1000}), Error);
}

}  // namespace
