// Memory in which messages are received.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/exchange_parts.hpp"
#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

/// A block on each of two devices of this rank, and messages between them by one route.
struct Received {
  explicit Received(const std::string& routes, std::int64_t in_place = -1, std::int64_t chunk = 0) {
    options.routes = routes_from_string(routes);
    options.knobs.in_place = in_place;
    options.knobs.packet_limit = 0;
    options.knobs.chunk = chunk;
    parts.emplace(grid, std::vector<ExchangeItem>{{&halo, &u}}, options);
  }
  Grid grid{{16, 16, 32}, machine_here(Backend::host, 2), 0, all_periodic()};
  Field u{grid, doubles("u")};
  const Halo halo{Halo::Options{}};
  ExchangeOptions options;
  std::optional<Parts> parts;
};

/// Calls f(c, buffer) for each message between devices: c describes the message, and `buffer` is its receive buffer.
template <class F>
void each_receive_buffer(Received& of, F f) {
  for (const Channel& c : of.parts->plan.channels)
    if (!c.pair.same_device)
      f(c, of.parts->memory->receive_buffer_of(c, of.parts->memory->of(c.message.source).device));
}

TEST(ExchangeMemoryOf, MessagesHasCountersOnLinesOfTheirOwn) {
  for (const std::int64_t chunk : {0, 512}) {
    Received received("kernel,direct", std::int64_t{1} << 60, chunk);
    std::set<const Signal*> lines;
    std::size_t counters = 0;
    each_receive_buffer(received, [&](const Channel& c, const ReceiveBuffer& found) {
      EXPECT_EQ(found.full.size(), static_cast<std::size_t>(c.need.chunks));
      EXPECT_EQ(found.free.size(), static_cast<std::size_t>(c.need.chunks));
      for (const auto* all : {&found.full, &found.free})
        for (const Signal* signal : *all) {
          EXPECT_EQ(*signal, 0u);
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(signal) % 128, 0u);
          lines.insert(signal);
          ++counters;
        }
    });
    EXPECT_GT(counters, chunk ? 8u : 3u);
    EXPECT_EQ(lines.size(), counters);
  }
}

TEST(ExchangeMemoryOf, MessagesHasSlotsThatAreApartAndZero) {
  Received received("kernel,peer");
  std::vector<std::pair<const std::byte*, std::size_t>> slots;
  each_receive_buffer(received, [&](const Channel& c, const ReceiveBuffer& found) {
    ASSERT_NE(found.slot, nullptr);
    const std::size_t bytes = c.need.slot_bytes * static_cast<std::size_t>(c.need.depth);
    EXPECT_GE(bytes, c.message.bytes);
    EXPECT_TRUE(std::all_of(found.slot, found.slot + bytes, [](std::byte b) { return b == std::byte{0}; }));
    const Span<std::byte>& all = received.parts->memory->of(c.message.target).slots;
    EXPECT_TRUE(all.data() <= found.slot && found.slot + bytes <= all.data() + all.bytes());
    slots.emplace_back(found.slot, bytes);
  });
  std::sort(slots.begin(), slots.end());
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_LE(slots[0].first + slots[0].second, slots[1].first);
}

TEST(ExchangeMemoryOf, GhostsThatAreStoredInPlaceHasTheirArrays) {
  Received received("kernel,direct", 0);
  each_receive_buffer(received, [&](const Channel& c, const ReceiveBuffer& found) {
    ASSERT_TRUE(c.need.in_place);
    EXPECT_NE(found.ready, nullptr);
    EXPECT_NE(found.delivered, nullptr);
    const std::int64_t block = c.bundle->legs.front().transfer->target_block;
    EXPECT_EQ(received.parts->memory->directory.find({Directory::What::field, c.message.target, -1, 0, 0, block},
                                                     received.parts->memory->of(c.message.source).device),
              received.u.array(block, 0));
  });
}

TEST(ExchangeMemoryOf, ThisRankIsRefusedForOtherDevicesAndOtherPlans) {
  Received received("kernel,peer");
  expect_error([&] { received.parts->memory->of(2); }, ErrorCode::not_found, {{"device", 2}});
  expect_error([&] { received.parts->memory->directory.find({Directory::What::slot, 0, 7}, {}); }, ErrorCode::mismatch);
}

TEST(ExchangeMemoryOf, ADeviceWithoutRoomNamesWhatItIsFor) {
  Received received("kernel,peer");
  expect_error(
      [&] {
        received.parts->memory->devices.front()->in_room_for("a test", [] {
          throw OutOfMemory("no", {{"needed", 1}});
        });
      },
      ErrorCode::out_of_memory, {{"purpose", "a test"}, {"rank", 0}, {"needed", 1}});
}

}  // namespace
}  // namespace slipstream
