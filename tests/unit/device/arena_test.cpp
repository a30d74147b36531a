// The arena: memory shared by the exchanges of a device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include <slipstream/arena.hpp>
#include <slipstream/error.hpp>

#include "device/backend.hpp"
#include "device/kept_memory.hpp"

namespace slipstream {
namespace {

constexpr Device host{Backend::host, 0};
constexpr std::size_t mib = std::size_t{1} << 20;

TEST(Arena, GivesSpansThatDoNotOverlap) {
  const Arena arena(host);
  std::mt19937 random(7);
  std::vector<Span<std::byte>> spans;
  for (int n = 0; n < 2000; ++n) {
    if (random() % 3 == 0 && !spans.empty()) {
      std::swap(spans[random() % spans.size()], spans.back());
      spans.pop_back();
    } else {
      spans.push_back(arena.take<std::byte>(1 + random() % 20000));
      std::memset(spans.back().data(), n % 256, spans.back().bytes());
    }
    std::vector<std::pair<std::byte*, std::byte*>> places;
    for (const auto& span : spans) places.emplace_back(span.data(), span.data() + span.bytes());
    std::sort(places.begin(), places.end());
    for (std::size_t i = 1; i < places.size(); ++i) ASSERT_LE(places[i - 1].second, places[i].first);
  }
  for (const auto& span : spans) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(span.data()) % 256, 0u);
    EXPECT_TRUE(std::all_of(span.data(), span.data() + span.bytes(), [&](std::byte b) { return b == *span.data(); }));
  }
  spans.clear();
  EXPECT_EQ(arena.use().used, 0u);
}

TEST(Arena, JoinsWhatIsGivenBack) {
  const Arena arena(host);
  const std::size_t part = Arena::least_chunk / 4;
  for (const auto& order : {std::vector{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 1, 3}, {1, 3, 0, 2}}) {
    std::vector<Span<std::byte>> parts;
    for (int i = 0; i < 4; ++i) parts.push_back(arena.take<std::byte>(part));
    for (const int i : order) parts[static_cast<std::size_t>(i)] = {};
    const auto whole = arena.take<std::byte>(Arena::least_chunk);
    EXPECT_EQ(arena.use().chunks, 1u);
    EXPECT_EQ(arena.use().used, Arena::least_chunk);
  }
}

TEST(Arena, TakesTheSmallestRoomThatFits) {
  const Arena arena(host);
  std::optional large(arena.take<std::byte>(4096)), wall(arena.take<std::byte>(256));
  std::optional small(arena.take<std::byte>(1024)), end(arena.take<std::byte>(256));
  const std::byte *there = large->data(), *here = small->data();
  large.reset();
  small.reset();
  const auto again = arena.take<std::byte>(1000), larger = arena.take<std::byte>(4000);
  EXPECT_EQ(again.data(), here);
  EXPECT_EQ(larger.data(), there);
}

TEST(Arena, GrowsByWhatItIsOrByWhatIsAsked) {
  const Arena arena(host);
  std::vector<Span<std::byte>> spans;
  const auto chunk_for = [&](std::size_t bytes) {
    const std::size_t before = arena.use().bytes;
    spans.push_back(arena.take<std::byte>(bytes));
    return arena.use().bytes - before;
  };
  EXPECT_EQ(chunk_for(1), 2 * mib);
  EXPECT_EQ(chunk_for(2 * mib), 2 * mib);
  EXPECT_EQ(chunk_for(3 * mib), 4 * mib);
  EXPECT_EQ(chunk_for(30 * mib), 30 * mib);
  EXPECT_EQ(chunk_for(5 * mib), 38 * mib);
  EXPECT_EQ(chunk_for(40 * mib), Arena::most_growth);
  EXPECT_EQ(chunk_for(70 * mib), 70 * mib);
}

TEST(Arena, KindsOfMemoryHaveChunksOfTheirOwn) {
  const Arena arena(host);
  for (const Memory memory : {Memory::device, Memory::message, Memory::pinned, Memory::pinned_shared}) {
    EXPECT_EQ(arena.use(memory).chunks, 0u);
    const auto span = arena.take<double>(100, memory);
    EXPECT_EQ(arena.use(memory).chunks, 1u);
    EXPECT_GE(arena.use(memory).used, span.bytes());
  }
  EXPECT_EQ(arena.take<double>(0).data(), nullptr);
  EXPECT_THROW(arena.take<double>(1, Memory::host), Error);
}

TEST(Arena, OtherProcessesMayMapItsSpans) {
  const Arena arena(host);
  const auto first = arena.take<std::byte>(1000), second = arena.take<std::byte>(1000);
  const MemoryHandle one = export_memory(host, first.data()), other = export_memory(host, second.data());
  EXPECT_EQ(one.proof, other.proof);
  EXPECT_EQ(other.offset - one.offset, static_cast<std::size_t>(second.data() - first.data()));
  EXPECT_TRUE(mappable(host, arena.take<std::byte>(1000, Memory::pinned_shared).data()));
}

TEST(Arena, SharedHostMemoryIsZeroEachTime) {
  const Arena arena(host);
  for (int round = 0; round < 3; ++round) {
    const auto span = arena.take<unsigned char>(5000, Memory::pinned_shared);
    for (const unsigned char* c = span.data(); c < span.data() + span.size(); ++c) ASSERT_EQ(*c, 0) << round;
    std::memset(span.data(), 1, span.bytes());
  }
}

TEST(Arena, WhatIsKeptIsNeverTakenAgain) {
  const Arena arena(host);
  auto span = arena.take<std::byte>(Arena::least_chunk);
  std::byte* const place = span.data();
  keep_for_ever(std::move(span));
  EXPECT_EQ(arena.use().used, Arena::least_chunk);
  EXPECT_NE(arena.take<std::byte>(Arena::least_chunk).data(), place);
  detail::free_unused_chunks(host);
  *place = std::byte{1};  // AddressSanitizer reports this store if the memory was freed
  EXPECT_EQ(arena.use().bytes, Arena::least_chunk);
}

TEST(Arena, ChunksThatNobodyUsesAreFreedWhereMemoryIsShort) {
  const Arena arena(host);
  const auto kept = arena.take<std::byte>(100);
  static_cast<void>(arena.take<std::byte>(10 * mib));
  EXPECT_EQ(arena.use().bytes, 12 * mib);
  EXPECT_TRUE(detail::free_unused_chunks(host));
  EXPECT_EQ(arena.use().bytes, 2 * mib);
  EXPECT_FALSE(detail::free_unused_chunks({Backend::host, 1}));
}

TEST(Arenas, AreOneForEachDeviceWhileSomebodyUsesIt) {
  Arenas arenas;
  auto span = arenas.of(host).take<std::byte>(100);
  EXPECT_EQ(arenas.of(host).use().chunks, 1u);
  EXPECT_EQ(arenas.of({Backend::host, 1}).use().chunks, 0u);
  span = {};
  EXPECT_EQ(arenas.of(host).use().chunks, 0u);
}

}  // namespace
}  // namespace slipstream
