#include "exchange/message_classes.hpp"

#include <gtest/gtest.h>

#include <slipstream/transpose.hpp>

#include "support/exchange_parts.hpp"

namespace slipstream {
namespace {

const Halo halo{Halo::Options{}};

TEST(MessageClasses, OfATransposeAreOneHoweverManyDevicesThereAre) {
  for (const int devices : {2, 4, 8}) {
    SCOPED_TRACE(devices);
    const Machine machine = planned_machine(1, devices);
    GridOptions cut;
    cut.partition.devices = {1, 1, devices};
    const Grid slabs({16, 16, 16}, machine, 0, cut);
    const Transpose transpose(slabs, slabs, {.axes = {2, 1, 0}, .kept = {}});
    const std::vector<PlannedItem> items{{&transpose, doubles("from"), doubles("to")}};
    const MessageClasses classes(Communicator::world(), slabs, items, bundle(slabs, items, 0));
    ASSERT_EQ(classes.all().size(), 1u);
    const auto& [number, one] = *classes.all().begin();
    EXPECT_EQ(one.messages, devices * (devices - 1));
    EXPECT_EQ(one.mine.size(), static_cast<std::size_t>(devices * (devices - 1)));
    EXPECT_EQ(one.largest, 8.0 * 16 * 16 * 16 / (devices * devices));
    EXPECT_EQ(classes.of({1, 0}), number);
  }
}

TEST(MessageClasses, TellLinksAndSizesApart) {
  const Machine machine = planned_machine(4, 1);
  const Pairs pairs(machine, {{&halo, doubles("u")}});
  const auto number = [&](int source, int target, std::size_t bytes) {
    return class_number(machine, pairs, {source, target}, bytes);
  };
  const ClassNumber within = number(0, 1, 1024);
  EXPECT_EQ(within, number(1, 0, 2047));
  EXPECT_EQ(within, number(2, 3, 1500));
  EXPECT_NE(within, number(0, 1, 2048));
  EXPECT_NE(within, number(0, 2, 1024)) << "between nodes";
  EXPECT_EQ(number(0, 2, 1024), number(3, 1, 1024));
  EXPECT_LT(within, ClassNumber{1} << 52);
}

TEST(MessageClasses, GiveTheLargestTimeOfEach) {
  const Machine machine = planned_machine(1, 2);
  const Grid grid({16, 16, 16}, machine, 0, all_periodic());
  const std::vector<PlannedItem> items{{&halo, doubles("u")}};
  const MessageClasses classes(Communicator::world(), grid, items, bundle(grid, items, 0));
  const ClassNumber number = classes.of({0, 1});
  EXPECT_EQ(classes.largest(Communicator::world(), {{number, 3.5}}), (std::map<ClassNumber, double>{{number, 3.5}}));
  EXPECT_TRUE(classes.largest(Communicator::world(), {}).empty());
}

}  // namespace
}  // namespace slipstream
