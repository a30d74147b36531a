// Tests of the arrays that an exchange reads and writes: their addresses, and their replacement by other arrays.
#include <gtest/gtest.h>

#include <deque>

#include <slipstream/transpose.hpp>

#include "support/exchange_parts.hpp"
#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"

namespace slipstream {
namespace {

struct TwoBlocks {
  Machine machine = machine_here(Backend::host, 2);
  Grid grid{{8, 8, 16}, machine, 0};
  const Halo halo{Halo::Options{}};
  std::vector<Stream> streams = streams_of(grid);

  /// Addresses in field arrays to which a device unpacks the messages that it receives.
  static std::vector<Place> targets(Parts& parts, DeviceArrays& on) {
    std::vector<Place> all;
    for (const Channel& c : parts.plan.channels)
      if (c.message.target == on.memory.index)
        for (const Place& place : parts.arrays->places(c, ItemEnd::target, on)) all.push_back(place);
    return all;
  }
};

TEST(ItemArraysOf, AFieldAreWhereItsBlocksLie) {
  TwoBlocks two;
  Field u(two.grid, doubles("u"));
  Parts parts(two.grid, {{&two.halo, &u}});
  for (const auto& mine : parts.memory->devices) {
    DeviceArrays& on = parts.arrays->of(*mine);
    const std::vector<Place> places = TwoBlocks::targets(parts, on);
    EXPECT_FALSE(places.empty());
    for (const Place& place : places) {
      EXPECT_EQ(place.array, -1);
      const std::int64_t id = two.grid.local()[static_cast<std::size_t>(mine->index)];
      EXPECT_EQ(place.origin, u.array(id, 0) + u.shape(id).origin * 8);
    }
    EXPECT_EQ(on.table.count, 0);
  }
}

TEST(ItemArraysOf, AFieldWithCopiesAreListedForEachThatMayBeCurrent) {
  TwoBlocks two;
  Field u(two.grid, doubles("u", 2)), v(two.grid, doubles("v", 3));
  Parts parts(two.grid, {{&two.halo, &u}, {&two.halo, &v}});
  EXPECT_EQ(parts.arrays->current(), 0);
  DeviceArrays& on = parts.arrays->of(*parts.memory->devices.front());
  TwoBlocks::targets(parts, on);
  on.upload();
  ASSERT_EQ(on.table.count, 2);
  const std::int64_t id = two.grid.local().front();
  for (int combination = 0; combination < 6; ++combination) {
    parts.arrays->select(combination);
    const std::vector<std::byte*> found(on.table.on_host(), on.table.on_host() + 2);
    const std::byte* const in_order[]{u.array(id, combination % 2), v.array(id, combination / 2)};
    EXPECT_TRUE(std::is_permutation(found.begin(), found.end(), std::begin(in_order))) << combination;
  }
}

/// Returns the error of an exchange in which this many fields swap between two arrays; none if it can be made.
std::optional<Error> problem_of_swapping(std::size_t count) {
  TwoBlocks two;
  std::deque<Field> fields;
  std::vector<ExchangeItem> items;
  for (std::size_t n = 0; n < count; ++n)
    items.push_back(
        {&two.halo, &fields.emplace_back(two.grid, doubles(std::string(1, static_cast<char>('a' + n)), 2))});
  return error_of([&] { Parts(two.grid, items); });
}

TEST(Copies, OfSixFieldsThatSwapFitIntoOneExchange) { EXPECT_FALSE(problem_of_swapping(6)); }

TEST(Copies, OfSevenFieldsThatSwapAreToBePutIntoTwo) {
  expect_error(problem_of_swapping(7), ErrorCode::unsupported, {{"combinations", 128}, {"limit", 64}});
}

TEST(ItemArraysOf, AFieldThatRemadeItsArraysAreRefused) {
  TwoBlocks two;
  Field u(two.grid, doubles("u"));
  Parts parts(two.grid, {{&two.halo, &u}});
  EXPECT_FALSE(error_of([&] { parts.arrays->check(); }));
  u.drop_arrays();
  u.make_arrays();
  expect_error([&] { parts.arrays->check(); }, ErrorCode::wrong_state, {{"field", "u"}});
}

TEST(Binding, IsRefusedWhereItCannotBe) {
  const Grid grid({8, 8, 8}, machine_here(Backend::host, 1), 0);
  Field field(grid, doubles("u"));
  const std::int64_t block = grid.local().front();
  const Halo halo(Halo::Options{});
  std::vector<Stream> streams = streams_of(grid);
  Parts fixed(grid, {{&halo, &field}}), free(grid, {{&halo, &field, nullptr, true}});
  std::vector<double> array(static_cast<std::size_t>(field.shape(block).elements) + 2);
  const auto said = [&](Parts& parts, std::size_t item, const std::vector<void*>& arrays, bool open = false) {
    return error_of([&] { parts.arrays->bind(item, ItemEnd::source, arrays, streams, open); });
  };
  expect_error(said(fixed, 0, {array.data()}), ErrorCode::unsupported, {{"item", 0}, {"option", "rebinds"}});
  expect_error(said(free, 1, {array.data()}), ErrorCode::not_found, {{"item", 1}, {"limit", 1}});
  expect_error(said(free, 0, {}), ErrorCode::mismatch, {{"item", 0}, {"given", 0}, {"needed", 1}});
  const bool even = reinterpret_cast<std::uintptr_t>(array.data()) % 16 ==
                    reinterpret_cast<std::uintptr_t>(field.array(block, 0)) % 16;
  const std::size_t given = reinterpret_cast<std::uintptr_t>(array.data() + (even ? 1 : 0)) % 16;
  expect_error(said(free, 0, {array.data() + (even ? 1 : 0)}), ErrorCode::unsupported,
               {{"item", 0}, {"block", block}, {"given", given}, {"needed", 8 - given}});
  expect_error(said(free, 0, {nullptr}), ErrorCode::invalid_argument, {{"item", 0}, {"block", block}});
  expect_error(said(free, 0, {array.data() + (even ? 0 : 1)}, true), ErrorCode::wrong_state, {{"item", 0}});
  EXPECT_FALSE(said(free, 0, {array.data() + (even ? 0 : 1)}));
}

TEST(Binding, IsRefusedWhereArraysBecomeTheSame) {
  const Communicator comm = Communicator::world();
  const Grid grid({8, 8, 8}, machine_here(Backend::host, 1), 0);
  const Transpose transpose(grid, grid, {.axes = {2, 1, 0}, .kept = {}});
  Field u(grid, {.name = "u", .type = DType::f64}), v(grid, {.name = "v", .type = DType::f64});
  std::vector<Stream> streams = streams_of(grid);
  Exchange exchange(comm, grid, {{.pattern = &transpose, .source = &u, .target = &v, .rebinds = true}});
  const auto arrays = [&](const Field& field) {
    std::vector<void*> all;
    for (const std::int64_t id : grid.local()) all.push_back(field.data(id));
    return all;
  };
  // Source and target arrays of a transpose change places in two calls. Between the calls both are the same array.
  exchange.bind(0, ItemEnd::source, arrays(v), streams);
  exchange.bind(0, ItemEnd::target, arrays(u), streams);
  exchange_once(exchange, streams, 0);
  exchange.bind(0, ItemEnd::target, arrays(v), streams);
  expect_error([&] { exchange.run(streams); }, ErrorCode::unsupported, {{"item", 0}, {"problem", "same_memory"}});
  finish(streams);
}

}  // namespace
}  // namespace slipstream
