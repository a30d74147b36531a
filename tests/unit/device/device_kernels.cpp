// Buffers and devices keep their contract on every available backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/launch.hpp>

#include "support/device_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
inline namespace device_kernels {

class BufferTest : public DeviceTest {};

INSTANTIATE_TEST_SUITE_P(Backends, BufferTest, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(BufferTest, MovedBufferKeepsItsMemory) {
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

TEST_P(BufferTest, EmptyBufferHoldsNothing) {
  const Buffer<double> buffer(device, 0);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.bytes(), 0u);
}

TEST_P(BufferTest, EveryKindOfMemoryCarriesDataToEveryOther) {
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

TEST_P(BufferTest, MemoryOfMessagesIsKeptForTheNext) {
  const std::size_t bytes = std::size_t{5} << 20;
  const auto place = [&](std::size_t size) { return Buffer<std::byte>(device, size, Memory::message).data(); };
  std::byte* const first = place(bytes);
  EXPECT_EQ(place(bytes - 100), first);
  EXPECT_NE(place(2 * bytes), first);
  const Buffer<std::byte> held(device, bytes, Memory::message);
  EXPECT_EQ(held.data(), first);
  EXPECT_NE(place(bytes), first) << "two Buffers hold one block";
}

TEST_P(BufferTest, SpanIsForMemoryThatTheHostMayTouch) {
  EXPECT_EQ(Buffer<int>(device, 10, Memory::pinned).span().size(), 10u);
  EXPECT_EQ(Buffer<int>(device, 10, Memory::host).span().size(), 10u);
  const Buffer<int> buffer(device, 10);
  if (device.backend == Backend::host) {
    EXPECT_EQ(buffer.span().size(), 10u);
  } else {
    EXPECT_THROW(buffer.span(), Error);
  }
}

TEST_P(BufferTest, KernelWritesPinnedMemoryInPlace) {
  Stream stream(device);
  const Buffer<int> pinned(device, 500, Memory::pinned);
  launch(stream, row(500), WriteRamp{pinned.data(), 3});
  stream.synchronize();
  EXPECT_TRUE(std::ranges::equal(pinned.span(), ramp(3, 500)));
}

TEST_P(BufferTest, MemoryThatDoesNotFitIsRefusedWithTheBytes) {
  const std::size_t bytes = std::size_t{1} << 50;
  for (const Memory memory : {Memory::device, Memory::shared, Memory::pinned, Memory::host, Memory::message}) {
    try {
      const Buffer<char> buffer(device, bytes, memory);
      ADD_FAILURE() << "a petabyte was granted";
    } catch (const OutOfMemory& error) {
      expect_error(Error(error), ErrorCode::out_of_memory, {{"device", to_string(device)}, {"needed", bytes}});
    }
  }
}

TEST_P(BufferTest, InfoDescribesTheDevice) {
  const DeviceInfo about = info(device);
  EXPECT_FALSE(about.name.empty());
  EXPECT_FALSE(about.uuid.empty());
  EXPECT_GT(about.memory_total, 0u);
  EXPECT_LE(about.memory_free, about.memory_total);
  EXPECT_GT(about.processors, 0);
}

TEST_P(BufferTest, FillSetsTheBytesAndNoOthers) {
  Stream stream(device);
  const Buffer<unsigned char> buffer(device, 300);
  fill(stream, buffer.data(), 1, 300);
  fill(stream, buffer.data() + 10, 200, 77);
  std::vector<unsigned char> expected(300, 1);
  std::fill_n(expected.begin() + 10, 77, 200);
  EXPECT_EQ(read_back(stream, buffer), expected);
}

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

}  // namespace device_kernels
}  // namespace slipstream
