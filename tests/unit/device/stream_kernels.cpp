// Tests of streams, events, signals and graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include <slipstream/graph.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

#include "support/device_rig.hpp"

namespace slipstream {
inline namespace stream_kernels {

/// Kernel that writes value + position to each cell of a row; it reads the value when it runs.
struct WriteRampOf {
  int* data;
  const int* value;
  SLIP_FN void operator()(int i, int, int) const { data[i] = *value + i; }
};

struct AddTo {
  int* sum;
  const int* a;
  const int* b;
  SLIP_FN void operator()(int i, int, int) const { sum[i] = a[i] + b[i]; }
};

class StreamTest : public DeviceTest {};

INSTANTIATE_TEST_SUITE_P(Backends, StreamTest, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(StreamTest, WorkOfAStreamRunsInOrder) {
  Stream stream(device);
  const Buffer<int> a(device, 4096), b(device, 4096);
  launch(stream, row(4096), WriteRamp{a.data(), 1});
  launch(stream, row(4096), Double{b.data(), a.data()});
  launch(stream, row(4096), WriteRamp{a.data(), 100});
  launch(stream, row(4096), AddTo{b.data(), b.data(), a.data()});
  const auto result = read_back(stream, b);
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(result[i], 2 * (1 + i) + 100 + i);
}

TEST_P(StreamTest, ConsumerStreamSeesWhatTheEventPromises) {
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

TEST_P(StreamTest, EventIsDoneOnlyAfterItsWork) {
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

TEST_P(StreamTest, EventsMeasureTheTimeBetweenThem) {
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

TEST_P(StreamTest, StreamsRunBesideOneAnother) {
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

TEST_P(StreamTest, WhatWasWrittenBeforeASignalIsSeenAfterTheWait) {
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

TEST_P(StreamTest, WaitGivesUpAtItsLimit) {
  Stream stream(device);
  const auto signal = zeroed<Signal>(stream, 1);
  const Buffer<int> reached(device, 1);
  write(stream, reached, {7});
  launch_teams(stream, 1, 1, 0, WaitFor{signal.data(), 1, second_ns / 100, reached.data()});
  EXPECT_EQ(read_back(stream, reached)[0], 0);
}

TEST_P(StreamTest, CaptureRecordsWithoutRunning) {
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

TEST_P(StreamTest, ReplayOfAForkAndJoinUsesTheDataOfItsTime) {
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

TEST_P(StreamTest, ReplaysFollowOneAnotherInTheStream) {
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

TEST_P(StreamTest, CaptureTakesFillsBoxesAndTeams) {
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

TEST_P(StreamTest, StreamsAreOrdinaryAgainAfterACapture) {
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

TEST_P(StreamTest, AnEventRecordedInACaptureLastCannotBeAskedFor) {
  Stream stream(device);
  const auto data = zeroed<int>(stream, 10);
  const Event event(device);
  stream.begin_capture();
  launch(stream, row(10), WriteRamp{data.data(), 1});
  stream.record(event);
  const Graph graph = stream.end_capture();
  graph.launch(stream);
  stream.synchronize();
  EXPECT_THROW(event.done(), Error);
  EXPECT_THROW(event.synchronize(), Error);
  stream.record(event);
  event.synchronize();
  EXPECT_TRUE(event.done());
}

TEST_P(StreamTest, CaptureThatIsNotJoinedIsAnError) {
  Stream main(device), side(device);
  const auto data = zeroed<int>(main, 10);
  const Event forked(device);
  main.begin_capture();
  main.record(forked);
  side.wait(forked);
  launch(side, row(10), WriteRamp{data.data(), 1});
  EXPECT_THROW(main.end_capture(), Error);
}

}  // namespace stream_kernels
}  // namespace slipstream
