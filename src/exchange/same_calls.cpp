#include "exchange/same_calls.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

constexpr std::array operations{"", " (add)", " (min)", " (max)", " (multiply)"};  // names of operations in error texts

/// A call is encoded in one number: its kind, its operation and its sequence number.
constexpr int calls = 1 << 24;
/// A rank with an error sends this less its rank in place of its call's code, which is smaller: the lowest rank wins.
constexpr int most = std::numeric_limits<int>::max();
constexpr std::uint64_t detail_range = 1 << 30;

}  // namespace

SameCalls::SameCalls(const Communicator& comm, std::string what, std::vector<std::string> kinds, double seconds)
    : rank_(comm.rank()),
      what_(std::move(what)),
      kinds_(std::move(kinds)),
      seconds_(seconds),
      own_(comm, ("the calls of " + what_).c_str(), PrivateCommunicator::Purpose::questions) {}

std::string SameCalls::described(int call) const {
  const int ways = static_cast<int>(kinds_.size() * operations.size());
  const auto way = static_cast<std::size_t>(call % ways), op = way % operations.size();
  return kinds_[way / operations.size()] + operations[op] + " as call " + std::to_string(call / ways);
}

void SameCalls::compare(int kind, Op op, const Problem& problem, bool each, std::uint64_t details) {
  const int ways = static_cast<int>(kinds_.size() * operations.size());
  const int way = kind * static_cast<int>(operations.size()) + static_cast<int>(op), call = made_ % calls * ways + way;
  if (!each && compared_.contains(way)) return;
  const auto agreed = [&](int mine) {
    const std::optional<int> greatest = own_.greatest(problem ? most - rank_ : mine, seconds_);
    const std::optional<int> least = greatest ? own_.greatest(-mine, seconds_) : std::nullopt;
    if (!least)
      throw Timeout("rank " + std::to_string(rank_) + " waited longer than " + std::to_string(seconds_) +
                        " s for the other ranks to make " + described(call) + " of " + what_ +
                        "; a rank that has stopped, or that makes its calls in another order, keeps others waiting",
                    {{"rank", rank_}, {"limit", seconds_}, {"object", what_}});
    return std::pair{-*least, *greatest};
  };
  const auto [first, last] = agreed(call);
  throw_if(problem);
  require(last < calls * ways, ErrorCode::mismatch,
          "rank " + std::to_string(most - last) + " could not make " + described(call) + " of " + what_ +
              ": its own error says why",
          {{"rank", most - last}, {"object", what_}, {"call", described(call)}});
  require(first == last, ErrorCode::mismatch,
          "the ranks call " + what_ + " differently: some " + described(first) + ", others " + described(last) +
              "; all must make the same calls with the same operations",
          {{"object", what_}, {"call", described(first)}, {"other_call", described(last)}});
  if (each) {
    const auto [one, other] = agreed(static_cast<int>(details % detail_range));
    require(
        one == other, ErrorCode::mismatch,
        "the ranks make " + described(call) + " of " + what_ + " with different numbers: give the same on all ranks",
        {{"object", what_}, {"call", described(call)}});
  }
  compared_.insert(way);
}

bool captured(const std::vector<Stream>& streams) {
  return std::any_of(streams.begin(), streams.end(), [](const Stream& stream) { return stream.capturing(); });
}

}  // namespace slipstream
