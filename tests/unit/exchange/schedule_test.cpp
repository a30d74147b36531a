#include "exchange/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace slipstream {
namespace {

/// Batches of copies to schedule, in the form that routes create. Their synchronisation counters are dummies.
class Schedules : public testing::Test {
 protected:
  enum Kind { packed, in_place, local };

  Batch* sent(Kind kind, std::int64_t bytes, int round = 0) {
    Batch& batch = made_.emplace_back();
    batch.movers = {moving(bytes)};
    batch.round = round;
    if (kind != local) {
      batch.before.push_back({&signal_, kind == packed ? 2 : 0, 1});
      batch.after.push_back(&signal_);
    }
    traffic_.outgoing.push_back(&batch);
    return &batch;
  }

  const Batch* received(std::size_t message, std::int64_t bytes, int round = 0) {
    traffic_.incoming.resize(std::max(traffic_.incoming.size(), message + 1));
    Batch& batch = made_.emplace_back();
    if (bytes) batch.movers = {moving(bytes)};
    batch.round = round;
    batch.before.push_back({&signal_, 0, 1});
    return traffic_.incoming[message].emplace_back(&batch);
  }

  static const Scheduled& of(const Batch* batch, const std::vector<Scheduled>& list) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const Scheduled& s) { return s.batch == batch; });
    EXPECT_NE(found, list.end()) << "the batch is not in this part of the launch";
    return *found;
  }

  Traffic traffic_;

 private:
  static Mover moving(std::int64_t bytes) {
    Mover mover;
    mover.extent[0] = bytes / 4;
    mover.extent[1] = mover.extent[2] = 1;
    return mover;
  }

  std::deque<Batch> made_;
  Signal signal_ = 0;
};

TEST_F(Schedules, GhostsAreOpenedBeforeAnythingIsSent) {
  const Batch opening;
  traffic_.opening = &opening;
  const Batch* chunk = sent(packed, 1000);
  const Schedule schedule(traffic_);
  EXPECT_LT(of(&opening, schedule.early).to, of(chunk, schedule.early).from);
}

TEST_F(Schedules, ChunksOfAllMessagesGoByRounds) {
  const Batch* second = sent(packed, 1000, 1);
  const Batch* first = sent(packed, 1000, 0);
  const Schedule schedule(traffic_);
  EXPECT_LE(of(first, schedule.early).to, of(second, schedule.early).from);
}

TEST_F(Schedules, CopiesWithinTheDeviceComeAfterWhatLeavesIt) {
  const Batch* copied = sent(local, 1000);
  const Batch* chunk = sent(packed, 1000);
  const Batch* rows = sent(in_place, 1000);
  const Schedule schedule(traffic_);
  EXPECT_GE(of(copied, schedule.early).from, of(chunk, schedule.early).to);
  EXPECT_GE(of(copied, schedule.early).from, of(rows, schedule.early).to);
}

TEST_F(Schedules, LargeCopiesWithinTheDeviceGoWithThePacking) {
  const Batch* copied = sent(local, 20'000'000);
  const Batch* chunk = sent(packed, 20'000'000);
  const Batch* rows = sent(in_place, 20'000'000);
  const Batch* theirs = received(0, 20'000'000, 0);
  const Schedule schedule(traffic_);
  EXPECT_EQ(of(copied, schedule.early).from, of(chunk, schedule.early).from);
  EXPECT_LT(of(copied, schedule.early).to, of(rows, schedule.early).to);
  EXPECT_LT(of(chunk, schedule.early).to, of(rows, schedule.early).to);
  EXPECT_LT(of(theirs, schedule.late).from, of(rows, schedule.early).to);
}

TEST_F(Schedules, LargeCopiesWithinTheDeviceLieBetweenRowsWhereNothingElseIsSent) {
  const Batch* copied = sent(local, 20'000'000);
  const Batch* rows = sent(in_place, 20'000'000);
  const Schedule schedule(traffic_);
  EXPECT_EQ(of(copied, schedule.early).from, of(rows, schedule.early).from);
  EXPECT_EQ(of(copied, schedule.early).to, of(rows, schedule.early).to);
}

TEST_F(Schedules, AChunkIsUnpackedAfterTheLikeWasSent) {
  const Batch* first = sent(packed, 3000, 0);
  sent(packed, 3000, 1);
  const Batch* theirs = received(0, 3000, 0);
  const Schedule schedule(traffic_);
  EXPECT_GT(of(theirs, schedule.late).from, of(first, schedule.early).to);
}

