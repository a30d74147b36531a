#include "exchange/schedule.hpp"

#include <algorithm>
#include <map>

namespace slipstream {
namespace {

// Above every number of bytes, and small enough for half a round to count.
constexpr double by_round = 1e13;

// Of more bytes, packing is bound by memory and rows in place by the link.
constexpr double large_traffic = 8e6;

double bytes_of(const Batch& batch) {
  double bytes = 0;
  if (!batch.movers.empty())
    for (const Mover& m : batch.movers.front()) bytes += static_cast<double>(m.words()) * m.word;
  return bytes;
}

bool is_local(const Batch& batch) { return batch.before.empty() && batch.after.empty() && !batch.sealed; }

/// Such a batch asks in this exchange whether the ghosts are open.
bool is_in_place(const Batch& batch) { return !batch.before.empty() && batch.before.front().lag == 0 && !batch.late; }

bool is_packed(const Batch& batch) { return !is_local(batch) && !is_in_place(batch); }

/// Packed chunks of all messages by round, then what goes into ghosts.
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

/// Places batches on a line of bytes: of what this device sends, or copies within itself, whichever is more.
class Line {
 public:
  explicit Line(const Traffic& traffic) : rounds_(traffic.rounds) {
    double sent = 0, copied = 0;
    for (const Batch* batch : traffic.outgoing) {
      (is_local(*batch) ? copied : sent) += bytes_of(*batch);
      if (is_packed(*batch)) packed_ += bytes_of(*batch);
    }
    span_ = std::max({sent, copied, 1.0});
  }

  /// In the order of sending.
  Interval place_sent(const Batch& batch) {
    const Interval place = is_local(batch)      ? place_local()
                           : is_in_place(batch) ? place_rows(batch)
                                                : place_chunk(batch);
    round_sent_[batch.round] = at_;
    if (rounds_ && !is_local(batch)) return {by_round + batch.round, by_round + batch.round};
    return place;
  }

  double place_received(const Batch& batch) const {
    const bool landed = batch.movers.empty();
    if (rounds_) return landed ? 3 * by_round : by_round + batch.round + 0.5;
    const auto sent = round_sent_.find(batch.round);
    if (landed || sent == round_sent_.end()) return 2 * span_;
    return sent->second + (large() ? 0.3 : 0.2) * span_;
  }

 private:
  bool large() const { return span_ > large_traffic; }

  // Of large messages the first half packs, which waits for the link, and copies within the device, which does not; the
  // second stores rows in place, which waits for the link, and unpacks, which waits for memory. Teams that unpack too
  // early would only wait.
  Interval place_local() const { return large() ? Interval{0, 0.5 * span_} : Interval{span_, span_}; }

  Interval place_rows(const Batch& batch) {
    if (large()) return {0.3 * span_, span_};
    const double from = at_;
    at_ += bytes_of(batch);
    return {from, at_};
  }

  Interval place_chunk(const Batch& batch) {
    const double from = at_;
    if (large()) {
      packed_at_ += bytes_of(batch);
      at_ = 0.6 * span_ * packed_at_ / std::max(packed_, 1.0);
    } else {
      at_ += bytes_of(batch);
    }
    return {from, at_};
  }

  bool rounds_;
  double span_ = 1, packed_ = 0, packed_at_ = 0, at_ = 0;
  std::map<int, double> round_sent_;
};

}  // namespace

Schedule::Schedule(const Traffic& traffic) {
  if (traffic.opening) early.push_back({traffic.opening, -1, -1, 0});
  Line line(traffic);
  for (const Batch* batch : in_order(traffic.outgoing)) {
    const auto [from, to] = line.place_sent(*batch);
    (batch->late ? late : early).push_back({batch, from, to, 0});
  }
  for (const auto& message : traffic.incoming) {
    for (const Batch* batch : message) {
      const double at = line.place_received(*batch);
      late.push_back({batch, at, at, ++stamps});
    }
    last_stamp.push_back(message.empty() ? 0 : stamps);
  }
  if (!traffic.combining) return;
  late.push_back({traffic.combining, 4 * by_round, 4 * by_round, ++stamps});
  for (int& stamp : last_stamp)
    if (!stamp) stamp = stamps;
}

}  // namespace slipstream
