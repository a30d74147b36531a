#include <slipstream/trace.hpp>

#include <gtest/gtest.h>

#include <string>

#include <slipstream/buffer.hpp>

namespace slipstream {
namespace {

TEST(Trace, TimesDeviceWorkWithinTheHostsTime) {
  Trace trace;
  Stream stream(Device{});
  Buffer<std::byte> buffer(Device{}, 1 << 20);
  const double before = trace.now();
  {
    const DeviceSpan span(&trace, stream, "row", "fill", "kernel");
    fill(stream, buffer.data(), 1, buffer.bytes());
  }
  stream.synchronize();
  const double after = trace.now();
  const std::string json = trace.json(3);
  ASSERT_NE(json.find("\"name\": \"fill\", \"cat\": \"kernel\""), std::string::npos) << json;
  const double start = std::stod(json.substr(json.find("\"ts\": ") + 6));
  const double duration = std::stod(json.substr(json.find("\"dur\": ") + 7));
  const double passed = after - before;
  EXPECT_GE(duration, 0);
  EXPECT_LE(duration, passed);
  EXPECT_GE(start, 0);
  // The clock offset is known to half of the round trip time. The round trip has ended before the time `after`.
  EXPECT_LE(start + duration, after + passed / 2);
  EXPECT_NE(json.find("\"name\": \"rank 3\""), std::string::npos);
}

TEST(Trace, KeepsAStateUntilTheNext) {
  Trace trace;
  trace.state("sender", "packing", "message");
  trace.state("sender", "packing", "message");
  EXPECT_EQ(trace.size(), 0);
  trace.state("sender", "sending", "message");
  trace.state("sender", "", "message");
  EXPECT_EQ(trace.size(), 2);
}

TEST(Trace, DropsWhatFindsNoPlaceAndCountsIt) {
  Trace trace(1);
  { const HostSpan first(&trace, "first"); }
  { const HostSpan second(&trace, "second"); }
  EXPECT_EQ(trace.size(), 1);
  EXPECT_EQ(trace.dropped(), 1);
}

}  // namespace
}  // namespace slipstream
