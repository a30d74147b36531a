#include "exchange/schedule.hpp"

#include <algorithm>
#include <map>

namespace slipstream {
namespace {

// Sort keys for the end of a launch, above any count of bytes or rounds. At `arrival` a launch waits for values that
// others store into its arrays; no neighbour depends on these. At `last` it combines received values with the target's.
constexpr double last = 1e13, arrival = 1e12;

// Traffic in bytes above which packing is limited by memory, and stores in place by the link.
constexpr double large_traffic = 8e6;

// Share of a launch's rounds (each has one chunk of every message) that are packed before stores into neighbours'
// ghosts begin. This value and the following ones were the fastest of those tried on H100 and H200.
constexpr double rounds_before_rows = 0.3;
// Large exchanges: fraction of the packing of messages after which direct stores into ghost cells begin. Second value:
// ratio of the time that packing takes to an estimate from its number of bytes.
constexpr double packed_before_rows = 0.6, packing_takes = 1.2;
// Share of its bytes that a device sends between packing a message chunk and unpacking the neighbours' same chunk.
constexpr double large_on_its_way = 0.3, small_on_its_way = 0.2;

double bytes_of(const Batch& batch) {
  double bytes = 0;
  for (const Mover& m : batch.movers) bytes += static_cast<double>(m.words()) * m.word;
  return bytes;
}

bool is_local(const Batch& batch) { return batch.before.empty() && batch.after.empty() && !batch.in_packets; }

/// Whether a batch stores into ghosts. It waits in this exchange until the ghosts may be overwritten.
bool is_in_place(const Batch& batch) { return !batch.before.empty() && batch.before.front().lag == 0 && !batch.late; }

bool is_packed(const Batch& batch) { return !is_local(batch) && !is_in_place(batch); }

/// Sorts copies that pack messages by their chunk (part of a message). Copies straight into ghost cells come last.
std::vector<const Batch*> in_order(std::vector<const Batch*> outgoing) {
  const auto place = [](const Batch& b) {
    return std::pair(b.before.empty() || b.before.front().lag > 0 ? 0 : 1, b.round);
  };
  std::stable_sort(outgoing.begin(), outgoing.end(),
                   [&](const Batch* a, const Batch* b) { return place(*a) < place(*b); });
  return outgoing;
}

struct Interval {
  double from, to;
};

// Two strategies assign positions to the batches (copies that wait for the same signals) of a launch. place_sent() is
// called in the order of sending.

/// Orders copies in rounds of one chunk per message. A receive buffer is unpacked half a round before its next chunk.
class Rounds {
 public:
  explicit Rounds(const Traffic& traffic) : depth_(traffic.depth) {
    for (const Batch* batch : traffic.outgoing) rounds_ = std::max(rounds_, batch->round + 1.0);
  }

  Interval place_sent(const Batch& batch) {
    if (is_local(batch)) return {0, 0.5 * rounds_};
    if (is_in_place(batch)) return {rounds_before_rows * rounds_, rounds_ + depth_};
    return {double(batch.round), double(batch.round)};
  }

  double place_received(const Batch& batch) const {
    return batch.movers.empty() ? arrival : batch.round + depth_ - 0.5;
  }

 private:
  double depth_, rounds_ = 1;
};

/// Orders the copies in an exchange's kernel: each gets an interval of the run, counted in bytes moved until then.
class Line {
 public:
  explicit Line(const Traffic& traffic) {
    double sent = 0, copied = 0;
    for (const Batch* batch : traffic.outgoing) {
      (is_local(*batch) ? copied : sent) += bytes_of(*batch);
      if (is_packed(*batch)) packed_ += bytes_of(*batch);
    }
    span_ = std::max({sent, copied, 1.0});
    share_ = std::min(packed_ / std::max(sent, 1.0), 0.5);
  }

  // Exchanges of many bytes have two phases. The first packs messages, limited by the link, and copies within the
  // device. The second stores rows of cells directly in other devices' arrays, limited by the link, and unpacks
  // messages, limited by memory. Thread blocks that unpack too early would only wait. If nearly all bytes are stored
  // directly, there is no first phase, and copies within the device are spread between these stores.
  Interval place_sent(const Batch& batch) {
    Interval place{at_, at_};
    if (is_local(batch)) {
      place = large() ? Interval{0, (1 - share_) * span_} : Interval{span_, span_};
    } else if (large() && is_in_place(batch)) {
      place = {packed_before_rows * share_ * span_, span_};
    } else {
      packed_at_ += bytes_of(batch);
      at_ = large() ? packing_takes * share_ * span_ * packed_at_ / std::max(packed_, 1.0) : at_ + bytes_of(batch);
      place.to = at_;
    }
    round_sent_[batch.round] = at_;
    return place;
  }

  double place_received(const Batch& batch) const {
    const auto sent = round_sent_.find(batch.round);
    if (batch.movers.empty() || sent == round_sent_.end()) return 2 * span_;
    return sent->second + (large() ? large_on_its_way : small_on_its_way) * span_;
  }

 private:
  bool large() const { return span_ > large_traffic; }

  double span_ = 1, packed_ = 0, packed_at_ = 0, at_ = 0;
  double share_ = 0;  ///< packed bytes divided by all sent bytes, at most a half
  std::map<int, double> round_sent_;
};

}  // namespace

Schedule::Schedule(const Traffic& traffic) {
  std::vector<bool> stamped;
  for (const auto& message : traffic.incoming) stamped.push_back(!message.empty());
  for (const auto& [batch, message] : traffic.completing) stamped.at(message) = true;
  for (const bool own : stamped) message_stamp.push_back(own ? ++stamps : 0);
  if (traffic.opening) early.push_back({traffic.opening, -1, -1, 0});
  const auto stamp_of = [&](const Batch* batch, int other) {
    const auto own = traffic.completing.find(batch);
    return own == traffic.completing.end() ? other : message_stamp[own->second];
  };
  const auto place = [&](auto order) {
    for (const Batch* batch : in_order(traffic.outgoing)) {
      const auto [from, to] = order.place_sent(*batch);
      (batch->late ? late : early).push_back({batch, from, to, stamp_of(batch, 0)});
    }
    for (std::size_t m = 0; m < traffic.incoming.size(); ++m)
      for (const Batch* batch : traffic.incoming[m]) {
        const double at = order.place_received(*batch);
        late.push_back({batch, at, at, message_stamp[m]});
      }
  };
  traffic.depth ? place(Rounds(traffic)) : place(Line(traffic));
  if (traffic.combining.empty()) return;
  ++stamps;
  for (const Batch* batch : traffic.combining) late.push_back({batch, last, last, stamp_of(batch, stamps)});
  for (int& stamp : message_stamp)
    if (!stamp) stamp = stamps;
}

}  // namespace slipstream
