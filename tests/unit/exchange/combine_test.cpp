// A copy that combines values reads only the messages that its values need, in the order of blocks.
#include "exchange/combine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>

#include "support/listed_pattern.hpp"

namespace slipstream {
namespace {

/// A row of 8 cells in block 3, and messages of other blocks that add to it.
class CombinedRows : public testing::Test {
 protected:
  CombinedRows() {
    FieldOptions options;
    options.type = DType::f64;
    place_.shape = block_shape({8, 1, 1}, options);
    place_.origin = reinterpret_cast<std::byte*>(values_.data());
    place_.type = DType::f64;
    for (std::size_t n = 0; n < values_.size(); ++n) values_[n] = static_cast<double>(n);
  }

  void receive(std::int64_t block, const IndexSet& target, Op op = Op::add) {
    Transfer& transfer = transfers_.emplace_back(Transfer{block, 3, target, target, op});
    Leg& leg = legs_.emplace_back();
    leg.transfer = &transfer;
    leg.type = DType::f64;
    const std::size_t message = contributors_.size();
    contributors_.push_back({{&leg, arrived_[message]}, place_, message});
  }
  static IndexSet cells(std::int64_t first, std::int64_t last) { return cells_of({{first, 0, 0}, {last, 1, 1}}); }

  std::vector<Combined> combined() { return combiner_.movers(contributors_); }

  /// Number of values that are combined from the given messages.
  static std::int64_t count(const std::vector<Combined>& all, const std::vector<std::size_t>& messages) {
    std::int64_t found = 0;
    for (const Combined& c : all) found += c.messages == messages ? c.mover.words() : 0;
    return found;
  }
  static const Mover& of(const std::vector<Combined>& all, const std::vector<std::size_t>& messages) {
    return std::find_if(all.begin(), all.end(), [&](const Combined& c) { return c.messages == messages; })->mover;
  }

  std::array<double, 8> values_{};
  alignas(16) std::byte arrived_[4][64]{};
  Place place_;
  std::deque<Transfer> transfers_;
  std::deque<Leg> legs_;
  std::vector<Contributor> contributors_;
  Combiner combiner_{{Backend::host, 0}};
};

TEST_F(CombinedRows, OfBoxesWaitForTheMessagesThatTheyNeed) {
  receive(7, cells(0, 5));
  receive(1, cells(3, 8));
  const auto all = combined();
  EXPECT_EQ(count(all, {0}), 3);
  EXPECT_EQ(count(all, {1}), 3);
  EXPECT_EQ(count(all, {0, 1}), 2);
}

TEST_F(CombinedRows, AddInTheOrderOfBlocksAndNotOfMessages) {
  receive(7, cells(0, 5));
  receive(1, cells(0, 5));
  const auto all = combined();
  ASSERT_EQ(all.size(), 1u);
  const Mover& both = all.front().mover;
  ASSERT_EQ(both.contribution_count, 2);
  EXPECT_EQ(both.contributions[0].base, arrived_[1]);
  EXPECT_EQ(both.contributions[1].base, arrived_[0]);
  EXPECT_EQ(both.own, 1) << "block 1, then the target's block 3, then block 7";
}

TEST_F(CombinedRows, OfListsWaitForTheMessagesThatTheyNeed) {
  receive(7, elements_of({5, 0, 2}));
  receive(1, elements_of({2, 6, 5, 7}));
  const auto all = combined();
  EXPECT_EQ(count(all, {0}), 1);
  EXPECT_EQ(count(all, {1}), 2);
  ASSERT_EQ(count(all, {0, 1}), 2);
  const Mover& both = of(all, {0, 1});
  EXPECT_EQ(std::vector(both.target_ids, both.target_ids + 2), (std::vector<std::int64_t>{2, 5}));
  const Contribution &first = both.contributions[0], &second = both.contributions[1];
  EXPECT_EQ(first.base, arrived_[1]);
  EXPECT_EQ(std::vector(first.ids, first.ids + 2), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(second.base, arrived_[0]);
  EXPECT_EQ(std::vector(second.ids, second.ids + 2), (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(both.own, 1);
}

TEST_F(CombinedRows, CopyWhatIsOnlyCopied) {
  receive(7, cells(0, 4));
  receive(1, cells(4, 8), Op::copy);
  const auto all = combined();
  EXPECT_EQ(count(all, {0}), 4);
  EXPECT_EQ(of(all, {1}).op, Op::copy);
  EXPECT_EQ(of(all, {1}).contribution_count, 0);
}

}  // namespace
}  // namespace slipstream
