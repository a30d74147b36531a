// Transfers that leave their blocks or write a value twice: the checks compared with brute force.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "exchange/elements.hpp"
#include "exchange/transfer_checks.hpp"
#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"
#include "support/listed_pattern.hpp"

namespace slipstream {
namespace {

/// Two blocks of 6 x 5 x 4 cells on one device.
class Transfers : public testing::Test {
 protected:
  static GridOptions two_blocks() {
    GridOptions options;
    options.boxes = {{0, {{0, 0, 0}, cells}, 0}, {0, {{6, 0, 0}, {12, 5, 4}}, 0}};
    return options;
  }
  static FieldOptions field(Layout layout = Layout::soa, const Extent& ghost = {1, 2, 0}) {
    FieldOptions options;
    options.name = "u";
    options.type = DType::f64;
    options.components = 3;
    options.ghost = ghost;
    options.layout = layout;
    options.padding = {1, 0, 2};
    return options;
  }
  std::optional<Error> refused(const Transfer& t, const FieldOptions& options) const {
    const Listed pattern({t});
    const PlannedItem item{&pattern, options};
    return error_of([&] { check_transfers(grid, item, {t}); });
  }

  static constexpr Extent cells{6, 5, 4};
  Machine machine = machine_here(Backend::host, 1);
  Grid grid{{12, 5, 4}, machine, 0, two_blocks()};
};

TEST_F(Transfers, EndWithTheGhostsOfTheirBlocksOnEveryAxisAtEitherEnd) {
  const Box all = grown({{0, 0, 0}, cells}, field().ghost);
  EXPECT_FALSE(refused({0, 1, cells_of(all, {0, 2}), cells_of(all, {1, 0})}, field()));
  for (std::size_t a = 0; a < 3; ++a)
    for (const bool low : {true, false})
      for (const bool at_source : {true, false}) {
        Transfer t{0, 1, cells_of({{0, 0, 0}, {1, 1, 1}}), cells_of({{0, 0, 0}, {1, 1, 1}})};
        Box& box = at_source ? t.source.box : t.target.box;
        box.lo[a] = low ? all.lo[a] - 1 : all.hi[a];
        box.hi[a] = box.lo[a] + 1;
        expect_error(refused(t, field()), ErrorCode::invalid_argument,
                     {{"pattern", "listed"},
                      {"source_block", 0},
                      {"target_block", 1},
                      {"end", at_source ? "source" : "target"},
                      {"problem", "cells"},
                      {"lo", "(-1, -2, 0)"},
                      {"hi", "(7, 7, 4)"}});
      }
}

TEST_F(Transfers, NameBlocksComponentsAxesAndOperationsThatThereAre) {
  const IndexSet one = cells_of({{0, 0, 0}, {1, 1, 1}});
  const auto with = [&](auto change) {
    Transfer t{0, 1, one, one};
    change(t);
    return refused(t, field());
  };
  const auto expect_refused = [&](auto change, const Facts& facts) {
    expect_error(with(change), ErrorCode::invalid_argument, facts);
  };
  EXPECT_FALSE(with([](Transfer&) {}));
  for (const std::int64_t block : {-1, 2, 99}) {
    expect_refused([&](Transfer& t) { t.source_block = block; },
                   {{"end", "source"}, {"problem", "block"}, {"source_block", block}});
    expect_refused([&](Transfer& t) { t.target_block = block; },
                   {{"end", "target"}, {"problem", "block"}, {"target_block", block}});
  }
  for (const int component : {-1, 3, 77}) {
    const Fact problem{"problem", "component"}, given{"given", component}, limit{"limit", 3};
    expect_refused([&](Transfer& t) { t.source.components = {component}; }, {{"end", "source"}, problem, given, limit});
    expect_refused([&](Transfer& t) { t.target.components = {component}; }, {{"end", "target"}, problem, given, limit});
  }
  for (const std::array<int, 3> axes : {std::array{0, 0, 2}, std::array{0, 1, 3}, std::array{-1, 1, 2}})
    expect_refused([&](Transfer& t) { t.axes = axes; }, {{"problem", "axes"}});
  expect_refused([](Transfer& t) { t.op = Op::add; }, {{"problem", "op"}});
}

TEST_F(Transfers, ListValuesOfCellsAndGhostsAndNoGaps) {
  for (const Layout layout : {Layout::soa, Layout::aos, Layout::soa_z})
    for (const Extent ghost : {Extent{0, 0, 0}, Extent{1, 2, 0}, Extent{3, 0, 1}}) {
      const FieldOptions options = field(layout, ghost);
      const BlockShape shape = block_shape(grid, 0, options);
      std::set<std::int64_t> values;
      each_in(shape, everything(cells, options),
              [&](const Extent&, int, std::int64_t at) { values.insert(at - shape.origin); });
      for (std::int64_t id = -shape.origin - 40; id < shape.elements + 40; ++id) {
        const Transfer t{0, 1, elements_of({0, id}), elements_of({0, 0})};
        ASSERT_EQ(!refused(t, options), values.contains(id)) << to_string(layout) << ", element " << id;
      }
      expect_error(refused({0, 1, elements_of({0}), elements_of({std::int64_t{1} << 40})}, options),
                   ErrorCode::invalid_argument,
                   {{"end", "target"}, {"block", 1}, {"problem", "element"}, {"given", std::int64_t{1} << 40}});
    }
}

TEST_F(Transfers, ListWhatPackedBlocksStore) {
  FieldOptions options = field();
  options.packed = std::make_shared<const std::vector<std::int64_t>>(std::vector<std::int64_t>{5, -1});
  const IndexSet cell = cells_of({{0, 0, 0}, {1, 1, 1}});
  for (std::int64_t id = -3; id < 20; ++id)
    EXPECT_EQ(!refused({0, 1, elements_of({id}), cell}, options), id >= 0 && id < 15) << id;
  expect_error(refused({1, 0, cell, cell}, options), ErrorCode::invalid_argument,
               {{"end", "target"}, {"block", 0}, {"problem", "packed"}});
}

/// A random box of a block, or a list of some elements of it in the order of the box.
IndexSet random_set(const FieldOptions& options, bool listed, std::mt19937& random) {
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  IndexSet set = cells_of({}, {static_cast<int>(below(3))});
  if (below(3) == 0) set.components.push_back(static_cast<int>(below(3)));
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t first = -options.ghost[a], behind = Extent{6, 5, 4}[a] + options.ghost[a];
    set.box.lo[a] = first + below(behind - first);
    set.box.hi[a] = set.box.lo[a] + 1 + below(std::min<std::int64_t>(2, behind - set.box.lo[a]));
  }
  if (!listed) return set;
  std::vector<std::int64_t> ids;
  const BlockShape shape = block_shape({6, 5, 4}, options);
  each_in(shape, set, [&](const Extent&, int, std::int64_t at) { ids.push_back(at - shape.origin); });
  return elements_of(ids);
}

class Writers : public Transfers {
 protected:
  /// The error for transfers to block 1 that belong to one field, or alternately to two fields.
  std::optional<Error> refused(const std::vector<std::vector<Transfer>>& of_items, Op op = Op::copy, int fields = 1) {
    std::vector<Field> targets;
    targets.reserve(static_cast<std::size_t>(fields));
    for (int n = 0; n < fields; ++n) targets.emplace_back(grid, field());
    std::vector<Listed> patterns(of_items.begin(), of_items.end());
    std::vector<ExchangeItem> items;
    for (std::size_t n = 0; n < patterns.size(); ++n) {
      if (op != Op::copy) patterns[n] = Listed(with(of_items[n], op), op);
      items.push_back({&patterns[n], &targets[n % targets.size()]});
    }
    const Bundles bundles = bundle(grid, planned(items), 0);
    return error_of([&] { check_writers(grid, items, bundles); });
  }
  static std::vector<Transfer> with(std::vector<Transfer> transfers, Op op) {
    for (Transfer& t : transfers) t.op = op;
    return transfers;
  }
};

TEST_F(Writers, AreRefusedWhereTwoCopyToOneValue) {
  std::mt19937 random(5);
  int twice = 0, once = 0;
  for (int trial = 0; trial < 600; ++trial) {
    std::vector<Transfer> transfers;
    std::multiset<std::int64_t> written;
    const BlockShape shape = block_shape(cells, field());
    for (auto count = 1 + random() % 5; count > 0; --count) {
      const IndexSet set = random_set(field(), trial % 2 && random() % 2, random);
      any_element(set, shape, [&](std::int64_t at) { return written.insert(at), false; });
      transfers.push_back({static_cast<std::int64_t>(random() % 2), 1, set, set});
    }
    const bool doubled = std::set(written.begin(), written.end()).size() < written.size();
    (doubled ? twice : once) += 1;
    const auto error = refused({transfers});
    ASSERT_EQ(error.has_value(), doubled) << trial;
    if (doubled)
      expect_error(error, ErrorCode::unsupported, {{"pattern", "listed"}, {"target_block", 1}, {"field", "u"}});
    ASSERT_FALSE(refused({transfers}, Op::add)) << trial;
  }
  EXPECT_GT(twice, 100);
  EXPECT_GT(once, 100);
}

TEST_F(Writers, AreThoseOfAllItemsWithOneTarget) {
  const IndexSet plane = cells_of({{0, 0, 0}, {6, 5, 1}}), next = cells_of({{0, 0, 1}, {6, 5, 2}});
  EXPECT_FALSE(refused({{{0, 1, plane, plane}}, {{0, 1, plane, next}}}));
  expect_error(refused({{{0, 1, plane, plane}}, {{0, 1, next, plane}}}), ErrorCode::unsupported,
               {{"source_block", 0}, {"target_block", 1}, {"field", "u"}, {"place", "cell (0, 0, 0)"}});
  EXPECT_FALSE(refused({{{0, 1, plane, plane}}, {{0, 1, next, plane}}}, Op::copy, 2)) << "of two fields";
}

}  // namespace
}  // namespace slipstream