TEST_F(Schedules, ShortRingsAreEmptiedBeforeTheirSlotsAreAskedForAgain) {
  constexpr int depth = 2;
  traffic_.depth = depth;
  std::vector<const Batch*> out, in;
  for (int round = 0; round < 5; ++round) {
    out.push_back(sent(packed, 20'000'000, round));
    in.push_back(received(0, 20'000'000, round));
  }
  const Schedule schedule(traffic_);
  for (int round = 0; round + depth < 5; ++round) {
    EXPECT_GT(of(in[round], schedule.late).from, of(out[round + depth - 1], schedule.early).to);
    EXPECT_LT(of(in[round], schedule.late).from, of(out[round + depth], schedule.early).from);
  }
}

TEST_F(Schedules, WithShortRingsRowsInPlaceAreDoneBeforeTheyAreAwaited) {
  traffic_.depth = 2;
  sent(packed, 20'000'000, 3);
  const Batch* rows = sent(in_place, 20'000'000);
  const Batch* copied = sent(local, 20'000'000);
  const Batch* arrived = received(0, 0);
  const Schedule schedule(traffic_);
  EXPECT_GT(of(arrived, schedule.late).from, of(rows, schedule.early).to);
  EXPECT_LT(of(copied, schedule.early).to, of(rows, schedule.early).to);
}

TEST_F(Schedules, RowsInPlaceAreAwaitedAfterEveryChunkThatOthersWaitToSeeUnpacked) {
  traffic_.depth = 2;
  sent(packed, 1000);  // this message is sent as one chunk; the second one received has 40 chunks
  const Batch* arrived = received(0, 0, 1);
  const Batch* last = nullptr;
  for (int round = 0; round < 40; ++round) last = received(1, 1000, round);
  const Schedule schedule(traffic_);
  EXPECT_GT(of(arrived, schedule.late).from, of(last, schedule.late).to);
}

TEST_F(Schedules, AllBatchesOfAMessageShareItsStamp) {
  const Batch* first = received(0, 100, 0);
  const Batch* second = received(0, 100, 1);
  const Batch* other = received(1, 100, 0);
  const Schedule schedule(traffic_);
  EXPECT_EQ(schedule.stamps, 2);
  EXPECT_EQ(of(first, schedule.late).stamp, of(second, schedule.late).stamp);
  EXPECT_EQ(schedule.message_stamp,
            (std::vector<int>{of(second, schedule.late).stamp, of(other, schedule.late).stamp}));
}

TEST_F(Schedules, WhatADeviceCopiesWithinItselfHasAStampToo) {
  const Batch* copied = sent(local, 1000);
  sent(packed, 1000);
  received(0, 100, 0);
  traffic_.incoming.emplace_back();
  traffic_.completing[copied] = 1;
  const Schedule schedule(traffic_);
  EXPECT_EQ(schedule.stamps, 2);
  EXPECT_EQ(of(copied, schedule.early).stamp, schedule.message_stamp[1]);
}

TEST_F(Schedules, WhatIsCombinedComesLastAndStampsMessagesWithoutBatches) {
  const Batch* arrived = received(0, 0);
  traffic_.incoming.emplace_back();
  const Batch combining;
  traffic_.combining = {&combining};
  const Schedule schedule(traffic_);
  EXPECT_GT(of(&combining, schedule.late).from, of(arrived, schedule.late).to);
  EXPECT_EQ(schedule.message_stamp, (std::vector<int>{1, 2}));
}

TEST_F(Schedules, WhatReadsOneMessageStampsIt) {
  for (int message = 0; message < 3; ++message) traffic_.incoming.emplace_back();
  const Batch first, third, all;
  traffic_.combining = {&first, &third, &all};
  traffic_.completing = {{&first, 0}, {&third, 2}};
  const Schedule schedule(traffic_);
  std::vector<const Batch*> order;
  for (const Scheduled& s : schedule.late) order.push_back(s.batch);
  EXPECT_EQ(order, traffic_.combining);
  EXPECT_EQ(schedule.message_stamp, (std::vector<int>{of(&first, schedule.late).stamp, of(&all, schedule.late).stamp,
                                                      of(&third, schedule.late).stamp}));
  EXPECT_EQ(schedule.stamps, 3);
}

TEST_F(Schedules, WhatWaitsForThisExchangesOwnBatchesIsNotSentEarly) {
  Batch* chunk = sent(packed, 100);
  chunk->late = true;
  const Schedule schedule(traffic_);
  EXPECT_TRUE(schedule.early.empty());
  of(chunk, schedule.late);
}

}  // namespace
}  // namespace slipstream
