#include "exchange/same_calls.hpp"

#include <array>
#include <limits>
#include <optional>
#include <string>

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

constexpr std::array kinds{"run", "gather", "scatter"};
constexpr std::array operations{"copy", "add", "min", "max", "multiply"};

/// A call as one number: its kind and operation, and which of all it is.
constexpr int ways = kinds.size() * operations.size(), calls = 1 << 24;
int way_of(SameCalls::Kind kind, Op op) {
  return static_cast<int>(kind) * static_cast<int>(operations.size()) + static_cast<int>(op);
}
/// What a rank says that has a problem: more than any call, the first rank most.
constexpr int most = std::numeric_limits<int>::max();
std::string described(int call) {
  const auto way = static_cast<std::size_t>(call % ways);
  const auto op = static_cast<Op>(way % operations.size());
  return std::string(kinds[way / operations.size()]) +
         (op == Op::copy ? "" : " (" + std::string(operations[way % operations.size()]) + ")") + " as call " +
         std::to_string(call / ways);
}

}  // namespace

SameCalls::SameCalls(const Communicator& comm, double seconds)
    : rank_(comm.rank()), seconds_(seconds), own_(comm, "the calls of a gather-scatter") {}

void SameCalls::compare(Kind kind, Op op, const std::string& problem) {
  const int way = way_of(kind, op), call = made_ % calls * ways + way;
  if (compared_.contains(way)) return;
  const std::optional<int> greatest = own_.greatest(problem.empty() ? call : most - rank_, seconds_);
  const std::optional<int> least = greatest ? own_.greatest(-call, seconds_) : std::nullopt;
  if (!least)
    throw Timeout("rank " + std::to_string(rank_) + " waited longer than " + std::to_string(seconds_) +
                  " s for the other ranks to make " + described(call) +
                  " of a gather-scatter; a rank that has stopped, or that makes its calls in another order, keeps "
                  "others waiting");
  require(problem.empty(), problem);
  require(*greatest < calls * ways, "rank " + std::to_string(most - *greatest) + " could not make " + described(call) +
                                        " of a gather-scatter: its own error says why");
  require(-*least == *greatest, "the ranks call a gather-scatter differently: some " + described(-*least) +
                                    ", others " + described(*greatest) +
                                    "; all must make the same calls with the same operations");
  compared_.insert(way);
}

}  // namespace slipstream
